import type { BooleanColumn } from '../../columns/boolean-column.ts';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import { type IcebergType, type NestedField, parseDecimal } from '../../core/schema.ts';
import { absentColumn } from './absent-column.ts';
import { defaultBytes, zeroBytes } from './default-bytes.ts';
import {
  LastValue,
  MapEntries,
  MergedMessage,
  RepeatedValues,
  StructStep,
  UnwrappedStep,
} from './field-steps.ts';
import { type IntegerScalar, integerStep } from './integer-steps.ts';
import { type FieldStep, MessagePlan, type PlannedColumn, type PlannedField } from './message-plan.ts';
import {
  type ProtoField,
  type ProtoMessage,
  type ProtoType,
  type Scalar,
  wireTypeOf,
} from './proto-schema.ts';
import {
  BinaryStep,
  BooleanStep,
  DoubleStep,
  EnumTextStep,
  FixedStep,
  FloatStep,
  TextStep,
} from './scalar-steps.ts';
import { type AbsentStep, DefaultStep, FaultStep, type Step } from './step.ts';
import { DurationStep, TimestampStep } from './time-steps.ts';
import { WRAPPERS } from './well-known.ts';

/** The columns of one message, by the names of its fields. */
export interface Target {
  readonly fields: readonly NestedField[];
  readonly columns: readonly TypedColumn[];
}

/** A field of a message and the column that takes it. */
interface Placed {
  readonly field: ProtoField;
  readonly type: ProtoType;
  readonly target: NestedField;
  readonly column: TypedColumn;
}

/**
 * How a message fills columns of the same names. A field whose type the column does not take is TYPE_MISMATCH where it
 * stands in a message. Throws ProtoSchemaFault where the type of a field that a column takes is not defined.
 */
export function compileMessage(message: ProtoMessage, target: Target): MessagePlan {
  const placed = placeFields(message, target);
  const planned: PlannedField[] = [];
  const oneofs = new Map<string, number>();
  const indexOf = new Map<ProtoField, number>();
  const passed: number[] = [];
  for (const field of message.fields) {
    const place = placed.get(field.name);
    const isGroup = place?.type.kind === 'group';
    if ((place === undefined || isGroup) && !field.isRequired) {
      passed.push(field.number);
      continue;
    }
    indexOf.set(field, planned.length);
    planned.push(plannedField(field, place?.type ?? field.type(), oneofs, place !== undefined));
  }
  // The other members of a oneof that has a column are looked for too: one of them may stand last.
  for (const field of message.fields) {
    if (field.oneof === null || !oneofs.has(field.oneof) || indexOf.has(field)) continue;
    indexOf.set(field, planned.length);
    planned.push(plannedField(field, field.type(), oneofs, false));
  }
  const columns = target.fields.map((each, i): PlannedColumn => {
    const place = placed.get(each.name);
    const index = place === undefined ? undefined : indexOf.get(place.field);
    const absent = absentColumn(each, target.columns[i]);
    if (place === undefined || index === undefined)
      return { name: each.name, field: -1, present: null, absent };
    return { name: each.name, field: index, ...fieldSteps(place, absent) };
  });
  const slots = target.fields.reduce((sum, each) => sum + slotsOf(each.type), 0);
  return new MessagePlan(planned, passed, columns, Math.max(1, slots));
}

function placeFields(message: ProtoMessage, target: Target): Map<string, Placed> {
  const placed = new Map<string, Placed>();
  for (const field of message.fields) {
    const at = target.fields.findIndex((each) => each.name === field.name);
    if (at < 0) continue;
    placed.set(field.name, {
      field,
      type: field.type(),
      target: target.fields[at],
      column: target.columns[at],
    });
  }
  return placed;
}

function plannedField(
  field: ProtoField,
  type: ProtoType,
  oneofs: Map<string, number>,
  hasColumn: boolean,
): PlannedField {
  const wireType = field.label === 'map' ? 2 : wireTypeOf(type);
  let oneof = -1;
  if (field.oneof !== null) {
    oneof = oneofs.get(field.oneof) ?? oneofs.size;
    oneofs.set(field.oneof, oneof);
  }
  return {
    name: field.name,
    number: field.number,
    wireType,
    isPackable: field.label === 'repeated' && wireType !== 2 && wireType !== 3,
    oneof,
    hasColumn,
    isRequired: field.isRequired,
    closedNumbers: field.label === 'map' ? null : closedNumbers(type),
  };
}

function closedNumbers(type: ProtoType): ReadonlySet<number> | null {
  return type.kind === 'enum' && type.isClosed ? new Set(type.names.keys()) : null;
}

function fieldSteps(place: Placed, absent: AbsentStep): { present: FieldStep; absent: AbsentStep } {
  const { field, target, column } = place;
  if (field.label === 'map') return collectionSteps(mapStep(place), field, target, column);
  if (field.label === 'repeated') return collectionSteps(listStep(place), field, target, column);
  const step = valueStep(place.type, target.type, column);
  if (step === null) return mismatch(field, target);
  const present = place.type.kind === 'message' ? new MergedMessage(step) : new LastValue(step);
  const bytes = field.isImplicit() ? zeroBytes(place.type) : declaredBytes(field, place.type);
  return { present, absent: bytes === null ? absent : new DefaultStep(bytes, step) };
}

function declaredBytes(field: ProtoField, type: ProtoType): Uint8Array | null {
  return field.declaredDefault === null ? null : defaultBytes(field, type);
}

/** A list or map that does not stand in the message is empty: the format knows no other. */
function collectionSteps(
  present: FieldStep | null,
  field: ProtoField,
  target: NestedField,
  column: TypedColumn,
): { present: FieldStep; absent: AbsentStep } {
  if (present === null) return mismatch(field, target);
  return { present, absent: { append: () => (column as ListColumn | MapColumn).endRow() } };
}

function mismatch(field: ProtoField, target: NestedField): { present: FieldStep; absent: AbsentStep } {
  const step = mismatchStep(field, target.type);
  return { present: new LastValue(step), absent: step };
}

function mismatchStep(field: ProtoField, type: IcebergType): FaultStep {
  const found =
    field.label === 'singular' ? typeName(field.type()) : `${field.label} ${typeName(field.type())}`;
  const expected = typeof type === 'string' ? type : type.type;
  return new FaultStep('TYPE_MISMATCH', `the field is ${found}, the column ${expected}`);
}

function typeName(type: ProtoType): string {
  if (type.kind === 'scalar') return type.scalar;
  return type.kind === 'group' ? 'a group' : type.fullName;
}

function listStep({ type, target, column }: Placed): FieldStep | null {
  if (typeof target.type === 'string' || target.type.type !== 'list') return null;
  const list = column as ListColumn;
  const step = valueStep(type, target.type.element, list.element as TypedColumn);
  if (step === null) return null;
  return new RepeatedValues(list, {
    step,
    wireType: wireTypeOf(type),
    slots: slotsOf(target.type.element),
    closedNumbers: closedNumbers(type),
  });
}

/** Entries as the messages that they are: what is not in one is the default of its type, an empty message too. */
function mapStep({ field, type, target, column }: Placed): FieldStep | null {
  if (typeof target.type === 'string' || target.type.type !== 'map') return null;
  const map = column as MapColumn;
  const keyType: ProtoType = { kind: 'scalar', scalar: field.key as Scalar };
  const key = valueStep(keyType, target.type.key, map.key as TypedColumn);
  const value = valueStep(type, target.type.value, map.value as TypedColumn);
  if (key === null || value === null) return null;
  const planned = (name: string, number: number, of: ProtoType): PlannedField => ({
    name,
    number,
    wireType: wireTypeOf(of),
    isPackable: false,
    oneof: -1,
    hasColumn: true,
    isRequired: false,
    closedNumbers: closedNumbers(of),
  });
  const columns: PlannedColumn[] = [
    { name: 'key', field: 0, present: new LastValue(key), absent: new DefaultStep(zeroBytes(keyType), key) },
    {
      name: 'value',
      field: 1,
      present: type.kind === 'message' ? new MergedMessage(value) : new LastValue(value),
      absent: new DefaultStep(zeroBytes(type), value),
    },
  ];
  const slots = slotsOf(target.type.key) + slotsOf(target.type.value);
  return new MapEntries(
    map,
    new MessagePlan([planned('key', 1, keyType), planned('value', 2, type)], [], columns, slots),
  );
}

/** The step for one value; null where the column does not take the type. */
function valueStep(type: ProtoType, target: IcebergType, column: TypedColumn): Step | null {
  switch (type.kind) {
    case 'group':
      return null;
    case 'message':
      return messageStep(type, target, column);
    case 'enum':
      if (target === 'string') return new EnumTextStep(column as BytesColumn, type);
      return target === 'int' || target === 'long' ? integerStep(column, 'int32', undefined) : null;
    case 'scalar':
      return typeof target === 'string' ? scalarStep(type.scalar, target, column) : null;
  }
}

function scalarStep(scalar: Scalar, target: string, column: TypedColumn): Step | null {
  switch (scalar) {
    case 'bool':
      return target === 'boolean' ? new BooleanStep(column as BooleanColumn) : null;
    case 'float':
      return target === 'float' || target === 'double'
        ? new FloatStep(column as Float32Column | Float64Column)
        : null;
    case 'double':
      return target === 'double' ? new DoubleStep(column as Float64Column) : null;
    case 'string':
      if (target === 'string') return new TextStep(column as BytesColumn);
      return target === 'binary' ? new BinaryStep(column as BytesColumn) : null;
    case 'bytes':
      if (target === 'binary') return new BinaryStep(column as BytesColumn);
      return target.startsWith('fixed[') || target === 'uuid' ? new FixedStep(column as FixedColumn) : null;
    default: {
      const decimal = parseDecimal(target as IcebergType);
      if (decimal === undefined && !['int', 'long', 'float', 'double'].includes(target)) return null;
      return integerStep(column, scalar as IntegerScalar, decimal);
    }
  }
}

function messageStep(message: ProtoMessage, target: IcebergType, column: TypedColumn): Step | null {
  if (typeof target !== 'string') {
    if (target.type !== 'struct') return null;
    const struct = column as StructColumn;
    const plan = compileMessage(message, { fields: target.fields, columns: struct.fields as TypedColumn[] });
    return new StructStep(struct, plan);
  }
  if (message.fullName === 'google.protobuf.Timestamp') {
    if (!target.startsWith('timestamp')) return null;
    return new TimestampStep(column as Int64Column, target.endsWith('_ns'));
  }
  if (message.fullName === 'google.protobuf.Duration')
    return target === 'long' ? new DurationStep(column as Int64Column) : null;
  return WRAPPERS.has(message.fullName) ? wrapperStep(message, target, column) : null;
}

/** A wrapper that is there holds a value, zero where it is empty. */
function wrapperStep(message: ProtoMessage, target: IcebergType, column: TypedColumn): Step | null {
  const [field] = message.fields;
  const type = field.type();
  const step = valueStep(type, target, column);
  if (step === null) return null;
  const present = new LastValue(step);
  const absent = new DefaultStep(zeroBytes(type), step);
  const planned = plannedField(field, type, new Map(), true);
  return new UnwrappedStep(
    new MessagePlan([planned], [], [{ name: field.name, field: 0, present, absent }], 1),
  );
}

/** Rows of columns that one value of a type fills: its leaves, what stands within lists and maps not counted. */
function slotsOf(type: IcebergType): number {
  if (typeof type === 'string' || type.type !== 'struct') return 1;
  return type.fields.reduce((sum, field) => sum + slotsOf(field.type), 1);
}
