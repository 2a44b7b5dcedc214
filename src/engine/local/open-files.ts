import { type StructType, walkFields } from '../../core/schema.ts';

/** What an open data file takes for each of its columns before it has many rows: objects, pages, dictionaries; measured. */
const COLUMN_BYTES = 12 * 1024;

/**
 * How many data files a task may have open, over all of its tables: each takes memory for every column, whatever few rows
 * it has. One is always allowed.
 */
export class OpenFiles {
  private readonly maxBytes: number;
  private bytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** False where there is no room for another file of these columns. */
  take(columns: number): boolean {
    const bytes = columns * COLUMN_BYTES;
    if (this.bytes > 0 && this.bytes + bytes > this.maxBytes) return false;
    this.bytes += bytes;
    return true;
  }

  give(columns: number): void {
    this.bytes -= columns * COLUMN_BYTES;
  }
}

/** Columns at every level of a schema. */
export function columnCount(schema: StructType): number {
  let count = 0;
  for (const { type } of walkFields(schema)) if (typeof type === 'string') count++;
  return count;
}
