import type { ProtoInput } from './proto-input.ts';
import { within } from './proto-input.ts';
import type { AbsentStep } from './step.ts';

/** A field of the message that is looked for: it has a column, or must be there. */
export interface PlannedField {
  readonly name: string;
  readonly number: number;
  readonly wireType: number;
  /** A repeated field of numbers may stand packed, whatever the schema says. */
  readonly isPackable: boolean;
  /** The members of one oneof have one number here; -1: in none. */
  readonly oneof: number;
  readonly isRequired: boolean;
  readonly hasColumn: boolean;
  /** Of a closed enum: the numbers that are values. Any other is an unknown field. */
  readonly closedNumbers: ReadonlySet<number> | null;
}

/** Where a field stands in the message that is read. */
export interface FieldPlace {
  /** How often it stands there. */
  readonly count: number;
  /** Of its first tag. */
  readonly firstAt: number;
  /** Of its last value, behind the tag. */
  readonly lastAt: number;
}

/** Fills a column from where its field was found. */
export interface FieldStep {
  /** The field stands in the message; `end` is that of the message. */
  readField(input: ProtoInput, place: FieldPlace, number: number, end: number): void;
}

/** One column of the message: from a field, or from none. */
export interface PlannedColumn {
  readonly name: string;
  /** Which of the fields; -1 where the message's schema has none for the column. */
  readonly field: number;
  readonly present: FieldStep | null;
  readonly absent: AbsentStep;
}

class Place implements FieldPlace {
  count = 0;
  firstAt = 0;
  lastAt = 0;
}

const UNKNOWN = -1;
/** The schema has it, no column does. */
const PASSED = -2;
/** Field numbers below it are looked up in a table. */
const TABLE = 1024;

/**
 * How a message becomes one row of some columns. Fields may stand in any order and more than once, columns are appended in
 * theirs: the message is looked over first, then each column is filled from where its field was found. Never used within
 * itself, so the places are the plan's own.
 */
export class MessagePlan {
  /** Rows of columns that one message fills, about. */
  readonly slots: number;
  private readonly fields: readonly PlannedField[];
  private readonly columns: readonly PlannedColumn[];
  private readonly places: readonly Place[];
  private readonly table: Int32Array;
  private readonly others = new Map<number, number>();
  /** The member of each oneof that was seen last, or -1. */
  private readonly members: Int32Array;
  private readonly required: readonly number[];

  constructor(
    fields: readonly PlannedField[],
    passed: readonly number[],
    columns: readonly PlannedColumn[],
    slots: number,
  ) {
    this.fields = fields;
    this.columns = columns;
    this.slots = slots;
    this.places = fields.map(() => new Place());
    const largest = Math.max(
      0,
      ...[...fields.map((f) => f.number), ...passed].filter((number) => number < TABLE),
    );
    this.table = new Int32Array(largest + 1).fill(UNKNOWN);
    for (const number of passed) this.setSlot(number, PASSED);
    for (const [i, field] of fields.entries()) this.setSlot(field.number, i);
    this.members = new Int32Array(Math.max(0, ...fields.map((field) => field.oneof + 1)));
    this.required = fields.flatMap((field, i) => (field.isRequired ? [i] : []));
  }

  private setSlot(number: number, slot: number): void {
    if (number < TABLE) this.table[number] = slot;
    else this.others.set(number, slot);
  }

  /** Reads the message at [input.at, end) and appends one row to each of its columns. */
  read(input: ProtoInput, end: number): void {
    this.scan(input, end);
    this.fill(input, end);
  }

  /**
   * Looks the message over: fields of another wire type than the schema's, and numbers that have no end, are
   * PROTOBUF_DECODE. False where a closed enum held a number that is none of its values.
   */
  scan(input: ProtoInput, end: number): boolean {
    const { places, fields } = this;
    for (let i = 0; i < places.length; i++) places[i].count = 0;
    this.members.fill(-1);
    let isKnown = true;
    const outer = input.end;
    input.end = end;
    while (input.at < end) {
      const tagAt = input.at;
      const tag = input.readTag();
      const number = tag >>> 3;
      const slot = number < this.table.length ? this.table[number] : (this.others.get(number) ?? UNKNOWN);
      if (slot < 0) {
        input.unknownFields++;
        if (slot === PASSED) input.passedFields++;
        input.skip(tag);
        continue;
      }
      const field = fields[slot];
      const wireType = tag & 7;
      if (wireType !== field.wireType && !(field.isPackable && wireType === 2))
        this.mismatch(input, tagAt, field, wireType);
      const valueAt = input.at;
      input.skip(tag);
      if (field.closedNumbers !== null && wireType === 0 && !field.closedNumbers.has(input.low)) {
        input.unknownFields++;
        isKnown = false;
        continue;
      }
      if (!field.hasColumn) {
        input.unknownFields++;
        input.passedFields++;
      }
      if (field.oneof >= 0) this.choose(field.oneof, slot);
      const place = places[slot];
      if (place.count++ === 0) place.firstAt = tagAt;
      place.lastAt = valueAt;
    }
    input.end = outer;
    return isKnown;
  }

  /** Appends one row to each column from what `scan` has found. */
  fill(input: ProtoInput, end: number): void {
    const { columns, places, required, fields } = this;
    for (const slot of required) if (places[slot].count === 0) this.missing(input, fields[slot]);
    let i = 0;
    try {
      for (; i < columns.length; i++) {
        const column = columns[i];
        const slot = column.field;
        if (slot >= 0 && places[slot].count > 0 && column.present !== null)
          column.present.readField(input, places[slot], fields[slot].number, end);
        else column.absent.append(input);
      }
    } catch (e) {
      throw within(e, columns[i].name);
    }
    input.at = end;
  }

  /** The last of the members of a oneof counts; one that comes again after another begins anew. */
  private choose(oneof: number, slot: number): void {
    const before = this.members[oneof];
    if (before === slot) return;
    if (before >= 0) this.places[before].count = 0;
    this.members[oneof] = slot;
  }

  private mismatch(input: ProtoInput, tagAt: number, field: PlannedField, wireType: number): never {
    input.at = tagAt;
    try {
      return input.fail(
        'PROTOBUF_DECODE',
        `field ${field.number} has the wire type ${wireType}, its type in the schema ${field.wireType}`,
      );
    } catch (e) {
      throw within(e, field.name);
    }
  }

  private missing(input: ProtoInput, field: PlannedField): never {
    try {
      return input.fail('MISSING_REQUIRED', 'the message does not have the required field');
    } catch (e) {
      throw within(e, field.name);
    }
  }
}
