import type { FlatVector } from '../columns/vector.ts';
import type { LeafColumn } from './leaf-column.ts';
import type { Levels } from './levels.ts';
import { checkValueLength } from './plain-value.ts';

/** What the open page still takes. */
export interface PageRoom {
  bytes: number;
  rows: number;
  entries: number;
  /** An empty page takes one row, whatever its size. */
  isEmpty: boolean;
}

/**
 * How many of the entries of a leaf inside lists go to the open page. Pages begin with a row (the page index tells the
 * first row of each), so a row is never divided between two.
 */
export class EntryFit {
  /** Where the entries that fit end, and where their values end; the rows that they are. */
  entry = 0;
  value = 0;
  rows = 0;
  private readonly leaf: LeafColumn;

  constructor(leaf: LeafColumn) {
    this.leaf = leaf;
  }

  /**
   * Of the entries from `entry` on, whose values are the rows `rows[value, valueCount)` of the vector. Throws UNSUPPORTED
   * for a row of more than 1 GiB.
   */
  measure(
    room: PageRoom,
    levels: Levels,
    entry: number,
    vector: FlatVector | undefined,
    rows: Int32Array,
    value: number,
    valueCount: number,
  ): void {
    const { repetition, definition, length } = levels;
    const present = this.leaf.maxDefinitionLevel;
    const width = this.leaf.width || 1;
    const starts = vector?.kind === 'bytes' ? vector.starts : undefined;
    if (this.fitsWhole(room, levels, entry, vector, rows, value, valueCount)) return;
    this.entry = entry;
    this.value = value;
    this.rows = 0;
    let bytes = 0;
    let values = value;
    for (let i = entry; i < length; ) {
      const before = bytes;
      do {
        if (definition[i] === present) {
          bytes += starts === undefined ? width : starts[rows[values] + 1] - starts[rows[values]];
          values++;
        }
        i++;
      } while (i < length && repetition[i] !== 0);
      const isFirst = room.isEmpty && this.rows === 0;
      if (isFirst) checkValueLength(this.leaf, bytes - before);
      else if (bytes > room.bytes || this.rows === room.rows || i - entry > room.entries) return;
      this.rows++;
      this.entry = i;
      this.value = values;
    }
    if (values !== valueCount) throw new RangeError(`${valueCount} values for ${values} levels`);
  }

  /** Takes all at once where even the bytes between the first and the last value fit. */
  private fitsWhole(
    room: PageRoom,
    { repetition, length }: Levels,
    entry: number,
    vector: FlatVector | undefined,
    rows: Int32Array,
    value: number,
    valueCount: number,
  ): boolean {
    let bytes = (valueCount - value) * (this.leaf.width || 1);
    if (vector?.kind === 'bytes' && valueCount > value)
      bytes = vector.starts[rows[valueCount - 1] + 1] - vector.starts[rows[value]];
    if (bytes > room.bytes || length - entry > room.entries) return false;
    let count = 0;
    for (let i = entry; i < length; i++) count += repetition[i] === 0 ? 1 : 0;
    if (count > room.rows) return false;
    this.entry = length;
    this.value = valueCount;
    this.rows = count;
    return true;
  }
}
