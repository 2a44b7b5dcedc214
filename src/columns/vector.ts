/**
 * Column vectors: what decoders fill and the Parquet writer reads. One vector is one column over `length` rows, kept in
 * the layout of Parquet's PLAIN encoding, so that a page is a copy of a stretch of it. All of them are reused: `clear`
 * keeps the buffers. Nothing here allocates per row once the buffers have grown.
 */

/** Variable-length bytes: per non-null row a 4-byte little-endian length, then the bytes. */
export interface BytesVector {
  readonly kind: 'bytes';
  readonly length: number;
  readonly nullCount: number;
  readonly data: Uint8Array;
  /** `starts[i]` is the position of row i in `data`, `starts[length]` the end. A null row takes no room: `starts[i] === starts[i + 1]`. */
  readonly starts: Uint32Array;
}

/** 64-bit little-endian integers (long, timestamps): row i is words 2i (low) and 2i+1 (high), also for null rows (then of no meaning). */
export interface Int64Vector {
  readonly kind: 'int64';
  readonly length: number;
  readonly nullCount: number;
  readonly words: Int32Array;
  /** 1 where the row is null. Of no meaning while `nullCount` is 0. */
  readonly nulls: Uint8Array;
}

/** 32-bit integers (int, date). */
export interface Int32Vector {
  readonly kind: 'int32';
  readonly length: number;
  readonly nullCount: number;
  readonly values: Int32Array;
  readonly nulls: Uint8Array;
}

/** 64-bit floats. */
export interface Float64Vector {
  readonly kind: 'float64';
  readonly length: number;
  readonly nullCount: number;
  readonly values: Float64Array;
  readonly nulls: Uint8Array;
}

/** 32-bit floats. */
export interface Float32Vector {
  readonly kind: 'float32';
  readonly length: number;
  readonly nullCount: number;
  readonly values: Float32Array;
  readonly nulls: Uint8Array;
}

/** One byte per row, 0 or 1. */
export interface BooleanVector {
  readonly kind: 'boolean';
  readonly length: number;
  readonly nullCount: number;
  readonly values: Uint8Array;
  readonly nulls: Uint8Array;
}

/** Bytes of one width (uuid, fixed, decimals of more than 18 digits): row i is bytes [i * width, (i + 1) * width), also for null rows. */
export interface FixedVector {
  readonly kind: 'fixed';
  readonly width: number;
  readonly length: number;
  readonly nullCount: number;
  readonly data: Uint8Array;
  readonly nulls: Uint8Array;
}

/** The same value in every row, whatever the range asked for: written as a one-entry dictionary, stored once. */
export interface ConstantVector {
  readonly kind: 'constant';
  /** In the JS form of its type: number for int, date, float and double, bigint for long, time, timestamps and unscaled decimals, string, bytes, null. */
  readonly value: null | boolean | number | bigint | string | Uint8Array;
}

/** list<struct<key string, value binary>> rows taken from raw Kafka header blocks (varint count, then key and value each with a varint length). A null row has no headers. */
export interface HeadersVector {
  readonly kind: 'headers';
  readonly raw: BytesVector;
}

/** Structs: each field is a column of the same length; what it holds where the struct is null has no meaning. */
export interface StructVector {
  readonly kind: 'struct';
  readonly length: number;
  readonly nullCount: number;
  readonly nulls: Uint8Array;
  /** In the order of the type's fields. */
  readonly fields: readonly ColumnVector[];
}

/** Lists: the elements of row i are rows [starts[i], starts[i + 1]) of `element`; a null row has none. */
export interface ListVector {
  readonly kind: 'list';
  readonly length: number;
  readonly nullCount: number;
  readonly nulls: Uint8Array;
  readonly starts: Uint32Array;
  readonly element: ColumnVector;
}

/** Maps: the entries of row i are rows [starts[i], starts[i + 1]) of `key` and `value`; keys are never null. */
export interface MapVector {
  readonly kind: 'map';
  readonly length: number;
  readonly nullCount: number;
  readonly nulls: Uint8Array;
  readonly starts: Uint32Array;
  readonly key: ColumnVector;
  readonly value: ColumnVector;
}

export type ColumnVector =
  | BytesVector
  | Int64Vector
  | Int32Vector
  | Float64Vector
  | Float32Vector
  | BooleanVector
  | FixedVector
  | ConstantVector
  | HeadersVector
  | StructVector
  | ListVector
  | MapVector;

/** Vectors that hold one plain value per row, each in its place. */
export type FlatVector = Exclude<
  ColumnVector,
  ConstantVector | HeadersVector | StructVector | ListVector | MapVector
>;

export function isFlat(vector: ColumnVector): vector is FlatVector | ConstantVector {
  const { kind } = vector;
  return kind !== 'headers' && kind !== 'struct' && kind !== 'list' && kind !== 'map';
}
