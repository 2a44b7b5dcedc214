/** One topic into many tables: what leads where, what data may not do, and what a crash leaves. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCatalog } from '../../../src/catalog/open-catalog.ts';
import type { Catalog, CreateTableRequest, TableIdentifier } from '../../../src/iceberg/catalog.ts';
import { createTopic } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { requeue } from '../../support/requeue.ts';
import { plainRows, SENT_MS, TypedWorld } from '../../support/typed-world.ts';

describe('a topic that is routed', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const value = { format: 'json', schema: 'kind STRING, id BIGINT' };
  const GROUP = 'silver.ev_${route}';
  const created = (more: object = {}) => ({ value, route: { by: 'kind', unknown: 'create', ...more } });
  const record = (kind: unknown, id: number) => JSON.stringify({ kind, id });
  const ids = async (table: string) => (await world.rows(table)).map((r) => Number(r.id));

  async function withCatalog<T>(use: (catalog: Catalog) => Promise<T>): Promise<T> {
    const catalog = await world.pipeline.openCatalog();
    try {
      return await use(catalog);
    } finally {
      await catalog.close();
    }
  }
  const tables = () =>
    withCatalog(async (catalog) => (await catalog.listTables(['silver'])).map((t) => t.name).sort());

  it('sends values to the tables that are named, two of them to one, and sets others aside', async () => {
    await world.send(
      record('a', 1),
      record('b', 2),
      record('c', 3),
      record('d', 4),
      record('a', 5),
      record(7, 6),
      record(true, 7),
      record(null, 8),
      record({ x: 1 }, 9),
      '{"kind":"a","id":"bad"}',
    );
    const named = {
      a: 'silver.ab',
      b: 'silver.ab',
      c: 'silver.other',
      7: 'silver.seven',
      true: 'silver.truth',
    };
    world.make({ value, route: { by: 'kind', tables: named } }, { intoTable: 'silver.all' });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 10, quarantined: 6 });
    expect(await ids('silver.ab')).toEqual([1, 2, 5]);
    expect(await ids('silver.other')).toEqual([3]);
    // The field is text in the tables: numbers lead somewhere, and are no text.
    expect(await ids('silver.seven')).toEqual([]);
    expect(await world.faults('silver.seven__quarantine')).toEqual(['5 TYPE_MISMATCH kind']);
    expect(await world.faults('silver.ab__quarantine')).toEqual(['9 TYPE_MISMATCH id']);
    expect(await world.faults('silver.faults__quarantine')).toEqual([
      '3 ROUTE_UNKNOWN kind',
      '7 ROUTE_UNKNOWN kind',
      '8 ROUTE_UNKNOWN kind',
    ]);
    for (const name of ['silver.ab', 'silver.other', 'silver.all_${route}'])
      expect(await world.proof(name)).toMatchObject({ ok: true, rows: 4, quarantined: 6 });
    // By `stop` none of it would be read past.
    world.make({ value, route: { by: 'kind', tables: named, unknown: 'stop' } }, { intoTable: 'silver.all' });
    await expect(world.pipeline.run()).rejects.toMatchObject({
      code: 'DECODE_ERROR',
      context: { offset: 3n },
    });
    expect(await ids('silver.ab')).toEqual([]);
  });

  it('routes by a field within objects, and by a number where the tables have one', async () => {
    await world.send('{"m":{"k":1,"x":2}}', '{"m":{"k":2}}', '{"m":null}', '{"m":{"k":1}}');
    world.make(
      {
        value: { format: 'json', schema: 'm STRUCT<k: INT, x: INT>' },
        route: { by: 'm.k', unknown: 'create' },
      },
      { intoTable: GROUP },
    );
    await world.pipeline.run();
    expect(plainRows(await world.rows('silver.ev_1'))).toEqual([
      { m: { k: 1, x: 2 } },
      { m: { k: 1, x: null } },
    ]);
    expect(plainRows(await world.rows('silver.ev_2'))).toEqual([{ m: { k: 2, x: null } }]);
    expect(await world.faults('silver.faults__quarantine')).toEqual(['2 ROUTE_UNKNOWN m.k']);
  });

  it('lets no value make a table of an odd name, nor choose one that was made for something else', async () => {
    world.make(created(), { intoTable: 'silver.${route}' });
    const request: CreateTableRequest = {
      schema: { type: 'struct', schemaId: 0, fields: [{ id: 1, name: 'id', required: true, type: 'long' }] },
      partitionSpec: { specId: 0, fields: [] },
      formatVersion: 2,
      properties: {},
    };
    await withCatalog(async (catalog) => {
      await catalog.createNamespace(['silver']);
      await catalog.createTable({ namespace: ['silver'], name: 'salaries' }, request);
    });
    await world.send(
      record('ok', 1),
      record('salaries', 2),
      record('ok__quarantine', 3),
      record('faults__quarantine', 4),
      record('ok__requeued', 5),
      record('', 6),
      record('x'.repeat(300), 7),
      record('OK', 8),
      record('../../etc', 9),
      record('a.b', 10),
      record('a b', 11),
      record('\u0000\u0000', 12),
      record('\ud83d\ude00', 13),
    );
    const { summary, log } = await world.pipeline.run();
    expect(summary).toMatchObject({ records: 13, batches: 1 });
    const made = (await tables()).filter((name) => !name.endsWith('__quarantine'));
    // Every other character is _: of two values that meet in one name the first one has the table.
    expect(made.sort()).toEqual(['__', '______etc', 'a_b', 'ok', 'salaries']);
    expect(await ids('silver.ok')).toEqual([1]);
    expect(await ids('silver.a_b')).toEqual([10]);
    expect((await world.rows('silver.salaries')).length).toBe(0);
    const aside = (await world.faults('silver.faults__quarantine')).map((f) => f.split(' ')[0]);
    expect(aside).toEqual(expect.arrayContaining(['1', '2', '3', '4', '5', '6', '7', '10', '12']));
    expect(log.join('\n')).toMatch(/silver\.salaries, which is there and was not made for it/);
    expect(log.join('\n')).toMatch(/silver\.ok__quarantine, a name for what is set aside/);
    expect(await world.proof('silver.ok')).toMatchObject({ ok: true });
    // A restart comes to the same end.
    await world.send(record('salaries', 15), record('ok', 16));
    await world.pipeline.run();
    expect(await ids('silver.ok')).toEqual([1, 16]);
    expect(await world.proof('silver.ok')).toMatchObject({ ok: true });
  });

  it('is proven with what went back into a table before any batch was planned for it', async () => {
    const rule = (tables: Record<string, string>) => ({
      value: { format: 'json', schema: 'kind STRING, id INT' },
      route: { by: 'kind', tables },
    });
    await world.send(record('a', 1), record('new', 2));
    const pipeline = world.make(rule({ a: 'silver.a' }), { intoTable: GROUP });
    await pipeline.run();
    pipeline.options.table = { layout: 'typed', ...rule({ a: 'silver.a', new: 'silver.new' }) };
    const report = await requeue(pipeline, 'silver.faults', { execute: true });
    expect(report).toMatchObject({ records: 1, rows: { 'silver.new': 1 } });
    for (const named of [GROUP, 'silver.a'])
      expect(await world.proof(named)).toMatchObject({ ok: true, rows: 2, requeued: 1, quarantined: 0 });
    await world.send(record('new', 3));
    await pipeline.run();
    expect(await world.proof('silver.new')).toMatchObject({ ok: true, rows: 3, requeued: 1, quarantined: 0 });
  });

  it('makes no table whose directory would have too long a name', async () => {
    const prefix = 'p'.repeat(50);
    world.make(created(), { intoTable: `silver.${prefix}_\${route}` });
    // With `__quarantine` behind them the names have 255 characters, and 256.
    const [fits, tooLong] = [192, 193].map((length) => 'x'.repeat(length));
    await world.send(record(fits, 1), record(tooLong, 2), record('ok', 3));
    const { summary, log } = await world.pipeline.run();
    expect(summary).toMatchObject({ records: 3, quarantined: 1, batches: 1 });
    expect(await ids(`silver.${prefix}_${fits}`)).toEqual([1]);
    expect(await ids(`silver.${prefix}_ok`)).toEqual([3]);
    expect(await world.faults('silver.faults__quarantine')).toEqual(['1 ROUTE_UNKNOWN kind']);
    expect(log.join('\n')).toContain('would have 256 characters, and a directory takes 255');
  });

  it('makes no more tables than it may, over restarts and in one batch', async () => {
    await world.send(...['a', 'b', 'c', 'd', 'a'].map((kind, i) => record(kind, i)));
    world.make(created({ maxTables: 3, tables: { z: 'silver.zed' } }), { intoTable: GROUP });
    expect((await world.pipeline.run()).summary).toMatchObject({ quarantined: 2 });
    await world.send(record('e', 5), record('b', 6), record('z', 7));
    expect((await world.pipeline.run()).summary).toMatchObject({ quarantined: 1 });
    expect((await tables()).filter((name) => !name.endsWith('__quarantine'))).toEqual([
      'ev_a',
      'ev_b',
      'zed',
    ]);
    expect(await world.proof(GROUP)).toMatchObject({ ok: true, rows: 5, quarantined: 3 });
    // More may be made later; what was set aside stays there.
    world.pipeline.options.table!.route = {
      by: 'kind',
      unknown: 'create',
      maxTables: 4,
      tables: { z: 'silver.zed' },
    };
    await world.send(record('c', 8));
    expect((await world.pipeline.run()).summary).toMatchObject({ quarantined: 0 });
    expect(await ids('silver.ev_c')).toEqual([8]);
  });

  it.each([1, 2, 3, 4])('goes on after a crash at the %s. table that a batch makes', async (nth) => {
    await world.send(record('a', 1), record('b', 2), record('a', 3), record('no', 4));
    world.make(created({ maxTables: 2 }), { intoTable: GROUP });
    let creations = 0;
    const failing = async (...args: Parameters<typeof openCatalog>): Promise<Catalog> => {
      const catalog = await openCatalog(...args);
      const create = catalog.createTable.bind(catalog);
      catalog.createTable = async (identifier: TableIdentifier, request: CreateTableRequest) => {
        // The first one is the quarantine of the pipeline, before any batch is planned.
        if (creations++ === nth) throw new Error('the process died');
        return create(identifier, request);
      };
      return catalog;
    };
    await expect(world.pipeline.run({ seams: { openCatalog: failing } })).rejects.toThrow('the process died');
    await expect(world.pipeline.run({ failpoints: 'write@2=throw' })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 4, quarantined: 1, batches: 1 });
    expect(await ids('silver.ev_a')).toEqual([1, 3]);
    expect(await ids('silver.ev_b')).toEqual([2]);
    expect(await world.proof(GROUP)).toMatchObject({ ok: true, rows: 3, quarantined: 1 });
  });

  it('stops where one of its tables was dropped, and makes none in its place', async () => {
    await world.send(record('a', 1), record('b', 2));
    world.make(created(), { intoTable: GROUP });
    await world.pipeline.run();
    await withCatalog((catalog) => catalog.dropTable({ namespace: ['silver'], name: 'ev_b' }));
    await world.send(record('a', 3));
    await expect(world.pipeline.run()).rejects.toMatchObject({ code: 'TABLE_REWOUND' });
    expect(await ids('silver.ev_a')).toEqual([1]);
  });

  it('keeps the accounts of several rules apart, also where their records are set aside in one table', async () => {
    const other = await createTopic(bootstrap, 'typed-other', 1);
    const name = `t${randomBytes(3).toString('hex')}`;
    await world.send(record('a', 1), record('b', 2), 'broken');
    const send = (text: string) =>
      world.produced.send(other, 0, [{ key: null, value: Buffer.from(text), timestampMs: SENT_MS }]);
    for (const text of [record('a', 10), 'broken too', record('n', 11)]) await send(text);
    world.make(created(), {
      topics: [world.topic, other],
      intoTable: GROUP,
      name,
      rules: [{ match: other, layout: 'typed', table: 'silver.oth_${route}', ...created({ maxTables: 1 }) }],
    });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 6, quarantined: 3 });
    expect(await world.proof(GROUP)).toMatchObject({ ok: true, rows: 2, quarantined: 1 });
    expect(await world.proof('silver.oth_${route}')).toMatchObject({ ok: true, rows: 1, quarantined: 2 });
    expect(await ids('silver.oth_a')).toEqual([10]);
  });

  it('brings several topics into the tables of one rule', async () => {
    const other = await createTopic(bootstrap, 'typed-other', 1);
    await world.send(record('a', 1), record('b', 2));
    await world.produced.send(other, 0, [
      { key: null, value: Buffer.from(record('a', 3)), timestampMs: SENT_MS },
      { key: null, value: Buffer.from(record('c', 4)), timestampMs: SENT_MS },
    ]);
    world.make(created({ maxTables: 3 }), { topics: [world.topic, other], intoTable: GROUP });
    await world.pipeline.run();
    expect((await ids('silver.ev_a')).sort()).toEqual([1, 3]);
    expect(await world.proof(GROUP)).toMatchObject({ ok: true, rows: 4, quarantined: 0 });
  });

  it('lets two rules not share a table, by their words or by what records hold', async () => {
    const other = await createTopic(bootstrap, 'typed-other', 1);
    const topics = [world.topic, other];
    await world.send(record('b_c', 1), record('a', 2));
    await world.produced.send(other, 0, [
      { key: null, value: Buffer.from(record('c', 3)), timestampMs: SENT_MS },
      { key: null, value: Buffer.from(record('x', 4)), timestampMs: SENT_MS },
    ]);
    const rule = (table: string, route: object) => ({ match: other, layout: 'typed', table, value, route });
    world.make(created(), {
      topics,
      intoTable: 'silver.a_${route}',
      rules: [rule('silver.a_b_${route}', { by: 'kind', unknown: 'create' })],
    });
    const { log, summary } = await world.pipeline.run();
    expect(summary).toMatchObject({ records: 4, quarantined: 1 });
    expect(log.join('\n')).toMatch(/silver\.a_b_c, which takes the records of silver\.a_/);
    expect((await ids('silver.a_b_c')).length).toBe(1);
    for (const group of ['silver.a_${route}', 'silver.a_b_${route}'])
      expect(await world.proof(group)).toMatchObject({ ok: true });
    world.make(
      { value, route: { by: 'kind', tables: { a: 'silver.shared' } } },
      {
        topics,
        intoTable: 'silver.one_${route}',
        rules: [rule('silver.two', { by: 'kind', tables: { c: 'silver.shared' } })],
      },
    );
    await expect(world.pipeline.run()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('silver.shared'),
    });
  });

  it('gives each of its tables the columns that its own records ask for', async () => {
    const kinds = Array.from({ length: 40 }, (_, i) => `k${i}`);
    const text = (i: number) => `{"kind":"k${i % 40}","id":${i},"c${i % 40}":${i}}`;
    await world.send(...Array.from({ length: 200 }, (_, i) => text(i)));
    world.make({ ...created(), evolve: 'add' }, { intoTable: GROUP });
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 200, quarantined: 0, batches: 1 });
    for (const [k, kind] of kinds.entries()) {
      const rows = plainRows(await world.rows(`silver.ev_${kind}`));
      expect(rows).toEqual(
        [0, 1, 2, 3, 4].map((n) => ({ kind, id: BigInt(k + 40 * n), [`c${k}`]: BigInt(k + 40 * n) })),
      );
    }
    expect(await world.proof(GROUP)).toMatchObject({ ok: true, rows: 200 });
  });
});
