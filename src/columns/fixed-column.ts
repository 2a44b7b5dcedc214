import { takeNulls } from './take-nulls.ts';
import type { FixedVector } from './vector.ts';

/** A growing column of byte strings of one width. */
export class FixedColumn implements FixedVector {
  readonly kind = 'fixed';
  readonly width: number;
  length = 0;
  nullCount = 0;
  data: Uint8Array;
  nulls: Uint8Array;

  constructor(width: number, capacity = 64) {
    this.width = width;
    this.data = new Uint8Array(capacity * width);
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
    const data = new Uint8Array(capacity * this.width);
    data.set(this.data.subarray(0, this.length * this.width));
    const nulls = new Uint8Array(capacity);
    nulls.set(this.nulls.subarray(0, this.length));
    this.data = data;
    this.nulls = nulls;
  }

  /** `bytes` has exactly the width of the column. */
  append(bytes: Uint8Array): void {
    if (bytes.length !== this.width)
      throw new RangeError(`${bytes.length} bytes for a column of width ${this.width}`);
    if (this.length === this.nulls.length) this.reserve(1);
    this.data.set(bytes, this.length * this.width);
    this.length++;
  }

  appendNull(): void {
    if (this.length === this.nulls.length) this.reserve(1);
    this.nulls[this.length] = 1;
    this.length++;
    this.nullCount++;
  }

  isNull(row: number): boolean {
    return this.nullCount > 0 && this.nulls[row] === 1;
  }
}
