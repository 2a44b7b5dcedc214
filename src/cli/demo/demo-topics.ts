import { SluiceError } from '../../errors.ts';
import type { KafkaCluster, ListedOffset, TopicMetadata } from '../../kafka/cluster.ts';

const PARTITIONS = 3;

export interface DemoTopics {
  /** Those that were not there before. */
  created: string[];
  /** All of them. */
  topics: readonly TopicMetadata[];
}

/**
 * Sees to it that the topics are there: creates the missing ones with 3 partitions and without an end of retention, for the
 * events of the demo bear times of the past. A topic that is there is used as it is.
 */
export async function ensureTopics(cluster: KafkaCluster, names: readonly string[]): Promise<DemoTopics> {
  const before = await cluster.metadata(names);
  const created = [...before.missing];
  await cluster.createTopics(
    created.map((topic) => ({ topic, partitions: PARTITIONS, config: { 'retention.ms': '-1' } })),
  );
  const { topics, missing } = created.length === 0 ? before : await cluster.metadata(names);
  if (missing.length > 0)
    throw new SluiceError('TOPIC_NOT_FOUND', `topic ${missing.join(', ')} was created and is not there`, {
      context: { topics: missing },
    });
  return { created, topics };
}

/** Where a reader that waits for transactions comes to the end, for each partition. */
export function endsOf(cluster: KafkaCluster, topics: readonly TopicMetadata[]): Promise<ListedOffset[]> {
  return cluster.listOffsets(
    topics.flatMap(({ topic, partitions }) => partitions.map(({ partition }) => ({ topic, partition }))),
    'lastStable',
  );
}
