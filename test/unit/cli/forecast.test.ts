import { describe, expect, it } from 'vitest';
import { forecast } from '../../../src/cli/forecast.ts';
import type { SourceConfig } from '../../../src/config/pipeline-config.ts';
import type { BatchProgress } from '../../../src/monitor/progress.ts';

const progress = (offsets: bigint, ms: number, bytes: number, files: number, fileBytes: number) =>
  ({
    numInputRows: Number(offsets),
    batchDuration: ms,
    sluice: { bytes, funnel: { offsets }, tables: [{ files, bytes: fileBytes }] },
  }) as unknown as BatchProgress;
const config = (intervalMs: number | null, limit: bigint | null = null) => ({
  trigger:
    intervalMs === null
      ? ({ kind: 'availableNow' } as const)
      : ({ kind: 'processingTime', intervalMs } as const),
  source: { maxOffsetsPerTrigger: limit } as SourceConfig,
});
const RECENT = [progress(1000n, 2000, 100_000, 4, 40_000), progress(3000n, 2000, 300_000, 4, 120_000)];

describe('forecast', () => {
  it('says nothing where nothing has run', () => {
    expect(forecast({ config: config(60_000), offsets: 10n, lag: 10n, progress: [] })).toEqual({
      bytes: null,
      drainMs: null,
      filesPerDay: null,
      averageFileBytes: null,
      warnings: [],
    });
  });

  it('goes by recent batches', () => {
    const f = forecast({ config: config(60_000), offsets: 50n, lag: 8000n, progress: RECENT });
    expect(f).toEqual({
      bytes: 5000,
      drainMs: 8000,
      filesPerDay: 5760,
      averageFileBytes: 20_000,
      warnings: [expect.stringContaining('20 KB on average')],
    });
  });

  it('a limit makes the backlog wait for its triggers', () => {
    expect(
      forecast({ config: config(60_000, 1000n), offsets: 1000n, lag: 8000n, progress: RECENT }).drainMs,
    ).toBe(7 * 60_000);
    expect(
      forecast({ config: config(null, 1000n), offsets: 1000n, lag: 8000n, progress: RECENT }),
    ).toMatchObject({ drainMs: 8000, filesPerDay: null });
    expect(
      forecast({ config: config(60_000, 10n), offsets: 10n, lag: 1001n, progress: [] }).warnings,
    ).toEqual(['the backlog is more than 100 batches of maxOffsetsPerTrigger 10']);
  });

  it('nothing that waits is drained at once, and empty batches say nothing', () => {
    expect(forecast({ config: config(60_000), offsets: 0n, lag: 0n, progress: RECENT }).drainMs).toBe(0);
    expect(
      forecast({ config: config(60_000), offsets: 0n, lag: 5n, progress: [progress(0n, 5, 0, 0, 0)] })
        .drainMs,
    ).toBeNull();
    expect(forecast({ config: config(5_000), offsets: 0n, lag: 0n, progress: [] }).warnings).toHaveLength(1);
  });

  it('counts what comes in meanwhile, and says when it never ends', () => {
    const input = { config: config(60_000), offsets: 50n, lag: 8000n, progress: RECENT };
    expect(forecast({ ...input, producedPerSecond: 500 }).drainMs).toBe(16_000);
    const never = forecast({ ...input, producedPerSecond: 1000 });
    expect(never.drainMs).toBeNull();
    expect(never.warnings).toContainEqual(expect.stringContaining('never drained'));
  });

  it('a limit in bytes makes the backlog wait too, auto does not', () => {
    const input = { config: config(60_000), offsets: 50n, lag: 8000n, progress: RECENT };
    expect(forecast({ ...input, limit: 1000n }).drainMs).toBe(7 * 60_000);
    const auto = { ...config(60_000), source: { maxOffsetsPerTrigger: 'auto' } as SourceConfig };
    expect(forecast({ ...input, config: auto }).drainMs).toBe(8000);
  });

  it('tells the files of the time after the backlog, and warns where they are small', () => {
    const steady = { offsets: 6000, files: 3 };
    const fresh = forecast({ config: config(60_000), offsets: 10n, lag: 10n, progress: [], steady });
    expect(fresh.steady).toEqual({ filesPerDay: 4320, recordsPerFile: 2000, fileBytes: null });
    expect(fresh.warnings).toEqual([
      'at what came in during the last hour this trigger makes 4,320 files a day of about 2,000 records: a longer trigger makes larger ones',
    ]);
    const known = forecast({ config: config(60_000), offsets: 10n, lag: 10n, progress: RECENT, steady });
    expect(known.steady).toEqual({ filesPerDay: 4320, recordsPerFile: 2000, fileBytes: 80_000 });
    const large = forecast({
      config: config(60_000),
      offsets: 10n,
      lag: 10n,
      progress: [],
      steady: { offsets: 90_000, files: 3 },
    });
    expect(large.warnings).toEqual([]);
    expect(
      forecast({ config: config(null), offsets: 1n, lag: 1n, progress: [], steady }).steady,
    ).toBeUndefined();
  });
});
