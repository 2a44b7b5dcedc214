import { describe, expect, it } from 'vitest';
import { addSums, stretchSum } from '../../../src/core/gap-sum.ts';
import { addGap, openCursor, skipTo } from '../../../src/kafka/partition-cursor.ts';

const open = (from = 0n, until = 100n) => openCursor({ topic: 't', partition: 1, from, until });

describe('PartitionCursor', () => {
  it('opens at the beginning of its range with nothing counted', () => {
    expect(open(7n, 9n)).toMatchObject({
      topic: 't',
      partition: 1,
      position: 7n,
      until: 9n,
      rows: 0,
      control: 0,
      aborted: 0,
      holes: 0,
      bytes: 0,
      leaderEpoch: -1,
      leaderEpochEnd: 0n,
      gaps: [],
      gapsCut: false,
    });
  });

  it('merges stretches that touch', () => {
    const cursor = open();
    addGap(cursor, 1n, 3n);
    addGap(cursor, 3n, 5n);
    addGap(cursor, 6n, 6n);
    addGap(cursor, 6n, 7n);
    expect(cursor.gaps).toEqual([
      { from: 1n, until: 5n },
      { from: 6n, until: 7n },
    ]);
  });

  it('passes holes up to until, never back', () => {
    const cursor = open(10n, 20n);
    skipTo(cursor, 5n);
    expect(cursor.position).toBe(10n);
    skipTo(cursor, 12n);
    skipTo(cursor, 12n);
    expect([cursor.position, cursor.holes]).toEqual([12n, 2]);
    skipTo(cursor, 2n ** 63n - 1n);
    expect([cursor.position, cursor.holes]).toEqual([20n, 10]);
    expect(cursor.gaps).toEqual([{ from: 10n, until: 20n }]);
  });

  it('lists 10,000 stretches, says that there are more, and goes on with the checksum', () => {
    const cursor = open(0n, 100_000n);
    let sum = 0;
    for (let i = 0n; i < 10_000n; i++) addGap(cursor, i * 2n, i * 2n + 1n);
    expect(cursor.gapsCut).toBe(false);
    addGap(cursor, 19_999n, 20_000n);
    expect(cursor.gaps.at(-1)).toEqual({ from: 19_998n, until: 20_000n });
    addGap(cursor, 50_000n, 50_001n);
    expect(cursor.gapsCut).toBe(true);
    expect(cursor.gaps).toHaveLength(10_000);
    for (let i = 0; i < 10_000; i++) sum = addSums(sum, stretchSum(2 * i, 2 * i + 1));
    for (const single of [19_999, 50_000]) sum = addSums(sum, stretchSum(single, single + 1));
    expect(cursor.gapSum).toBe(sum);
  });
});
