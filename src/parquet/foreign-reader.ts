import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { singleValueBytes } from './bounds.ts';
import type { ColumnSink } from './column-sink.ts';
import { type FileColumn, type FileMetadata, guarded, invalidFile } from './file-metadata.ts';
import { COMPRESSION, PHYSICAL_TYPE } from './format.ts';
import { decompressPage } from './page-codec.ts';

/**
 * Columns in encodings that Sluice does not write (DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT, ...), by hyparquet. A row
 * group is decoded whole.
 */
export class ForeignColumnReader {
  private readonly path: string;
  private readonly metadata: FileMetadata;
  private readonly file: AsyncBuffer;
  private parsed: FileMetaData | undefined;

  constructor(io: FileIO, path: string, metadata: FileMetadata) {
    this.path = path;
    this.metadata = metadata;
    this.file = {
      byteLength: metadata.sizeBytes,
      slice: async (start: number, end = metadata.sizeBytes) => {
        const bytes = await io.read(path, { start, end });
        return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
      },
    };
  }

  /** Decodes the column's chunk in one row group; the source hands its rows to the sink. */
  async open(group: number, column: FileColumn, sink: ColumnSink): Promise<{ read(rows: number): void }> {
    if (column.isDecimal) {
      throw new SluiceError(
        'UNSUPPORTED',
        `data file ${this.path}: decimals of column ${column.path.join('.')} are in an encoding that is not read here`,
        {
          context: { path: this.path, column: column.path.join('.') },
        },
      );
    }
    const values = await this.decode(group, column);
    const { rowCount } = this.metadata.rowGroups[group];
    if (values.length !== rowCount)
      throw invalidFile(
        this.path,
        `column ${column.path.join('.')} has ${values.length} rows of ${rowCount}`,
      );
    let at = 0;
    return {
      read: (rows) => {
        for (const end = at + rows; at < end; at++) appendValue(sink, column, values[at]);
      },
    };
  }

  private async decode(group: number, column: FileColumn): Promise<unknown[]> {
    const { rowGroups } = this.metadata;
    const rowStart = rowGroups.slice(0, group).reduce((sum, g) => sum + g.rowCount, 0);
    const rowEnd = rowStart + rowGroups[group].rowCount;
    const values: unknown[] = [];
    try {
      this.parsed ??= await parquetMetadataAsync(this.file, { geoparquet: false });
      await parquetRead({
        file: this.file,
        metadata: this.parsed,
        columns: [column.path[0]],
        rowStart,
        rowEnd,
        utf8: false,
        geoparquet: false,
        compressors: COMPRESSORS,
        parsers: RAW_PARSERS,
        onChunk: ({ columnData }) => {
          for (const value of columnData) values.push(value);
        },
      });
    } catch (cause) {
      guarded(this.path, `column ${column.path.join('.')}`, () => {
        throw cause;
      });
    }
    return values;
  }
}

const COMPRESSORS = {
  ZSTD: (bytes: Uint8Array, size: number) => decompressPage(COMPRESSION.zstd, bytes, size),
  SNAPPY: (bytes: Uint8Array, size: number) => decompressPage(COMPRESSION.snappy, bytes, size),
  GZIP: (bytes: Uint8Array, size: number) => decompressPage(COMPRESSION.gzip, bytes, size),
  LZ4_RAW: (bytes: Uint8Array, size: number) => decompressPage(COMPRESSION.lz4, bytes, size),
};

/** Values as they are stored, not as JavaScript dates. */
const RAW_PARSERS = {
  timestampFromMilliseconds: (value: bigint) => value,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  stringFromBytes: (value: Uint8Array) => value,
  jsonFromBytes: (value: Uint8Array) => value,
  uuidFromBytes: (value: Uint8Array) => value,
};

function appendValue(sink: ColumnSink, column: FileColumn, value: unknown): void {
  if (value === null || value === undefined) sink.appendNulls(1);
  else sink.appendPlain(plainBytes(column, value), 0, 1);
}

function plainBytes(column: FileColumn, value: unknown): Uint8Array {
  switch (column.physicalType) {
    case PHYSICAL_TYPE.BOOLEAN:
      return Uint8Array.of(value === true ? 1 : 0);
    case PHYSICAL_TYPE.INT32:
      return singleValueBytes('int', value as number);
    case PHYSICAL_TYPE.INT64:
      return singleValueBytes('long', value as bigint);
    case PHYSICAL_TYPE.FLOAT:
      return singleValueBytes('float', value as number);
    case PHYSICAL_TYPE.DOUBLE:
      return singleValueBytes('double', value as number);
    default: {
      const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : (value as Uint8Array);
      if (!(bytes instanceof Uint8Array))
        throw new RangeError(`a value of type ${typeof value} in a column of bytes`);
      if (column.physicalType === PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY) return bytes;
      const plain = Buffer.alloc(bytes.length + 4);
      plain.writeUInt32LE(bytes.length, 0);
      plain.set(bytes, 4);
      return plain;
    }
  }
}
