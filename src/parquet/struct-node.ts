import type { ColumnVector, StructVector } from '../columns/vector.ts';
import {
  copySlots,
  isNullConstant,
  kindFault,
  type NodePlace,
  nullFault,
  nullSlots,
  nullSpan,
  presentLevel,
  type RowSpan,
  type ShredNode,
  shortFault,
} from './shred-node.ts';
import { levelsAt, type Slots } from './slots.ts';

/** A struct: what stands in it keeps the rows, and is there where the struct is. */
export class StructNode implements ShredNode {
  private readonly place: NodePlace;
  private readonly children: ReadonlyArray<ShredNode | undefined>;

  /** A child for each field of the type, undefined for one that is not stored. */
  constructor(place: NodePlace, children: ReadonlyArray<ShredNode | undefined>) {
    this.place = place;
    this.children = children;
  }

  shredRows(vector: ColumnVector, span: RowSpan): void {
    if (isNullConstant(vector)) {
      const inner = nullSpan(span, this.place);
      for (const child of this.children) child?.shredRows(vector, inner);
      return;
    }
    const struct = this.struct(vector);
    if (struct.length < span.until) throw shortFault(this.place, struct.length);
    const inner = { from: span.from, until: span.until, levels: this.ownLevels(struct, span) };
    for (let i = 0; i < this.children.length; i++) this.children[i]?.shredRows(struct.fields[i], inner);
  }

  /** The levels of what stands in the struct; undefined where the struct is there in all rows. */
  private ownLevels(struct: StructVector, { from, until, levels }: RowSpan): Uint8Array | undefined {
    const { place } = this;
    const { level } = place;
    const { nulls } = struct;
    const someNull = struct.nullCount > 0 && nulls.subarray(from, until).includes(1);
    if (!someNull && (levels === undefined || place.required)) return levels;
    const present = presentLevel(place);
    const own = levelsAt(place.depth);
    for (let i = 0; i < until - from; i++) {
      const above = levels === undefined ? level : levels[i];
      const isNull = someNull && nulls[from + i] === 1;
      if (isNull && place.required && above === level) throw nullFault(place);
      own[i] = above === level && !isNull ? present : above;
    }
    return own;
  }

  shredSlots(vector: ColumnVector, slots: Slots): void {
    if (isNullConstant(vector)) {
      const inner = nullSlots(slots, this.place);
      for (const child of this.children) child?.shredSlots(vector, inner);
      return;
    }
    const struct = this.struct(vector);
    const inner = this.place.required && struct.nullCount === 0 ? slots : this.ownSlots(struct, slots);
    for (let i = 0; i < this.children.length; i++) this.children[i]?.shredSlots(struct.fields[i], inner);
  }

  private ownSlots(struct: StructVector, slots: Slots): Slots {
    const { place } = this;
    const present = presentLevel(place);
    const own = copySlots(slots, place.depth);
    const { rows } = own;
    const { definition } = own.levels;
    const { nulls } = struct;
    const someNull = struct.nullCount > 0;
    for (let i = 0; i < own.length; i++) {
      const row = rows[i];
      if (row < 0) continue;
      if (!someNull || nulls[row] === 0) {
        definition[i] = present;
      } else {
        if (place.required) throw nullFault(place);
        rows[i] = -1;
      }
    }
    return own;
  }

  private struct(vector: ColumnVector): StructVector {
    if (vector.kind !== 'struct' || vector.fields.length !== this.children.length)
      throw kindFault(this.place, vector);
    return vector;
  }

  weigh(vector: ColumnVector, from: number, until: number): number {
    let most = until - from;
    if (vector.kind !== 'struct') return most;
    for (let i = 0; i < this.children.length; i++) {
      const child = this.children[i];
      if (child !== undefined && i < vector.fields.length)
        most = Math.max(most, child.weigh(vector.fields[i], from, until));
    }
    return most;
  }
}
