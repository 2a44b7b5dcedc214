import { SluiceError } from '../errors.ts';
import { getOffset, type OffsetMap, offsetEntries, setOffset } from './offset-range.ts';

const MAX_LONG = 2n ** 63n - 1n;

/**
 * The end offsets of a batch of about `limit` offsets in all, shared out in proportion to what each partition has left
 * in [begin, until): Spark's KafkaMicroBatchStream.rateLimit, with its very doubles, so that both plan the same ranges.
 * share = limit * (size / total); rounded up below 1 (small partitions are not starved), down otherwise; never past
 * `until`. What rounding leaves over is not dealt out again, so that the sum may be under the limit, and over it by at
 * most one per partition whose share is below 1.
 *
 * Two differences from Spark, neither within reach of a real log: the total is exact where Spark's Long sum would
 * overflow, and a partition of `until` without a beginning is an error (Spark would read it without a limit). A partition
 * with nothing left, or whose `until` lies before its beginning, keeps its `until`.
 *
 * Throws INTERNAL for a limit below 1 or a partition without a beginning.
 */
export function limitOffsets(begin: OffsetMap, until: OffsetMap, limit: bigint): OffsetMap {
  if (limit < 1n)
    throw new SluiceError('INTERNAL', `the limit of offsets per trigger is ${limit}, expected 1 or more`);
  let total = 0n;
  for (const { topic, partition, offset } of offsetEntries(until)) {
    const size = offset - beginOf(begin, topic, partition);
    if (size > 0n) total += size;
  }
  const ends: OffsetMap = new Map();
  for (const { topic, partition, offset } of offsetEntries(until)) {
    const from = beginOf(begin, topic, partition);
    const size = offset - from;
    const end = size <= 0n ? offset : endOf(from, offset, shareOf(limit, size, total));
    setOffset(ends, topic, partition, end);
  }
  return ends;
}

function beginOf(begin: OffsetMap, topic: string, partition: number): bigint {
  const from = getOffset(begin, topic, partition);
  if (from === undefined)
    throw new SluiceError('INTERNAL', `${topic}-${partition} has no offset to begin at`, {
      context: { topic, partition },
    });
  return from;
}

/** Doubles on purpose: size, total and limit are rounded to double one by one, as the JVM does. */
function shareOf(limit: bigint, size: bigint, total: bigint): bigint {
  const prorate = Number(limit) * (Number(size) / Number(total));
  const rounded = prorate < 1 ? Math.ceil(prorate) : Math.floor(prorate);
  // A double to a Long: too large becomes the largest.
  return rounded >= 2 ** 63 ? MAX_LONG : BigInt(rounded);
}

function endOf(from: bigint, until: bigint, share: bigint): bigint {
  const end = from + share;
  return end < until ? end : until;
}
