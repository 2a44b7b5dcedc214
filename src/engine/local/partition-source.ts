import type { TypedColumn } from '../../columns/create-column.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import { type IcebergType, parseDecimal, type Schema } from '../../core/schema.ts';
import { type ColumnSource, isDecoded } from '../column-source.ts';
import { type DecodedColumns, decodedColumn } from './row-decoders.ts';

/** Where a partition field takes its values from: a top-level column, or a field of structs below one. */
export interface FieldPlace {
  /** Index of the top-level column. */
  column: number;
  /** Indexes of the fields on the way down; empty for the column itself. */
  path: number[];
  type: IcebergType;
}

/** Finds the field of an id; structs are the only way down to a partition source. Undefined where the schema has none. */
export function placeOf(schema: Schema, sourceId: number): FieldPlace | undefined {
  for (const [column, field] of schema.fields.entries()) {
    const found = placeBelow(field.id, field.type, sourceId);
    if (found !== undefined) return { column, ...found };
  }
  return undefined;
}

function placeBelow(
  id: number,
  type: IcebergType,
  sourceId: number,
): { path: number[]; type: IcebergType } | undefined {
  if (id === sourceId) return { path: [], type };
  if (typeof type === 'string' || type.type !== 'struct') return undefined;
  for (const [index, field] of type.fields.entries()) {
    const found = placeBelow(field.id, field.type, sourceId);
    if (found !== undefined) return { path: [index, ...found.path], type: found.type };
  }
  return undefined;
}

/** The value of a field of a decoded column in a row; null where a struct above it is. Copies bytes: they outlive the block. */
export function decodedValue(
  decoded: DecodedColumns,
  source: ColumnSource,
  { path, type }: FieldPlace,
  row: number,
): PartitionValue {
  if (!isDecoded(source)) return null;
  let column = decodedColumn(decoded, source);
  for (const index of path) {
    if (column.kind !== 'struct' || column.isNull(row)) return null;
    column = column.fields[index] as TypedColumn;
  }
  return column.isNull(row) ? null : plainValue(column, type, row);
}

function plainValue(column: TypedColumn, type: IcebergType, row: number): PartitionValue {
  const decimal = parseDecimal(type) !== undefined;
  switch (column.kind) {
    case 'boolean':
      return column.values[row] === 1;
    case 'int32':
      return decimal ? BigInt(column.values[row]) : column.values[row];
    case 'int64':
      return column.getBigInt(row);
    case 'float32':
    case 'float64':
      return column.values[row];
    case 'bytes': {
      const bytes = column.get(row)!;
      if (type !== 'string') return bytes.slice();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    }
    case 'fixed': {
      const bytes = column.data.subarray(row * column.width, (row + 1) * column.width);
      return decimal
        ? BigInt.asIntN(column.width * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
        : bytes.slice();
    }
    default:
      return null;
  }
}
