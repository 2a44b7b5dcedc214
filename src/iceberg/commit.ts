/** The exactly-once commit of a batch into a table (spec 50, "The exactly-once commit", steps 2 to 4). */
import type { BatchCommit, CommitContext, CommitResult, TableCheck, TableWriter } from './batch-commit.ts';
import { BatchCommitter } from './batch-committer.ts';

export type {
  BatchCommit,
  CommitContext,
  CommitLog,
  CommitResult,
  RecordedBatch,
  TableCheck,
  TableWriter,
} from './batch-commit.ts';
export type { SnapshotExpiry } from './expire.ts';

/**
 * Does the table fit the checkpoint? The marker check alone, for the start. `inFlight`: a prepared batch that may have
 * landed. Throws TABLE_REWOUND, STALE_WRITER, CHECKPOINT_LOST, TABLE_NOT_FOUND, CATALOG_UNREACHABLE.
 */
export async function checkTable(
  context: CommitContext,
  writer: TableWriter,
  inFlight?: { batchId: number; commitId: string },
): Promise<TableCheck> {
  const committer = new BatchCommitter(context, writer);
  const table = await committer.load();
  const marker = await committer.judge(table, inFlight ?? null);
  return {
    table,
    committed:
      marker === null ? null : { snapshotId: marker.snapshotId, sequenceNumber: marker.sequenceNumber },
  };
}

/**
 * Commits the batch, or finds that the table holds it. Throws TABLE_REWOUND, STALE_WRITER, CHECKPOINT_LOST,
 * COMMIT_CONFLICT after `maxAttempts` lost attempts, COMMIT_UNKNOWN at the deadline, and what storage and catalog throw.
 * Data files are never deleted; manifests and lists only where it is proven that they were not committed.
 */
export function commitBatch(context: CommitContext, commit: BatchCommit): Promise<CommitResult> {
  return new BatchCommitter(context, commit).commit(commit);
}
