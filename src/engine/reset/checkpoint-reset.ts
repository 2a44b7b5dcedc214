import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import type { PlannedReset } from '../../checkpoint/records.ts';
import { appendReset, finishReset, isResetPlan, type ResetPlan } from '../../checkpoint/reset-batch.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { type OffsetMap, offsetEntries, setOffset } from '../../core/offset-range.ts';
import { topicPartitionKey } from '../../core/topic-partition.ts';
import { isSluiceError, SluiceError } from '../../errors.ts';
import type { KafkaCluster } from '../../kafka/cluster.ts';
import { routingText } from '../routing.ts';
import { sha256Hex } from '../sha256.ts';
import { observeSource, type SourceState } from '../source-state.ts';
import { lostRanges, type ObservedLog } from './partition-move.ts';
import { type ResetBase, readResetBase } from './reset-base.ts';
import { previewReset, type ResetPreview, refused } from './reset-preview.ts';
import { type ResetRequest, resetCommand } from './reset-request.ts';

export interface ResetContext {
  config: PipelineConfig;
  /** To look only: opened read-only. To execute: opened to write, by a writer id of its own. */
  checkpoint: Checkpoint;
  cluster: KafkaCluster;
  writerId: string;
  now(): number;
}

export interface ResetOutcome {
  /** Null where only the unfinished reset of the same command was finished. */
  preview: ResetPreview | null;
  /** The batch that was appended; null where nothing had to be. */
  appended: number | null;
  /** A reset that an earlier process had begun, and that this one has finished. */
  finished: (PlannedReset & { batchId: number }) | null;
}

/** What the reset would do, and one that was cut off before and would be finished first. Writes nothing. */
export async function lookAtReset(
  context: ResetContext,
  request: ResetRequest,
): Promise<{ preview: ResetPreview; unfinished: ResetBase['unfinished'] }> {
  const base = await readResetBase(context.checkpoint);
  const preview = previewReset(base, request, await observeLog(context, base));
  return { preview, unfinished: base.unfinished };
}

/**
 * Does the reset: under the lease, it finishes one that was cut off, and appends a batch that moves the positions. Where
 * nothing would change nothing is written. Throws RESET_REFUSED, USAGE, CHECKPOINT_CONCURRENT, and what brokers and storage
 * throw; after a crash or an error the same call finishes it.
 */
export async function executeReset(context: ResetContext, request: ResetRequest): Promise<ResetOutcome> {
  const { checkpoint, writerId } = context;
  await takeLease(checkpoint);
  try {
    const finished = await finishEarlier(checkpoint);
    if (finished !== null && finished.command === resetCommand(request))
      return { preview: null, appended: null, finished };
    const base = await readResetBase(checkpoint);
    const log = await observeLog(context, base);
    const preview = previewReset(base, request, log);
    if (preview.refusals.length > 0) throw refused(preview.refusals.join('; and '));
    if (!preview.changes) return { preview, appended: null, finished };
    const offsets = positionsAfter(base, preview);
    const plan = planReset(context, base, request, preview, log.state, offsets);
    // The brokers may have taken long to answer.
    const other = await checkpoint.heartbeat();
    if (other !== undefined) throw inUse(checkpoint, other);
    await appendReset(checkpoint, { plan, offsets, givesUp: preview.givesUp?.batchId ?? null, writerId });
    return { preview, appended: plan.batchId, finished };
  } finally {
    await checkpoint.releaseLease().catch(() => undefined);
  }
}

async function takeLease(checkpoint: Checkpoint): Promise<void> {
  const { acquired, previous } = await checkpoint.acquireLease();
  if (!acquired && previous !== undefined) throw inUse(checkpoint, previous);
}

function inUse(checkpoint: Checkpoint, owner: { pid: number; host: string }): SluiceError {
  return new SluiceError(
    'CHECKPOINT_CONCURRENT',
    `the checkpoint ${checkpoint.location} is in use by process ${owner.pid} on ${owner.host}; nothing was written. Stop that process first`,
    { outcome: 'not-applied', context: { owner } },
  );
}

async function finishEarlier(checkpoint: Checkpoint): Promise<ResetOutcome['finished']> {
  const point = checkpoint.restart();
  if (point.kind !== 'rerun') return null;
  const plan = await checkpoint.plan(point.batchId);
  if (!isResetPlan(plan)) return null;
  await finishReset(checkpoint, plan);
  return { ...plan.reset, batchId: plan.batchId };
}

async function observeLog({ cluster, config }: ResetContext, base: ResetBase): Promise<ObservedLog> {
  const state = await observeSource(cluster, config.source, base.positions.keys());
  const parted = new Map<string, bigint | null>();
  const ids = new Map(base.topics.map((t) => [t.topic, t.topicId]));
  const asked = state.partitions.flatMap(({ topic, partition }) => {
    const read = base.epochs.get(topicPartitionKey(topic, partition));
    const known = ids.get(topic) ?? null;
    const found = state.topicIds.get(topic) ?? null;
    const another = known !== null && found !== null && known !== found;
    return read === undefined || another ? [] : [{ topic, partition, epoch: read.epoch }];
  });
  try {
    for (const answer of asked.length === 0 ? [] : await cluster.epochEndOffsets(asked)) {
      const key = topicPartitionKey(answer.topic, answer.partition);
      if (answer.epoch < 0) parted.set(key, null);
      else if (answer.endOffset < base.epochs.get(key)!.endOffset) parted.set(key, answer.endOffset);
    }
  } catch (error) {
    // Brokers before 2.0 cannot be asked by epoch: there the offsets alone tell.
    if (!isSluiceError(error, 'UNSUPPORTED')) throw error;
  }
  return { state, parted };
}

function positionsAfter(base: ResetBase, preview: ResetPreview): OffsetMap {
  const after: OffsetMap = new Map();
  const moves = new Map(preview.moves.map((m) => [topicPartitionKey(m.topic, m.partition), m]));
  for (const { topic, partition, offset } of offsetEntries(base.positions)) {
    if (!moves.has(topicPartitionKey(topic, partition))) setOffset(after, topic, partition, offset);
  }
  for (const { topic, partition, to } of preview.moves) {
    if (to !== null) setOffset(after, topic, partition, to);
  }
  if (after.size === 0) throw refused('no partition would be left to read');
  return after;
}

/** A batch that reads nothing: empty ranges at the new positions, and the log that they are of. */
function planReset(
  { config, now }: ResetContext,
  base: ResetBase,
  request: ResetRequest,
  preview: ResetPreview,
  state: SourceState,
  offsets: OffsetMap,
): ResetPlan {
  const moved = new Map(preview.moves.map((m) => [topicPartitionKey(m.topic, m.partition), m]));
  const movedTopics = new Set(preview.moves.map((m) => m.topic));
  // Those that the routing below knows; where another engine planned before, what is read now.
  const routed = new Set([
    ...movedTopics,
    ...(base.plan?.ranges.map((r) => r.topic) ?? state.topicIds.keys()),
  ]);
  const at = now();
  const text = routingText(config.tables, config.source.includeHeaders);
  return {
    batchId: base.batchId,
    batchTimestampMs: at,
    clusterId: preview.clusterTo ?? state.clusterId,
    topics: base.topics
      .filter(({ topic }) => !movedTopics.has(topic))
      .concat([...movedTopics].map((topic) => ({ topic, topicId: state.topicIds.get(topic) ?? null })))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1)),
    ranges: [...offsetEntries(offsets)]
      .filter(({ topic }) => routed.has(topic))
      .map(({ topic, partition, offset }) => ({ topic, partition, from: offset, until: offset })),
    // Of a partition that is moved, what was read last no longer ends where the next record begins.
    leaderEpochs: [...offsetEntries(offsets)].flatMap(({ topic, partition }) => {
      const key = topicPartitionKey(topic, partition);
      const read = moved.get(key)?.changed === true ? undefined : base.epochs.get(key);
      return read === undefined ? [] : [{ topic, partition, ...read }];
    }),
    tables: base.plan?.tables ?? [],
    config: base.plan?.config ?? { hash: sha256Hex(text), text },
    lost: [...base.carried, ...preview.moves.flatMap((move) => lostRanges(move, request.reason, request.by))],
    reset: {
      reason: request.reason,
      by: request.by,
      at: new Date(at).toISOString(),
      command: resetCommand(request),
      previous: { clusterId: base.clusterId, topics: base.topics },
    },
  };
}
