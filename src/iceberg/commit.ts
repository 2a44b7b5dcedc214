/** The exactly-once commit of a batch into a table (spec 50, "The exactly-once commit", steps 2 to 4). */
import { SluiceError } from '../errors.ts';
import { AppendCommitter, type AppendTerms, evidenceOf, type TableTerms } from './append-committer.ts';
import type { BatchCommit, CommitContext, CommitResult, TableCheck, TableWriter } from './batch-commit.ts';
import {
  BATCH_ID,
  COMMIT_ID,
  judgeTable,
  type MarkerQuestion,
  OFFSETS,
  PIPELINE_ID,
  PIPELINE_NAME,
  propertyKey,
  propertyValue,
} from './marker.ts';

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
  const table = await new AppendCommitter(context, tableTerms(writer)).load();
  const question = questionOf(writer, inFlight ?? null);
  const marker = await judgeTable(table.metadata, question, evidenceOf(context.io));
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
  const terms = batchTerms(commit);
  return new AppendCommitter(context, terms).commit(terms);
}

function batchTerms(commit: BatchCommit): AppendTerms {
  const { pipelineId, pipelineName, batchId, commitId } = commit;
  return {
    ...tableTerms(commit),
    what: `batch ${batchId}`,
    facts: { batchId },
    commitId,
    snapshotId: commit.snapshotId,
    writerId: commit.writerId,
    files: commit.files,
    summary: {
      ...commit.summary,
      [PIPELINE_ID]: pipelineId,
      [PIPELINE_NAME]: pipelineName,
      [BATCH_ID]: String(batchId),
      [COMMIT_ID]: commitId,
      [OFFSETS]: commit.offsets,
    },
    judge: ({ metadata }, evidence) => judgeTable(metadata, questionOf(commit, commit), evidence),
    marks: ({ snapshotId, sequenceNumber }) => {
      const marker = { pipelineId, pipelineName, batchId, snapshotId, sequenceNumber, commitId };
      return [
        {
          action: 'set-properties',
          updates: { [propertyKey(pipelineId, commit.ref)]: propertyValue(marker) },
        },
      ];
    },
  };
}

function tableTerms({ identifier, ref, lastRecorded }: TableWriter): TableTerms {
  return {
    identifier,
    ref,
    missing: (table) =>
      lastRecorded === null
        ? new SluiceError('TABLE_NOT_FOUND', `table ${table} does not exist`, { context: { table } })
        : new SluiceError(
            'TABLE_REWOUND',
            `table ${table} does not exist any more, but this checkpoint has committed batches up to ${lastRecorded.batchId} into it; they would have to be read again`,
            { context: { table, firstBatch: 0, lastBatch: lastRecorded.batchId } },
          ),
  };
}

/** The question that a writer asks the table's marker. */
function questionOf(writer: TableWriter, inFlight: MarkerQuestion['inFlight']): MarkerQuestion {
  return {
    table: [...writer.identifier.namespace, writer.identifier.name].join('.'),
    ref: writer.ref,
    expectedUuid: writer.expectedUuid,
    pipelineId: writer.pipelineId,
    pipelineName: writer.pipelineName,
    recorded: (batchId) => writer.recorded(batchId),
    lastRecorded: writer.lastRecorded,
    inFlight,
  };
}
