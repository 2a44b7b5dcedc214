import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  binaryLowerBound,
  binaryUpperBound,
  incrementBinary,
  incrementString,
  minimalTwosComplement,
  readSignedBigEndian,
  signedBigEndian,
  singleValueBytes,
  stringBoundLength,
  stringLowerBound,
  stringUpperBound,
  uuidBytes,
} from '../../../src/parquet/bounds.ts';
import { arbitraryText } from '../../support/parquet-table.ts';

const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString('hex');

describe('bounds of strings', () => {
  it('are cut by code points, never inside a character (case C20)', () => {
    const long = utf8(`${'b'.repeat(15)}\u2026 tail`);
    expect(hex(stringUpperBound(long))).toBe(`${'62'.repeat(15)}e280a7`);
    expect(hex(stringLowerBound(long))).toBe(`${'62'.repeat(15)}e280a6`);
    expect(hex(stringLowerBound(utf8('aa')))).toBe('6161');
  });

  it('are the string itself up to 16 code points', () => {
    for (const text of ['', 'a', 'a'.repeat(16), '\u{1f600}'.repeat(16)]) {
      expect(hex(stringLowerBound(utf8(text)))).toBe(hex(utf8(text)));
      expect(hex(stringUpperBound(utf8(text)))).toBe(hex(utf8(text)));
    }
  });

  it('skip the surrogates', () => {
    expect(hex(incrementString(utf8('a\ud7ff')))).toBe(hex(utf8('a\ue000')));
  });

  it('increment an earlier code point where the last is the greatest, and are left out where all are', () => {
    expect(hex(incrementString(utf8('ab\u{10ffff}\u{10ffff}')))).toBe(hex(utf8('ac')));
    expect(incrementString(utf8('\u{10ffff}'.repeat(16)))).toBeUndefined();
    expect(stringUpperBound(utf8('\u{10ffff}'.repeat(17)))).toBeUndefined();
    expect(hex(stringUpperBound(utf8('\u{10ffff}'.repeat(16))))).toBe('f48fbfbf'.repeat(16));
  });

  it('do not exist for bytes that are not UTF-8', () => {
    expect(stringLowerBound(Uint8Array.of(0xff, 0x61))).toBeUndefined();
    expect(stringUpperBound(Uint8Array.of(0xff, 0x61))).toBeUndefined();
    expect(stringBoundLength(new Uint8Array(1000).fill(0x80), 0, 1000)).toBe(64);
  });

  it('hold every string between them', () => {
    fc.assert(
      fc.property(arbitraryText(), (text) => {
        const value = utf8(text);
        const lower = stringLowerBound(value)!;
        const upper = stringUpperBound(value);
        expect(Array.from(Buffer.from(lower).toString('utf8')).length).toBeLessThanOrEqual(16);
        expect(Buffer.compare(lower, value)).toBeLessThanOrEqual(0);
        if (upper !== undefined) {
          expect(Buffer.compare(upper, value)).toBeGreaterThanOrEqual(0);
          expect(Array.from(Buffer.from(upper).toString('utf8')).length).toBeLessThanOrEqual(16);
        }
      }),
    );
  });
});

describe('bounds of binary', () => {
  it('are cut at 16 bytes', () => {
    const bytes = Uint8Array.from({ length: 20 }, (_, i) => i);
    expect(hex(binaryLowerBound(bytes))).toBe('000102030405060708090a0b0c0d0e0f');
    expect(hex(binaryUpperBound(bytes))).toBe('000102030405060708090a0b0c0d0e10');
    expect(hex(binaryUpperBound(bytes.subarray(0, 16)))).toBe('000102030405060708090a0b0c0d0e0f');
  });

  it('never change the bytes they are made from', () => {
    const bytes = Buffer.alloc(20, 1);
    const upper = binaryUpperBound(bytes)!;
    const lower = binaryLowerBound(bytes);
    expect(hex(bytes)).toBe('01'.repeat(20));
    bytes.fill(2);
    expect([hex(lower), hex(upper)]).toEqual(['01'.repeat(16), `${'01'.repeat(15)}02`]);
  });

  it('carry over bytes of 0xff, and are left out where all are', () => {
    expect(hex(incrementBinary(Uint8Array.of(1, 0xff, 0xff)))).toBe('02');
    expect(incrementBinary(Uint8Array.of(0xff, 0xff))).toBeUndefined();
    expect(binaryUpperBound(new Uint8Array(17).fill(0xff))).toBeUndefined();
    expect(hex(binaryUpperBound(new Uint8Array(16).fill(0xff)))).toBe('ff'.repeat(16));
  });
});

describe('single values (appendix D)', () => {
  it("writes decimals as minimal two's complement (case C26)", () => {
    const cases: Array<[bigint, string]> = [
      [-1n, 'ff'],
      [0n, '00'],
      [127n, '7f'],
      [128n, '0080'],
      [-128n, '80'],
      [-129n, 'ff7f'],
      [1420n, '058c'],
      [-8388608n, '800000'],
      [10n ** 38n - 1n, '4b3b4ca85a86c47a098a223fffffffff'],
    ];
    for (const [value, expected] of cases) {
      expect(hex(minimalTwosComplement(value))).toBe(expected);
      expect(readSignedBigEndian(minimalTwosComplement(value))).toBe(value);
      expect(hex(singleValueBytes('decimal(38, 10)', value))).toBe(expected);
    }
    expect(hex(signedBigEndian(-1n, 9))).toBe('ff'.repeat(9));
    expect(() => signedBigEndian(128n, 1)).toThrow(RangeError);
  });

  it('writes every other type', () => {
    expect(hex(singleValueBytes('boolean', true))).toBe('01');
    expect(hex(singleValueBytes('int', -2))).toBe('feffffff');
    expect(hex(singleValueBytes('date', 1))).toBe('01000000');
    expect(hex(singleValueBytes('long', 9007199254740993n))).toBe('0100000000002000');
    expect(hex(singleValueBytes('timestamptz', 1784000106123456n))).toBe('c0d09ae489560600');
    expect(hex(singleValueBytes('time', 1n))).toBe('0100000000000000');
    expect(hex(singleValueBytes('float', 1))).toBe('0000803f');
    expect(hex(singleValueBytes('double', -0))).toBe('0000000000000080');
    expect(hex(singleValueBytes('string', 'é'))).toBe('c3a9');
    expect(hex(singleValueBytes('binary', Uint8Array.of(1, 2)))).toBe('0102');
    expect(hex(singleValueBytes('uuid', 'f79c3e09-677c-4bbd-a479-3f349cb785e7'))).toBe(
      'f79c3e09677c4bbda4793f349cb785e7',
    );
    expect(hex(uuidBytes('F79C3E09-677C-4BBD-A479-3F349CB785E7'))).toBe('f79c3e09677c4bbda4793f349cb785e7');
  });

  it('refuses values that their type does not hold', () => {
    expect(() => singleValueBytes('long', 2n ** 63n)).toThrow(RangeError);
    expect(() => singleValueBytes('fixed[3]', Uint8Array.of(1, 2))).toThrow(RangeError);
    expect(() => singleValueBytes('uuid', 'f79c3e09')).toThrow(RangeError);
    expect(() => singleValueBytes({ type: 'struct', fields: [] }, 1)).toThrow(RangeError);
  });
});
