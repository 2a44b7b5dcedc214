import { NullMarks } from './null-marks.ts';

/** What lists and maps have in common: rows of entries, each a stretch of one or two columns. */
export abstract class EntriesColumn {
  starts = new Uint32Array(65);
  private readonly marks = new NullMarks();

  /** Entries appended so far, also those of a row that was not ended. */
  protected abstract entryCount(): number;
  /** Drops entries [count, entryCount). */
  protected abstract truncateEntries(count: number): void;
  protected abstract clearEntries(): void;

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
    this.clearEntries();
    this.marks.clear();
    this.starts[0] = 0;
  }

  /** Drops rows [rows, length), and the entries of a row that was not ended. */
  truncate(rows: number): void {
    this.truncateEntries(this.starts[rows]);
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
    this.starts[length] = this.entryCount();
  }
}
