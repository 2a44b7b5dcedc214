import { SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type ColumnSink, createSink, type ReadVector } from './column-sink.ts';
import {
  type FileChunk,
  type FileColumn,
  type FileMetadata,
  guarded,
  invalidFile,
  readFileMetadata,
} from './file-metadata.ts';
import { ForeignColumnReader } from './foreign-reader.ts';
import { isOwnEncoding, PageReader } from './page-reader.ts';

export type { ReadVector, StringsVector } from './column-sink.ts';
export { type FileMetadata, readFileMetadata } from './file-metadata.ts';

/** Rows of a chunk that is handed out. */
export const CHUNK_ROWS = 65_536;

/** Rows [firstRow, firstRow + rowCount) of the file. */
export interface RowChunk {
  readonly firstRow: number;
  readonly rowCount: number;
  /** In the order asked for, each `rowCount` long. Good until the next chunk: the vectors are reused. */
  readonly vectors: readonly ReadVector[];
}

interface ChunkSource {
  read(rows: number): void;
}

/**
 * Reads columns of one value per row, by field id or by name, in chunks of up to 65,536 rows, in the order of the file.
 * Returns the number of rows. Longs, times and timestamps come as Int64Column, int and date as Int32Column, strings as
 * texts, binary as BytesColumn, uuid, fixed and wide decimals as FixedColumn; decimals are unscaled.
 *
 * Throws FILE_NOT_FOUND; DATA_FILE_INVALID for a damaged file or a column that it does not have (a file without field ids
 * is never taken to hold nulls, case C25); UNSUPPORTED for nested columns and for encryption.
 */
export async function readColumns(
  io: FileIO,
  path: string,
  columns: ReadonlyArray<number | string>,
  onChunk: (chunk: RowChunk) => void | Promise<void>,
): Promise<number> {
  const metadata = await readFileMetadata(io, path);
  const selected = columns.map((wanted) => findColumn(metadata, path, wanted));
  const sinks = guarded(path, 'schema', () =>
    selected.map((i) => createSink(metadata.columns[i], CHUNK_ROWS)),
  );
  const foreign = new ForeignColumnReader(io, path, metadata);
  let firstRow = 0;
  for (let group = 0; group < metadata.rowGroups.length; group++) {
    const sources: ChunkSource[] = [];
    for (let i = 0; i < selected.length; i++) {
      const column = metadata.columns[selected[i]];
      const { chunks, rowCount } = metadata.rowGroups[group];
      const chunk = chunks[selected[i]];
      if (chunk.valueCount !== rowCount) {
        throw invalidFile(
          path,
          `column ${columns[i]} has ${chunk.valueCount} values in a row group of ${rowCount}`,
        );
      }
      sources.push(
        await openChunk(io, path, column, chunk, sinks[i], () => foreign.open(group, column, sinks[i])),
      );
    }
    for (let left = metadata.rowGroups[group].rowCount; left > 0; ) {
      const rowCount = Math.min(left, CHUNK_ROWS);
      readRows(path, columns, sources, sinks, rowCount);
      await onChunk({ firstRow, rowCount, vectors: sinks.map((sink) => sink.vector) });
      firstRow += rowCount;
      left -= rowCount;
    }
  }
  return firstRow;
}

function readRows(
  path: string,
  columns: ReadonlyArray<number | string>,
  sources: ChunkSource[],
  sinks: ColumnSink[],
  rows: number,
): void {
  for (let i = 0; i < sources.length; i++) {
    guarded(path, `column ${columns[i]}`, () => {
      sinks[i].clear();
      sources[i].read(rows);
    });
  }
}

async function openChunk(
  io: FileIO,
  path: string,
  column: FileColumn,
  chunk: FileChunk,
  sink: ColumnSink,
  openForeign: () => Promise<ChunkSource>,
): Promise<ChunkSource> {
  if (!isOwnEncoding(chunk)) return openForeign();
  const bytes = await io.read(path, { start: chunk.start, end: chunk.end });
  return guarded(path, `column ${column.path.join('.')}`, () => new PageReader(column, chunk, bytes, sink));
}

function findColumn(metadata: FileMetadata, path: string, wanted: number | string): number {
  const index = metadata.columns.findIndex((column) =>
    typeof wanted === 'number' ? column.fieldId === wanted : column.path[0] === wanted,
  );
  if (index < 0) {
    const why =
      typeof wanted === 'number' && !metadata.hasFieldIds
        ? 'the file bears no field ids; a name mapping is needed to read it'
        : `it has ${metadata.columns
            .map((c) => `${c.path.join('.')} (${c.fieldId ?? 'no id'})`)
            .join(', ')
            .slice(0, 500)}`;
    throw new SluiceError(
      'DATA_FILE_INVALID',
      `data file ${path} has no column ${typeof wanted === 'number' ? `with field id ${wanted}` : wanted}: ${why}`,
      {
        context: { path, column: wanted },
      },
    );
  }
  const column = metadata.columns[index];
  if (column.path.length > 1 || column.maxRepetitionLevel > 0) {
    throw new SluiceError(
      'UNSUPPORTED',
      `data file ${path}: column ${column.path.join('.')} is nested; only columns of one value per row are read here`,
      {
        context: { path, column: wanted },
      },
    );
  }
  return index;
}
