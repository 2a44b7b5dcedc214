import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeGaps, encodeGaps, GapWriter } from '../../../src/checkpoint/gap-text.ts';
import { Malformed } from '../../../src/checkpoint/malformed.ts';
import { addSums, stretchSum, subtractSums } from '../../../src/core/gap-sum.ts';

/** Ascending, disjoint, none touching another; sizes from one offset to the whole range. */
const size = fc.oneof(fc.bigInt(1n, 40n), fc.bigInt(1n, 2n ** 33n), fc.bigInt(1n, 2n ** 58n));
const gaps = fc
  .tuple(fc.constantFrom(0n, 1n, 2n ** 53n + 1n), fc.array(fc.tuple(size, size), { maxLength: 20 }))
  .map(([start, pairs]) => {
    let at = start;
    return pairs.map(([distance, length]) => {
      const from = at + distance;
      at = from + length;
      return { from, until: at };
    });
  });

describe('gaps as text', () => {
  it('come back as they were, however they are appended', () => {
    fc.assert(
      fc.property(gaps, fc.nat(20), (list, cut) => {
        const text = encodeGaps(list);
        expect(decodeGaps(text)).toEqual(list);
        const writer = new GapWriter(encodeGaps(list.slice(0, cut)));
        for (const { from, until } of list.slice(cut)) expect(writer.append(from, until, 1_000)).toBe(true);
        expect(writer.text).toBe(text);
      }),
    );
  });

  it('are united where they touch, and counted no further than asked', () => {
    const writer = new GapWriter(encodeGaps([{ from: 3n, until: 5n }]));
    expect(writer.append(5n, 6n, 1)).toBe(true);
    expect(writer.append(8n, 9n, 1)).toBe(false);
    expect(decodeGaps(writer.text)).toEqual([{ from: 3n, until: 6n }]);
    expect(() => writer.append(5n, 7n, 9)).toThrowError(Malformed);
  });

  it('of any text are a list or a clear fault', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'ABCDgh059-_') }),
      gaps.map((list) => encodeGaps(list).slice(1)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          let end = -1n;
          for (const { from, until } of decodeGaps(text)) {
            expect(from >= end && until > from && until <= 2n ** 63n).toBe(true);
            end = until;
          }
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed);
        }
      }),
    );
  });

  it('take few characters', () => {
    const list = Array.from({ length: 1_000 }, (_, n) => ({
      from: BigInt(n) * 500n,
      until: BigInt(n) * 500n + 1n,
    }));
    expect(encodeGaps(list).length).toBeLessThan(3_010);
  });
});

describe('the checksum of offsets', () => {
  const runs = fc.array(fc.tuple(fc.nat(2 ** 40), fc.integer({ min: 1, max: 6 })), { maxLength: 12 });

  it('is the same however the offsets are cut and in whatever order they come', () => {
    fc.assert(
      fc.property(runs, (list) => {
        const whole = list.reduce((sum, [from, n]) => addSums(sum, stretchSum(from, from + n)), 0);
        const single = list
          .flatMap(([from, n]) => Array.from({ length: n }, (_, i) => from + i))
          .reverse()
          .reduce((sum, offset) => addSums(sum, stretchSum(offset, offset + 1)), 0);
        expect(single).toBe(whole);
        expect(Number.isSafeInteger(whole) && whole >= 0).toBe(true);
        const twice = list.reduce((sum, [from, n]) => addSums(sum, stretchSum(from, from + n, 2)), 0);
        expect(subtractSums(twice, whole)).toBe(whole);
        expect(
          addSums(
            whole,
            list.reduce((s, [from, n]) => addSums(s, stretchSum(from, from + n, -1)), 0),
          ),
        ).toBe(0);
      }),
    );
  });

  it('tells sets of as many offsets apart', () => {
    const sums = new Set<number>();
    for (let offset = 0; offset < 200_000; offset++) sums.add(stretchSum(offset, offset + 1));
    for (let high = 1; high < 20_000; high++) sums.add(stretchSum(high * 2 ** 32, high * 2 ** 32 + 1));
    expect(sums.size).toBe(200_000 + 19_999);
  });
});
