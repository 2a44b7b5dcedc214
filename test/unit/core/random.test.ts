import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/core/random.ts';

const take = (random: Random, count: number) => Array.from({ length: count }, () => random.uint32());

describe('Random', () => {
  it('is xoshiro128**', () => {
    // The first numbers of the reference implementation from the state 1, 2, 3, 4.
    expect(take(Random.ofState(1, 2, 3, 4), 10)).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ]);
  });

  it('repeats by seed and stream, and differs between them', () => {
    const numbers = take(new Random(7, 3), 8);
    expect(take(new Random(7, 3), 8)).toEqual(numbers);
    const random = new Random(1);
    random.reseed(7, 3);
    expect(take(random, 8)).toEqual(numbers);
    for (const other of [
      new Random(7, 4),
      new Random(8, 3),
      new Random(3, 7),
      new Random(7 + 2 ** 32, 3),
      new Random(7, 3 + 2 ** 32),
    ]) {
      expect(take(other, 8)).not.toEqual(numbers);
    }
  });

  it('begins each of many streams with another number', () => {
    const random = new Random(1);
    const firsts = new Set<string>();
    for (let stream = 0; stream < 50_000; stream++) {
      random.reseed(1, stream);
      firsts.add(`${random.uint32()} ${random.uint32()}`);
    }
    expect(firsts.size).toBe(50_000);
  });

  it('stays in its ranges and reaches every value', () => {
    const random = new Random(2);
    const seen = new Set<number>();
    for (let n = 0; n < 1_000; n++) {
      expect(random.unit()).toBeLessThan(1);
      seen.add(random.below(6));
    }
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(random.below(1)).toBe(0);
    expect(random.chance(0)).toBe(false);
    expect(random.chance(1)).toBe(true);
    expect(['a', 'b']).toContain(random.pick(['a', 'b']));
  });
});
