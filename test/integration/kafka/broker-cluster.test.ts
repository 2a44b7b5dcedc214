/** Three real brokers that misbehave as brokers do, while a pipeline reads from them; the tables are compared with what was produced. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EngineHost } from '../../../src/engine/host.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { fillOdd } from '../../support/fault-topics.ts';
import {
  createPlacedTopic,
  electUnclean,
  leads,
  moveLeader,
  throttleClient,
} from '../../support/kafka-admin.ts';
import { kafkaClusterLacks, startKafkaCluster, type TestCluster } from '../../support/kafka-cluster.ts';
import { rangesOf, withCluster } from '../../support/kafka-topics.ts';
import { standsStill } from '../../support/process-state.ts';
import { Produced } from '../../support/produced.ts';
import { reached } from '../../support/reached.ts';
import { collect } from '../../support/read-collector.ts';
import { TestPipeline, type TestPipelineOptions } from '../../support/test-pipeline.ts';
import { THOROUGH } from '../../support/thorough.ts';

const lacks = await kafkaClusterLacks();

let cluster: TestCluster;
let produced: Produced;
let pipeline: TestPipeline | undefined;

/** Each broker leads one partition and follows in the others. */
const SPREAD = [
  [1, 2, 3],
  [2, 3, 1],
  [3, 1, 2],
];
const RECORDS = 240;
/** Of a value: a partition holds more than one answer to a Fetch, in batches of a dozen records. */
const PAD_BYTES = 6000;

async function filledTopic(prefix: string, placement: readonly (readonly number[])[] = SPREAD, config = {}) {
  const topic = await createPlacedTopic(cluster.inside, prefix, placement, config);
  await fillOdd(produced, topic, placement.length, RECORDS, 12, PAD_BYTES);
  return topic;
}

function pipelineOf(topic: string, more: Partial<TestPipelineOptions> = {}): TestPipeline {
  pipeline?.remove();
  pipeline = new TestPipeline({
    bootstrap: cluster.bootstrap,
    topics: [topic],
    ...more,
    source: { 'kafka.request.timeout.ms': 1000, ...more.source },
  });
  return pipeline;
}

async function expectExactlyOnce(topic: string, expectedRows: number): Promise<void> {
  await cluster.heal();
  const { rows, quarantined } = await checkExactlyOnce({ pipeline: pipeline!, produced, topics: [topic] });
  expect(rows + quarantined).toBe(expectedRows);
}

/** Calls `act` once per batch, up to `times`, without holding up the run. The promise is of all of them. */
function aside(
  times: number,
  act: (batch: number) => Promise<void>,
): Pick<EngineHost, 'onBatch'> & { done(): Promise<void> } {
  let all: Promise<void> = Promise.resolve();
  let batches = 0;
  return {
    onBatch: () => {
      const batch = batches++;
      if (batch < times) all = all.then(() => act(batch));
    },
    done: () => all,
  };
}

beforeAll(async () => {
  if (lacks !== undefined) return;
  cluster = await startKafkaCluster({
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    // Two seconds instead of eleven, so that a quota is felt before that much was read.
    'quota.window.num': 2,
  });
  produced = new Produced(cluster.inside);
});

afterEach(() => cluster?.heal());

afterAll(async () => {
  pipeline?.remove();
  await produced?.close();
  await cluster?.close();
});

describe.skipIf(lacks !== undefined)(`three brokers${lacks === undefined ? '' : ` (${lacks})`}`, () => {
  describe('a leader moves', () => {
    it('in the middle of an answer: the rest is read from the new one', async () => {
      const topic = await filledTopic('moved');
      const run = pipelineOf(topic);
      const held = cluster.broker(1).proxy.holdAfter(100_000);
      const running = run.run();
      await reached(held, running);
      await moveLeader(cluster.inside, topic, 0, [2, 3, 1]);
      const before = cluster.broker(2).proxy.forwardedBytes;
      cluster.broker(1).proxy.release();
      await running;
      expect(cluster.broker(2).proxy.forwardedBytes - before).toBeGreaterThan(50_000);
      await expectExactlyOnce(topic, 3 * RECORDS);
    });

    it('between batches and while they are read, again and again', async () => {
      const topic = await filledTopic('moving');
      const rounds = THOROUGH ? 20 : 5;
      const moves = aside(rounds, (batch) => {
        const replicas = [0, 1, 2].map((i) => ((batch + 1 + i) % 3) + 1);
        return moveLeader(cluster.inside, topic, batch % 3, replicas);
      });
      await pipelineOf(topic, { maxOffsetsPerTrigger: 60 }).run({
        onBatch: async (report) => {
          moves.onBatch!(report);
          // Every other move is over before the next batch is planned.
          if (report.batchId % 2 === 0) await moves.done();
        },
      });
      await moves.done();
      await expectExactlyOnce(topic, 3 * RECORDS);
    });
  });

  describe('a broker is killed', () => {
    it('in the middle of its answer: its partitions are read from those who lead them then', async () => {
      const topic = await filledTopic('killed');
      const run = pipelineOf(topic);
      const held = cluster.broker(2).proxy.holdAfter(100_000);
      const running = run.run();
      await reached(held, running);
      await cluster.broker(2).kill();
      await running;
      expect(cluster.broker(2).process.running).toBe(false);
      await expectExactlyOnce(topic, 3 * RECORDS);
    });

    it('and comes back, one after another, while batches are planned and read', async () => {
      const topic = await filledTopic('rolling');
      const kills = aside(THOROUGH ? 9 : 2, async (batch) => {
        const broker = cluster.broker((batch % 3) + 1);
        await broker.kill();
        await broker.start();
      });
      await pipelineOf(topic, { maxOffsetsPerTrigger: 60 }).run(kills);
      await kills.done();
      await expectExactlyOnce(topic, 3 * RECORDS);
    });

    it('cleanly stopped and started under the threads of the command line: no fetch session is lost, since there is none', async () => {
      const topic = await filledTopic('restarted');
      for (const id of THOROUGH ? [1, 2, 3] : [2]) {
        const held = cluster.broker(id).proxy.holdAfter(60_000);
        const running = pipelineOf(topic).cli();
        await reached(held, running);
        await cluster.broker(id).stop();
        await cluster.broker(id).start();
        const { code, stderr } = await running;
        expect(code, stderr).toBe(0);
        expect(stderr).toMatch(new RegExp(`reading ${topic}-\\d from offset \\d+: will try again`));
        await expectExactlyOnce(topic, 3 * RECORDS);
      }
    });
  });

  describe('a broker is paused', () => {
    it('and goes on after our request has timed out', async () => {
      const topic = await filledTopic('paused');
      const { proxy, process, pause, resume } = bound(1);
      const held = proxy.holdAfter(100_000);
      const running = pipelineOf(topic).run();
      await reached(held, running);
      pause();
      await standsStill(process.pid!);
      const { accepted } = proxy;
      proxy.release();
      await expect.poll(() => proxy.accepted, { timeout: 20_000, interval: 20 }).toBeGreaterThan(accepted);
      resume();
      await running;
      await expectExactlyOnce(topic, 3 * RECORDS);
    });

    it('and stays so: the others lead when its session has ended, and the run ends without it', async () => {
      const topic = await filledTopic('silent');
      const { proxy, process, pause } = bound(3);
      const held = proxy.holdAfter(100_000);
      // Planning, too, meets the broker that hangs.
      const running = pipelineOf(topic, { maxOffsetsPerTrigger: 500 }).run();
      await reached(held, running);
      pause();
      proxy.release();
      const { summary } = await running;
      expect(summary).toMatchObject({ stopped: 'finished', batches: 2 });
      await standsStill(process.pid!);
      await expectExactlyOnce(topic, 3 * RECORDS);
    });
  });

  describe('a quota', () => {
    it('slows the reader down, and neither ends it nor loses anything', async () => {
      const topic = await filledTopic('throttled', [[1, 2]]);
      await throttleClient(cluster.inside, 'sluice-faults', 400_000);
      await throttleClient(cluster.inside, 'sluice-test', 400_000);
      try {
        // Half a second is less than the broker makes us wait: a throttle is no time-out.
        await pipelineOf(topic, {
          source: { 'kafka.request.timeout.ms': 500, 'kafka.request.deadline': '2 seconds' },
        }).run();
        const throttled: unknown[] = [];
        const { cursors } = await collect(cluster.bootstrap, await rangesOf(cluster.inside, topic), {
          client: {
            kafka: { 'kafka.request.timeout.ms': '500' },
            requestDeadlineMs: 2000,
            log: (line) => {
              expect(line.level, JSON.stringify(line)).not.toBe('warn');
              if (line.throttleMs !== undefined) throttled.push(line.throttleMs);
            },
          },
        });
        expect(cursors.map((c) => c.rows)).toEqual([RECORDS]);
        expect(throttled).toEqual([expect.any(Number)]);
      } finally {
        await throttleClient(cluster.inside, 'sluice-faults', null);
        await throttleClient(cluster.inside, 'sluice-test', null);
      }
      await expectExactlyOnce(topic, RECORDS);
    });
  });

  describe('a partition without a leader', () => {
    const ALONE = [[1], [3]];

    it('is waited for between batches and in the middle of one', async () => {
      const topic = await filledTopic('orphan', ALONE);
      const broker = cluster.broker(3);
      const warned = Promise.withResolvers<void>();
      const running = pipelineOf(topic, { maxOffsetsPerTrigger: 300 }).run({
        onBatch: async ({ batchId }) => {
          if (batchId !== 0) return;
          await broker.kill();
          await leads(cluster.inside, topic, 1, -1);
        },
        log: logOf((line) => {
          if (/has no leader now; its only replica is on broker 3 \(down\)/.test(line)) warned.resolve();
        }),
      });
      await reached(warned.promise, running);
      const starting = broker.start();
      const held = broker.proxy.holdAfter(60_000);
      await starting;
      await reached(held, running);
      await broker.kill();
      await leads(cluster.inside, topic, 1, -1);
      await broker.start();
      await running;
      await expectExactlyOnce(topic, 2 * RECORDS);
    });

    it('ends the run at the deadline, with the place, the broker and the fact, while it plans and while it reads', async () => {
      const topic = await filledTopic('lost', ALONE);
      const broker = cluster.broker(3);
      const source = { 'kafka.request.deadline': '3 seconds' };
      const reading = pipelineOf(topic, { source }).run();
      const failed = expect(reading).rejects.toMatchObject({
        code: 'BROKER_ERROR',
        exitCode: 69,
        context: { topic, partition: 1, kafkaError: 5, replicas: [3], offline: [3] },
        message: expect.stringMatching(
          new RegExp(
            `gave up reading ${topic}-1 from offset \\d+ after .* s and \\d+ tries \\(kafka.request.deadline\\); the last error was: ` +
              `.*asking for the leader of ${topic}-1: broker 127.0.0.1:\\d+ answered LEADER_NOT_AVAILABLE \\(5\\): ` +
              `${topic}-1 has no leader now; its only replica is on broker 3 \\(down\\)`,
          ),
        ),
      });
      await reached(broker.proxy.holdAfter(60_000), reading);
      await broker.kill();
      await failed;
      await expect(pipeline!.run()).rejects.toMatchObject({
        code: 'BROKER_ERROR',
        context: { topic, partition: 1 },
        message: expect.stringMatching(/has no leader now; its only replica is on broker 3 \(down\)/),
      });
      await broker.start();
      await pipeline!.run();
      await expectExactlyOnce(topic, 2 * RECORDS);
    });
  });

  describe('a replica in our rack', () => {
    it('is read instead of the leader, and left when it is killed', async () => {
      const topic = await filledTopic('rack', [[1, 2, 3]]);
      const source = { 'kafka.client.rack': 'rack-2' };
      const [leader, follower] = [cluster.broker(1).proxy, cluster.broker(2).proxy];
      let [fromLeader, fromFollower] = [leader.forwardedBytes, follower.forwardedBytes];
      await pipelineOf(topic, { source, maxOffsetsPerTrigger: 100 }).run();
      expect(follower.forwardedBytes - fromFollower).toBeGreaterThan(RECORDS * PAD_BYTES * 0.7);
      expect(leader.forwardedBytes - fromLeader).toBeLessThan(RECORDS * PAD_BYTES * 0.2);
      await expectExactlyOnce(topic, RECORDS);

      const held = follower.holdAfter(100_000);
      [fromLeader, fromFollower] = [leader.forwardedBytes, follower.forwardedBytes];
      const running = pipelineOf(topic, { source }).run();
      await reached(held, running);
      await cluster.broker(2).kill();
      await running;
      expect(leader.forwardedBytes - fromLeader).toBeGreaterThan(RECORDS * PAD_BYTES * 0.3);
      await expectExactlyOnce(topic, RECORDS);
    });
  });

  describe('an unclean election', () => {
    it('loses records that were read: DATA_LOSS, also once the log has grown beyond them again', async () => {
      const topic = await createPlacedTopic(cluster.inside, 'unclean', [[1, 2]], {
        'unclean.leader.election.enable': 'true',
        'min.insync.replicas': '1',
      });
      const before = new Produced(cluster.inside);
      await fillOdd(before, topic, 1, 60, 20);
      await cluster.broker(2).stop();
      await fillOdd(before, topic, 1, 40, 20);
      await pipelineOf(topic).run();
      // Nobody who is alive has the last 40 records.
      await cluster.broker(1).stop();
      await cluster.broker(2).start();
      await electUnclean(cluster.inside, topic, 0);
      await leads(cluster.inside, topic, 0, 2);
      const after = new Produced(cluster.broker(3).process.bootstrap);
      await expect(pipeline!.run()).rejects.toMatchObject({
        code: 'DATA_LOSS',
        exitCode: 3,
        message: expect.stringMatching(
          /was read up to offset 100 and now ends at 60, the checkpoint stands at 100/,
        ),
      });
      await fillOdd(after, topic, 1, 80, 20);
      await expect(pipeline!.run()).rejects.toMatchObject({
        code: 'DATA_LOSS',
        exitCode: 3,
        message: expect.stringMatching(/was read up to offset 100 and now ends at 60/),
      });
      await cluster.heal();
      await checkExactlyOnce({ pipeline: pipeline!, produced: before, ends: new Map([[topic, [100n]]]) });
      for (const log of [before, after]) await log.close();
    });
  });

  it('an unclean election in the middle of a batch: nothing of it is committed', async () => {
    const topic = await createPlacedTopic(cluster.inside, 'unclean-read', [[1, 2]], {
      'unclean.leader.election.enable': 'true',
      'min.insync.replicas': '1',
    });
    await fillOdd(produced, topic, 1, 60, 12, PAD_BYTES);
    await cluster.broker(2).stop();
    await fillOdd(produced, topic, 1, 300, 12, PAD_BYTES);
    const held = cluster.broker(1).proxy.holdAfter(600_000);
    const running = pipelineOf(topic).run();
    const failed = expect(running).rejects.toMatchObject({ code: 'DATA_LOSS', exitCode: 3 });
    await reached(held, running);
    await cluster.broker(1).stop();
    await cluster.broker(2).start();
    await electUnclean(cluster.inside, topic, 0);
    await failed;
    expect(pipeline!.files(pipeline!.warehouse).filter((file) => file.endsWith('.parquet'))).toEqual([]);
  });

  it('partitions are added and a topic appears while one of the brokers restarts (case C14)', async () => {
    const topic = await createPlacedTopic(cluster.inside, 'grown', SPREAD);
    const suffix = topic.slice(topic.lastIndexOf('-') + 1);
    const topics = [topic];
    const log = new Produced(cluster.inside);
    await fillOdd(log, topic, 3, 20);
    const stop = new AbortController();
    const total = 3 * 20 + 5 * 10 + 2 * 15;
    let records = 0;
    const grow = aside(1, async () => {
      await cluster.broker(2).kill();
      await withCluster(cluster.inside, (c) => c.createPartitions(topic, 5));
      await log.forgetMetadata();
      await fillOdd(log, topic, 5, 10);
      const added = await createPlacedTopic(cluster.inside, `grown-${suffix}`, [[1], [3]]);
      topics.push(added);
      await fillOdd(log, added, 2, 15);
      await cluster.broker(2).start();
    });
    pipelineOf(topic, {
      source: {
        subscribePattern: `sluice-test-grown-(${suffix}|${suffix}-[0-9a-f]+)`,
        startingOffsets: 'earliest',
      },
    });
    await pipeline!.run(
      {
        stop: stop.signal,
        onBatch: async (report) => {
          await grow.onBatch!(report);
          records += report.records;
          if (records === total) stop.abort();
        },
      },
      (config) => {
        config.trigger = { kind: 'processingTime', intervalMs: 20 };
      },
    );
    await grow.done();
    await cluster.heal();
    await checkExactlyOnce({ pipeline: pipeline!, produced: log, topics });
    expect(records).toBe(total);
    await log.close();
  });
});

function bound(id: number) {
  const broker = cluster.broker(id);
  return {
    ...broker,
    proxy: broker.proxy,
    process: broker.process,
    pause: () => broker.pause(),
    resume: () => broker.resume(),
  };
}

function logOf(told: (line: string) => void): EngineHost['log'] {
  const line = (message: string, context?: object) => told(`${message} ${JSON.stringify(context ?? {})}`);
  return { debug: line, info: line, warn: line, error: line };
}
