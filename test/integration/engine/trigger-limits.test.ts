/** The limits of a trigger on a real broker: how much a batch takes, and when it waits. */
import { afterEach, describe, expect, it } from 'vitest';
import type { BatchReport, EngineHost } from '../../../src/engine/host.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { fill } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline, type TestPipelineOptions } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let pipeline: TestPipeline;
let produced: Produced | undefined;

afterEach(async () => {
  await produced?.close();
  produced = undefined;
  pipeline?.remove();
});

const pipelineOf = (topic: string, source: TestPipelineOptions['source']): TestPipeline => {
  pipeline = new TestPipeline({ bootstrap, topics: [topic], source });
  return pipeline;
};
const offsetsOf = (report: BatchReport): number =>
  Number(report.ranges.reduce((sum, r) => sum + r.until - r.from, 0n));

/** A run by time that ends when `onBatch` says so; `onWait` is called when a batch is held back, once for each batch. */
async function runByTime(hooks: {
  onWait(shift: (ms: number) => void): Promise<void>;
  onBatch(report: BatchReport): Promise<boolean>;
}): Promise<BatchReport[]> {
  const stop = new AbortController();
  let shiftMs = 0;
  let waited = false;
  let waiting: Promise<void> = Promise.resolve();
  const say = (message: string): void => {
    if (waited || !message.includes('fewer than minOffsetsPerTrigger')) return;
    waited = true;
    waiting = hooks.onWait((ms) => {
      shiftMs += ms;
    });
    waiting.catch(() => stop.abort());
  };
  const host: Partial<EngineHost> = {
    now: () => Date.now() + shiftMs,
    stop: stop.signal,
    log: { debug: say, info: () => undefined, warn: () => undefined, error: () => undefined },
    onBatch: async (report) => {
      reports.push(report);
      waited = false;
      if (await hooks.onBatch(report)) stop.abort();
    },
  };
  const reports: BatchReport[] = [];
  await pipeline.run(host, (config) => {
    config.trigger = { kind: 'processingTime', intervalMs: 5 };
  });
  await waiting;
  return reports;
}

describe('minOffsetsPerTrigger', () => {
  it('the first batch waits for nothing, the next for the number', async () => {
    const topic = await createTopic(bootstrap, 'min', 1);
    produced = new Produced(bootstrap);
    await fillOdd(produced, topic, 1, 5);
    pipelineOf(topic, { minOffsetsPerTrigger: 20 });
    const reports = await runByTime({
      // Held with nothing is no wait: what is said here has 8 records.
      onWait: () => fillOdd(produced!, topic, 1, 12),
      onBatch: async ({ batchId }) => {
        if (batchId === 0) await fillOdd(produced!, topic, 1, 8);
        return batchId === 1;
      },
    });
    expect(reports.map(offsetsOf)).toEqual([5, 20]);
    await checkExactlyOnce({ pipeline, produced });
  });

  it('and at most maxTriggerDelay long', async () => {
    const topic = await createTopic(bootstrap, 'delay', 1);
    produced = new Produced(bootstrap);
    await fillOdd(produced, topic, 1, 5);
    pipelineOf(topic, { minOffsetsPerTrigger: 20, maxTriggerDelay: '1 hour' });
    const reports = await runByTime({
      onWait: async (shift) => shift(3_600_000),
      onBatch: async ({ batchId }) => {
        if (batchId === 0) await fillOdd(produced!, topic, 1, 8);
        return batchId === 1;
      },
    });
    expect(reports.map(offsetsOf)).toEqual([5, 8]);
  });

  it('availableNow leaves what is less to the next run, as Spark; once takes all', async () => {
    const topic = await createTopic(bootstrap, 'tail', 2);
    await fill(bootstrap, topic, 0, 60);
    await fill(bootstrap, topic, 1, 60);
    pipelineOf(topic, { minOffsetsPerTrigger: 50, maxOffsetsPerTrigger: 100 });
    const first = await pipeline.run();
    expect(first.reports.map(offsetsOf)).toEqual([100]);
    expect(first.log).toContain(
      'info 20 offsets are left to the next run: fewer than minOffsetsPerTrigger, 50',
    );
    expect((await pipeline.run()).reports.map(offsetsOf)).toEqual([20]);
    await fill(bootstrap, topic, 0, 130);
    const once = await pipeline.run({}, (config) => {
      config.trigger = { kind: 'once' };
    });
    expect(once.reports.map(offsetsOf)).toEqual([130]);
  });
});

describe('maxBytesPerTrigger', () => {
  it('is reckoned from the batches before, of an earlier run too', async () => {
    const topic = await createTopic(bootstrap, 'bytes', 1);
    await fill(bootstrap, topic, 0, 1_000, { valueBytes: 2_000, batchBytes: 4_000 });
    pipelineOf(topic, { maxBytesPerTrigger: '100KB', maxOffsetsPerTrigger: 900 });
    const { reports } = await pipeline.run();
    expect(offsetsOf(reports[0])).toBe(100);
    expect(reports[0].limit).toEqual({
      maxOffsets: 100n,
      by: 'maxBytesPerTrigger',
      reason: 'at 1024 bytes per offset, a guess before the first batch',
    });
    for (const report of reports.slice(1, -1)) {
      expect(offsetsOf(report)).toBeGreaterThan(40);
      expect(offsetsOf(report)).toBeLessThan(52);
      expect(report.limit?.reason).toMatch(/at 20\d\d bytes per offset of recent batches/);
    }
    await fill(bootstrap, topic, 0, 100, { valueBytes: 2_000, batchBytes: 4_000 });
    const next = (await pipeline.run()).reports[0];
    expect(offsetsOf(next)).toBeLessThan(52);
  });

  it('counts only where it is reached first', async () => {
    const topic = await createTopic(bootstrap, 'bytes', 1);
    await fill(bootstrap, topic, 0, 100);
    pipelineOf(topic, { maxBytesPerTrigger: '1GB', maxOffsetsPerTrigger: 60 });
    const { reports } = await pipeline.run();
    expect(reports.map(offsetsOf)).toEqual([60, 40]);
    expect(reports[1].limit?.by).toBe('maxOffsetsPerTrigger');
  });
});

describe('maxOffsetsPerTrigger: auto', () => {
  it('doubles while batches are quick, cuts after a slow one, and tells each change', async () => {
    const topic = await createTopic(bootstrap, 'auto', 1);
    await fill(bootstrap, topic, 0, 360_000, { batchBytes: 200_000, codec: 'lz4' });
    pipelineOf(topic, { maxOffsetsPerTrigger: 'auto' });
    let shiftMs = 0;
    let slow = false;
    const { reports, log } = await pipeline.run({
      now: () => Date.now() + shiftMs,
      // The second batch seems to take two minutes longer.
      onActivity: ({ batchId }) => {
        if (batchId !== 1 || slow) return;
        slow = true;
        shiftMs += 120_000;
      },
    });
    expect(reports.slice(0, 2).map(offsetsOf)).toEqual([100_000, 200_000]);
    expect(reports[0].limit).toEqual({ maxOffsets: 100_000n, by: 'auto', reason: 'where auto begins' });
    expect(reports[0].limitChange).toMatchObject({ from: 100_000n, to: 200_000n });
    const { limitChange } = reports[1];
    expect(limitChange?.from).toBe(200_000n);
    expect(limitChange!.to).toBeLessThan(100_000n);
    expect(reports[2].limit).toEqual({
      maxOffsets: limitChange!.to,
      by: 'auto',
      reason: expect.stringMatching(
        /^cut: the last batch took 2 min \d+ s, longer than the interval of 1 min 0 s$/,
      ),
    });
    expect(log.filter((line) => line.includes('maxOffsetsPerTrigger auto:'))).toEqual(
      expect.arrayContaining([
        expect.stringContaining('100000 -> 200000, raised'),
        expect.stringContaining(`200000 -> ${limitChange!.to}, cut`),
      ]),
    );
  });
});

describe('maxRecordsPerPartition', () => {
  it('makes more tasks than workers, and every record lands once', async () => {
    const topic = await createTopic(bootstrap, 'parts', 2);
    produced = new Produced(bootstrap);
    await fillOdd(produced, topic, 2, 50);
    pipelineOf(topic, { maxRecordsPerPartition: 15 });
    const { reports } = await pipeline.run({ seams: { inlineWorkers: false } }, (config) => {
      config.source.workers = 2;
    });
    expect(reports).toHaveLength(1);
    const table = reports[0].tables.find((t) => t.role === 'data')!;
    expect(table.files).toBeGreaterThanOrEqual(7);
    await checkExactlyOnce({ pipeline, produced });
  });
});
