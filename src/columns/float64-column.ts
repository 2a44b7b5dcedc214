import { takeNulls } from './take-nulls.ts';
import type { Float64Vector } from './vector.ts';

/** A growing column of 64-bit floats. */
export class Float64Column implements Float64Vector {
  readonly kind = 'float64';
  length = 0;
  nullCount = 0;
  values: Float64Array;
  nulls: Uint8Array;

  constructor(capacity = 64) {
    this.values = new Float64Array(capacity);
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
    if (need <= this.values.length) return;
    const capacity = Math.max(need, this.values.length * 2);
    const values = new Float64Array(capacity);
    values.set(this.values.subarray(0, this.length));
    const nulls = new Uint8Array(capacity);
    nulls.set(this.nulls.subarray(0, this.length));
    this.values = values;
    this.nulls = nulls;
  }

  append(value: number): void {
    if (this.length === this.values.length) this.reserve(1);
    this.values[this.length++] = value;
  }

  appendNull(): void {
    this.append(0);
    this.nulls[this.length - 1] = 1;
    this.nullCount++;
  }

  isNull(row: number): boolean {
    return this.nullCount > 0 && this.nulls[row] === 1;
  }
}
