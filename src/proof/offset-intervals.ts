/** Offsets [from, until). */
export interface Interval {
  from: bigint;
  until: bigint;
}

/**
 * A multiset of offsets, kept as runs: what is added in ascending order takes no room of its own, so that a billion
 * offsets in order are one run. Offsets are held as doubles: exact below 2^53, and no broker has reached that.
 */
export class OffsetRuns {
  private starts = new Float64Array(64);
  private ends = new Float64Array(64);
  private runs = 0;
  /** How many offsets were added. */
  count = 0;

  add(offset: number): void {
    this.addRun(offset, offset + 1);
  }

  /** Adds the offsets [from, until). */
  addRun(from: number, until: number): void {
    this.count += until - from;
    if (this.runs > 0 && this.ends[this.runs - 1] === from) {
      this.ends[this.runs - 1] = until;
      return;
    }
    if (this.runs === this.starts.length) this.grow();
    this.starts[this.runs] = from;
    this.ends[this.runs++] = until;
  }

  /** The offsets of both, each as often as in both together. */
  static union(a: OffsetRuns | undefined, b: OffsetRuns | undefined): OffsetRuns {
    const all = new OffsetRuns();
    for (const part of [a, b]) {
      if (part === undefined) continue;
      for (let i = 0; i < part.runs; i++) all.addRun(part.starts[i], part.ends[i]);
    }
    return all;
  }

  /** Calls back with disjoint ascending stretches and how many times each of their offsets was added (1 or more). */
  forEachStretch(visit: (from: number, until: number, times: number) => void): void {
    // +1 at each start, -1 at each end, in order of position.
    const starts = this.starts.slice(0, this.runs).sort();
    const ends = this.ends.slice(0, this.runs).sort();
    let depth = 0;
    let position = 0;
    let s = 0;
    let e = 0;
    while (e < ends.length) {
      const next = s < starts.length && starts[s] <= ends[e] ? starts[s] : ends[e];
      if (depth > 0 && next > position) visit(position, next, depth);
      position = next;
      while (e < ends.length && ends[e] === next) {
        depth--;
        e++;
      }
      while (s < starts.length && starts[s] === next) {
        depth++;
        s++;
      }
    }
  }

  private grow(): void {
    const starts = new Float64Array(this.starts.length * 2);
    const ends = new Float64Array(this.ends.length * 2);
    starts.set(this.starts);
    ends.set(this.ends);
    this.starts = starts;
    this.ends = ends;
  }
}

/** How the offsets that are there differ from those that should be. All lists ascending, neighbours merged. */
export interface OffsetDifference {
  /** Expected and not there. */
  missing: Interval[];
  /** There more often than expected. */
  duplicated: Interval[];
  /** There and not expected at all. */
  unexpected: Interval[];
}

/**
 * Compares what should be there once per expected interval (overlapping intervals, of two incarnations of a topic, add
 * up) with what was found.
 */
export function compareOffsets(expected: readonly Interval[], found: OffsetRuns): OffsetDifference {
  const difference: OffsetDifference = { missing: [], duplicated: [], unexpected: [] };
  const events = new Map<number, { expected: number; found: number }>();
  const at = (position: number): { expected: number; found: number } => {
    let event = events.get(position);
    if (event === undefined) {
      event = { expected: 0, found: 0 };
      events.set(position, event);
    }
    return event;
  };
  for (const { from, until } of expected) {
    if (until <= from) continue;
    at(Number(from)).expected++;
    at(Number(until)).expected--;
  }
  found.forEachStretch((from, until, times) => {
    at(from).found += times;
    at(until).found -= times;
  });
  let want = 0;
  let have = 0;
  let position = 0;
  for (const next of [...events.keys()].sort((a, b) => a - b)) {
    if (next > position && want !== have) {
      const list =
        have < want ? difference.missing : want === 0 ? difference.unexpected : difference.duplicated;
      extend(list, BigInt(position), BigInt(next));
    }
    const event = events.get(next)!;
    want += event.expected;
    have += event.found;
    position = next;
  }
  return difference;
}

/** The intervals less the gaps; gaps may lie anywhere and overlap. */
export function subtractIntervals(intervals: readonly Interval[], gaps: readonly Interval[]): Interval[] {
  const sorted = [...gaps].filter((g) => g.until > g.from).sort((a, b) => (a.from < b.from ? -1 : 1));
  return intervals.flatMap((interval) => {
    const rest: Interval[] = [];
    let from = interval.from;
    for (const gap of sorted) {
      if (gap.until <= from) continue;
      if (gap.from >= interval.until) break;
      if (gap.from > from) rest.push({ from, until: gap.from });
      from = gap.until;
    }
    if (from < interval.until) rest.push({ from, until: interval.until });
    return rest;
  });
}

export function countOf(intervals: readonly Interval[]): bigint {
  return intervals.reduce((sum, i) => sum + (i.until - i.from), 0n);
}

function extend(list: Interval[], from: bigint, until: bigint): void {
  const last = list[list.length - 1];
  if (last !== undefined && last.until === from) last.until = until;
  else list.push({ from, until });
}
