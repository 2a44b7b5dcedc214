import { addSums, stretchSum } from '../core/gap-sum.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import { AbortedTransactions } from './aborted-transactions.ts';

/** At most this many stretches without rows are kept per cursor. */
const MAX_GAPS = 10_000;

/**
 * How far the reading of one offset range has come. `RecordSetDecoder` advances it; `openCursor` makes it.
 * Over the offsets passed: `position - from = rows + control + aborted + holes`.
 */
export interface PartitionCursor {
  readonly topic: string;
  readonly partition: number;
  /** The next offset wanted: rows are delivered for offsets in [position, until). */
  position: bigint;
  readonly until: bigint;
  /** Rows delivered. */
  rows: number;
  /** Control records (transaction markers) passed. */
  control: number;
  /** Records of aborted transactions passed. */
  aborted: number;
  /** Offsets passed that no record has: compaction. */
  holes: number;
  /** Bytes on the wire of the record batches passed; a batch that reaches past `until` counts whole. */
  bytes: number;
  /** Leader epoch of the last record batch of magic 2 passed, -1 before. */
  leaderEpoch: number;
  /** The offset after that batch: the log has held the epoch up to here, so that an end of it below is a truncation. */
  leaderEpochEnd: bigint;
  /** Offsets passed that delivered no row (control, aborted, holes), as merged stretches [from, until), ascending; the first 10,000. */
  gaps: { from: bigint; until: bigint }[];
  /** There were more than 10,000 stretches; `gaps` holds the first. */
  gapsCut: boolean;
  /** The checksum (core/gap-sum.ts) of all offsets passed that delivered no row, listed or not. */
  gapSum: number;
  /** State of read_committed filtering. */
  readonly abortedTransactions: AbortedTransactions;
}

/** A cursor at the beginning of `range`. */
export function openCursor(range: OffsetRange): PartitionCursor {
  return {
    topic: range.topic,
    partition: range.partition,
    position: range.from,
    until: range.until,
    rows: 0,
    control: 0,
    aborted: 0,
    holes: 0,
    bytes: 0,
    leaderEpoch: -1,
    leaderEpochEnd: 0n,
    gaps: [],
    gapsCut: false,
    gapSum: 0,
    abortedTransactions: new AbortedTransactions(),
  };
}

/** Notes that the offsets [from, until) delivered no row; merged with the stretch before where they touch. */
export function addGap(cursor: PartitionCursor, from: bigint, until: bigint): void {
  if (from >= until) return;
  cursor.gapSum = addSums(cursor.gapSum, stretchSum(Number(from), Number(until)));
  if (cursor.gapsCut) return;
  const last = cursor.gaps.at(-1);
  if (last !== undefined && last.until === from) {
    last.until = until;
  } else if (cursor.gaps.length < MAX_GAPS) {
    cursor.gaps.push({ from, until });
  } else {
    cursor.gapsCut = true;
  }
}

/** Passes the offsets [position, offset) as holes: the log holds no record there. No further than `until`. */
export function skipTo(cursor: PartitionCursor, offset: bigint): void {
  const to = offset < cursor.until ? offset : cursor.until;
  if (to <= cursor.position) return;
  cursor.holes += Number(to - cursor.position);
  addGap(cursor, cursor.position, to);
  cursor.position = to;
}
