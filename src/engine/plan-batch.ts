import {
  getOffset,
  type OffsetMap,
  type OffsetRange,
  offsetEntries,
  setOffset,
} from '../core/offset-range.ts';
import { limitOffsets } from '../core/rate-limit.ts';
import type { SourceState } from './source-state.ts';

/** The ranges of the next batch, one per assigned partition (empty ones too), in order of topic and partition. */
export interface PlannedRanges {
  ranges: OffsetRange[];
  /** The newest offset of each range's partition. */
  latest: bigint[];
  totalOffsets: bigint;
  /** What could be read without a limit. */
  waitingOffsets: bigint;
}

/** Partitions that the positions do not hold begin at their earliest offset, never at the latest (spec 20, case C14). */
export function addNewPartitions(
  positions: OffsetMap,
  state: SourceState,
): { topic: string; partition: number }[] {
  const added = state.partitions.filter(
    ({ topic, partition }) => getOffset(positions, topic, partition) === undefined,
  );
  for (const { topic, partition } of added)
    setOffset(positions, topic, partition, getOffset(state.earliest, topic, partition)!);
  return added;
}

/**
 * Plans [position, end) for every partition: up to the latest offsets, or to the frozen ends where those are lower
 * (availableNow), and no more than `limit` offsets in all where one is given. Above the last stable offset nothing is
 * planned, which is no loss.
 */
export function planRanges(
  positions: OffsetMap,
  state: SourceState,
  limit: bigint | null,
  frozen: OffsetMap | null,
): PlannedRanges {
  const begin: OffsetMap = new Map();
  const until: OffsetMap = new Map();
  for (const { topic, partition } of state.partitions) {
    const from = getOffset(positions, topic, partition)!;
    const latest = getOffset(state.latest, topic, partition)!;
    const cap = frozen === null ? latest : minimum(latest, getOffset(frozen, topic, partition) ?? from);
    setOffset(begin, topic, partition, from);
    setOffset(until, topic, partition, cap > from ? cap : from);
  }
  let waitingOffsets = 0n;
  for (const { topic, partition, offset } of offsetEntries(until))
    waitingOffsets += offset - getOffset(begin, topic, partition)!;
  const ends = limit === null ? until : limitOffsets(begin, until, limit);
  const ranges = state.partitions.map(({ topic, partition }) => ({
    topic,
    partition,
    from: getOffset(begin, topic, partition)!,
    until: getOffset(ends, topic, partition)!,
  }));
  return {
    ranges,
    latest: state.partitions.map(({ topic, partition }) => getOffset(state.latest, topic, partition)!),
    totalOffsets: ranges.reduce((sum, r) => sum + (r.until - r.from), 0n),
    waitingOffsets,
  };
}

/** The next offsets to read after the ranges; partitions that are not among them keep their positions. */
export function positionsAfter(positions: OffsetMap, ranges: readonly OffsetRange[]): OffsetMap {
  const after: OffsetMap = new Map([...positions].map(([topic, partitions]) => [topic, new Map(partitions)]));
  for (const { topic, partition, until } of ranges) setOffset(after, topic, partition, until);
  return after;
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
