/** Numbers that the fast paths leave over: long mantissas, exponents, rounding. Exact whatever their length. */

export const POWERS_OF_TEN: readonly number[] = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));

/** Exponents that a value of at most 38 digits can have, with room; beyond it a number is too large or nothing. */
const MAX_SHIFT = 1_000_000_000;

/** A number that is too large for any column. */
export const TOO_LARGE = 'too large';
/** A number with digits that are not zero beyond the last one that is kept. */
export const INEXACT = 'inexact';

/**
 * The number of a JSON text (its grammar is proven) times 10^scale as an integer, exact. `rounding`: what becomes of digits
 * beyond: `refuse` (INEXACT), `floor`, or `halfUp` (a half goes away from zero). TOO_LARGE beyond `maxDigits` digits.
 */
export function scaledInteger(
  text: string,
  scale: number,
  maxDigits: number,
  rounding: 'refuse' | 'halfUp' | 'floor',
): bigint | typeof TOO_LARGE | typeof INEXACT {
  const negative = text.startsWith('-');
  const mark = text.search(/[eE]/);
  const mantissa = text.slice(negative ? 1 : 0, mark < 0 ? undefined : mark);
  const exponent = mark < 0 ? 0 : Number(text.slice(mark + 1));
  const point = mantissa.indexOf('.');
  const fractionLength = point < 0 ? 0 : mantissa.length - point - 1;
  const written = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  const digits = written.replace(/^0+/, '');
  if (digits === '') return 0n;
  const shift = Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, exponent)) - fractionLength + scale;
  // Digits of the result's integer part.
  const kept = digits.length + shift;
  if (kept > maxDigits) return TOO_LARGE;
  if (shift >= 0) return signed(BigInt(digits + '0'.repeat(shift)), negative);
  const whole = kept <= 0 ? '' : digits.slice(0, kept);
  const rest = kept <= 0 ? digits : digits.slice(kept);
  let value = whole === '' ? 0n : BigInt(whole);
  if (/[1-9]/.test(rest)) {
    if (rounding === 'refuse') return INEXACT;
    if (rounding === 'halfUp' && kept >= 0 && rest.charCodeAt(0) >= 0x35) value += 1n;
    if (rounding === 'floor' && negative) value += 1n;
  }
  return value.toString().length > maxDigits ? TOO_LARGE : signed(value, negative);
}

function signed(value: bigint, negative: boolean): bigint {
  return negative ? -value : value;
}

/** Writes an integer big-endian in two's complement into bytes [at, at + width). */
export function writeBigEndian(bytes: Uint8Array, at: number, width: number, value: bigint): void {
  let rest = BigInt.asUintN(width * 8, value);
  for (let i = at + width - 1; i >= at; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
}

/** Writes a safe integer big-endian in two's complement into bytes [at, at + width), width >= 8. */
export function writeBigEndianNumber(bytes: Uint8Array, at: number, width: number, value: number): void {
  const sign = value < 0 ? 0xff : 0;
  const high = Math.floor(value / 4294967296);
  const low = value - high * 4294967296;
  let i = at;
  for (const until = at + width - 8; i < until; i++) bytes[i] = sign;
  for (let shift = 24; shift >= 0; shift -= 8) bytes[i++] = (high >> shift) & 0xff;
  for (let shift = 24; shift >= 0; shift -= 8) bytes[i++] = (low >>> shift) & 0xff;
}

const SPLIT = 134_217_729; // 2^27 + 1

/**
 * The double nearest to (high * 10^lowDigits + low) / 10^divisor, for 16 to 18 digits in all and 0 <= divisor <= 22; NaN
 * where this way cannot tell, which is about once in 2^40.
 *
 * The mantissa is the exact sum of two doubles; its quotient by the exact power is taken to about 100 bits (a double, and
 * the quotient of its remainder, Dekker's product giving the remainder exactly). Rounding is monotonic: where both ends of
 * the interval that the true value lies in round to one double, that is the one.
 */
export function divideExact(high: number, lowPower: number, low: number, power: number): number {
  // high * 10^9 is below 10^18 and has a factor 2^9 or more of the power's: two doubles hold the sum.
  const product = high * lowPower;
  const productError = twoProductError(high, lowPower, product);
  const sum = product + low;
  const sumError = low - (sum - product) + productError;
  const quotient = sum / power;
  const back = quotient * power;
  const remainder = sum - back - twoProductError(quotient, power, back) + sumError;
  const correction = remainder / power;
  const slack = Math.abs(correction) * 1e-12 + quotient * 1e-30;
  const lower = quotient + (correction - slack);
  return lower === quotient + (correction + slack) ? lower : Number.NaN;
}

/** a * b - product, exactly. */
function twoProductError(a: number, b: number, product: number): number {
  const aSplit = a * SPLIT;
  const aHigh = aSplit - (aSplit - a);
  const aLow = a - aHigh;
  const bSplit = b * SPLIT;
  const bHigh = bSplit - (bSplit - b);
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}
