/**
 * The permanent ledger: what was read of every incarnation of every partition, batches merged. Pure; the files are in
 * ledger-store.ts.
 */
import type { DoneBatch, LedgerEntry, LostRange, RangeFunnel } from './records.ts';

/** Listed stretches of one entry, gaps and lost ranges each: beyond it only the counts go on. */
export const MAX_LEDGER_STRETCHES = 1_000;

type Stretch = { from: bigint; until: bigint };

/** Adds batches, in ascending order, to entries. The result is new; entries are in order of topic, incarnation, partition, batch. */
export function mergeIntoLedger(
  entries: readonly LedgerEntry[],
  batches: readonly DoneBatch[],
): LedgerEntry[] {
  const book = new LedgerBook(entries);
  for (const batch of [...batches].sort((a, b) => a.batchId - b.batchId)) book.add(batch);
  return book.entries();
}

class LedgerBook {
  /** Per topic, incarnation and partition the entries in the order they were begun; only the last one grows. */
  readonly #byPartition = new Map<string, LedgerEntry[]>();

  constructor(entries: readonly LedgerEntry[]) {
    for (const e of [...entries].sort((a, b) => a.firstBatch - b.firstBatch)) {
      this.#list(e.topic, e.topicId, e.partition).push({ ...e, gaps: [...e.gaps], lost: [...e.lost] });
    }
  }

  add(batch: DoneBatch): void {
    const topicIds = new Map(batch.topics.map((t) => [t.topic, t.topicId]));
    // What was given up lies before what was read next.
    for (const lost of batch.lost) {
      if (lost.until > lost.from) this.#addLost(lost, batch.batchId);
    }
    for (const range of batch.funnel) {
      if (range.until > range.from) this.#addRead(range, topicIds.get(range.topic) ?? null, batch.batchId);
    }
  }

  entries(): LedgerEntry[] {
    const all = [...this.#byPartition.values()].flat();
    return all.sort(compareEntries);
  }

  #addRead(range: RangeFunnel, topicId: string | null, batchId: number): void {
    const entry = this.#extend(range.topic, topicId, range.partition, range, batchId);
    entry.rows += range.rows;
    entry.quarantined += range.quarantined;
    entry.dropped += range.dropped;
    entry.control += range.control;
    entry.aborted += range.aborted;
    entry.holes += range.holes;
    if (range.gapsCut) entry.gapsCut = true;
    for (const gap of range.gaps) {
      if (!append(entry.gaps, { from: gap.from, until: gap.until }, touches)) entry.gapsCut = true;
    }
  }

  #addLost(lost: LostRange, batchId: number): void {
    const entry = this.#extend(lost.topic, lost.topicId, lost.partition, lost, batchId);
    entry.lostOffsets += lost.until - lost.from;
    const item = { from: lost.from, until: lost.until, reason: lost.reason };
    if (!append(entry.lost, item, (last, next) => touches(last, next) && last.reason === next.reason))
      entry.lostCut = true;
  }

  /** The entry that ends where `range` begins, made longer by it; a new one where the range does not follow on. */
  #extend(
    topic: string,
    topicId: string | null,
    partition: number,
    range: Stretch,
    batchId: number,
  ): LedgerEntry {
    const list = this.#list(topic, topicId, partition);
    const last = list[list.length - 1];
    if (last !== undefined && last.until === range.from) {
      last.until = range.until;
      last.lastBatch = batchId;
      return last;
    }
    const entry: LedgerEntry = {
      topic,
      topicId,
      partition,
      from: range.from,
      until: range.until,
      firstBatch: batchId,
      lastBatch: batchId,
      rows: 0,
      quarantined: 0,
      dropped: 0,
      control: 0,
      aborted: 0,
      holes: 0,
      gaps: [],
      gapsCut: false,
      lost: [],
      lostOffsets: 0n,
      lostCut: false,
    };
    list.push(entry);
    return entry;
  }

  #list(topic: string, topicId: string | null, partition: number): LedgerEntry[] {
    const key = JSON.stringify([topic, topicId, partition]);
    let list = this.#byPartition.get(key);
    if (list === undefined) {
      list = [];
      this.#byPartition.set(key, list);
    }
    return list;
  }
}

function touches(last: Stretch, next: Stretch): boolean {
  return last.until === next.from;
}

/** Appends, or grows the last where `joins` says so; false where the bound is reached and the stretch is only counted. */
function append<T extends Stretch>(list: T[], item: T, joins: (last: T, next: T) => boolean): boolean {
  const last = list[list.length - 1];
  if (last !== undefined && joins(last, item)) {
    list[list.length - 1] = { ...last, until: item.until };
    return true;
  }
  if (list.length >= MAX_LEDGER_STRETCHES) return false;
  list.push(item);
  return true;
}

function compareEntries(a: LedgerEntry, b: LedgerEntry): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  if (a.topicId !== b.topicId) return (a.topicId ?? '') < (b.topicId ?? '') ? -1 : 1;
  return (
    a.partition - b.partition ||
    a.firstBatch - b.firstBatch ||
    (a.from < b.from ? -1 : a.from > b.from ? 1 : 0)
  );
}
