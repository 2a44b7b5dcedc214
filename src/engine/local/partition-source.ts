import type { TypedColumn } from '../../columns/create-column.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import { type IcebergType, parseDecimal, type Schema } from '../../core/schema.ts';
import { type ColumnSource, type DecodedSource, isDecoded } from '../column-source.ts';
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
  place: FieldPlace,
  row: number,
): PartitionValue {
  if (!isDecoded(source)) return null;
  const column = decodedLeaf(decoded, source, place, row);
  return column === null || column.isNull(row) ? null : plainValue(column, place.type, row);
}

/** The column of a field; null where a struct above it is null in the row. */
export function decodedLeaf(
  decoded: DecodedColumns,
  source: DecodedSource,
  { path }: FieldPlace,
  row: number,
): TypedColumn | null {
  let column = decodedColumn(decoded, source);
  for (let i = 0; i < path.length; i++) {
    if (column.kind !== 'struct' || column.isNull(row)) return null;
    column = column.fields[path[i]] as TypedColumn;
  }
  return column;
}

/** The value of a row that is not null, as transforms take it. */
export function plainValue(column: TypedColumn, type: IcebergType, row: number): PartitionValue {
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
