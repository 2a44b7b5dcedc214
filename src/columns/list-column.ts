import type { GrowingColumn } from './growing-column.ts';
import { NullMarks } from './null-marks.ts';
import type { ListVector } from './vector.ts';

/** A growing column of lists. Append the elements of a row to `element`, then `endRow`; or `appendNull`. */
export class ListColumn implements ListVector {
  readonly kind = 'list';
  readonly element: GrowingColumn;
  starts = new Uint32Array(65);
  private readonly marks = new NullMarks();

  constructor(element: GrowingColumn) {
    this.element = element;
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
    this.element.clear();
    this.marks.clear();
    this.starts[0] = 0;
  }

  /** Drops rows [rows, length), and the entries of a row that was not ended. */
  truncate(rows: number): void {
    this.element.truncate(this.starts[rows]);
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
    this.starts[length] = this.element.length;
  }
}
