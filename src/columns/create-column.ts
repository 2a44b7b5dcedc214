import {
  decimalWidth,
  type IcebergType,
  type PrimitiveType,
  parseDecimal,
  parseFixed,
} from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { BooleanColumn } from './boolean-column.ts';
import { BytesColumn } from './bytes-column.ts';
import { FixedColumn } from './fixed-column.ts';
import { Float32Column } from './float32-column.ts';
import { Float64Column } from './float64-column.ts';
import { Int32Column } from './int32-column.ts';
import { Int64Column } from './int64-column.ts';
import { ListColumn } from './list-column.ts';
import { MapColumn } from './map-column.ts';
import { StructColumn } from './struct-column.ts';

export type TypedColumn =
  | BooleanColumn
  | BytesColumn
  | FixedColumn
  | Float32Column
  | Float64Column
  | Int32Column
  | Int64Column
  | StructColumn
  | ListColumn
  | MapColumn;

/**
 * The column that holds values of an Iceberg type: int and date as 32 bits (days since 1970), long, time and timestamps
 * as 64 bits (micros, or nanos of the `_ns` types), string (UTF-8) and binary as bytes, uuid as 16 bytes big-endian,
 * decimals unscaled: 32 bits up to 9 digits, 64 up to 18, else big-endian two's complement of `decimalWidth` bytes.
 * Throws UNSUPPORTED for the type `unknown` and for types that no table can hold.
 */
export function createColumn(type: IcebergType): TypedColumn {
  if (typeof type === 'string') return primitiveColumn(type);
  if (type.type === 'struct') return new StructColumn(type.fields.map((f) => createColumn(f.type)));
  if (type.type === 'list') return new ListColumn(createColumn(type.element));
  return new MapColumn(createColumn(type.key), createColumn(type.value));
}

function primitiveColumn(type: PrimitiveType): TypedColumn {
  switch (type) {
    case 'boolean':
      return new BooleanColumn();
    case 'int':
    case 'date':
      return new Int32Column();
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return new Int64Column();
    case 'float':
      return new Float32Column();
    case 'double':
      return new Float64Column();
    case 'string':
    case 'binary':
      return new BytesColumn();
    case 'uuid':
      return new FixedColumn(16);
    default:
      return parameterisedColumn(type);
  }
}

function parameterisedColumn(type: PrimitiveType): TypedColumn {
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    if (decimal.precision <= 9) return new Int32Column();
    return decimal.precision <= 18 ? new Int64Column() : new FixedColumn(decimalWidth(decimal.precision));
  }
  const length = parseFixed(type);
  if (length !== undefined) return new FixedColumn(length);
  throw new SluiceError('UNSUPPORTED', `the type ${type} cannot be decoded into; use another type`, {
    context: { type },
  });
}
