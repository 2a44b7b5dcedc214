/** Which step reads values of a primitive type, an enum or a fixed into a column, and which pairs have none. */

import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import { type PrimitiveType, parseDecimal, parseFixed } from '../../core/schema.ts';
import type { AvroEnum, AvroFixed, AvroPrimitive, AvroSchema } from './avro-schema.ts';
import { decimalOp } from './decimal-ops.ts';
import type { Op } from './op.ts';
import { differs, type Meaning, meaningOf, namedMismatch } from './resolve.ts';
import { DateOp, TimeOp, TimestampOp } from './time-ops.ts';
import {
  BinaryOp,
  BooleanOp,
  DoubleOp,
  EnumOp,
  FixedOp,
  FixedToBinaryOp,
  FloatOp,
  IntegerToFloatOp,
  IntOp,
  LongOp,
  NarrowLongOp,
  TextOp,
  UuidTextOp,
  WidenIntOp,
} from './value-ops.ts';

type Leaf = AvroPrimitive | AvroFixed;

/** A primitive column and its type. */
export interface LeafTarget {
  readonly type: PrimitiveType;
  readonly column: TypedColumn;
}

/**
 * The step for a writer's leaf that is read as the reader's schema says (null: as it is), or why there is none. A value
 * goes into a column that holds it as it is: of its logical type, of its raw type, or of a wider one; a long also into an
 * int column, each value checked.
 */
export function leafOp(writer: Leaf | AvroEnum, reader: AvroSchema | null, target: LeafTarget): Op | string {
  if (writer.kind === 'enum') return enumOp(writer, reader, target);
  const meaning = meaningOf(writer, reader);
  if (typeof meaning === 'string') return meaning;
  const step = logicalOp(writer, meaning, target) ?? rawOp(writer, meaning, target, reader !== null);
  return step ?? unfit(writer, target);
}

function unfit(writer: AvroSchema, target: LeafTarget): string {
  const { logical } = writer as Leaf;
  const name = writer.kind + (logical == null ? '' : ` (${logicalName(logical)})`);
  return `the writer's ${name} does not go into a column of type ${target.type}`;
}

function logicalName(logical: NonNullable<Leaf['logical']>): string {
  if (logical.name === 'decimal') return `decimal(${logical.precision}, ${logical.scale})`;
  return 'unit' in logical ? `${logical.name}-${logical.unit}` : logical.name;
}

function enumOp(writer: AvroEnum, reader: AvroSchema | null, target: LeafTarget): Op | string {
  if (target.type !== 'string') return unfit(writer, target);
  const column = target.column as BytesColumn;
  const bytes = (symbol: string): Uint8Array => new TextEncoder().encode(symbol);
  if (reader === null) return new EnumOp(column, writer.symbols, writer.symbols.map(bytes));
  if (reader.kind !== 'enum') return differs(writer, reader);
  const fault = namedMismatch(writer, reader);
  if (fault !== null) return fault;
  const texts = writer.symbols.map((symbol) => {
    const known = reader.symbols.includes(symbol) ? symbol : reader.default;
    return known === null ? null : bytes(known);
  });
  return new EnumOp(column, writer.symbols, texts);
}

/** A value into the column of its logical type; undefined where the column is of another. */
function logicalOp(writer: Leaf, { logical }: Meaning, { type, column }: LeafTarget): Op | undefined {
  const wire = writer.kind === 'int' ? 'int' : 'long';
  switch (logical?.name) {
    case 'date':
      return type === 'date' ? new DateOp(column as Int32Column) : undefined;
    case 'time':
      return type === 'time' ? new TimeOp(column as Int64Column, wire, logical.unit) : undefined;
    case 'timestamp':
    case 'local-timestamp': {
      const stem = logical.name === 'timestamp' ? 'timestamptz' : 'timestamp';
      const columnUnit = type === stem ? 'micros' : type === `${stem}_ns` ? 'nanos' : undefined;
      if (columnUnit === undefined) return undefined;
      return new TimestampOp(column as Int64Column, wire, logical.unit, columnUnit);
    }
    case 'uuid':
      if (type !== 'uuid') return undefined;
      return writer.kind === 'fixed'
        ? new FixedOp(column as FixedColumn)
        : new UuidTextOp(column as FixedColumn);
    case 'decimal': {
      const decimal = parseDecimal(type);
      if (decimal === undefined || logical.scale > decimal.scale) return undefined;
      const size = writer.kind === 'fixed' ? writer.size : -1;
      const moreDigits = decimal.scale - logical.scale;
      return decimalOp(column, { size, precision: decimal.precision, moreDigits });
    }
    default:
      return undefined;
  }
}

/** A value into a column of its raw type or of a wider one. `resolved`: a reader's schema asked for the type. */
function rawOp(
  writer: Leaf,
  meaning: Meaning,
  { type, column }: LeafTarget,
  resolved: boolean,
): Op | undefined {
  switch (meaning.kind) {
    case 'boolean':
      return type === 'boolean' ? new BooleanOp(column as TypedColumn & { kind: 'boolean' }) : undefined;
    case 'int':
    case 'long':
      return integerOp(writer, meaning, type, column);
    case 'float':
    case 'double':
      return floatOp(writer, meaning.kind, type, column, resolved);
    case 'string':
    case 'bytes':
      return sizedOp(meaning, type, column);
    case 'fixed':
      if (type === 'binary') return new FixedToBinaryOp(column as BytesColumn, (writer as AvroFixed).size);
      return parseFixed(type) === (writer as AvroFixed).size ? new FixedOp(column as FixedColumn) : undefined;
    default:
      return undefined;
  }
}

function integerOp(writer: Leaf, meaning: Meaning, type: PrimitiveType, column: TypedColumn): Op | undefined {
  const isInt = writer.kind === 'int';
  if (type === 'int')
    return isInt ? new IntOp(column as Int32Column) : new NarrowLongOp(column as Int32Column);
  if (type === 'long')
    return isInt ? new WidenIntOp(column as Int64Column) : new LongOp(column as Int64Column);
  if (meaning.logical !== null || (type !== 'float' && type !== 'double')) return undefined;
  return new IntegerToFloatOp(column as Float32Column | Float64Column, isInt ? 'int' : 'long', 'refuse');
}

function floatOp(
  writer: Leaf,
  kind: 'float' | 'double',
  type: PrimitiveType,
  column: TypedColumn,
  resolved: boolean,
): Op | undefined {
  if (type !== 'double' && (type !== 'float' || kind !== 'float')) return undefined;
  const floats = column as Float32Column | Float64Column;
  if (writer.kind === 'float') return new FloatOp(floats);
  if (writer.kind === 'double') return new DoubleOp(floats as Float64Column);
  return new IntegerToFloatOp(floats, writer.kind === 'int' ? 'int' : 'long', resolved ? kind : 'refuse');
}

function sizedOp(meaning: Meaning, type: PrimitiveType, column: TypedColumn): Op | undefined {
  if (type === 'binary') return new BinaryOp(column as BytesColumn);
  // The bytes of a decimal are no text.
  return type === 'string' && meaning.logical?.name !== 'decimal'
    ? new TextOp(column as BytesColumn)
    : undefined;
}
