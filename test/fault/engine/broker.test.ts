/** The network to the broker fails, the broker restarts, loses its volume, or its log is cut off, while the engine runs. */
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd, oddRecord } from '../../support/fault-topics.ts';
import { readIndependently } from '../../support/independent-table.ts';
import { type Broker, startBroker, useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { type ProxyAction, TcpProxy } from '../../support/tcp-proxy.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

// A broker of its own, reached through a proxy: its metadata name the proxy's port.
let proxy: TcpProxy;
let broker: Broker;
let produced: Produced;
let topics: string[];

/** About 1 MB in two topics of two partitions: records of a kilobyte, in many batches. */
const RECORDS_PER_PARTITION = 240;

beforeAll(async () => {
  proxy = await TcpProxy.listen();
  broker = await startBroker({
    advertisedPort: proxy.port,
    properties: { 'log.cleaner.backoff.ms': 200, 'log.initial.task.delay.ms': 200 },
  });
  proxy.target = { host: broker.host, port: broker.port };
  produced = new Produced(proxy.address);
  topics = [await createTopic(proxy.address, 'net-a', 2), await createTopic(proxy.address, 'net-b', 2)];
  for (const topic of topics) {
    for (const partition of [0, 1]) {
      for (let n = 0; n < RECORDS_PER_PARTITION; n += 12) {
        const records = Array.from({ length: 12 }, (_, i) => {
          const record = oddRecord(topic, partition, n + i);
          const value =
            record.value && Buffer.concat([record.value, Buffer.alloc(1000, ((n + i) % 26) + 65)]);
          return { ...record, value };
        });
        await produced.send(topic, partition, records);
      }
    }
  }
});

afterAll(async () => {
  await produced?.close();
  await proxy?.close();
  await broker?.stop();
});

const newPipeline = (more: { topics?: string[] } = {}) =>
  new TestPipeline({
    bootstrap: proxy.address,
    topics: more.topics ?? topics,
    maxOffsetsPerTrigger: 400,
    source: { 'kafka.request.timeout.ms': 1000 },
  });

const CLI_ARGS = (pipeline: TestPipeline) => [
  'run',
  '-c',
  join(pipeline.directory, 'sluice.yaml'),
  '--available-now',
];

/** The data files that the tables refer to, sorted. */
async function checkTables(pipeline: TestPipeline): Promise<{ dataFiles: string[] }> {
  const dataFiles: string[] = [];
  for (const topic of topics) {
    for (const name of [pipeline.tableOf(topic), `${pipeline.tableOf(topic)}__quarantine`]) {
      const table = await readIndependently(pipeline.catalogFile, name);
      dataFiles.push(...(table?.files ?? []).map((file) => file.path.replace(/^file:\/\//, '')));
    }
  }
  return { dataFiles: dataFiles.sort() };
}

describe('the network', () => {
  it.each<[ProxyAction, number, number]>([
    ['reset', 30, 5],
    ['reset', 900, 5],
    ['reset', 150_000, 6],
    ['cut', 30, 5],
    ['cut', 900, 5],
    ['cut', 150_000, 6],
    ['stall', 30, 2],
    ['stall', 150_000, 2],
  ])('%s after %i bytes, %i times: nothing is lost or doubled', async (action, afterBytes, times) => {
    const pipeline = newPipeline();
    const struck = proxy.struck;
    proxy.arm({ action, afterBytes, times });
    try {
      expect((await pipeline.run()).summary.records).toBe(4 * RECORDS_PER_PARTITION);
    } finally {
      proxy.arm(null);
    }
    expect(proxy.struck - struck).toBe(times);
    await checkExactlyOnce({ pipeline, produced, topics });
    pipeline.remove();
  });

  it('reset again and again under the threads of the command line: nothing is lost or doubled', async () => {
    const pipeline = newPipeline();
    proxy.arm({ action: 'reset', afterBytes: 90_000, times: 8 });
    const run = await pipeline.cli();
    proxy.arm(null);
    expect(run.code, run.stderr).toBe(0);
    await checkExactlyOnce({ pipeline, produced, topics });
    pipeline.remove();
  });

  it('hangs while the run is asked to end: the batch is abandoned, leaves no file, and is read again', async () => {
    const pipeline = newPipeline();
    const stop = new AbortController();
    const { summary } = await pipeline.run(
      {
        stop: stop.signal,
        onBatch: () => {
          // What is planned next is not read any more.
          proxy.arm({ action: 'stall', afterBytes: 60_000, times: 1000 });
          void proxy.nextStrike().then(() => stop.abort());
        },
      },
      (config) => {
        config.shutdownTimeoutMs = 600;
      },
    );
    expect(summary).toMatchObject({ stopped: 'abandoned', batches: 1 });
    const data = () => pipeline.files(pipeline.warehouse).filter((file) => file.endsWith('.parquet'));
    const { dataFiles } = await checkTables(pipeline);
    expect(data()).toEqual(dataFiles);
    const cli = await pipeline.cli({
      onStart: (child) => {
        void proxy.nextStrike().then(() => child.kill('SIGTERM'));
      },
      args: [...CLI_ARGS(pipeline), '--set', 'shutdown.timeout=600 ms'],
    });
    expect(cli.code, cli.stderr).toBe(75);
    expect(cli.stderr).toMatch(/SHUTDOWN_TIMEOUT|was abandoned|is left/);
    proxy.arm(null);
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced, topics });
    pipeline.remove();
  });

  it('is gone until the deadline: the run says so and a later one goes on', async () => {
    const pipeline = newPipeline();
    const { target } = proxy;
    const run = pipeline.run(
      {
        onBatch: () => {
          proxy.target = null;
          proxy.resetAll();
        },
      },
      (config) => {
        config.source.requestDeadlineMs = 1500;
      },
    );
    await expect(run).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE', exitCode: 69 });
    proxy.target = target;
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced, topics });
    pipeline.remove();
  });
});

describe('the broker', () => {
  it.each(['restarted', 'killed'] as const)('%s in the middle of a run, twice', async (how) => {
    const pipeline = newPipeline();
    let restarts = 0;
    let back: Promise<void> = Promise.resolve();
    await pipeline.run({
      onBatch: async () => {
        if (restarts++ >= 2) return;
        await back;
        if (how === 'killed') await broker.kill();
        // It comes back while the next batch is planned or read.
        back = how === 'killed' ? broker.start() : broker.restart();
      },
    });
    await back;
    expect(restarts).toBeGreaterThanOrEqual(2);
    await checkExactlyOnce({ pipeline, produced, topics });
    pipeline.remove();
  });

  it.each(['one thread', 'the threads of the command line'])(
    'killed while a batch is read by %s',
    async (by) => {
      const pipeline = newPipeline();
      proxy.arm({ action: 'stall', afterBytes: 250_000 });
      const struck = proxy.nextStrike();
      const run = by === 'one thread' ? pipeline.run() : pipeline.cli();
      await struck;
      await broker.kill();
      await broker.start();
      const end = await run;
      if ('code' in end) expect(end.code, end.stderr).toBe(0);
      await checkExactlyOnce({ pipeline, produced, topics });
      pipeline.remove();
    },
  );

  it('of another cluster that has a topic of that name: CLUSTER_REPLACED', async () => {
    const shared = useKafka().bootstrap;
    const topic = await createTopic(shared, 'cluster', 2);
    await withCluster(proxy.address, (cluster) => cluster.createTopics([{ topic, partitions: 2 }]));
    const elsewhere = new Produced(proxy.address);
    const here = new Produced(shared);
    await fillOdd(here, topic, 2, 20);
    await fillOdd(elsewhere, topic, 2, 40);
    const pipeline = new TestPipeline({ bootstrap: shared, topics: [topic] });
    await pipeline.run();
    const moved = pipeline.run({}, (config) => {
      config.source.bootstrapServers = proxy.address;
    });
    await expect(moved).rejects.toMatchObject({ code: 'CLUSTER_REPLACED', exitCode: 3 });
    await checkExactlyOnce({ pipeline, produced: here });
    for (const log of [here, elsewhere]) await log.close();
    pipeline.remove();
  });

  it('that compacts the log, before it is read and between plan and read (case C11)', async () => {
    const compacting = {
      'cleanup.policy': 'compact',
      // By the times of the records: every batch has a segment of its own.
      'segment.ms': '1000',
      'min.cleanable.dirty.ratio': '0.01',
      'delete.retention.ms': '0',
    };
    const topic = await createTopic(proxy.address, 'compact', 1, compacting);
    const log = new Produced(proxy.address);
    const keyOf = (n: number) => `key ${n % 11 === 4 ? n : n % 9}`;
    const keyed = (n: number) => {
      const record = oddRecord(topic, 0, n);
      return { ...record, key: Buffer.from(keyOf(n)), value: record.value ?? Buffer.from('no tombstone') };
    };
    const append = async (from: number, until: number): Promise<void> => {
      for (let n = from; n < until; n += 9)
        await log.send(
          topic,
          0,
          Array.from({ length: 9 }, (_, i) => keyed(n + i)),
        );
    };
    /** Waits until the cleaner has been over all but the last batch: one record is left of each key, and the last batch. */
    const compacted = async (end: number): Promise<void> => {
      const keys = new Set(Array.from({ length: end - 9 }, (_, n) => keyOf(n)));
      const left = async (): Promise<number> => {
        await log.keepWhatIsLeft(topic, 0, BigInt(end - 1));
        return log.of(topic, 0).size;
      };
      await expect.poll(left, { timeout: 30_000, interval: 300 }).toBe(keys.size + 9);
    };
    await append(0, 900);
    await compacted(900);
    for (const maxOffsetsPerTrigger of [13, 200, 5000]) {
      const pipeline = new TestPipeline({ bootstrap: proxy.address, topics: [topic], maxOffsetsPerTrigger });
      await pipeline.run();
      const { verify } = await checkExactlyOnce({ pipeline, produced: log });
      expect(verify[0].partitions[0].holes).toBe(900 - log.of(topic, 0).size);
      pipeline.remove();
    }
    // A batch is planned over a log that is compacted before it is read.
    const pipeline = new TestPipeline({ bootstrap: proxy.address, topics: [topic] });
    await expect(pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toThrow('after-offsets');
    await append(900, 1800);
    await compacted(1800);
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced: log });
    await log.close();
    pipeline.remove();
  });

  it('whose log was cut off below the position, and has grown beyond it again: DATA_LOSS (KIP-320)', async ({
    skip,
  }) => {
    skip(
      broker.container !== undefined,
      'the broker runs in a container: its log cannot be cut off from here',
    );
    const topic = await createTopic(proxy.address, 'truncated', 1);
    const before = new Produced(proxy.address);
    await fillOdd(before, topic, 1, 40, 10);
    const pipeline = newPipeline({ topics: [topic] });
    await pipeline.run();
    await before.close();

    await broker.kill();
    const directory = join(broker.dataDir, 'log', `${topic}-0`);
    const file = join(directory, '00000000000000000000.log');
    truncateSync(file, Math.floor(statSync(file).size * 0.4));
    for (const name of readdirSync(directory))
      if (/\.(index|timeindex|snapshot)$/.test(name)) rmSync(join(directory, name));
    await broker.start();
    const after = new Produced(proxy.address);
    for (let n = 0; n < 8; n++) await after.send(topic, 0, [oddRecord(topic, 0, 1000 + n)]);
    expect(Math.min(...[...after.of(topic, 0).keys()].map(Number))).toBeLessThan(40);
    // Shorter than the position first, then longer: the offsets look right, the epochs do not.
    const shorter = await pipeline.run().catch((e: unknown) => e);
    expect(shorter).toMatchObject({ code: 'DATA_LOSS', exitCode: 3 });
    await fillOdd(after, topic, 1, 60, 20);
    // What the next run would say, `explain` says before.
    const explained = await pipeline.cli({ args: ['explain', '-c', `${pipeline.directory}/sluice.yaml`] });
    expect(explained).toMatchObject({ code: 3, stdout: '' });
    expect(explained.stderr).toMatch(/error DATA_LOSS: .*truncated/);
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'DATA_LOSS', exitCode: 3, context: { topic, partition: 0 } });
    expect(String(error)).toMatch(/truncated/);
    await checkExactlyOnce({ pipeline, produced: before, ends: new Map([[topic, [40n]]]) });
    await after.close();
    pipeline.remove();
  });
});
