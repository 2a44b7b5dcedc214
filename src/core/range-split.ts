import { SluiceError } from '../errors.ts';
import type { OffsetRange } from './offset-range.ts';

export interface RangeSplitOptions {
  /** At least about this many ranges, where the partitions are fewer. */
  minPartitions?: number | null;
  /** No range longer than this many offsets. */
  maxRecordsPerPartition?: bigint | null;
}

/**
 * Splits ranges for parallel reading as Spark's KafkaOffsetRangeCalculator does. Ranges above `maxRecordsPerPartition`
 * are cut into equal parts under it; when there are still fewer than `minPartitions`, the larger ones are cut in
 * proportion: parts = max(round(size / total * minPartitions), 1), where ranges that stay whole are taken out of both
 * numbers first. The number of parts is about `minPartitions`, not exactly. Empty ranges are dropped; the order of the
 * ranges stays, and the parts of a range follow each other without a gap.
 */
export function splitRanges(ranges: readonly OffsetRange[], options: RangeSplitOptions): OffsetRange[] {
  const { minPartitions, maxRecordsPerPartition } = options;
  assertPositive('minPartitions', minPartitions);
  assertPositive('maxRecordsPerPartition', maxRecordsPerPartition);
  let parts = ranges.filter((r) => r.until > r.from);
  if (maxRecordsPerPartition != null) {
    parts = parts.flatMap((r) =>
      divide(r, (sizeOf(r) + maxRecordsPerPartition - 1n) / maxRecordsPerPartition),
    );
  }
  return minPartitions != null && minPartitions > parts.length ? splitByShare(parts, minPartitions) : parts;
}

function splitByShare(ranges: readonly OffsetRange[], minPartitions: number): OffsetRange[] {
  const total = sumOf(ranges);
  const whole = new Set(ranges.filter((r) => partCount(sizeOf(r), total, minPartitions) === 1));
  const splitTotal = total - sumOf([...whole]);
  const splitParts = Math.max(minPartitions - whole.size, 1);
  return ranges.flatMap((r) =>
    whole.has(r) ? [r] : divide(r, BigInt(partCount(sizeOf(r), splitTotal, splitParts))),
  );
}

/** Doubles on purpose, and halves up: the JVM's Math.round. */
function partCount(size: bigint, total: bigint, minParts: number): number {
  return Math.max(Math.round((Number(size) / Number(total)) * minParts), 1);
}

/** `count` parts that differ by one offset at most, the longer ones last; never an empty part. */
function divide(range: OffsetRange, count: bigint): OffsetRange[] {
  const parts: OffsetRange[] = [];
  let remaining = sizeOf(range);
  let from = range.from;
  for (let left = count < remaining ? count : remaining; left > 0n; left--) {
    const size = remaining / left;
    parts.push({ ...range, from, until: from + size });
    from += size;
    remaining -= size;
  }
  return parts;
}

function sizeOf(range: OffsetRange): bigint {
  return range.until - range.from;
}

function sumOf(ranges: readonly OffsetRange[]): bigint {
  return ranges.reduce((sum, r) => sum + sizeOf(r), 0n);
}

function assertPositive(name: string, value: number | bigint | null | undefined): void {
  if (value != null && value < 1)
    throw new SluiceError('INTERNAL', `${name} is ${value}, expected 1 or more`);
}
