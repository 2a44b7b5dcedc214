import { describe, expect, it } from 'vitest';
import { BytesColumn } from '../../../src/columns/bytes-column.ts';
import { Int64Column } from '../../../src/columns/int64-column.ts';
import { keyOf } from '../../../src/engine/local/partitioner.ts';
import { stretchOf, ValueNumbers } from '../../../src/engine/local/value-numbers.ts';
import { bindTransform } from '../../../src/iceberg/transforms.ts';

const HOUR = 3_600_000_000n;

describe('ValueNumbers', () => {
  const int64 = (...values: bigint[]) => {
    const column = new Int64Column();
    for (const value of values) column.appendBigInt(value);
    return column;
  };

  it('finds the hours of times by their stretch, also before 1970 and beyond 2^53', () => {
    const far = 9_007_199_254_740_993n;
    const times = [-1n, -HOUR, -HOUR - 1n, 0n, HOUR - 1n, HOUR, far, far + 1n, -far, 0n];
    const apply = bindTransform({ kind: 'hour' }, 'timestamptz');
    const numbers = new ValueNumbers(apply, keyOf, stretchOf('hour', 'timestamptz'));
    const column = int64(...times);
    expect(times.map((_, row) => numbers.values[numbers.ofInt64(column, row)])).toEqual(
      times.map((time) => apply(time)),
    );
  });

  it('gives equal numbers to values of one result only, null among them', () => {
    const numbers = new ValueNumbers(bindTransform({ kind: 'truncate', width: 10 }, 'long'), keyOf, 0);
    const column = int64(-1n, -10n, 0n, 9n, 10n);
    const found = [0, 1, 2, 3, 4].map((row) => numbers.ofInt64(column, row));
    expect(found).toEqual([0, 0, 1, 1, 2]);
    expect(numbers.ofNull()).toBe(3);
    expect(numbers.values).toEqual([-10n, 0n, 10n, null]);
  });

  it('keeps what it met when the bytes it met them in are reused, however many there are', () => {
    const numbers = new ValueNumbers((value) => value, keyOf, 0);
    const column = new BytesColumn();
    const text = (n: number) => `country-${n}`;
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 20_000; n++) {
        column.clear();
        column.appendBytes(Buffer.from(text(n)));
        expect(numbers.ofBytes(column, 0, true)).toBe(n);
      }
    }
    expect(numbers.values[19_999]).toBe(text(19_999));
  });
});
