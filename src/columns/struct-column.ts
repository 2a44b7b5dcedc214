import type { GrowingColumn } from './growing-column.ts';
import { NullMarks } from './null-marks.ts';
import type { StructVector } from './vector.ts';

/**
 * A growing column of structs. Append one row to every field, then `endRow`; or `appendNull`, which does both. A row that
 * was begun and not ended is given up by `truncate(length)`.
 */
export class StructColumn implements StructVector {
  readonly kind = 'struct';
  readonly fields: readonly GrowingColumn[];
  private readonly marks = new NullMarks();

  constructor(fields: readonly GrowingColumn[]) {
    this.fields = fields;
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

  /** Ends a row that is there: every field has got its value or null. */
  endRow(): void {
    this.marks.append(false);
  }

  appendNull(): void {
    for (const field of this.fields) field.appendNull();
    this.marks.append(true);
  }

  isNull(row: number): boolean {
    return this.nullCount > 0 && this.nulls[row] === 1;
  }

  clear(): void {
    for (const field of this.fields) field.clear();
    this.marks.clear();
  }

  /** Drops rows [rows, length), and what a row that was not ended has left in the fields. */
  truncate(rows: number): void {
    for (const field of this.fields) field.truncate(rows);
    this.marks.truncate(rows);
  }
}
