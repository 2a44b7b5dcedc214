import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import type {
  IcebergType,
  ListType,
  MapType,
  NestedField,
  PrimitiveType,
  StructType,
} from '../../core/schema.ts';
import {
  type AvroArray,
  type AvroField,
  type AvroMap,
  type AvroRecord,
  type AvroSchema,
  type AvroUnion,
  describe,
  nonNullBranches,
} from './avro-schema.ts';
import { defaultBytes } from './default-bytes.ts';
import { missingColumnOp, ReaderDefaultOp } from './default-ops.ts';
import { leafOp } from './leaf-compiler.ts';
import { ListOp, MapOp, MemberOp, OptionalOp, RecordOp, type RecordStep, UnionOp } from './nested-ops.ts';
import { FaultOp, NOTHING, NullOp, type Op } from './op.ts';
import { branchFor, differs, missingField, pairFields } from './resolve.ts';
import { SkipCompiler } from './skip-ops.ts';
import { isMemberName, isMemberStruct, isMemberUnion, memberName } from './union-members.ts';
import { TextOp } from './value-ops.ts';

/** Where a value goes. */
export interface Target {
  readonly type: IcebergType;
  readonly column: TypedColumn;
  readonly required: boolean;
}

/** A field of a struct. */
interface FieldTarget extends Target {
  readonly field: NestedField;
}

/** The columns of the table as one struct; `except` names one that records do not fill. */
export interface RootTarget extends Target {
  readonly type: StructType;
  readonly column: StructColumn;
  readonly except: string | null;
}

/**
 * Compiles (writer's schema, reader's schema or none, columns) into steps that read a datum of the writer straight into the
 * columns. Without a reader's schema the writer's fields are matched with the columns by name. What does not fit becomes a
 * step that faults where a record holds it, as Avro resolves: a null of a union whose other type does not fit is a null.
 */
export class PlanCompiler {
  private readonly skips = new SkipCompiler();
  private readonly root: RootTarget;

  constructor(root: RootTarget) {
    this.root = root;
  }

  /** The steps of one datum, and the least bytes that it has. A datum that is no record fills the one column, or that called `value`. */
  compile(writer: AvroSchema, reader: AvroSchema | null): { op: Op; leastBytes: number } {
    const leastBytes = this.skips.leastBytes(writer);
    if (isRecordish(reader ?? writer)) return { op: this.value(writer, reader, this.root), leastBytes };
    const fields = this.root.type.fields.filter((field) => field.name !== this.root.except);
    const name = fields.length === 1 ? fields[0].name : 'value';
    const wrapped = reader === null ? null : wrap(name, reader);
    return { op: this.value(wrap(name, writer), wrapped, this.root), leastBytes };
  }

  private value(writer: AvroSchema, reader: AvroSchema | null, target: Target): Op {
    if (writer.kind === 'union') return this.writerUnion(writer, reader, target);
    if (reader?.kind === 'union') return this.readerUnion(writer, reader, target);
    if (writer.kind === 'null') {
      return reader === null || reader.kind === 'null' ? nullOp(target) : fault(differs(writer, reader));
    }
    const { type } = target;
    if (reader === null && this.holdsMembers(target) && !isRecordOf(writer, target.type as StructType))
      return this.firstMember(writer, target.type as StructType, target);
    if (writer.kind === 'record') return this.recordValue(writer, reader, target);
    if (writer.kind === 'array') return this.list(writer, reader, target);
    if (writer.kind === 'map') return this.map(writer, reader, target);
    const step =
      typeof type === 'string'
        ? leafOp(writer, reader, { type: type as PrimitiveType, column: target.column })
        : unfit(writer, type);
    return typeof step === 'string' ? fault(step) : step;
  }

  private writerUnion(writer: AvroUnion, reader: AvroSchema | null, target: Target): Op {
    const members = reader === null && isMemberUnion(writer) && this.holdsMembers(target);
    let member = 0;
    const ops = writer.branches.map((branch) => {
      if (branch.kind === 'null' || !members) return this.value(branch, reader, target);
      return this.member(branch, null, member++, target);
    });
    const nullIndex = writer.branches.findIndex((branch) => branch.kind === 'null');
    return ops.length === 2 && nullIndex >= 0 ? new OptionalOp(ops, nullIndex) : new UnionOp(ops);
  }

  private readerUnion(writer: AvroSchema, reader: AvroUnion, target: Target): Op {
    const index = branchFor(writer, reader.branches);
    if (index < 0) return fault(differs(writer, reader));
    const branch = reader.branches[index];
    if (branch.kind === 'null' || !isMemberUnion(reader) || !this.holdsMembers(target))
      return this.value(writer, branch, target);
    return this.member(writer, branch, nonNullBranches(reader).indexOf(branch), target);
  }

  /** Whether the branches of a union go each into a field of its own. */
  private holdsMembers(target: Target): boolean {
    return isMemberStruct(target.type, target.column === this.root.column ? this.root.except : null);
  }

  /** The branch `index`, null not counted, of a union that the target holds as a struct. */
  private member(writer: AvroSchema, reader: AvroSchema | null, index: number, target: Target): Op {
    const { fields } = target.type as StructType;
    const column = target.column as StructColumn;
    const name = memberName(index);
    const at = fields.findIndex((field) => field.name === name);
    if (at < 0) return new MemberOp(column, -1, name, this.skips.unknown(writer));
    return new MemberOp(column, at, name, this.value(writer, reader, targetOf(fields[at], column, at)));
  }

  /** A value that is no union into the struct of one: the first member that takes it. */
  private firstMember(writer: AvroSchema, type: StructType, target: Target): Op {
    const column = target.column as StructColumn;
    for (let at = 0; at < type.fields.length; at++) {
      if (!isMemberName(type.fields[at].name)) continue;
      const op = this.value(writer, null, targetOf(type.fields[at], column, at));
      if (!(op instanceof FaultOp)) return new MemberOp(column, at, type.fields[at].name, op);
    }
    return fault(unfit(writer, type));
  }

  private recordValue(writer: AvroRecord, reader: AvroSchema | null, target: Target): Op {
    if (reader !== null && reader.kind !== 'record') return fault(differs(writer, reader));
    if (typeof target.type === 'string' || target.type.type !== 'struct')
      return fault(unfit(writer, target.type));
    return this.record(writer, reader, target.type, target.column as StructColumn);
  }

  private record(writer: AvroRecord, reader: AvroRecord | null, type: StructType, column: StructColumn): Op {
    const free = new Map(type.fields.map((field, at) => [field.name, targetOf(field, column, at)]));
    const steps: RecordStep[] = [];
    const except = column === this.root.column ? this.root.except : null;
    const kept = except === null ? undefined : this.take(free, except);
    if (kept !== undefined) steps.push({ name: kept.field.name, op: new NullOp(kept.column) });
    if (reader === null) {
      for (const field of writer.fields) steps.push(this.fieldStep(field, null, field.name, free));
    } else this.addResolved(writer, reader, steps, free);
    for (const { field, column: own } of free.values())
      steps.push({ name: field.name, op: missingColumnOp(field, own) });
    return new RecordOp(
      column,
      steps.filter((step) => step.op !== NOTHING),
    );
  }

  /** The column of a name, which from then on is no longer free. */
  private take(free: Map<string, FieldTarget>, name: string): FieldTarget | undefined {
    const target = free.get(name);
    free.delete(name);
    return target;
  }

  private fieldStep(
    from: AvroField,
    reader: AvroSchema | null,
    name: string,
    free: Map<string, FieldTarget>,
  ): RecordStep {
    const target = this.take(free, name);
    const op =
      target === undefined ? this.skips.unknown(from.schema) : this.value(from.schema, reader, target);
    return { name, op };
  }

  /** Fields that the reader does not have are passed over; those that the writer does not have get the reader's defaults. */
  private addResolved(
    writer: AvroRecord,
    reader: AvroRecord,
    steps: RecordStep[],
    free: Map<string, FieldTarget>,
  ): void {
    const pairs = pairFields(writer, reader);
    const readAs = new Map([...pairs].map(([field, from]) => [from, field]));
    const missing = reader.fields.filter((field) => !pairs.has(field));
    for (const field of missing) {
      // Without a default no record can be read, whether a column takes the field or not.
      if (field.default === undefined) steps.push({ name: field.name, op: fault(missingField(field)) });
    }
    for (const from of writer.fields) {
      const field = readAs.get(from);
      if (field === undefined) steps.push({ name: from.name, op: this.skips.skip(from.schema) });
      else steps.push(this.fieldStep(from, field.schema, field.name, free));
    }
    for (const field of missing) {
      const target = this.take(free, field.name);
      if (target === undefined || field.default === undefined) continue;
      const bytes = defaultBytes(field.schema, field.default, field.name);
      const value = this.value(field.schema, field.schema, target);
      steps.push({ name: field.name, op: new ReaderDefaultOp(bytes, value) });
    }
  }

  private list(writer: AvroArray, reader: AvroSchema | null, target: Target): Op {
    const { type } = target;
    if (reader !== null && reader.kind !== 'array') return fault(differs(writer, reader));
    if (typeof type === 'string' || type.type !== 'list') return fault(unfit(writer, type));
    const column = target.column as ListColumn;
    const item = this.value(writer.items, reader?.items ?? null, elementOf(type, column));
    return new ListOp(column, item, {
      least: this.skips.leastBytes(writer.items),
      slots: slotsOf(type.element),
    });
  }

  private map(writer: AvroMap, reader: AvroSchema | null, target: Target): Op {
    const { type } = target;
    if (reader !== null && reader.kind !== 'map') return fault(differs(writer, reader));
    if (typeof type === 'string' || type.type !== 'map' || type.key !== 'string')
      return fault(unfit(writer, type));
    const column = target.column as MapColumn;
    const value = this.value(writer.values, reader?.values ?? null, mapValueOf(type, column));
    const cost = { least: 1 + this.skips.leastBytes(writer.values), slots: 1 + slotsOf(type.value) };
    return new MapOp(
      column,
      new TextOp(column.key as BytesColumn),
      value,
      this.skips.skip(writer.values),
      cost,
    );
  }
}

/** A record, or a union of records and perhaps null: its fields are the columns. */
export function isRecordish(schema: AvroSchema): boolean {
  const branches = nonNullBranches(schema);
  return branches.length > 0 && branches.every((branch) => branch.kind === 'record');
}

function wrap(name: string, schema: AvroSchema): AvroRecord {
  const field = { name, aliases: [], schema, default: undefined };
  return { kind: 'record', fullName: 'datum', aliases: [], fields: [field] };
}

function isRecordOf(writer: AvroSchema, type: StructType): boolean {
  return writer.kind === 'record' && writer.fields.some((f) => type.fields.some((g) => g.name === f.name));
}

function targetOf(field: NestedField, column: StructColumn, at: number): FieldTarget {
  return { field, type: field.type, column: column.fields[at] as TypedColumn, required: field.required };
}

function elementOf(type: ListType, column: ListColumn): Target {
  return { type: type.element, column: column.element as TypedColumn, required: type.elementRequired };
}

function mapValueOf(type: MapType, column: MapColumn): Target {
  return { type: type.value, column: column.value as TypedColumn, required: type.valueRequired };
}

/** Rows of columns that one value of a type fills, its lists and maps taken as empty. */
function slotsOf(type: IcebergType): number {
  if (typeof type === 'string' || type.type !== 'struct') return 1;
  return type.fields.reduce((sum, field) => sum + slotsOf(field.type), 1);
}

function nullOp(target: Target): Op {
  if (!target.required) return new NullOp(target.column);
  return new FaultOp('MISSING_REQUIRED', 'the value is null and the column is required');
}

function fault(message: string): FaultOp {
  return new FaultOp('AVRO_RESOLUTION', message);
}

function unfit(writer: AvroSchema, type: IcebergType): string {
  return `the writer's ${describe(writer)} does not go into a column of type ${typeof type === 'string' ? type : type.type}`;
}
