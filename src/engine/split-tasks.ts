import type { OffsetRange } from '../core/offset-range.ts';
import { splitRanges } from '../core/range-split.ts';

/** A partition's range is split among workers only where each part has at least this many offsets. */
const MIN_OFFSETS_PER_PART = 100_000n;

/**
 * The ranges of a batch dealt to `workers` tasks of about the same number of offsets: the largest first, each to the
 * task that has least. Empty ranges go to nobody. `minPartitions` splits as Spark does; without it, large ranges are
 * split where there are fewer partitions with records than workers, so that one partition alone still uses them all.
 * Tasks without a range are left out.
 */
export function splitTasks(
  ranges: readonly OffsetRange[],
  workers: number,
  minPartitions: number | null,
): OffsetRange[][] {
  const wanted = ranges.filter((r) => r.until > r.from);
  const pieces =
    minPartitions !== null ? splitRanges(wanted, { minPartitions }) : splitForWorkers(wanted, workers);
  const tasks = Array.from({ length: workers }, () => ({ offsets: 0n, ranges: [] as OffsetRange[] }));
  const bySize = [...pieces].sort((a, b) => Number(b.until - b.from - (a.until - a.from)));
  for (const range of bySize) {
    const least = tasks.reduce((a, b) => (b.offsets < a.offsets ? b : a));
    least.ranges.push(range);
    least.offsets += range.until - range.from;
  }
  return tasks.filter((t) => t.ranges.length > 0).map((t) => t.ranges);
}

function splitForWorkers(ranges: OffsetRange[], workers: number): OffsetRange[] {
  if (ranges.length === 0 || ranges.length >= workers) return ranges;
  const total = ranges.reduce((sum, r) => sum + (r.until - r.from), 0n);
  const share = total / BigInt(workers);
  if (share < MIN_OFFSETS_PER_PART) return ranges;
  return splitRanges(ranges, { minPartitions: workers });
}
