/**
 * Stretches of offsets as text: ascending, disjoint, each as its distance from the end of the one before (the first: from
 * 0) and its length, both as digits of base 32 from the lowest, one character each, of which all but the last are marked.
 * So a stretch takes three to five characters, and one that follows is appended without touching those before.
 */
import { excerpt, Malformed } from './malformed.ts';

type Stretch = { from: bigint; until: bigint };

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

/** Marks a digit that others follow. */
const MORE = 32;
/** Digits that are added up in a double: 45 bits. */
const SMALL_DIGITS = 9;
/** Offsets are less than 2^63. */
const MOST_DIGITS = 13;
const MOST_OFFSET = 2n ** 63n;

/** Throws Malformed where the text is none, or an offset lies beyond 2^63. */
export function forEachGap(text: string, visit: (from: bigint, until: bigint) => void): void {
  const reader = new DigitReader(text);
  let position = 0n;
  while (reader.at < text.length) {
    const from = position + reader.next();
    const length = reader.next();
    position = from + length;
    if (length === 0n || position > MOST_OFFSET) throw reader.fault();
    visit(from, position);
  }
}

export function decodeGaps(text: string): Stretch[] {
  const gaps: Stretch[] = [];
  forEachGap(text, (from, until) => gaps.push({ from, until }));
  return gaps;
}

/** The stretches must ascend and be disjoint; those that touch are united. */
export function encodeGaps(gaps: readonly Stretch[]): string {
  const writer = new GapWriter('');
  for (const { from, until } of gaps) writer.append(from, until, Number.POSITIVE_INFINITY);
  return writer.text;
}

/** Appends to a text; the last stretch, which may still grow, is kept apart. */
export class GapWriter {
  #head = '';
  #headEnd = 0n;
  #last: Stretch | null = null;
  #count = 0;

  /** Throws Malformed. */
  constructor(text: string) {
    forEachGap(text, (from, until) => this.append(from, until, Number.POSITIVE_INFINITY));
  }

  get text(): string {
    return this.#last === null ? this.#head : this.#head + formatGap(this.#headEnd, this.#last);
  }

  /** Appends [from, until), or grows the last stretch where they touch; false where there are `most` already. */
  append(from: bigint, until: bigint, most: number): boolean {
    const last = this.#last;
    if (last !== null) {
      if (from < last.until)
        throw new Malformed(`gap [${from}, ${until}) comes after one that ends at ${last.until}`);
      if (from === last.until) {
        last.until = until;
        return true;
      }
      if (this.#count >= most) return false;
      this.#head += formatGap(this.#headEnd, last);
      this.#headEnd = last.until;
    }
    this.#last = { from, until };
    this.#count++;
    return true;
  }
}

function formatGap(end: bigint, { from, until }: Stretch): string {
  return formatDigits(from - end) + formatDigits(until - from);
}

function formatDigits(value: bigint): string {
  let text = '';
  let rest = value;
  for (; rest >= 32n; rest >>= 5n) text += ALPHABET[Number(rest & 31n) + MORE];
  return text + ALPHABET[Number(rest)];
}

class DigitReader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  next(): bigint {
    let small = 0;
    let scale = 1;
    let large = 0n;
    for (let digits = 0; digits < MOST_DIGITS; digits++) {
      const code = this.#text.charCodeAt(this.at++);
      const value = code < 128 ? VALUES[code] : -1;
      if (value < 0) break;
      if (digits < SMALL_DIGITS) {
        small += (value & 31) * scale;
        scale *= 32;
      } else large |= BigInt(value & 31) << BigInt(5 * digits);
      if (value < MORE) return large === 0n ? BigInt(small) : BigInt(small) + large;
    }
    throw this.fault();
  }

  fault(): Malformed {
    return new Malformed(`${excerpt(this.#text)} is no list of gaps, at character ${this.at - 1}`);
  }
}
