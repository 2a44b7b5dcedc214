import { type OffsetMap, offsetEntries, setOffset } from '../core/offset-range.ts';
import type { TopicPartition } from '../core/topic-partition.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';

/** Where a partition has no record at or after the time. */
export const NO_OFFSET = -1n;

/**
 * The first offset of each partition whose record is not before its time (ms since 1970), or `NO_OFFSET`. Isolation 0:
 * a record of an open transaction counts too, so that none is passed over.
 */
export async function offsetsByTime(cluster: KafkaCluster, timesMs: OffsetMap): Promise<OffsetMap> {
  const byTime = new Map<bigint, TopicPartition[]>();
  for (const { topic, partition, offset: timeMs } of offsetEntries(timesMs)) {
    const partitions = byTime.get(timeMs) ?? [];
    byTime.set(timeMs, partitions);
    partitions.push({ topic, partition });
  }
  const found: OffsetMap = new Map();
  for (const [timestampMs, partitions] of byTime) {
    for (const { topic, partition, offset } of await cluster.listOffsets(partitions, { timestampMs }))
      setOffset(found, topic, partition, offset < 0n ? NO_OFFSET : offset);
  }
  return found;
}

/** The same time for all partitions. */
export function sameTime(partitions: readonly TopicPartition[], timeMs: bigint): OffsetMap {
  const times: OffsetMap = new Map();
  for (const { topic, partition } of partitions) setOffset(times, topic, partition, timeMs);
  return times;
}
