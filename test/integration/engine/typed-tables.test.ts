/** JSON records into typed tables, as a pipeline does it: columns, quarantine, evolution, routes; read back by another reader. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyTable } from '../../../src/proof/verify-table.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { createTopic } from '../../support/fault-topics.ts';
import { readIndependently } from '../../support/independent-table.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline, type TestPipelineOptions } from '../../support/test-pipeline.ts';

describe('typed tables of JSON', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;
  let topic: string;

  beforeEach(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'typed', 1);
  });
  afterEach(async () => {
    await produced.close();
    pipeline?.remove();
  });

  const send = (...values: (string | null)[]) =>
    produced.send(
      topic,
      0,
      values.map((value) => ({
        key: null,
        timestampMs: 1_784_019_600_000n,
        value: value === null ? null : Buffer.from(value),
      })),
    );
  const make = (
    table: NonNullable<TestPipelineOptions['table']>,
    more: Partial<TestPipelineOptions> = {},
  ) => {
    pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      intoTable: 'silver.events',
      table: { layout: 'typed', ...table },
      ...more,
    });
    return pipeline;
  };
  const rows = async (table = 'silver.events') =>
    ((await readIndependently(pipeline.catalogFile, table))?.rows ?? []).sort(
      (a, b) => Number(a.kafka_offset) - Number(b.kafka_offset),
    );
  const proof = async (table = 'silver.events', countBy?: string) =>
    verifyTable(
      {
        checkpoint: await pipeline.openCheckpoint(),
        catalog: await pipeline.openCatalog(),
        io: new LocalFileIO(),
      },
      table,
      { countBy },
    );

  it('fills columns and sets broken records aside with their reason', async () => {
    await send(
      '{"id":9007199254740993,"name":"a","tags":["x",null]}',
      '{"id":"no number"}',
      '{"id":2,"at":{"x":1.5}',
      '{"id":3,"at":{"x":1.5},"unknown":true}',
    );
    make({
      value: {
        format: 'json',
        schema: 'id BIGINT NOT NULL, name STRING, at STRUCT<x: DOUBLE>, tags ARRAY<STRING>',
      },
    });
    const { summary } = await pipeline.run();
    expect(summary).toMatchObject({ records: 4, quarantined: 2 });
    expect(await rows()).toMatchObject([
      { id: 9007199254740993n, name: 'a', tags: ['x', null], topic, kafka_partition: 0, kafka_offset: 0n },
      { id: 3n, at: { x: 1.5 }, kafka_offset: 3n },
    ]);
    expect((await rows('silver.events__quarantine')).map((r) => [r.kafka_offset, r.reason, r.field])).toEqual(
      [
        [1n, 'TYPE_MISMATCH', 'id'],
        [2n, 'INVALID_JSON', 'value'],
      ],
    );
    expect(await proof('silver.events', 'name')).toMatchObject({
      ok: true,
      rows: 2,
      quarantined: 2,
      countBy: { counts: { a: 1, null: 1 } },
    });
  });

  it('adds columns with the value of the record that brought them, and widens', async () => {
    await send('{"id":1}', '{"id":2,"extra":{"n":5}}', '{"id":3000000000}');
    make({ value: { format: 'json', schema: 'id INT' }, evolve: 'widen' });
    const { summary } = await pipeline.run();
    expect(summary).toMatchObject({ records: 3, quarantined: 0, batches: 1 });
    expect(await rows()).toMatchObject([{ id: 1n }, { id: 2n, extra: { n: 5n } }, { id: 3000000000n }]);
    await send('{"id":4,"extra":{"n":6,"m":"q"},"c":null,"d":[],"e":{"f":null}}', '{"id":5,"extra":"text"}');
    expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 1 });
    expect((await rows())[3]).toMatchObject({ id: 4n, extra: { n: 6n, m: 'q' } });
    expect((await rows('silver.events__quarantine')).map((r) => [r.kafka_offset, r.reason])).toEqual([
      [4n, 'TYPE_MISMATCH'],
    ]);
    expect(await proof()).toMatchObject({ ok: true });
  });

  it('infers the columns of a table from its first batch', async () => {
    await send(
      '{"id":1,"a":{},"b":[],"c":null,"d":[null],"e":{"f":null}}',
      '{"id":2,"a":{"x":1},"b":[3],"c":"q"}',
    );
    make({ value: { format: 'json', schema: 'infer' } });
    expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 0 });
    const [first, second] = await rows();
    expect(second).toMatchObject({ id: 2n, a: { x: 1n }, b: [3n], c: 'q' });
    expect(first.id).toBe(1n);
    expect(Object.keys(second)).not.toContain('d');
  });

  it('keeps tombstones as rows of nulls or drops them; required columns refuse them', async () => {
    await send('{"id":1}', null);
    make({ value: { format: 'json', schema: 'id BIGINT NOT NULL' } });
    expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 1 });
    expect((await rows('silver.events__quarantine'))[0]).toMatchObject({
      reason: 'MISSING_REQUIRED',
      field: 'id',
    });
  });

  it('stops at the first bad record under failfast, before anything is committed', async () => {
    await send('{"id":1}', '{"id":');
    make({ value: { format: 'json', schema: 'id BIGINT', mode: 'failfast' } });
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'DECODE_ERROR', context: { offset: 1n } });
    expect(await rows()).toEqual([]);
  });

  it('partitions by columns of the records, in files of a partition each, whatever their order', async () => {
    const days = ['2026-07-14T01:00:00Z', '2026-07-15T01:00:00Z'];
    const values = Array.from({ length: 400 }, (_, n) =>
      n % 50 === 7
        ? `{"id":${n}}`
        : `{"id":${n},"at":"${days[n % 2]}","where":{"country":"${['kr', 'de', 'us'][n % 3]}"}}`,
    );
    await send(...values);
    make({
      value: { format: 'json', schema: 'id BIGINT, at TIMESTAMP, where STRUCT<country: STRING>' },
      partitionBy: ['days(at)', 'where.country'],
    });
    expect((await pipeline.run()).summary).toMatchObject({ records: 400, quarantined: 0 });
    const found = await rows();
    expect(found.map((r) => r.id)).toEqual(values.map((_, n) => BigInt(n)));
    expect(found[8]).toMatchObject({
      id: 8n,
      at: BigInt(Date.parse(days[0])) * 1000n,
      where: { country: 'us' },
    });
    const expected = new Map<string, bigint>();
    for (const text of values) {
      const { at, where } = JSON.parse(text) as { at?: string; where?: { country: string } };
      const partition = `at_day=${at?.slice(0, 10) ?? null}/where.country=${where?.country ?? null}`;
      expected.set(partition, (expected.get(partition) ?? 0n) + 1n);
    }
    const { files } = (await readIndependently(pipeline.catalogFile, 'silver.events'))!;
    const written = files.map((f): [string, bigint] => [
      /at_day=[^/]*\/[^/]*/.exec(decodeURIComponent(f.path))![0],
      f.records,
    ]);
    expect(written.length).toBe(7);
    expect(new Map(written)).toEqual(expected);
    expect(await proof()).toMatchObject({ ok: true, rows: 400 });
  });

  it('routes by a field, makes tables on demand up to a number, and accounts for all of it', async () => {
    await send(
      '{"kind":"click","id":1}',
      '{"kind":"view","id":2}',
      '{"kind":"click","id":3}',
      '{"id":4}',
      '{"kind":"Click","id":5}',
      'no json',
      '{"kind":"sale","id":6}',
    );
    make(
      {
        value: { format: 'json', schema: 'kind STRING, id BIGINT' },
        route: { by: 'kind', unknown: 'create', maxTables: 2 },
      },
      { intoTable: 'silver.events_${route}' },
    );
    expect((await pipeline.run()).summary).toMatchObject({ records: 7, quarantined: 4, batches: 1 });
    expect((await rows('silver.events_click')).map((r) => r.id)).toEqual([1n, 3n]);
    expect((await rows('silver.events_view')).map((r) => r.id)).toEqual([2n]);
    expect((await rows('silver.faults__quarantine')).map((r) => [r.kafka_offset, r.reason])).toEqual([
      [3n, 'ROUTE_UNKNOWN'],
      [4n, 'ROUTE_UNKNOWN'],
      [5n, 'INVALID_JSON'],
      [6n, 'ROUTE_UNKNOWN'],
    ]);
    expect(await proof('silver.events_${route}')).toMatchObject({ ok: true, rows: 3, quarantined: 4 });
    // Another process knows the tables from the checkpoint.
    await send('{"kind":"view","id":7}', '{"kind":"sale","id":8}');
    expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 1 });
    expect(await proof('silver.events_view')).toMatchObject({ ok: true, rows: 4, quarantined: 5 });
  });
});
