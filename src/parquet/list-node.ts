import type { ColumnVector, ListVector, MapVector } from '../columns/vector.ts';
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
import { type Slots, slotsAt } from './slots.ts';

/** A list or a map: each of its slots becomes one slot per entry, or one that says that it is null or empty. */
export class ListNode implements ShredNode {
  private readonly place: NodePlace;
  private readonly kind: 'list' | 'map';
  /** The element, or the key and the value. */
  private readonly children: readonly ShredNode[];

  constructor(place: NodePlace, kind: 'list' | 'map', children: readonly ShredNode[]) {
    this.place = place;
    this.kind = kind;
    this.children = children;
  }

  shredRows(vector: ColumnVector, { from, until, levels }: RowSpan): void {
    const { level, depth } = this.place;
    const count = until - from;
    const slots = slotsAt(depth + 1, count);
    slots.levels.length = count;
    slots.levels.repetition.fill(0, 0, count);
    const { definition } = slots.levels;
    for (let i = 0; i < count; i++) {
      const above = levels === undefined ? level : levels[i];
      definition[i] = above;
      slots.rows[i] = above === level ? from + i : -1;
    }
    this.shredSlots(vector, slots);
  }

  shredSlots(vector: ColumnVector, slots: Slots): void {
    if (isNullConstant(vector)) {
      const inner = nullSlots(slots, this.place);
      for (const child of this.children) child.shredSlots(vector, inner);
      return;
    }
    const list = this.list(vector);
    const entries = slotsAt(this.place.depth, this.countEntries(list, slots));
    this.fillEntries(list, slots, entries);
    const children = list.kind === 'list' ? [list.element] : [list.key, list.value];
    for (let i = 0; i < children.length; i++) this.children[i].shredSlots(children[i], entries);
  }

  /** How many slots the entries need. */
  private countEntries(list: ListVector | MapVector, { rows, length }: Slots): number {
    const { starts, nulls } = list;
    const someNull = list.nullCount > 0;
    let count = 0;
    for (let i = 0; i < length; i++) {
      const row = rows[i];
      const entries = row < 0 || (someNull && nulls[row] === 1) ? 0 : starts[row + 1] - starts[row];
      // also where there is no such row
      if (!(entries >= 0)) throw shortFault(this.place, list.length);
      count += entries > 0 ? entries : 1;
    }
    return count;
  }

  private fillEntries(list: ListVector | MapVector, slots: Slots, entries: Slots): void {
    const { place } = this;
    const { starts, nulls } = list;
    const someNull = list.nullCount > 0;
    const { rows } = entries;
    const { repetition, definition } = entries.levels;
    const repeated = place.repetition + 1;
    const empty = presentLevel(place);
    let at = 0;
    for (let i = 0; i < slots.length; i++) {
      const row = slots.rows[i];
      repetition[at] = slots.levels.repetition[i];
      definition[at] = slots.levels.definition[i];
      rows[at] = -1;
      if (row < 0) {
        at++;
        continue;
      }
      if (someNull && nulls[row] === 1) {
        if (place.required) throw nullFault(place);
        at++;
        continue;
      }
      const end = starts[row + 1];
      let entry = starts[row];
      definition[at] = empty;
      if (entry === end) {
        at++;
        continue;
      }
      definition[at] = empty + 1;
      rows[at++] = entry++;
      for (; entry < end; entry++, at++) {
        repetition[at] = repeated;
        definition[at] = empty + 1;
        rows[at] = entry;
      }
    }
    entries.levels.length = at;
  }

  private list(vector: ColumnVector): ListVector | MapVector {
    if ((vector.kind !== 'list' && vector.kind !== 'map') || vector.kind !== this.kind)
      throw kindFault(this.place, vector);
    return vector;
  }

  weigh(vector: ColumnVector, from: number, until: number): number {
    const rows = until - from;
    if (vector.kind !== 'list' && vector.kind !== 'map') return rows;
    const first = vector.starts[from];
    const end = vector.starts[until];
    const children = vector.kind === 'list' ? [vector.element] : [vector.key, vector.value];
    let most = end - first;
    for (let i = 0; i < children.length && i < this.children.length; i++)
      most = Math.max(most, this.children[i].weigh(children[i], first, end));
    return rows + most;
  }
}
