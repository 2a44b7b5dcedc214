import { crc32 } from '@node-rs/crc32';
import type { ColumnSink } from './column-sink.ts';
import type { FileChunk } from './file-metadata.ts';
import type { FileColumn } from './file-schema.ts';
import { COMPRESSION, ENCODING, PAGE_TYPE, PHYSICAL_TYPE } from './format.ts';
import { decompressPage } from './page-codec.ts';
import { RunLengthDecoder } from './run-length-decoder.ts';
import { bitWidthOf } from './run-length-encoder.ts';
import { ThriftReader, type ThriftStruct, type ThriftValue } from './thrift-reader.ts';
import { count, isStruct } from './thrift-values.ts';

/** Pages larger than this are refused: no writer makes them, and a hostile header would only make us allocate. */
const MAX_PAGE_BYTES = 0x7fff_ffff;
/** An expansion no codec of text and numbers reaches in earnest; a page that claims more is a decompression bomb. */
const MAX_EXPANSION = 100_000;

const BIT_PACKED = 4;
const OWN_ENCODINGS: readonly number[] = [
  ENCODING.PLAIN,
  ENCODING.PLAIN_DICTIONARY,
  ENCODING.RLE,
  BIT_PACKED,
  ENCODING.RLE_DICTIONARY,
];
const OWN_CODECS: readonly number[] = Object.values(COMPRESSION);

/** Whether the chunk's pages are of the encodings and codecs that this reader decodes itself. */
export function isOwnEncoding(chunk: FileChunk): boolean {
  return (
    OWN_CODECS.includes(chunk.codec) && chunk.encodings.every((encoding) => OWN_ENCODINGS.includes(encoding))
  );
}

/**
 * The pages of a column chunk, from front to back: data pages of both versions, PLAIN and dictionary. Throws RangeError,
 * or what the codecs throw, where the bytes are not what they say they are.
 */
export class PageCursor {
  private readonly column: FileColumn;
  private readonly codec: number;
  private readonly sink: ColumnSink;
  private readonly bytes: Uint8Array;
  private at = 0;
  // the page at hand
  private page: Uint8Array = new Uint8Array(0);
  private valuesAt = 0;
  private indices: RunLengthDecoder | undefined;
  /** Entries of the page at hand; who takes them counts them down. */
  entriesLeft = 0;
  definitions: RunLengthDecoder | undefined;
  repetitions: RunLengthDecoder | undefined;

  /** `bytes` are the whole chunk. */
  constructor(column: FileColumn, chunk: FileChunk, bytes: Uint8Array, sink: ColumnSink) {
    this.column = column;
    this.codec = chunk.codec;
    this.bytes = bytes;
    this.sink = sink;
    sink.setDictionary(undefined, 0);
  }

  /** Whether there is no further page. */
  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  /** Appends the next `count` values of the page to the sink. */
  readValues(count: number): void {
    const { indices } = this;
    if (indices === undefined) {
      this.valuesAt = this.sink.appendPlain(this.page, this.valuesAt, count);
      return;
    }
    for (let left = count; left > 0; ) {
      const length = indices.takeRun(left);
      this.sink.appendEntry(indices.value, length);
      left -= length;
    }
  }

  /** Goes to the next page; one of no entries, or a dictionary, leaves `entriesLeft` at 0. */
  next(): void {
    if (this.at >= this.bytes.length)
      throw new RangeError('the pages end before the rows of their row group');
    const thrift = new ThriftReader(this.bytes, this.at);
    const header = thrift.struct();
    const size = count(header[2], 'page size');
    const compressedSize = count(header[3], 'compressed page size');
    const end = thrift.position + compressedSize;
    if (end > this.bytes.length) throw new RangeError('a page ends behind its column chunk');
    if (size > MAX_PAGE_BYTES || size > (compressedSize + 64) * MAX_EXPANSION) {
      throw new RangeError(`a page of ${compressedSize} bytes that says it holds ${size}`);
    }
    const body = this.bytes.subarray(thrift.position, end);
    this.at = end;
    if (header[4] !== undefined && header[4] !== (crc32(body) | 0))
      throw new RangeError('a page does not have its checksum');
    if (header[1] === PAGE_TYPE.DATA && isStruct(header[5])) this.openV1(header[5], body, size);
    else if (header[1] === PAGE_TYPE.DATA_V2 && isStruct(header[8])) this.openV2(header[8], body, size);
    else if (header[1] === PAGE_TYPE.DICTIONARY && isStruct(header[7])) {
      this.sink.setDictionary(decompressPage(this.codec, body, size), count(header[7][1], 'dictionary size'));
    } else if (header[1] !== PAGE_TYPE.INDEX) throw new RangeError(`a page of type ${String(header[1])}`);
  }

  private openV1(header: ThriftStruct, body: Uint8Array, size: number): void {
    const page = decompressPage(this.codec, body, size);
    const { maxDefinitionLevel, maxRepetitionLevel } = this.column;
    let at = 0;
    const levels = (max: number, encoding: ThriftValue | undefined): RunLengthDecoder | undefined => {
      if (max === 0) return undefined;
      if (encoding !== ENCODING.RLE) throw new RangeError(`levels of encoding ${String(encoding)}`);
      if (page.length < at + 4) throw new RangeError('a page without its levels');
      const length = new DataView(page.buffer, page.byteOffset + at, 4).getUint32(0, true);
      const from = at + 4;
      at = from + length;
      return new RunLengthDecoder(page, from, at, bitWidthOf(max));
    };
    this.repetitions = levels(maxRepetitionLevel, header[4]);
    this.definitions = levels(maxDefinitionLevel, header[3]);
    this.openValues(count(header[2], 'encoding'), page, at, count(header[1], 'number of values'));
  }

  private openV2(header: ThriftStruct, body: Uint8Array, size: number): void {
    const definitionBytes = count(header[5], 'length of definition levels');
    const levelBytes = definitionBytes + count(header[6], 'length of repetition levels');
    if (levelBytes > body.length || levelBytes > size) throw new RangeError('levels end behind their page');
    const levels = (max: number, from: number, until: number) =>
      max === 0 ? undefined : new RunLengthDecoder(body, from, until, bitWidthOf(max));
    const { maxDefinitionLevel, maxRepetitionLevel } = this.column;
    this.repetitions = levels(maxRepetitionLevel, 0, levelBytes - definitionBytes);
    this.definitions = levels(maxDefinitionLevel, levelBytes - definitionBytes, levelBytes);
    const values = body.subarray(levelBytes);
    const page = header[7] === false ? values : decompressPage(this.codec, values, size - levelBytes);
    this.openValues(count(header[4], 'encoding'), page, 0, count(header[1], 'number of values'));
  }

  private openValues(encoding: number, page: Uint8Array, at: number, entries: number): void {
    this.page = page;
    this.valuesAt = at;
    this.entriesLeft = entries;
    this.indices = undefined;
    if (encoding === ENCODING.RLE_DICTIONARY || encoding === ENCODING.PLAIN_DICTIONARY) {
      // a page of nulls only may have no values section at all
      if (at < page.length) this.indices = new RunLengthDecoder(page, at + 1, page.length, page[at]);
    } else if (encoding === ENCODING.RLE && this.column.physicalType === PHYSICAL_TYPE.BOOLEAN) {
      // behind a 4-byte length
      if (at + 4 <= page.length) this.indices = new RunLengthDecoder(page, at + 4, page.length, 1);
    } else if (encoding !== ENCODING.PLAIN) {
      throw new RangeError(`values of encoding ${encoding}`);
    }
  }
}
