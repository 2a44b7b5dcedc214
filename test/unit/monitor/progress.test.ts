import { describe, expect, it } from 'vitest';
import { stringifyJson64 } from '../../../src/core/json64.ts';
import { type BatchFacts, buildProgress, sourceDescription } from '../../../src/monitor/progress.ts';

const FACTS: BatchFacts = {
  batchId: 7,
  pipelineId: '11111111-2222-4333-8444-555555555555',
  runId: '99999999-2222-4333-8444-555555555555',
  startedAtMs: Date.UTC(2026, 6, 14, 9, 5, 6, 7),
  recovered: 'no',
  ranges: [
    { topic: 'a', partition: 0, from: 10n, until: 9007199254740993n },
    { topic: 'a', partition: 1, from: 5n, until: 5n },
    { topic: 'b', partition: 0, from: 0n, until: 30n },
  ],
  latest: [9007199254740993n, 9n, 31n],
  records: 1000,
  quarantined: 3,
  dropped: 2,
  control: 1,
  aborted: 4,
  holes: 5,
  bytes: 123_456,
  tables: [
    { table: 'bronze.a__quarantine', role: 'quarantine', rows: 3, files: 1, bytes: 10, snapshotId: 1n },
    { table: 'bronze.a', role: 'data', rows: 600, files: 2, bytes: 20, snapshotId: 8744736658442914487n },
    { table: 'bronze.b', role: 'data', rows: 395, files: 1, bytes: 30, snapshotId: 2n },
  ],
  durations: {
    triggerExecution: 3000.4,
    latestOffset: 5.6,
    walCommit: 2,
    addBatch: 2900,
    read: 2500,
    commitTables: 300,
    commitOffsets: 12,
  },
  lost: [{ topic: 'b', partition: 0, from: 0n, until: 4n, reason: 'retention' }],
  peakRssBytes: 300_000_000,
};
const CONTEXT = { pipelineName: 'p', description: 'KafkaV2[Subscribe[a, b]]', memoryBytes: 536_870_912 };

describe('buildProgress', () => {
  it('shows what limited the batch, and how auto changed it', () => {
    const limit = { maxOffsets: 5n, by: 'auto', reason: 'why' } as const;
    const limitChange = { from: 5n, to: 10n, reason: 'raised' };
    expect(buildProgress({ ...FACTS, limit, limitChange }, CONTEXT).sluice).toMatchObject({
      limit,
      limitChange,
    });
    const without = buildProgress({ ...FACTS, limit: null, limitChange: null }, CONTEXT).sluice;
    expect(Object.keys(without)).not.toContain('limit');
    expect(Object.keys(without)).not.toContain('limitChange');
  });

  it('has the names, the order and the rounding of StreamingQueryProgress', () => {
    const progress = buildProgress(FACTS, { ...CONTEXT, previousStartedAtMs: FACTS.startedAtMs - 60_000 });
    const { sluice, ...spark } = progress;
    expect(
      JSON.parse(stringifyJson64(spark), (_k, v, c?: { source?: string }) =>
        Number.isInteger(v) && !Number.isSafeInteger(v) ? c?.source : v,
      ),
    ).toEqual({
      id: FACTS.pipelineId,
      runId: FACTS.runId,
      name: 'p',
      timestamp: '2026-07-14T09:05:06.007Z',
      batchId: 7,
      batchDuration: 3000,
      numInputRows: 1000,
      inputRowsPerSecond: 16.7,
      processedRowsPerSecond: 333.3,
      durationMs: {
        addBatch: 2900,
        commitOffsets: 12,
        getBatch: 0,
        latestOffset: 6,
        queryPlanning: 0,
        triggerExecution: 3000,
        walCommit: 2,
      },
      stateOperators: [],
      sources: [
        {
          description: 'KafkaV2[Subscribe[a, b]]',
          startOffset: { a: { '0': 10, '1': 5 }, b: { '0': 0 } },
          endOffset: { a: { '0': '9007199254740993', '1': 5 }, b: { '0': 30 } },
          latestOffset: { a: { '0': '9007199254740993', '1': 9 }, b: { '0': 31 } },
          numInputRows: 1000,
          inputRowsPerSecond: 16.7,
          processedRowsPerSecond: 333.3,
          metrics: {
            minOffsetsBehindLatest: '0',
            maxOffsetsBehindLatest: '4',
            avgOffsetsBehindLatest: '1.6666666666666667',
          },
        },
      ],
      sink: { description: 'Iceberg[bronze.a, bronze.b]', numOutputRows: 995 },
    });
    expect(Object.keys(progress.durationMs)).toEqual([...Object.keys(progress.durationMs)].sort());
    expect(sluice.funnel).toEqual({
      offsets: 9007199254740983n + 30n,
      rows: 995,
      quarantined: 3,
      dropped: 2,
      control: 1,
      aborted: 4,
      holes: 5,
    });
    expect(sluice).toMatchObject({
      bytes: 123_456,
      memory: { peakRssBytes: 300_000_000, limitBytes: 536_870_912 },
      lost: FACTS.lost,
    });
    expect(stringifyJson64(progress)).toContain('"snapshotId":8744736658442914487');
  });

  it('leaves out what is no number, as Spark does', () => {
    const first = buildProgress(FACTS, CONTEXT);
    expect('inputRowsPerSecond' in first).toBe(false);
    expect(first.processedRowsPerSecond).toBe(333.3);
    const instant = buildProgress(
      { ...FACTS, durations: { ...FACTS.durations, triggerExecution: 0 } },
      CONTEXT,
    );
    expect('processedRowsPerSecond' in instant).toBe(false);
  });

  it('does not know the newest offsets of a batch that another process planned', () => {
    const [source] = buildProgress(
      { ...FACTS, latest: [null, null, null], recovered: 'finished' },
      CONTEXT,
    ).sources;
    expect(source.latestOffset).toBeNull();
    expect('metrics' in source).toBe(false);
  });

  it('takes any name of a topic', () => {
    const ranges = [{ topic: '__proto__', partition: 0, from: 1n, until: 2n }];
    const [source] = buildProgress({ ...FACTS, ranges, latest: [2n] }, CONTEXT).sources;
    expect(stringifyJson64(source.endOffset)).toBe('{"__proto__":{"0":2}}');
  });
});

it('names the source as Spark does', () => {
  expect(sourceDescription({ kind: 'subscribe', topics: ['a', 'b'] })).toBe('KafkaV2[Subscribe[a, b]]');
  expect(sourceDescription({ kind: 'assign', partitions: new Map([['a', [0, 2]]]) })).toBe(
    'KafkaV2[Assign[a-0, a-2]]',
  );
  expect(sourceDescription({ kind: 'subscribePattern', pattern: 'a.*' })).toBe(
    'KafkaV2[SubscribePattern[a.*]]',
  );
});
