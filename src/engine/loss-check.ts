import type { LostRange } from '../checkpoint/records.ts';
import { getOffset, offsetEntries, setOffset } from '../core/offset-range.ts';
import { type TopicPartition, topicPartitionKey } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import type { KnownSource } from './known-source.ts';
import type { SourceState } from './source-state.ts';

/** Throws CLUSTER_REPLACED, TOPIC_REPLACED or PARTITIONS_DELETED: the log is not the one that the checkpoint came from (spec 20). */
export function checkIdentity(known: KnownSource, state: SourceState): void {
  checkCluster(known.clusterId, state.clusterId);
  for (const { topic, topicId } of known.topics) {
    const found = state.topicIds.get(topic);
    if (topicId === null || found === undefined || found === null || found === topicId) continue;
    throw new SluiceError(
      'TOPIC_REPLACED',
      `topic ${topic} was deleted and created anew: the checkpoint came from topic id ${topicId}, the brokers have ${found}; nothing was read. ` +
        `\`sluice checkpoint reset --topic ${topic} --to earliest\` previews how to go on with the new topic`,
      { context: { topic, expected: topicId, found } },
    );
  }
  // A topic that its name alone makes ours, and that is no more: what it held beyond our position nobody knows.
  if (state.missing.length > 0) throw topicsDeleted(known, state.missing);
  const gone: TopicPartition[] = [];
  for (const { topic, partition } of offsetEntries(known.positions)) {
    const count = state.partitionCounts.get(topic);
    // A topic or partition that is no longer read is not gone: it keeps its position.
    if (count !== undefined && partition >= count) gone.push({ topic, partition });
  }
  if (gone.length > 0) {
    throw new SluiceError(
      'PARTITIONS_DELETED',
      `partitions of the checkpoint no longer exist: ${gone.map((g) => topicPartitionKey(g.topic, g.partition)).join(', ')}; nothing was read. ` +
        `${[...new Set(gone.map((g) => `\`sluice checkpoint reset --topic ${g.topic} --to unread\``))].join(' and ')} previews how to go on without them`,
      {
        context: { partitions: gone.map((g) => topicPartitionKey(g.topic, g.partition)) },
      },
    );
  }
}

function topicsDeleted(known: KnownSource, missing: readonly string[]): SluiceError {
  const partitions = missing.flatMap((topic) =>
    [...(known.positions.get(topic)?.entries() ?? [])].map(([p, offset]) => `${topic}-${p} at ${offset}`),
  );
  return new SluiceError(
    'PARTITIONS_DELETED',
    `topics of the checkpoint that subscribePattern takes no longer exist: ${missing.join(', ')}${partitions.length === 0 ? '' : ` (read up to ${partitions.join(', ')})`}; nothing was read. ` +
      `${missing.map((topic) => `\`sluice checkpoint reset --topic ${topic} --to unread\``).join(' and ')} previews how to go on without them`,
    { context: { topics: missing, partitions } },
  );
}

/** Throws CLUSTER_REPLACED where both ids are known and differ. */
export function checkCluster(known: string | null, found: string | null): void {
  if (known === null || found === null || known === found) return;
  throw new SluiceError(
    'CLUSTER_REPLACED',
    `the checkpoint came from cluster ${known}, the brokers belong to cluster ${found}; nothing was read. Point kafka.bootstrap.servers at the right cluster; or, if the new one is meant, \`sluice checkpoint reset --cluster --to earliest\` previews how to go on with its topics`,
    { context: { expected: known, found } },
  );
}

/**
 * Compares the positions with the log's start and end. A log that ends below a position was truncated or replaced, and
 * its offsets name other records now: always DATA_LOSS (case C13). A log that starts above a position has lost the
 * range between: it is returned, and the position moves to the start, never to the end (case C12). The caller stops
 * with `deletedError` or, under `failOnDataLoss: false`, records the ranges.
 */
export function findLostRanges(known: KnownSource, state: SourceState): LostRange[] {
  const lost: LostRange[] = [];
  for (const { topic, partition } of state.partitions) {
    const position = getOffset(known.positions, topic, partition);
    if (position === undefined) continue;
    const end = getOffset(state.highWatermark, topic, partition)!;
    if (end < position) throw truncated(topic, partition, position, end);
    const start = getOffset(state.earliest, topic, partition)!;
    if (start <= position) continue;
    lost.push({
      topic,
      partition,
      from: position,
      until: start,
      topicId: state.topicIds.get(topic) ?? null,
      reason: 'retention deleted the records before they were read',
      acceptedBy: 'failOnDataLoss=false',
    });
    setOffset(known.positions, topic, partition, start);
  }
  return lost;
}

function truncated(topic: string, partition: number, position: bigint, end: bigint): SluiceError {
  return new SluiceError(
    'DATA_LOSS',
    `${topic}-${partition}: log end ${end} < checkpoint position ${position}; was the topic recreated, or the broker's volume lost? Nothing was read. ` +
      `\`sluice checkpoint reset --topic ${topic} --to unread\` previews how to go on with what comes after the records that were read`,
    { context: { topic, partition, position: position.toString(), logEnd: end.toString() } },
  );
}

/** DATA_LOSS over all lost ranges. `oldestMs` gives the time of the first record that is still there, by partition key. */
export function deletedError(lost: readonly LostRange[], oldestMs: ReadonlyMap<string, number>): SluiceError {
  const lines = lost.map(({ topic, partition, from, until }) => {
    const key = topicPartitionKey(topic, partition);
    const oldest = oldestMs.get(key);
    const age = oldest === undefined ? '' : ` (its oldest record is of ${new Date(oldest).toISOString()})`;
    return `${key}: offsets [${from}, ${until}) were deleted before they were read, ${until - from} records lost; the log now starts at ${until}${age}`;
  });
  const commands = [...new Set(lost.map((l) => l.topic))].map(
    (topic) => `\`sluice checkpoint reset --topic ${topic} --to unread\``,
  );
  return new SluiceError(
    'DATA_LOSS',
    `${lines.join('; ')}. Nothing was read. ${commands.join(' and ')} previews how to go on at the log's start, with the loss on record; with \`failOnDataLoss: false\` a run does so by itself`,
    {
      context: {
        lost: lost.map(({ topic, partition, from, until }) => ({
          topic,
          partition,
          from: from.toString(),
          until: until.toString(),
          count: (until - from).toString(),
        })),
      },
    },
  );
}
