import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Of a task's memory: buffers that may have been given up and not collected yet. */
const GARBAGE_SHARE = 0.15;
const MIN_GARBAGE_BYTES = 4 * 1024 * 1024;

type Collect = (options?: { type: 'minor' | 'major' }) => void;

/**
 * V8 collects by what its own heap holds; buffers outside of it that nobody uses any more stay for tens of megabytes a
 * thread, which `memory` has no room for where it is small. This asks it to collect in time.
 */
export class Garbage {
  private readonly maxBytes: number;
  private readonly collect: Collect;
  private readonly heldBytes: () => number;
  /** The least that was held since the last collection: the rest may be garbage. */
  private floor = Number.POSITIVE_INFINITY;

  /** `budgetBytes`: the memory of the task. */
  constructor(
    budgetBytes: number,
    collect: Collect = exposedCollect(),
    heldBytes: () => number = () => getHeapStatistics().external_memory,
  ) {
    this.maxBytes = Math.max(MIN_GARBAGE_BYTES, budgetBytes * GARBAGE_SHARE);
    this.collect = collect;
    this.heldBytes = heldBytes;
  }

  /** To be called often: cheap where little has come since. */
  check(): void {
    if (!this.isDue()) return;
    // Buffers that did not live for long go with the young objects, which takes a millisecond.
    this.collect({ type: 'minor' });
    if (!this.isDue()) return;
    this.collect();
    this.floor = this.heldBytes();
  }

  private isDue(): boolean {
    const held = this.heldBytes();
    if (held < this.floor) this.floor = held;
    return held - this.floor > this.maxBytes;
  }
}

/** Of a thread that is through with its work: less is not worth the while. */
const IDLE_BYTES = 16 * 1024 * 1024;

/** To be called when a task has ended, for one: what it read and wrote with is not needed while the coordinator commits. */
export function collectIdle(): void {
  if (getHeapStatistics().external_memory > IDLE_BYTES) exposedCollect()();
}

let exposed: Collect | undefined;

/** The function that `--expose-gc` gives; does nothing where V8 has none. */
function exposedCollect(): Collect {
  if (exposed === undefined) {
    setFlagsFromString('--expose-gc');
    const found: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
    exposed = typeof found === 'function' ? (found as Collect) : () => undefined;
  }
  return exposed;
}
