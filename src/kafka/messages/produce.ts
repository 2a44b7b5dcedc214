import type { Api } from './api.ts';

export interface ProduceRequest {
  readonly transactionalId: string | null;
  readonly timeoutMs: number;
  readonly topic: string;
  readonly partition: number;
  /** One record batch of magic 2. */
  readonly batch: Uint8Array;
}

export interface ProduceResponse {
  readonly errorCode: number;
  readonly baseOffset: bigint;
  readonly errorMessage: string | null;
}

/**
 * Produce (0) of one batch to one partition, acknowledged by all in-sync replicas. Version 12 and later would add
 * partitions to a transaction by themselves (KIP-890), and 13 names topics by id: neither is needed.
 */
export const produce: Api<ProduceRequest, ProduceResponse> = {
  name: 'Produce',
  key: 0,
  min: 3,
  max: 11,
  flexibleFrom: 9,
  write(w, request) {
    w.string(request.transactionalId).int16(-1).int32(request.timeoutMs);
    w.arrayLength(1).string(request.topic);
    w.arrayLength(1).int32(request.partition);
    w.bytesLength(request.batch.length).raw(request.batch).tags();
    w.tags().tags();
  },
  read(r, version) {
    const topics = r.array(() => {
      r.string();
      const partitions = r.array(() => {
        r.int32();
        const errorCode = r.int16();
        const baseOffset = r.int64();
        r.int64(); // log append time
        if (version >= 5) r.int64(); // log start offset
        if (version >= 8) {
          r.array(() => {
            r.int32();
            r.nullableString();
            r.tags();
          });
        }
        const errorMessage = version >= 8 ? r.nullableString() : null;
        r.tags();
        return { errorCode, baseOffset, errorMessage };
      });
      r.tags();
      return partitions;
    });
    r.int32(); // throttle time
    r.tags();
    return topics[0]?.[0] ?? r.fail('no result for the partition that was produced to');
  },
};
