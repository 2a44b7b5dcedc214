import type { OffsetRange } from '../core/offset-range.ts';
import type { TopicPartition } from '../core/topic-partition.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { type KafkaClientOptions, KafkaCluster } from '../kafka/cluster.ts';
import { readRanges } from '../kafka/range-reader.ts';
import type { Interval } from './offset-runs.ts';

/** What the brokers still have of one partition: [from, until), of one incarnation of its topic. */
export interface RetainedLog {
  topicId: string | null;
  from: bigint;
  until: bigint;
}

/** What the brokers said of the offsets of a partition that were read and have no row. */
export interface BrokerAnswer {
  /** What they still have of what was read. */
  from: bigint;
  until: bigint;
  /** Offsets in it that have no row and were not given up. */
  asked: number;
  /** Those at which they have a record that no rule dropped: lost ones. */
  records: Interval[];
}

/** The log as the brokers have it now. */
export interface BrokerLog {
  /** By `topic-partition`; topics and partitions that are no more are left out. */
  retained(partitions: readonly TopicPartition[]): Promise<Map<string, RetainedLog>>;
  /** Reads the ranges, each partition at most once, and tells of each record, a partition's in the order of offsets. */
  read(
    ranges: readonly (OffsetRange & { topicId: string | null })[],
    onRecord: (topic: string, partition: number, offset: number, isTombstone: boolean) => void,
  ): Promise<void>;
}

export interface BrokerLogOptions {
  client: KafkaClientOptions;
  isolationLevel: 'read_committed' | 'read_uncommitted';
  /** All buffers together. */
  budgetBytes: number;
}

/** Asks real brokers. The methods throw what the Kafka client throws. */
export function openBrokerLog({ client, isolationLevel, budgetBytes }: BrokerLogOptions): BrokerLog {
  return {
    async retained(partitions) {
      const cluster = await KafkaCluster.connect(client);
      try {
        return await retainedOf(cluster, partitions, isolationLevel);
      } finally {
        await cluster.close();
      }
    },
    async read(ranges, onRecord) {
      await readRanges({
        client,
        ranges,
        isolationLevel,
        budgetBytes,
        checkUtf8Values: false,
        checkUtf8Keys: false,
        onRows: ({ topic, partition }, { length, offsets, values }) => {
          for (let row = 0; row < length; row++)
            onRecord(topic, partition, offsets.getNumber(row), values.isNull(row));
        },
        afterPart: () => undefined,
      });
    },
  };
}

async function retainedOf(
  cluster: KafkaCluster,
  partitions: readonly TopicPartition[],
  isolationLevel: BrokerLogOptions['isolationLevel'],
): Promise<Map<string, RetainedLog>> {
  const metadata = await cluster.metadata([...new Set(partitions.map((p) => p.topic))]);
  const topics = new Map(metadata.topics.map((t) => [t.topic, t]));
  const there = partitions.filter(({ topic, partition }) =>
    topics.get(topic)?.partitions.some((p) => p.partition === partition),
  );
  if (there.length === 0) return new Map();
  const ends = await cluster.listOffsets(
    there,
    isolationLevel === 'read_committed' ? 'lastStable' : 'highWatermark',
  );
  const until = new Map(ends.map((end) => [topicPartitionKey(end.topic, end.partition), end.offset]));
  const retained = new Map<string, RetainedLog>();
  for (const { topic, partition, offset } of await cluster.listOffsets(there, 'earliest')) {
    const key = topicPartitionKey(topic, partition);
    const end = until.get(key) ?? offset;
    retained.set(key, {
      topicId: topics.get(topic)!.topicId,
      from: offset,
      until: end > offset ? end : offset,
    });
  }
  return retained;
}
