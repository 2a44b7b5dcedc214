import avsc from 'avsc';
import { BytesColumn } from '../../src/columns/bytes-column.ts';
import type { TypedColumn } from '../../src/columns/create-column.ts';
import type { IcebergType, NestedField } from '../../src/core/schema.ts';
import type { AvroFormat, RegisteredSchema } from '../../src/core/value-format.ts';
import { type AvroDecoder, createAvroDecoder } from '../../src/decode/avro/avro-decoder.ts';

/** 64-bit integers, timestamps and unscaled decimals are bigint; bytes are `0x` and hex digits; a map is its entries. */
export type Plain = null | boolean | number | bigint | string | Plain[] | { [name: string]: Plain };

export function avroFormat(options: Partial<AvroFormat> = {}): AvroFormat {
  return {
    format: 'avro',
    mode: 'quarantine',
    corruptRecordColumn: null,
    timeZone: 'UTC',
    framing: 'plain',
    writerSchema: null,
    readerSchema: null,
    ...options,
  };
}

export function field(name: string, type: IcebergType, options: Partial<NestedField> = {}): NestedField {
  return { id: 0, name, required: false, type, ...options };
}

export function avroRecord(name: string, fields: Record<string, unknown>): string {
  const list = Object.entries(fields).map(([key, type]) => ({ name: key, type }));
  return JSON.stringify({ type: 'record', name, fields: list });
}

export function registered(id: number, schema: string, references: RegisteredSchema['references'] = []) {
  return { id, type: 'AVRO', schema, references } satisfies RegisteredSchema;
}

/** Hex digits as bytes; blanks are left out. */
export function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(' ', ''), 'hex');
}

/** A body in the registry's frame. */
export function framed(id: number, body: Uint8Array): Buffer {
  const frame = Buffer.alloc(5);
  frame.writeInt32BE(id, 1);
  return Buffer.concat([frame, body]);
}

export function valuesOf(values: readonly (Uint8Array | null)[]): BytesColumn {
  const column = new BytesColumn();
  for (const value of values) {
    if (value === null) column.appendNull();
    else column.appendBytes(value);
  }
  return column;
}

/** Plain values of one schema, decoded into columns. */
export function decodePlain(
  fields: readonly NestedField[],
  writerSchema: string,
  bodies: readonly (Uint8Array | null)[],
  options: Partial<AvroFormat> = {},
): { rows: Plain[]; decoder: AvroDecoder } {
  const decoder = createAvroDecoder(fields, avroFormat({ writerSchema, ...options }));
  decoder.decode(valuesOf(bodies));
  return { rows: rowsOf(fields, decoder), decoder };
}

/** Reason, field and message of the faults of a decoder by their rows. */
export function faultsOf(decoder: AvroDecoder): string[] {
  return decoder.faults.map(({ row, reason, field: at }) => `${row} ${reason}${at === '' ? '' : ` ${at}`}`);
}

export function rowsOf(fields: readonly NestedField[], decoder: AvroDecoder): { [name: string]: Plain }[] {
  const length = decoder.columns.length === 0 ? 0 : decoder.columns[0].length;
  for (const column of decoder.columns) {
    if (column.length !== length) throw new Error(`a column has ${column.length} rows, another ${length}`);
  }
  return Array.from({ length }, (_, row) =>
    Object.fromEntries(fields.map((f, i) => [f.name, plainValue(f.type, decoder.columns[i], row)])),
  );
}

export function plainValue(type: IcebergType, column: TypedColumn, row: number): Plain {
  if (column.isNull(row)) return null;
  switch (column.kind) {
    case 'boolean':
      return column.values[row] === 1;
    case 'int32':
      return column.values[row];
    case 'float32':
    case 'float64':
      return column.values[row];
    case 'int64':
      return column.getBigInt(row);
    case 'fixed':
      return bytesText(column.data.subarray(row * column.width, (row + 1) * column.width));
    case 'bytes':
      return bytesValue(type, column, row);
    default:
      return nestedValue(type, column, row);
  }
}

function bytesValue(type: IcebergType, column: BytesColumn, row: number): Plain {
  const bytes = column.get(row) as Uint8Array;
  const view = new DataView(column.data.buffer, column.data.byteOffset);
  if (view.getUint32(column.starts[row], true) !== bytes.length) throw new Error('a length prefix is wrong');
  return type === 'string'
    ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    : bytesText(bytes);
}

function nestedValue(
  type: IcebergType,
  column: Extract<TypedColumn, { kind: 'struct' | 'list' | 'map' }>,
  row: number,
): Plain {
  if (typeof type === 'string') throw new Error(`a nested column for ${type}`);
  if (type.type === 'struct' && column.kind === 'struct') {
    const entries = type.fields.map((f, i) => [
      f.name,
      plainValue(f.type, column.fields[i] as TypedColumn, row),
    ]);
    return Object.fromEntries(entries);
  }
  if (column.kind === 'struct') throw new Error('a struct column for another type');
  const range = Array.from(
    { length: column.starts[row + 1] - column.starts[row] },
    (_, i) => column.starts[row] + i,
  );
  if (type.type === 'list' && column.kind === 'list')
    return range.map((at) => plainValue(type.element, column.element as TypedColumn, at));
  if (type.type === 'map' && column.kind === 'map')
    return range.map((at) => [
      plainValue(type.key, column.key as TypedColumn, at),
      plainValue(type.value, column.value as TypedColumn, at),
    ]);
  throw new Error('a column for another type');
}

export function bytesText(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

/** avsc's long as bigint, exact over the whole range. */
const exactLong = avsc.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(value);
    return buffer;
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
});

/** An independent reader and writer of a schema: unions as `{branch: value}`, longs as bigint, no logical types. */
export function avscType(schema: unknown): avsc.Type {
  return avsc.Type.forSchema(
    schema as avsc.Schema,
    {
      wrapUnions: true,
      registry: {},
      typeHook: (node: unknown) => {
        const type = typeof node === 'object' && node !== null && 'type' in node ? node.type : node;
        return type === 'long' ? exactLong : undefined;
      },
    } as never,
  );
}
