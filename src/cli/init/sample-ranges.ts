/** A partition as it is: records may lie in [earliest, latest). */
export interface PartitionExtent {
  topic: string;
  partition: number;
  earliest: bigint;
  latest: bigint;
}

export interface SampleRange {
  topic: string;
  partition: number;
  from: bigint;
  until: bigint;
}

/**
 * The last offsets of each partition, `wanted` in all where there are as many: evenly, and what short partitions cannot
 * give comes from the longer ones. Empty partitions have no range.
 */
export function sampleRanges(partitions: readonly PartitionExtent[], wanted: number): SampleRange[] {
  const byLength = partitions
    .filter((p) => p.latest > p.earliest)
    .sort((a, b) => Number(a.latest - a.earliest - (b.latest - b.earliest)));
  const taken = new Map<PartitionExtent, bigint>();
  let left = BigInt(wanted);
  for (const [i, extent] of byLength.entries()) {
    const rest = BigInt(byLength.length - i);
    const share = (left + rest - 1n) / rest;
    const length = extent.latest - extent.earliest;
    const take = length < share ? length : share;
    taken.set(extent, take);
    left -= take;
  }
  return partitions.flatMap((extent) => {
    const take = taken.get(extent) ?? 0n;
    const { topic, partition, latest } = extent;
    return take === 0n ? [] : [{ topic, partition, from: latest - take, until: latest }];
  });
}
