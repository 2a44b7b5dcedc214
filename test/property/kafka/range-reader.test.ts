import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type FakeBatch,
  FakeCluster,
  type FakePartition,
  type FetchOverride,
} from '../../support/fake-cluster.ts';
import { collect } from '../../support/read-collector.ts';
import { encodeControlBatch, encodeRecordBatch, type TestCodec } from '../../support/record-batch-encoder.ts';

/** One stretch of a log: what a producer, the cleaner or a transaction may leave. */
interface Stretch {
  kind: 'records' | 'committed' | 'aborted' | 'gap';
  /** Offsets it takes. */
  size: number;
  /** Of records: every how many offsets one is left. */
  every: number;
  valueBytes: number;
  codec: TestCodec;
}

const stretch: fc.Arbitrary<Stretch> = fc.record({
  kind: fc.constantFrom('records', 'records', 'records', 'committed', 'aborted', 'gap'),
  size: fc.integer({ min: 1, max: 30 }),
  every: fc.constantFrom(1, 1, 1, 2, 5),
  valueBytes: fc.constantFrom(0, 50, 400, 3000),
  codec: fc.constantFrom<TestCodec>('none', 'none', 'gzip', 'snappy', 'lz4', 'zstd'),
});

interface Log {
  partition: FakePartition;
  /** Offsets that a read_committed consumer must get. */
  visible: bigint[];
}

/** Lays the stretches one behind the other. */
function layOut(stretches: readonly Stretch[], leader: number): Log {
  const batches: FakeBatch[] = [];
  const aborted: { producerId: bigint; firstOffset: bigint; lastOffset: bigint }[] = [];
  const visible: bigint[] = [];
  let at = 0n;
  for (const s of stretches) {
    const last = at + BigInt(s.size) - 1n;
    if (s.kind !== 'gap') {
      const offsets: bigint[] = [];
      for (let o = at; o <= last; o += BigInt(s.every)) offsets.push(o);
      const records = offsets.map((offset) => ({ offset, value: `v${offset}`.padEnd(s.valueBytes, '.') }));
      const transactional = s.kind !== 'records';
      const options = { codec: s.codec, baseOffset: at, lastOffset: last, transactional };
      const producer = transactional ? { producerId: 5n, producerEpoch: 0 } : {};
      batches.push({ first: at, last, bytes: encodeRecordBatch(records, { ...options, ...producer }) });
      if (s.kind === 'aborted') aborted.push({ producerId: 5n, firstOffset: at, lastOffset: last + 1n });
      else visible.push(...offsets);
    }
    at = last + 1n;
    if (s.kind === 'committed' || s.kind === 'aborted') {
      const type = s.kind === 'committed' ? 'commit' : 'abort';
      batches.push({ first: at, last: at, bytes: encodeControlBatch(type, at, 5n) });
      at++;
    }
  }
  return {
    partition: { batches, aborted, logStart: 0n, highWatermark: at, leader, leaderEpoch: 0 },
    visible,
  };
}

type Fault = 'cut' | 'notLeader' | 'retry' | 'move' | 'damage' | 'throttle' | 'outOfRange' | 'unknownId';
const faults = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 15 }),
    fc.constantFrom<Fault>(
      'cut',
      'notLeader',
      'retry',
      'move',
      'damage',
      'throttle',
      'outOfRange',
      'unknownId',
    ),
  ),
  { maxLength: 3 },
);

/** Makes the faults happen at the numbered partition asks. */
function arm(cluster: FakeCluster, plan: readonly (readonly [number, Fault])[]): void {
  let asks = 0;
  cluster.onFetch = (ask): FetchOverride => {
    const fault = plan.find(([at]) => at === asks)?.[1];
    asks++;
    const log = cluster.topics.get(ask.topic)!.partitions[ask.partition];
    switch (fault) {
      case 'cut':
        return 'cut';
      case 'notLeader':
        return { errorCode: 6 };
      case 'retry':
        return { errorCode: -1 };
      case 'outOfRange':
        return { errorCode: 1 };
      case 'unknownId':
        return { errorCode: 100 };
      case 'throttle':
        cluster.throttleNextMs = 5;
        return undefined;
      case 'move':
        log.leader = 3 - log.leader;
        log.leaderEpoch++;
        return undefined;
      case 'damage': {
        const batch = log.batches.find((b) => b.last >= ask.offset);
        if (batch === undefined) return undefined;
        const bytes = Buffer.from(batch.bytes);
        bytes[bytes.length - 1] ^= 0x55;
        return { records: bytes };
      }
      default:
        return undefined;
    }
  };
}

describe('readRanges', () => {
  it('hands on each visible record of each range once and in order, whatever the log and the brokers do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(stretch, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
        faults,
        fc.constantFrom(4096, 16_384, 1_000_000),
        async (layouts, [a, b], plan, fetchMaxBytes) => {
          const cluster = await FakeCluster.start(2);
          try {
            const logs = layouts.map((stretches, i) => layOut(stretches, 1 + (i % 2)));
            cluster.topic(
              't',
              logs.map((l) => l.partition),
            );
            const ranges = logs.map(({ partition: { highWatermark } }, partition) => {
              const cut = (share: number) => BigInt(Math.floor(Number(highWatermark) * share));
              const [from, until] = [
                cut(Math.min(a, b)),
                Math.abs(a - b) < 0.1 ? highWatermark : cut(Math.max(a, b)),
              ];
              return { topic: 't', partition, from, until };
            });
            arm(cluster, plan);
            const result = await collect(cluster.bootstrap, ranges, {
              fetchMaxBytes,
              client: { random: () => 0 },
            });
            for (const [i, { partition, from, until }] of ranges.entries()) {
              const wanted = logs[i].visible.filter((o) => o >= from && o < until);
              expect(result.offsets.get(`t-${partition}`) ?? []).toEqual(wanted);
              const c = result.cursors[i];
              expect(c.position).toBe(until);
              expect(BigInt(c.rows + c.control + c.aborted + c.holes)).toBe(until - from);
            }
          } finally {
            await cluster.stop();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
