import type { ParquetCodec } from '../core/parquet-codec.ts';
import { COMPRESSION, ENCODING, MAGIC, PAGE_TYPE, PHYSICAL_TYPE } from './format.ts';
import { type LeafColumn, type ParquetSchema, writeSchemaElements } from './leaf-column.ts';
import { ThriftWriter } from './thrift-writer.ts';

/** Readers parse `<application> version <version>`. */
export const CREATED_BY = 'Sluice version 0.1.0';

/** One written column chunk. Positions are bytes from the beginning of the file. */
export interface WrittenChunk {
  readonly leaf: LeafColumn;
  readonly valueCount: number;
  readonly nullCount: number;
  /** Undefined where minima and maxima are not kept. */
  readonly nanCount: number | undefined;
  readonly min: Uint8Array | undefined;
  readonly max: Uint8Array | undefined;
  readonly minExact: boolean;
  readonly maxExact: boolean;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  readonly dictionaryPageOffset: number | undefined;
  readonly dataPageOffset: number;
  readonly plainPages: number;
  readonly dictionaryPages: number;
  readonly bloomFilter: { readonly offset: number; readonly length: number } | undefined;
  /** Serialised, to be written near the footer. */
  readonly columnIndex: Uint8Array | undefined;
  readonly offsetIndex: Uint8Array;
}

/** One for all files of a thread: what it holds is copied at once. */
const scratch = new ThriftWriter(16 * 1024);

export interface WrittenRowGroup {
  readonly rowCount: number;
  readonly fileOffset: number;
  readonly chunks: readonly WrittenChunk[];
}

/**
 * The end of a file whose row groups end at `position`: column indexes, offset indexes, FileMetaData, its length and
 * the magic.
 */
export function encodeFooter(
  schema: ParquetSchema,
  rowGroups: readonly WrittenRowGroup[],
  codec: ParquetCodec,
  position: number,
): Uint8Array {
  const parts: Uint8Array[] = [];
  let at = position;
  const place = (bytes: Uint8Array): number => {
    parts.push(bytes);
    at += bytes.length;
    return at - bytes.length;
  };
  const chunks = rowGroups.flatMap((group) => group.chunks);
  const columnIndexAt = chunks.map((c) => (c.columnIndex === undefined ? undefined : place(c.columnIndex)));
  const offsetIndexAt = chunks.map((c) => place(c.offsetIndex));
  scratch.clear();
  writeFileMetaData(scratch, schema, rowGroups, codec, columnIndexAt, offsetIndexAt);
  const metadata = scratch.bytes();
  const trailer = new Uint8Array(8);
  new DataView(trailer.buffer).setUint32(0, metadata.length, true);
  trailer.set(MAGIC, 4);
  return Buffer.concat([...parts, metadata, trailer]);
}

function writeFileMetaData(
  thrift: ThriftWriter,
  schema: ParquetSchema,
  rowGroups: readonly WrittenRowGroup[],
  codec: ParquetCodec,
  columnIndexAt: ReadonlyArray<number | undefined>,
  offsetIndexAt: readonly number[],
): void {
  thrift.beginStruct();
  thrift.i32Field(1, 1);
  writeSchemaElements(thrift, schema);
  thrift.i64Field(
    3,
    rowGroups.reduce((sum, group) => sum + group.rowCount, 0),
  );
  thrift.listField(4, 'struct', rowGroups.length);
  let chunkNumber = 0;
  rowGroups.forEach((group, ordinal) => {
    thrift.beginStruct();
    thrift.listField(1, 'struct', group.chunks.length);
    for (const chunk of group.chunks) {
      writeColumnChunk(thrift, chunk, codec, columnIndexAt[chunkNumber], offsetIndexAt[chunkNumber]);
      chunkNumber++;
    }
    thrift.i64Field(
      2,
      group.chunks.reduce((sum, c) => sum + c.uncompressedBytes, 0),
    );
    thrift.i64Field(3, group.rowCount);
    thrift.i64Field(5, group.fileOffset);
    thrift.i64Field(
      6,
      group.chunks.reduce((sum, c) => sum + c.compressedBytes, 0),
    );
    if (ordinal <= 0x7fff) thrift.i16Field(7, ordinal);
    thrift.endStruct();
  });
  thrift.stringField(6, CREATED_BY);
  thrift.listField(7, 'struct', schema.leaves.length);
  for (let i = 0; i < schema.leaves.length; i++) {
    thrift.beginStruct();
    thrift.emptyField(1);
    thrift.endStruct();
  }
  thrift.endStruct();
}

function writeColumnChunk(
  thrift: ThriftWriter,
  chunk: WrittenChunk,
  codec: ParquetCodec,
  columnIndexAt: number | undefined,
  offsetIndexAt: number,
): void {
  thrift.beginStruct();
  thrift.i64Field(2, 0);
  thrift.structField(3);
  writeColumnMetaData(thrift, chunk, codec);
  thrift.endStruct();
  thrift.i64Field(4, offsetIndexAt);
  thrift.i32Field(5, chunk.offsetIndex.length);
  if (columnIndexAt !== undefined) {
    thrift.i64Field(6, columnIndexAt);
    thrift.i32Field(7, chunk.columnIndex!.length);
  }
  thrift.endStruct();
}

function writeColumnMetaData(thrift: ThriftWriter, chunk: WrittenChunk, codec: ParquetCodec): void {
  const { leaf } = chunk;
  thrift.i32Field(1, leaf.physicalType);
  const encodings = [
    ...new Set([
      ENCODING.RLE,
      ...(chunk.plainPages > 0 || chunk.dictionaryPages > 0 ? [ENCODING.PLAIN] : []),
    ]),
  ] as number[];
  if (chunk.dictionaryPages > 0) encodings.push(ENCODING.RLE_DICTIONARY);
  thrift.listField(2, 'i32', encodings.length);
  for (const encoding of encodings) thrift.i32(encoding);
  thrift.listField(3, 'binary', leaf.path.length);
  for (const name of leaf.path) thrift.string(name);
  thrift.i32Field(4, COMPRESSION[codec]);
  thrift.i64Field(5, chunk.valueCount);
  thrift.i64Field(6, chunk.uncompressedBytes);
  thrift.i64Field(7, chunk.compressedBytes);
  thrift.i64Field(9, chunk.dataPageOffset);
  if (chunk.dictionaryPageOffset !== undefined) thrift.i64Field(11, chunk.dictionaryPageOffset);
  writeStatistics(thrift, chunk);
  writeEncodingStats(thrift, chunk);
  if (chunk.bloomFilter !== undefined) {
    thrift.i64Field(14, chunk.bloomFilter.offset);
    thrift.i32Field(15, chunk.bloomFilter.length);
  }
}

function writeStatistics(thrift: ThriftWriter, chunk: WrittenChunk): void {
  thrift.structField(12);
  thrift.i64Field(3, chunk.nullCount);
  // readers take a minimum and a maximum together or not at all
  if (chunk.min !== undefined && chunk.max !== undefined) {
    thrift.binaryField(5, chunk.max);
    thrift.binaryField(6, chunk.min);
    thrift.boolField(7, chunk.maxExact);
    thrift.boolField(8, chunk.minExact);
  }
  const { physicalType } = chunk.leaf;
  const isFloat = physicalType === PHYSICAL_TYPE.FLOAT || physicalType === PHYSICAL_TYPE.DOUBLE;
  if (isFloat && chunk.nanCount !== undefined) thrift.i64Field(9, chunk.nanCount);
  thrift.endStruct();
}

/** Tells readers whether every data page uses the dictionary. */
function writeEncodingStats(thrift: ThriftWriter, chunk: WrittenChunk): void {
  const stats: Array<[number, number, number]> = [];
  if (chunk.dictionaryPages > 0) {
    stats.push(
      [PAGE_TYPE.DICTIONARY, ENCODING.PLAIN, 1],
      [PAGE_TYPE.DATA, ENCODING.RLE_DICTIONARY, chunk.dictionaryPages],
    );
  }
  if (chunk.plainPages > 0) stats.push([PAGE_TYPE.DATA, ENCODING.PLAIN, chunk.plainPages]);
  thrift.listField(13, 'struct', stats.length);
  for (const [pageType, encoding, count] of stats) {
    thrift.beginStruct();
    thrift.i32Field(1, pageType);
    thrift.i32Field(2, encoding);
    thrift.i32Field(3, count);
    thrift.endStruct();
  }
}
