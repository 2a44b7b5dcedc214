import type { Api } from './api.ts';

export interface OffsetForLeaderEpochRequest {
  readonly topics: readonly {
    topic: string;
    partitions: readonly { partition: number; leaderEpoch: number; epoch: number }[];
  }[];
}

export interface OffsetForLeaderEpochResponse {
  readonly topics: readonly {
    topic: string;
    partitions: readonly { errorCode: number; partition: number; epoch: number; endOffset: bigint }[];
  }[];
}

/** OffsetForLeaderEpoch (23), KIP-320. The replica id of a consumer is -1: only offsets below the high watermark. */
export const offsetForLeaderEpoch: Api<OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse> = {
  name: 'OffsetForLeaderEpoch',
  key: 23,
  min: 2,
  max: 4,
  flexibleFrom: 4,
  write(w, request, version) {
    if (version >= 3) w.int32(-1);
    w.array(request.topics, ({ topic, partitions }) => {
      w.string(topic);
      w.array(partitions, (p) => w.int32(p.partition).int32(p.leaderEpoch).int32(p.epoch).tags());
      w.tags();
    });
    w.tags();
  },
  read(r) {
    r.int32(); // throttle time
    const topics = r.array(() => {
      const topic = r.string();
      const partitions = r.array(() => {
        const partition = {
          errorCode: r.int16(),
          partition: r.int32(),
          epoch: r.int32(),
          endOffset: r.int64(),
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
