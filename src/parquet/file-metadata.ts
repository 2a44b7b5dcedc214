import { SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type FileColumn, type FileField, readSchema } from './file-schema.ts';
import { MAGIC } from './format.ts';
import { ThriftReader, type ThriftStruct } from './thrift-reader.ts';
import { count, isStruct, structs, text } from './thrift-values.ts';

export type { FileColumn } from './file-schema.ts';

/** One column chunk; positions are bytes of the file. */
export interface FileChunk {
  readonly codec: number;
  readonly encodings: readonly number[];
  readonly valueCount: number;
  /** Of all its pages, as the footer says. */
  readonly uncompressedBytes: number;
  /** The pages are bytes [start, end). */
  readonly start: number;
  readonly end: number;
}

export interface FileRowGroup {
  readonly rowCount: number;
  /** In the order of the file's columns. */
  readonly chunks: readonly FileChunk[];
}

export interface FileMetadata {
  readonly sizeBytes: number;
  readonly rowCount: number;
  /** The leaves, in the order of their column chunks. */
  readonly columns: readonly FileColumn[];
  /** The top-level fields. */
  readonly fields: readonly FileField[];
  readonly rowGroups: readonly FileRowGroup[];
  readonly hasFieldIds: boolean;
  readonly createdBy: string | undefined;
}

const TAIL_BYTES = 64 * 1024;
const MAX_FOOTER_BYTES = 256 * 1024 * 1024;

/** Reads the footer of a Parquet file. Throws FILE_NOT_FOUND, DATA_FILE_INVALID, UNSUPPORTED (encrypted files). */
export async function readFileMetadata(io: FileIO, path: string): Promise<FileMetadata> {
  const stat = await io.stat(path);
  if (stat === undefined)
    throw new SluiceError('FILE_NOT_FOUND', `data file ${path} does not exist`, { context: { path } });
  const size = stat.sizeBytes;
  if (size < 12) throw invalidFile(path, `${size} bytes; a Parquet file has 12 at least`);
  let tail = await io.read(path, { start: Math.max(0, size - TAIL_BYTES), end: size });
  const length = footerLength(tail, size, path);
  if (length + 8 > tail.length) tail = await io.read(path, { start: size - length - 8, end: size });
  const footer = tail.subarray(tail.length - length - 8, tail.length - 8);
  return guarded(path, 'footer', () => parseMetadata(new ThriftReader(footer).struct(), size));
}

function footerLength(tail: Uint8Array, size: number, path: string): number {
  const end = tail.length;
  const magic = Buffer.from(tail.subarray(end - 4, end)).toString('latin1');
  if (magic === 'PARE') {
    throw new SluiceError(
      'UNSUPPORTED',
      `data file ${path} is encrypted; Sluice does not read encrypted files`,
      { context: { path } },
    );
  }
  if (!MAGIC.every((byte, i) => tail[end - 4 + i] === byte)) {
    throw invalidFile(
      path,
      `it ends with ${JSON.stringify(magic)}, a Parquet file with "PAR1": it is torn or no Parquet file`,
    );
  }
  const length = new DataView(tail.buffer, tail.byteOffset, end).getUint32(end - 8, true);
  if (length > size - 12 || length > MAX_FOOTER_BYTES)
    throw invalidFile(path, `a footer of ${length} bytes in a file of ${size}`);
  return length;
}

/** DATA_FILE_INVALID for a file. */
export function invalidFile(path: string, what: string, cause?: unknown): SluiceError {
  return new SluiceError('DATA_FILE_INVALID', `data file ${path}: ${what}`, { context: { path }, cause });
}

/** Runs a parser over the bytes of a file; what it throws becomes DATA_FILE_INVALID, a SluiceError stays as it is. */
export function guarded<T>(path: string, place: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    throw invalidFile(path, `${place}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

function parseMetadata(struct: ThriftStruct, sizeBytes: number): FileMetadata {
  const elements = structs(struct[2], 'schema');
  const { columns, fields } = readSchema(elements);
  const rowGroups = structs(struct[4], 'row groups').map((group) => parseRowGroup(group, columns, sizeBytes));
  const rowCount = count(struct[3], 'rows');
  const sum = rowGroups.reduce((rows, group) => rows + group.rowCount, 0);
  if (sum !== rowCount) throw new RangeError(`${rowCount} rows, its row groups have ${sum}`);
  return {
    sizeBytes,
    rowCount,
    columns,
    fields,
    rowGroups,
    hasFieldIds: elements.some((element) => element[9] !== undefined),
    createdBy: struct[6] instanceof Uint8Array ? text(struct[6]) : undefined,
  };
}

function parseRowGroup(group: ThriftStruct, columns: readonly FileColumn[], sizeBytes: number): FileRowGroup {
  const chunks = structs(group[1], 'column chunks');
  if (chunks.length !== columns.length)
    throw new RangeError(`${chunks.length} column chunks for ${columns.length} columns`);
  return {
    rowCount: count(group[3], 'rows of a row group'),
    chunks: chunks.map((chunk) => parseChunk(chunk, sizeBytes)),
  };
}

function parseChunk(chunk: ThriftStruct, sizeBytes: number): FileChunk {
  if (chunk[1] !== undefined) throw new RangeError('a column chunk in another file');
  const meta = chunk[3];
  if (!isStruct(meta)) throw new RangeError('a column chunk without metadata');
  const dataPageOffset = count(meta[9], 'position of the data pages');
  const dictionaryOffset =
    meta[11] === undefined ? dataPageOffset : count(meta[11], 'position of the dictionary');
  // some writers leave the dictionary's position zero where there is none
  const start = dictionaryOffset > 0 ? Math.min(dictionaryOffset, dataPageOffset) : dataPageOffset;
  const end = start + count(meta[7], 'size of a column chunk');
  if (start < 4 || end > sizeBytes)
    throw new RangeError(`a column chunk at [${start}, ${end}) in a file of ${sizeBytes} bytes`);
  return {
    codec: count(meta[4], 'codec'),
    encodings: Array.isArray(meta[2]) ? meta[2].map((e) => count(e, 'encoding')) : [],
    valueCount: count(meta[5], 'values'),
    uncompressedBytes: meta[6] === undefined ? 0 : count(meta[6], 'uncompressed size of a column chunk'),
    start,
    end,
  };
}
