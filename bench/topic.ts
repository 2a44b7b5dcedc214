import { KafkaCluster } from '../src/kafka/cluster.ts';
import { Producer } from '../src/kafka/produce.ts';
import { AdEvents, START_MS } from './events.ts';
import type { TopicCodec } from './options.ts';
import { TypedEvents } from './typed/typed-events.ts';

/** What the values of a topic are. */
export type Payload = 'raw' | 'typed-json' | 'typed-avro';

export interface BenchTopic {
  topic: string;
  records: number;
  /** Of keys and values, uncompressed; of Avro records by the mean of the first of them. */
  bytes: number;
}

export interface TopicRequest {
  payload: Payload;
  records: number;
  partitions: number;
  /** Of an Avro record: of the JSON document that has the same fields. */
  valueBytes: number;
  codec: TopicCodec;
}

type MakeRecord = (sequence: number) => { key: string; value: string | Uint8Array };

function recordMaker({ payload, valueBytes }: TopicRequest): MakeRecord {
  if (payload === 'raw') {
    const events = new AdEvents(valueBytes);
    return (sequence) => events.record(sequence);
  }
  const events = new TypedEvents(valueBytes);
  return payload === 'typed-json' ? (sequence) => events.json(sequence) : (sequence) => events.avro(sequence);
}

/** The name tells what is in it: a topic that a kept broker has with the right number of records serves again. */
export function topicName(request: TopicRequest): string {
  return `bench-${request.payload}-${request.records}x${request.valueBytes}-${request.partitions}p-${request.codec}`;
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
    const make = recordMaker(request);
    const bytes = payloadBytes(make, request);
    const found = await recordsIn(cluster, topic);
    if (found === request.records) return { topic, records: request.records, bytes };
    if (found !== null) await cluster.deleteTopics([topic]);
    await cluster.createTopics([
      { topic, partitions: request.partitions, replicationFactor: 1, config: TOPIC_CONFIG },
    ]);
    say(`loading ${request.records} records into ${topic}`);
    await load(bootstrap, topic, request, make);
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

/** JSON values have one length and keys four digits: any of them tells the mean. */
function payloadBytes(make: MakeRecord, { records }: TopicRequest): number {
  const looked = Math.min(records, 1000);
  let bytes = 0;
  for (let sequence = 0; sequence < looked; sequence++) {
    const { key, value } = make(sequence);
    bytes += key.length + value.length;
  }
  return Math.round((bytes / looked) * records);
}

async function load(
  bootstrap: string,
  topic: string,
  request: TopicRequest,
  make: MakeRecord,
): Promise<void> {
  const producer = await Producer.connect({ client: clientOf(bootstrap), codec: request.codec });
  try {
    await producer.prepare(topic);
    for (let sequence = 0; sequence < request.records; sequence++) {
      const { key, value } = make(sequence);
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
