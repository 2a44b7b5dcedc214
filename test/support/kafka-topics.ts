import { KafkaCluster } from '../../src/kafka/cluster.ts';
import { type KafkaCodec, type ProducedRecord, Producer } from '../../src/kafka/produce.ts';
import type { RangeToRead } from '../../src/kafka/range-reader.ts';
import { testClient } from './read-collector.ts';

/** Runs `work` with a client of the cluster and closes it. */
export async function withCluster<T>(
  bootstrap: string,
  work: (cluster: KafkaCluster) => Promise<T>,
): Promise<T> {
  const cluster = await KafkaCluster.connect(testClient(bootstrap));
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

export interface FillOptions {
  codec?: KafkaCodec;
  batchBytes?: number;
  transactionalId?: string;
}

/** Runs `work` with a producer that knows the topic, and flushes and closes it. */
export async function withProducer<T>(
  bootstrap: string,
  topic: string,
  options: FillOptions,
  work: (producer: Producer) => Promise<T>,
): Promise<T> {
  const producer = await Producer.connect({ client: testClient(bootstrap), ...options });
  try {
    await producer.prepare(topic);
    return await work(producer);
  } finally {
    await producer.close();
  }
}

/** Appends `count` records to a partition: values `v0`, `v1`... padded to `valueBytes`, keys `k0`... */
export async function fill(
  bootstrap: string,
  topic: string,
  partition: number,
  count: number,
  options: FillOptions & { valueBytes?: number; from?: number } = {},
): Promise<void> {
  const { valueBytes = 0, from = 0, ...rest } = options;
  await withProducer(bootstrap, topic, rest, async (producer) => {
    for (let i = from; i < from + count; i++) {
      const record: ProducedRecord = {
        topic,
        partition,
        key: `k${i}`,
        value: `v${i}`.padEnd(valueBytes, '.'),
        timestampMs: 1_784_000_000_000 + i,
      };
      await producer.append(record);
    }
  });
}

/** The ranges of a topic as they are now, from the log starts to the last stable offsets, bound to its id. */
export async function rangesOf(bootstrap: string, topic: string): Promise<RangeToRead[]> {
  return withCluster(bootstrap, async (cluster) => {
    const { topics } = await cluster.metadata([topic]);
    const { topicId, partitions } = topics[0];
    const asked = partitions.map(({ partition }) => ({ topic, partition }));
    const starts = await cluster.listOffsets(asked, 'earliest');
    const ends = await cluster.listOffsets(asked, 'lastStable');
    return asked.map((p, i) => ({ ...p, from: starts[i].offset, until: ends[i].offset, topicId }));
  });
}
