/** `memory` bounds the whole process: what it holds at its peak stays under it plus 150 MB, whatever the backlog. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pipelineOf } from '../../bench/drain.ts';
import { AdEvents } from '../../bench/events.ts';
import { runSluice } from '../../bench/measured-process.ts';
import type { KafkaCodec } from '../../src/kafka/produce.ts';
import { useKafka } from '../support/kafka.ts';
import { withCluster, withProducer } from '../support/kafka-topics.ts';

const MiB = 1024 * 1024;
/** `memory: 128MB` and what Node.js itself may take. */
const BOUND_BYTES = (128 + 150) * MiB;
const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);

const kafka = useKafka();
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-e2e-memory-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Inside the repository the first start strips types, which takes memory that a built package never needs. */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sluice-e2e-memory-'));
  await peakOf({
    topic: kafka.uniqueTopic('memory-warm'),
    partitions: 2,
    codec: 'zstd',
    count: 100,
    value: (i) => `{"id":${i}}`,
    timestampMs: (i) => START_MS + i,
  });
  rmSync(home, { recursive: true, force: true });
});

interface Backlog {
  topic: string;
  /** So many topics, whose names begin with `topic`, each into a table of its own. */
  topics?: number;
  /** The least that are made. */
  files?: number;
  partitions: number;
  codec: KafkaCodec;
  batchBytes?: number;
  count: number;
  value(i: number): string;
  timestampMs(i: number): number;
}

function topicsOf({ topic, topics }: Backlog): string[] {
  return topics === undefined ? [topic] : Array.from({ length: topics }, (_, i) => `${topic}-${i}`);
}

async function load(backlog: Backlog): Promise<void> {
  const { partitions, codec, batchBytes, count } = backlog;
  const topics = topicsOf(backlog);
  const config = { 'compression.type': 'producer', 'max.message.bytes': '8000000' };
  await withCluster(kafka.bootstrap, (cluster) =>
    cluster.createTopics(topics.map((topic) => ({ topic, partitions, config }))),
  );
  await withProducer(kafka.bootstrap, topics[0], { codec, batchBytes }, async (producer) => {
    for (const topic of topics.slice(1)) await producer.prepare(topic);
    for (let i = 0; i < count; i++) {
      const record = {
        topic: topics[i % topics.length],
        partition: Math.floor(i / topics.length) % partitions,
        key: `k${i % 100}`,
        value: backlog.value(i),
        timestampMs: backlog.timestampMs(i),
      };
      const full = producer.append(record);
      if (full !== undefined) await full;
    }
  });
}

/** Reads all of it in one batch and returns the peak of the process's resident memory, as the kernel counts it. */
async function peakOf(backlog: Backlog): Promise<number> {
  await load(backlog);
  try {
    const pipeline = join(home, 'sluice.json');
    const settings = { bootstrap: kafka.bootstrap, memory: '128MB', workers: 2, batchRecords: 0 };
    const topics = topicsOf(backlog);
    const config = pipelineOf(settings, topics.join(), home) as { tables: { table: string }[] };
    if (topics.length > 1) config.tables[0].table = 'bronze.${topic}';
    writeFileSync(pipeline, JSON.stringify(config));
    const run = await runSluice(['run', '-c', pipeline, '--available-now', '-o', 'json'], home);
    expect(JSON.parse(run.stdout)).toMatchObject({ batches: 1, records: backlog.count, stopped: 'finished' });
    const files = readdirSync(join(home, 'warehouse'), { recursive: true, encoding: 'utf8' });
    const written = files.filter((name) => name.endsWith('.parquet')).length;
    expect(written).toBeGreaterThanOrEqual(backlog.files ?? 1);
    return run.peakRssBytes;
  } finally {
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteTopics(topicsOf(backlog)));
  }
}

describe('the memory of a pipeline', () => {
  it('is kept over 600 MB that a topic holds in 6', async () => {
    const peak = await peakOf({
      topic: kafka.uniqueTopic('memory-zstd'),
      partitions: 4,
      codec: 'zstd',
      count: 600_000,
      value: (i) => `${`{"id":${i},"text":"`.padEnd(1000, 'abcdefgh')}"}`,
      timestampMs: (i) => START_MS + i,
    });
    expect(peak).toBeLessThan(BOUND_BYTES);
  });

  it('is kept over records of 1 MB', async () => {
    const events = new AdEvents(1_000_000);
    const values = [0, 1, 2, 3].map((i) => events.record(i).value);
    const peak = await peakOf({
      topic: kafka.uniqueTopic('memory-large'),
      partitions: 4,
      codec: 'zstd',
      batchBytes: 1,
      count: 200,
      value: (i) => values[i % values.length],
      timestampMs: (i) => START_MS + i,
    });
    expect(peak).toBeLessThan(BOUND_BYTES);
  });

  it('is kept where the records of every batch are scattered over a hundred hours', async () => {
    const events = new AdEvents(250);
    const peak = await peakOf({
      topic: kafka.uniqueTopic('memory-hours'),
      partitions: 4,
      codec: 'lz4',
      count: 200_000,
      value: (i) => events.record(i).value,
      timestampMs: (i) => START_MS + ((i * 37) % 100) * HOUR_MS,
    });
    expect(peak).toBeLessThan(BOUND_BYTES);
  });

  it('is kept where a batch makes thousands of files', async () => {
    const events = new AdEvents(250);
    const peak = await peakOf({
      topic: kafka.uniqueTopic('memory-files'),
      partitions: 4,
      codec: 'lz4',
      count: 400_000,
      value: (i) => events.record(i).value,
      timestampMs: (i) => START_MS + ((i * 37) % 500) * HOUR_MS,
      files: 2000,
    });
    expect(peak).toBeLessThan(BOUND_BYTES);
  });

  it('is kept where a batch reads a hundred topics into as many tables', async () => {
    const events = new AdEvents(250);
    const peak = await peakOf({
      topic: kafka.uniqueTopic('memory-topics'),
      topics: 100,
      partitions: 1,
      codec: 'lz4',
      count: 300_000,
      value: (i) => events.record(i).value,
      timestampMs: (i) => START_MS + i,
      files: 100,
    });
    expect(peak).toBeLessThan(BOUND_BYTES);
  });
});
