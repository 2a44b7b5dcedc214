/**
 * A checksum of a set of offsets that does not depend on the order in which they come or how they are cut into
 * stretches: each offset counts `mix(offset) - mix(offset + 1)`, so that a stretch costs two hashes, however long it is,
 * and the sums of two disjoint sets add up to that of both. With it, and a count, two sets are compared without a list.
 *
 * Sums are whole numbers in [0, 2^52): additions stay exact in doubles. Two different sets agree by chance once in 2^52.
 */
const MODULUS = 2 ** 52;

/** The sum of the offsets [from, until), `times` over; negative times take them away. */
export function stretchSum(from: number, until: number, times = 1): number {
  let sum = mix(from) - mix(until);
  if (sum < 0) sum += MODULUS;
  let total = 0;
  for (let n = Math.abs(times); n > 0; n--) total = addSums(total, sum);
  return times < 0 && total > 0 ? MODULUS - total : total;
}

/** The sum of two sets together. */
export function addSums(a: number, b: number): number {
  const sum = a + b;
  return sum >= MODULUS ? sum - MODULUS : sum;
}

/** The sum of what is in `a` and not in `b`, where `b` is a part of `a`. */
export function subtractSums(a: number, b: number): number {
  return a >= b ? a - b : a - b + MODULUS;
}

/** 52 bits of an offset; the first 32 alone are a permutation of its lower half (multipliers of MurmurHash3 and xxHash). */
function mix(offset: number): number {
  let a = offset >>> 0;
  let b = Math.floor(offset / 2 ** 32) ^ 0x9e3779b9;
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b);
  a = Math.imul(a ^ (a >>> 13) ^ b, 0xc2b2ae35);
  a ^= a >>> 16;
  b = Math.imul(b ^ a, 0x27d4eb2f);
  b = Math.imul(b ^ (b >>> 15), 0x165667b1);
  b ^= b >>> 13;
  return (a >>> 0) * 2 ** 20 + (b >>> 12);
}
