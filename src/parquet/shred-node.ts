import type { ColumnVector, ConstantVector } from '../columns/vector.ts';
import { SluiceError } from '../errors.ts';
import { levelsAt, type Slots, slotsAt } from './slots.ts';

/**
 * Rows [from, until), at most BLOCK_ROWS, of a node that nothing repeats. Row `from + i` is there where `levels[i]` is the
 * level at which the node stands; else that is the definition level of what is null above it. Undefined: all are there.
 */
export interface RowSpan {
  readonly from: number;
  readonly until: number;
  readonly levels: Uint8Array | undefined;
}

/**
 * A node of a nested type: takes vectors apart into levels and values, a block at a time (Melnik et al., "Dremel", section
 * 4.1). Throws INTERNAL where a vector does not fit the type, or a required value is null.
 */
export interface ShredNode {
  /** Takes the rows of a node that nothing repeats. */
  shredRows(vector: ColumnVector, span: RowSpan): void;
  /** Takes the slots of a node inside lists; the slots stay as they are. */
  shredSlots(vector: ColumnVector, slots: Slots): void;
  /** At least the entries that rows [from, until) of the vector are in any leaf. */
  weigh(vector: ColumnVector, from: number, until: number): number;
}

/** Where a node stands in its column. */
export interface NodePlace {
  readonly path: string;
  readonly required: boolean;
  /** Definition level of an entry in which all above this node is there; one more where it is optional and there. */
  readonly level: number;
  readonly repetition: number;
  /** The first of two of the shared scratches that are the node's own, see slots.ts. */
  readonly depth: number;
}

/** The definition level of a node that is there. */
export function presentLevel(place: NodePlace): number {
  return place.level + (place.required ? 0 : 1);
}

export function isNullConstant(vector: ColumnVector): vector is ConstantVector {
  return vector.kind === 'constant' && vector.value === null;
}

/** The span of what stands in a node that is null in every row. */
export function nullSpan(span: RowSpan, place: NodePlace): RowSpan {
  if (span.levels !== undefined) {
    if (place.required && span.levels.subarray(0, span.until - span.from).includes(place.level))
      throw nullFault(place);
    return span;
  }
  if (place.required) throw nullFault(place);
  const levels = levelsAt(place.depth);
  levels.fill(place.level, 0, span.until - span.from);
  return { from: span.from, until: span.until, levels };
}

/** The slots of what stands in a node that is null in every slot. */
export function nullSlots(slots: Slots, place: NodePlace): Slots {
  if (place.required && slots.rows.subarray(0, slots.length).some((row) => row >= 0)) throw nullFault(place);
  const own = copySlots(slots, place.depth);
  own.rows.fill(-1, 0, own.length);
  return own;
}

export function copySlots(slots: Slots, depth: number): Slots {
  const { length } = slots;
  const own = slotsAt(depth, length);
  own.levels.repetition.set(slots.levels.repetition.subarray(0, length));
  own.levels.definition.set(slots.levels.definition.subarray(0, length));
  own.rows.set(slots.rows.subarray(0, length));
  own.levels.length = length;
  return own;
}

export function nullFault(place: NodePlace): SluiceError {
  return fault(place, 'a null for a required column');
}

export function kindFault(place: NodePlace, vector: ColumnVector): SluiceError {
  return fault(place, `a vector of kind ${vector.kind}`);
}

/** A child of a struct, list or map that has fewer rows than it should. */
export function shortFault(place: NodePlace, length: number): SluiceError {
  return fault(place, `a vector of ${length} rows, which are fewer than what it stands in has`);
}

function fault(place: NodePlace, what: string): SluiceError {
  return new SluiceError('INTERNAL', `column ${place.path} was given ${what}`, {
    context: { column: place.path },
  });
}
