/** A partition of a topic. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** The map key of a topic-partition: `topic-partition`, as Kafka's own tools print it. */
export function topicPartitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/** Order by topic (UTF-16 code units), then partition. */
export function compareTopicPartitions(a: TopicPartition, b: TopicPartition): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition;
}
