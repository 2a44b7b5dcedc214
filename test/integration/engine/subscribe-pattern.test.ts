/** `subscribePattern` on a real broker: which topics are read, one that appears, one that goes. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EngineHost } from '../../../src/engine/host.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { reset, resetRequest } from '../../support/reset.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let produced: Produced;
let pipeline: TestPipeline;
let prefix: string;
let topics: string[];

/** A topic that the pattern of the test matches, with records in each of two partitions. */
async function addTopic(records: number): Promise<string> {
  const topic = await createTopic(bootstrap, prefix, 2);
  topics.push(topic);
  await fillOdd(produced, topic, 2, records);
  return topic;
}

function pipelineOf(source: Record<string, string> = {}): TestPipeline {
  const pattern = `sluice-test-${prefix}-[0-9a-f]+`;
  pipeline = new TestPipeline({ bootstrap, topics: [], source: { subscribePattern: pattern, ...source } });
  return pipeline;
}

async function deleteTopic(topic: string): Promise<void> {
  await withCluster(bootstrap, (cluster) => cluster.deleteTopics([topic]));
  topics = topics.filter((t) => t !== topic);
}

beforeEach(async () => {
  prefix = `pattern${randomBytes(4).toString('hex')}`;
  topics = [];
  produced = new Produced(bootstrap);
  await addTopic(10);
  await addTopic(10);
});

afterEach(async () => {
  await produced.close();
  pipeline?.remove();
});

describe('subscribePattern', () => {
  it('reads the topics whose whole name matches, and says which match only in part', async () => {
    const other = await createTopic(bootstrap, `${prefix}-00`, 1);
    const { summary, log } = await pipelineOf().run();
    expect(summary.records).toBe(40);
    await checkExactlyOnce({ pipeline, produced, topics });
    const told = log.filter((line) => line.includes('matches only a part'));
    expect(told).toEqual([
      expect.stringContaining(`warn subscribePattern matches only a part of the names of ${other}`),
    ]);
    const { latestPlanned } = await pipeline.openCheckpoint();
    const checkpoint = await pipeline.openCheckpoint();
    expect([...(await checkpoint.offsets(latestPlanned!)).keys()].sort()).toEqual([...topics].sort());
  });

  it('a topic that appears while it runs is found at the next plan, from its first record (case C14)', async () => {
    pipelineOf({ startingOffsets: 'latest' });
    const stop = new AbortController();
    let records = 0;
    let added: string | undefined;
    const host: Partial<EngineHost> = {
      stop: stop.signal,
      onBatch: async (report) => {
        records += report.records;
        added ??= await addTopic(7);
        if (records === 4 + 14) stop.abort();
      },
    };
    const run = pipeline.run(host, (config) => {
      config.trigger = { kind: 'processingTime', intervalMs: 20 };
    });
    run.catch(() => undefined);
    await expect
      .poll(() => pipeline.files(pipeline.directory).some((f) => f.endsWith('sources/0/0')), {
        timeout: 30_000,
      })
      .toBe(true);
    await fillOdd(produced, topics[0], 2, 2);
    const { summary } = await run;
    expect(summary.stopped).toBe('asked');
    const from = Object.fromEntries(
      topics.filter((t) => t !== added).flatMap((t) => [0, 1].map((p) => [`${t}-${p}`, 10n])),
    );
    await checkExactlyOnce({ pipeline, produced, topics, from });
  });

  it('a topic that appears during an availableNow run is left to the next run', async () => {
    pipelineOf();
    let added = false;
    const first = await pipeline.run(
      {
        onBatch: async () => {
          if (!added) await addTopic(5);
          added = true;
        },
      },
      (config) => {
        config.source.maxOffsetsPerTrigger = 20n;
      },
    );
    expect(first.summary.records).toBe(40);
    expect((await pipeline.run()).summary.records).toBe(10);
    await checkExactlyOnce({ pipeline, produced, topics });
  });

  it('stops where a topic is gone, and goes on without it after a reset', async () => {
    await pipelineOf().run();
    const gone = topics[1];
    await deleteTopic(gone);
    await expect(pipeline.run()).rejects.toMatchObject({
      code: 'PARTITIONS_DELETED',
      message: expect.stringContaining(`sluice checkpoint reset --topic ${gone} --to unread`),
    });
    const outcome = await reset(pipeline, resetRequest(gone, 'unread'));
    expect(outcome.preview?.moves.map((m) => [m.partition, m.from, m.to])).toEqual([
      [0, 10n, null],
      [1, 10n, null],
    ]);
    await fillOdd(produced, topics[0], 2, 3);
    expect((await pipeline.run()).summary.records).toBe(6);
  });

  it('reads a topic from its first record that was made again after such a reset', async () => {
    await pipelineOf().run();
    const gone = topics[1];
    await deleteTopic(gone);
    await reset(pipeline, resetRequest(gone, 'unread'));
    await withCluster(bootstrap, (cluster) => cluster.createTopics([{ topic: gone, partitions: 2 }]));
    const anew = new Produced(bootstrap);
    await fillOdd(anew, gone, 2, 4);
    await anew.close();
    expect((await pipeline.run()).summary.records).toBe(8);
  });

  it('is told from one that was made again by the id', async () => {
    await pipelineOf().run();
    await deleteTopic(topics[1]);
    topics = [topics[0]];
    const [, again] = [...produced.records.keys()]
      .map((key) => key.slice(0, -2))
      .filter((t) => t !== topics[0]);
    await withCluster(bootstrap, (cluster) => cluster.createTopics([{ topic: again, partitions: 2 }]));
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
  });

  it('stops where no topic matches', async () => {
    pipeline = new TestPipeline({ bootstrap, topics: [], source: { subscribePattern: `${prefix}x` } });
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_NOT_FOUND' });
    const part = new TestPipeline({ bootstrap, topics: [], source: { subscribePattern: prefix } });
    await expect(part.run()).rejects.toThrow(
      new RegExp(`a name has to match as a whole: \\.\\*${prefix}\\.\\*`),
    );
    part.remove();
  });
});
