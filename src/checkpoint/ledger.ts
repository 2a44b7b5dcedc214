/**
 * The permanent ledger: what was read of every incarnation of every partition into every table, batches merged. Pure;
 * the files are in ledger-store.ts.
 */
import { addSums, stretchSum } from '../core/gap-sum.ts';
import { type OffsetMap, offsetEntries } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { GapWriter } from './gap-text.ts';
import type { DoneBatch, LedgerEntry, LostRange, RangeFunnel } from './records.ts';

/** Listed gaps of one entry, and listed lost ranges: beyond it the counts and the checksum go on. */
export const MAX_LEDGER_GAPS = 20_000;
export const MAX_LEDGER_LOST = 1_000;

type Stretch = { from: bigint; until: bigint };

/** Adds batches, in ascending order, to entries. The result is new; see `LedgerBook.entries` for its order. */
export function mergeIntoLedger(
  entries: readonly LedgerEntry[],
  batches: readonly DoneBatch[],
): LedgerEntry[] {
  const book = new LedgerBook(entries);
  for (const batch of [...batches].sort((a, b) => a.batchId - b.batchId)) book.add(batch);
  return book.entries();
}

/** The last entry of a list grows, and so do its gaps. */
interface OpenEntry {
  entry: LedgerEntry;
  /** Made when it is first needed; then `entry.gaps` is written at the end. */
  gaps?: GapWriter;
}

/** A ledger that takes one batch after the other, in ascending order. */
export class LedgerBook {
  /** Per table, topic, incarnation and partition the entries in the order they were begun; only the last one grows. */
  readonly #lists = new Map<string, OpenEntry[]>();
  /** Per topic-partition the entry that was read into last, and per topic the table. */
  readonly #newest = new Map<string, LedgerEntry>();
  readonly #tables = new Map<string, string>();
  #isReset = false;

  constructor(entries: readonly LedgerEntry[]) {
    for (const e of [...entries].sort((a, b) => a.firstBatch - b.firstBatch)) {
      const entry = { ...e, lost: [...e.lost] };
      this.#list(e.table, e.topic, e.topicId, e.partition).push({ entry });
    }
    for (const e of [...entries].sort((a, b) => a.lastBatch - b.lastBatch)) this.#remember(e);
  }

  /** `positions`: where a batch that is a reset has set the next offsets to read. */
  add(batch: DoneBatch, positions?: OffsetMap): void {
    this.#isReset = batch.reset !== undefined;
    const topicIds = new Map(batch.topics.map((t) => [t.topic, t.topicId]));
    const tables = new Map(batch.funnel.map((range) => [range.topic, range.table]));
    // What was given up lies before what was read next.
    for (const lost of batch.lost) {
      if (lost.until > lost.from) this.#addLost(lost, tables.get(lost.topic), batch.batchId);
    }
    for (const range of batch.funnel) this.#addRead(range, topicIds.get(range.topic) ?? null, batch.batchId);
    if (positions !== undefined) this.#begin(positions, topicIds, batch.batchId);
  }

  /** In order of topic, incarnation, partition, table, batch. */
  entries(): LedgerEntry[] {
    const all = [...this.#lists.values()].flat().map(({ entry, gaps }) => {
      if (gaps !== undefined) entry.gaps = gaps.text;
      return { ...entry, lost: [...entry.lost] };
    });
    return all.sort(compareEntries);
  }

  #addRead(range: RangeFunnel, topicId: string | null, batchId: number): void {
    const open = this.#extend(range.table, range.topic, topicId, range.partition, range, batchId);
    if (range.until === range.from) return;
    const { entry } = open;
    entry.rows += range.rows;
    entry.quarantined += range.quarantined;
    entry.dropped += range.dropped;
    entry.control += range.control;
    entry.aborted += range.aborted;
    entry.holes += range.holes;
    entry.gapSum = addSums(entry.gapSum, range.gapSum);
    if (range.gapsCut) entry.gapsCut = true;
    if (range.gaps.length === 0) return;
    open.gaps ??= new GapWriter(entry.gaps);
    for (const { from, until } of range.gaps) {
      if (!open.gaps.append(from, until, MAX_LEDGER_GAPS)) {
        entry.gapsCut = true;
        break;
      }
    }
  }

  #addLost(lost: LostRange, table: string | undefined, batchId: number): void {
    const { topic, topicId, partition } = lost;
    const into = table ?? this.#tableOf(topic, partition);
    const { entry } = this.#extend(into, topic, topicId, partition, lost, batchId);
    entry.lostOffsets += lost.until - lost.from;
    entry.gapSum = addSums(entry.gapSum, stretchSum(Number(lost.from), Number(lost.until)));
    const last = entry.lost[entry.lost.length - 1];
    if (last !== undefined && last.until === lost.from && last.reason === lost.reason)
      entry.lost[entry.lost.length - 1] = { ...last, until: lost.until };
    else if (entry.lost.length < MAX_LEDGER_LOST)
      entry.lost.push({ from: lost.from, until: lost.until, reason: lost.reason });
    else entry.lostCut = true;
  }

  /** Where the reading goes on after a reset is kept, also where nothing is read for long. */
  #begin(positions: OffsetMap, topicIds: ReadonlyMap<string, string | null>, batchId: number): void {
    for (const { topic, partition, offset } of offsetEntries(positions)) {
      const newest = this.#newest.get(topicPartitionKey(topic, partition));
      const topicId = topicIds.get(topic) ?? newest?.topicId ?? null;
      if (newest !== undefined && newest.until === offset && newest.topicId === topicId) continue;
      const table = this.#tableOf(topic, partition);
      this.#extend(table, topic, topicId, partition, { from: offset, until: offset }, batchId);
    }
  }

  #tableOf(topic: string, partition: number): string {
    return this.#newest.get(topicPartitionKey(topic, partition))?.table ?? this.#tables.get(topic) ?? '';
  }

  /** The entry that ends where `range` begins, made longer by it; a new one where the range does not follow on. */
  #extend(
    table: string,
    topic: string,
    topicId: string | null,
    partition: number,
    range: Stretch,
    batchId: number,
  ): OpenEntry {
    const list = this.#list(table, topic, topicId, partition);
    const last = list[list.length - 1];
    if (last !== undefined && last.entry.until === range.from) {
      last.entry.until = range.until;
      last.entry.lastBatch = batchId;
      this.#remember(last.entry);
      return last;
    }
    const entry: LedgerEntry = {
      table,
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
      gaps: '',
      gapsCut: false,
      lost: [],
      lostOffsets: 0n,
      lostCut: false,
      gapSum: 0,
      ...(this.#isReset ? { byReset: true as const } : {}),
    };
    const open = { entry };
    list.push(open);
    this.#remember(entry);
    return open;
  }

  #remember(entry: LedgerEntry): void {
    this.#newest.set(topicPartitionKey(entry.topic, entry.partition), entry);
    if (entry.table !== '') this.#tables.set(entry.topic, entry.table);
  }

  #list(table: string, topic: string, topicId: string | null, partition: number): OpenEntry[] {
    const key = JSON.stringify([table, topic, topicId, partition]);
    let list = this.#lists.get(key);
    if (list === undefined) {
      list = [];
      this.#lists.set(key, list);
    }
    return list;
  }
}

function compareEntries(a: LedgerEntry, b: LedgerEntry): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  if (a.topicId !== b.topicId) return (a.topicId ?? '') < (b.topicId ?? '') ? -1 : 1;
  if (a.partition !== b.partition) return a.partition - b.partition;
  if (a.table !== b.table) return a.table < b.table ? -1 : 1;
  return a.firstBatch - b.firstBatch || (a.from < b.from ? -1 : a.from > b.from ? 1 : 0);
}
