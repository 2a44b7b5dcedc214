import { describe, expect, it } from 'vitest';
import type { OffsetMap } from '../../../src/core/offset-range.ts';
import { limitOffsets } from '../../../src/core/rate-limit.ts';

const of = (...offsets: bigint[]): OffsetMap => new Map([['t', new Map(offsets.map((o, i) => [i, o]))]]);

describe('limitOffsets', () => {
  it.each<[string, OffsetMap, OffsetMap, bigint, OffsetMap]>([
    ['shares in proportion', of(0n, 0n, 0n), of(100n, 200n, 700n), 100n, of(10n, 20n, 70n)],
    ['begins where each partition stands', of(1000n, 5n), of(1100n, 105n), 50n, of(1025n, 30n)],
    ['rounds down, and leaves the remainder', of(0n, 0n, 0n), of(100n, 100n, 100n), 100n, of(33n, 33n, 33n)],
    ['gives one offset where the share is below one', of(0n, 0n), of(1n, 100_000n), 100n, of(1n, 99n)],
    ['so that a small limit is gone past', of(0n, 0n, 0n), of(10n, 10n, 10n), 1n, of(1n, 1n, 1n)],
    ['reads all where all is under the limit', of(3n, 4n), of(10n, 20n), 1000n, of(10n, 20n)],
    ['reads nothing where there is nothing', of(5n, 6n), of(5n, 6n), 10n, of(5n, 6n)],
    ['leaves a full partition out of the sum', of(5n, 0n), of(5n, 100n), 10n, of(5n, 10n)],
    ['leaves a shrunk partition to the loss check', of(50n, 0n), of(40n, 100n), 10n, of(40n, 10n)],
    [
      'seed 004: 150,000 of a backlog over four partitions',
      of(0n, 0n, 0n, 0n),
      of(1_000_000n, 500_000n, 300_000n, 200_000n),
      150_000n,
      of(75_000n, 37_500n, 22_500n, 15_000n),
    ],
    ['offsets near 2^63', of(2n ** 63n - 101n, 0n), of(2n ** 63n - 1n, 100n), 100n, of(2n ** 63n - 51n, 50n)],
    ['a limit of 2^63-1', of(0n, 0n), of(2n ** 62n, 2n ** 62n), 2n ** 63n - 1n, of(2n ** 62n, 2n ** 62n)],
  ])('%s', (_what, begin, until, limit, ends) => {
    expect(limitOffsets(begin, until, limit)).toEqual(ends);
  });

  it("does not let the sum of sizes overflow, where Spark's Long would", () => {
    const until = of(2n ** 63n - 1n, 2n ** 63n - 1n, 2n ** 63n - 1n);
    const ends = limitOffsets(of(0n, 0n, 0n), until, 300n);
    expect(ends).toEqual(of(100n, 100n, 100n));
  });

  it('refuses a limit below one and a partition without a beginning', () => {
    expect(() => limitOffsets(of(0n), of(1n), 0n)).toThrowError(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    expect(() => limitOffsets(of(0n), of(1n, 1n), 1n)).toThrowError(
      expect.objectContaining({ message: expect.stringContaining('t-1') }),
    );
  });

  it('does not change what it is given', () => {
    const until = of(100n, 100n);
    limitOffsets(of(0n, 0n), until, 10n);
    expect(until).toEqual(of(100n, 100n));
  });
});
