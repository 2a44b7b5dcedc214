import { getOffset } from '../../core/offset-range.ts';
import { type TopicPartition, topicPartitionKey } from '../../core/topic-partition.ts';
import { isSluiceError, SluiceError } from '../../errors.ts';
import { parseRoutingText, routeTopics } from '../routing.ts';
import type { SourceState } from '../source-state.ts';
import { countOffsets } from './ledger-rows.ts';
import {
  type Aim,
  EARLIEST,
  isOtherCluster,
  isReplaced,
  LATEST,
  movePartition,
  type ObservedLog,
  type PartitionMove,
  UNREAD,
} from './partition-move.ts';
import type { PendingBatch, ResetBase } from './reset-base.ts';
import type { ResetRequest, ResetTarget } from './reset-request.ts';

/** What a reset would do. */
export interface ResetPreview {
  /** The number of the batch that is appended. */
  batchId: number;
  moves: PartitionMove[];
  /** Data tables by topic, where the plan of the last batch tells. */
  tables: Map<string, string>;
  /** The last planned batch, which is not read and is taken back. */
  givesUp: PendingBatch | null;
  clusterFrom: string | null;
  clusterTo: string | null;
  /** False where everything would stay as it is: then nothing is written. */
  changes: boolean;
  /** Why it cannot be done, or not without another option. */
  refusals: string[];
}

/**
 * What a request would do to a checkpoint. Throws USAGE for partitions and offsets that are not there, RESET_REFUSED where
 * the topic, or the cluster, is not one that can be reset so.
 */
export function previewReset(base: ResetBase, request: ResetRequest, log: ObservedLog): ResetPreview {
  const { state } = log;
  const { scope } = request;
  const otherCluster = isOtherCluster(base, state);
  if (scope.kind === 'topic' && otherCluster) {
    throw refused(
      `the checkpoint came from cluster ${base.clusterId}, the brokers belong to cluster ${state.clusterId}: \`sluice checkpoint reset --cluster --to earliest\` previews how to go on with all topics of the new cluster`,
    );
  }
  const topics = scope.kind === 'topic' ? [knownTopic(base, state, scope.topic)] : knownTopics(base, state);
  const moves = topics.flatMap((topic) => movesOf(base, request, log, topic));
  const { pending } = base;
  const givesUp = pending?.state === 'unread' || pending?.state === 'given up' ? pending : null;
  const tables = tablesOf(base, topics);
  const preview: ResetPreview = {
    batchId: base.batchId,
    moves,
    tables,
    givesUp,
    clusterFrom: base.clusterId,
    clusterTo: scope.kind === 'cluster' ? state.clusterId : base.clusterId,
    changes: givesUp !== null || otherCluster || moves.some((m) => m.changed),
    refusals: [],
  };
  if (scope.kind === 'cluster' && !otherCluster && preview.changes)
    preview.refusals.push(
      `the brokers belong to the cluster of the checkpoint (${base.clusterId ?? 'which it does not know'}): there is no other one to acknowledge; name the topic with --topic`,
    );
  preview.refusals.push(...pendingRefusals(base, request, log), ...againRefusals(preview, request));
  return preview;
}

export function refused(message: string, context: Record<string, unknown> = {}): SluiceError {
  return new SluiceError('RESET_REFUSED', `${message}; nothing was written`, {
    outcome: 'not-applied',
    context,
  });
}

function knownTopic(base: ResetBase, state: SourceState, topic: string): string {
  if (!isRead(state, topic)) {
    throw refused(
      `topic ${topic} is not one that this pipeline reads: ${[...state.topicIds.keys()].sort().join(', ')}`,
      { topic },
    );
  }
  if (!base.positions.has(topic))
    throw refused(`topic ${topic} was never read: the next run begins it at its earliest offset`, { topic });
  return topic;
}

function knownTopics(base: ResetBase, state: SourceState): string[] {
  return [...base.positions.keys()].filter((topic) => isRead(state, topic)).sort();
}

/** Also a topic that is no more and that `subscribePattern` would take: it can leave the checkpoint. */
function isRead(state: SourceState, topic: string): boolean {
  return state.topicIds.has(topic) || state.missing.includes(topic);
}

function movesOf(base: ResetBase, request: ResetRequest, log: ObservedLog, topic: string): PartitionMove[] {
  const { state } = log;
  const { scope, target } = request;
  const replaced = isReplaced(base, state, topic);
  const present = state.partitions.filter((p) => p.topic === topic).map((p) => p.partition);
  const count = state.partitionCounts.get(topic) ?? 0;
  // A partition that is there and not read by this pipeline keeps its position, unless that was of another log.
  const kept = [...(base.positions.get(topic) ?? new Map<number, bigint>()).keys()].filter(
    (p) => !present.includes(p) && (replaced || p >= count),
  );
  const all = [...present, ...kept].sort((a, b) => a - b);
  const wanted = scope.kind === 'topic' && scope.partition !== null ? [scope.partition] : all;
  const named = target.kind === 'map' ? [...(target.offsets.get(topic)?.keys() ?? [])] : wanted;
  for (const partition of named) {
    if (!all.includes(partition))
      throw new SluiceError('USAGE', `topic ${topic} has no partition ${partition}: ${all.join(', ')}`, {
        context: { topic, partition },
      });
  }
  if (replaced && present.some((p) => !named.includes(p))) {
    throw refused(
      `topic ${topic} was deleted and created anew, so that all its partitions (${present.join(', ')}) begin anew; only ${named.join(', ') || 'none'} ${named.length === 1 ? 'is' : 'are'} named`,
      { topic },
    );
  }
  if (target.kind === 'offset' && named.length > 1)
    throw new SluiceError(
      'USAGE',
      `topic ${topic} has the partitions ${all.join(', ')}: name one with --partition, or give the offsets as {"${all[0]}":${target.offset}}`,
      { context: { topic } },
    );
  // What is no more leaves the checkpoint, named or not, when the topic itself is another one.
  const moved = replaced ? [...new Set([...named, ...kept])] : named;
  return moved
    .sort((a, b) => a - b)
    .map((partition) => movePartition(base, log, { topic, partition }, aimOf(target, { topic, partition })));
}

function aimOf(target: ResetTarget, { topic, partition }: TopicPartition): Aim {
  switch (target.kind) {
    case 'earliest':
      return EARLIEST;
    case 'latest':
      return LATEST;
    case 'unread':
      return UNREAD;
    case 'offset':
      return target.offset;
    case 'map':
      return getOffset(target.offsets, topic, partition) ?? EARLIEST;
  }
}

/** Only for what is shown: a routing of another version must not keep anyone from a reset. */
function tablesOf(base: ResetBase, topics: readonly string[]): Map<string, string> {
  if (base.plan === null) return new Map();
  const known = new Set(base.plan.ranges.map((r) => r.topic));
  const routed = topics.filter((topic) => known.has(topic));
  try {
    const { rules } = parseRoutingText(base.plan.config.text);
    return new Map(routeTopics(routed, rules).map((r) => [r.topic, r.table]));
  } catch (error) {
    if (isSluiceError(error, 'PLAN_CONFIG_CHANGED') || isSluiceError(error, 'CONFIG_INVALID'))
      return new Map();
    throw error;
  }
}

/** A batch that was planned must be finished first, unless it cannot be read any more. */
function pendingRefusals(base: ResetBase, request: ResetRequest, log: ObservedLog): string[] {
  const { pending } = base;
  if (pending === null || pending.state === 'given up') return [];
  const batch = `batch ${pending.batchId}`;
  if (pending.state === 'planned elsewhere')
    return [
      `${batch} was planned by another engine and is not committed, and whether its table has it is not known here: let that engine finish it`,
    ];
  if (pending.state === 'prepared')
    return [
      `the files of ${batch} are written and its commits have begun: \`sluice run --once\` finishes it from its list, whatever became of its records; then reset`,
    ];
  if (request.giveUpBatch || pending.ranges.some((r) => isUnreadable(base, log, r))) return [];
  return [
    `${batch} was planned and is not read yet, and its records are still there: \`sluice run --once\` reads it; then reset. With --give-up-batch it is taken back instead: nothing of it is in any table, and partitions that are not reset are read again from where it began`,
  ];
}

function isUnreadable(
  base: ResetBase,
  { state, parted }: ObservedLog,
  range: { topic: string; partition: number; from: bigint; until: bigint },
): boolean {
  const { topic, partition } = range;
  if (isOtherCluster(base, state)) return true;
  if (state.missing.includes(topic)) return true;
  // A topic that is no longer subscribed was not asked for.
  if (!state.topicIds.has(topic)) return false;
  if (isReplaced(base, state, topic)) return true;
  if (partition >= state.partitionCounts.get(topic)!) return true;
  const logStart = getOffset(state.earliest, topic, partition);
  if (logStart === undefined || range.until === range.from) return false;
  return (
    logStart > range.from ||
    getOffset(state.highWatermark, topic, partition)! < range.until ||
    parted.has(topicPartitionKey(topic, partition))
  );
}

const LISTED = 5;

function againRefusals(preview: ResetPreview, request: ResetRequest): string[] {
  const back = preview.moves.filter((m) => m.again.length > 0);
  if (request.allowDuplicates || back.length === 0) return [];
  const listed = back.slice(0, LISTED).map((m) => {
    const where = m.again.map((s) => `[${s.from}, ${s.until})`).slice(0, LISTED);
    const more = m.again.length > LISTED ? ', ...' : '';
    return `${topicPartitionKey(m.topic, m.partition)} ${where.join(', ')}${more} (${countOffsets(m.again)} offsets) into ${preview.tables.get(m.topic) ?? 'its table'}`;
  });
  const more = back.length > LISTED ? ` and ${back.length - LISTED} partitions more` : '';
  return [
    `what was read before would come again, and the table would hold it twice: ${listed.join('; ')}${more}. \`--to unread\` goes on where the records begin that were not read; --allow-duplicates does it all the same`,
  ];
}
