import { SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { MAGIC, REPETITION } from './format.ts';
import { ThriftReader, type ThriftStruct, type ThriftValue } from './thrift-reader.ts';

/** A leaf of the schema of a file that anyone may have written. */
export interface FileColumn {
  readonly path: readonly string[];
  /** That of the leaf itself; undefined where the file bears none. */
  readonly fieldId: number | undefined;
  readonly physicalType: number;
  readonly width: number;
  readonly convertedType: number | undefined;
  readonly isString: boolean;
  readonly isDecimal: boolean;
  readonly maxDefinitionLevel: number;
  readonly maxRepetitionLevel: number;
}

/** One column chunk; positions are bytes of the file. */
export interface FileChunk {
  readonly codec: number;
  readonly encodings: readonly number[];
  readonly valueCount: number;
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
  readonly columns: readonly FileColumn[];
  readonly rowGroups: readonly FileRowGroup[];
  readonly hasFieldIds: boolean;
  readonly createdBy: string | undefined;
}

const TAIL_BYTES = 64 * 1024;
const MAX_FOOTER_BYTES = 256 * 1024 * 1024;
const MAX_SCHEMA_DEPTH = 100;

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
  const columns = schemaColumns(elements);
  const rowGroups = structs(struct[4], 'row groups').map((group) => parseRowGroup(group, columns, sizeBytes));
  const rowCount = count(struct[3], 'rows');
  const sum = rowGroups.reduce((rows, group) => rows + group.rowCount, 0);
  if (sum !== rowCount) throw new RangeError(`${rowCount} rows, its row groups have ${sum}`);
  return {
    sizeBytes,
    rowCount,
    columns,
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
    start,
    end,
  };
}

function schemaColumns(elements: readonly ThriftStruct[]): FileColumn[] {
  const columns: FileColumn[] = [];
  let next = 0;
  const visit = (parents: readonly string[], definition: number, repetition: number, depth: number): void => {
    const element = elements[next++];
    if (element === undefined || depth > MAX_SCHEMA_DEPTH) throw new RangeError('the schema is no tree');
    const isRoot = depth === 0;
    const path = isRoot ? [] : [...parents, element[4] instanceof Uint8Array ? text(element[4]) : ''];
    const kind = isRoot ? REPETITION.REQUIRED : count(element[3], 'repetition');
    const maxDefinition = definition + (kind === REPETITION.REQUIRED ? 0 : 1);
    const maxRepetition = repetition + (kind === REPETITION.REPEATED ? 1 : 0);
    if (element[1] === undefined) {
      const children = count(element[5] ?? 0, 'children');
      for (let i = 0; i < children; i++) visit(path, maxDefinition, maxRepetition, depth + 1);
    } else {
      columns.push(leafColumn(element, path, maxDefinition, maxRepetition));
    }
  };
  visit([], 0, 0, 0);
  if (next !== elements.length) throw new RangeError('the schema is no tree');
  return columns;
}

function leafColumn(
  element: ThriftStruct,
  path: string[],
  maxDefinitionLevel: number,
  maxRepetitionLevel: number,
): FileColumn {
  const logical = isStruct(element[10]) ? element[10] : {};
  const convertedType = typeof element[6] === 'number' ? element[6] : undefined;
  return {
    path,
    fieldId: typeof element[9] === 'number' ? element[9] : undefined,
    physicalType: count(element[1], 'type'),
    width: typeof element[2] === 'number' ? element[2] : 0,
    convertedType,
    isString:
      logical[1] !== undefined || logical[4] !== undefined || convertedType === 0 || convertedType === 4,
    isDecimal: logical[5] !== undefined || convertedType === 5,
    maxDefinitionLevel,
    maxRepetitionLevel,
  };
}

export function isStruct(value: ThriftValue | undefined): value is ThriftStruct {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function structs(value: ThriftValue | undefined, what: string): ThriftStruct[] {
  if (!Array.isArray(value) || !value.every(isStruct)) throw new RangeError(`no ${what}`);
  return value as ThriftStruct[];
}

/** A field that must be an integer of 0 or more. */
export function count(value: ThriftValue | undefined, what: string): number {
  if (typeof value !== 'number' || value < 0 || !Number.isInteger(value))
    throw new RangeError(`no valid ${what}: ${String(value)}`);
  return value;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
