import type { SourceConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, offsetEntries, setOffset } from '../core/offset-range.ts';
import { compareTopicPartitions, type TopicPartition } from '../core/topic-partition.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { KnownSource } from './known-source.ts';
import { selectTopics } from './topic-selection.ts';

/** What the brokers say at one moment about the partitions that are read. */
export interface SourceState {
  clusterId: string | null;
  topicIds: Map<string, string | null>;
  /** Those that are read, in order of topic and partition. */
  partitions: TopicPartition[];
  /** How many partitions each topic has, read or not. */
  partitionCounts: Map<string, number>;
  /** Log start offsets. */
  earliest: OffsetMap;
  /** The offsets up to which a reader of the isolation level may read: the last stable offset or the high watermark. */
  latest: OffsetMap;
  highWatermark: OffsetMap;
  leaderEpochs: OffsetMap;
  /** Topics that were read before, that `subscribePattern` still takes, and that are no more. */
  missing: string[];
  /** Topics that `subscribePattern` matches only in part: they are not read. */
  matchedInPart: string[];
}

/**
 * Asks the brokers for the assigned partitions and their offsets. Throws TOPIC_NOT_FOUND for a topic that is not
 * there, PARTITIONS_DELETED for an assigned partition that is not. An empty answer is an error, never "no partitions"
 * (spec 20: an empty map that was stored as an offset would read everything again). `known` names the topics that were
 * read before; a pattern tells by them which are gone.
 */
export async function observeSource(
  cluster: KafkaCluster,
  source: SourceConfig,
  known: Iterable<string> = [],
): Promise<SourceState> {
  const { selection } = source;
  const selected = await selectTopics(cluster, source, known);
  const topicIds = new Map<string, string | null>();
  const partitions: TopicPartition[] = [];
  const partitionCounts = new Map<string, number>();
  const leaderEpochs: OffsetMap = new Map();
  for (const topic of selected.topics) {
    topicIds.set(topic.topic, topic.topicId);
    partitionCounts.set(topic.topic, topic.partitions.length);
    const found = new Set(topic.partitions.map((p) => p.partition));
    const wanted = selection.kind === 'assign' ? selection.partitions.get(topic.topic)! : [...found];
    for (const partition of wanted) {
      if (!found.has(partition)) {
        throw new SluiceError(
          'PARTITIONS_DELETED',
          `partition ${topic.topic}-${partition} is assigned, but the topic has ${found.size} partitions; mend \`assign\``,
          {
            context: { topic: topic.topic, partition },
          },
        );
      }
      partitions.push({ topic: topic.topic, partition });
    }
    for (const p of topic.partitions)
      setOffset(leaderEpochs, topic.topic, p.partition, BigInt(p.leaderEpoch));
  }
  if (partitions.length === 0 && selected.missing.length === 0) {
    throw new SluiceError('BROKER_ERROR', 'the brokers named no partition to read; expected at least one');
  }
  partitions.sort(compareTopicPartitions);
  const [earliest, highWatermark, stable] = await Promise.all([
    offsetsOf(cluster, partitions, 'earliest'),
    offsetsOf(cluster, partitions, 'highWatermark'),
    source.isolationLevel === 'read_committed' ? offsetsOf(cluster, partitions, 'lastStable') : null,
  ]);
  const latest = stable ?? highWatermark;
  // Asked at once, the two are of different moments: a last stable offset is never above the high watermark.
  for (const { topic, partition } of partitions) {
    const end = getOffset(latest, topic, partition)!;
    if (end > getOffset(highWatermark, topic, partition)!) setOffset(highWatermark, topic, partition, end);
  }
  return {
    clusterId: selected.clusterId,
    topicIds,
    partitions,
    partitionCounts,
    earliest,
    latest,
    highWatermark,
    leaderEpochs,
    missing: selected.missing,
    matchedInPart: selected.matchedInPart,
  };
}

async function offsetsOf(
  cluster: KafkaCluster,
  partitions: TopicPartition[],
  which: 'earliest' | 'highWatermark' | 'lastStable',
): Promise<OffsetMap> {
  const offsets: OffsetMap = new Map();
  for (const answer of await cluster.listOffsets(partitions, which))
    setOffset(offsets, answer.topic, answer.partition, answer.offset);
  for (const { topic, partition } of partitions) {
    if (getOffset(offsets, topic, partition) === undefined) {
      throw new SluiceError('BROKER_ERROR', `the brokers gave no ${which} offset for ${topic}-${partition}`, {
        context: { topic, partition },
      });
    }
  }
  return offsets;
}

/**
 * As `observeSource`, asked again up to `fetchOffset.numRetries` times while the answer may be of a moment only: a topic
 * or partition that was known is missing (brokers do not learn of a topic all at once), or a log is shorter than what
 * was read of it (a follower that just became leader may lag; spec 20). The last answer stands.
 */
export async function observeSourceSettled(
  cluster: KafkaCluster,
  source: SourceConfig,
  known: KnownSource | undefined,
  sleep: (ms: number) => Promise<void>,
): Promise<SourceState> {
  for (let attempt = 0; ; attempt++) {
    const last = attempt >= source.fetchOffsetNumRetries;
    try {
      const state = await observeSource(cluster, source, known?.positions.keys());
      if (last || known === undefined || isSettled(state, known)) return state;
    } catch (error) {
      if (last || !(isSluiceError(error, 'TOPIC_NOT_FOUND') || isSluiceError(error, 'PARTITIONS_DELETED')))
        throw error;
    }
    await sleep(source.fetchOffsetRetryIntervalMs);
  }
}

/** Another incarnation of a topic is no matter of waiting. */
function isSettled(state: SourceState, known: KnownSource): boolean {
  if (state.missing.length > 0) return false;
  const ids = new Map(known.topics.map((t) => [t.topic, t.topicId]));
  for (const { topic, partition, offset } of offsetEntries(known.positions)) {
    const id = ids.get(topic) ?? null;
    const found = state.topicIds.get(topic) ?? null;
    if (!state.topicIds.has(topic) || (id !== null && found !== null && id !== found)) continue;
    if (partition >= state.partitionCounts.get(topic)!) return false;
    const end = getOffset(state.highWatermark, topic, partition);
    if (end !== undefined && end < offset) return false;
  }
  return true;
}
