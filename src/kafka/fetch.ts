import type { AbortedTransaction } from './aborted-transactions.ts';
import type { Api } from './messages/api.ts';

export interface FetchRequest {
  /** How long the broker may wait for data where it has none. */
  readonly maxWaitMs: number;
  /** Of all records of the response; the first batch of the first partition that has any comes whole all the same (KIP-74). */
  readonly maxBytes: number;
  readonly isolationLevel: 0 | 1;
  /** The consumer's rack (KIP-392); empty for none. */
  readonly rackId: string;
  /** In the order in which the broker shall fill the response. */
  readonly topics: readonly {
    topic: string;
    topicId: string | null;
    partitions: readonly { partition: number; leaderEpoch: number; fetchOffset: bigint; maxBytes: number }[];
  }[];
}

/** The answer for one partition. The records lie at [start, end) of the response's frame. */
export interface FetchedPart {
  /** Null where the answer names the topic by its id. */
  readonly topic: string | null;
  readonly topicId: string | null;
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: bigint;
  /** -1 where the broker does not tell. */
  readonly lastStableOffset: bigint;
  /** -1 where the broker does not tell. */
  readonly logStartOffset: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** The replica to read from instead; -1 for this one. */
  readonly preferredReadReplica: number;
  readonly start: number;
  readonly end: number;
}

export interface FetchResponse {
  readonly throttleMs: number;
  readonly errorCode: number;
  readonly parts: readonly FetchedPart[];
}

/** The first version that names topics by their ids. */
export const FETCH_WITH_TOPIC_IDS = 13;

const NO_TRANSACTIONS: readonly AbortedTransaction[] = [];

/**
 * Fetch (1), without a session (id 0, epoch -1): each request says all it wants, so that nothing has to be kept in step
 * with the broker, and a broken connection leaves nothing behind. Versions after FetchRequest.json of Kafka 4.3.
 */
export const fetch: Api<FetchRequest, FetchResponse> = {
  name: 'Fetch',
  key: 1,
  min: 4,
  max: 17,
  flexibleFrom: 12,
  write(w, request, version) {
    if (version <= 14) w.int32(-1); // replica id of a consumer
    w.int32(request.maxWaitMs).int32(1).int32(request.maxBytes).int8(request.isolationLevel);
    if (version >= 7) w.int32(0).int32(-1); // no session
    w.array(request.topics, ({ topic, topicId, partitions }) => {
      if (version >= FETCH_WITH_TOPIC_IDS) w.uuid(topicId);
      else w.string(topic);
      w.array(partitions, (p) => {
        w.int32(p.partition);
        if (version >= 9) w.int32(p.leaderEpoch);
        w.int64(p.fetchOffset);
        if (version >= 12) w.int32(-1); // last fetched epoch: for replicas
        if (version >= 5) w.int64(-1n); // log start offset: for replicas
        w.int32(p.maxBytes).tags();
      });
      w.tags();
    });
    if (version >= 7) w.arrayLength(0); // forgotten topics
    if (version >= 11) w.string(request.rackId);
    w.tags();
  },
  read(r, version) {
    const throttleMs = r.int32();
    const errorCode = version >= 7 ? r.int16() : 0;
    if (version >= 7) r.int32(); // session id
    const parts: FetchedPart[] = [];
    const topics = r.arrayLength();
    for (let i = 0; i < topics; i++) {
      const topicId = version >= FETCH_WITH_TOPIC_IDS ? r.uuid() : null;
      const topic = version >= FETCH_WITH_TOPIC_IDS ? null : r.string();
      const partitions = r.arrayLength();
      for (let j = 0; j < partitions; j++) {
        const partition = r.int32();
        const code = r.int16();
        const highWatermark = r.int64();
        const lastStableOffset = r.int64();
        const logStartOffset = version >= 5 ? r.int64() : -1n;
        const abortedCount = r.arrayLength();
        const aborted: AbortedTransaction[] = [];
        for (let k = 0; k < abortedCount; k++) {
          aborted.push({ producerId: r.int64(), firstOffset: r.int64() });
          r.tags();
        }
        const preferredReadReplica = version >= 11 ? r.int32() : -1;
        const { start, end } = r.bytesRange();
        r.tags();
        parts.push({
          topic,
          topicId,
          partition,
          errorCode: code,
          highWatermark,
          lastStableOffset,
          logStartOffset,
          aborted: abortedCount > 0 ? aborted : NO_TRANSACTIONS,
          preferredReadReplica,
          start,
          end,
        });
      }
      r.tags();
    }
    r.tags();
    return { throttleMs, errorCode, parts };
  },
};
