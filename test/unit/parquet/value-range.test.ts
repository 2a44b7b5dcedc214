import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  binaryLowerBound,
  binaryUpperBound,
  stringLowerBound,
  stringUpperBound,
} from '../../../src/parquet/bounds.ts';
import { BytesRange } from '../../../src/parquet/bytes-range.ts';
import { FixedRange } from '../../../src/parquet/fixed-range.ts';
import { FloatRange } from '../../../src/parquet/float-range.ts';
import { Int64Range } from '../../../src/parquet/integer-range.ts';
import { arbitraryText, bytesVector, int64Vector } from '../../support/parquet-table.ts';

const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString('hex');

/** The range of the values in two pages that are merged, as a chunk is. */
function rangeOf(values: ReadonlyArray<string | Uint8Array | null>, isString: boolean): BytesRange {
  const column = bytesVector(values);
  const half = values.length >> 1;
  const range = new BytesRange(isString);
  for (const [from, until] of [
    [0, half],
    [half, values.length],
  ]) {
    const page = new BytesRange(isString);
    page.update(column.data, column.starts, from, until);
    range.merge(page);
  }
  return range;
}

describe('BytesRange', () => {
  it('finds the bounds that a sort finds: strings', () => {
    const values = fc.array(fc.option(arbitraryText(), { freq: 8 }), { maxLength: 40 });
    fc.assert(
      fc.property(values, (list) => {
        const range = rangeOf(list, true);
        const sorted = list
          .filter((v) => v !== null)
          .map((v) => Buffer.from(v))
          .sort(Buffer.compare);
        expect(range.isEmpty).toBe(sorted.length === 0);
        if (sorted.length === 0) return;
        const first = sorted[0];
        const last = sorted[sorted.length - 1];
        expect(hex(range.lowerBound())).toBe(hex(stringLowerBound(first)));
        expect(hex(range.upperBound())).toBe(hex(stringUpperBound(last)));
        expect(range.minExact).toBe(sorted.some((v) => hex(v) === hex(range.lowerBound())));
        expect(range.maxExact).toBe(hex(last) === hex(range.upperBound()));
      }),
      { numRuns: 500 },
    );
  });

  it('finds the bounds that a sort finds: bytes of few values, so that prefixes and ends meet', () => {
    const bytes = fc.uint8Array({ maxLength: 20, max: 1 }).map((b) => b.map((v) => (v === 0 ? 0 : 255)));
    const values = fc.array(fc.option(fc.oneof(bytes, fc.constant(new Uint8Array(18))), { freq: 8 }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(values, (list) => {
        const range = rangeOf(list, false);
        const sorted = list.filter((v) => v !== null).sort(Buffer.compare);
        if (sorted.length === 0) return;
        expect(hex(range.lowerBound())).toBe(hex(binaryLowerBound(sorted[0])));
        expect(hex(range.upperBound())).toBe(hex(binaryUpperBound(sorted[sorted.length - 1])));
      }),
      { numRuns: 500 },
    );
  });

  it('tells whether a bound was cut, also where values differ behind it only', () => {
    const prefix = 'x'.repeat(16);
    const both = rangeOf([`${prefix}y`, prefix, `${prefix}z`], true);
    expect([both.minExact, both.maxExact]).toEqual([true, false]);
    expect(hex(both.upperBound())).toBe(hex(Buffer.from(`${'x'.repeat(15)}y`)));
    const one = rangeOf([prefix], true);
    expect([one.minExact, one.maxExact]).toEqual([true, true]);
    const cut = rangeOf([`${prefix}1`, `${prefix}2`], true);
    expect([cut.minExact, cut.maxExact]).toEqual([false, false]);
  });

  it('leaves out the bounds of a string column with bytes that are no text', () => {
    const range = rangeOf([Uint8Array.of(0x80, 0x80), Uint8Array.of(0xff)], true);
    expect(range.lowerBound()).toBeUndefined();
    expect(range.upperBound()).toBeUndefined();
  });
});

describe('Int64Range', () => {
  it('compares low words as unsigned', () => {
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1 }),
        (list) => {
          const range = new Int64Range(false);
          range.update(int64Vector(list).words, 0, list.length);
          const sorted = [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
          expect(Buffer.from(range.minBytes()!).readBigInt64LE()).toBe(sorted[0]);
          expect(Buffer.from(range.maxBytes()!).readBigInt64LE()).toBe(sorted[sorted.length - 1]);
        },
      ),
    );
  });
});

describe('FloatRange', () => {
  it('counts NaN and never takes it as a bound', () => {
    const range = new FloatRange(8);
    range.update(Float64Array.of(Number.NaN, 2, Number.NaN, -3), 0, 4);
    expect(range.nanCount).toBe(2);
    expect(Buffer.from(range.lowerBound()!).readDoubleLE()).toBe(-3);
    expect(Buffer.from(range.upperBound()!).readDoubleLE()).toBe(2);
    range.clear();
    range.update(Float64Array.of(Number.NaN), 0, 1);
    expect([range.isEmpty, range.nanCount, range.lowerBound(), range.maxBytes()]).toEqual([
      true,
      1,
      undefined,
      undefined,
    ]);
  });

  it('puts -0.0 below 0.0 in manifests, and widens zeros in the statistics of Parquet', () => {
    for (const values of [
      [0, -0],
      [-0, 0],
    ]) {
      const range = new FloatRange(8);
      range.update(Float64Array.from(values), 0, 2);
      expect(Object.is(Buffer.from(range.lowerBound()!).readDoubleLE(), -0)).toBe(true);
      expect(Object.is(Buffer.from(range.upperBound()!).readDoubleLE(), 0)).toBe(true);
    }
    const positive = new FloatRange(4);
    positive.update(Float32Array.of(0), 0, 1);
    expect(Object.is(Buffer.from(positive.lowerBound()!).readFloatLE(), 0)).toBe(true);
    expect(Object.is(Buffer.from(positive.minBytes()!).readFloatLE(), -0)).toBe(true);
    const negative = new FloatRange(4);
    negative.update(Float32Array.of(-0), 0, 1);
    expect(Object.is(Buffer.from(negative.upperBound()!).readFloatLE(), -0)).toBe(true);
    expect(Object.is(Buffer.from(negative.maxBytes()!).readFloatLE(), 0)).toBe(true);
  });
});

describe('FixedRange', () => {
  it('compares decimals signed, other bytes unsigned', () => {
    const data = Uint8Array.of(0xff, 0xff, 0x00, 0x05, 0x80, 0x00, 0x7f, 0xff);
    const decimal = new FixedRange(2, true);
    decimal.update(data, 0, 4);
    expect([hex(decimal.minBytes()), hex(decimal.maxBytes())]).toEqual(['8000', '7fff']);
    const fixed = new FixedRange(2, false);
    fixed.update(data, 0, 4);
    expect([hex(fixed.lowerBound()), hex(fixed.upperBound())]).toEqual(['0005', 'ffff']);
    const one = new FixedRange(2, true);
    one.update(data, 0, 1);
    expect([hex(one.minBytes()), hex(one.lowerBound())]).toEqual(['ffff', 'ff']);
  });
});
