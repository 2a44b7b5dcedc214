/** The attempts of one commit: load, judge, stage, apply, and what is cleaned up when (spec 50, steps 2 to 4). */
import { isSluiceError, messageOf, SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type PreparedAppend, prepareAppend, type StagedAppend, stageAppend } from './append.ts';
import type { BatchCommit, CommitContext, CommitResult, TableWriter } from './batch-commit.ts';
import type { LoadedTable, TableIdentifier } from './catalog.ts';
import { deleteFiles, selectExpired, unreachableFiles } from './expire.ts';
import {
  BATCH_ID,
  COMMIT_ID,
  judgeTable,
  type Marker,
  type MarkerQuestion,
  OFFSETS,
  PIPELINE_ID,
  PIPELINE_NAME,
  propertyKey,
  propertyValue,
} from './marker.ts';
import { type Snapshot, snapshotById } from './metadata.ts';
import { tableEvidence } from './ref-history.ts';
import { newSnapshotId } from './snapshot-id.ts';
import { ManifestLists } from './table-files.ts';

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

/** The question that a writer asks the table's marker. */
function questionOf(writer: TableWriter, inFlight: MarkerQuestion['inFlight']): MarkerQuestion {
  return {
    table: tableName(writer.identifier),
    ref: writer.ref,
    expectedUuid: writer.expectedUuid,
    pipelineId: writer.pipelineId,
    pipelineName: writer.pipelineName,
    recorded: (batchId) => writer.recorded(batchId),
    lastRecorded: writer.lastRecorded,
    inFlight,
  };
}

/** One call of `commitBatch` or `checkTable`: its clock, its attempts and the files that they wrote. */
export class BatchCommitter {
  readonly #context: CommitContext;
  readonly #writer: TableWriter;
  readonly #lists: ManifestLists;
  readonly #startMs: number;
  readonly #attempts: Attempt[] = [];
  readonly #prepared: PreparedAppend[] = [];
  #waits = 0;

  constructor(context: CommitContext, writer: TableWriter) {
    this.#context = context;
    this.#writer = writer;
    this.#lists = manifestLists(context.io);
    this.#startMs = context.now();
  }

  get #name(): string {
    return tableName(this.#writer.identifier);
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
        const table = await this.#context.catalog.loadTable(this.#writer.identifier);
        if (table !== undefined) return table;
        const lost = this.#writer.lastRecorded;
        if (lost === null)
          throw new SluiceError('TABLE_NOT_FOUND', `table ${this.#name} does not exist`, {
            context: { table: this.#name },
          });
        throw new SluiceError(
          'TABLE_REWOUND',
          `table ${this.#name} does not exist any more, but this checkpoint has committed batches up to ${lost.batchId} into it; they would have to be read again`,
          { context: { table: this.#name, firstBatch: 0, lastBatch: lost.batchId } },
        );
      } catch (e) {
        if (!isSluiceError(e, 'CATALOG_UNREACHABLE') && !isSluiceError(e, 'STORAGE_UNREACHABLE')) throw e;
        if (this.#pastDeadline()) throw this.#unknown ? this.#stillUnknown(e) : e;
        this.#context.log('warn', `table ${this.#name}: ${messageOf(e)}; asking again`);
        await this.#wait();
      }
    }
  }

  async commit(commit: BatchCommit): Promise<CommitResult> {
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
  async #tryOnce(commit: BatchCommit): Promise<CommitResult | undefined> {
    const table = await this.load();
    const marker = await this.#judge(table, commit);
    if (marker === 'moved') return undefined;
    if (marker !== null) return this.#alreadyThere(table, marker);
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

  /** The table and the batch in flight, where the caller names one. Throws as `judgeTable`. */
  judge(table: LoadedTable, inFlight: MarkerQuestion['inFlight']): Promise<Marker | null> {
    const evidence = tableEvidence(this.#context.io, this.#lists);
    return judgeTable(table.metadata, questionOf(this.#writer, inFlight), evidence);
  }

  async #judge(table: LoadedTable, commit: BatchCommit): Promise<Marker | null | 'moved'> {
    try {
      return await this.judge(table, commit);
    } catch (e) {
      if (isSluiceError(e, 'FILE_NOT_FOUND') && !this.#pastDeadline() && (await this.#hasMoved(table)))
        return 'moved';
      throw e;
    }
  }

  /** An earlier attempt of this call whose outcome was unknown, or an earlier process, has committed the batch. */
  async #alreadyThere(table: LoadedTable, marker: Marker): Promise<CommitResult> {
    const list = snapshotById(table.metadata, marker.snapshotId)?.manifestList;
    const attempt = this.#attempts.find((a) => a.staged.snapshot.manifestList === list && list !== undefined);
    if (attempt !== undefined) {
      attempt.outcome = 'pending';
      this.#context.log(
        'info',
        `table ${this.#name}: the commit whose outcome was unknown has landed as snapshot ${marker.snapshotId}`,
      );
      await this.#tidyAfterSuccess(attempt);
    }
    return {
      snapshotId: marker.snapshotId,
      sequenceNumber: marker.sequenceNumber,
      alreadyCommitted: this.#attempts.length === 0,
      attempts: this.#attempts.length,
    };
  }

  /** Between attempts, when the table is known not to hold the batch: is another attempt allowed? */
  #checkBounds(commit: BatchCommit, table: LoadedTable): void {
    const last = this.#attempts.at(-1);
    if (last === undefined) return;
    const late = this.#pastDeadline();
    if (late && this.#unknown) throw this.#stillUnknown(last.error);
    const conflict = isSluiceError(last.error, 'COMMIT_CONFLICT');
    if (late && !conflict) throw last.error;
    if (!conflict) return;
    const expected = last.staged.snapshot.parentSnapshotId ?? 'none';
    const found = table.metadata.refs.get(commit.ref)?.snapshotId ?? 'none';
    const what = `table ${this.#name}, ref ${commit.ref}: expected snapshot ${expected}, found ${found}; batch ${commit.batchId} not committed`;
    if (late || this.#conflicts >= this.#context.maxAttempts) {
      throw new SluiceError('COMMIT_CONFLICT', `${what} in ${this.#attempts.length} attempts; run again`, {
        outcome: this.#unknown ? 'unknown' : 'not-applied',
        context: {
          table: this.#name,
          ref: commit.ref,
          batchId: commit.batchId,
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
  async #stage(commit: BatchCommit, table: LoadedTable): Promise<Attempt | undefined> {
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
        summary: {
          ...commit.summary,
          [PIPELINE_ID]: commit.pipelineId,
          [PIPELINE_NAME]: commit.pipelineName,
          [BATCH_ID]: String(commit.batchId),
          [COMMIT_ID]: commit.commitId,
          [OFFSETS]: commit.offsets,
        },
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

  #addMarker(commit: BatchCommit, attempt: Attempt): void {
    const { snapshot, updates } = attempt.staged;
    const marker: Marker = {
      pipelineId: commit.pipelineId,
      pipelineName: commit.pipelineName,
      batchId: commit.batchId,
      snapshotId: snapshot.snapshotId,
      sequenceNumber: snapshot.sequenceNumber,
      commitId: commit.commitId,
    };
    updates.push({
      action: 'set-properties',
      updates: { [propertyKey(commit.pipelineId, commit.ref)]: propertyValue(marker) },
    });
    if (attempt.expired.length > 0)
      updates.push({ action: 'remove-snapshots', snapshotIds: attempt.expired.map((s) => s.snapshotId) });
  }

  /** The manifests of the files, written once; anew only where the snapshot id turns out to be taken. */
  async #prepare(commit: BatchCommit, table: LoadedTable): Promise<PreparedAppend> {
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
      `table ${this.#name}, ref ${this.#writer.ref}: it did not become known within ${this.#context.deadlineMs} ms whether the commit was applied; nothing was deleted; run again: the marker tells`,
      {
        outcome: 'unknown',
        cause,
        context: { table: this.#name, ref: this.#writer.ref, attempts: this.#attempts.length },
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
