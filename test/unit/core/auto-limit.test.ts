import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AutoLimit } from '../../../src/core/auto-limit.ts';

const MINUTE = 60_000;
const batch = (durationMs: number, rest: Partial<Parameters<AutoLimit['after']>[0]> = {}) => ({
  offsets: 100_000n,
  durationMs,
  heldBack: true,
  bytesPerOffset: 100,
  ...rest,
});

describe('AutoLimit', () => {
  it('begins at 100,000 and doubles while batches take less than half of the interval', () => {
    const limit = new AutoLimit(MINUTE, 512 * 2 ** 20);
    expect(limit.offsets).toBe(100_000n);
    expect(limit.reason).toBeNull();
    expect(limit.after(batch(29_999))).toEqual({
      from: 100_000n,
      to: 200_000n,
      reason: 'raised: the last batch took 30 s, less than half of the interval of 1 min 0 s, and more waits',
    });
    expect(limit.after(batch(10_000))?.to).toBe(400_000n);
    expect(limit.reason).toContain('raised');
  });

  it('stays between half of the interval and all of it, and where nothing was held back', () => {
    const limit = new AutoLimit(MINUTE, 512 * 2 ** 20);
    expect(limit.after(batch(30_000))).toBeNull();
    expect(limit.after(batch(60_000))).toBeNull();
    expect(limit.after(batch(5, { heldBack: false }))).toBeNull();
    expect(limit.offsets).toBe(100_000n);
  });

  it('cuts in proportion to the time, to a quarter at most, and not below 1,000', () => {
    const limit = new AutoLimit(MINUTE, 512 * 2 ** 20);
    expect(limit.after(batch(90_000))).toMatchObject({ from: 100_000n, to: 50_000n });
    expect(limit.reason).toBe('cut: the last batch took 1 min 30 s, longer than the interval of 1 min 0 s');
    expect(limit.after(batch(6_000_000, { offsets: 50_000n }))?.to).toBe(12_500n);
    for (let i = 0; i < 5; i++) limit.after(batch(6_000_000, { offsets: 10n }));
    expect(limit.offsets).toBe(1_000n);
    expect(limit.after(batch(6_000_000, { offsets: 10n }))).toBeNull();
  });

  it('an empty batch that took long says nothing of its size', () => {
    expect(new AutoLimit(MINUTE, 2 ** 30).after(batch(90_000, { offsets: 0n, heldBack: false }))).toBeNull();
  });

  it('never takes more than the memory budget has bytes for', () => {
    const limit = new AutoLimit(MINUTE, 15_000_000);
    expect(limit.after(batch(1))).toMatchObject({ to: 150_000n, reason: expect.stringContaining('raised') });
    expect(limit.after(batch(1))).toBeNull();
    expect(limit.after(batch(1, { bytesPerOffset: 1000 }))).toMatchObject({
      to: 15_000n,
      reason: 'cut: at 1000 bytes per offset a batch would pass the memory budget of 14.3 MB',
    });
    expect(limit.after(batch(1, { bytesPerOffset: null }))?.to).toBe(30_000n);
  });

  it('any run of batches keeps it positive and under the budget of the last sizes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            offsets: fc.bigInt({ min: 0n, max: 10n ** 12n }),
            durationMs: fc.integer({ min: 0, max: 10_000_000 }),
            heldBack: fc.boolean(),
            bytesPerOffset: fc.oneof(fc.constant(null), fc.double({ min: 0.001, max: 1e9, noNaN: true })),
          }),
          { maxLength: 40 },
        ),
        (batches) => {
          const limit = new AutoLimit(MINUTE, 2 ** 29);
          for (const b of batches) {
            const before = limit.offsets;
            const change = limit.after(b);
            expect(limit.offsets).toBe(change?.to ?? before);
            expect(change?.from ?? before).toBe(before);
            expect(limit.offsets >= 1n).toBe(true);
            if (b.bytesPerOffset !== null)
              expect(limit.offsets === 1n || Number(limit.offsets) * b.bytesPerOffset <= 2 ** 29).toBe(true);
          }
        },
      ),
    );
  });
});
