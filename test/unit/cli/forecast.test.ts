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
});
