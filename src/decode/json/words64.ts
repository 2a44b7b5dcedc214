import type { Int64Column } from '../../columns/int64-column.ts';

/** Exact 64-bit integers as pairs of 32-bit words, so that no BigInt is made for a value. */

/**
 * Appends `count * unit + rest`; nothing but integers: |count| < 2^42, 0 < unit <= 1e9, 0 <= rest < 2^42. False, and nothing
 * is appended, where the sum is none of 64 bits.
 */
export function appendScaled(column: Int64Column, count: number, unit: number, rest: number): boolean {
  const direct = count * unit + rest;
  if (direct >= -9007199254740991 && direct <= 9007199254740991) {
    column.appendWords(direct | 0, Math.floor(direct / 4294967296));
    return true;
  }
  // In pieces of 16 bits: count = upper * 2^16 + lower.
  const upper = Math.floor(count / 65_536);
  const lower = count - upper * 65_536;
  const high = upper * unit;
  const highUpper = Math.floor(high / 65_536);
  const highLower = high - highUpper * 65_536;
  const low = highLower * 65_536 + lower * unit + rest;
  const carry = Math.floor(low / 4294967296);
  const word = highUpper + carry;
  if (word < -2147483648 || word > 2147483647) return false;
  column.appendWords((low - carry * 4294967296) | 0, word);
  return true;
}

/**
 * Appends `high * 10^digits + low`, negated where `negative`: high < 10^9, low < 10^digits, digits <= 9, times 10 once more
 * with `last` where that is not negative. False where it is beyond 64 bits.
 */
export function appendDigits(
  column: Int64Column,
  negative: boolean,
  high: number,
  low: number,
  power: number,
  last: number,
): boolean {
  // high * power < 10^18: in pieces of 16 bits of `high`.
  const upper = high >>> 16;
  const middle = upper * power;
  const middleUpper = Math.floor(middle / 65_536);
  let word0 = (middle - middleUpper * 65_536) * 65_536 + (high & 0xffff) * power + low;
  let word1 = middleUpper + Math.floor(word0 / 4294967296);
  word0 -= Math.floor(word0 / 4294967296) * 4294967296;
  if (last >= 0) {
    word0 = word0 * 10 + last;
    const carry = Math.floor(word0 / 4294967296);
    word0 -= carry * 4294967296;
    word1 = word1 * 10 + carry;
  }
  // The least number is one further from zero than the greatest.
  if (word1 > 2147483647 && !(negative && word1 === 2147483648 && word0 === 0)) return false;
  if (!negative) column.appendWords(word0 | 0, word1 | 0);
  else if (word0 === 0) column.appendWords(0, -word1 | 0);
  else column.appendWords((4294967296 - word0) | 0, (-word1 - 1) | 0);
  return true;
}
