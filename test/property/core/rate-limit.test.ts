import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getOffset, type OffsetMap } from '../../../src/core/offset-range.ts';
import { limitOffsets } from '../../../src/core/rate-limit.ts';

interface Part {
  begin: bigint;
  size: bigint;
}

/**
 * KafkaMicroBatchStream.rateLimit line by line: Longs as bigints, Doubles as numbers, `toLong` saturating. Offsets are
 * kept so small that no Long overflows.
 */
function sparkRateLimit(limit: bigint, parts: readonly Part[]): bigint[] {
  const sizes = parts.map((p) => (p.size > 0n ? p.size : undefined));
  const total = Number(sizes.reduce<bigint>((a, b) => a + (b ?? 0n), 0n));
  if (total < 1) return parts.map((p) => p.begin + p.size);
  return parts.map((p, i) => {
    const end = p.begin + p.size;
    const size = sizes[i];
    if (size === undefined) return end;
    const prorate = Number(limit) * (Number(size) / total);
    const asDouble = prorate < 1 ? Math.ceil(prorate) : Math.floor(prorate);
    const prorateLong = asDouble >= 2 ** 63 ? 9223372036854775807n : BigInt(asDouble);
    const off = prorateLong > 9223372036854775807n - p.begin ? 9223372036854775807n : p.begin + prorateLong;
    return end < off ? end : off;
  });
}

const size = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt(-5n, 1000n) },
  fc.bigInt(0n, 10n ** 9n),
  fc.bigInt(0n, 2n ** 58n),
);
const part: fc.Arbitrary<Part> = fc.record({
  begin: fc.oneof(fc.bigInt(5n, 1000n), fc.bigInt(5n, 2n ** 62n)),
  size,
});
const parts = fc.array(part, { minLength: 1, maxLength: 12 });
const limit = fc.oneof(fc.bigInt(1n, 500n), fc.bigInt(1n, 10n ** 7n), fc.bigInt(1n, 2n ** 63n - 1n));

function limited(given: readonly Part[], max: bigint): bigint[] {
  const begin: OffsetMap = new Map([['t', new Map(given.map((p, i) => [i, p.begin]))]]);
  const until: OffsetMap = new Map([['t', new Map(given.map((p, i) => [i, p.begin + p.size]))]]);
  const ends = limitOffsets(begin, until, max);
  return given.map((_, i) => getOffset(ends, 't', i)!);
}

describe('limitOffsets', () => {
  it('plans what Spark plans', () => {
    fc.assert(
      fc.property(parts, limit, (given, max) => {
        expect(limited(given, max)).toEqual(sparkRateLimit(max, given));
      }),
      { numRuns: 500 },
    );
  });

  it('stays within each range, moves every partition that has something, and keeps to the limit', () => {
    fc.assert(
      fc.property(parts, fc.bigInt(1n, 10n ** 9n), (given, max) => {
        const ends = limited(given, max);
        let sum = 0n;
        let starved = 0n;
        for (const [i, p] of given.entries()) {
          if (p.size <= 0n) {
            expect(ends[i]).toBe(p.begin + p.size);
            continue;
          }
          expect(ends[i] > p.begin && ends[i] <= p.begin + p.size).toBe(true);
          sum += ends[i] - p.begin;
          if (ends[i] - p.begin === 1n) starved++;
        }
        expect(sum <= max + starved).toBe(true);
      }),
    );
  });

  it('never plans less for a larger limit', () => {
    fc.assert(
      fc.property(parts, limit, limit, (given, a, b) => {
        const less = limited(given, a < b ? a : b);
        const more = limited(given, a < b ? b : a);
        less.forEach((end, i) => {
          expect(end <= more[i]).toBe(true);
        });
      }),
    );
  });

  it('reads everything in the end, batch by batch', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ begin: fc.bigInt(0n, 100n), size: fc.bigInt(0n, 2000n) }), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.bigInt(50n, 300n),
        (given, max) => {
          let left = given;
          for (let batch = 0; left.some((p) => p.size > 0n); batch++) {
            expect(batch).toBeLessThan(5 * 2000);
            const ends = limited(left, max);
            left = left.map((p, i) => ({ begin: ends[i], size: p.begin + p.size - ends[i] }));
          }
          expect(left.map((p) => p.begin)).toEqual(given.map((p) => p.begin + p.size));
        },
      ),
      { numRuns: 30 },
    );
  });
});
