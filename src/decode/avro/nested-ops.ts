/** Records, unions, arrays and maps into struct, list and map columns. */

import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { GrowingColumn } from '../../columns/growing-column.ts';
import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import { AvroFault, type AvroInput } from './avro-input.ts';
import { repeatedKeys } from './map-keys.ts';
import type { Op } from './op.ts';
import { readBranch } from './skip-ops.ts';

/** A step of a record and the name under which its faults are told. */
export interface RecordStep {
  readonly name: string;
  readonly op: Op;
}

/** The fields in the order of the writer's schema, then the columns that the writer does not have. */
export class RecordOp implements Op {
  private readonly column: StructColumn;
  private readonly ops: readonly Op[];
  private readonly names: readonly string[];

  constructor(column: StructColumn, steps: readonly RecordStep[]) {
    this.column = column;
    this.ops = steps.map((step) => step.op);
    this.names = steps.map((step) => step.name);
  }

  run(input: AvroInput): void {
    const { ops } = this;
    let i = 0;
    try {
      for (; i < ops.length; i++) ops[i].run(input);
    } catch (e) {
      throw within(e, this.names[i]);
    }
    this.column.endRow();
  }
}

function within(e: unknown, name: string): unknown {
  if (e instanceof AvroFault) e.within(name);
  return e;
}

/** A union of null and one type, either way round. */
export class OptionalOp implements Op {
  private readonly nullIndex: number;
  private readonly whenNull: Op;
  private readonly value: Op;
  private readonly branches: readonly Op[];

  constructor(branches: readonly Op[], nullIndex: number) {
    this.branches = branches;
    this.nullIndex = nullIndex;
    this.whenNull = branches[nullIndex];
    this.value = branches[1 - nullIndex];
  }

  run(input: AvroInput): void {
    const { at } = input;
    if (at < input.end) {
      const first = input.bytes[at];
      // The indexes 0 and 1 as zigzag varints of one byte.
      if (first === 0 || first === 2) {
        input.at = at + 1;
        if (first >> 1 === this.nullIndex) this.whenNull.run(input);
        else this.value.run(input);
        return;
      }
    }
    readBranch(input, this.branches).run(input);
  }
}

export class UnionOp implements Op {
  private readonly branches: readonly Op[];

  constructor(branches: readonly Op[]) {
    this.branches = branches;
  }

  run(input: AvroInput): void {
    readBranch(input, this.branches).run(input);
  }
}

/** A union of several types as a struct with one field each, of which the one that is there is not null. */
export class MemberOp implements Op {
  private readonly column: StructColumn;
  private readonly others: readonly GrowingColumn[];
  private readonly value: Op;
  private readonly name: string;

  /** `index` -1: no column has the member; `value` moves over it. */
  constructor(column: StructColumn, index: number, name: string, value: Op) {
    this.column = column;
    this.others = column.fields.filter((_, i) => i !== index);
    this.name = name;
    this.value = value;
  }

  run(input: AvroInput): void {
    for (const other of this.others) other.appendNull();
    try {
      this.value.run(input);
    } catch (e) {
      throw within(e, this.name);
    }
    this.column.endRow();
  }
}

/** What a block of items must hold and may cost. */
export interface ItemCost {
  /** The least bytes of an item. */
  readonly least: number;
  /** Rows of columns that an item fills. */
  readonly slots: number;
}

export class ListOp implements Op {
  private readonly column: ListColumn;
  private readonly item: Op;
  private readonly cost: ItemCost;

  constructor(column: ListColumn, item: Op, cost: ItemCost) {
    this.column = column;
    this.item = item;
    this.cost = cost;
  }

  run(input: AvroInput): void {
    const { item, cost } = this;
    let index = 0;
    for (;;) {
      const count = input.readBlock(cost.least, cost.slots);
      if (count === 0) break;
      const { blockEnd } = input;
      const until = index + count;
      try {
        for (; index < until; index++) item.run(input);
      } catch (e) {
        throw within(e, `[${index}]`);
      }
      input.checkBlockEnd(blockEnd);
    }
    this.column.endRow();
  }
}

/** The last of several entries with one key counts, as in Java's maps and in JSON objects. */
export class MapOp implements Op {
  private readonly column: MapColumn;
  private readonly key: Op;
  private readonly value: Op;
  private readonly skipValue: Op;
  private readonly cost: ItemCost;

  constructor(column: MapColumn, key: Op, value: Op, skipValue: Op, cost: ItemCost) {
    this.column = column;
    this.key = key;
    this.value = value;
    this.skipValue = skipValue;
    this.cost = cost;
  }

  run(input: AvroInput): void {
    const { column } = this;
    const { at } = input;
    const from = column.key.length;
    this.readEntries(input, undefined);
    const repeated = repeatedKeys(column.key as BytesColumn, from);
    if (repeated !== undefined) {
      input.duplicateKeys += repeated.size;
      column.truncate(column.length);
      input.at = at;
      this.readEntries(input, repeated);
    }
    column.endRow();
  }

  /** Reads all blocks; the entries whose numbers are in `without` are moved over. */
  private readEntries(input: AvroInput, without: ReadonlySet<number> | undefined): void {
    const { cost } = this;
    let index = 0;
    for (;;) {
      const count = input.readBlock(cost.least, without === undefined ? cost.slots : 0);
      if (count === 0) return;
      const { blockEnd } = input;
      const until = index + count;
      try {
        for (; index < until; index++) {
          const passed = without?.has(index) === true;
          this.readEntry(input, passed);
        }
      } catch (e) {
        throw within(e, `[${index}]`);
      }
      input.checkBlockEnd(blockEnd);
    }
  }

  private readEntry(input: AvroInput, passed: boolean): void {
    if (passed) {
      const size = input.readSize();
      input.at += size;
      this.skipValue.run(input);
      return;
    }
    this.key.run(input);
    this.value.run(input);
  }
}
