import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleRanges } from '../../../../src/cli/init/sample-ranges.ts';

const extent = (partition: number, earliest: bigint, latest: bigint) => ({
  topic: 't',
  partition,
  earliest,
  latest,
});

describe('the ranges of a sample', () => {
  it('are the ends of all partitions, short ones giving way to longer ones', () => {
    expect(
      sampleRanges([extent(0, 0n, 1000n), extent(1, 5n, 7n), extent(2, 9n, 9n), extent(3, 0n, 50n)], 100),
    ).toEqual([
      { topic: 't', partition: 0, from: 951n, until: 1000n },
      { topic: 't', partition: 1, from: 5n, until: 7n },
      { topic: 't', partition: 3, from: 1n, until: 50n },
    ]);
    expect(sampleRanges([extent(0, 0n, 10n), extent(1, 0n, 10n)], 1)).toEqual([
      { topic: 't', partition: 0, from: 9n, until: 10n },
    ]);
    expect(sampleRanges([], 10)).toEqual([]);
  });

  it('hold as many records as are wanted, or all that there are', () => {
    const extents = fc.array(fc.tuple(fc.nat(1000), fc.nat(300)), { maxLength: 8 });
    fc.assert(
      fc.property(extents, fc.integer({ min: 1, max: 500 }), (lengths, wanted) => {
        const partitions = lengths.map(([start, length], i) =>
          extent(i, BigInt(start), BigInt(start + length)),
        );
        const ranges = sampleRanges(partitions, wanted);
        const taken = ranges.reduce((sum, { from, until }) => sum + Number(until - from), 0);
        expect(taken).toBe(
          Math.min(
            wanted,
            lengths.reduce((sum, [, length]) => sum + length, 0),
          ),
        );
        for (const { partition, from, until } of ranges) {
          expect(from).toBeLessThan(until);
          expect(from).toBeGreaterThanOrEqual(partitions[partition].earliest);
          expect(until).toBe(partitions[partition].latest);
        }
      }),
    );
  });
});
