import type { OffsetMap } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { BatchPlan, PlannedReset } from './records.ts';

/** A plan whose batch reads nothing and moves the positions. */
export type ResetPlan = BatchPlan & { reset: PlannedReset };

export interface ResetBatch {
  plan: ResetPlan;
  /** The positions after it. */
  offsets: OffsetMap;
  /** The last planned batch, where it is not read and the reset takes it back. */
  givesUp: number | null;
  writerId: string;
}

/**
 * Appends a reset to a checkpoint: `prepared/L` of a batch that is given up, then `plan/L+1`, `offsets/L+1`, `done/L+1`,
 * `commits/L+1`. Nothing is edited or deleted. An empty `prepared/L` comes first, because a process that still works on
 * L, though it seemed gone, must create that file before it commits to a table: it is stopped there, and what L was to
 * read is never read twice. Cut off before `offsets/L+1`, the reset has changed nothing (a given-up L makes runs stop
 * with RESET_UNFINISHED); after it, `finishReset` ends it. Throws CHECKPOINT_CONCURRENT where another process was there.
 */
export async function appendReset(checkpoint: Checkpoint, batch: ResetBatch): Promise<void> {
  const { plan, offsets, givesUp, writerId } = batch;
  if (givesUp !== null && (await checkpoint.prepared(givesUp))?.givenUp === undefined) {
    const { reason, by, at, command } = plan.reset;
    await checkpoint.writePrepared({
      batchId: givesUp,
      writerId,
      tables: [],
      funnel: [],
      lost: [],
      givenUp: { reason, by, at, command },
    });
  }
  await checkpoint.writePlan(plan);
  await checkpoint.writeOffsets(plan.batchId, offsets, plan.batchTimestampMs);
  await finishReset(checkpoint, plan);
}

/** The end of a reset whose `offsets/N` is written: `done/N`, `commits/N`. Done again, it changes nothing. */
export async function finishReset(checkpoint: Checkpoint, plan: ResetPlan): Promise<void> {
  const { batchId, clusterId, topics, tables, lost } = plan;
  const { reason, by, at } = plan.reset;
  await checkpoint.writeDone({
    batchId,
    clusterId,
    topics,
    tables: tables.map((t) => ({ ...t, commitId: null, snapshotId: null, sequenceNumber: null, rows: 0 })),
    funnel: [],
    lost,
    reset: { reason, by, at },
  });
  await checkpoint.writeCommit(batchId);
}

export function isResetPlan(plan: BatchPlan | null): plan is ResetPlan {
  return plan?.reset !== undefined;
}

/** What a run meets where a reset was cut off before it had written where to go on. */
export function resetUnfinished(
  checkpoint: Checkpoint,
  reset: { by: string; at: string; command: string },
): SluiceError {
  return new SluiceError(
    'RESET_UNFINISHED',
    `checkpoint ${checkpoint.location}: the reset that ${reset.by} began at ${reset.at} did not end; nothing was read. Finish it with \`${reset.command} --execute\``,
    { context: { location: checkpoint.location, ...reset } },
  );
}
