import { Levels } from './levels.ts';
import { BLOCK_ROWS } from './page-values.ts';

/**
 * The places of a node of a nested column in a block of rows: each has its levels so far, and the row of the node's
 * vector that stands there, or -1 where something above it is null or empty.
 */
export class Slots {
  readonly levels = new Levels();
  rows = new Int32Array(1024);

  get length(): number {
    return this.levels.length;
  }

  /** Begins anew, with room for `length` slots; the length is set by who fills it. */
  reset(length: number): void {
    this.levels.length = 0;
    this.levels.reserve(length);
    if (length > this.rows.length) this.rows = new Int32Array(Math.max(length, this.rows.length * 2));
  }

  get capacity(): number {
    return this.rows.length;
  }
}

/** Slots above this number are not kept: they were one row with a very long list. */
const MAX_KEPT_SLOTS = 64 * 1024;

/** By depth in the tree of a type, shared by all columns of a thread: nothing in them outlives a call. */
const slotsByDepth: Slots[] = [];
const levelsByDepth: Uint8Array[] = [];

/** Empty slots with room for `length`. Those of the same depth that were handed out before are of no use any more. */
export function slotsAt(depth: number, length: number): Slots {
  let slots = slotsByDepth[depth];
  if (slots === undefined || slots.capacity > Math.max(length, MAX_KEPT_SLOTS)) {
    slots = new Slots();
    slotsByDepth[depth] = slots;
  }
  slots.reset(length);
  return slots;
}

/** Room for the definition levels of a block of rows of a node that nothing repeats. */
export function levelsAt(depth: number): Uint8Array {
  levelsByDepth[depth] ??= new Uint8Array(BLOCK_ROWS);
  return levelsByDepth[depth];
}
