import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { BrokerConnection } from '../../../src/kafka/connection.ts';
import { fetch } from '../../../src/kafka/fetch.ts';
import {
  createPartitions,
  createTopics,
  deleteRecords,
  deleteTopics,
  describeTopicConfig,
} from '../../../src/kafka/messages/admin.ts';
import type { Api } from '../../../src/kafka/messages/api.ts';
import { apiVersions } from '../../../src/kafka/messages/api-versions.ts';
import { listOffsets } from '../../../src/kafka/messages/list-offsets.ts';
import { metadata } from '../../../src/kafka/messages/metadata.ts';
import { offsetForLeaderEpoch } from '../../../src/kafka/messages/offset-for-leader-epoch.ts';
import { produce } from '../../../src/kafka/messages/produce.ts';
import { initProducerId } from '../../../src/kafka/messages/transactions.ts';
import { murmur2Partition } from '../../../src/kafka/murmur2.ts';
import { useKafka } from '../../support/kafka.ts';
import { fill, rangesOf, withProducer } from '../../support/kafka-topics.ts';
import { collect, testClient } from '../../support/read-collector.ts';
import { encodeRecordBatch } from '../../support/record-batch-encoder.ts';

const kafka = useKafka();
let cluster: KafkaCluster;

beforeAll(async () => {
  cluster = await KafkaCluster.connect(testClient(kafka.bootstrap));
});

afterAll(() => cluster?.close());

async function newTopic(prefix: string, partitions = 1): Promise<string> {
  const topic = kafka.uniqueTopic(prefix);
  await cluster.createTopics([{ topic, partitions, config: { 'retention.ms': '-1' } }]);
  return topic;
}

describe('KafkaCluster', () => {
  it('knows the cluster, its topics, and which are missing', async () => {
    const topic = await newTopic('meta', 3);
    const found = await cluster.metadata([topic, 'sluice-no-such-topic']);
    expect(found.clusterId).toMatch(/^[\w-]{22}$/);
    expect(found.brokers.length).toBeGreaterThan(0);
    expect(found.missing).toEqual(['sluice-no-such-topic']);
    expect(found.topics).toEqual([
      {
        topic,
        topicId: expect.stringMatching(/^[\w-]{22}$/),
        internal: false,
        partitions: [0, 1, 2].map((partition) => ({ partition, leader: expect.any(Number), leaderEpoch: 0 })),
      },
    ]);
    const all = await cluster.metadata(null);
    expect(all.topics.some((t) => t.topic === topic && t.topicId === found.topics[0].topicId)).toBe(true);
    // Asking must not create.
    expect((await cluster.metadata(['sluice-no-such-topic'])).missing).toEqual(['sluice-no-such-topic']);
  });

  it('lists offsets in the order asked: start, end, by time', async () => {
    const topic = await newTopic('offsets', 2);
    await fill(kafka.bootstrap, topic, 1, 100);
    const asked = [1, 0].map((partition) => ({ topic, partition }));
    const offsets = async (which: Parameters<KafkaCluster['listOffsets']>[1]) =>
      (await cluster.listOffsets(asked, which)).map((o) => [o.partition, o.offset]);
    expect(await offsets('highWatermark')).toEqual([
      [1, 100n],
      [0, 0n],
    ]);
    await cluster.deleteRecords(topic, 1, 30n);
    expect(await offsets('earliest')).toEqual([
      [1, 30n],
      [0, 0n],
    ]);
    const [at] = await cluster.listOffsets(asked, { timestampMs: 1_784_000_000_042n });
    expect([at.offset, at.timestampMs]).toEqual([42n, 1_784_000_000_042n]);
    expect(await offsets({ timestampMs: 1_784_000_000_100n })).toEqual([
      [1, -1n],
      [0, -1n],
    ]);
  });

  it('refuses a partition that does not exist', async () => {
    const topic = await newTopic('absent');
    await expect(cluster.listOffsets([{ topic, partition: 9 }], 'earliest')).rejects.toMatchObject({
      code: 'TOPIC_NOT_FOUND',
      context: { topic, partition: 9 },
    });
  });

  it('tells where a leader epoch ends, and that it does not know a later one', async () => {
    const topic = await newTopic('epochs');
    await fill(kafka.bootstrap, topic, 0, 5);
    const ask = (epoch: number) => cluster.epochEndOffsets([{ topic, partition: 0, epoch }]);
    expect(await ask(0)).toEqual([{ topic, partition: 0, epoch: 0, endOffset: 5n }]);
    expect(await ask(7)).toEqual([{ topic, partition: 0, epoch: -1, endOffset: -1n }]);
  });

  it('creates, grows, describes and deletes topics', async () => {
    const topic = await newTopic('admin');
    await expect(cluster.createTopics([{ topic, partitions: 1 }])).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      context: { kafkaError: 36 },
    });
    await cluster.createPartitions(topic, 4);
    expect((await cluster.metadata([topic])).topics[0].partitions.length).toBe(4);
    const config = await cluster.topicConfig(topic);
    expect([config['retention.ms'], config['cleanup.policy']]).toEqual(['-1', 'delete']);
    await cluster.deleteTopics([topic]);
    expect((await cluster.metadata([topic])).missing).toEqual([topic]);
    await expect(cluster.deleteTopics([topic])).rejects.toMatchObject({ code: 'TOPIC_NOT_FOUND' });
    await expect(cluster.topicConfig(topic)).rejects.toMatchObject({ code: 'TOPIC_NOT_FOUND' });
    await expect(cluster.createTopics([{ topic: 'no/such name', partitions: 1 }])).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      retryable: false,
    });
  });
});

describe('Producer', () => {
  it('gives keys the partitions that Java gives them, and spreads records without key', async () => {
    const topic = await newTopic('keys', 5);
    await withProducer(kafka.bootstrap, topic, {}, async (producer) => {
      for (let i = 0; i < 100; i++) {
        await producer.append({ topic, key: `key-${i}`, value: `key-${i}`, timestampMs: 0 });
        await producer.append({ topic, value: null, timestampMs: 0 });
      }
    });
    const { values } = await collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic), {
      values: true,
    });
    for (let partition = 0; partition < 5; partition++) {
      const found = values.get(`${topic}-${partition}`)!;
      expect(found.filter((v) => v === null).length).toBe(20);
      for (const key of found)
        if (key !== null) expect(murmur2Partition(Buffer.from(key), 5)).toBe(partition);
    }
  });

  it('fails with the place of a batch that the broker refuses', async () => {
    const topic = await newTopic('refused');
    const producing = withProducer(kafka.bootstrap, topic, { batchBytes: 8_000_000 }, async (producer) => {
      await producer.append({ topic, partition: 0, value: 'x'.repeat(3_000_000), timestampMs: 0 });
      await producer.flush();
    });
    await expect(producing).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      context: { topic, partition: 0, kafkaError: 10 },
    });
  });
});

describe('every version of every message that the broker and we both know', () => {
  let connection: BrokerConnection;
  let topic: string;
  let topicId: string;

  beforeAll(async () => {
    const [host, port] = kafka.bootstrap.split(',')[0].split(':');
    connection = await BrokerConnection.open({
      address: { host, port: Number(port) },
      clientId: 'versions',
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 10_000,
    });
    topic = await newTopic('versions');
    topicId = (await cluster.metadata([topic])).topics[0].topicId!;
    await fill(kafka.bootstrap, topic, 0, 3);
  });

  afterAll(() => connection?.close());

  /** Asks in each common version; a response that is not read to its last byte is a PROTOCOL_ERROR. */
  async function sweep<Q, A>(api: Api<Q, A>, request: (version: number) => Q): Promise<[number, A][]> {
    const answers: [number, A][] = [];
    const known = await connection.call(apiVersions, null);
    const theirs = known.apis.find((a) => a.key === api.key)!;
    for (let version = Math.max(api.min, theirs.min); version <= Math.min(api.max, theirs.max); version++) {
      answers.push([version, await connection.call(api, request(version), { version })]);
    }
    expect(answers.length).toBeGreaterThan(0);
    return answers;
  }

  it('ApiVersions', async () => {
    for (const [, answer] of await sweep(apiVersions, () => null))
      expect(answer.apis.length).toBeGreaterThan(20);
  });

  it('Metadata', async () => {
    for (const [version, answer] of await sweep(metadata, () => ({ topics: [topic] }))) {
      expect(answer.topics[0]).toMatchObject({
        topic,
        topicId: version >= 10 ? topicId : null,
        errorCode: 0,
      });
    }
    for (const [, answer] of await sweep(metadata, () => ({ topics: null }))) {
      expect(answer.topics.length).toBeGreaterThan(0);
    }
  });

  it('ListOffsets', async () => {
    const request = {
      isolationLevel: 0 as const,
      topics: [{ topic, partitions: [{ partition: 0, leaderEpoch: -1, timestamp: -1n }] }],
    };
    for (const [, answer] of await sweep(listOffsets, () => request)) {
      expect(answer.topics[0].partitions[0]).toMatchObject({ errorCode: 0, offset: 3n });
    }
  });

  it('OffsetForLeaderEpoch', async () => {
    const request = { topics: [{ topic, partitions: [{ partition: 0, leaderEpoch: -1, epoch: 0 }] }] };
    for (const [, answer] of await sweep(offsetForLeaderEpoch, () => request)) {
      expect(answer.topics[0].partitions[0]).toMatchObject({ errorCode: 0, endOffset: 3n });
    }
  });

  it('Fetch', async () => {
    const partitions = [{ partition: 0, leaderEpoch: -1, fetchOffset: 0n, maxBytes: 10_000 }];
    const request = {
      maxWaitMs: 10,
      maxBytes: 10_000,
      isolationLevel: 1 as const,
      rackId: '',
      topics: [{ topic, topicId, partitions }],
    };
    for (const [version, answer] of await sweep(fetch, () => request)) {
      expect(answer.parts[0], `v${version}`).toMatchObject({
        errorCode: 0,
        highWatermark: 3n,
        lastStableOffset: 3n,
      });
      expect(answer.parts[0].end).toBeGreaterThan(answer.parts[0].start);
    }
  });

  it('Produce', async () => {
    const batch = encodeRecordBatch([{ offset: 0n, timestamp: 0n, value: 'v' }]);
    const request = { transactionalId: null, timeoutMs: 5000, topic, partition: 0, batch };
    const answers = await sweep(produce, () => request);
    expect(answers.map(([, a]) => [a.errorCode, a.baseOffset])).toEqual(
      answers.map((_, i) => [0, BigInt(3 + i)]),
    );
  });

  it('DeleteRecords', async () => {
    const request = { topic, partition: 0, before: 1n, timeoutMs: 5000 };
    for (const [, answer] of await sweep(deleteRecords, () => request)) {
      expect(answer).toEqual({ errorCode: 0, lowWatermark: 1n });
    }
  });

  it('InitProducerId', async () => {
    for (const [, answer] of await sweep(initProducerId, () => ({
      transactionalId: null,
      timeoutMs: 5000,
    }))) {
      expect(answer.errorCode).toBe(0);
      expect(answer.producerId).toBeGreaterThanOrEqual(0n);
    }
  });

  it('DescribeConfigs', async () => {
    for (const [, answer] of await sweep(describeTopicConfig, () => ({ topic }))) {
      expect(answer.errorCode).toBe(0);
      expect(Object.fromEntries(answer.config)['retention.ms']).toBe('-1');
    }
  });

  it('CreateTopics, CreatePartitions and DeleteTopics', async () => {
    const name = (version: number) => `${topic}-v${version}`;
    const created = await sweep(createTopics, (version) => ({
      topics: [
        {
          topic: name(version),
          partitions: 1,
          replicationFactor: -1,
          config: [['retention.ms', '5'] as const],
        },
      ],
      timeoutMs: 5000,
    }));
    expect(created.map(([, a]) => [a[0].topic, a[0].errorCode])).toEqual(created.map(([v]) => [name(v), 0]));
    for (const [version, [answer]] of await sweep(createPartitions, (v) => ({
      topic,
      total: 2 + v,
      timeoutMs: 5000,
    }))) {
      expect([version, answer.errorCode, answer.errorMessage]).toEqual([version, 0, null]);
    }
    const deleted = await sweep(deleteTopics, (version) => ({ topics: [name(version)], timeoutMs: 5000 }));
    for (const [version, [answer]] of deleted) {
      const made = created.some(([v]) => v === version);
      expect(answer).toMatchObject({ topic: name(version), errorCode: made ? 0 : 3 });
    }
  });
});
