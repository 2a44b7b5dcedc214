/**
 * The attempts of one commit of an append: load, judge, stage, apply, and what is cleaned up when (spec 50, steps 2 to 4).
 * What proves that it is there already, and what it marks the table with, is told by its terms.
 */

import type { DataFiles } from '../core/data-file.ts';
import { isSluiceError, messageOf, SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type PreparedAppend, prepareAppend, type StagedAppend, stageAppend } from './append.ts';
import type { CommitContext, CommitResult } from './batch-commit.ts';
import type { LoadedTable, TableIdentifier } from './catalog.ts';
import { deleteFiles, selectExpired, unreachableFiles } from './expire.ts';
import { type Snapshot, snapshotById } from './metadata.ts';
import { type HistoryEvidence, tableEvidence } from './ref-history.ts';
import { newSnapshotId } from './snapshot-id.ts';
import { ManifestLists } from './table-files.ts';
import type { TableUpdate } from './updates.ts';

/** Which table is written, and what it means where it is not there. */
export interface TableTerms {
  identifier: TableIdentifier;
  ref: string;
  missing(table: string): SluiceError;
}

/** Where a commit stands that has landed. */
export interface Landed {
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
}

/** What is appended, and how it is known again. */
export interface AppendTerms extends TableTerms {
  /** For messages: `batch 7`. */
  what: string;
  /** For the context of errors. */
  facts: Record<string, unknown>;
  commitId: string;
  /** Chosen before the first attempt; another is taken where the table has one of that id already. */
  snapshotId: bigint;
  /** In the names of the files that this process writes. */
  writerId: string;
  files: DataFiles;
  /** More entries of the snapshot's summary. */
  summary: Readonly<Record<string, string>>;
  /** Is it in the table already? Asked of each base, before each attempt. Throws where it must not be committed. */
  judge(table: LoadedTable, evidence: HistoryEvidence): Promise<Landed | null>;
  /** Goes into the list of updates of an attempt, beside its snapshot. */
  marks(snapshot: Snapshot): TableUpdate[];
}

/** One attempt: what it wrote, on what it stood, and whether it is proven that it did not land. */
interface Attempt {
  base: LoadedTable;
  staged: StagedAppend;
  expired: Snapshot[];
  outcome: 'pending' | 'not-applied' | 'unknown';
  /** What the catalog answered where it did not land. */
  error?: unknown;
}

const FIRST_BACKOFF_MS = 25;
const MAX_BACKOFF_MS = 5000;

/** One cache of manifest lists per storage: a chain of commits reads each list once. */
const listsOf = new WeakMap<FileIO, ManifestLists>();

/** What the storage tells of a table's history, by the lists that this process has read. */
export function evidenceOf(io: FileIO): HistoryEvidence {
  return tableEvidence(io, manifestLists(io));
}

function manifestLists(io: FileIO): ManifestLists {
  let lists = listsOf.get(io);
  if (lists === undefined) {
    lists = new ManifestLists(io);
    listsOf.set(io, lists);
  }
  return lists;
}

function tableName(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}

/** One commit: its clock, its attempts and the files that they wrote. */
export class AppendCommitter {
  readonly #context: CommitContext;
  readonly #terms: TableTerms;
  readonly #lists: ManifestLists;
  readonly #startMs: number;
  readonly #attempts: Attempt[] = [];
  readonly #prepared: PreparedAppend[] = [];
  #waits = 0;

  constructor(context: CommitContext, terms: TableTerms) {
    this.#context = context;
    this.#terms = terms;
    this.#lists = manifestLists(context.io);
    this.#startMs = context.now();
  }

  get #name(): string {
    return tableName(this.#terms.identifier);
  }

  /** Was there an attempt of which nobody knows whether it was applied? */
  get isUnknown(): boolean {
    return this.#unknown;
  }

  get #unknown(): boolean {
    return this.#attempts.some((a) => a.outcome === 'unknown');
  }

  get #conflicts(): number {
    return this.#attempts.filter((a) => isSluiceError(a.error, 'COMMIT_CONFLICT')).length;
  }

  #pastDeadline(): boolean {
    return this.#context.now() - this.#startMs >= this.#context.deadlineMs;
  }

  /** Full jitter on a doubling wait, so that writers that met once do not meet again. */
  async #wait(): Promise<void> {
    const limit = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#waits++, 10));
    await this.#context.sleep(Math.ceil(limit * (0.25 + 0.75 * this.#context.random())));
  }

  /** Loads the table; a catalog that cannot be reached is asked again until the deadline. */
  async load(): Promise<LoadedTable> {
    for (;;) {
      try {
        const table = await this.#context.catalog.loadTable(this.#terms.identifier);
        if (table !== undefined) return table;
        throw this.#terms.missing(this.#name);
      } catch (e) {
        if (!isSluiceError(e, 'CATALOG_UNREACHABLE') && !isSluiceError(e, 'STORAGE_UNREACHABLE')) throw e;
        if (this.#pastDeadline()) throw this.#unknown ? this.#stillUnknown(e) : e;
        this.#context.log('warn', `table ${this.#name}: ${messageOf(e)}; asking again`);
        await this.#wait();
      }
    }
  }

  /**
   * Commits, or finds that the table holds it. Throws what `judge` throws, COMMIT_CONFLICT after `maxAttempts` lost attempts,
   * COMMIT_UNKNOWN at the deadline, and what storage and catalog throw. Data files are never deleted.
   */
  async commit(commit: AppendTerms): Promise<CommitResult> {
    try {
      for (;;) {
        const result = await this.#tryOnce(commit);
        if (result !== undefined) return result;
        await this.#wait();
      }
    } catch (e) {
      await this.#tidyAfterFailure();
      throw e;
    }
  }

  /** Looks at the table and makes one attempt. Undefined: look again. */
  async #tryOnce(commit: AppendTerms): Promise<CommitResult | undefined> {
    const table = await this.load();
    const landed = await this.#judge(table, commit);
    if (landed === 'moved') return undefined;
    if (landed !== null) return this.#alreadyThere(table, landed);
    this.#checkBounds(commit, table);
    const attempt = await this.#stage(commit, table);
    if (attempt === undefined) return undefined;
    await this.#context.failpoint?.('before-catalog-commit');
    if (!(await this.#apply(attempt))) return undefined;
    await this.#context.failpoint?.('after-catalog-commit');
    await this.#tidyAfterSuccess(attempt);
    const { snapshotId, sequenceNumber } = attempt.staged.snapshot;
    return { snapshotId, sequenceNumber, alreadyCommitted: false, attempts: this.#attempts.length };
  }

  async #judge(table: LoadedTable, commit: AppendTerms): Promise<Landed | null | 'moved'> {
    try {
      return await commit.judge(table, tableEvidence(this.#context.io, this.#lists));
    } catch (e) {
      if (isSluiceError(e, 'FILE_NOT_FOUND') && !this.#pastDeadline() && (await this.#hasMoved(table)))
        return 'moved';
      throw e;
    }
  }

  /** An earlier attempt of this call whose outcome was unknown, or another process, has committed it. */
  async #alreadyThere(table: LoadedTable, landed: Landed): Promise<CommitResult> {
    const list = snapshotById(table.metadata, landed.snapshotId)?.manifestList;
    const attempt = this.#attempts.find((a) => a.staged.snapshot.manifestList === list && list !== undefined);
    if (attempt !== undefined) {
      attempt.outcome = 'pending';
      this.#context.log(
        'info',
        `table ${this.#name}: the commit whose outcome was unknown has landed as snapshot ${landed.snapshotId}`,
      );
      await this.#tidyAfterSuccess(attempt);
    }
    return {
      snapshotId: landed.snapshotId,
      sequenceNumber: landed.sequenceNumber,
      alreadyCommitted: this.#attempts.length === 0,
      attempts: this.#attempts.length,
    };
  }

  /** Between attempts, when the table is known not to hold the batch: is another attempt allowed? */
  #checkBounds(commit: AppendTerms, table: LoadedTable): void {
    const last = this.#attempts.at(-1);
    if (last === undefined) return;
    const late = this.#pastDeadline();
    if (late && this.#unknown) throw this.#stillUnknown(last.error);
    const conflict = isSluiceError(last.error, 'COMMIT_CONFLICT');
    if (late && !conflict) throw last.error;
    if (!conflict) return;
    const expected = last.staged.snapshot.parentSnapshotId ?? 'none';
    const found = table.metadata.refs.get(commit.ref)?.snapshotId ?? 'none';
    const what = `table ${this.#name}, ref ${commit.ref}: expected snapshot ${expected}, found ${found}; ${commit.what} not committed`;
    if (late || this.#conflicts >= this.#context.maxAttempts) {
      throw new SluiceError('COMMIT_CONFLICT', `${what} in ${this.#attempts.length} attempts; run again`, {
        outcome: this.#unknown ? 'unknown' : 'not-applied',
        context: {
          table: this.#name,
          ref: commit.ref,
          ...commit.facts,
          attempts: this.#attempts.length,
          expected,
          found,
        },
      });
    }
    this.#context.log(
      'info',
      `COMMIT_CONFLICT: ${what}; reloading and trying again (${this.#conflicts + 1} of ${this.#context.maxAttempts})`,
    );
  }

  /** Writes what the attempt needs. Undefined where the table moved on while it was read. */
  async #stage(commit: AppendTerms, table: LoadedTable): Promise<Attempt | undefined> {
    const { io, expireSnapshots } = this.#context;
    const { metadata } = table;
    try {
      const prepared = await this.#prepare(commit, table);
      const nowMs = this.#context.now();
      const staged = await stageAppend(io, this.#lists, prepared, {
        metadata,
        ref: commit.ref,
        attempt: this.#attempts.length + 1,
        nowMs,
        summary: commit.summary,
      });
      const expired =
        expireSnapshots === undefined ? [] : selectExpired(metadata, commit.ref, expireSnapshots, nowMs);
      const attempt: Attempt = { base: table, staged, expired, outcome: 'pending' };
      this.#addMarker(commit, attempt);
      this.#attempts.push(attempt);
      return attempt;
    } catch (e) {
      if (isSluiceError(e, 'FILE_NOT_FOUND') && !this.#pastDeadline() && (await this.#hasMoved(table)))
        return undefined;
      await this.#tidyAfterFailure();
      throw e;
    }
  }

  /** A file of the old head is gone when another writer has compacted and expired it meanwhile. */
  async #hasMoved(table: LoadedTable): Promise<boolean> {
    return (await this.load()).metadataLocation !== table.metadataLocation;
  }

  #addMarker(commit: AppendTerms, attempt: Attempt): void {
    const { snapshot, updates } = attempt.staged;
    updates.push(...commit.marks(snapshot));
    if (attempt.expired.length > 0)
      updates.push({ action: 'remove-snapshots', snapshotIds: attempt.expired.map((s) => s.snapshotId) });
  }

  /** The manifests of the files, written once; anew only where the snapshot id turns out to be taken. */
  async #prepare(commit: AppendTerms, table: LoadedTable): Promise<PreparedAppend> {
    const last = this.#prepared.at(-1);
    if (last !== undefined && snapshotById(table.metadata, last.request.snapshotId) === undefined)
      return last;
    let snapshotId = commit.snapshotId;
    while (snapshotById(table.metadata, snapshotId) !== undefined) {
      this.#context.log('info', `table ${this.#name}: snapshot id ${snapshotId} is taken; choosing another`);
      snapshotId = newSnapshotId(this.#context.randomUuid());
    }
    const prepared = await prepareAppend(this.#context.io, table.metadata, {
      snapshotId,
      commitId: commit.commitId,
      writerId: commit.writerId,
      nonce: this.#context.randomUuid().slice(0, 8),
      files: commit.files,
    });
    this.#prepared.push(prepared);
    return prepared;
  }

  /** Compare-and-set. False where another look at the table must decide. */
  async #apply(attempt: Attempt): Promise<boolean> {
    try {
      await this.#context.catalog.commitTable(
        attempt.base,
        attempt.staged.requirements,
        attempt.staged.updates,
      );
      return true;
    } catch (e) {
      const outcome = isSluiceError(e) ? e.outcome : undefined;
      attempt.outcome = outcome === 'not-applied' ? 'not-applied' : 'unknown';
      attempt.error = e;
      const again = ['COMMIT_CONFLICT', 'COMMIT_UNKNOWN', 'CATALOG_UNREACHABLE', 'STORAGE_UNREACHABLE'].some(
        (code) => isSluiceError(e) && e.code === code,
      );
      if (!again && outcome !== 'unknown') throw e;
      this.#context.log(
        outcome === 'not-applied' ? 'debug' : 'warn',
        `table ${this.#name}: ${messageOf(e)}; looking at the table again`,
      );
      return false;
    }
  }

  #stillUnknown(cause: unknown): SluiceError {
    return new SluiceError(
      'COMMIT_UNKNOWN',
      `table ${this.#name}, ref ${this.#terms.ref}: it did not become known within ${this.#context.deadlineMs} ms whether the commit was applied; nothing was deleted; run again: the marker tells`,
      {
        outcome: 'unknown',
        cause,
        context: { table: this.#name, ref: this.#terms.ref, attempts: this.#attempts.length },
      },
    );
  }

  /** Everything that this call wrote under its own names. */
  #written(): string[] {
    const manifests = this.#prepared.flatMap((p) => [
      ...p.manifests.map((m) => m.manifestPath),
      ...p.merger.written,
    ]);
    return [...manifests, ...this.#attempts.map((a) => a.staged.snapshot.manifestList!)];
  }

  /** The commit is known to have landed: lists of lost attempts and what expiry left behind go. A failure here loses nothing. */
  async #tidyAfterSuccess(landed: Attempt): Promise<void> {
    try {
      this.#lists.put(landed.staged.snapshot.manifestList!, landed.staged.manifests);
      const garbage: string[] = [];
      if (!this.#unknown) {
        const used = new Set([
          landed.staged.snapshot.manifestList,
          ...landed.staged.manifests.map((m) => m.manifestPath),
        ]);
        garbage.push(...this.#written().filter((path) => !used.has(path)));
      }
      if (landed.expired.length > 0)
        garbage.push(
          ...(await unreachableFiles(this.#lists, landed.base.metadata, landed.expired, landed.staged)),
        );
      await this.#delete(garbage);
    } catch (e) {
      this.#context.log(
        'warn',
        `table ${this.#name}: cleaning after the commit failed, files are left for \`table orphans\`: ${messageOf(e)}`,
      );
    }
  }

  /** The commit failed. Only where every attempt is proven not to have landed are its files deleted. */
  async #tidyAfterFailure(): Promise<void> {
    if (this.#attempts.some((a) => a.outcome !== 'not-applied')) return;
    await this.#delete(this.#written());
  }

  async #delete(paths: readonly string[]): Promise<void> {
    const { failed, firstError } = await deleteFiles(this.#context.io, paths);
    if (failed > 0)
      this.#context.log(
        'warn',
        `table ${this.#name}: ${failed} of ${paths.length} files could not be deleted: ${messageOf(firstError)}`,
      );
  }
}
