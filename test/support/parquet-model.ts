import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
} from '@duckdb/node-api';
import { type PrimitiveType, parseDecimal } from '../../src/core/schema.ts';
import {
  binaryLowerBound,
  binaryUpperBound,
  readSignedBigEndian,
  singleValueBytes,
  stringLowerBound,
  stringUpperBound,
} from '../../src/parquet/bounds.ts';
import type { FlatReadVector } from '../../src/parquet/column-sink.ts';
import type { TableValue } from './parquet-table.ts';

/** What tests expect of data files: values as texts that can be compared, and a plain computation of metrics. */

/** A text that is the same for values that are the same; floats by their bits (NaN is one value). */
export function show(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The value of a row of a flat column that was read, in the form of `TableValue`. */
export function vectorValue(vector: FlatReadVector, row: number, type: PrimitiveType): TableValue {
  if (vector.kind === 'strings') return vector.values[row];
  if (vector.isNull(row)) return null;
  if (vector.kind === 'bytes') return vector.get(row);
  if (vector.kind === 'fixed') {
    const bytes = vector.data.subarray(row * vector.width, (row + 1) * vector.width);
    return parseDecimal(type) === undefined ? bytes : readSignedBigEndian(bytes);
  }
  if (vector.kind === 'int64') return vector.getBigInt(row);
  if (vector.kind === 'boolean') return vector.values[row] === 1;
  return parseDecimal(type) === undefined ? vector.values[row] : BigInt(vector.values[row]);
}

/** For hyparquet: values as they are stored. */
export const RAW_PARSERS = {
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  uuidFromBytes: (value: Uint8Array) => value,
};

export function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}

/** A value of DuckDB in the form of `TableValue`. */
export function plainDuckDb(value: unknown): unknown {
  if (value instanceof DuckDBBlobValue) return value.bytes;
  if (value instanceof DuckDBDateValue) return value.days;
  if (
    value instanceof DuckDBTimeValue ||
    value instanceof DuckDBTimestampValue ||
    value instanceof DuckDBTimestampTZValue
  )
    return value.micros;
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value instanceof DuckDBUUIDValue) return Buffer.from(value.toString().replaceAll('-', ''), 'hex');
  return value;
}

/** Orders values as their column does; NaN left out beforehand. */
function compare(a: TableValue, b: TableValue): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

export interface Model {
  nulls: number;
  nans: number;
  /** Bounds as Iceberg has them, in hex; undefined where there is none. */
  lower: string | undefined;
  upper: string | undefined;
  min: TableValue | undefined;
  max: TableValue | undefined;
}

/** What statistics and manifests say of the values of a column. */
export function model(type: PrimitiveType, values: readonly TableValue[]): Model {
  const nulls = values.filter((v) => v === null).length;
  const nans = values.filter((v) => typeof v === 'number' && Number.isNaN(v)).length;
  const sorted = values
    .filter((v) => v !== null && !(typeof v === 'number' && Number.isNaN(v)))
    .sort(compare);
  const min = sorted[0];
  const max = sorted[sorted.length - 1];
  const bound = (value: TableValue | undefined, isUpper: boolean): string | undefined => {
    if (value === undefined || value === null) return undefined;
    const bytes = singleValueBytes(type, value);
    const cut = cutBound(type, bytes, isUpper);
    return cut === undefined ? undefined : Buffer.from(cut).toString('hex');
  };
  return { nulls, nans, min, max, lower: bound(min, false), upper: bound(max, true) };
}

function cutBound(type: PrimitiveType, bytes: Uint8Array, isUpper: boolean): Uint8Array | undefined {
  if (type === 'string') return isUpper ? stringUpperBound(bytes) : stringLowerBound(bytes);
  if (type === 'binary') return isUpper ? binaryUpperBound(bytes) : binaryLowerBound(bytes);
  return bytes;
}
