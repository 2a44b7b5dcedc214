import { describe, expect, it } from 'vitest';
import { Int32Column } from '../../../src/columns/int32-column.ts';
import { Int64Column } from '../../../src/columns/int64-column.ts';

describe('Int64Column', () => {
  const values = [
    0n,
    1n,
    -1n,
    2n ** 31n,
    -(2n ** 31n),
    2n ** 32n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ];

  it('keeps every 64-bit integer exact', () => {
    const column = new Int64Column(1);
    for (const value of values) column.appendBigInt(value);
    expect(values.map((_, i) => column.getBigInt(i))).toEqual(values);
  });

  it('takes and gives safe integers as doubles', () => {
    const numbers = [
      0,
      -1,
      1,
      4294967295,
      4294967296,
      -4294967297,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ];
    const column = new Int64Column(2);
    for (const n of numbers) column.appendNumber(n);
    expect(numbers.map((_, i) => column.getNumber(i))).toEqual(numbers);
    expect(numbers.map((_, i) => column.getBigInt(i))).toEqual(numbers.map(BigInt));
  });

  it('forgets its nulls when cleared', () => {
    const column = new Int64Column(1);
    column.appendNull();
    column.appendNumber(5);
    column.appendNull();
    expect([0, 1, 2].map((i) => column.isNull(i))).toEqual([true, false, true]);
    expect(column.nullCount).toBe(2);
    column.clear();
    for (let i = 0; i < 3; i++) column.appendNumber(i);
    column.appendNull();
    expect([0, 1, 2, 3].map((i) => column.isNull(i))).toEqual([false, false, false, true]);
  });

  it('makes room for many rows at once and keeps the rows it has', () => {
    const column = new Int64Column(1);
    column.appendNull();
    column.reserve(10_000);
    expect(column.nulls.length).toBeGreaterThanOrEqual(10_001);
    expect(column.words.length).toBe(column.nulls.length * 2);
    expect(column.isNull(0)).toBe(true);
  });
});

describe('Int32Column', () => {
  it('grows, repeats and tells nulls', () => {
    const column = new Int32Column(1);
    column.append(-7);
    column.appendNull();
    column.appendRepeated(3, 100);
    expect(column.length).toBe(102);
    expect(column.values[0]).toBe(-7);
    expect(column.isNull(0)).toBe(false);
    expect(column.isNull(1)).toBe(true);
    expect([...column.values.subarray(2, 102)]).toEqual(new Array(100).fill(3));
    column.clear();
    column.append(1);
    column.append(2);
    column.appendNull();
    expect([0, 1, 2].map((i) => column.isNull(i))).toEqual([false, false, true]);
    expect(column.nullCount).toBe(1);
  });

  it('appends nothing when asked for no rows', () => {
    const column = new Int32Column(1);
    column.appendRepeated(9, 0);
    expect(column.length).toBe(0);
  });
});
