import { takeNulls } from './take-nulls.ts';
import type { Int64Vector } from './vector.ts';

/** A growing column of 64-bit integers, held as pairs of 32-bit words so that no BigInt is made per row. */
export class Int64Column implements Int64Vector {
  readonly kind = 'int64';
  length = 0;
  nullCount = 0;
  words: Int32Array;
  nulls: Uint8Array;

  constructor(capacity = 64) {
    this.words = new Int32Array(capacity * 2);
    this.nulls = new Uint8Array(capacity);
  }

  clear(): void {
    if (this.nullCount > 0) this.nulls.fill(0, 0, this.length);
    this.length = 0;
    this.nullCount = 0;
  }

  /** Drops rows [rows, length). */
  truncate(rows: number): void {
    if (this.nullCount > 0) this.nullCount -= takeNulls(this.nulls, rows, this.length);
    this.length = rows;
  }

  /** Makes room for `rows` more rows. */
  reserve(rows: number): void {
    const need = this.length + rows;
    if (need <= this.nulls.length) return;
    const capacity = Math.max(need, this.nulls.length * 2);
    const words = new Int32Array(capacity * 2);
    words.set(this.words.subarray(0, this.length * 2));
    const nulls = new Uint8Array(capacity);
    nulls.set(this.nulls.subarray(0, this.length));
    this.words = words;
    this.nulls = nulls;
  }

  /** Appends the integer `high * 2^32 + (low >>> 0)`. */
  appendWords(low: number, high: number): void {
    if (this.length === this.nulls.length) this.reserve(1);
    const at = this.length * 2;
    this.words[at] = low;
    this.words[at + 1] = high;
    this.length++;
  }

  /** Appends a safe integer. */
  appendNumber(value: number): void {
    this.appendWords(value | 0, Math.floor(value / 4294967296));
  }

  appendBigInt(value: bigint): void {
    this.appendWords(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
  }

  appendNull(): void {
    this.appendWords(0, 0);
    this.nulls[this.length - 1] = 1;
    this.nullCount++;
  }

  isNull(row: number): boolean {
    return this.nullCount > 0 && this.nulls[row] === 1;
  }

  /** The value of a row as a double: exact while it is a safe integer. */
  getNumber(row: number): number {
    return this.words[row * 2 + 1] * 4294967296 + (this.words[row * 2] >>> 0);
  }

  getBigInt(row: number): bigint {
    return (BigInt(this.words[row * 2 + 1]) << 32n) | BigInt(this.words[row * 2] >>> 0);
  }
}
