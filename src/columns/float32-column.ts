import { takeNulls } from './take-nulls.ts';
import type { Float32Vector } from './vector.ts';

/** A growing column of 32-bit floats. */
export class Float32Column implements Float32Vector {
  readonly kind = 'float32';
  length = 0;
  nullCount = 0;
  values: Float32Array;
  nulls: Uint8Array;

  constructor(capacity = 64) {
    this.values = new Float32Array(capacity);
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
    const values = new Float32Array(capacity);
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
