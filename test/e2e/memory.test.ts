/** `memory` bounds the whole process: what it holds at its peak stays under it plus 150 MB, whatever the backlog. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
  partitions: number;
  codec: KafkaCodec;
  batchBytes?: number;
  count: number;
  value(i: number): string;
  timestampMs(i: number): number;
}

async function load(backlog: Backlog): Promise<void> {
  const { topic, partitions, codec, batchBytes, count } = backlog;
  await withCluster(kafka.bootstrap, (cluster) =>
    cluster.createTopics([
      { topic, partitions, config: { 'compression.type': 'producer', 'max.message.bytes': '8000000' } },
    ]),
  );
  await withProducer(kafka.bootstrap, topic, { codec, batchBytes }, async (producer) => {
    for (let i = 0; i < count; i++) {
      const record = {
        topic,
        partition: i % partitions,
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
    writeFileSync(pipeline, JSON.stringify(pipelineOf(settings, backlog.topic, home)));
    const run = await runSluice(['run', '-c', pipeline, '--available-now', '-o', 'json'], home);
    expect(JSON.parse(run.stdout)).toMatchObject({ batches: 1, records: backlog.count, stopped: 'finished' });
    return run.peakRssBytes;
  } finally {
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteTopics([backlog.topic]));
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
});
