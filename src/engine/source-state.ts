import type { SourceConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, setOffset } from '../core/offset-range.ts';
import { compareTopicPartitions, type TopicPartition } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';

/** What the brokers say at one moment about the partitions that are read. */
export interface SourceState {
  clusterId: string | null;
  topicIds: Map<string, string | null>;
  /** In order of topic and partition. */
  partitions: TopicPartition[];
  /** Log start offsets. */
  earliest: OffsetMap;
  /** The offsets up to which a reader of the isolation level may read: the last stable offset or the high watermark. */
  latest: OffsetMap;
  highWatermark: OffsetMap;
  leaderEpochs: OffsetMap;
}

/**
 * Asks the brokers for the assigned partitions and their offsets. Throws TOPIC_NOT_FOUND for a topic that is not
 * there, PARTITIONS_DELETED for an assigned partition that is not. An empty answer is an error, never "no partitions"
 * (spec 20: an empty map that was stored as an offset would read everything again).
 */
export async function observeSource(cluster: KafkaCluster, source: SourceConfig): Promise<SourceState> {
  const { selection } = source;
  const topics = selection.kind === 'subscribe' ? selection.topics : [...selection.partitions.keys()];
  const metadata = await cluster.metadata(topics);
  if (metadata.missing.length > 0) {
    throw new SluiceError(
      'TOPIC_NOT_FOUND',
      `topic ${metadata.missing.join(', ')} does not exist on ${source.bootstrapServers}`,
      {
        context: { topics: metadata.missing },
      },
    );
  }
  const topicIds = new Map<string, string | null>();
  const partitions: TopicPartition[] = [];
  const leaderEpochs: OffsetMap = new Map();
  for (const topic of metadata.topics) {
    topicIds.set(topic.topic, topic.topicId);
    const found = new Set(topic.partitions.map((p) => p.partition));
    const wanted = selection.kind === 'assign' ? selection.partitions.get(topic.topic)! : [...found];
    for (const partition of wanted) {
      if (!found.has(partition)) {
        throw new SluiceError(
          'PARTITIONS_DELETED',
          `partition ${topic.topic}-${partition} is assigned, but the topic has ${found.size} partitions`,
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
  if (partitions.length === 0) {
    throw new SluiceError(
      'BROKER_ERROR',
      `the brokers named no partition of ${topics.join(', ')}; expected at least one`,
    );
  }
  partitions.sort(compareTopicPartitions);
  const [earliest, highWatermark] = [
    await offsetsOf(cluster, partitions, 'earliest'),
    await offsetsOf(cluster, partitions, 'highWatermark'),
  ];
  const latest =
    source.isolationLevel === 'read_committed'
      ? await offsetsOf(cluster, partitions, 'lastStable')
      : highWatermark;
  return {
    clusterId: metadata.clusterId,
    topicIds,
    partitions,
    earliest,
    latest,
    highWatermark,
    leaderEpochs,
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
 * As `observeSource`, asked again up to `fetchOffset.numRetries` times while a latest offset is smaller than what is
 * known: a follower that just became leader may lag for a moment (spec 20).
 */
export async function observeSourceSettled(
  cluster: KafkaCluster,
  source: SourceConfig,
  known: OffsetMap,
  sleep: (ms: number) => Promise<void>,
): Promise<SourceState> {
  let state = await observeSource(cluster, source);
  for (let attempt = 0; attempt < source.fetchOffsetNumRetries && isBehind(state, known); attempt++) {
    await sleep(source.fetchOffsetRetryIntervalMs);
    state = await observeSource(cluster, source);
  }
  return state;
}

function isBehind(state: SourceState, known: OffsetMap): boolean {
  return state.partitions.some(({ topic, partition }) => {
    const position = getOffset(known, topic, partition);
    return position !== undefined && getOffset(state.highWatermark, topic, partition)! < position;
  });
}
