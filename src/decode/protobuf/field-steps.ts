/** Singular, repeated and map fields: from where they stand in a message into their columns. */

import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import type { FieldPlace, FieldStep, MessagePlan } from './message-plan.ts';
import type { ProtoInput } from './proto-input.ts';
import { within } from './proto-input.ts';
import { repeatedKeys } from './repeated-keys.ts';
import type { Step } from './step.ts';

/** The last value counts. */
export class LastValue implements FieldStep {
  private readonly step: Step;

  constructor(step: Step) {
    this.step = step;
  }

  readField(input: ProtoInput, place: FieldPlace, _number: number, end: number): void {
    const outer = input.end;
    input.end = end;
    input.at = place.lastAt;
    this.step.read(input);
    input.end = outer;
  }
}

/**
 * A message that stands several times is one in parts, later ones over earlier ones: the same as their bytes in a row
 * (Protobuf encoding guide, "Last One Wins").
 */
export class MergedMessage implements FieldStep {
  private readonly step: Step;
  private scratch = new Uint8Array(0);

  constructor(step: Step) {
    this.step = step;
  }

  readField(input: ProtoInput, place: FieldPlace, number: number, end: number): void {
    const outer = input.end;
    input.end = end;
    if (place.count === 1) {
      input.at = place.lastAt;
      this.step.read(input);
    } else {
      const length = this.gather(input, place, number, end);
      const view = new DataView(this.scratch.buffer);
      input.readAside(this.scratch, view, length, this.step);
    }
    input.end = outer;
  }

  /** The parts behind a length, as one value. */
  private gather(input: ProtoInput, place: FieldPlace, number: number, end: number): number {
    const room = end - place.firstAt + 10;
    if (this.scratch.length < room) this.scratch = new Uint8Array(room * 2);
    const { scratch } = this;
    let length = 10;
    input.at = place.firstAt;
    for (let left = place.count; left > 0; ) {
      const tag = input.readTag();
      if (tag >>> 3 !== number) {
        input.skip(tag);
        continue;
      }
      left--;
      const size = input.readSize();
      scratch.set(input.bytes.subarray(input.at, input.at + size), length);
      length += size;
      input.at += size;
    }
    // A varint of a fixed ten bytes: continuation bits over zeros.
    let rest = length - 10;
    for (let i = 0; i < 10; i++) {
      scratch[i] = (rest & 0x7f) | (i < 9 ? 0x80 : 0);
      rest = Math.floor(rest / 128);
    }
    return length;
  }
}

/** What the elements of a list are. */
export interface Elements {
  readonly step: Step;
  readonly wireType: number;
  /** Rows of columns that an element fills. */
  readonly slots: number;
  /** Of a closed enum; an element with another number is left out. */
  readonly closedNumbers: ReadonlySet<number> | null;
}

/** Packed or not, in one stretch or several. */
export class RepeatedValues implements FieldStep {
  private readonly column: ListColumn;
  private readonly elements: Elements;
  private index = 0;

  constructor(column: ListColumn, elements: Elements) {
    this.column = column;
    this.elements = elements;
  }

  readField(input: ProtoInput, place: FieldPlace, number: number, end: number): void {
    const { wireType } = this.elements;
    const outer = input.end;
    input.end = end;
    this.index = 0;
    input.at = place.firstAt;
    try {
      for (let left = place.count; left > 0; ) {
        const tag = input.readTag();
        if (tag >>> 3 !== number) input.skip(tag);
        else if ((tag & 7) === wireType) {
          // A closed enum's number that is no value was not counted.
          if (this.readOne(input)) left--;
        } else {
          this.readPacked(input);
          left--;
        }
      }
    } catch (e) {
      throw within(e, `[${this.index}]`);
    }
    input.end = outer;
    this.column.endRow();
  }

  private readPacked(input: ProtoInput): void {
    const size = input.readSize();
    const outer = input.end;
    input.end = input.at + size;
    while (input.at < input.end) this.readOne(input);
    input.end = outer;
  }

  /** False where the element is no value of a closed enum. */
  private readOne(input: ProtoInput): boolean {
    const { step, slots, closedNumbers } = this.elements;
    if (closedNumbers !== null) {
      const { at } = input;
      input.readVarint();
      if (!closedNumbers.has(input.low)) return false;
      input.at = at;
    }
    input.takeSlots(slots);
    step.read(input);
    this.index++;
    return true;
  }
}

const NONE: ReadonlySet<number> = new Set();

/** Entries are messages of a key and a value; of several entries with one key the last counts. */
export class MapEntries implements FieldStep {
  private readonly column: MapColumn;
  private readonly entry: MessagePlan;

  constructor(column: MapColumn, entry: MessagePlan) {
    this.column = column;
    this.entry = entry;
  }

  readField(input: ProtoInput, place: FieldPlace, number: number, end: number): void {
    const outer = input.end;
    input.end = end;
    const { column } = this;
    const from = column.key.length;
    const { unknownFields, passedFields, duplicateKeys } = input;
    this.readEntries(input, place, number, null);
    const repeated = repeatedKeys(column.key, from);
    if (repeated !== null) {
      // What is left out cannot be proven with the column at the end of the block: each text is looked at now.
      if (!input.checksText) {
        column.truncate(column.length);
        input.checksText = true;
        this.readEntries(input, place, number, NONE);
        input.checksText = false;
      }
      // Maps within were counted with each reading.
      input.duplicateKeys = duplicateKeys + repeated.size;
      input.unknownFields = unknownFields;
      input.passedFields = passedFields;
      column.truncate(column.length);
      this.readEntries(input, place, number, repeated);
    }
    input.end = outer;
    column.endRow();
  }

  /** Those whose numbers are in `without` are moved over. */
  private readEntries(
    input: ProtoInput,
    place: FieldPlace,
    number: number,
    without: ReadonlySet<number> | null,
  ): void {
    let index = 0;
    input.at = place.firstAt;
    try {
      for (let left = place.count; left > 0; ) {
        const tag = input.readTag();
        if (tag >>> 3 !== number) {
          input.skip(tag);
          continue;
        }
        left--;
        if (this.readEntry(input, without, index)) index++;
      }
    } catch (e) {
      throw within(e, `[${index}]`);
    }
  }

  /** False where the value is no value of its closed enum: then the entry is an unknown field as a whole. */
  private readEntry(input: ProtoInput, without: ReadonlySet<number> | null, index: number): boolean {
    const { entry } = this;
    const size = input.readSize();
    const end = input.at + size;
    if (without === null) input.takeSlots(entry.slots);
    const isKnown = entry.scan(input, end);
    if (isKnown && without?.has(index) !== true) entry.fill(input, end);
    input.at = end;
    return isKnown;
  }
}

/** A message into a struct. */
export class StructStep implements Step {
  private readonly column: StructColumn;
  private readonly plan: MessagePlan;

  constructor(column: StructColumn, plan: MessagePlan) {
    this.column = column;
    this.plan = plan;
  }

  read(input: ProtoInput): void {
    const size = input.readSize();
    this.plan.read(input, input.at + size);
    this.column.endRow();
  }
}

/** A message whose one field fills the column itself: a wrapper. */
export class UnwrappedStep implements Step {
  private readonly plan: MessagePlan;

  constructor(plan: MessagePlan) {
    this.plan = plan;
  }

  read(input: ProtoInput): void {
    const size = input.readSize();
    this.plan.read(input, input.at + size);
  }
}
