import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan, LostRange } from '../checkpoint/records.ts';
import type { RestartPoint } from '../checkpoint/restart-point.ts';
import { type OffsetMap, setOffset } from '../core/offset-range.ts';
import type { Log } from '../engine/host.ts';
import type { KnownSource } from '../engine/known-source.ts';
import { LeaderEpochs } from '../engine/leader-epochs.ts';
import { checkIdentity, deletedError, findLostRanges } from '../engine/loss-check.ts';
import type { SourceState } from '../engine/source-state.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';

/** The log as the next run will find it. */
export interface NextLog {
  /** Where the next new batch begins: at the log's start where that has moved above the checkpoint's position. */
  positions: OffsetMap;
  /** Offsets that were deleted before they were read, and that `failOnDataLoss: false` gives up. */
  lost: LostRange[];
}

/**
 * Compares the log with what the checkpoint came from, as the next run does before it plans, on a copy of the positions.
 * Throws what that run would throw: CLUSTER_REPLACED, TOPIC_REPLACED, PARTITIONS_DELETED, and DATA_LOSS for a log that
 * ends below a position or, under `failOnDataLoss`, starts above one. A batch that is planned and not yet read is compared
 * by its own ranges; one that is finished from its list needs no log.
 */
export async function checkNextLog(
  checkpoint: Checkpoint,
  start: RestartPoint,
  state: SourceState,
  positions: OffsetMap,
  failOnDataLoss: boolean,
): Promise<NextLog> {
  const copy: OffsetMap = new Map([...positions].map(([topic, partitions]) => [topic, new Map(partitions)]));
  const source = await knownSource(checkpoint);
  if (source === null) return { positions: copy, lost: [] };
  if (start.kind !== 'rerun') {
    const known = { ...source, positions: copy };
    checkIdentity(known, state);
    return { positions: copy, lost: refuseLoss(findLostRanges(known, state), failOnDataLoss) };
  }
  if ((await checkpoint.prepared(start.batchId)) !== null) return { positions: copy, lost: [] };
  const planned = positionsOf(await checkpoint.plan(start.batchId));
  checkIdentity({ ...source, positions: planned }, state);
  const lost = findLostRanges({ ...source, positions: planned }, state);
  return { positions: copy, lost: refuseLoss(lost, failOnDataLoss) };
}

/**
 * As the next run does before it reads: has the log been cut off inside of what was read, by the leader epochs that the
 * checkpoint knows (KIP-320)? Its offsets may look right. Throws DATA_LOSS.
 */
export async function checkTruncation(
  checkpoint: Checkpoint,
  start: RestartPoint,
  cluster: KafkaCluster,
  state: SourceState,
  positions: OffsetMap,
): Promise<void> {
  const source = await knownSource(checkpoint);
  if (source === null) return;
  const planned = start.kind === 'rerun' ? start.batchId : checkpoint.latestPlanned;
  const epochs = new LeaderEpochs();
  if (planned !== null) {
    if (start.kind === 'rerun' && (await checkpoint.prepared(planned)) !== null) return;
    epochs.learn((await checkpoint.done(planned))?.funnel ?? []);
    epochs.learnPlanned((await checkpoint.plan(planned))?.leaderEpochs ?? []);
  }
  const known = start.kind === 'rerun' ? positionsOf(await checkpoint.plan(start.batchId)) : positions;
  await epochs.checkTruncation(cluster, { ...source, positions: known }, state, SILENT);
}

/** Nothing of `explain` is logged. */
const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The log that the newest plan is of; null where nothing was ever begun. */
async function knownSource(checkpoint: Checkpoint): Promise<Omit<KnownSource, 'positions'> | null> {
  const { latestPlanned } = checkpoint;
  if (latestPlanned === null && (await checkpoint.initialOffsets()) === null) return null;
  const plan = await checkpoint.plan(latestPlanned ?? 0);
  const source = plan ?? (latestPlanned === null ? null : await checkpoint.done(latestPlanned));
  return { clusterId: source?.clusterId ?? null, topics: source?.topics ?? [] };
}

/** Where the ranges begin that are still to be read. */
function positionsOf(plan: BatchPlan | null): OffsetMap {
  const positions: OffsetMap = new Map();
  for (const { topic, partition, from, until } of plan?.ranges ?? [])
    if (until > from) setOffset(positions, topic, partition, from);
  return positions;
}

function refuseLoss(lost: LostRange[], failOnDataLoss: boolean): LostRange[] {
  if (lost.length > 0 && failOnDataLoss) throw deletedError(lost, new Map());
  return lost;
}
