import { SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { createSink } from './column-sink.ts';
import {
  type FileMetadata,
  type FileRowGroup,
  guarded,
  invalidFile,
  readFileMetadata,
} from './file-metadata.ts';
import type { FileField } from './file-schema.ts';
import { ForeignColumnReader } from './foreign-reader.ts';
import { NestedSink, type ReadVector } from './nested-reader.ts';
import { isOwnEncoding } from './page-cursor.ts';
import { PageReader } from './page-reader.ts';

export type { StringsVector } from './column-sink.ts';
export { type FileMetadata, readFileMetadata } from './file-metadata.ts';
export type { ReadList, ReadMap, ReadStruct, ReadVector } from './nested-reader.ts';

/** Rows of a chunk that is handed out. */
export const CHUNK_ROWS = 65_536;
/** The same where a column is nested: its rows may hold many values each. */
export const NESTED_CHUNK_ROWS = 4096;

export interface ReadOptions {
  /** Chunks have fewer rows where those would take more bytes than this, by the average of their row group. */
  chunkBytes?: number;
}

/** Rows [firstRow, firstRow + rowCount) of the file. */
export interface RowChunk {
  readonly firstRow: number;
  readonly rowCount: number;
  /** In the order asked for, each `rowCount` long. Good until the next chunk: the vectors are reused. */
  readonly vectors: readonly ReadVector[];
}

/** One of the columns that are read. */
interface SelectedColumn {
  readonly vector: ReadVector;
  /** Goes to a row group; afterwards `read` fills the vector with the next rows. */
  open(group: number): Promise<void>;
  read(rows: number): void;
}

/**
 * Reads top-level columns, by field id or by name, in chunks of up to 65,536 rows (4,096 where one of them is nested), in
 * the order of the file. Returns the number of rows. Longs, times and timestamps come as Int64Column, int and date as
 * Int32Column, strings as texts, binary as BytesColumn, uuid, fixed and wide decimals as FixedColumn; decimals are
 * unscaled; structs, lists and maps as vectors of these.
 *
 * Throws FILE_NOT_FOUND; DATA_FILE_INVALID for a damaged file or a column that it does not have (a file without field ids
 * is never taken to hold nulls, case C25); UNSUPPORTED for columns inside others, for nested columns in a form or an
 * encoding that Sluice does not write, and for encryption.
 */
export async function readColumns(
  io: FileIO,
  path: string,
  columns: ReadonlyArray<number | string>,
  onChunk: (chunk: RowChunk) => void | Promise<void>,
  options: ReadOptions = {},
): Promise<number> {
  const metadata = await readFileMetadata(io, path);
  const foreign = new ForeignColumnReader(io, path, metadata);
  const file: OpenFile = { io, path, metadata, foreign };
  const fields = columns.map((wanted) => findField(metadata, path, wanted));
  const isFlat = fields.every((field) => field.kind === 'leaf');
  const mostRows = isFlat ? CHUNK_ROWS : NESTED_CHUNK_ROWS;
  const selected = fields.map((field) =>
    field.kind === 'leaf' ? flatColumn(file, field, mostRows) : nestedColumn(file, field),
  );
  const vectors = selected.map((column) => column.vector);
  let firstRow = 0;
  for (let group = 0; group < metadata.rowGroups.length; group++) {
    for (const column of selected) await column.open(group);
    const chunkRows = rowsAtOnce(metadata.rowGroups[group], fields, mostRows, options);
    for (let left = metadata.rowGroups[group].rowCount; left > 0; ) {
      const rowCount = Math.min(left, chunkRows);
      for (let i = 0; i < selected.length; i++)
        guarded(path, `column ${columns[i]}`, () => selected[i].read(rowCount));
      await onChunk({ firstRow, rowCount, vectors });
      firstRow += rowCount;
      left -= rowCount;
    }
  }
  return firstRow;
}

function rowsAtOnce(
  { chunks, rowCount }: FileRowGroup,
  fields: readonly FileField[],
  mostRows: number,
  { chunkBytes = Number.POSITIVE_INFINITY }: ReadOptions,
): number {
  let bytes = 0;
  for (const { firstColumn, columnCount } of fields)
    for (let i = 0; i < columnCount; i++) bytes += chunks[firstColumn + i].uncompressedBytes;
  return Math.max(1, Math.min(mostRows, Math.floor((chunkBytes / Math.max(1, bytes)) * rowCount)));
}

interface OpenFile {
  readonly io: FileIO;
  readonly path: string;
  readonly metadata: FileMetadata;
  readonly foreign: ForeignColumnReader;
}

function flatColumn(file: OpenFile, field: FileField, chunkRows: number): SelectedColumn {
  const { io, path, metadata } = file;
  const column = metadata.columns[field.firstColumn];
  const sink = guarded(path, 'schema', () => createSink(column, chunkRows));
  let source: { read(rows: number): void };
  return {
    vector: sink.vector,
    open: async (group) => {
      const { chunks, rowCount } = metadata.rowGroups[group];
      const chunk = chunks[field.firstColumn];
      if (chunk.valueCount !== rowCount) {
        const found = `${chunk.valueCount} values in a row group of ${rowCount}`;
        throw invalidFile(path, `column ${field.name} has ${found}`);
      }
      if (!isOwnEncoding(chunk)) {
        source = await file.foreign.open(group, column, sink);
        return;
      }
      const bytes = await io.read(path, { start: chunk.start, end: chunk.end });
      source = guarded(path, `column ${field.name}`, () => new PageReader(column, chunk, bytes, sink));
    },
    read: (rows) => {
      sink.clear();
      source.read(rows);
    },
  };
}

function nestedColumn(file: OpenFile, field: FileField): SelectedColumn {
  const { io, path, metadata } = file;
  const sink = nestedSink(file, field);
  return {
    vector: sink.vector,
    open: async (group) => {
      const { firstColumn, columnCount } = field;
      const chunks = metadata.rowGroups[group].chunks.slice(firstColumn, firstColumn + columnCount);
      if (!chunks.every(isOwnEncoding))
        throw unsupported(file, field.name, 'is nested, in an encoding that is not read here');
      const bytes: Uint8Array[] = [];
      for (const chunk of chunks) bytes.push(await io.read(path, { start: chunk.start, end: chunk.end }));
      guarded(path, `column ${field.name}`, () => sink.open(chunks, bytes));
    },
    read: (rows) => sink.read(rows),
  };
}

function nestedSink(file: OpenFile, field: FileField): NestedSink {
  try {
    return new NestedSink(field, file.metadata.columns);
  } catch (cause) {
    if (cause instanceof RangeError) throw unsupported(file, field.name, `is nested: ${cause.message}`);
    throw cause;
  }
}

function findField(metadata: FileMetadata, path: string, wanted: number | string): FileField {
  const field = metadata.fields.find((f) => (typeof wanted === 'number' ? f.fieldId : f.name) === wanted);
  if (field !== undefined) {
    const column = metadata.columns[field.firstColumn];
    if (field.kind === 'leaf' && column.maxRepetitionLevel > 0)
      throw unsupported({ path }, field.name, 'is repeated without being a list');
    return field;
  }
  const inside = metadata.columns.find((column) => column.fieldId === wanted);
  if (inside !== undefined)
    throw unsupported({ path }, inside.path.join('.'), 'is inside another; ask for the whole');
  const why =
    typeof wanted === 'number' && !metadata.hasFieldIds
      ? 'the file bears no field ids; a name mapping is needed to read it'
      : `it has ${metadata.fields
          .map((f) => `${f.name} (${f.fieldId ?? 'no id'})`)
          .join(', ')
          .slice(0, 500)}`;
  const what = typeof wanted === 'number' ? `with field id ${wanted}` : wanted;
  throw new SluiceError('DATA_FILE_INVALID', `data file ${path} has no column ${what}: ${why}`, {
    context: { path, column: wanted },
  });
}

function unsupported({ path }: { path: string }, column: string, what: string): SluiceError {
  return new SluiceError('UNSUPPORTED', `data file ${path}: column ${column} ${what}`, {
    context: { path, column },
  });
}
