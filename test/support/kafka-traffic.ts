/**
 * Topics as the producers of the field write them: Kafka's Java client (KafkaTraffic.java), librdkafka (librdkafka_traffic.py),
 * `@platformatic/kafka` and our own. What is in them is told by the Java consumer, not by who wrote.
 */
import { Producer as Platformatic } from '@platformatic/kafka';
import type { TopicSpec } from '../../src/kafka/cluster.ts';
import { type KafkaCodec, type ProducedRecord, Producer } from '../../src/kafka/produce.ts';
import { runKafkaTraffic } from './kafka-java.ts';
import { withCluster } from './kafka-topics.ts';
import { runPython } from './python.ts';
import { testClient } from './read-collector.ts';

export const TRAFFIC_CODECS: readonly KafkaCodec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
/** Of the topics by client: a partition for each codec and one for all of them. */
const BY_CODEC = TRAFFIC_CODECS.length;
/** 2024-01-01T00:00:00Z. */
const START_MS = 1_704_067_200_000;

export const TRAFFIC_TOPICS: readonly TopicSpec[] = [
  ...['java', 'librdkafka', 'platformatic', 'ours'].map((topic) => ({ topic, partitions: BY_CODEC + 1 })),
  // Java in partition 0, librdkafka in 1, platformatic in 2, ours in 3.
  { topic: 'append-time', partitions: 4, config: { 'message.timestamp.type': 'LogAppendTime' } },
  { topic: 'big', partitions: 4, config: { 'max.message.bytes': '8000000' } },
  ...['uncompressed', ...TRAFFIC_CODECS.slice(1)].map((codec) => ({
    topic: `by-broker-${codec}`,
    partitions: 1,
    config: { 'compression.type': codec },
  })),
  // All clients at the same time.
  { topic: 'mixed', partitions: 1 },
  { topic: 'long', partitions: 1 },
  // Java in 0, its transactions in 1, librdkafka in 2, ours in 3.
  {
    topic: 'compacted',
    partitions: 4,
    config: {
      'cleanup.policy': 'compact',
      'segment.ms': '3600000',
      'min.cleanable.dirty.ratio': '0.001',
      'delete.retention.ms': '0',
      'message.timestamp.after.max.ms': '9223372036854775807',
    },
  },
  { topic: 'deleted', partitions: 4 },
  // A transaction of Java is left open in 0, one of ours in 1.
  { topic: 'open', partitions: 2 },
];

/** Creates and fills the topics. Returns our transaction that is open in `open`. */
export async function produceTraffic(bootstrap: string): Promise<Producer> {
  await withCluster(bootstrap, (cluster) => cluster.createTopics(TRAFFIC_TOPICS));
  const ended = new AbortController();
  const others = Promise.all([
    runKafkaTraffic('produce', bootstrap),
    runPython('librdkafka_traffic.py', [bootstrap]),
    ourTraffic(bootstrap).then(() => platformaticTraffic(bootstrap)),
  ]).finally(() => ended.abort());
  const [open] = await Promise.all([openTransaction(bootstrap), mixed(bootstrap, ended.signal), others]);
  return open;
}

async function ourTraffic(bootstrap: string): Promise<void> {
  for (const [partition, codec] of TRAFFIC_CODECS.entries()) {
    const client = testClient(bootstrap);
    const plain = await Producer.connect({ client, codec, batchBytes: 900_000 });
    const transactional = await Producer.connect({ client, codec, transactionalId: `ours-${codec}` });
    for (const producer of [plain, transactional])
      for (const { topic } of TRAFFIC_TOPICS) await producer.prepare(topic);
    for (let n = 0; n < 24; n++) await alone(plain, [odd('ours', partition, n)]);
    await alone(
      plain,
      many(12_000, (n) => small('ours', partition, n)),
    );
    for (let round = 0; round < 4; round++) {
      transactional.begin();
      for (let n = 0; n < 30; n += 10) {
        await alone(
          transactional,
          many(20, (i) => odd('ours', i % 2 ? partition : BY_CODEC, 1000 * partition + 100 * round + n + i)),
        );
      }
      await (round % 2 === 0 ? transactional.commit() : transactional.abort());
    }
    await alone(
      plain,
      many(20, (n) => odd('append-time', 3, n)),
    );
    for (const bytes of [1_100_000, 20, 2_500_000])
      await alone(plain, [{ ...odd('big', 3, 2), key: codec, value: patterned(bytes, partition) }]);
    const tombstone = (n: number) => n % 13 === 0;
    for (let n = 0; n < 200; n += 20) {
      await alone(
        plain,
        many(20, (i) => ({
          topic: 'compacted',
          partition: 3,
          key: tombstone(n + i) ? `once-${codec}-${n + i}` : `again-${i}`,
          value: tombstone(n + i) ? null : `value ${n + i}`,
          timestampMs: START_MS + n + i,
        })),
      );
    }
    if (partition === BY_CODEC - 1) await alone(plain, [rollingRecord()]);
    await plain.close();
    await transactional.close();
  }
}

/** Its time ends the segment, so that the cleaner may have what lies before. */
function rollingRecord(): ProducedRecord {
  const timestampMs = Date.now() + 7_200_000;
  return { topic: 'compacted', partition: 3, key: 'roll', value: 'roll', timestampMs };
}

/** Rounds of committed and aborted transactions and plain records of both clients, until the others have ended. */
async function mixed(bootstrap: string, ended: AbortSignal): Promise<void> {
  const topic = 'mixed';
  const client = testClient(bootstrap);
  const transactional = await Producer.connect({ client, codec: 'snappy', transactionalId: 'ours-mixed' });
  const plain = await Producer.connect({ client, codec: 'lz4' });
  const foreign = platformatic(bootstrap, 'platformatic-mixed');
  for (const producer of [transactional, plain]) await producer.prepare(topic);
  for (let round = 0; round === 0 || !ended.aborted; round++) {
    transactional.begin();
    const theirs = await foreign.beginTransaction();
    for (let n = 0; n < 3; n++) {
      await alone(transactional, [odd(topic, 0, round + n), odd(topic, 0, round + n + 1)]);
      await theirs.send({ messages: messages([odd(topic, 0, n)]), acks: -1 });
      await alone(plain, [odd(topic, 0, n)]);
    }
    await (round % 3 === 0 ? transactional.abort() : transactional.commit());
    await (round % 2 === 0 ? theirs.abort() : theirs.commit());
  }
  await transactional.close();
  await plain.close();
  await foreign.close(true);
}

async function platformaticTraffic(bootstrap: string): Promise<void> {
  const topic = 'platformatic';
  const plain = platformatic(bootstrap);
  for (const [partition, codec] of TRAFFIC_CODECS.entries()) {
    const compression = codec;
    const send = (records: ProducedRecord[]) =>
      plain.send({ messages: messages(records), acks: -1, compression });
    for (let n = 0; n < 24; n++) await send([odd(topic, partition, n)]);
    await send(many(3000, (n) => small(topic, partition, n)));
    await send(many(20, (n) => odd('append-time', 2, n)));
    await send([{ ...odd('big', 2, 2), value: patterned(1_100_000, partition) }]);
    const transactional = platformatic(bootstrap, `platformatic-${codec}`);
    for (let round = 0; round < 4; round++) {
      const transaction = await transactional.beginTransaction();
      for (let n = 0; n < 30; n += 10) {
        const records = many(10, (i) => odd(topic, partition, 100 * round + n + i));
        await transaction.send({ messages: messages(records), acks: -1, compression });
        const others = many(10, (i) => odd(topic, BY_CODEC, 1000 * partition + n + i));
        await transaction.send({ messages: messages(others), acks: -1, compression });
      }
      await (round % 2 === 0 ? transaction.commit() : transaction.abort());
    }
    await transactional.close(true);
  }
  await plain.close(true);
}

async function openTransaction(bootstrap: string): Promise<Producer> {
  const producer = await Producer.connect({
    client: testClient(bootstrap),
    transactionalId: 'ours-open',
    transactionTimeoutMs: 900_000,
  });
  await producer.prepare('open');
  producer.begin();
  await alone(
    producer,
    many(30, (n) => odd('open', 1, n)),
  );
  return producer;
}

function platformatic(
  bootstrap: string,
  transactionalId?: string,
): Platformatic<Buffer, Buffer, Buffer, Buffer> {
  return new Platformatic({
    clientId: 'sluice-test-traffic',
    bootstrapBrokers: bootstrap.split(','),
    autocreateTopics: false,
    retries: 20,
    retryDelay: 50,
    ...(transactionalId !== undefined && { transactionalId, idempotent: true }),
  });
}

function messages(records: readonly ProducedRecord[]) {
  const buffer = (bytes: ProducedRecord['key']) => (bytes == null ? undefined : Buffer.from(bytes as string));
  return records.map(({ topic, partition, key, value, timestampMs, headers }) => ({
    topic,
    partition,
    key: buffer(key),
    value: buffer(value),
    timestamp: BigInt(timestampMs),
    headers: new Map((headers ?? []).map(([name, bytes]) => [Buffer.from(name), buffer(bytes) as Buffer])),
  }));
}

/** Appends the records and waits until they are acknowledged: one batch for each partition. */
async function alone(producer: Producer, records: readonly ProducedRecord[]): Promise<void> {
  for (const record of records) await producer.append(record);
  await producer.flush();
}

function many<T>(count: number, of: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => of(n));
}

function patterned(bytes: number, seed: number): Buffer {
  const value = Buffer.alloc(bytes);
  // Every second one has little to compress.
  for (let i = 0; i < bytes; i++)
    value[i] = seed % 2 ? (i * 31) >> 9 : Math.imul(i + seed, 2654435761) >>> 13;
  return value;
}

const KEYS = (n: number) => [
  null,
  '',
  `key ${n}`,
  Buffer.from([0xff, 0, n % 256]),
  'ключ😀'.repeat((n % 9) * 20),
];
const VALUES = (n: number) => [
  null,
  '',
  `{"n":${n}}`,
  Buffer.from([0xfe, n % 256]),
  `long ${n}${' '.repeat((n % 200) + 30)}`,
  '€'.repeat(2000),
  '\0',
];
const HEADERS = (n: number): NonNullable<ProducedRecord['headers']>[] => [
  [],
  [['trace', `t${n}`]],
  [
    ['trace', null],
    ['trace', 'again'],
    ['', ''],
    ['trace', Buffer.from([0xff])],
    ['имя😀', 'x'.repeat((n % 7) * 40)],
  ],
];

/** Null, empty and odd keys and values, tombstones, headers of every kind, no time; times go back and forth. */
function odd(topic: string, partition: number, n: number): ProducedRecord {
  return {
    topic,
    partition,
    key: KEYS(n)[n % 5],
    value: VALUES(n)[n % 7],
    headers: HEADERS(n)[n % 3],
    // None, which only our producer sends rightly among times of today.
    timestampMs: topic === 'ours' && n % 11 === 3 ? -1 : START_MS + ((n * 7919) % 3_600_000),
  };
}

function small(topic: string, partition: number, n: number): ProducedRecord {
  return {
    topic,
    partition,
    key: n % 2 === 0 ? null : String(n),
    value: `v${n % 100}`,
    timestampMs: START_MS + n,
  };
}
