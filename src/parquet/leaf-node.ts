import { type ColumnVector, type ConstantVector, type FlatVector, isFlat } from '../columns/vector.ts';
import type { ColumnWriter } from './column-writer.ts';
import {
  isNullConstant,
  kindFault,
  type NodePlace,
  nullFault,
  nullSlots,
  presentLevel,
  type RowSpan,
  type ShredNode,
  shortFault,
} from './shred-node.ts';
import { levelsAt, type Slots, slotsAt } from './slots.ts';

/** A leaf of a nested column: hands levels and values to its column. */
export class LeafNode implements ShredNode {
  private readonly place: NodePlace;
  private readonly column: ColumnWriter;
  private readonly noRows = new Int32Array(0);

  constructor(place: NodePlace, column: ColumnWriter) {
    this.place = place;
    this.column = column;
  }

  shredRows(vector: ColumnVector, span: RowSpan): void {
    if (vector.kind === 'constant') {
      this.shredConstant(vector, span);
      return;
    }
    const { from, until, levels } = span;
    const flat = this.flat(vector);
    if (flat.length < until) throw shortFault(this.place, flat.length);
    if (levels === undefined) this.column.append(flat, from, until);
    else this.column.appendLevelled(flat, this.ownLevels(flat, levels, from, until), from, until);
  }

  private ownLevels(flat: FlatVector, levels: Uint8Array, from: number, until: number): Uint8Array {
    const { place } = this;
    const { level, required } = place;
    const present = presentLevel(place);
    const own = levelsAt(place.depth);
    const starts = flat.kind === 'bytes' ? flat.starts : undefined;
    const nulls = flat.kind === 'bytes' || flat.nullCount === 0 ? undefined : flat.nulls;
    for (let i = 0; i < until - from; i++) {
      const above = levels[i];
      if (above !== level) {
        own[i] = above;
        continue;
      }
      const row = from + i;
      const isNull =
        starts !== undefined ? starts[row] === starts[row + 1] : nulls !== undefined && nulls[row] === 1;
      if (isNull && required) throw nullFault(place);
      own[i] = isNull ? above : present;
    }
    return own;
  }

  private shredConstant(vector: ConstantVector, { from, until, levels }: RowSpan): void {
    if (levels === undefined) {
      this.appendConstant(vector, until - from);
      return;
    }
    const count = until - from;
    for (let i = 0; i < count; ) {
      const start = i;
      while (i < count && levels[i] === levels[start]) i++;
      if (levels[start] === this.place.level) this.appendConstant(vector, i - start);
      else this.column.appendNulls(levels[start], i - start);
    }
  }

  private appendConstant(vector: ConstantVector, rows: number): void {
    if (vector.value !== null) this.column.append(vector, 0, rows);
    else if (this.place.required) throw nullFault(this.place);
    else this.column.appendNulls(this.place.level, rows);
  }

  shredSlots(vector: ColumnVector, slots: Slots): void {
    if (isNullConstant(vector)) {
      const { levels } = nullSlots(slots, this.place);
      this.column.appendEntries(levels, undefined, this.noRows, 0);
      return;
    }
    const flat = this.flat(vector);
    const own = slotsAt(this.place.depth, slots.length);
    own.levels.length = slots.length;
    own.levels.repetition.set(slots.levels.repetition.subarray(0, slots.length));
    const values = flat.nullCount === 0 ? this.takeAll(slots, own) : this.takeNonNull(flat, slots, own);
    if (values > 0 && own.rows[values - 1] >= flat.length) throw shortFault(this.place, flat.length);
    this.column.appendEntries(own.levels, flat, own.rows, values);
  }

  /** The levels and the rows of a vector without nulls; returns how many rows. */
  private takeAll(slots: Slots, own: Slots): number {
    const present = presentLevel(this.place);
    const { rows: places } = slots;
    const { definition: above } = slots.levels;
    const { rows } = own;
    const { definition } = own.levels;
    let values = 0;
    for (let i = 0; i < slots.length; i++) {
      const row = places[i];
      rows[values] = row;
      if (row >= 0) {
        definition[i] = present;
        values++;
      } else {
        definition[i] = above[i];
      }
    }
    return values;
  }

  private takeNonNull(flat: FlatVector, slots: Slots, own: Slots): number {
    const { required } = this.place;
    const present = presentLevel(this.place);
    const starts = flat.kind === 'bytes' ? flat.starts : undefined;
    const nulls = flat.kind === 'bytes' ? undefined : flat.nulls;
    let values = 0;
    for (let i = 0; i < slots.length; i++) {
      const row = slots.rows[i];
      const isNull = row >= 0 && (starts !== undefined ? starts[row] === starts[row + 1] : nulls![row] === 1);
      if (isNull && required) throw nullFault(this.place);
      if (row < 0 || isNull) {
        own.levels.definition[i] = slots.levels.definition[i];
      } else {
        own.levels.definition[i] = present;
        own.rows[values++] = row;
      }
    }
    return values;
  }

  private flat(vector: ColumnVector): FlatVector {
    if (!isFlat(vector) || vector.kind === 'constant') throw kindFault(this.place, vector);
    return vector;
  }

  weigh(_vector: ColumnVector, from: number, until: number): number {
    return until - from;
  }
}
