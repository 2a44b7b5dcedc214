/** The terms of a commit: what is committed, by whom, with what, and the answer. */
import type { DataFiles } from '../core/data-file.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { Catalog, LoadedTable, TableIdentifier } from './catalog.ts';
import type { SnapshotExpiry } from './expire.ts';

/** A batch that this checkpoint has committed into a table. */
export interface RecordedBatch {
  batchId: number;
  snapshotId: bigint;
  commitId: string;
}

/** Who writes which ref of which table, and what its checkpoint remembers of it. */
export interface TableWriter {
  identifier: TableIdentifier;
  ref: string;
  expectedUuid: string;
  /** The id in the checkpoint's `metadata`. */
  pipelineId: string;
  pipelineName: string;
  /** What this checkpoint recorded for an earlier batch in this table: null = it did not commit it, 'purged' = its record is gone. */
  recorded(batchId: number): Promise<{ snapshotId: bigint; commitId: string } | null | 'purged'>;
  /** The newest batch that this checkpoint has committed into this table, or null. */
  lastRecorded: RecordedBatch | null;
}

export interface BatchCommit extends TableWriter {
  batchId: number;
  /** One uuid per batch and table: finds our commit again. */
  commitId: string;
  /** Chosen before the first attempt; another is taken where the table has one of that id already. */
  snapshotId: bigint;
  /** In the names of the files that this process writes. */
  writerId: string;
  files: DataFiles;
  /** For the summary's `sluice.offsets`; already bounded. */
  offsets: string;
  /** More entries of the snapshot's summary. */
  summary?: Record<string, string>;
}

export type CommitLog = (
  level: 'debug' | 'info' | 'warn',
  message: string,
  context?: Record<string, unknown>,
) => void;

export interface CommitContext {
  catalog: Catalog;
  io: FileIO;
  now(): number;
  randomUuid(): string;
  /** In [0, 1). */
  random(): number;
  sleep(ms: number): Promise<void>;
  /** How long, from its start, a commit may go on trying and asking. */
  deadlineMs: number;
  /** Attempts that may be lost to other writers. */
  maxAttempts: number;
  log: CommitLog;
  /** Called with `before-catalog-commit` and `after-catalog-commit` around each attempt. */
  failpoint?(name: string): void | Promise<void>;
  /** Left out: no snapshot is expired. */
  expireSnapshots?: SnapshotExpiry;
}

export interface CommitResult {
  snapshotId: bigint;
  sequenceNumber: bigint;
  /** The table held the batch before this call wrote anything. */
  alreadyCommitted: boolean;
  attempts: number;
}

export interface TableCheck {
  table: LoadedTable;
  /** The batch in flight that the caller named, where the table holds it already. */
  committed: { snapshotId: bigint; sequenceNumber: bigint } | null;
}
