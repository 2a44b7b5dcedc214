import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { type Broker, startBroker } from '../../support/kafka.ts';
import { fill, rangesOf, withCluster, withProducer } from '../../support/kafka-topics.ts';
import { collect, offsetsOf, testClient } from '../../support/read-collector.ts';
import { type ProxyAction, TcpProxy } from '../../support/tcp-proxy.ts';

// A broker of its own, reached through a proxy: its metadata name the proxy's port.
let proxy: TcpProxy;
let broker: Broker;
const RECORDS = 20_000;
let number = 0;

beforeAll(async () => {
  proxy = await TcpProxy.listen();
  broker = await startBroker({
    advertisedPort: proxy.port,
    properties: { 'log.cleaner.backoff.ms': 200, 'log.initial.task.delay.ms': 200 },
  });
  proxy.target = { host: broker.host, port: broker.port };
});

afterAll(async () => {
  await broker?.stop();
  await proxy?.close();
});

async function filledTopic(): Promise<string> {
  const topic = `faults-${++number}`;
  await withCluster(proxy.address, (cluster) => cluster.createTopics([{ topic, partitions: 2 }]));
  for (const partition of [0, 1]) {
    await fill(proxy.address, topic, partition, RECORDS, { batchBytes: 16_384, valueBytes: 200 });
  }
  return topic;
}

describe('the network', () => {
  it.each<ProxyAction>(['reset', 'cut', 'stall'])(
    '%s in mid-read loses and doubles nothing',
    async (action) => {
      const topic = await filledTopic();
      const ranges = await rangesOf(proxy.address, topic);
      const struck = proxy.struck;
      proxy.arm({ action, afterBytes: 1_500_000, times: 4 });
      const result = await collect(proxy.address, ranges, {
        fetchMaxBytes: 200_000,
        client: { kafka: { 'kafka.request.timeout.ms': '1000' } },
      });
      proxy.arm(null);
      expect(proxy.struck - struck).toBe(4);
      for (const partition of [0, 1]) {
        expect(result.offsets.get(`${topic}-${partition}`)).toEqual(offsetsOf(0n, BigInt(RECORDS)));
      }
      expect(result.cursors.map((c) => [c.rows, c.holes])).toEqual([
        [RECORDS, 0],
        [RECORDS, 0],
      ]);
    },
  );

  it('reset while a topic is created: it is created once, and the call succeeds', async () => {
    const cluster = await KafkaCluster.connect(testClient(proxy.address));
    try {
      // The reply of CreateTopics is lost; the topic is there when it is asked for again.
      proxy.arm({ action: 'reset', afterBytes: 90 });
      await cluster.createTopics([{ topic: 'made-once', partitions: 1 }]);
      const { topics } = await cluster.metadata(['made-once']);
      expect(topics[0].partitions.length).toBe(1);
    } finally {
      proxy.arm(null);
      await cluster.close();
    }
  });

  it('reset while records are produced: each is in the log once', async () => {
    const topic = `faults-${++number}`;
    await withCluster(proxy.address, (cluster) => cluster.createTopics([{ topic, partitions: 1 }]));
    await withProducer(proxy.address, topic, { batchBytes: 1000 }, async (producer) => {
      for (let i = 0; i < 2000; i++) {
        if (i % 500 === 250) proxy.arm({ action: 'reset', afterBytes: 20 });
        await producer.append({ topic, partition: 0, value: `v${i}`, timestampMs: 0 });
        if (i % 500 === 300) await producer.flush();
      }
    });
    const result = await collect(proxy.address, await rangesOf(proxy.address, topic), { values: true });
    expect(result.values.get(`${topic}-0`)).toEqual(Array.from({ length: 2000 }, (_, i) => `v${i}`));
  });
});

describe('the broker', () => {
  it.each(['restart', 'kill'] as const)('%s in mid-read loses and doubles nothing', async (what) => {
    const topic = await filledTopic();
    const ranges = await rangesOf(proxy.address, topic);
    let again: Promise<void> | null = null;
    const result = await collect(proxy.address, ranges, {
      fetchMaxBytes: 200_000,
      onPart: async (so) => {
        if (again !== null || so.parts < 5) return;
        const restarted = what === 'restart' ? broker.restart() : broker.kill().then(() => broker.start());
        again = restarted;
        // The connection breaks before the broker is back; the reader must wait for it.
        if (what === 'kill') return;
        await Promise.race([restarted, new Promise((resolve) => setImmediate(resolve))]);
      },
    });
    await again;
    expect(again).not.toBeNull();
    for (const partition of [0, 1]) {
      expect(result.offsets.get(`${topic}-${partition}`)).toEqual(offsetsOf(0n, BigInt(RECORDS)));
    }
  });

  it('that stays away ends the read at the deadline, saying where and why', async () => {
    const topic = await filledTopic();
    const ranges = await rangesOf(proxy.address, topic);
    const target = proxy.target;
    const reading = collect(proxy.address, ranges, {
      fetchMaxBytes: 200_000,
      client: { requestDeadlineMs: 1000 },
      onPart: () => {
        proxy.target = null;
        proxy.resetAll();
      },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringContaining(proxy.address),
    });
    proxy.target = target;
  });
});

describe('compaction', () => {
  it('leaves holes that are counted, and the rows that are left', async () => {
    const topic = `compacted-${++number}`;
    await withCluster(proxy.address, (cluster) =>
      cluster.createTopics([
        {
          topic,
          partitions: 1,
          config: {
            'cleanup.policy': 'compact',
            'segment.ms': '100',
            'min.cleanable.dirty.ratio': '0.01',
            'max.compaction.lag.ms': '100',
            'min.compaction.lag.ms': '0',
          },
        },
      ]),
    );
    await withProducer(proxy.address, topic, { batchBytes: 4000 }, async (producer) => {
      for (let i = 0; i < 5000; i++) {
        await producer.append({
          topic,
          partition: 0,
          key: `k${i % 50}`,
          value: `v${i}`,
          timestampMs: 1_784_000_000_000,
        });
      }
    });
    // Another record with a later time rolls the segment, so that the cleaner may have the first.
    await fill(proxy.address, topic, 0, 1, { from: 7_000_000 });
    const [range] = await rangesOf(proxy.address, topic);
    expect(range.until).toBe(5001n);
    let result = await collect(proxy.address, [range], { values: true });
    while (result.cursors[0].holes === 0) result = await collect(proxy.address, [range], { values: true });
    const { cursors, offsets, values } = result;
    const [cursor] = cursors;
    expect(cursor.position).toBe(5001n);
    expect(cursor.rows + cursor.holes + cursor.control + cursor.aborted).toBe(5001);
    // Whatever was compacted away, the last value of each key is there.
    const last = new Set(values.get(`${topic}-0`));
    for (let i = 4950; i < 5000; i++) expect(last.has(`v${i}`)).toBe(true);
    // From inside a hole (case C11) the rows behind it come, and nothing older.
    const inside = cursor.gaps[0].from + 1n;
    const rest = await collect(proxy.address, [{ ...range, from: inside }]);
    expect(rest.offsets.get(`${topic}-0`)).toEqual(offsets.get(`${topic}-0`)!.filter((o) => o >= inside));
    expect(rest.cursors[0].position).toBe(5001n);
  });
});
