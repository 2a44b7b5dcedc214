import type { OffsetMap } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import { BatchIndex, batchFileName } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { LedgerBook } from './ledger.ts';
import { ledgerFilesOf, mergeTableRecords, readLedger, type TableRecord } from './ledger-store.ts';
import { readRecord } from './record-file.ts';
import type { DoneBatch, LedgerEntry } from './records.ts';
import { parseOffsetLog } from './spark-format.ts';

/** A reader beside a running pipeline may find that a purge took files away between its listing and its reading. */
const MAX_READS = 10;

/** What was read by the batches up to one. */
export interface ReadAccount {
  entries: LedgerEntry[];
  /** Batches that are committed and have no record, ascending: another engine ran them, or their record is gone. */
  unrecorded: number[];
}

/** What the batches so far have brought: the retained `done/` records, and the ledger of the purged ones. */
export class BatchHistory {
  readonly #files: CheckpointFiles;
  readonly #index: BatchIndex;
  #tableRecords: Map<string, TableRecord> | undefined;

  constructor(files: CheckpointFiles, index: BatchIndex) {
    this.#files = files;
    this.#index = index;
  }

  done(batchId: number): Promise<DoneBatch | null> {
    return readRecord(this.#files, 'done', batchId);
  }

  /** Ledger and retained records merged; what a purge moves meanwhile is neither missed nor counted twice. */
  async ledger(): Promise<LedgerEntry[]> {
    return (await this.account(Number.POSITIVE_INFINITY))!.entries;
  }

  /** See `Checkpoint.account`. */
  async account(through: number): Promise<ReadAccount | null> {
    for (let reads = 1; reads <= MAX_READS; reads++) {
      const index = reads === 1 ? this.#index : await BatchIndex.load(this.#files);
      if ((index.ledgerThrough ?? -1) > through) return null;
      const account = await this.#mergeOnce(index, through);
      if (account !== null) return account;
    }
    throw new SluiceError(
      'CHECKPOINT_CONCURRENT',
      `the ledger of checkpoint ${this.#files.location} changed ${MAX_READS} times while it was read; try again`,
      {
        retryable: true,
        context: { location: this.#files.location },
      },
    );
  }

  /** See `Checkpoint.doneRecord`. */
  async recorded(
    table: string,
    batchId: number,
  ): Promise<{ snapshotId: bigint; commitId: string } | null | 'purged'> {
    const done = this.#index.has('done', batchId) ? await this.done(batchId) : null;
    const record =
      done === null
        ? (await this.#records()).get(table)
        : mergeTableRecords([], [done]).find((r) => r.table === table);
    if (record?.batchId === batchId) return { snapshotId: record.snapshotId, commitId: record.commitId };
    return done === null && batchId <= (this.#index.latest('commits') ?? -1) ? 'purged' : null;
  }

  /** See `Checkpoint.lastRecorded`. */
  async lastRecorded(table: string): Promise<TableRecord | null> {
    return (await this.#records()).get(table) ?? null;
  }

  /** The newest record of each table that ever got a batch. */
  async tableRecords(): Promise<TableRecord[]> {
    return [...(await this.#records()).values()];
  }

  /** A batch was finished. */
  async remember(batch: DoneBatch): Promise<void> {
    const records = await this.#records();
    for (const record of mergeTableRecords([...records.values()], [batch])) records.set(record.table, record);
  }

  async #mergeOnce(index: BatchIndex, through: number): Promise<ReadAccount | null> {
    const ledger = await readLedger(this.#files, index);
    if (ledger === null) return null;
    const ids = (kind: 'done' | 'commits') =>
      index.ids(kind).filter((id) => id > ledger.through && id <= through);
    const book = new LedgerBook(ledger.entries);
    const whole = await this.#eachDone(ids('done'), async (batch) =>
      book.add(batch, batch.reset === undefined ? undefined : await this.#positions(batch.batchId)),
    );
    // A ledger that grew since the listing may hold batches that the listing of done/ no longer showed.
    const newest = (await ledgerFilesOf(this.#files)).at(-1) ?? null;
    if (!whole || newest !== index.ledgerThrough) return null;
    return {
      entries: book.entries(),
      unrecorded: ids('commits').filter((id) => !index.has('done', id)),
    };
  }

  /** Reads done records one after the other; false where one that was listed is gone. */
  async #eachDone(
    ids: readonly number[],
    take: (batch: DoneBatch) => void | Promise<void>,
  ): Promise<boolean> {
    for (const id of ids) {
      const batch = await this.done(id);
      if (batch === null) return false;
      await take(batch);
    }
    return true;
  }

  /** The offsets that end a batch; undefined where a purge took them. */
  async #positions(batchId: number): Promise<OffsetMap | undefined> {
    const name = batchFileName('offsets', batchId);
    return (await this.#files.read(name, FILE_KINDS.offsets, parseOffsetLog))?.offsets;
  }

  /** The newest record of each table; read once, then kept up by `remember`. */
  async #records(): Promise<Map<string, TableRecord>> {
    if (this.#tableRecords === undefined) {
      const ledger = await readLedger(this.#files, this.#index);
      let records = ledger?.tables ?? [];
      const whole = await this.#eachDone(this.#index.ids('done'), (batch) => {
        records = mergeTableRecords(records, [batch]);
      });
      if (!whole) records = ledger?.tables ?? [];
      this.#tableRecords = new Map(records.map((r) => [r.table, r]));
    }
    return this.#tableRecords;
  }
}
