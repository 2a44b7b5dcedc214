import type { Api } from './api.ts';

/** Special timestamps of ListOffsets. */
export const LATEST_TIMESTAMP = -1n;
export const EARLIEST_TIMESTAMP = -2n;

export interface ListOffsetsRequest {
  readonly isolationLevel: 0 | 1;
  readonly topics: readonly {
    topic: string;
    partitions: readonly { partition: number; leaderEpoch: number; timestamp: bigint }[];
  }[];
}

export interface ListOffsetsResponse {
  readonly topics: readonly {
    topic: string;
    partitions: readonly {
      partition: number;
      errorCode: number;
      timestampMs: bigint;
      offset: bigint;
      leaderEpoch: number;
    }[];
  }[];
}

/** ListOffsets (2). Sent to leaders only. Version 2 brought the isolation level. */
export const listOffsets: Api<ListOffsetsRequest, ListOffsetsResponse> = {
  name: 'ListOffsets',
  key: 2,
  min: 2,
  max: 9,
  flexibleFrom: 6,
  write(w, request, version) {
    w.int32(-1).int8(request.isolationLevel);
    w.array(request.topics, ({ topic, partitions }) => {
      w.string(topic);
      w.array(partitions, (p) => {
        w.int32(p.partition);
        if (version >= 4) w.int32(p.leaderEpoch);
        w.int64(p.timestamp).tags();
      });
      w.tags();
    });
    w.tags();
  },
  read(r, version) {
    r.int32(); // throttle time
    const topics = r.array(() => {
      const topic = r.string();
      const partitions = r.array(() => {
        const partition = {
          partition: r.int32(),
          errorCode: r.int16(),
          timestampMs: r.int64(),
          offset: r.int64(),
          leaderEpoch: version >= 4 ? r.int32() : -1,
        };
        r.tags();
        return partition;
      });
      r.tags();
      return { topic, partitions };
    });
    r.tags();
    return { topics };
  },
};
