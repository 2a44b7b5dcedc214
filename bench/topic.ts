import { KafkaCluster } from '../src/kafka/cluster.ts';
import { Producer } from '../src/kafka/produce.ts';
import { AdEvents, START_MS } from './events.ts';
import type { TopicCodec } from './options.ts';

export interface BenchTopic {
  topic: string;
  records: number;
  /** Of keys and values, uncompressed. */
  bytes: number;
}

export interface TopicRequest {
  records: number;
  partitions: number;
  valueBytes: number;
  codec: TopicCodec;
}

/** The name tells what is in it: a topic that a kept broker has with the right number of records serves again. */
export function topicName(request: TopicRequest): string {
  return `bench-raw-${request.records}x${request.valueBytes}-${request.partitions}p-${request.codec}`;
}

function clientOf(bootstrap: string) {
  return {
    bootstrapServers: bootstrap,
    clientId: 'sluice-bench',
    kafka: {},
    requestDeadlineMs: 60_000,
  };
}

/** Fills the topic, unless it is there already; one that is there in part is deleted first. */
export async function ensureTopic(
  bootstrap: string,
  request: TopicRequest,
  say: (line: string) => void,
): Promise<BenchTopic> {
  const topic = topicName(request);
  const cluster = await KafkaCluster.connect(clientOf(bootstrap));
  try {
    const events = new AdEvents(request.valueBytes);
    const bytes = payloadBytes(events, request);
    const found = await recordsIn(cluster, topic);
    if (found === request.records) return { topic, records: request.records, bytes };
    if (found !== null) await cluster.deleteTopics([topic]);
    await cluster.createTopics([
      { topic, partitions: request.partitions, replicationFactor: 1, config: TOPIC_CONFIG },
    ]);
    say(`loading ${request.records} records into ${topic}`);
    await load(bootstrap, topic, request, events);
    return { topic, records: request.records, bytes };
  } finally {
    await cluster.close();
  }
}

// The broker keeps the producer's codec and has no reason to delete anything.
const TOPIC_CONFIG = {
  'compression.type': 'producer',
  'retention.ms': '-1',
  'max.message.bytes': '20000000',
};

/** Records by the offsets, or null where there is no such topic. */
async function recordsIn(cluster: KafkaCluster, topic: string): Promise<number | null> {
  const { topics } = await cluster.metadata([topic]);
  if (topics.length === 0) return null;
  const partitions = topics[0].partitions.map(({ partition }) => ({ topic, partition }));
  const [starts, ends] = await Promise.all([
    cluster.listOffsets(partitions, 'earliest'),
    cluster.listOffsets(partitions, 'highWatermark'),
  ]);
  const sum = (offsets: readonly { offset: bigint }[]) => offsets.reduce((total, o) => total + o.offset, 0n);
  return Number(sum(ends) - sum(starts));
}

/** Exactly, without making all records: every value has the same length and every key four digits. */
function payloadBytes(events: AdEvents, request: TopicRequest): number {
  const { key, value } = events.record(0);
  return request.records * (key.length + value.length);
}

async function load(
  bootstrap: string,
  topic: string,
  request: TopicRequest,
  events: AdEvents,
): Promise<void> {
  const producer = await Producer.connect({ client: clientOf(bootstrap), codec: request.codec });
  try {
    await producer.prepare(topic);
    for (let sequence = 0; sequence < request.records; sequence++) {
      const { key, value } = events.record(sequence);
      const partition = sequence % request.partitions;
      const full = producer.append({ topic, partition, key, value, timestampMs: START_MS + sequence });
      if (full !== undefined) await full;
    }
  } finally {
    await producer.close();
  }
}

export async function deleteTopic(bootstrap: string, topic: string): Promise<void> {
  const cluster = await KafkaCluster.connect(clientOf(bootstrap));
  try {
    await cluster.deleteTopics([topic]);
  } finally {
    await cluster.close();
  }
}
