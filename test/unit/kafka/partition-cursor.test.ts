import { describe, expect, it } from 'vitest';
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

  it('drops stretches after the thousandth and says so', () => {
    const cursor = open(0n, 10_000n);
    for (let i = 0n; i < 1000n; i++) addGap(cursor, i * 2n, i * 2n + 1n);
    expect(cursor.gapsCut).toBe(false);
    addGap(cursor, 1999n, 2000n);
    expect(cursor.gaps.at(-1)).toEqual({ from: 1998n, until: 2000n });
    addGap(cursor, 5000n, 5001n);
    expect(cursor.gapsCut).toBe(true);
    expect(cursor.gaps).toHaveLength(1000);
  });
});
