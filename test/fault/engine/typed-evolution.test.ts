/** The catalog fails while a table is given columns, and other writers change its columns meanwhile: no value is lost or put elsewhere. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCatalog } from '../../../src/catalog/open-catalog.ts';
import type { NestedField } from '../../../src/core/schema.ts';
import type { Catalog } from '../../../src/iceberg/catalog.ts';
import { currentSchema } from '../../../src/iceberg/metadata.ts';
import { type CommitFault, FaultyCatalog } from '../../support/faulty-catalog.ts';
import { readIndependently } from '../../support/independent-table.ts';
import { useKafka } from '../../support/kafka.ts';
import { type InProcessRun, TestPipeline } from '../../support/test-pipeline.ts';
import { plainRows, TYPED_TABLE, TypedWorld } from '../../support/typed-world.ts';

const TABLE = { namespace: ['silver'], name: 'events' };

describe('a typed table whose catalog fails or changes', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const json = (schema: string, evolve: 'none' | 'add' | 'widen') => ({
    value: { format: 'json', schema },
    evolve,
  });

  function runWith(pipeline: TestPipeline, arm: (catalog: FaultyCatalog) => void): Promise<InProcessRun> {
    const seams = {
      openCatalog: async (...args: Parameters<typeof openCatalog>) => {
        const catalog = new FaultyCatalog(await openCatalog(...args));
        arm(catalog);
        return catalog;
      },
    };
    return pipeline.run({ seams });
  }

  async function withCatalog<T>(use: (catalog: Catalog) => Promise<T>): Promise<T> {
    const catalog = await world.pipeline.openCatalog();
    try {
      return await use(catalog);
    } finally {
      await catalog.close();
    }
  }

  const columnsNow = () =>
    withCatalog(async (catalog) =>
      currentSchema((await catalog.loadTable(TABLE))!.metadata)
        .fields.filter((f) => !f.name.startsWith('kafka_') && f.name !== 'topic')
        .map((f) => `${f.id} ${f.name} ${typeof f.type === 'string' ? f.type : f.type.type}`),
    );

  /** As another engine changes the columns of the table. */
  const alter = (change: (fields: NestedField[], newId: number) => NestedField[]) =>
    withCatalog((catalog) => alterBy(catalog, change));

  describe('at the change of its columns', () => {
    beforeEach(async () => {
      await world.send('{"id":1}');
      world.make(json('id INT', 'widen'));
      await world.pipeline.run();
      await world.send('{"id":3000000000,"x":1.5}', '{"id":3,"x":2.5}');
    });
    const rows = [
      { id: 1, x: null },
      { id: 3000000000n, x: 1.5 },
      { id: 3n, x: 2.5 },
    ];
    const outcome = async () => {
      expect(plainRows(await world.rows(), ['x'])).toEqual(rows);
      expect(await columnsNow()).toEqual(['1 id long', '6 x double']);
      expect(await world.faults()).toEqual([]);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 3, quarantined: 0 });
    };

    it.each<CommitFault>([
      '504',
      'apply, then 504',
      'reset',
      'apply, then reset',
      'state unknown',
      'apply, then state unknown',
      'late',
      'conflict',
    ])('goes on after: %s', async (fault) => {
      const { log } = await runWith(world.pipeline, (catalog) => catalog.fail(fault));
      await outcome();
      expect(log.filter((line) => line.includes('was added as')).length).toBe(1);
    });

    it.each<[CommitFault, string]>([
      ['refused', 'CATALOG_ERROR'],
      ['unreachable', 'CATALOG_UNREACHABLE'],
    ])('stops after: %s, with nothing committed; the next run goes on', async (fault, code) => {
      await expect(runWith(world.pipeline, (catalog) => catalog.fail(fault))).rejects.toMatchObject({ code });
      expect((await world.rows()).length).toBe(1);
      expect(await columnsNow()).toEqual(['1 id int']);
      await world.pipeline.run();
      await outcome();
    });

    it.each(['apply, then 504', '504'] as const)(
      'finds its way where the reply is lost and the catalog is gone: %s',
      async (fault) => {
        await expect(
          runWith(world.pipeline, (catalog) => {
            catalog.fail(fault);
            catalog.beforeCommit = async () => {
              catalog.failingLoads = 1;
            };
          }),
        ).rejects.toMatchObject({ code: 'CATALOG_UNREACHABLE' });
        expect((await world.rows()).length).toBe(1);
        await world.pipeline.run();
        await outcome();
      },
    );

    it.each(['before-evolve', 'after-evolve', 'before-prepared', 'after-prepared'] as const)(
      'ends exactly once after an error at %s',
      async (point) => {
        await expect(world.pipeline.run({ failpoints: `${point}=throw` })).rejects.toMatchObject({
          code: 'INTERNAL',
        });
        await world.pipeline.run();
        await outcome();
      },
    );

    it('takes what another writer made of the table first', async () => {
      await runWith(world.pipeline, (catalog) => {
        catalog.beforeCommit = () =>
          alter((fields, id) => [...fields, { id, name: 'x', required: false, type: 'double' }]);
      });
      expect(await columnsNow()).toEqual(['1 id long', '6 x double']);
      expect(plainRows(await world.rows(), ['x'])).toEqual(rows);
    });

    it('reads the batch again where another writer has made the same change first', async () => {
      world.make(json('id BIGINT', 'add'));
      await runWith(world.pipeline, (catalog) => {
        catalog.beforeCommit = () =>
          alter((fields, id) => [...fields, { id, name: 'x', required: false, type: 'double' }]);
      });
      expect(await columnsNow()).toEqual(['1 id long', '6 x double']);
      expect(await world.faults()).toEqual([]);
      const found = plainRows(await world.rows(), ['x']).map(({ x }) => x);
      expect(found).toEqual([null, ...rows.slice(1).map(({ x }) => x)]);
    });

    it('sets records aside where another writer has given their field another type first', async () => {
      await runWith(world.pipeline, (catalog) => {
        catalog.beforeCommit = () =>
          alter((fields, id) => [...fields, { id, name: 'x', required: false, type: 'boolean' }]);
      });
      expect(await columnsNow()).toEqual(['1 id long', '6 x boolean']);
      expect((await world.rows()).length).toBe(1);
      expect(await world.faults()).toEqual(['1 TYPE_MISMATCH x', '2 TYPE_MISMATCH x']);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 1, quarantined: 2 });
    });
  });

  describe('between batches', () => {
    beforeEach(() => world.send('{"id":1,"name":"a"}'));

    it('follows columns that others add, move and rename; rows stay in the columns of their ids', async () => {
      world.make(json('id INT, name STRING', 'add'));
      await world.pipeline.run();
      await alter((fields, id) => {
        const [first, name, ...rest] = fields;
        return [
          { id, name: 'note', required: false, type: 'string' },
          { ...name, name: 'title' },
          first,
          ...rest,
        ];
      });
      await world.send('{"id":2,"name":"b","note":"n"}', '{"id":3,"title":"t"}');
      await world.pipeline.run();
      expect(await columnsNow()).toEqual(['7 note string', '2 title string', '1 id int', '8 name string']);
      // By their own names in each file: `name` of the first one is the title of today.
      expect(plainRows((await world.rows()).slice(1))).toEqual([
        { note: 'n', title: null, id: 2, name: 'b' },
        { note: null, title: 't', id: 3, name: null },
      ]);
      expect(await world.faults()).toEqual([]);
    });

    it('stops where a column that the rule gives is gone, and never writes null in its place', async () => {
      world.make(json('id INT, name STRING', 'none'));
      await world.pipeline.run();
      await alter((fields) => fields.filter((f) => f.name !== 'name'));
      await world.send('{"id":2,"name":"b"}');
      await expect(world.pipeline.run()).rejects.toMatchObject({
        code: 'TABLE_INCOMPATIBLE',
        message: expect.stringContaining('there is no column `name`'),
      });
      await alter((fields, id) => [...fields, { id, name: 'name', required: false, type: 'string' }]);
      await world.pipeline.run();
      expect((await world.rows())[1]).toMatchObject({ id: 2, name: 'b' });
    });

    it('gives a column back that another writer dropped, with an id of its own', async () => {
      world.make(json('id INT, name STRING', 'add'));
      await world.pipeline.run();
      await alter((fields) => fields.filter((f) => f.name !== 'name'));
      await world.send('{"id":2,"name":"b"}');
      await world.pipeline.run();
      expect(await columnsNow()).toEqual(['1 id int', '7 name string']);
      expect((await world.rows())[1]).toMatchObject({ id: 2, name: 'b' });
    });

    it('stops at a column that it cannot fill', async () => {
      world.make(json('id INT, name STRING', 'add'));
      await world.pipeline.run();
      await alter((fields, id) => [...fields, { id, name: 'must', required: true, type: 'int' }]);
      await world.send('{"id":2,"must":1}');
      // The records fill it, where they have it.
      await world.pipeline.run();
      expect((await world.rows())[1]).toMatchObject({ id: 2, must: 1 });
      await world.send('{"id":3}');
      await world.pipeline.run();
      expect(await world.faults()).toEqual(['2 MISSING_REQUIRED must']);
      // Under `none` nothing ever would.
      world.make(json('id INT, name STRING', 'none'));
      await world.pipeline.run();
      await alter((fields, id) => [...fields, { id, name: 'must', required: true, type: 'int' }]);
      await world.send('{"id":4}');
      await expect(world.pipeline.run()).rejects.toMatchObject({ code: 'TABLE_INCOMPATIBLE' });
    });

    it('writes by the columns of the planned batch where they change before its commit', async () => {
      world.make(json('id INT, name STRING', 'none'));
      await runWith(world.pipeline, (catalog) => {
        catalog.beforeCommit = () =>
          alter((fields) => fields.map((f) => (f.name === 'name' ? { ...f, name: 'title' } : f)));
      });
      expect(await columnsNow()).toEqual(['1 id int', '2 title string']);
      expect(plainRows(await world.rows())).toEqual([{ id: 1, name: 'a' }]);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 1 });
    });
  });

  it('takes the columns of two pipelines that evolve it at the same time, each row whole', async () => {
    const other = await TypedWorld.create(bootstrap);
    try {
      world.make(json('id INT', 'widen'), { name: 'one' });
      await world.send('{"id":1,"a":1,"both":1}', '{"id":2,"a":2}', '{"id":3,"both":3}');
      await other.send('{"id":3000000000,"b":"x","both":5}', '{"id":5,"c":[1]}');
      const second = new TestPipeline({
        ...world.pipeline.options,
        topics: [other.topic],
        name: 'two',
        catalogFile: world.pipeline.catalogFile,
        warehouse: world.pipeline.warehouse,
      });
      // The other pipeline runs as a whole between the first one's look at the table and its change of the columns.
      await runWith(world.pipeline, (catalog) => {
        catalog.beforeCommit = async () => void (await second.run());
      });
      const found = (await readIndependently(world.pipeline.catalogFile, TYPED_TABLE))!;
      const rows = found.rows
        .map((r) => ({ ...r, id: BigInt(r.id as number) }))
        .sort((a, b) => Number(a.id - b.id));
      expect(plainRows(rows, ['a', 'b', 'c', 'both'])).toEqual([
        { id: 1n, a: 1n, b: null, c: null, both: 1n },
        { id: 2n, a: 2n, b: null, c: null, both: null },
        { id: 3n, a: null, b: null, c: null, both: 3n },
        { id: 5n, a: null, b: null, c: [1n], both: null },
        { id: 3000000000n, a: null, b: 'x', c: null, both: 5n },
      ]);
      const columns = (await columnsNow()).map((c) => c.split(' ').slice(1).join(' '));
      expect(columns.sort()).toEqual(['a long', 'b string', 'both long', 'c list', 'id long']);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 3, quarantined: 0 });
      second.remove();
    } finally {
      await other.close();
    }
  });

  it('takes the columns of two processes that run at once', async () => {
    const other = await TypedWorld.create(bootstrap);
    try {
      world.make(json('id INT', 'widen'), { name: 'one', maxOffsetsPerTrigger: 4 });
      const records = (name: string) =>
        Array.from({ length: 16 }, (_, i) => `{"id":${i},"${name}${i >> 2}":${i},"both${i >> 2}":${i}}`);
      await world.send(...records('a'));
      await other.send(...records('b'));
      const second = new TestPipeline({
        ...world.pipeline.options,
        topics: [other.topic],
        name: 'two',
        catalogFile: world.pipeline.catalogFile,
        warehouse: world.pipeline.warehouse,
      });
      for (const run of await Promise.all([world.pipeline.cli(), second.cli()]))
        expect(run.code, run.stderr).toBe(0);
      const rows = (await readIndependently(world.pipeline.catalogFile, TYPED_TABLE))!.rows;
      expect(rows.length).toBe(32);
      for (const row of rows) {
        const name = row.topic === world.topic ? 'a' : 'b';
        const n = Number(row.id);
        expect(row).toMatchObject({ [`${name}${n >> 2}`]: BigInt(n), [`both${n >> 2}`]: BigInt(n) });
      }
      expect((await columnsNow()).length).toBe(13);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 16, quarantined: 0 });
      second.remove();
    } finally {
      await other.close();
    }
  });
});

/** Adds, drops, renames and moves columns in one commit. */
async function alterBy(
  catalog: Catalog,
  change: (fields: NestedField[], newId: number) => NestedField[],
): Promise<void> {
  const table = (await catalog.loadTable(TABLE))!;
  const { metadata } = table;
  const schemaId = Math.max(...metadata.schemas.map((s) => s.schemaId)) + 1;
  const fields = change([...currentSchema(metadata).fields], metadata.lastColumnId + 1);
  await catalog.commitTable(
    table,
    [{ type: 'assert-table-uuid', uuid: metadata.tableUuid }],
    [
      { action: 'add-schema', schema: { type: 'struct', schemaId, fields } },
      { action: 'set-current-schema', schemaId: -1 },
    ],
  );
}
