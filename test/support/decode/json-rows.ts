import { BytesColumn } from '../../../src/columns/bytes-column.ts';
import type { TypedColumn } from '../../../src/columns/create-column.ts';
import type { IcebergType, ListType, MapType, NestedField, StructType } from '../../../src/core/schema.ts';
import type { JsonFormat } from '../../../src/core/value-format.ts';
import { createJsonDecoder } from '../../../src/decode/json/json-decoder.ts';
import type { DecodeFault, ValueDecoder } from '../../../src/decode/value-decoder.ts';

export const JSON_FORMAT: JsonFormat = {
  format: 'json',
  mode: 'quarantine',
  corruptRecordColumn: null,
  timeZone: 'UTC',
  compat: 'strict',
  unknownFields: 'ignore',
  caseInsensitive: false,
  timestampUnit: 'millis',
  decimalRounding: 'refuse',
  nullDocument: 'row',
};

/** Columns from names and types, ids counted from 1; a name with `!` behind it is required. */
export function columnsOf(types: Record<string, IcebergType>): NestedField[] {
  return Object.entries(types).map(([name, type], i) => ({
    id: i + 1,
    name: name.replace(/!$/, ''),
    required: name.endsWith('!'),
    type,
  }));
}

export function structOf(types: Record<string, IcebergType>): IcebergType {
  return { type: 'struct', fields: columnsOf(types) };
}

export function listOf(element: IcebergType, elementRequired = false): IcebergType {
  return { type: 'list', elementId: 101, element, elementRequired };
}

export function mapOf(key: IcebergType, value: IcebergType, valueRequired = false): IcebergType {
  return { type: 'map', keyId: 102, key, valueId: 103, value, valueRequired };
}

/**
 * What a column holds in a row: bigint for 64 bits, text for strings, hex for other bytes, an object by position of structs
 * as lists, maps as lists of pairs.
 */
export function cellOf(column: TypedColumn, type: IcebergType, row: number): unknown {
  if (column.isNull(row)) return null;
  switch (column.kind) {
    case 'int64':
      return column.getBigInt(row);
    case 'bytes': {
      const bytes = Buffer.from(column.get(row) as Uint8Array);
      return type === 'string' ? strict.decode(bytes) : bytes.toString('hex');
    }
    case 'fixed': {
      const bytes = Buffer.from(column.data.subarray(row * column.width, (row + 1) * column.width));
      if (!String(type).startsWith('decimal')) return bytes.toString('hex');
      return BigInt.asIntN(column.width * 8, BigInt(`0x${bytes.toString('hex')}`));
    }
    case 'struct': {
      const { fields } = type as StructType;
      return fields.map((field, i) => cellOf(column.fields[i] as TypedColumn, field.type, row));
    }
    case 'list': {
      const { element } = type as ListType;
      return rowsOf(column, row).map((at) => cellOf(column.element as TypedColumn, element, at));
    }
    case 'map': {
      const { key, value } = type as MapType;
      return rowsOf(column, row).map((at) => [
        cellOf(column.key as TypedColumn, key, at),
        cellOf(column.value as TypedColumn, value, at),
      ]);
    }
    case 'boolean':
      return column.values[row] === 1;
    default:
      return (column as { values: ArrayLike<number> }).values[row];
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function rowsOf(column: { starts: Uint32Array }, row: number): number[] {
  const from = column.starts[row];
  return Array.from({ length: column.starts[row + 1] - from }, (_, i) => from + i);
}

/** A block of values; null is a tombstone. */
export function blockOf(documents: readonly (string | Uint8Array | null)[]): BytesColumn {
  const block = new BytesColumn(16, 1);
  for (const document of documents) {
    if (document === null) block.appendNull();
    else block.appendBytes(typeof document === 'string' ? Buffer.from(document) : document);
  }
  // Nothing behind the last value: a decoder that reads further is found out.
  const tight = new BytesColumn(1, block.length);
  tight.data = block.data.slice(0, block.end);
  tight.starts = block.starts.slice(0, block.length + 1);
  tight.length = block.length;
  tight.nullCount = block.nullCount;
  return tight;
}

export interface DecodedBlock {
  /** Per record, per column. */
  rows: unknown[][];
  faults: DecodeFault[];
  /** By row, the fault's code, or null. */
  reasons: (string | null)[];
  decoder: ValueDecoder;
}

/** Decodes the documents as one block, and checks what holds for every block. */
export function decodeWith(
  decoder: ValueDecoder,
  columns: readonly NestedField[],
  documents: readonly (string | Uint8Array | null)[],
): DecodedBlock {
  decoder.decode(blockOf(documents));
  for (const [i, column] of decoder.columns.entries()) {
    if (column.length !== documents.length)
      throw new Error(`column ${columns[i].name}: ${column.length} rows for ${documents.length} documents`);
  }
  const rows = documents.map((_, row) =>
    columns.map((field, i) => cellOf(decoder.columns[i] as TypedColumn, field.type, row)),
  );
  const reasons: (string | null)[] = documents.map(() => null);
  for (const fault of decoder.faults) {
    if (reasons[fault.row] !== null) throw new Error(`two faults of row ${fault.row}`);
    reasons[fault.row] = fault.reason;
    if (rows[fault.row].some((value) => value !== null))
      throw new Error(`row ${fault.row} is at fault and not null`);
  }
  return { rows, faults: [...decoder.faults], reasons, decoder };
}

/** Decodes documents into columns of the given types. */
export function decodeJson(
  types: Record<string, IcebergType> | readonly NestedField[],
  documents: readonly (string | Uint8Array | null)[],
  format: Partial<JsonFormat> = {},
): DecodedBlock {
  const columns = Array.isArray(types) ? types : columnsOf(types as Record<string, IcebergType>);
  return decodeWith(createJsonDecoder(columns, { ...JSON_FORMAT, ...format }), columns, documents);
}

/** What becomes of one value in a column: the value, or the fault's code. */
export function decodeValue(type: IcebergType, json: string, format: Partial<JsonFormat> = {}): unknown {
  const { rows, faults } = decodeJson({ v: type }, [`{"v":${json}}`], format);
  return faults.length > 0 ? faults[0].reason : rows[0][0];
}
