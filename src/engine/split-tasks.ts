import type { OffsetRange } from '../core/offset-range.ts';
import { splitRanges } from '../core/range-split.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';

/** Without `minPartitions`, a partition's range is split among workers only where each part has at least this many offsets. */
const MIN_OFFSETS_PER_PART = 100_000n;

interface Task {
  offsets: bigint;
  ranges: OffsetRange[];
}

/**
 * The ranges of a batch dealt to at most `workers` tasks of about the same number of offsets: the largest first, each
 * to the task that has least. A task reads all its ranges at once, each partition at most once. Empty ranges go to
 * nobody; tasks without a range are left out.
 *
 * `minPartitions` splits ranges as Spark does, up to the number of workers: more parts than that bring nothing here.
 * Without it, large ranges are split where there are fewer of them than workers, so that one partition alone still
 * uses them all.
 */
export function splitTasks(
  ranges: readonly OffsetRange[],
  workers: number,
  minPartitions: number | null,
): OffsetRange[][] {
  const wanted = ranges.filter((r) => r.until > r.from);
  const parts = minPartitions === null ? defaultParts(wanted, workers) : Math.min(minPartitions, workers);
  const pieces = splitRanges(wanted, { minPartitions: Math.max(parts, 1) });
  const tasks: Task[] = Array.from({ length: workers }, () => ({ offsets: 0n, ranges: [] }));
  for (const piece of pieces.sort((a, b) => compareBigInts(b.until - b.from, a.until - a.from))) {
    const task = leastLoaded(tasks, piece);
    task.ranges.push(piece);
    task.offsets += piece.until - piece.from;
  }
  return tasks.filter((t) => t.ranges.length > 0).map((t) => t.ranges);
}

function defaultParts(ranges: readonly OffsetRange[], workers: number): number {
  if (ranges.length === 0 || ranges.length >= workers) return 1;
  const total = ranges.reduce((sum, r) => sum + (r.until - r.from), 0n);
  return total / BigInt(workers) < MIN_OFFSETS_PER_PART ? 1 : workers;
}

/** Of the tasks that do not hold the piece's partition yet; there are no more pieces of one than tasks. */
function leastLoaded(tasks: Task[], piece: OffsetRange): Task {
  const key = topicPartitionKey(piece.topic, piece.partition);
  const free = tasks.filter((t) => t.ranges.every((r) => topicPartitionKey(r.topic, r.partition) !== key));
  return free.reduce((a, b) => (b.offsets < a.offsets ? b : a));
}

function compareBigInts(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
