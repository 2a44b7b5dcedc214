import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareOffsets,
  type Interval,
  OffsetRuns,
  subtractIntervals,
} from '../../../src/proof/offset-intervals.ts';

function runsOf(...offsets: number[]): OffsetRuns {
  const runs = new OffsetRuns();
  for (const offset of offsets) runs.add(offset);
  return runs;
}

const interval = (from: number, until: number): Interval => ({ from: BigInt(from), until: BigInt(until) });

describe('compareOffsets', () => {
  it('finds nothing where each expected offset is there once', () => {
    expect(compareOffsets([interval(3, 6)], runsOf(3, 4, 5))).toEqual({
      missing: [],
      duplicated: [],
      unexpected: [],
    });
    expect(compareOffsets([interval(3, 6), interval(6, 8)], runsOf(6, 7, 3, 4, 5))).toEqual({
      missing: [],
      duplicated: [],
      unexpected: [],
    });
  });

  it('finds lost, doubled and foreign offsets', () => {
    expect(compareOffsets([interval(0, 6)], runsOf(0, 1, 4, 5, 4, 9, 10))).toEqual({
      missing: [interval(2, 4)],
      duplicated: [interval(4, 5)],
      unexpected: [interval(9, 11)],
    });
  });

  it('expects an offset twice where two incarnations of a topic had it', () => {
    const twice = [interval(0, 4), interval(0, 2)];
    expect(compareOffsets(twice, runsOf(0, 1, 2, 3, 0, 1))).toEqual({
      missing: [],
      duplicated: [],
      unexpected: [],
    });
    expect(compareOffsets(twice, runsOf(0, 1, 2, 3))).toMatchObject({ missing: [interval(0, 2)] });
  });

  it('agrees with counting one by one', () => {
    const intervals = fc.array(fc.tuple(fc.nat(40), fc.nat(10)), { maxLength: 6 });
    fc.assert(
      fc.property(intervals, fc.array(fc.nat(60), { maxLength: 60 }), (ranges, offsets) => {
        const difference = compareOffsets(
          ranges.map(([from, size]) => interval(from, from + size)),
          runsOf(...offsets),
        );
        const inside = (list: Interval[], o: number): boolean =>
          list.some((i) => BigInt(o) >= i.from && BigInt(o) < i.until);
        for (let o = 0; o <= 61; o++) {
          const want = ranges.filter(([from, size]) => o >= from && o < from + size).length;
          const have = offsets.filter((x) => x === o).length;
          expect(inside(difference.missing, o)).toBe(have < want);
          expect(inside(difference.duplicated, o)).toBe(have > want && want > 0);
          expect(inside(difference.unexpected, o)).toBe(have > 0 && want === 0);
        }
      }),
    );
  });
});

describe('subtractIntervals', () => {
  it('cuts gaps out', () => {
    expect(subtractIntervals([interval(0, 10)], [interval(8, 12), interval(0, 1), interval(3, 5)])).toEqual([
      interval(1, 3),
      interval(5, 8),
    ]);
    expect(subtractIntervals([interval(0, 4), interval(6, 9)], [interval(2, 7)])).toEqual([
      interval(0, 2),
      interval(7, 9),
    ]);
  });
});
