import type { TopicPartition } from './topic-partition.ts';

/** The offsets [from, until) of one partition: `from` is included, `until` is not. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint;
  readonly until: bigint;
}

/** topic -> partition -> offset. In a checkpoint: the next offset to read. */
export type OffsetMap = Map<string, Map<number, bigint>>;

/** Spark's offset JSON: `{"topic":{"0":23,"1":7}}`, topics and partitions in order, 64-bit numbers exact. */
export function formatOffsetMap(offsets: OffsetMap): string {
  const topics = [...offsets.keys()].sort();
  const parts = topics.map((topic) => {
    const partitions = [...offsets.get(topic)!.entries()].sort((a, b) => a[0] - b[0]);
    return `${JSON.stringify(topic)}:{${partitions.map(([p, o]) => `"${p}":${o}`).join(',')}}`;
  });
  return `{${parts.join(',')}}`;
}

export function getOffset(offsets: OffsetMap, topic: string, partition: number): bigint | undefined {
  return offsets.get(topic)?.get(partition);
}

export function setOffset(offsets: OffsetMap, topic: string, partition: number, offset: bigint): void {
  let partitions = offsets.get(topic);
  if (partitions === undefined) {
    partitions = new Map();
    offsets.set(topic, partitions);
  }
  partitions.set(partition, offset);
}

export function* offsetEntries(offsets: OffsetMap): Generator<TopicPartition & { offset: bigint }> {
  for (const topic of [...offsets.keys()].sort()) {
    for (const [partition, offset] of [...offsets.get(topic)!.entries()].sort((a, b) => a[0] - b[0])) {
      yield { topic, partition, offset };
    }
  }
}

/** Equal as parsed maps, whatever the order of the text they came from. */
export function offsetMapsEqual(a: OffsetMap, b: OffsetMap): boolean {
  return formatOffsetMap(a) === formatOffsetMap(b);
}
