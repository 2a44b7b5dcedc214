/** Numbers of the Parquet format (parquet-format, `src/main/thrift/parquet.thrift`) that this room writes and reads. */

export const PHYSICAL_TYPE = {
  BOOLEAN: 0,
  INT32: 1,
  INT64: 2,
  INT96: 3,
  FLOAT: 4,
  DOUBLE: 5,
  BYTE_ARRAY: 6,
  FIXED_LEN_BYTE_ARRAY: 7,
} as const;
export type PhysicalType = (typeof PHYSICAL_TYPE)[keyof typeof PHYSICAL_TYPE];

export const REPETITION = { REQUIRED: 0, OPTIONAL: 1, REPEATED: 2 } as const;

export const CONVERTED_TYPE = {
  UTF8: 0,
  MAP: 1,
  LIST: 3,
  DECIMAL: 5,
  DATE: 6,
  TIME_MICROS: 8,
  TIMESTAMP_MICROS: 10,
} as const;

export const ENCODING = { PLAIN: 0, PLAIN_DICTIONARY: 2, RLE: 3, RLE_DICTIONARY: 8 } as const;

/** LZ4 is LZ4_RAW: the older number 5 has a framing that differs from writer to writer. */
export const COMPRESSION = { none: 0, snappy: 1, gzip: 2, zstd: 6, lz4: 7 } as const;

export const PAGE_TYPE = { DATA: 0, INDEX: 1, DICTIONARY: 2, DATA_V2: 3 } as const;

export const BOUNDARY_ORDER = { UNORDERED: 0, ASCENDING: 1, DESCENDING: 2 } as const;

/** The four bytes at both ends of a file: `PAR1`. */
export const MAGIC = Uint8Array.of(0x50, 0x41, 0x52, 0x31);

/** A value longer than this is refused: its page must stay under 2^31 bytes, and every reader must be able to hold it. */
export const MAX_VALUE_BYTES = 1024 * 1024 * 1024;
