import type { OffsetRange } from '../core/offset-range.ts';

/** A further task is worth its files only from this many offsets on. */
const MIN_OFFSETS_PER_TASK = 50_000n;
/** A range is cut between two tasks only where that evens them out by more than this part of a task: 1/20. */
const SLACK_DIVISOR = 20n;

/**
 * The ranges of a batch dealt to at most `workers` tasks of about the same number of offsets. A task reads all its
 * ranges at once, each partition at most once. The ranges are dealt in their order (by topic), so that a table is
 * written by few tasks and gets few files, and are cut at an offset where a task is full: one partition alone still
 * uses all workers. Small batches get fewer tasks, `minPartitions` more (up to the number of workers: beyond it, more
 * parts bring nothing here). Empty ranges go to nobody; tasks without a range are left out.
 */
export function splitTasks(
  ranges: readonly OffsetRange[],
  workers: number,
  minPartitions: number | null,
): OffsetRange[][] {
  const wanted = ranges.filter((r) => r.until > r.from);
  const total = wanted.reduce((sum, r) => sum + (r.until - r.from), 0n);
  if (total === 0n) return [];
  const count = taskCount(total, BigInt(workers), BigInt(minPartitions ?? 1));
  const slack = total / count / SLACK_DIVISOR;
  const tasks: OffsetRange[][] = [[]];
  let dealt = 0n;
  for (const range of wanted) {
    let { from } = range;
    while (from < range.until) {
      const task = tasks[tasks.length - 1];
      const left = range.until - from;
      const room = (total * BigInt(tasks.length)) / count - dealt;
      const isLast = BigInt(tasks.length) === count;
      if (!isLast && room <= slack && task.length > 0) {
        tasks.push([]);
        continue;
      }
      const size = isLast || left <= room + slack ? left : room;
      task.push({ ...range, from, until: from + size });
      from += size;
      dealt += size;
    }
  }
  return tasks.filter((task) => task.length > 0);
}

function taskCount(total: bigint, workers: bigint, asked: bigint): bigint {
  const byVolume = total / MIN_OFFSETS_PER_TASK;
  const count = byVolume > asked ? byVolume : asked;
  if (count < 1n) return 1n;
  return count < workers ? count : workers;
}
