import { BROKER_ERROR } from './broker-errors.ts';
import type { ClusterView } from './cluster-view.ts';
import { FETCH_WITH_TOPIC_IDS, fetch } from './fetch.ts';

/** A place in a log where a read is tried. */
export interface ProbedPartition {
  topic: string;
  topicId: string | null;
  partition: number;
  offset: bigint;
}

/**
 * Asks the leader for records from an offset, and takes none: may this client read the topic? What the metadata and the
 * offsets take is Describe alone. Throws KAFKA_AUTH where it may not, and what the brokers answer.
 */
export async function probeRead(cluster: ClusterView, asked: ProbedPartition): Promise<void> {
  await cluster.onLeaders('trying to read', [asked], async (connection, [{ item, leaderEpoch }]) => {
    const { topic, topicId, partition, offset } = item;
    const most = topicId === null ? FETCH_WITH_TOPIC_IDS - 1 : fetch.max;
    const { errorCode, parts } = await connection.call(
      fetch,
      {
        maxWaitMs: 0,
        maxBytes: 1,
        isolationLevel: 0,
        rackId: '',
        topics: [
          { topic, topicId, partitions: [{ partition, leaderEpoch, fetchOffset: offset, maxBytes: 1 }] },
        ],
      },
      { version: connection.versionOf(fetch, most) },
    );
    const code = errorCode !== 0 ? errorCode : (parts[0]?.errorCode ?? 0);
    // The log has moved since the offset was asked for: it was read all the same.
    return [{ topic, partition, errorCode: code === BROKER_ERROR.OFFSET_OUT_OF_RANGE ? 0 : code }];
  });
}
