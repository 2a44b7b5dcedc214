import { addSums, stretchSum } from '../core/gap-sum.ts';
import type { ExpectedOffsets } from './expected-offsets.ts';
import { appendInterval, forEachStretch, type Interval, OffsetRuns } from './offset-runs.ts';

/** How the rows that are there differ from those that should be. */
export interface OffsetDifference {
  /** Records that should be there and are not. */
  lost: bigint;
  /** Rows too many of offsets that should be there. */
  duplicated: bigint;
  /** Rows of offsets that should not be there at all. */
  unexpected: bigint;
  /** Where they are, ascending: each offset once, however many of its rows are missing or too many. */
  missing: Interval[];
  doubled: Interval[];
  unknown: Interval[];
  /**
   * Where not all offsets without a row are listed and those that were found do not fit in number or checksum: all that were
   * found. The lost ones are among them; rows that should not be there are then counted in `unexpected` without a place.
   */
  candidates: Interval[];
}

/** One incarnation: what is expected of it, and the rows that say that they are of it. */
export interface Side {
  expected: ExpectedOffsets;
  found: OffsetRuns;
}

/** The layers of one incarnation. */
const ROWS = 0;
const HOLES = 1;
const IN_FLIGHT = 2;
const FOUND = 3;
const LAYERS = 4;

export interface Comparison {
  difference: OffsetDifference;
  /** Rows of a batch in flight, which are no difference. */
  early: number;
  /**
   * The gaps that are not listed do not fit, and it may be that only rows of a batch in flight stand in them, of another
   * incarnation at the same offsets: nobody can tell before the batch is finished.
   */
  undecided: boolean;
}

/**
 * Compares what should be there with what is, offset by offset. Rows that do not tell their incarnation (`unnamed`) fill
 * what is missing in any.
 */
export function compareOffsets(sides: readonly Side[], unnamed: OffsetRuns): Comparison {
  const tally = new Tally();
  const cut = new OffsetRuns();
  for (const { expected } of sides) cut.addAll(expected.cut);
  const layers = [
    ...sides.flatMap(({ expected, found }) => [expected.rows, expected.holes, expected.inFlight, found]),
    unnamed,
    cut,
  ];
  forEachStretch(layers, (from, until, times) => tally.add(from, until, times, sides.length));
  const provable = !sides.some(({ expected }) => expected.overlaps && expected.cut.count > 0);
  if (provable) {
    const unlisted = sides.reduce((n, { expected }) => n + expected.unlisted, 0);
    const sum = sides.reduce((s, { expected }) => addSums(s, expected.unlistedSum), 0);
    tally.settleUnlisted(unlisted, sum);
  } else tally.settleUnlisted(0, 0);
  return tally.comparison();
}

class Tally {
  private lost = 0;
  private duplicated = 0;
  private unexpected = 0;
  private early = 0;
  private readonly missing: Interval[] = [];
  private readonly doubled: Interval[] = [];
  private readonly unknown: Interval[] = [];
  private candidates: Interval[] = [];
  /** Missing offsets of entries that do not list all their gaps. */
  private absent = 0;
  private absentSum = 0;
  /** Offsets of such entries whose row may be one of a batch in flight. */
  private ambiguous = 0;
  private undecided = false;

  add(from: number, until: number, times: Int32Array, sides: number): void {
    const size = until - from;
    const inCut = times[sides * LAYERS + 1] > 0;
    let missing = 0;
    let doubled = 0;
    let unknown = 0;
    let bareHoles = 0;
    // Of batches in flight, one row more may be there.
    let allowance = 0;
    let early = 0;
    let isKnown = false;
    for (let at = 0; at < sides * LAYERS; at += LAYERS) {
      const want = times[at + ROWS];
      const have = times[at + FOUND];
      const allowed = want === 0 && times[at + IN_FLIGHT] > 0 ? 1 : 0;
      if (want + allowed > 0) isKnown = true;
      if (times[at + HOLES] > 0 && have === 0) bareHoles++;
      if (have < want) missing += want - have;
      const spare = Math.max(0, have - want);
      const taken = Math.min(spare, allowed);
      early += taken;
      allowance += allowed - taken;
      if (want + allowed > 0) doubled += spare - taken;
      else unknown += spare - taken;
    }
    let unnamed = times[sides * LAYERS];
    const filled = Math.min(unnamed, missing);
    if (inCut && filled > 0 && allowance > 0) this.ambiguous += size;
    missing -= filled;
    unnamed -= filled;
    const taken = Math.min(unnamed, allowance);
    early += taken;
    unnamed -= taken;
    if (isKnown) doubled += unnamed;
    else unknown += unnamed;
    bareHoles = Math.max(0, bareHoles - (isKnown ? 0 : unnamed));
    this.early += early * size;
    this.count(from, until, { missing, doubled, unknown, bareHoles, inCut });
  }

  private count(
    from: number,
    until: number,
    stretch: { missing: number; doubled: number; unknown: number; bareHoles: number; inCut: boolean },
  ): void {
    const size = until - from;
    const { missing, doubled, unknown, bareHoles, inCut } = stretch;
    const certain = bareHoles + (inCut ? 0 : missing);
    this.lost += certain * size;
    if (certain > 0) appendInterval(this.missing, from, until);
    if (inCut && missing > 0) {
      this.absent += missing * size;
      this.absentSum = addSums(this.absentSum, stretchSum(from, until, missing));
      appendInterval(this.candidates, from, until);
    }
    this.duplicated += doubled * size;
    if (doubled > 0) appendInterval(this.doubled, from, until);
    this.unexpected += unknown * size;
    if (unknown > 0) appendInterval(this.unknown, from, until);
  }

  /** The offsets that are absent must be those that the ledger knows by number and checksum. */
  settleUnlisted(unlisted: number, sum: number): void {
    if (this.absent === unlisted && this.absentSum === sum) {
      this.candidates = [];
      return;
    }
    this.undecided = this.ambiguous > 0;
    // As many, but others: at least one record is lost, and a row is there that should not be.
    const others = this.absent === unlisted ? 1 : 0;
    this.lost += Math.max(this.absent - unlisted, others);
    this.unexpected += Math.max(unlisted - this.absent, others);
  }

  comparison(): Comparison {
    const difference = {
      lost: BigInt(this.lost),
      duplicated: BigInt(this.duplicated),
      unexpected: BigInt(this.unexpected),
      missing: this.missing,
      doubled: this.doubled,
      unknown: this.unknown,
      candidates: this.candidates,
    };
    return { difference, early: this.early, undecided: this.undecided };
  }
}
