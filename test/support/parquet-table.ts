import fc from 'fast-check';
import { BooleanColumn } from '../../src/columns/boolean-column.ts';
import { BytesColumn } from '../../src/columns/bytes-column.ts';
import { FixedColumn } from '../../src/columns/fixed-column.ts';
import { Float32Column } from '../../src/columns/float32-column.ts';
import { Float64Column } from '../../src/columns/float64-column.ts';
import { Int32Column } from '../../src/columns/int32-column.ts';
import { Int64Column } from '../../src/columns/int64-column.ts';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { DataFileMetrics } from '../../src/core/data-file.ts';
import {
  decimalWidth,
  type NestedField,
  type PrimitiveType,
  parseDecimal,
  parseFixed,
  type Schema,
} from '../../src/core/schema.ts';
import { signedBigEndian } from '../../src/parquet/bounds.ts';
import { DEFAULT_PARQUET_OPTIONS, type ParquetWriterOptions } from '../../src/parquet/options.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import type { FileIO } from '../../src/storage/file-io.ts';

/**
 * A value as tests compare it: number for int, date, float, double; bigint for long, times and decimals (unscaled);
 * text for string; bytes for binary, uuid and fixed; boolean; null.
 */
export type TableValue = null | boolean | number | bigint | string | Uint8Array;

export const ALL_TYPES: readonly PrimitiveType[] = [
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'string',
  'binary',
  'uuid',
  'fixed[5]',
  'decimal(7, 2)',
  'decimal(18, 4)',
  'decimal(19, 4)',
  'decimal(38, 10)',
];

const LONG = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

/** Values of a type, edge values among them. Times keep to what DuckDB and pyarrow can show. */
export function arbitraryValue(type: PrimitiveType): fc.Arbitrary<Exclude<TableValue, null>> {
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    const most = 10n ** BigInt(decimal.precision) - 1n;
    return fc.oneof(
      fc.bigInt({ min: -most, max: most }),
      fc.constantFrom(-1n, 0n, 1n, 127n, 128n, -128n, -129n, most, -most),
    );
  }
  switch (type) {
    case 'boolean':
      return fc.boolean();
    case 'int':
      return fc.oneof(fc.integer(), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1, 0));
    case 'date':
      return fc.integer({ min: -100_000, max: 100_000 });
    case 'long':
      return fc.oneof(fc.bigInt(LONG), fc.constantFrom(LONG.min, LONG.max, 0n, 2n ** 53n, -1n));
    case 'time':
      return fc.bigInt({ min: 0n, max: 86_399_999_999n });
    case 'timestamp':
    case 'timestamptz':
      return fc.bigInt({ min: -(10n ** 15n), max: 10n ** 16n });
    case 'timestamp_ns':
      return fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
    case 'float':
      return fc.oneof(fc.float(), fc.constantFrom(0, -0, Number.NaN));
    case 'double':
      return fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN));
    case 'string':
      return arbitraryText();
    case 'binary':
      return fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.constantFrom(new Uint8Array(0), new Uint8Array(20).fill(0xff)),
      );
    case 'uuid':
      return fc.uint8Array({ minLength: 16, maxLength: 16 });
    default: {
      const length = parseFixed(type)!;
      return fc.uint8Array({ minLength: length, maxLength: length });
    }
  }
}

/** Texts that share prefixes, of every plane of Unicode, short and long. */
export function arbitraryText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: 'binary', maxLength: 24 }),
    fc.string({ maxLength: 24 }),
    fc
      .tuple(
        fc.constantFrom('', 'b', 'common prefix of', 'ein Wörtchen, das', '\u{10ffff}'.repeat(15)),
        fc.string({ unit: 'binary', maxLength: 6 }),
      )
      .map((t) => t.join('')),
  );
}

export function field(id: number, name: string, type: NestedField['type'], required = false): NestedField {
  return { id, name, required, type };
}

export function tableSchema(fields: readonly NestedField[]): Schema {
  return { type: 'struct', schemaId: 0, fields };
}

/** A column vector of a type that holds the values. */
export function toVector(type: PrimitiveType, values: readonly TableValue[]): ColumnVector {
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    if (decimal.precision <= 9) return int32Vector(values.map((v) => (v === null ? null : Number(v))));
    if (decimal.precision <= 18) return int64Vector(values);
    const width = decimalWidth(decimal.precision);
    return fixedVector(
      width,
      values.map((v) => (v === null ? null : signedBigEndian(v as bigint, width))),
    );
  }
  switch (type) {
    case 'boolean':
      return fill(new BooleanColumn(4), values as Array<boolean | null>);
    case 'int':
    case 'date':
      return int32Vector(values);
    case 'float':
      return fill(new Float32Column(4), values as Array<number | null>);
    case 'double':
      return fill(new Float64Column(4), values as Array<number | null>);
    case 'string':
    case 'binary':
      return bytesVector(values as Array<string | Uint8Array | null>);
    case 'uuid':
      return fixedVector(16, values);
    default: {
      const width = parseFixed(type);
      return width === undefined ? int64Vector(values) : fixedVector(width, values);
    }
  }
}

function fill<T, C extends { append(value: T): void; appendNull(): void }>(
  column: C,
  values: ReadonlyArray<T | null>,
): C {
  for (const value of values) {
    if (value === null) column.appendNull();
    else column.append(value);
  }
  return column;
}

function int32Vector(values: readonly TableValue[]): Int32Column {
  return fill(new Int32Column(4), values as Array<number | null>);
}

export function int64Vector(values: readonly TableValue[]): Int64Column {
  const column = new Int64Column(4);
  for (const value of values) {
    if (value === null) column.appendNull();
    else column.appendBigInt(value as bigint);
  }
  return column;
}

function fixedVector(width: number, values: readonly TableValue[]): FixedColumn {
  return fill(new FixedColumn(width, 4), values as Array<Uint8Array | null>);
}

export function bytesVector(values: ReadonlyArray<string | Uint8Array | null>): BytesColumn {
  const column = new BytesColumn(16, 4);
  for (const value of values) {
    if (value === null) column.appendNull();
    else column.appendBytes(typeof value === 'string' ? Buffer.from(value, 'utf8') : value);
  }
  return column;
}

export interface KafkaHeader {
  key: string | Uint8Array;
  value: string | Uint8Array | null;
}

/** The raw header block of a record, as Kafka's record format has it. */
export function headerBlock(headers: readonly KafkaHeader[]): Uint8Array {
  const bytes: number[] = [];
  const varint = (value: number): void => {
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  };
  varint(headers.length);
  for (const { key, value } of headers) {
    const keyBytes = Buffer.from(key as string);
    varint(keyBytes.length);
    bytes.push(...keyBytes);
    const valueBytes = value === null ? null : Buffer.from(value as string);
    varint(valueBytes === null ? -1 : valueBytes.length);
    if (valueBytes !== null) bytes.push(...valueBytes);
  }
  return Uint8Array.from(bytes);
}

/** The field of Kafka headers, ids 20 to 23. */
export const HEADERS_FIELD: NestedField = field(20, 'headers', {
  type: 'list',
  elementId: 21,
  elementRequired: true,
  element: { type: 'struct', fields: [field(22, 'key', 'string', true), field(23, 'value', 'binary')] },
});

export interface WriteTableOptions extends Partial<ParquetWriterOptions> {
  /** Row groups end after these many rows (and where the writer asks for it). */
  flushEvery?: number;
  /** Rows handed over in one call. */
  step?: number;
}

/** Writes one file from whole vectors. */
export async function writeTable(
  io: FileIO,
  path: string,
  schema: Schema,
  vectors: readonly ColumnVector[],
  rows: number,
  options: WriteTableOptions = {},
): Promise<DataFileMetrics> {
  const { flushEvery = rows, step = rows, ...rest } = options;
  const writer = new ParquetWriter(await io.create(path), schema, { ...DEFAULT_PARQUET_OPTIONS, ...rest });
  let inGroup = 0;
  for (let row = 0; row < rows; ) {
    const until = Math.min(rows, row + step, row + flushEvery - inGroup);
    writer.append(vectors, row, until);
    inGroup += until - row;
    row = until;
    if (inGroup >= flushEvery || writer.wantsFlush) {
      await writer.flush();
      inGroup = 0;
    }
  }
  return writer.close();
}
