/** Tables that PyIceberg made: the pipeline uses them as they are, PyIceberg goes on, the pipeline goes on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchesOf, corpus, type ExpectedOptions, expectedRows } from '../support/corpus.ts';
import { createTopic } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import {
  FOREIGN_ENGINES,
  type ForeignReading,
  type ForeignValue,
  readMany,
  runPython,
} from '../support/python.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

const ANY_TIME = { 'message.timestamp.after.max.ms': '9223372036854775807' };
const kafka = useKafka();
const produced = new Produced(kafka.bootstrap);
const pipelines: TestPipeline[] = [];
afterAll(async () => {
  await produced.close();
  for (const pipeline of pipelines) pipeline.remove();
});

async function pipelineOver(
  prefix: string,
  options: object = {},
): Promise<{ pipeline: TestPipeline; topic: string }> {
  const topic = await createTopic(kafka.bootstrap, prefix, 1, ANY_TIME);
  const pipeline = new TestPipeline({ bootstrap: kafka.bootstrap, topics: [topic], ...options });
  pipelines.push(pipeline);
  return { pipeline, topic };
}

const place = (pipeline: TestPipeline) => ({ catalog: pipeline.catalogFile, warehouse: pipeline.warehouse });
const python = (pipeline: TestPipeline, ...args: string[]) =>
  runPython('foreign_tables.py', [pipeline.catalogFile, pipeline.warehouse, ...args]);

async function produce(topic: string, round: number): Promise<void> {
  for (const batch of batchesOf(corpus({ round, count: 50 }))) await produced.send(topic, 0, batch);
}

describe.each([
  ['reordered', { keyType: 'binary' }, 0, ['any_name', 'day', 'note', 'v2']],
  ['evolved', { keyType: 'string' }, 15, ['offset10', 'at']],
  ['upgraded', { keyType: 'string' }, 15, ['dt', 'gone_trunc', 'offset10', 'at']],
] as const)('a table %s by PyIceberg', (kind, { keyType }, before, partitionFields) => {
  let pipeline: TestPipeline;
  let topic: string;
  let table: string;
  let readings: ForeignReading[];

  beforeAll(async () => {
    ({ pipeline, topic } = await pipelineOver(`theirs-${kind}`));
    table = pipeline.tableOf(topic);
    await python(pipeline, 'create', kind, table);
    await produce(topic, 0);
    await pipeline.run();
    await python(pipeline, 'append', table, '--rows', '7', '--first-offset', '100');
    await produce(topic, 1);
    const run = await pipeline.cli();
    expect(run.code, run.stderr).toBe(0);
    await python(pipeline, 'append', table, '--rows', '3', '--first-offset', '107');
    readings = await readMany(
      place(pipeline),
      FOREIGN_ENGINES.map((engine) => ({ table, engine })),
    );
  });

  it.each(FOREIGN_ENGINES.map((engine, i) => [engine, i] as const))(
    '%s reads the rows of both',
    (engine, i) => {
      const options: ExpectedOptions = { valueType: 'string', keyType, headers: false, zoneOffsetMs: 0n };
      const { rows } = readings[i];
      const ours = rows.filter((row) => row['topic'] === topic);
      const expected = expectedRows(produced, topic, 1, options).filter((r) => r.quarantined === null);
      expect(ours.length).toBe(expected.length);
      const names = Object.keys(expected[0].row).filter((name) => name in ours[0]);
      expect(names).toEqual(expect.arrayContaining(['value', 'key', 'hour', 'kafka_timestamp']));
      const shown = (row: Record<string, ForeignValue>) =>
        Object.fromEntries(names.map((name) => [name, row[name]]));
      expect(ours.map(shown)).toEqual(expected.map(({ row }) => shown(row)));
      for (const name of ['note', 'origin', 'tags', 'labels'])
        if (name in ours[0])
          expect(
            ours.every((row) => row[name] === null),
            `${name} ${engine}`,
          ).toBe(true);
      const theirs = rows.filter((row) => row['topic'] === 'by-pyiceberg').map((row) => row['kafka_offset']);
      const numbers = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);
      expect(theirs).toEqual([...numbers(0, before), ...numbers(100, 10)]);
    },
  );

  it('has kept its schema and its partitions, and lost nothing of its history', async () => {
    const [reading] = readings;
    expect(reading.partitionSpec.map((f) => f.name)).toEqual(partitionFields);
    expect(reading.snapshots.map((s) => s.sequenceNumber)).toEqual(
      reading.snapshots.map((_, i) => (kind === 'upgraded' ? Math.max(0, i - 2) : i + 1)),
    );
    const total = reading.snapshots.at(-1)!.summary['total-records'];
    expect(Number(total)).toBe(reading.rowCount);
    const proof = await pipeline.cli({ args: ['verify', '-c', 'sluice.yaml'] });
    expect(proof.code, proof.stdout + proof.stderr).toBe(0);
  });

  it('lets PyIceberg skip files by its own partitions and our bounds, and find every row', async () => {
    const [{ rows }] = readings;
    const wanted = rows
      .filter((row) => row['kafka_timestamp'] !== null && row['topic'] === topic)
      .slice(0, 12);
    const found = await readMany(
      place(pipeline),
      wanted.map((row) => ({
        table,
        where: {
          and: [
            { column: 'kafka_timestamp', op: '=', value: String(row['kafka_timestamp']), type: 'timestamp' },
            { column: 'kafka_offset', op: '=', value: Number(row['kafka_offset']), type: 'int' },
          ],
        },
      })),
    );
    for (const [i, reading] of found.entries()) {
      expect(reading.rows).toEqual([wanted[i]]);
      expect(reading.files.length).toBeLessThan(readings[0].files.length);
    }
  });
});

describe('a quarantine table made by PyIceberg', () => {
  it('takes the records by its own columns and partitions', async () => {
    const { pipeline, topic } = await pipelineOver('theirs-quarantine', { source: { includeHeaders: true } });
    const table = `${pipeline.tableOf(topic)}__quarantine`;
    await python(pipeline, 'create', 'quarantine', table);
    await produce(topic, 0);
    await pipeline.run();
    const options = { valueType: 'string', keyType: 'binary', headers: true, zoneOffsetMs: 0n } as const;
    const expected = expectedRows(produced, topic, 1, options).filter((r) => r.quarantined !== null);
    const names = ['kafka_offset', 'kafka_timestamp', 'key', 'value', 'headers'];
    const shown = (row: Record<string, ForeignValue>) => names.map((name) => row[name]);
    const [reading, pruned] = await readMany(place(pipeline), [
      { table, engine: 'duckdb' },
      { table, where: { column: 'reason', op: '=', value: 'OUT_OF_RANGE', type: 'string' } },
    ]);
    expect(reading.rows.map(shown)).toEqual(expected.map(({ row }) => shown(row)));
    expect(reading.rows.map(({ reason, field }) => ({ reason, field }))).toEqual(
      expected.map((r) => r.quarantined),
    );
    expect(reading.partitions.length).toBeGreaterThan(3);
    for (const { partition } of reading.partitions) expect(partition['batch_id']).toBe(0);
    expect(pruned.rowCount).toBe(expected.filter((r) => r.quarantined?.reason === 'OUT_OF_RANGE').length);
    expect(pruned.rowCount).toBeGreaterThan(0);
  });
});

describe('a table that cannot be appended to', () => {
  it('of version 1 is refused before anything is read', async () => {
    const { pipeline, topic } = await pipelineOver('theirs-v1');
    await python(pipeline, 'create', 'version1', pipeline.tableOf(topic));
    await produce(topic, 0);
    await expect(pipeline.run()).rejects.toMatchObject({
      code: 'TABLE_INCOMPATIBLE',
      message: expect.stringContaining('format version 1'),
    });
    const run = await pipeline.cli();
    expect(run.code).toBe(78);
    expect(run.stderr + run.stdout).toContain('TABLE_INCOMPATIBLE');
    const [reading] = await readMany(place(pipeline), [{ table: pipeline.tableOf(topic) }]);
    expect(reading.snapshots).toEqual([]);
    expect(pipeline.files(pipeline.warehouse).filter((file) => file.endsWith('.parquet'))).toEqual([]);
  });

  it('has every fault named', async () => {
    const { pipeline, topic } = await pipelineOver('theirs-incompatible', {
      source: { includeHeaders: true },
    });
    const table = pipeline.tableOf(topic);
    await python(pipeline, 'create', 'incompatible', table);
    await produce(topic, 0);
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'TABLE_INCOMPATIBLE',
      context: {
        table,
        faults: [
          expect.stringContaining('format version 1'),
          'column key is required, but records may have none',
          'column kafka_partition: expected int, found long',
          'column kafka_timestamp: expected timestamptz, found timestamp',
          'column owner is required, and Sluice has nothing to put there',
          'there is no column `value` for the value of a record',
          expect.stringContaining('there is no column `headers`'),
        ],
      },
    });
  });
});
