import { describe, expect, it } from 'vitest';
import type { SourceConfig } from '../../../src/config/pipeline-config.ts';
import type { Trigger } from '../../../src/core/trigger.ts';
import type { BatchReport } from '../../../src/engine/host.ts';
import { TriggerLimits } from '../../../src/engine/trigger-limits.ts';

const MINUTE = 60_000;
const byTime: Trigger = { kind: 'processingTime', intervalMs: MINUTE };
const limits = (source: Partial<SourceConfig>, trigger: Trigger = byTime): TriggerLimits =>
  new TriggerLimits({
    trigger,
    memoryBytes: 2 ** 29,
    source: {
      maxOffsetsPerTrigger: null,
      minOffsetsPerTrigger: null,
      maxTriggerDelayMs: 15 * MINUTE,
      maxBytesPerTrigger: null,
      ...source,
    } as SourceConfig,
  });
const report = (offsets: number, bytes: number, ms: number, rest: Partial<BatchReport> = {}): BatchReport =>
  ({
    ranges: [{ topic: 'a', partition: 0, from: 0n, until: BigInt(offsets) }],
    bytes,
    recovered: 'no',
    durations: { triggerExecution: ms },
    limit: { maxOffsets: 100_000n, by: 'auto', reason: null },
    ...rest,
  }) as BatchReport;

describe('minOffsetsPerTrigger', () => {
  it('lets the first batch through, then waits for the number or the delay', () => {
    const l = limits({ minOffsetsPerTrigger: 100n });
    expect(l.holds(1n, 1_000_000)).toBe(false);
    expect(l.holds(99n, 1_060_000)).toBe(true);
    expect(l.held).toEqual({ offsets: 99n, minOffsets: 100n });
    expect(l.holds(100n, 1_120_000)).toBe(false);
    expect(l.held).toBeNull();
    expect(l.holds(1n, 1_120_000 + 15 * MINUTE - 1)).toBe(true);
    expect(l.holds(1n, 1_120_000 + 15 * MINUTE)).toBe(false);
    expect(l.holds(1n, 1_120_001 + 15 * MINUTE)).toBe(true);
  });

  it('counts the delay anew when it passed without a record, as Spark', () => {
    const l = limits({ minOffsetsPerTrigger: 100n });
    expect(l.holds(0n, 0)).toBe(false);
    expect(l.holds(5n, 1)).toBe(true);
  });

  it('holds with availableNow, and neither with once nor with ends of the run', () => {
    const now = limits({ minOffsetsPerTrigger: 100n }, { kind: 'availableNow' });
    expect([now.holds(5n, 0), now.holds(5n, 1)]).toEqual([false, true]);
    for (const trigger of [
      { kind: 'once' },
      { kind: 'availableNow', until: { kind: 'latest' } },
    ] as Trigger[]) {
      const l = limits({ minOffsetsPerTrigger: 100n }, trigger);
      expect([l.holds(5n, 0), l.holds(5n, 1)]).toEqual([false, false]);
    }
  });
});

describe('maxOffsetsPerTrigger and maxBytesPerTrigger', () => {
  it('neither is no limit, and once has none', () => {
    expect(limits({}).next()).toBeNull();
    const once = limits({ maxOffsetsPerTrigger: 5n, maxBytesPerTrigger: 5 }, { kind: 'once' });
    expect(once.next()).toBeNull();
    expect(once.asksForSizes).toBe(false);
  });

  it('of both the one that is reached first', () => {
    const l = limits({ maxOffsetsPerTrigger: 1000n, maxBytesPerTrigger: 100 * 1024 });
    expect(l.next()).toEqual({
      maxOffsets: 100n,
      by: 'maxBytesPerTrigger',
      reason: 'at 1024 bytes per offset, a guess before the first batch',
    });
    l.after(report(100, 5_000, 10), true);
    expect(l.next()).toEqual({ maxOffsets: 1000n, by: 'maxOffsetsPerTrigger', reason: null });
  });

  it('reckons bytes by the last ten batches, and is at least one offset', () => {
    const l = limits({ maxBytesPerTrigger: 1000 });
    l.learnSize(0, 0);
    l.learnSize(10, 1_000_000);
    expect(l.next()?.maxOffsets).toBe(1n);
    for (let i = 0; i < 10; i++) l.learnSize(100, 10_000);
    expect(l.next()).toEqual({
      maxOffsets: 10n,
      by: 'maxBytesPerTrigger',
      reason: 'at 100 bytes per offset of recent batches',
    });
  });
});

describe('maxOffsetsPerTrigger: auto', () => {
  it('changes by what the batches that it held back took', () => {
    const l = limits({ maxOffsetsPerTrigger: 'auto' });
    expect(l.next()).toEqual({ maxOffsets: 100_000n, by: 'auto', reason: 'where auto begins' });
    expect(l.after(report(100_000, 1_000, 1_000), true)).toMatchObject({ from: 100_000n, to: 200_000n });
    expect(l.next()).toMatchObject({ maxOffsets: 200_000n, reason: expect.stringContaining('raised') });
    expect(l.after(report(200_000, 1_000, 1_000), false)).toBeNull();
    expect(l.after(report(200_000, 1_000, 90_000), false)).toMatchObject({ to: 100_000n });
  });

  it('learns nothing of time from a batch of an earlier process, or one that bytes held back', () => {
    const l = limits({ maxOffsetsPerTrigger: 'auto', maxBytesPerTrigger: 10 });
    expect(l.after(report(10, 10, 1, { recovered: 'read again', limit: null }), true)).toBeNull();
    const byBytes = { limit: { maxOffsets: 10n, by: 'maxBytesPerTrigger', reason: null } } as const;
    expect(l.after(report(10, 10, 1, byBytes), true)).toBeNull();
  });

  it('counts with 60 seconds where the trigger has no interval', () => {
    for (const trigger of [
      { kind: 'availableNow' },
      { kind: 'processingTime', intervalMs: 0 },
    ] as Trigger[]) {
      const l = limits({ maxOffsetsPerTrigger: 'auto' }, trigger);
      expect(l.after(report(100_000, 1, 29_000), true)?.to).toBe(200_000n);
      expect(l.after(report(200_000, 1, 61_000), true)?.to).toBeLessThan(200_000n);
    }
  });
});
