import type { Api } from './api.ts';

export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** FindCoordinator (10) of a transactional id. */
export const findTransactionCoordinator: Api<
  { transactionalId: string },
  { errorCode: number; nodeId: number; host: string; port: number }
> = {
  name: 'FindCoordinator',
  key: 10,
  min: 1,
  max: 3,
  flexibleFrom: 3,
  write(w, request) {
    w.string(request.transactionalId).int8(1).tags();
  },
  read(r) {
    r.int32(); // throttle time
    const errorCode = r.int16();
    r.nullableString();
    const answer = { errorCode, nodeId: r.int32(), host: r.string(), port: r.int32() };
    r.tags();
    return answer;
  },
};

/** InitProducerId (22): an identity for idempotent (null) or transactional production. */
export const initProducerId: Api<
  { transactionalId: string | null; timeoutMs: number },
  ProducerIdentity & { errorCode: number }
> = {
  name: 'InitProducerId',
  key: 22,
  min: 0,
  max: 4,
  flexibleFrom: 2,
  write(w, request, version) {
    w.string(request.transactionalId).int32(request.timeoutMs);
    if (version >= 3) w.int64(-1n).int16(-1);
    w.tags();
  },
  read(r) {
    r.int32(); // throttle time
    const answer = { errorCode: r.int16(), producerId: r.int64(), producerEpoch: r.int16() };
    r.tags();
    return answer;
  },
};

/** AddPartitionsToTxn (24), as clients send it (versions 4 and later are for brokers). */
export const addPartitionsToTxn: Api<
  { transactionalId: string; identity: ProducerIdentity; topic: string; partition: number },
  { errorCode: number }
> = {
  name: 'AddPartitionsToTxn',
  key: 24,
  min: 0,
  max: 3,
  flexibleFrom: 3,
  write(w, { transactionalId, identity, topic, partition }) {
    w.string(transactionalId).int64(identity.producerId).int16(identity.producerEpoch);
    w.arrayLength(1).string(topic).arrayLength(1).int32(partition);
    w.tags().tags();
  },
  read(r) {
    r.int32(); // throttle time
    const topics = r.array(() => {
      r.string();
      const partitions = r.array(() => {
        r.int32();
        const errorCode = r.int16();
        r.tags();
        return errorCode;
      });
      r.tags();
      return partitions;
    });
    r.tags();
    return { errorCode: topics[0]?.[0] ?? r.fail('no result for the partition that was added') };
  },
};

/** EndTxn (26). Version 5 would raise the producer's epoch with each transaction (KIP-890). */
export const endTxn: Api<
  { transactionalId: string; identity: ProducerIdentity; commit: boolean },
  { errorCode: number }
> = {
  name: 'EndTxn',
  key: 26,
  min: 0,
  max: 4,
  flexibleFrom: 3,
  write(w, { transactionalId, identity, commit }) {
    w.string(transactionalId).int64(identity.producerId).int16(identity.producerEpoch).boolean(commit).tags();
  },
  read(r) {
    r.int32(); // throttle time
    const errorCode = r.int16();
    r.tags();
    return { errorCode };
  },
};
