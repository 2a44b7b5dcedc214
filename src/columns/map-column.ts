import type { GrowingColumn } from './growing-column.ts';
import { NullMarks } from './null-marks.ts';
import type { MapVector } from './vector.ts';

/** A growing column of maps. Append the entries of a row to `key` and `value`, then `endRow`; or `appendNull`. */
export class MapColumn implements MapVector {
  readonly kind = 'map';
  readonly key: GrowingColumn;
  readonly value: GrowingColumn;
  starts = new Uint32Array(65);
  private readonly marks = new NullMarks();

  constructor(key: GrowingColumn, value: GrowingColumn) {
    this.key = key;
    this.value = value;
  }

  get length(): number {
    return this.marks.length;
  }

  get nullCount(): number {
    return this.marks.nullCount;
  }

  get nulls(): Uint8Array {
    return this.marks.nulls;
  }

  /** Ends a row that is there: its entries are those appended since the row before. */
  endRow(): void {
    this.end(false);
  }

  appendNull(): void {
    this.end(true);
  }

  isNull(row: number): boolean {
    return this.nullCount > 0 && this.nulls[row] === 1;
  }

  clear(): void {
    this.key.clear();
    this.value.clear();
    this.marks.clear();
    this.starts[0] = 0;
  }

  /** Drops rows [rows, length), and the entries of a row that was not ended. */
  truncate(rows: number): void {
    this.key.truncate(this.starts[rows]);
    this.value.truncate(this.starts[rows]);
    this.marks.truncate(rows);
  }

  private end(isNull: boolean): void {
    this.marks.append(isNull);
    const { length } = this.marks;
    if (length === this.starts.length) {
      const starts = new Uint32Array(length * 2);
      starts.set(this.starts);
      this.starts = starts;
    }
    this.starts[length] = this.key.length;
  }
}
