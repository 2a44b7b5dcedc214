import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../src/errors.ts';
import type { LatestOffsets } from '../../../src/monitor/lag.ts';
import type { BatchProgress } from '../../../src/monitor/progress.ts';
import { buildStatus, type StatusInput } from '../../../src/monitor/status.ts';

const NOW = Date.UTC(2026, 6, 14, 10, 0, 0);
const offsets = (a0: bigint, a1: bigint) =>
  new Map([
    [
      'a',
      new Map([
        [0, a0],
        [1, a1],
      ]),
    ],
  ]);
const latest = (a0: [bigint, bigint], a1: [bigint, bigint]): LatestOffsets =>
  new Map([
    ['a', new Map([a0, a1].map(([logStart, end], p) => [p, { logStart, latest: end, highWatermark: end }]))],
  ]);
const lastProgress = (extra: object = {}) =>
  ({
    batchId: 4,
    timestamp: new Date(NOW - 30_000).toISOString(),
    batchDuration: 10_000,
    sources: [],
    sluice: { funnel: { quarantined: 0 } },
    ...extra,
  }) as unknown as BatchProgress;
const lease = { host: 'h', pid: 1, writerId: 'w', acquiredAtMs: NOW - 3_600_000, heartbeatAtMs: NOW - 1000 };

const INPUT: StatusInput = {
  name: 'p',
  id: 'i',
  checkpointLocation: '/cp',
  trigger: { kind: 'processingTime', intervalMs: 60_000 },
  nowMs: NOW,
  brokers: { servers: 'b:9092', asked: true, error: null },
  initial: offsets(0n, 0n),
  lastPlanned: { batchId: 5, offsets: offsets(100n, 50n) },
  lastCommitted: { batchId: 4, offsets: offsets(60n, 50n) },
  latest: latest([0n, 130n], [0n, 50n]),
  lease,
  lastProgress: lastProgress(),
};
const status = (changes: Partial<StatusInput> = {}) => buildStatus({ ...INPUT, ...changes });

describe('buildStatus', () => {
  it('tells the two lags apart, per partition and in sum', () => {
    const s = status();
    expect(s).toMatchObject({
      state: 'OK',
      reasons: [],
      checkpoint: { location: '/cp', lastPlanned: 5, lastCommitted: 4 },
      readLag: 30n,
      committedLag: 70n,
      lost: 0n,
      runningBy: lease,
      sinceLastBatchMs: 20_000,
    });
    expect(s.partitions).toEqual([
      {
        topic: 'a',
        partition: 0,
        planned: 100n,
        committed: 60n,
        latest: 130n,
        logStart: 0n,
        readLag: 30n,
        committedLag: 70n,
        lost: 0n,
        state: 'OK',
      },
      {
        topic: 'a',
        partition: 1,
        planned: 50n,
        committed: 50n,
        latest: 50n,
        logStart: 0n,
        readLag: 0n,
        committedLag: 0n,
        lost: 0n,
        state: 'OK',
      },
    ]);
  });

  it('knows nothing of lags that nobody asked for', () => {
    const brokers = { servers: 'b:9092', asked: false, error: null };
    const s = status({ latest: null, brokers });
    expect(s).toMatchObject({ brokers, readLag: null, committedLag: null, lost: null, state: 'OK' });
    expect(s.partitions[0]).toMatchObject({
      planned: 100n,
      latest: null,
      readLag: null,
      lost: null,
      state: null,
    });
  });

  it('stands before the first batch', () => {
    const s = status({
      id: null,
      initial: null,
      lastPlanned: null,
      lastCommitted: null,
      lastProgress: null,
      latest: latest([20n, 30n], [0n, 5n]),
    });
    expect(s).toMatchObject({
      readLag: 15n,
      committedLag: 15n,
      lost: 0n,
      sinceLastBatchMs: null,
      checkpoint: { lastPlanned: null, lastCommitted: null },
    });
  });

  it('counts from where the query began, before and during its first batch', () => {
    const began = {
      initial: offsets(1000n, 50n),
      latest: latest([0n, 1000n], [0n, 50n]),
      lastCommitted: null,
    };
    expect(status({ ...began, lastPlanned: null })).toMatchObject({ readLag: 0n, committedLag: 0n });
    const planned = { batchId: 0, offsets: offsets(1030n, 50n) };
    expect(status({ ...began, latest: latest([0n, 1040n], [0n, 50n]), lastPlanned: planned })).toMatchObject({
      readLag: 10n,
      committedLag: 40n,
    });
    // Retention took what the query was to begin with; a newer partition begins at its start.
    const gone = status({
      initial: new Map([['a', new Map([[0, 5n]])]]),
      latest: latest([9n, 12n], [2n, 4n]),
      lastPlanned: null,
      lastCommitted: null,
    });
    expect(gone).toMatchObject({ state: 'LOSS', readLag: 5n, lost: 4n });
    expect(gone.reasons[0]).toContain('a-0 [5, 9)');
  });

  it('LOSS: retention took what was not read', () => {
    const s = status({ latest: latest([110n, 130n], [0n, 50n]) });
    expect(s).toMatchObject({ state: 'LOSS', lost: 10n, readLag: 20n });
    expect(s.reasons).toEqual(['records were deleted before they were read: a-0 [100, 110)']);
    expect(s.partitions[0].state).toBe('LOSS');
  });

  it('REWIND: the log is shorter than our position, or another one', () => {
    expect(status({ latest: latest([0n, 99n], [0n, 50n]) })).toMatchObject({
      state: 'REWIND',
      readLag: 0n,
      reasons: ['the log ends before our position: a-0 position 100, end 99'],
    });
    expect(status({ replaced: ['topic a: id x in the checkpoint, y at the broker'] }).state).toBe('REWIND');
  });

  it('STOP: nobody runs what should run', () => {
    expect(status({ lease: null }).reasons).toEqual([
      'nobody runs it, and batch 5 is planned but not committed',
    ]);
    const committed = { lastCommitted: { batchId: 5, offsets: offsets(100n, 50n) }, lease: null };
    expect(status(committed)).toMatchObject({ state: 'STOP', reasons: ['nobody runs it'] });
    // A pipeline that runs now and then may rest.
    expect(status({ ...committed, trigger: { kind: 'availableNow' } }).state).toBe('OK');
  });

  it('STALL: no batch ends though there is something to read', () => {
    const old = lastProgress({ timestamp: new Date(NOW - 311_000).toISOString() });
    expect(status({ lastProgress: old })).toMatchObject({ state: 'STALL', sinceLastBatchMs: 301_000 });
    expect(
      status({ lastProgress: old, latest: latest([0n, 60n], [0n, 50n]), lastPlanned: INPUT.lastCommitted })
        .state,
    ).toBe('OK');
  });

  it('STALL: brokers that do not answer are no OK, whatever the checkpoint says', () => {
    const unreachable = {
      code: 'BROKER_UNREACHABLE',
      message: 'no broker could be reached; tried b:9092 (refused)',
    } as const;
    const silent = (error: { code: ErrorCode; message: string }) => ({
      latest: null,
      brokers: { servers: 'b:9092', asked: true, error },
    });
    const s = status(silent(unreachable));
    expect(s).toMatchObject({
      state: 'STALL',
      brokers: { servers: 'b:9092', error: unreachable },
      checkpoint: { lastPlanned: 5, lastCommitted: 4 },
      readLag: null,
      lost: null,
      runningBy: lease,
    });
    expect(s.reasons).toEqual([
      'the brokers cannot be reached, so that lag and loss are not known: no broker could be reached; tried b:9092 (refused)',
    ]);
    expect(s.partitions.map((p) => [p.planned, p.committed, p.lost])).toEqual([
      [100n, 60n, null],
      [50n, 50n, null],
    ]);
    expect(status(silent({ code: 'KAFKA_AUTH', message: 'wrong password' })).reasons).toEqual([
      'the brokers did not tell how far the topics are, so that lag and loss are not known: wrong password',
    ]);
    // A pipeline at rest is not well either while nobody can read for it.
    const atRest = { lease: null, trigger: { kind: 'availableNow' } as const };
    const committed = { lastCommitted: { batchId: 5, offsets: offsets(100n, 50n) } };
    expect(status({ ...silent(unreachable), ...atRest, ...committed }).state).toBe('STALL');
    expect(status({ ...silent(unreachable), lease: null })).toMatchObject({
      state: 'STOP',
      reasons: [s.reasons[0], 'nobody runs it, and batch 5 is planned but not committed'],
    });
  });

  it('STALL: also where no batch ever ended, by the time that the process runs', () => {
    const first = {
      lastProgress: null,
      lastCommitted: null,
      lastPlanned: { batchId: 0, offsets: offsets(100n, 50n) },
    };
    expect(status(first)).toMatchObject({
      state: 'STALL',
      reasons: ['no batch has ended for 3600 s, and 180 offsets wait'],
    });
    expect(status({ ...first, lease: { ...lease, acquiredAtMs: NOW - 200_000 } }).state).toBe('OK');
  });

  it('no STALL: a process that was started a moment ago is not blamed for the batch of the run before', () => {
    const old = lastProgress({ timestamp: new Date(NOW - 90_000_000).toISOString() });
    const fresh = { ...lease, acquiredAtMs: NOW - 5_000 };
    expect(status({ lastProgress: old, lease: fresh })).toMatchObject({
      state: 'OK',
      sinceLastBatchMs: 89_990_000,
    });
    expect(status({ lastProgress: old, lease: { ...lease, acquiredAtMs: NOW - 301_000 } }).state).toBe(
      'STALL',
    );
  });

  it('WARN: slower than its trigger, or with quarantined records', () => {
    expect(status({ lastProgress: lastProgress({ batchDuration: 61_000 }) }).state).toBe('WARN');
    expect(
      status({ lastProgress: lastProgress({ sluice: { funnel: { quarantined: 2 } } }) }).reasons,
    ).toEqual(['2 records of the last batch went to the quarantine; `sluice quarantine list` says why']);
  });

  it('the worst word wins, every reason is told', () => {
    const s = status({ latest: latest([110n, 130n], [0n, 10n]), lease: null });
    expect(s.state).toBe('LOSS');
    expect(s.reasons).toHaveLength(3);
  });

  it('names a few partitions and counts the rest', () => {
    const many = new Map([['a', new Map(Array.from({ length: 9 }, (_, p) => [p, 0n]))]]);
    const ends: LatestOffsets = new Map([
      ['a', new Map(Array.from({ length: 9 }, (_, p) => [p, { logStart: 1n, latest: 1n }]))],
    ]);
    expect(status({ lastPlanned: { batchId: 5, offsets: many }, latest: ends }).reasons[0]).toMatch(
      /a-2 \[0, 1\) and 6 more$/,
    );
  });
});
