import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import type { BatchPlan, DoneBatch, LedgerEntry, LostRange, PlannedReset } from '../../checkpoint/records.ts';
import { isResetPlan } from '../../checkpoint/reset-batch.ts';
import { type OffsetMap, type OffsetRange, setOffset } from '../../core/offset-range.ts';
import { topicPartitionKey } from '../../core/topic-partition.ts';
import { SluiceError } from '../../errors.ts';
import type { KnownSource } from '../known-source.ts';

/** The last planned batch, where it is not committed. */
export interface PendingBatch {
  batchId: number;
  /**
   * unread: nothing of it is in any table. given up: a reset took it back and did not end. prepared: its files are
   * written, and it is finished from its list. planned elsewhere: by another engine, whose sink may have taken it.
   */
  state: 'unread' | 'given up' | 'prepared' | 'planned elsewhere';
  ranges: OffsetRange[];
}

/** Leader epoch of the last record batch read, and the offset after that batch. */
export interface EpochRead {
  epoch: number;
  endOffset: bigint;
}

/** What a checkpoint says, as a reset stands on it. The positions are those before a batch that is not read. */
export interface ResetBase extends KnownSource {
  /** The number of the batch that a reset appends. */
  batchId: number;
  /** By partition key. */
  epochs: Map<string, EpochRead>;
  /** The offsets that the query began with. */
  initial: OffsetMap | null;
  ledger: LedgerEntry[];
  /** The newest plan: its routing and tables. */
  plan: BatchPlan | null;
  pending: PendingBatch | null;
  /** Ranges that were given up before a pending batch: no record holds them yet. */
  carried: LostRange[];
  /** A reset whose positions are written and that has still to be committed. */
  unfinished: (PlannedReset & { batchId: number }) | null;
}

/** Throws RESET_REFUSED where there is nothing to reset, and what the checkpoint throws. */
export async function readResetBase(checkpoint: Checkpoint): Promise<ResetBase> {
  const point = checkpoint.restart();
  const initial = await checkpoint.initialOffsets();
  const ledger = await checkpoint.ledger();
  const shared = { initial, ledger, pending: null, carried: [], unfinished: null, epochs: new Map() };
  if (point.kind === 'fresh') {
    if (initial === null) {
      throw new SluiceError(
        'RESET_REFUSED',
        `checkpoint ${checkpoint.location} holds no offsets: the first run begins where startingOffsets says`,
        { context: { location: checkpoint.location } },
      );
    }
    const plan = await checkpoint.plan(0);
    // A reset that was cut off has replaced the plan that held where the query came from.
    const source = plan?.reset?.previous ?? plan;
    return { ...shared, ...sourceOf(source), positions: initial, batchId: 0, plan };
  }
  const last = point.kind === 'next' ? point.batchId - 1 : point.batchId;
  const plan = await checkpoint.plan(last);
  const done = await checkpoint.done(last);
  const base: ResetBase = {
    ...shared,
    ...sourceOf(plan ?? done),
    positions: await checkpoint.offsets(last),
    batchId: last + 1,
    epochs: epochsAfter(done, plan),
    plan,
  };
  if (point.kind === 'next') return base;
  if (isResetPlan(plan)) return { ...base, unfinished: { ...plan.reset, batchId: last } };
  return withPending(base, last, plan, await pendingState(checkpoint, last, plan));
}

async function pendingState(
  checkpoint: Checkpoint,
  batchId: number,
  plan: BatchPlan | null,
): Promise<PendingBatch['state']> {
  if (plan === null) return 'planned elsewhere';
  const prepared = await checkpoint.prepared(batchId);
  if (prepared === null) return 'unread';
  return prepared.givenUp === undefined ? 'prepared' : 'given up';
}

function withPending(
  base: ResetBase,
  batchId: number,
  plan: BatchPlan | null,
  state: PendingBatch['state'],
): ResetBase {
  const ranges = plan?.ranges ?? [];
  const pending: PendingBatch = { batchId, state, ranges };
  if (plan === null || state === 'prepared') return { ...base, pending };
  for (const { topic, partition, from } of ranges) setOffset(base.positions, topic, partition, from);
  return { ...base, pending, carried: plan.lost, epochs: epochsAfter(null, plan) };
}

function sourceOf(source: Pick<KnownSource, 'clusterId' | 'topics'> | null): Omit<KnownSource, 'positions'> {
  return { clusterId: source?.clusterId ?? null, topics: source?.topics ?? [] };
}

function epochsAfter(done: DoneBatch | null, plan: BatchPlan | null): Map<string, EpochRead> {
  const epochs = new Map<string, EpochRead>();
  for (const { topic, partition, epoch, endOffset } of plan?.leaderEpochs ?? [])
    epochs.set(topicPartitionKey(topic, partition), { epoch, endOffset });
  for (const { topic, partition, leaderEpoch, leaderEpochEnd } of done?.funnel ?? []) {
    if (leaderEpoch < 0) continue;
    epochs.set(topicPartitionKey(topic, partition), { epoch: leaderEpoch, endOffset: leaderEpochEnd });
  }
  return epochs;
}
