/** Beginning by a time, and ends of a run, on a real broker. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd, oddRecord } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let produced: Produced;
let pipeline: TestPipeline;
let topic: string;

/** The time of the nth record of each partition. */
const timeOf = (n: number): bigint => oddRecord(topic, 0, n).timestampMs;
const pipelineOf = (source: Record<string, string>): TestPipeline => {
  pipeline = new TestPipeline({ bootstrap, topics: [topic], source });
  return pipeline;
};
const from = (...offsets: number[]) =>
  Object.fromEntries(offsets.map((offset, p) => [`${topic}-${p}`, BigInt(offset)]));

beforeEach(async () => {
  produced = new Produced(bootstrap);
  topic = await createTopic(bootstrap, 'time', 2);
  await fillOdd(produced, topic, 2, 30);
});

afterEach(async () => {
  await produced.close();
  pipeline?.remove();
});

describe('a query that begins by a time', () => {
  it('reads from the first record that is not before it', async () => {
    const time = new Date(Number(timeOf(12))).toISOString();
    expect((await pipelineOf({ startingTimestamp: `"${time}"` }).run()).summary.records).toBe(36);
    await checkExactlyOnce({ pipeline, produced, from: from(12, 12) });
  });

  it('of each partition another one, over startingOffsets', async () => {
    const map = `{"${topic}":{"0":${timeOf(5) - 1n},"1":${timeOf(20)}}}`;
    await pipelineOf({ startingOffsetsByTimestamp: map, startingOffsets: 'latest' }).run();
    await checkExactlyOnce({ pipeline, produced, from: from(5, 20) });
  });

  it('stops where a partition has no record so late, and writes nothing', async () => {
    const late = String(timeOf(30));
    await expect(pipelineOf({ startingTimestamp: late }).run()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${topic}-0`),
    });
    expect(pipeline.files(pipeline.checkpoint).filter((f) => /sources|offsets|plan/.test(f))).toEqual([]);
  });

  it('or begins there at the end, by the strategy latest', async () => {
    const late = { startingTimestamp: String(timeOf(30)), startingOffsetsByTimestampStrategy: 'latest' };
    expect((await pipelineOf(late).run()).summary.records).toBe(0);
    await fillOdd(produced, topic, 2, 3);
    expect((await pipeline.run()).summary.records).toBe(6);
    await checkExactlyOnce({ pipeline, produced, from: from(30, 30) });
  });

  it('a partition that is added later is read from its first record all the same', async () => {
    await pipelineOf({ startingTimestamp: String(timeOf(12)) }).run();
    await withCluster(bootstrap, (cluster) => cluster.createPartitions(topic, 3));
    await produced.forgetMetadata();
    await fillOdd(produced, topic, 3, 4);
    const { summary, log } = await pipeline.run();
    expect(summary.records).toBe(12);
    expect(log.join('\n')).toContain('applies to a new checkpoint only');
    await checkExactlyOnce({ pipeline, produced, from: from(12, 12) });
  });

  it('counts a record of a transaction that is still open, which comes when it is committed', async () => {
    await produced.transaction(
      `time-${topic}`,
      [{ topic, partition: 0, records: [oddRecord(topic, 0, 40)] }],
      'commit',
      async () => {
        pipelineOf({
          startingTimestamp: String(timeOf(40)),
          startingOffsetsByTimestampStrategy: 'latest',
        });
        expect((await pipeline.run()).summary.records).toBe(0);
      },
    );
    expect((await pipeline.run()).summary.records).toBe(1);
  });
});

describe('a run with ends', () => {
  it('ends before a time, and the next one goes on there', async () => {
    pipelineOf({});
    const until = async (n: number) =>
      (
        await pipeline.run({}, (config) => {
          config.source.minOffsetsPerTrigger = 1_000n;
          config.source.maxOffsetsPerTrigger = 8n;
          config.trigger = { kind: 'availableNow', until: { kind: 'timestamp', timestampMs: timeOf(n) } };
        })
      ).summary;
    expect(await until(10)).toMatchObject({ records: 20, batches: 3, stopped: 'finished' });
    expect(await until(10)).toMatchObject({ records: 0 });
    expect(await until(99)).toMatchObject({ records: 40 });
    await checkExactlyOnce({ pipeline, produced });
  });

  it('ends at offsets; beyond the log it refuses them', async () => {
    pipelineOf({});
    const until = (a: bigint, b: bigint) =>
      pipeline.run({}, (config) => {
        const offsets = new Map([
          [
            topic,
            new Map([
              [0, a],
              [1, b],
            ]),
          ],
        ]);
        config.trigger = { kind: 'availableNow', until: { kind: 'map', offsets } };
      });
    await expect(until(31n, 5n)).rejects.toThrow(/can be read up to 30 now/);
    expect((await until(7n, -1n)).summary.records).toBe(37);
    expect((await until(3n, 30n)).summary.records).toBe(0);
  });
});
