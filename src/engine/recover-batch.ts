import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan } from '../checkpoint/records.ts';
import { finishReset, isResetPlan, resetUnfinished } from '../checkpoint/reset-batch.ts';
import { getOffset } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import type { Log } from './host.ts';
import type { KnownSource } from './known-source.ts';
import type { LeaderEpochs } from './leader-epochs.ts';

/** Where a run goes on. */
export interface RecoveredSource {
  /** Null where the checkpoint holds nothing: the query begins where `startingOffsets` says. */
  known: KnownSource | null;
  nextBatchId: number;
  /** A batch that an earlier process planned and did not commit; `prepared` where its files are written. */
  unfinished: { plan: BatchPlan; prepared: boolean } | null;
}

/**
 * Reads where an earlier process stopped, and finishes a reset that it began. Throws RESET_UNFINISHED, CHECKPOINT_CORRUPT
 * for a plan that does not follow the batch before it, UNSUPPORTED for one that another engine planned.
 */
export async function recoverSource(
  checkpoint: Checkpoint,
  epochs: LeaderEpochs,
  log: Log,
): Promise<RecoveredSource> {
  const point = checkpoint.restart();
  if (point.kind === 'fresh')
    return { known: await resumeStart(checkpoint), nextBatchId: 0, unfinished: null };
  const lastPlanned = point.kind === 'next' ? point.batchId - 1 : point.batchId;
  const identity = await knownIdentity(checkpoint, epochs, lastPlanned);
  const known = { ...identity, positions: await checkpoint.offsets(lastPlanned) };
  const recovered = { known, nextBatchId: lastPlanned + 1, unfinished: null };
  if (point.kind === 'next') return recovered;
  const plan = await checkpoint.plan(point.batchId);
  if (plan === null) throw plannedElsewhere(point.batchId);
  if (isResetPlan(plan)) {
    await finishReset(checkpoint, plan);
    log.info(`batch ${point.batchId}, a reset that was cut off, is finished`, { ...plan.reset });
    return recovered;
  }
  const prepared = await checkpoint.prepared(point.batchId);
  if (prepared?.givenUp !== undefined) throw resetUnfinished(checkpoint, prepared.givenUp);
  await assertFollows(checkpoint, plan);
  return { ...recovered, unfinished: { plan, prepared: prepared !== null } };
}

/**
 * A query that began and planned no batch yet: it begins where it first said it would, not where `startingOffsets`
 * leads today (as Spark, which reads `sources/0/0`). Else what came while it was down would be passed over.
 */
async function resumeStart(checkpoint: Checkpoint): Promise<KnownSource | null> {
  const positions = await checkpoint.initialOffsets();
  if (positions === null) return null;
  const plan = await checkpoint.plan(0);
  if (isResetPlan(plan)) throw resetUnfinished(checkpoint, plan.reset);
  return { clusterId: plan?.clusterId ?? null, topics: plan?.topics ?? [], positions };
}

async function knownIdentity(
  checkpoint: Checkpoint,
  epochs: LeaderEpochs,
  batchId: number,
): Promise<Pick<KnownSource, 'clusterId' | 'topics'>> {
  const done = await checkpoint.done(batchId);
  epochs.learn(done?.funnel ?? []);
  const plan = await checkpoint.plan(batchId);
  epochs.learnPlanned(plan?.leaderEpochs ?? []);
  const source = plan ?? done;
  return { clusterId: source?.clusterId ?? null, topics: source?.topics ?? [] };
}

/** A planned range begins where the batch before ended, or where what lies between was given up on record. */
async function assertFollows(checkpoint: Checkpoint, plan: BatchPlan): Promise<void> {
  const before =
    plan.batchId === 0 ? await checkpoint.initialOffsets() : await checkpoint.offsets(plan.batchId - 1);
  for (const range of plan.ranges) {
    let from = (before === null ? undefined : getOffset(before, range.topic, range.partition)) ?? range.from;
    for (const lost of plan.lost)
      if (lost.topic === range.topic && lost.partition === range.partition && lost.from === from)
        from = lost.until;
    if (from === range.from) continue;
    throw new SluiceError(
      'CHECKPOINT_CORRUPT',
      `plan ${plan.batchId}: ${range.topic}-${range.partition} is planned from ${range.from}, but the batch before ended at ${from}; restore the checkpoint's files from one copy`,
      { context: { topic: range.topic, partition: range.partition, expected: from, found: range.from } },
    );
  }
}

/** A batch that Spark planned has no `plan/N`; whether its sink took it is not known here. */
function plannedElsewhere(batchId: number): SluiceError {
  return new SluiceError(
    'UNSUPPORTED',
    `batch ${batchId} was planned by another engine and is not committed; let that engine finish it, then run again`,
    { context: { batchId } },
  );
}
