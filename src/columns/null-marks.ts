import { takeNulls } from './take-nulls.ts';

/** The length of a nested column and which of its rows are null. */
export class NullMarks {
  length = 0;
  nullCount = 0;
  nulls = new Uint8Array(64);

  clear(): void {
    if (this.nullCount > 0) this.nulls.fill(0, 0, this.length);
    this.length = 0;
    this.nullCount = 0;
  }

  append(isNull: boolean): void {
    if (this.length === this.nulls.length) {
      const nulls = new Uint8Array(this.nulls.length * 2);
      nulls.set(this.nulls);
      this.nulls = nulls;
    }
    if (isNull) {
      this.nulls[this.length] = 1;
      this.nullCount++;
    }
    this.length++;
  }

  /** Drops rows [rows, length). */
  truncate(rows: number): void {
    if (this.nullCount > 0) this.nullCount -= takeNulls(this.nulls, rows, this.length);
    this.length = rows;
  }
}
