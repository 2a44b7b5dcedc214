import { takeNulls } from './take-nulls.ts';
import type { Float64Vector } from './vector.ts';

/** A growing column of 64-bit floats. */
export class Float64Column implements Float64Vector {
  readonly kind = 'float64';
  length = 0;
  nullCount = 0;
  values: Float64Array;
  nulls: Uint8Array;

  constructor(capacity = 1024) {
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

  append(value: number): void {
    if (this.length === this.values.length) this.grow();
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

  private grow(): void {
    const values = new Float64Array(this.values.length * 2);
    values.set(this.values);
    const nulls = new Uint8Array(values.length);
    nulls.set(this.nulls);
    this.values = values;
    this.nulls = nulls;
  }
}
