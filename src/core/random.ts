/**
 * Repeatable random numbers: xoshiro128** (Blackman and Vigna, 2018), its state filled by splitmix32 from a seed and a stream
 * number. The same pair gives the same numbers on every machine; not for secrets.
 */
export class Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;

  /** `seed` and `stream` are integers; both count in full up to 2^53. */
  constructor(seed: number, stream = 0) {
    this.reseed(seed, stream);
  }

  /** A generator with exactly this state of four 32-bit words, not all zero. */
  static ofState(a: number, b: number, c: number, d: number): Random {
    const random = new Random(0);
    random.#a = a | 0;
    random.#b = b | 0;
    random.#c = c | 0;
    random.#d = d | 0;
    return random;
  }

  /** Goes to the beginning of a stream: as a new `Random`, without allocating one. */
  reseed(seed: number, stream = 0): void {
    let state = mix(seed >>> 0) ^ mix((Math.floor(seed / 0x1_0000_0000) >>> 0) + 0x51_7c_c1_b7);
    state ^=
      mix((stream >>> 0) + 0x27_22_0a_95) ^ mix((Math.floor(stream / 0x1_0000_0000) >>> 0) + 0x2f_63_9b_01);
    // splitmix32 walks a full cycle, so the four words are never all zero.
    state = (state + 0x9e_37_79_b9) | 0;
    this.#a = mix(state);
    state = (state + 0x9e_37_79_b9) | 0;
    this.#b = mix(state);
    state = (state + 0x9e_37_79_b9) | 0;
    this.#c = mix(state);
    state = (state + 0x9e_37_79_b9) | 0;
    this.#d = mix(state);
  }

  /** An integer in [0, 2^32). */
  uint32(): number {
    const times5 = Math.imul(this.#b, 5);
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** A number in [0, 1) with 32 random bits. */
  unit(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** An integer in [0, limit); `limit` is at most 2^32. */
  below(limit: number): number {
    return Math.floor((this.uint32() / 0x1_0000_0000) * limit);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}

/** The finaliser of splitmix32: a bijection of 32-bit words. */
function mix(word: number): number {
  let x = word | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21_f0_aa_ad);
  x = Math.imul(x ^ (x >>> 15), 0x73_5a_2d_97);
  return x ^ (x >>> 15);
}
