/** Tables that follow their records: what they are given, what they are refused, and that no value is lost on the way. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NestedField, Schema } from '../../../src/core/schema.ts';
import { avroRecord, avscType, hex } from '../../support/avro.ts';
import { FakeRegistry } from '../../support/fake-registry.ts';
import { useKafka } from '../../support/kafka.ts';
import { framed } from '../../support/registry.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';
import { plainRows, TYPED_TABLE, TypedWorld } from '../../support/typed-world.ts';

describe('a typed table that follows its records', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const json = (schema: string, more: object = {}) => ({ value: { format: 'json', schema, ...more } });

  async function schemaNow(): Promise<Schema> {
    const catalog = await world.pipeline.openCatalog();
    const table = await catalog.loadTable({ namespace: ['silver'], name: 'events' });
    await catalog.close();
    return table!.metadata.schemas.find((s) => s.schemaId === table!.metadata.currentSchemaId)!;
  }
  /** `name type!` of the columns that are no provenance. */
  const columnsNow = async () =>
    (await schemaNow()).fields.filter((f) => !f.name.startsWith('kafka_') && f.name !== 'topic').map(shown);

  it('adds, widens and makes optional in one batch, in structs and lists too', async () => {
    await world.send(
      '{"id":1,"at":{"n":1},"list":[{"q":1}]}',
      '{"id":3000000000,"at":{"n":2},"list":[{"q":2}]}',
      '{"at":{"n":4000000000,"more":{"deep":[true]}},"list":[{"q":3,"r":"x"}]}',
      '{"id":4,"at":{},"list":[{"q":null},{}]}',
      '{"id":5,"at":{"n":5},"list":[{"q":5000000000}],"z":"new"}',
    );
    const schema = 'id INT NOT NULL, at STRUCT<n: INT NOT NULL>, list ARRAY<STRUCT<q: INT NOT NULL>>';
    world.make({ ...json(schema), evolve: 'widen' });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 5, quarantined: 0, batches: 1 });
    expect(plainRows(await world.rows())).toEqual([
      { id: 1n, at: { n: 1n, more: null }, list: [{ q: 1n, r: null }], z: null },
      { id: 3000000000n, at: { n: 2n, more: null }, list: [{ q: 2n, r: null }], z: null },
      { id: null, at: { n: 4000000000n, more: { deep: [true] } }, list: [{ q: 3n, r: 'x' }], z: null },
      {
        id: 4n,
        at: { n: null, more: null },
        list: [
          { q: null, r: null },
          { q: null, r: null },
        ],
        z: null,
      },
      { id: 5n, at: { n: 5n, more: null }, list: [{ q: 5000000000n, r: null }], z: 'new' },
    ]);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 5, quarantined: 0 });
  });

  it('changes nothing of a table that is of no use with the changes either', async () => {
    await world.send('{"a":1}');
    const { catalogFile, warehouse } = world.make(json('a INT NOT NULL'));
    await world.pipeline.run();
    const before = (await schemaNow()).fields.map(shown);
    const pipeline = new TestPipeline({
      bootstrap,
      topics: [world.topic],
      intoTable: TYPED_TABLE,
      table: { layout: 'typed', ...json('a STRING, b INT'), evolve: 'widen' },
      catalogFile,
      warehouse,
    });
    try {
      await expect(pipeline.run()).rejects.toMatchObject({
        code: 'TABLE_INCOMPATIBLE',
        message: expect.stringContaining('column a: the rule says STRING, the table has INT'),
      });
    } finally {
      pipeline.remove();
    }
    expect((await schemaNow()).fields.map(shown)).toEqual(before);
  });

  it('leaves columns required that every record has, whatever else is added', async () => {
    await world.send('{"id":1,"at":{"n":1},"x":1}', '{"id":2,"at":{"n":2,"m":5},"l":[1]}');
    world.make({
      ...json('id INT NOT NULL, at STRUCT<n: INT NOT NULL> NOT NULL, l ARRAY<INT>'),
      evolve: 'widen',
    });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 0 });
    expect(await columnsNow()).toEqual(['id int!', 'at struct!', 'l list', 'x long']);
    const { type } = (await schemaNow()).fields[1] as unknown as { type: { fields: NestedField[] } };
    expect(type.fields.map(shown)).toEqual(['n int!', 'm long']);
  });

  it('adds only, under `add`, and sets aside what would need more', async () => {
    await world.send(
      '{"id":3000000000,"x":1}',
      '{"id":null,"y":1}',
      '{"id":3,"z":1.5}',
      '{"id":4,"z":"no number"}',
      '{"id":5,"id2":{"a":1}}',
      '{"id":6,"id2":7}',
      '{"id":7,"mixed":[1,"a"]}',
      '{"id":8,"mixed":[1]}',
    );
    world.make({ ...json('id INT NOT NULL'), evolve: 'add' });
    const { log, summary } = await world.pipeline.run();
    expect(summary).toMatchObject({ records: 8 });
    const rows = plainRows(await world.rows());
    expect(rows.map((r) => r.id)).toEqual([3, 5, 8]);
    expect(rows[1].id2).toEqual({ a: 1n });
    expect(rows[2].mixed).toEqual([1n]);
    expect(await world.faults()).toEqual([
      '0 OUT_OF_RANGE id',
      '1 MISSING_REQUIRED id',
      '3 TYPE_MISMATCH z',
      '5 TYPE_MISMATCH id2',
      '6 TYPE_MISMATCH mixed[1]',
    ]);
    expect(log.filter((line) => line.startsWith('warn')).join('\n')).toMatch(
      /column id stays INT, records ask for BIGINT: the rule `add` widens no types/,
    );
    expect(await world.proof()).toMatchObject({ ok: true, rows: 3, quarantined: 5 });
  });

  it('lets no field of a record change a column of provenance, or of the key', async () => {
    await world.send(
      ['{"id":1}', '{"id":1}'],
      ['{"id":2}', '{"id":2,"kafka_partition":3000000000}'],
      ['{"id":3}', '{"id":3,"topic":{"a":1}}'],
      ['{"id":4}', '{"id":4,"key_id":3000000000}'],
      ['{"id":5,"new":1}', '{"id":5,"own":2}'],
      ['{"id":6}', '{"id":6,"key_other":1}'],
    );
    const key = { format: 'json', schema: 'id INT' };
    world.make({ ...json('id INT'), key, evolve: 'widen' });
    await world.pipeline.run();
    expect(await columnsNow()).toEqual(['id int', 'key_id int', 'own long', 'key_new long']);
    expect(plainRows(await world.rows())).toEqual([
      { id: 1, key_id: 1, own: null, key_new: null },
      { id: 5, key_id: 5, own: 2n, key_new: 1n },
    ]);
    expect(await world.faults()).toEqual([1, 2, 3, 5].map((offset) => `${offset} UNKNOWN_FIELD value`));
    // The pipeline goes on.
    await world.send(['{"id":7}', '{"id":7}']);
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 1, quarantined: 0 });
  });

  it('fills columns of the value whose name begins with the prefix of the key', async () => {
    await world.send(['{"k":"a"}', '{"id":1,"key_size":7}']);
    world.make({
      ...json('id INT, key_size INT'),
      key: { format: 'json', schema: 'k STRING' },
      evolve: 'add',
    });
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ id: 1, key_size: 7, key_k: 'a' }]);
  });

  it('keeps in the rest what cannot become a column', async () => {
    await world.send('{"id":1,"a":5}', '{"id":2,"kafka_offset":9,"a":6}', '{"id":3,"":1}', '{"id":4,"A":1}');
    world.make({ ...json('id INT', { unknownFields: 'rest' }), evolve: 'add' });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 4, quarantined: 0 });
    expect(plainRows(await world.rows())).toEqual([
      { id: 1, _rest: null, a: 5n },
      { id: 2, _rest: '{"kafka_offset":9}', a: 6n },
      { id: 3, _rest: '{"":1}', a: null },
      { id: 4, _rest: '{"A":1}', a: null },
    ]);
  });

  it('takes names without regard to case, also where columns are added (case C23)', async () => {
    const mapping = JSON.stringify([{ 'field-id': 1, names: ['orderid'] }]);
    await world.send(
      '{"ORDERID":5}',
      '{"orderId":6,"ORDERID":7}',
      '{"OrderID":3000000000,"Extra":1}',
      '{"ORDERID":8,"EXTRA":2}',
      '{"ORDERID":9,"eXtra":3,"extrA":4}',
    );
    world.make({
      ...json('orderid INT', { caseInsensitive: true }),
      evolve: 'widen',
      properties: { 'schema.name-mapping.default': mapping },
    });
    await world.pipeline.run();
    expect(await columnsNow()).toEqual(['orderid long', 'EXTRA long']);
    expect(plainRows(await world.rows())).toEqual([
      { orderid: 5n, EXTRA: null },
      { orderid: 3000000000n, EXTRA: 1n },
      { orderid: 8n, EXTRA: 2n },
    ]);
    expect(await world.faults()).toEqual(['1 AMBIGUOUS_FIELD orderid', '4 AMBIGUOUS_FIELD EXTRA']);
  });

  it('takes names as they are by default: another case is another field (case C23)', async () => {
    await world.send('{"orderid":4}', '{"ORDERID":5}', '{"orderid":6,"ORDERID":7}');
    world.make(json('orderid BIGINT'));
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ orderid: 4n }, { orderid: null }, { orderid: 6n }]);
    // A table that follows its records passes nothing over: no reader could tell a second column of this name.
    world.make({ ...json('orderid BIGINT'), evolve: 'add' });
    await world.pipeline.run();
    expect(await columnsNow()).toEqual(['orderid long']);
    expect(plainRows(await world.rows())).toEqual([{ orderid: 4n }]);
    expect(await world.faults()).toEqual(['1 UNKNOWN_FIELD value', '2 UNKNOWN_FIELD value']);
  });

  it('is given no more than a thousand columns, and no odd ones, whatever records hold', async () => {
    const many = (from: number) =>
      `{"id":1,${Array.from({ length: 600 }, (_, i) => `"c${from + i}":1`).join()}}`;
    const long = 'n'.repeat(100_000);
    await world.send(
      many(0),
      many(600),
      `{"id":2,"${long}":1}`,
      '{"id":3,"a\\u0000b":1}',
      '{"id":4,"_pos":1}',
      '{"id":5}',
    );
    world.make({ ...json('id INT'), evolve: 'add' });
    const { summary } = await world.pipeline.run();
    expect(summary).toMatchObject({ records: 6, batches: 1 });
    expect((await schemaNow()).fields.length).toBeLessThanOrEqual(1000);
    expect((await world.rows()).map((r) => r.id)).toContain(5);
    expect(await world.faults()).toEqual(
      expect.arrayContaining([2, 3, 4].map((o) => `${o} UNKNOWN_FIELD value`)),
    );
    expect(await world.proof()).toMatchObject({ ok: true });
  });

  it('keeps absent, null and defaults apart in JSON (case C05)', async () => {
    await world.send('{"id":1,"tier":null}', '{"id":2}', '{"id":3,"tier":"gold"}');
    for (const formatVersion of [2, 3]) {
      world.make({ ...json("id INT, tier STRING DEFAULT 'basic'"), formatVersion });
      await world.pipeline.run();
      expect(plainRows(await world.rows())).toEqual([
        { id: 1, tier: null },
        { id: 2, tier: 'basic' },
        { id: 3, tier: 'gold' },
      ]);
    }
  });

  it('follows Avro writers: wider decimals, wider integers, a field that became optional', async () => {
    const decimal = (precision: number) => ({ type: 'bytes', logicalType: 'decimal', precision, scale: 2 });
    const first = avroRecord('E', { amount: decimal(5), n: 'int', f: 'float' });
    const second = avroRecord('E', { amount: ['null', decimal(12)], n: 'long', f: 'double' });
    const subject = `${world.topic}-value`;
    const registry = await FakeRegistry.start([{ id: 1, subject, version: 1, schema: first }]);
    try {
      const more = `registry: { schema.registry.url: "${registry.url}" }`;
      await world.send(
        framed(1, avscType(JSON.parse(first)).toBuffer({ amount: Buffer.from([200]), n: 1, f: 1.5 })),
      );
      const pipeline = world.make({ value: { format: 'avro' }, evolve: 'widen' }, { more });
      await pipeline.run();
      expect(await columnsNow()).toEqual(['amount decimal(5, 2)!', 'n int!', 'f float!']);
      registry.schemas.push({ id: 2, subject, version: 2, schema: second });
      const type = avscType(JSON.parse(second));
      await world.send(
        framed(2, type.toBuffer({ amount: { bytes: hex('02 54 0B E3 FF') }, n: 3000000000n, f: 0.1 })),
        framed(2, type.toBuffer({ amount: null, n: 2n, f: 0.5 })),
      );
      expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 0 });
      expect(await columnsNow()).toEqual(['amount decimal(12, 2)', 'n long!', 'f double!']);
      expect(plainRows((await world.rows()).slice(1))).toEqual([
        { amount: 99999999.99, n: 3000000000n, f: 0.1 },
        { amount: null, n: 2n, f: 0.5 },
      ]);
    } finally {
      await registry.down();
    }
  });

  it('sets records aside whose writer has no columns, and goes on', async () => {
    const good = avroRecord('E', { id: 'long' });
    const recursive = JSON.stringify({
      type: 'record',
      name: 'E',
      fields: [
        { name: 'id', type: 'long' },
        { name: 'next', type: ['null', 'E'] },
      ],
    });
    const subject = `${world.topic}-value`;
    const registry = await FakeRegistry.start([
      { id: 1, subject, version: 1, schema: good },
      { id: 2, subject, version: 2, schema: recursive },
      { id: 3, subject, version: 3, schema: '{"type":"object"}', schemaType: 'JSON' },
      {
        id: 4,
        subject,
        version: 4,
        schema: '{"type":"record","name":"E","fields":[{"name":"id","type":"F"}]}',
      },
    ]);
    try {
      const more = `registry: { schema.registry.url: "${registry.url}" }`;
      await world.send(
        framed(1, hex('02')),
        framed(2, hex('04 02 06 00')),
        framed(3, '{}'),
        framed(4, hex('02')),
      );
      world.make({ value: { format: 'avro', schema: 'id BIGINT' }, evolve: 'widen' }, { more });
      const { summary, log } = await world.pipeline.run();
      expect(summary).toMatchObject({ records: 4, quarantined: 3 });
      expect(plainRows(await world.rows())).toEqual([{ id: 1n }]);
      expect((await world.faults()).map((fault) => fault.split(' ')[0])).toEqual(['1', '2', '3']);
      expect(log.join('\n')).toMatch(/schema 2 .*holds itself/);
    } finally {
      await registry.down();
    }
  });
});

function shown({ name, type, required }: NestedField): string {
  return `${name} ${typeof type === 'string' ? type : type.type}${required ? '!' : ''}`;
}
