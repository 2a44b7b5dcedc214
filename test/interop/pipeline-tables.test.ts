/**
 * The pipeline's own tables in the eyes of PyIceberg, DuckDB and pyarrow: records of every kind from a real broker, in tables of
 * every codec, partitioning and format version, over several batches.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  batchesOf,
  CORPUS_START_MS,
  corpus,
  type ExpectedOptions,
  type ExpectedRow,
  expectedRows,
} from '../support/corpus.ts';
import { createTopic } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import {
  computedSummaries,
  FOREIGN_ENGINES,
  type ForeignEngine,
  type ForeignReading,
  type ForeignValue,
  type ReadRequest,
  readMany,
  type Where,
} from '../support/python.ts';
import { TestPipeline } from '../support/test-pipeline.ts';
import { matches } from '../support/where.ts';

const SEOUL_MS = 9n * 3_600_000n;
const ANY_TIME = { 'message.timestamp.after.max.ms': '9223372036854775807' };

interface Kind extends ExpectedOptions {
  name: string;
  rule: Record<string, string | number | boolean>;
  topicConfig?: Record<string, string>;
  modernTimes?: boolean;
  partitionFields: string[];
}

const kind = (
  name: string,
  rule: Kind['rule'],
  partitionFields: string[],
  more: Partial<Kind> = {},
): Kind => ({
  name,
  rule: {
    ...rule,
    ...(more.valueType && { valueType: more.valueType }),
    ...(more.keyType && { keyType: more.keyType }),
  },
  partitionFields,
  valueType: 'string',
  keyType: 'binary',
  headers: true,
  zoneOffsetMs: 0n,
  ...more,
});

const KINDS: readonly Kind[] = [
  kind('utc', { codec: 'zstd' }, ['dt', 'hour']),
  kind('seoul', { codec: 'snappy', timeZone: 'Asia/Seoul' }, ['dt', 'hour'], {
    valueType: 'binary',
    zoneOffsetMs: SEOUL_MS,
    modernTimes: true,
  }),
  kind(
    'hours',
    { codec: 'gzip', partitionBy: '["hours(kafka_timestamp)", "bucket(16, key)"]' },
    ['kafka_timestamp_hour', 'key_bucket'],
    { keyType: 'string' },
  ),
  kind(
    'days',
    { codec: 'lz4', partitionBy: '["days(kafka_timestamp)", "truncate(3, value)"]' },
    ['kafka_timestamp_day', 'value_trunc'],
    { keyType: 'string' },
  ),
  kind(
    'bytes',
    { codec: 'none', partitionBy: '["bucket(16, key)", "truncate(2, value)"]', tombstones: 'drop' },
    ['key_bucket', 'value_trunc'],
    { valueType: 'binary', tombstones: 'drop' },
  ),
  kind('third', { formatVersion: 3, partitionBy: '["months(kafka_timestamp)", "key"]' }, [
    'kafka_timestamp_month',
    'key',
  ]),
  kind(
    'offsets',
    {
      formatVersion: 3,
      partitionBy:
        '["years(kafka_timestamp)", "truncate(50, kafka_offset)", "topic", "bucket(4, kafka_offset)"]',
    },
    ['kafka_timestamp_year', 'kafka_offset_trunc', 'topic', 'kafka_offset_bucket'],
  ),
  kind('whole', { partitionBy: '[]', codec: 'zstd', codecLevel: 9 }, []),
];
const PARTITIONS = 2;
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

const COORDINATE = ['topic', 'kafka_partition', 'kafka_offset'];

const kafka = useKafka();
const produced = new Produced(kafka.bootstrap);
const topics = new Map<string, string>();
const startedMs = Date.now();
let pipeline: TestPipeline;

/** Every codec of Kafka, and transactions of which some are aborted. */
async function produceRound(round: number): Promise<void> {
  for (const { name, modernTimes } of KINDS) {
    const topic = topics.get(name)!;
    const batches = batchesOf(corpus({ modernTimes, round }));
    for (const [i, batch] of batches.entries()) {
      await produced.send(topic, 0, batch, { compression: CODECS[i % CODECS.length] });
    }
    const in1 = (some: typeof batches) => some.map((records) => ({ topic, partition: 1, records }));
    await produced.transaction(`${topic}-${round}-abort`, in1(batches.slice(0, 9)), 'abort');
    await produced.transaction(`${topic}-${round}-commit`, in1(batches.slice(9)), 'commit');
  }
  const records = corpus().map((record) => ({ ...record, timestampMs: CORPUS_START_MS }));
  await produced.send(topics.get('append')!, round, records, { compression: 'lz4' });
}

beforeAll(async () => {
  for (const { name, topicConfig } of KINDS)
    topics.set(
      name,
      await createTopic(kafka.bootstrap, `interop-${name}`, PARTITIONS, { ...ANY_TIME, ...topicConfig }),
    );
  const appendTime = { 'message.timestamp.type': 'LogAppendTime' };
  topics.set('append', await createTopic(kafka.bootstrap, 'interop-append', PARTITIONS, appendTime));
  pipeline = new TestPipeline({
    bootstrap: kafka.bootstrap,
    topics: [...topics.values()],
    name: 'interop',
    source: { includeHeaders: true },
    rules: KINDS.map(({ name, rule }) => ({ match: topics.get(name)!, ...rule })),
  });
  await produceRound(0);
  const first = await pipeline.cli();
  expect(first.code, first.stderr).toBe(0);
  await produceRound(1);
  const { summary } = await pipeline.run({}, (config) => {
    config.source.maxOffsetsPerTrigger = 700n;
  });
  expect(summary.batches).toBeGreaterThan(1);
});
afterAll(async () => {
  await produced.close();
  pipeline.remove();
});

const place = () => ({ catalog: pipeline.catalogFile, warehouse: pipeline.warehouse });
const tableOf = (name: string): string => pipeline.tableOf(topics.get(name)!);
const expectedOf = (options: Kind): ExpectedRow[] =>
  expectedRows(produced, topics.get(options.name)!, PARTITIONS, options);
const rowsOf = (options: Kind) =>
  expectedOf(options)
    .filter((r) => r.quarantined === null)
    .map((r) => r.row);
const read = (requests: ReadRequest[]): Promise<ForeignReading[]> => readMany(place(), requests);

/** PyIceberg 0.11 shows a null list of structs as an empty one (it works around apache/arrow#38809 by `from_arrays`). */
function asShown(
  engine: ForeignEngine,
  rows: Record<string, ForeignValue>[],
): Record<string, ForeignValue>[] {
  if (engine !== 'pyiceberg') return rows;
  return rows.map((row) => (row['headers'] === null ? { ...row, headers: [] } : row));
}

function pick(
  row: Record<string, ForeignValue>,
  like: Record<string, ForeignValue>,
): Record<string, ForeignValue> {
  return Object.fromEntries(Object.keys(like).map((name) => [name, row[name]]));
}
const coordinate = (row: Record<string, ForeignValue>): string =>
  `${row['kafka_partition']}@${row['kafka_offset']}`;

describe.each(KINDS)('the table of kind $name', (options) => {
  let table: string;
  let rows: Record<string, ForeignValue>[];
  let data: ForeignReading[];
  let quarantine: ForeignReading[];
  beforeAll(async () => {
    table = tableOf(options.name);
    rows = rowsOf(options);
    const requests = [table, `${table}__quarantine`].flatMap((name) =>
      FOREIGN_ENGINES.map((engine) => ({ table: name, engine })),
    );
    const readings = await read(requests);
    [data, quarantine] = [readings.slice(0, FOREIGN_ENGINES.length), readings.slice(FOREIGN_ENGINES.length)];
  });

  it.each(FOREIGN_ENGINES.map((engine, i) => [engine, i] as const))(
    '%s reads every row as it was produced, and what is quarantined with its bytes',
    (engine, i) => {
      expect(data[i].rows.map((row) => pick(row, rows[0]))).toEqual(asShown(engine, rows));
      for (const row of data[i].rows) expect(row['ingested_at']).toBeGreaterThan(1_700_000_000_000_000);
      const expected = expectedOf(options).filter((r) => r.quarantined !== null);
      const found = quarantine[i].rows;
      expect(found.map((row) => pick(row, expected[0].row))).toEqual(
        asShown(
          engine,
          expected.map((r) => r.row),
        ),
      );
      expect(found.map(({ reason, field }) => ({ reason, field }))).toEqual(
        expected.map((r) => r.quarantined),
      );
      for (const row of found) expect(row).toMatchObject({ pipeline: 'interop', schema_id: null });
    },
  );

  it('has the partitions and the codec that were asked for', () => {
    const [reading] = data;
    const codec = String(options.rule['codec'] ?? 'zstd').toUpperCase();
    expect(data[FOREIGN_ENGINES.indexOf('pyarrow')].codecs).toEqual([
      codec === 'NONE' ? 'UNCOMPRESSED' : codec,
    ]);
    expect(reading.partitionSpec.map((f) => f.name)).toEqual(options.partitionFields);
    expect(reading.formatVersion).toBe(options.rule['formatVersion'] ?? 2);
    expect(reading.partitions.reduce((sum, p) => sum + p.records, 0)).toBe(rows.length);
    if (options.partitionFields[0] !== 'dt') return;
    const hours = new Map<string, number>();
    for (const { dt, hour } of rows) {
      const key = JSON.stringify({ dt, hour });
      hours.set(key, (hours.get(key) ?? 0) + 1);
    }
    const found = reading.partitions.map((p) => [JSON.stringify(p.partition), p.records] as const);
    expect(new Map(found)).toEqual(hours);
  });

  it('gives the right rows for every condition, whatever it lets a reader skip', async () => {
    const conditions = conditionsFor(options, rows);
    const readings = await read(conditions.map((where) => ({ table, where, columns: COORDINATE })));
    let skipped = 0;
    for (const [i, where] of conditions.entries()) {
      const wanted = rows.filter((row) => matches(where, row)).map(coordinate);
      expect(readings[i].rows.map(coordinate), JSON.stringify(where)).toEqual(wanted);
      if (readings[i].files.length < data[0].files.length) skipped++;
    }
    expect(skipped).toBeGreaterThan(conditions.length / 8);
    // The files that are left hold the rows for readers of files, too.
    const some = conditions
      .filter((_, i) => i % 8 === 0)
      .flatMap((where) =>
        (['duckdb', 'pyarrow'] as const).map((engine) => ({ table, where, engine, columns: COORDINATE })),
      );
    for (const [i, reading] of (await read(some)).entries()) {
      const found = new Set(reading.rows.map(coordinate));
      for (const row of rows) if (matches(some[i].where, row)) expect(found).toContain(coordinate(row));
    }
  });

  it('has snapshots whose summaries add up, and each can be read', async () => {
    const { snapshots } = data[0];
    const [computed] = await computedSummaries(place(), [table]);
    expect(snapshots.length).toBeGreaterThan(1);
    for (const [i, { summary }] of snapshots.entries()) {
      const { operation, ...counts } = Object.fromEntries(
        Object.entries(summary).filter(([key]) => !key.startsWith('sluice.')),
      );
      // Java counts an unpartitioned table as one partition, PyIceberg not at all.
      if (options.partitionFields.length === 0) computed[i].summary['changed-partition-count'] = '1';
      expect(counts).toEqual(computed[i].summary);
      expect(operation).toBe('append');
      expect(summary).toMatchObject({
        'sluice.pipeline-name': 'interop',
        'sluice.pipeline-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'sluice.commit-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'sluice.batch-id': expect.stringMatching(/^\d+$/),
        'sluice.offsets': expect.any(String),
      });
    }
    const older = await read(snapshots.map((s) => ({ table, snapshot: s.id })));
    const shown = new Map(asShown('pyiceberg', rows).map((row) => [coordinate(row), row]));
    let before = new Set<string>();
    for (const [i, then] of older.entries()) {
      expect(then.rowCount).toBe(Number(snapshots[i].summary['total-records']));
      const now = new Set(then.rows.map(coordinate));
      for (const key of before) expect(now).toContain(key);
      for (const row of then.rows) expect(pick(row, rows[0])).toEqual(shown.get(coordinate(row)));
      before = now;
    }
    expect(before.size).toBe(rows.length);
  });
});

it("a topic of LogAppendTime has the broker's times", async () => {
  const topic = topics.get('append')!;
  const table = pipeline.tableOf(topic);
  const options = { valueType: 'string', keyType: 'binary', headers: true, zoneOffsetMs: 0n } as const;
  const expected = expectedRows(produced, topic, PARTITIONS, options).filter((r) => r.quarantined === null);
  const [reading] = await read([{ table, engine: 'duckdb' }]);
  const names = ['kafka_partition', 'kafka_offset', 'value', 'key', 'headers'];
  const shown = (row: Record<string, ForeignValue>) => names.map((name) => row[name]);
  expect(reading.rows.map(shown)).toEqual(expected.map(({ row }) => shown(row)));
  const times = reading.rows.map((row) => Number(row['kafka_timestamp']) / 1000);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(startedMs);
  expect(Math.max(...times)).toBeLessThanOrEqual(Date.now());
  for (const row of reading.rows) {
    const iso = new Date(Number(row['kafka_timestamp']) / 1000).toISOString();
    expect([row['dt'], row['hour']]).toEqual([iso.slice(0, 10), Number(iso.slice(11, 13))]);
  }
});

/** Conditions on partitions and on bounds, with the odd values among them. */
function conditionsFor(options: Kind, rows: Record<string, ForeignValue>[]): Where[] {
  const conditions: Where[] = [];
  const some = rows.filter((_, i) => i % 31 === 0);
  const type = (column: 'value' | 'key') => (options[`${column}Type`] === 'string' ? 'string' : 'binary');
  for (const row of some) {
    const offset = {
      column: 'kafka_offset',
      op: '=',
      value: Number(row['kafka_offset']),
      type: 'int',
    } as const;
    const part = {
      column: 'kafka_partition',
      op: '=',
      value: Number(row['kafka_partition']),
      type: 'int',
    } as const;
    conditions.push({ and: [part, offset] });
    if (row['dt'] !== null) {
      const dt = { column: 'dt', op: '=', value: String(row['dt']), type: 'string' } as const;
      const hour = { column: 'hour', op: '=', value: Number(row['hour']), type: 'int' } as const;
      conditions.push({ and: [dt, hour] });
    }
    if (row['kafka_timestamp'] !== null) {
      const value = String(row['kafka_timestamp']);
      conditions.push({ column: 'kafka_timestamp', op: '=', value, type: 'timestamp' });
    }
  }
  for (const column of ['value', 'key'] as const) {
    conditions.push({ column, op: 'null' }, { column, op: 'notNull' });
    for (const [i, value] of [...new Set(rows.map((row) => row[column]))].entries()) {
      if (value === null || String(value).length > 20_000) continue;
      const literal = { column, value: String(value), type: type(column) } as const;
      conditions.push({ ...literal, op: '=' });
      if (i % 3 === 0) conditions.push({ ...literal, op: '>' }, { ...literal, op: '<=' });
    }
    if (type(column) === 'string')
      conditions.push({ column, op: 'starts', value: 'b'.repeat(15) + '…', type: 'string' });
  }
  const day = 86_400_000_000;
  const from = Number(CORPUS_START_MS) * 1000;
  const time = (op: '<' | '>=', micros: number): Where => ({
    column: 'kafka_timestamp',
    op,
    value: String(micros),
    type: 'timestamp',
  });
  conditions.push(
    { and: [time('>=', from), time('<', from + 3_600_000_000)] },
    { and: [time('>=', from + day / 2), time('<', from + day)] },
    { and: [time('>=', -day), time('<', 0)] },
    time('<', 0),
    { column: 'kafka_timestamp', op: 'null' },
    { column: 'dt', op: 'null' },
    { column: 'hour', op: '>=', value: 12, type: 'int' },
    { column: 'kafka_offset', op: '>=', value: 100, type: 'int' },
    { column: 'kafka_offset', op: '<', value: 20, type: 'int' },
  );
  return conditions;
}
