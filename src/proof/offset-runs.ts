/** Offsets [from, until). */
export interface Interval {
  from: bigint;
  until: bigint;
}

/** Offsets are held as doubles: exact below 2^53, and no broker has reached that. What a damaged table holds beyond is put here. */
const MOST_OFFSET = 2 ** 53 - 2;
const FIRST_CAPACITY = 64;

/**
 * A multiset of offsets, kept as runs: what is added in ascending order takes no room of its own, so that a billion
 * offsets in order are one run. Runs that were added out of order are joined as soon as they fill the room.
 */
export class OffsetRuns {
  private starts = new Float64Array(FIRST_CAPACITY);
  private ends = new Float64Array(FIRST_CAPACITY);
  private runs = 0;
  /** How many offsets were added. */
  count = 0;

  add(offset: number): void {
    const { runs, ends } = this;
    if (runs > 0 && ends[runs - 1] === offset && offset < MOST_OFFSET) {
      ends[runs - 1] = offset + 1;
      this.count++;
      return;
    }
    const at = Math.max(-MOST_OFFSET, Math.min(offset, MOST_OFFSET));
    this.addRun(at, at + 1);
  }

  /** Adds the offsets [from, until); nothing where that is empty. */
  addRun(from: number, until: number): void {
    if (until <= from) return;
    this.count += until - from;
    if (this.runs > 0 && this.ends[this.runs - 1] === from) {
      this.ends[this.runs - 1] = until;
      return;
    }
    if (this.runs === this.starts.length) this.makeRoom();
    this.starts[this.runs] = from;
    this.ends[this.runs++] = until;
  }

  addIntervals(intervals: readonly Interval[]): void {
    for (const { from, until } of intervals) this.addRun(Number(from), Number(until));
  }

  /** Adds what another one holds, each offset as often as it is there. */
  addAll(other: OffsetRuns): void {
    for (let i = 0; i < other.runs; i++) this.addRun(other.starts[i], other.ends[i]);
  }

  /**
   * Where the number of times changes: +1 at each start, -1 at each end, both ascending and as many; a place where one
   * run ends and another begins is in neither.
   */
  edges(): { starts: Float64Array; ends: Float64Array } {
    this.join();
    return { starts: this.starts.subarray(0, this.runs), ends: this.ends.subarray(0, this.runs) };
  }

  /** The offsets that are there at all, once each. */
  distinct(): OffsetRuns {
    const once = new OffsetRuns();
    forEachStretch([this], (from, until) => once.addRun(from, until));
    return once;
  }

  private makeRoom(): void {
    this.join();
    if (this.runs * 2 <= this.starts.length) return;
    const starts = new Float64Array(this.starts.length * 2);
    const ends = new Float64Array(this.ends.length * 2);
    starts.set(this.starts);
    ends.set(this.ends);
    this.starts = starts;
    this.ends = ends;
  }

  /** Sorts the starts and the ends, each by itself, and takes out what is both: how often an offset is there stays the same. */
  private join(): void {
    const { starts, ends, runs } = this;
    starts.subarray(0, runs).sort();
    ends.subarray(0, runs).sort();
    let keptStarts = 0;
    let keptEnds = 0;
    for (let s = 0, e = 0; s < runs || e < runs; ) {
      if (s < runs && starts[s] === ends[e]) {
        s++;
        e++;
      } else if (s < runs && starts[s] < ends[e]) starts[keptStarts++] = starts[s++];
      else ends[keptEnds++] = ends[e++];
    }
    this.runs = keptStarts;
  }
}

/**
 * Goes over the offsets of several multisets at once: calls back with disjoint ascending stretches and how many times
 * each multiset has their offsets. Stretches that none of them has are left out. `times` is reused.
 */
export function forEachStretch(
  layers: readonly OffsetRuns[],
  visit: (from: number, until: number, times: Int32Array) => void,
): void {
  const edges = layers.map((layer) => layer.edges());
  const times = new Int32Array(layers.length);
  const nextStart = new Int32Array(layers.length);
  const nextEnd = new Int32Array(layers.length);
  let position = Number.NEGATIVE_INFINITY;
  for (;;) {
    let next = Number.POSITIVE_INFINITY;
    let depth = 0;
    for (let i = 0; i < edges.length; i++) {
      const { starts, ends } = edges[i];
      if (nextStart[i] < starts.length && starts[nextStart[i]] < next) next = starts[nextStart[i]];
      if (nextEnd[i] < ends.length && ends[nextEnd[i]] < next) next = ends[nextEnd[i]];
      depth += times[i];
    }
    if (next === Number.POSITIVE_INFINITY) return;
    if (depth > 0) visit(position, next, times);
    for (let i = 0; i < edges.length; i++) {
      const { starts, ends } = edges[i];
      while (nextStart[i] < starts.length && starts[nextStart[i]] === next) {
        times[i]++;
        nextStart[i]++;
      }
      while (nextEnd[i] < ends.length && ends[nextEnd[i]] === next) {
        times[i]--;
        nextEnd[i]++;
      }
    }
    position = next;
  }
}

/** Appends [from, until) to an ascending list, or grows its last interval where they touch. */
export function appendInterval(list: Interval[], from: number, until: number): void {
  const last = list[list.length - 1];
  if (last !== undefined && last.until === BigInt(from)) last.until = BigInt(until);
  else list.push({ from: BigInt(from), until: BigInt(until) });
}
