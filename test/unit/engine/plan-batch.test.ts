import { describe, expect, it } from 'vitest';
import { formatOffsetMap } from '../../../src/core/offset-range.ts';
import { addNewPartitions, planRanges, positionsAfter } from '../../../src/engine/plan-batch.ts';
import { offsets, stateOf } from '../../support/source-state.ts';

describe('planRanges', () => {
  it('plans up to the latest offsets and lists empty ranges', () => {
    const plan = planRanges(offsets({ a: [5, 40] }), stateOf({ a: [0, 0] }, { a: [90, 40] }), null, null);
    expect(plan.ranges.map((r) => [r.partition, r.from, r.until])).toEqual([
      [0, 5n, 90n],
      [1, 40n, 40n],
    ]);
    expect(plan.totalOffsets).toBe(85n);
  });

  it('plans nothing above the last stable offset, which is no loss', () => {
    const plan = planRanges(offsets({ a: [50] }), stateOf({ a: [0] }, { a: [40] }, { a: [60] }), null, null);
    expect(plan.ranges[0]).toMatchObject({ from: 50n, until: 50n });
  });

  it('keeps to frozen ends, and leaves out partitions that appeared later', () => {
    const plan = planRanges(
      offsets({ a: [5, 0] }),
      stateOf({ a: [0, 0] }, { a: [90, 40] }),
      null,
      offsets({ a: [20] }),
    );
    expect(plan.ranges.map((r) => r.until)).toEqual([20n, 0n]);
  });

  it('shares a limit in proportion to what is left', () => {
    const plan = planRanges(offsets({ a: [0, 0] }), stateOf({ a: [0, 0] }, { a: [300, 100] }), 100n, null);
    expect(plan.ranges.map((r) => r.until)).toEqual([75n, 25n]);
  });
});

describe('C14: a partition that appears while running', () => {
  it('starts at its earliest offset, never at the latest', () => {
    const positions = offsets({ a: [10, 10, 10] });
    const added = addNewPartitions(positions, stateOf({ a: [0, 0, 0, 2] }, { a: [10, 10, 10, 5] }));
    expect(added).toEqual([{ topic: 'a', partition: 3 }]);
    expect(formatOffsetMap(positions)).toBe('{"a":{"0":10,"1":10,"2":10,"3":2}}');
  });
});

describe('positionsAfter', () => {
  it('keeps the partitions that were not planned', () => {
    const after = positionsAfter(offsets({ a: [1, 2], gone: [7] }), [
      { topic: 'a', partition: 1, from: 2n, until: 9n },
    ]);
    expect(formatOffsetMap(after)).toBe('{"a":{"0":1,"1":9},"gone":{"0":7}}');
  });
});
