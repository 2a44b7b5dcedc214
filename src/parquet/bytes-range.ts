import { isUtf8 } from 'node:buffer';
import {
  BOUND_LENGTH,
  incrementBinary,
  incrementString,
  MAX_STRING_BOUND_BYTES,
  stringBoundLength,
} from './bounds.ts';
import type { ValueRange } from './value-range.ts';

/**
 * Range of strings (by UTF-8 bytes) or binary. Only what a bound may hold is looked at: 16 code points of a string, 16
 * bytes of binary; cutting keeps the order, so the least prefix is the prefix of the least value. Most values lie
 * strictly between the two bounds, which a comparison of one to four 32-bit words shows.
 */
export class BytesRange implements ValueRange {
  isEmpty = true;
  readonly nanCount = 0;
  private readonly isString: boolean;
  private readonly min = new Uint8Array(MAX_STRING_BOUND_BYTES);
  private minLength = 0;
  /** Every value with this prefix goes on behind it. */
  private minCut = false;
  private readonly max = new Uint8Array(MAX_STRING_BOUND_BYTES);
  private maxLength = 0;
  /** Some value with this prefix goes on behind it. */
  private maxCut = false;
  /** The first 16 bytes of both as big-endian words, zeros behind the end. */
  private readonly minWords = new Uint32Array(4);
  private readonly maxWords = new Uint32Array(4);
  /** How many words, from the first, are the same in both. */
  private commonWords = 0;

  constructor(isString: boolean) {
    this.isString = isString;
  }

  clear(): void {
    this.isEmpty = true;
  }

  /** Rows [from, until) of a PLAIN byte column (`starts` as in BytesVector); null rows are passed over. */
  update(data: Uint8Array, starts: Uint32Array, from: number, until: number): void {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const { minWords, maxWords } = this;
    const wordLimit = data.length - 16;
    for (let row = from; row < until; row++) {
      const start = starts[row];
      const end = starts[row + 1];
      if (start === end) continue;
      const at = start + 4;
      const length = end - at;
      if (at <= wordLimit && !this.isEmpty) {
        const common = this.commonWords;
        let j = 0;
        while (j < common && length >= 4 * j + 4 && view.getUint32(at + 4 * j) === minWords[j]) j++;
        if (j === common) {
          if (j === 4) {
            // all the same 16 bytes: nothing new in one more value that goes on behind them
            if (length > BOUND_LENGTH && this.maxCut && this.minLength === 16 && this.maxLength === 16)
              continue;
          } else {
            const rest = length - 4 * j;
            let word = view.getUint32(at + 4 * j);
            if (rest < 4) word = rest <= 0 ? 0 : (word & (-1 << (8 * (4 - rest)))) >>> 0;
            if (word > minWords[j] && word < maxWords[j]) continue;
          }
        }
      }
      this.take(data, at, end);
    }
  }

  takePlain(plain: Uint8Array): void {
    this.take(plain, 4, plain.length);
  }

  /** Takes in the value `data[from, until)`. */
  take(data: Uint8Array, from: number, until: number): void {
    const prefix = this.isString
      ? stringBoundLength(data, from, until)
      : Math.min(BOUND_LENGTH, until - from);
    const cut = from + prefix < until;
    this.takeMin(data, from, prefix, cut);
    this.takeMax(data, from, prefix, cut);
    if (this.isEmpty) {
      this.isEmpty = false;
      this.setWords();
    }
  }

  private takeMin(data: Uint8Array, from: number, length: number, cut: boolean): void {
    const order = this.isEmpty ? -1 : compareBytes(data, from, length, this.min, this.minLength);
    if (order === 0) {
      this.minCut &&= cut;
    } else if (order < 0) {
      this.min.set(data.subarray(from, from + length));
      this.minLength = length;
      this.minCut = cut;
      if (!this.isEmpty) this.setWords();
    }
  }

  private takeMax(data: Uint8Array, from: number, length: number, cut: boolean): void {
    const order = this.isEmpty ? 1 : compareBytes(data, from, length, this.max, this.maxLength);
    if (order === 0) {
      this.maxCut ||= cut;
    } else if (order > 0) {
      this.max.set(data.subarray(from, from + length));
      this.maxLength = length;
      this.maxCut = cut;
      if (!this.isEmpty) this.setWords();
    }
  }

  private setWords(): void {
    toWords(this.min, this.minLength, this.minWords);
    toWords(this.max, this.maxLength, this.maxWords);
    let common = 0;
    // a word that is not whole in both may hide a difference in length: it is never counted as common
    const whole = Math.min(this.minLength, this.maxLength) >> 2;
    while (common < 4 && common < whole && this.minWords[common] === this.maxWords[common]) common++;
    this.commonWords = common;
  }

  merge(other: BytesRange): void {
    if (other.isEmpty) return;
    this.takeMin(other.min, 0, other.minLength, other.minCut);
    this.takeMax(other.max, 0, other.maxLength, other.maxCut);
    this.isEmpty = false;
    this.setWords();
  }

  get minExact(): boolean {
    return !this.minCut;
  }

  get maxExact(): boolean {
    return !this.maxCut;
  }

  minBytes(): Uint8Array | undefined {
    return this.lowerBound();
  }

  maxBytes(): Uint8Array | undefined {
    return this.upperBound();
  }

  lowerBound(): Uint8Array | undefined {
    if (this.isEmpty) return undefined;
    const bound = this.min.slice(0, this.minLength);
    return this.isString && !isUtf8(bound) ? undefined : bound;
  }

  upperBound(): Uint8Array | undefined {
    if (this.isEmpty) return undefined;
    const bound = this.max.slice(0, this.maxLength);
    if (this.maxCut) return this.isString ? incrementString(bound) : incrementBinary(bound);
    return this.isString && !isUtf8(bound) ? undefined : bound;
  }

  compareMin(other: BytesRange): number {
    return Math.sign(compareBytes(this.min, 0, this.minLength, other.min, other.minLength));
  }

  /** By the prefixes; where they are the same, one that was cut (its bound is incremented) is the greater. */
  compareMax(other: BytesRange): number {
    const order = compareBytes(this.max, 0, this.maxLength, other.max, other.maxLength);
    return order === 0 ? Number(this.maxCut) - Number(other.maxCut) : Math.sign(order);
  }
}

function compareBytes(a: Uint8Array, from: number, length: number, b: Uint8Array, bLength: number): number {
  const shared = Math.min(length, bLength);
  for (let i = 0; i < shared; i++) {
    const d = a[from + i] - b[i];
    if (d !== 0) return d;
  }
  return length - bLength;
}

function toWords(bytes: Uint8Array, length: number, words: Uint32Array): void {
  for (let j = 0; j < 4; j++) {
    let word = 0;
    for (let i = 4 * j; i < 4 * j + 4; i++) word = word * 256 + (i < length ? bytes[i] : 0);
    words[j] = word;
  }
}
