/** Records go back into tables whose rules have changed: typed, evolved, routed, with the incarnation of their topic. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bronzeSchema } from '../../../src/engine/bronze-layout.ts';
import type { RequeueReport } from '../../../src/engine/requeue/requeue-report.ts';
import { parseTableName } from '../../../src/engine/target-tables.ts';
import { currentSchema } from '../../../src/iceberg/metadata.ts';
import { UNPARTITIONED } from '../../../src/iceberg/partition.ts';
import { createTopic } from '../../support/fault-topics.ts';
import { readIndependently } from '../../support/independent-table.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced } from '../../support/produced.ts';
import { checkRequeued, requeue } from '../../support/requeue.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

const FIRST_MS = 1_784_019_600_000n;
const PROVENANCE = '[topic, kafka_partition, kafka_offset, kafka_timestamp, key, headers, ingested_at]';

describe('records that go back', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  beforeAll(() => {
    produced = new Produced(bootstrap);
  });
  afterAll(() => produced.close());

  async function topicOf(values: readonly (string | null)[]): Promise<string> {
    const topic = await createTopic(bootstrap, 'back', 1);
    await produced.send(
      topic,
      0,
      values.map((value, n) => ({
        key: Buffer.from(`k${n}`),
        value: value === null ? null : Buffer.from(value),
        timestampMs: FIRST_MS + BigInt(n),
        headers: [['n', Buffer.from(String(n))]] as const,
      })),
    );
    return topic;
  }

  const reasons = ({ staying }: RequeueReport) =>
    Object.fromEntries(staying.map((s) => [s.example.split('/')[2], `${s.was} -> ${s.reason}`]));

  it('become typed rows by a schema that has grown; a preview gives no table a column', async () => {
    const topic = await topicOf([
      '{"id":1,"name":"a"}',
      '{"name":"no id"}',
      '{"id":9999999999}',
      '{"id":"z"}',
      '{"id":5',
      '{"id":6,"extra":[1,2]}',
      '',
    ]);
    const value = (schema: string, unknownFields: 'quarantine' | 'ignore') =>
      `{ format: json, schema: "${schema}", unknownFields: ${unknownFields} }`;
    const pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      table: {
        layout: 'typed',
        partitionBy: '[]',
        provenance: PROVENANCE,
        value: value('id INT NOT NULL, name STRING', 'quarantine'),
      },
    });
    const table = pipeline.tableOf(topic);
    await pipeline.run();
    expect(reasons(await requeue(pipeline, table))).toEqual({
      1: 'MISSING_REQUIRED -> MISSING_REQUIRED',
      2: 'OUT_OF_RANGE -> OUT_OF_RANGE',
      3: 'TYPE_MISMATCH -> TYPE_MISMATCH',
      4: 'INVALID_JSON -> INVALID_JSON',
      5: 'UNKNOWN_FIELD -> UNKNOWN_FIELD',
      6: 'EMPTY_VALUE -> EMPTY_VALUE',
    });
    Object.assign(pipeline.options.table!, {
      value: value('id BIGINT, name STRING', 'ignore'),
      evolve: 'widen',
    });
    const schemaOf = async () => {
      const catalog = await pipeline.openCatalog();
      const loaded = await catalog.loadTable(parseTableName(table));
      await catalog.close();
      return currentSchema(loaded!.metadata).fields.map((f) => f.name);
    };
    const before = await schemaOf();
    const preview = await requeue(pipeline, table);
    expect(preview.rows).toEqual({ [table]: 3 });
    expect(await schemaOf()).toEqual(before);
    const done = await requeue(pipeline, table, { execute: true });
    expect(done.rows).toEqual(preview.rows);
    expect(reasons(done)).toEqual({
      3: 'TYPE_MISMATCH -> TYPE_MISMATCH',
      4: 'INVALID_JSON -> INVALID_JSON',
      6: 'EMPTY_VALUE -> EMPTY_VALUE',
    });
    expect(await schemaOf()).toContain('extra');
    const { rows } = await checkRequeued(pipeline, table, produced);
    const at = (n: number) => rows.get(`${topic}-0@${n}`)!;
    expect(at(1)).toMatchObject({ name: 'no id', kafka_timestamp: (FIRST_MS + 1n) * 1000n });
    expect(at(1).id ?? null).toBeNull();
    expect(at(2).id).toBe(9999999999n);
    expect(at(5)).toMatchObject({ id: 6n, extra: [1n, 2n] });
    for (const n of [1, 2, 5]) {
      expect(Buffer.from(at(n).key as Uint8Array).toString()).toBe(`k${n}`);
      const [header] = at(n).headers as { key: string; value: Uint8Array }[];
      expect([header.key, Buffer.from(header.value).toString()]).toEqual(['n', String(n)]);
    }
    pipeline.remove();
  });

  it('go to the destination that they have by now, of several tables', async () => {
    const topic = await topicOf(['{"kind":"a","n":1}', '{"kind":"b","n":2}', '{"kind":"c","n":3}']);
    const routes = (...kinds: string[]) =>
      `{ by: kind, tables: { ${kinds.map((k) => `${k}: bronze.kind_${k}`).join(', ')} }, unknown: quarantine }`;
    const pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      table: {
        layout: 'typed',
        partitionBy: '[]',
        provenance: PROVENANCE,
        value: '{ format: json, schema: "kind STRING, n INT" }',
        route: routes('a'),
      },
    });
    await pipeline.run();
    const quarantine = `bronze.${pipeline.name}`;
    expect(reasons(await requeue(pipeline, quarantine))).toEqual({ 1: 'ROUTE_UNKNOWN -> ROUTE_UNKNOWN' });
    pipeline.options.table!.route = routes('a', 'b');
    const done = await requeue(pipeline, quarantine, { execute: true });
    expect(done).toMatchObject({ records: 2, rows: { 'bronze.kind_b': 1 } });
    const b = await readIndependently(pipeline.catalogFile, 'bronze.kind_b');
    expect(b!.rows).toMatchObject([{ kind: 'b', n: 2, topic, kafka_offset: 1n }]);
    expect(await requeue(pipeline, quarantine, { execute: true })).toMatchObject({ rows: {}, already: 1 });
    pipeline.remove();
  });

  it('stay where their topic goes to another table now, or no rule takes it', async () => {
    const topic = await topicOf(['x'.repeat(50)]);
    const pipeline = new TestPipeline({ bootstrap, topics: [topic], table: { maxRecordBytes: 10 } });
    const table = pipeline.tableOf(topic);
    await pipeline.run();
    const patched = (patch: Parameters<typeof requeue>[2]) => requeue(pipeline, table, patch);
    const other = await patched({
      patch: (config) => {
        config.tables[0].table = 'bronze.elsewhere';
      },
    });
    expect(reasons(other)).toEqual({ 0: 'TOO_LARGE -> OTHER_TABLE' });
    const none = await patched({
      patch: (config) => {
        config.tables[0].match = 'nothing';
      },
    });
    expect(reasons(none)).toEqual({ 0: 'TOO_LARGE -> NO_RULE' });
    pipeline.remove();
  });

  it('stay where their value was cut, and bear the incarnation of their topic where the table has a place', async () => {
    const topic = await topicOf(['y'.repeat(2000), 'x'.repeat(50), 'short']);
    const pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      table: { maxRecordBytes: 20 },
    });
    const table = pipeline.tableOf(topic);
    const schema = bronzeSchema({ valueType: 'string', keyType: 'binary', includeHeaders: false });
    const id = { id: 10, name: 'kafka_topic_id', required: false, type: 'string' } as const;
    const catalog = await pipeline.openCatalog();
    await catalog.createTable(parseTableName(table), {
      schema: { ...schema, fields: [...schema.fields, id] },
      partitionSpec: UNPARTITIONED,
      properties: {},
      formatVersion: 2,
    });
    await catalog.close();
    await pipeline.run({}, (config) => {
      config.quarantine.keepBytes = 1000;
    });
    delete pipeline.options.table!.maxRecordBytes;
    const done = await requeue(pipeline, table, { execute: true });
    expect(done.rows).toEqual({ [table]: 1 });
    expect(reasons(done)).toEqual({ 0: 'TOO_LARGE -> VALUE_CUT' });
    const { rows } = await checkRequeued(pipeline, table, produced);
    const [back, whole] = [rows.get(`${topic}-0@1`)!, rows.get(`${topic}-0@2`)!];
    expect(back.kafka_topic_id).toBe(whole.kafka_topic_id);
    expect(back.kafka_topic_id).toMatch(/./);
    pipeline.remove();
  });
});
