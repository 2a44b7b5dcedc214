/** Data of the writer that no column takes: moved over, checked as far as the way over it needs. */

import type { AvroInput } from './avro-input.ts';
import { type AvroRecord, type AvroSchema, Bodiless, LeastBytes } from './avro-schema.ts';
import { NOTHING, type Op } from './op.ts';

const SKIP_BOOLEAN: Op = {
  run(input) {
    input.readBoolean();
  },
};
const SKIP_INT: Op = {
  run(input) {
    input.readInt();
  },
};
const SKIP_LONG: Op = {
  run(input) {
    input.readLong();
  },
};
const SKIP_SIZED: Op = {
  run(input) {
    const size = input.readSize();
    input.at += size;
  },
};

/** Makes the steps that move over values; one per record, so that schemas that hold themselves end. */
export class SkipCompiler {
  private readonly least = new LeastBytes();
  private readonly bodiless = new Bodiless();
  private readonly records = new Map<AvroRecord, SkipRecord>();

  skip(schema: AvroSchema): Op {
    if (this.bodiless.is(schema)) return NOTHING;
    switch (schema.kind) {
      case 'null':
        return NOTHING;
      case 'boolean':
        return SKIP_BOOLEAN;
      case 'int':
        return SKIP_INT;
      case 'long':
        return SKIP_LONG;
      case 'float':
        return new SkipBytes(4);
      case 'double':
        return new SkipBytes(8);
      case 'bytes':
      case 'string':
        return SKIP_SIZED;
      case 'fixed':
        return new SkipBytes(schema.size);
      case 'enum':
        return new SkipEnum(schema.symbols.length);
      case 'array':
        return this.items(schema.items, false);
      case 'map':
        return this.items(schema.values, true);
      case 'union':
        return new SkipUnion(schema.branches.map((branch) => this.skip(branch)));
      case 'record':
        return this.record(schema);
    }
  }

  /** As `skip`, and counts the value as a field that no column takes, unless it is null. */
  unknown(schema: AvroSchema): Op {
    if (schema.kind === 'null') return NOTHING;
    if (schema.kind !== 'union') return new CountUnknown(this.skip(schema));
    return new SkipUnion(schema.branches.map((branch) => this.unknown(branch)));
  }

  leastBytes(schema: AvroSchema): number {
    return this.least.of(schema);
  }

  private items(item: AvroSchema, keyed: boolean): Op {
    const least = this.leastBytes(item) + (keyed ? 1 : 0);
    return new SkipItems(this.skip(item), least, keyed);
  }

  private record(record: AvroRecord): Op {
    const known = this.records.get(record);
    if (known !== undefined) return known;
    const made = new SkipRecord();
    this.records.set(record, made);
    made.fields = record.fields.map((field) => this.skip(field.schema)).filter((op) => op !== NOTHING);
    return made;
  }
}

class CountUnknown implements Op {
  private readonly value: Op;

  constructor(value: Op) {
    this.value = value;
  }

  run(input: AvroInput): void {
    input.unknownFields++;
    this.value.run(input);
  }
}

class SkipBytes implements Op {
  private readonly size: number;

  constructor(size: number) {
    this.size = size;
  }

  run(input: AvroInput): void {
    input.take(this.size);
  }
}

class SkipEnum implements Op {
  private readonly count: number;

  constructor(count: number) {
    this.count = count;
  }

  run(input: AvroInput): void {
    const { at } = input;
    const index = input.readInt();
    if (index >= 0 && index < this.count) return;
    input.at = at;
    input.fail('AVRO_DECODE', `an enum of ${this.count} symbols has the index ${index}`);
  }
}

class SkipUnion implements Op {
  private readonly branches: readonly Op[];

  constructor(branches: readonly Op[]) {
    this.branches = branches;
  }

  run(input: AvroInput): void {
    readBranch(input, this.branches).run(input);
  }
}

/** The branch that a union says it holds. */
export function readBranch(input: AvroInput, branches: readonly Op[]): Op {
  const { at } = input;
  const index = input.readInt();
  if (index >= 0 && index < branches.length) return branches[index];
  input.at = at;
  return input.fail('AVRO_DECODE', `a union of ${branches.length} types has the index ${index}`);
}

/** Arrays and maps. A block that says its size is walked too: a size that lies would move what follows to other bytes. */
class SkipItems implements Op {
  private readonly item: Op;
  private readonly least: number;
  private readonly slots: number;
  private readonly keyed: boolean;

  constructor(item: Op, least: number, keyed: boolean) {
    this.item = item;
    this.least = least;
    this.keyed = keyed;
    this.slots = least === 0 && item !== NOTHING ? 1 : 0;
  }

  run(input: AvroInput): void {
    for (;;) {
      const count = input.readBlock(this.least, this.slots);
      if (count === 0) return;
      const { blockEnd } = input;
      if (this.item !== NOTHING || this.keyed) this.walk(input, count);
      input.checkBlockEnd(blockEnd);
    }
  }

  private walk(input: AvroInput, count: number): void {
    for (let i = 0; i < count; i++) {
      if (this.keyed) SKIP_SIZED.run(input);
      this.item.run(input);
    }
  }
}

class SkipRecord implements Op {
  fields: readonly Op[] = [];

  run(input: AvroInput): void {
    input.enter();
    for (const field of this.fields) field.run(input);
    input.leave();
  }
}
