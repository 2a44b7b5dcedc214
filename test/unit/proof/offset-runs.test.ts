import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appendInterval, forEachStretch, type Interval, OffsetRuns } from '../../../src/proof/offset-runs.ts';

function runsOf(...offsets: number[]): OffsetRuns {
  const runs = new OffsetRuns();
  for (const offset of offsets) runs.add(offset);
  return runs;
}

function stretches(...layers: OffsetRuns[]): [number, number, number[]][] {
  const found: [number, number, number[]][] = [];
  forEachStretch(layers, (from, until, times) => found.push([from, until, [...times]]));
  return found;
}

describe('OffsetRuns', () => {
  it('tells how often each offset is there', () => {
    expect(stretches(runsOf(3, 4, 5))).toEqual([[3, 6, [1]]]);
    expect(stretches(runsOf(6, 7, 3, 4, 5))).toEqual([[3, 8, [1]]]);
    expect(stretches(runsOf(0, 1, 4, 5, 4, 9))).toEqual([
      [0, 2, [1]],
      [4, 5, [2]],
      [5, 6, [1]],
      [9, 10, [1]],
    ]);
    expect(stretches(runsOf())).toEqual([]);
  });

  it('sets multisets beside each other', () => {
    expect(stretches(runsOf(1, 2), runsOf(2, 2), runsOf())).toEqual([
      [1, 2, [1, 0, 0]],
      [2, 3, [1, 2, 0]],
    ]);
  });

  it('takes no more room than the stretches need, in whatever order they fill', () => {
    const runs = new OffsetRuns();
    for (let step = 0; step < 7; step++) for (let i = step; i < 700_000; i += 7) runs.add(i);
    expect(runs.count).toBe(700_000);
    expect(stretches(runs)).toEqual([[0, 700_000, [1]]]);
  });

  it('counts offsets that no broker has, where they do not hide', () => {
    const huge = runsOf(2 ** 53, 2 ** 60, -(2 ** 60));
    expect(huge.count).toBe(3);
    expect(stretches(huge).map(([from, until, [times]]) => (until - from) * times)).toEqual([1, 2]);
  });

  it('agrees with counting one by one', () => {
    const step = fc.oneof(
      fc.nat(60).map((offset) => [offset, offset + 1] as const),
      fc.tuple(fc.nat(60), fc.nat(9)).map(([from, size]) => [from, from + size] as const),
    );
    fc.assert(
      fc.property(fc.array(fc.array(step, { maxLength: 200 }), { minLength: 1, maxLength: 3 }), (lists) => {
        const layers = lists.map((list) => {
          const runs = new OffsetRuns();
          for (const [from, until] of list) {
            if (until === from + 1) runs.add(from);
            else runs.addRun(from, until);
          }
          return runs;
        });
        const counted = Array.from({ length: 80 }, (_, offset) =>
          lists.map((list) => list.filter(([from, until]) => offset >= from && offset < until).length),
        );
        const found = counted.map((times) => times.map(() => 0));
        for (const [from, until, times] of stretches(...layers)) {
          expect(times.some((n) => n > 0)).toBe(true);
          for (let offset = from; offset < until; offset++) found[offset] = times;
        }
        expect(found).toEqual(counted);
        expect(layers.map((l) => l.count)).toEqual(
          lists.map((list) => list.reduce((n, [from, until]) => n + until - from, 0)),
        );
        expect(stretches(layers[0].distinct())).toEqual(
          joined(stretches(layers[0])).map(({ from, until }) => [Number(from), Number(until), [1]]),
        );
      }),
    );
  });
});

function joined(list: [number, number, number[]][]): Interval[] {
  const intervals: Interval[] = [];
  for (const [from, until] of list) appendInterval(intervals, from, until);
  return intervals;
}
