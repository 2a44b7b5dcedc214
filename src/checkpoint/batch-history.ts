import { SluiceError } from '../errors.ts';
import { BatchIndex } from './batch-index.ts';
import type { CheckpointFiles } from './checkpoint-files.ts';
import { mergeIntoLedger } from './ledger.ts';
import { ledgerFilesOf, mergeTableRecords, readLedger, type TableRecord } from './ledger-store.ts';
import { readRecord } from './record-file.ts';
import { decodeDone } from './record-json.ts';
import type { DoneBatch, LedgerEntry } from './records.ts';

/** A reader beside a running pipeline may find that a purge took files away between its listing and its reading. */
const MAX_READS = 10;

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
    return readRecord(this.#files, 'done', batchId, decodeDone);
  }

  /** Ledger and retained records merged; what a purge moves meanwhile is neither missed nor counted twice. */
  async ledger(): Promise<LedgerEntry[]> {
    for (let reads = 1; reads <= MAX_READS; reads++) {
      const index = reads === 1 ? this.#index : await BatchIndex.load(this.#files);
      const entries = await this.#mergeOnce(index);
      if (entries !== null) return entries;
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

  /** A batch was finished. */
  async remember(batch: DoneBatch): Promise<void> {
    const records = await this.#records();
    for (const record of mergeTableRecords([...records.values()], [batch])) records.set(record.table, record);
  }

  async #mergeOnce(index: BatchIndex): Promise<LedgerEntry[] | null> {
    const ledger = await readLedger(this.#files, index);
    const batches = ledger === null ? null : await this.#doneAfter(index, ledger.through);
    // A ledger that grew since the listing may hold batches that the listing of done/ no longer showed.
    const newest = (await ledgerFilesOf(this.#files)).at(-1) ?? null;
    if (ledger === null || batches === null || newest !== index.ledgerThrough) return null;
    return mergeIntoLedger(ledger.entries, batches);
  }

  /** All done records after a batch, ascending; null where one that was listed is gone. */
  async #doneAfter(index: BatchIndex, batchId: number): Promise<DoneBatch[] | null> {
    const batches: DoneBatch[] = [];
    for (const id of index.ids('done')) {
      if (id <= batchId) continue;
      const batch = await this.done(id);
      if (batch === null) return null;
      batches.push(batch);
    }
    return batches;
  }

  /** The newest record of each table; read once, then kept up by `remember`. */
  async #records(): Promise<Map<string, TableRecord>> {
    if (this.#tableRecords === undefined) {
      const ledger = await readLedger(this.#files, this.#index);
      const records = mergeTableRecords(ledger?.tables ?? [], (await this.#doneAfter(this.#index, -1)) ?? []);
      this.#tableRecords = new Map(records.map((r) => [r.table, r]));
    }
    return this.#tableRecords;
  }
}
