import type { OffsetRange } from '../core/offset-range.ts';

/** A further task is worth its files only from this many offsets on. */
const MIN_OFFSETS_PER_TASK = 50_000n;
/** A range is cut between two tasks only where that evens them out by more than this part of a task: 1/20. */
const SLACK_DIVISOR = 20n;
/** A batch has no more tasks than this, whatever `maxOffsets` says: each writes files of its own. */
const MOST_TASKS = 10_000n;

/**
 * The ranges of a batch dealt to at most `workers` tasks of about the same number of offsets. A task reads all its
 * ranges at once, each partition at most once. The ranges are dealt in their order (by topic), so that a table is
 * written by few tasks and gets few files, and are cut at an offset where a task is full: one partition alone still
 * uses all workers. Small batches get fewer tasks, `minPartitions` more (up to the number of workers: beyond it, more
 * parts bring nothing here). With `maxOffsets` no task reads more than that, and there are as many tasks as it takes.
 * Empty ranges go to nobody; tasks without a range are left out.
 */
export function splitTasks(
  ranges: readonly OffsetRange[],
  workers: number,
  minPartitions: number | null,
  maxOffsets: bigint | null = null,
): OffsetRange[][] {
  const wanted = ranges.filter((r) => r.until > r.from);
  const total = wanted.reduce((sum, r) => sum + (r.until - r.from), 0n);
  if (total === 0n) return [];
  const most = maxOffsets === null ? total : greater(maxOffsets, ceilDiv(total, MOST_TASKS));
  const byVolume = taskCount(total, BigInt(workers), BigInt(minPartitions ?? 1));
  const count = smaller(greater(ceilDiv(total, most), byVolume), total);
  const slack = total / count / SLACK_DIVISOR;
  const tasks: OffsetRange[][] = [[]];
  let dealt = 0n;
  let inTask = 0n;
  for (const range of wanted) {
    let { from } = range;
    while (from < range.until) {
      const task = tasks[tasks.length - 1];
      const left = range.until - from;
      const room = (total * BigInt(tasks.length)) / count - dealt;
      const isLast = BigInt(tasks.length) >= count;
      if (inTask === most || (!isLast && room <= slack && task.length > 0)) {
        tasks.push([]);
        inTask = 0n;
        continue;
      }
      const fair = isLast || left <= room + slack ? left : room;
      const size = smaller(fair, most - inTask);
      task.push({ ...range, from, until: from + size });
      from += size;
      dealt += size;
      inTask += size;
    }
  }
  return tasks.filter((task) => task.length > 0);
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function taskCount(total: bigint, workers: bigint, asked: bigint): bigint {
  const byVolume = total / MIN_OFFSETS_PER_TASK;
  const count = byVolume > asked ? byVolume : asked;
  if (count < 1n) return 1n;
  return count < workers ? count : workers;
}
