import { forEachGap } from '../checkpoint/gap-text.ts';
import type { LedgerEntry } from '../checkpoint/records.ts';
import { addSums, stretchSum, subtractSums } from '../core/gap-sum.ts';
import { appendInterval, forEachStretch, type Interval, OffsetRuns } from './offset-runs.ts';
import type { Incarnation } from './read-history.ts';

/** What one incarnation of a partition should have in one table and its quarantine, by the ledger. */
export class ExpectedOffsets {
  readonly topicIds: ReadonlySet<string>;
  /** The ledger's entries of the table. */
  readonly entries: readonly LedgerEntry[];
  /** Offsets that should be there once: what was read or given up, less the gaps that are listed. */
  readonly rows = new OffsetRuns();
  /** What no record covers, though what lies around it was read. */
  readonly holes = new OffsetRuns();
  /** May be there already, once. */
  readonly inFlight = new OffsetRuns();
  /** The entries that do not list all their gaps; how many offsets they do not list, and their checksum. */
  readonly cut = new OffsetRuns();
  readonly unlisted: number;
  readonly unlistedSum: number;
  /** Offsets that were given up and not read later. */
  readonly acceptedLoss: bigint;
  /** Something was read twice: counts of the entries do not add up to what should be there. */
  readonly overlaps: boolean;

  constructor(incarnation: Incarnation, table: string) {
    this.topicIds = incarnation.topicIds;
    this.entries = incarnation.entries.filter((e) => e.table === table);
    const rows = new OffsetRuns();
    const read = new OffsetRuns();
    let unlisted = 0;
    let unlistedSum = 0;
    const lost = new OffsetRuns();
    let unlistedLoss = 0n;
    for (const entry of this.entries) {
      read.addRun(Number(entry.from), Number(entry.until));
      const listed = addRowsOf(entry, rows);
      lost.addIntervals(entry.lost);
      unlistedLoss += entry.lost.reduce((rest, l) => rest - (l.until - l.from), entry.lostOffsets);
      if (!entry.gapsCut && !entry.lostCut) continue;
      this.cut.addRun(Number(entry.from), Number(entry.until));
      unlisted += entry.dropped + entry.control + entry.aborted + entry.holes + Number(entry.lostOffsets);
      unlisted -= listed.count;
      unlistedSum = addSums(unlistedSum, subtractSums(entry.gapSum, listed.sum));
    }
    // Where a range was read twice, an offset that has a row by either reading should be there, once.
    this.rows = rows.distinct();
    this.acceptedLoss = unlistedLoss + BigInt(countWithout(lost, this.rows));
    this.overlaps = read.distinct().count !== read.count;
    this.unlisted = unlisted;
    this.unlistedSum = unlistedSum;
    this.holes.addIntervals(
      incarnation.holes.filter((hole) => hole.tables.length === 0 || hole.tables.includes(table)),
    );
    const inFlight = new OffsetRuns();
    inFlight.addIntervals(incarnation.inFlight);
    this.inFlight = inFlight.distinct();
  }

  /** Is there anything to say of this table? */
  get concerned(): boolean {
    return this.entries.length + this.holes.count + this.inFlight.count > 0;
  }

  /** What was read, neighbours joined. */
  ranges(): Interval[] {
    const read = new OffsetRuns();
    read.addIntervals(this.entries);
    const ranges: Interval[] = [];
    forEachStretch([read], (from, until) => appendInterval(ranges, from, until));
    return ranges;
  }
}

/** How many distinct offsets of `runs` are not in `others`. */
function countWithout(runs: OffsetRuns, others: OffsetRuns): number {
  let count = 0;
  forEachStretch([runs, others], (from, until, [mine, theirs]) => {
    if (mine > 0 && theirs === 0) count += until - from;
  });
  return count;
}

/** Adds an entry's range less its listed gaps and lost ranges, and returns how many offsets those are, with their checksum. */
function addRowsOf(entry: LedgerEntry, rows: OffsetRuns): { count: number; sum: number } {
  const absent = new OffsetRuns();
  let sum = 0;
  const add = (from: bigint, until: bigint): void => {
    absent.addRun(Number(from), Number(until));
    sum = addSums(sum, stretchSum(Number(from), Number(until)));
  };
  forEachGap(entry.gaps, add);
  for (const { from, until } of entry.lost) add(from, until);
  const whole = new OffsetRuns();
  whole.addRun(Number(entry.from), Number(entry.until));
  forEachStretch([whole, absent], (from, until, [, gone]) => {
    if (gone === 0) rows.addRun(from, until);
  });
  return { count: absent.count, sum };
}
