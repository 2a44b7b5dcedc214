/** Reading Avro object container files, as far as manifests and manifest lists need them (Avro specification 1.11, "Object Container Files"). */
import { crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { uncompressSync } from 'snappy';
import { messageOf, SluiceError } from '../errors.ts';
import { type AvroRecord, compileDecoder, type Decode, readBlocks } from './avro-decode.ts';
import { AvroError, AvroReader, AvroShortError } from './avro-reader.ts';
import { AVRO_MAGIC, type AvroSchema } from './avro-schema.ts';

const MAX_HEADER_BYTES = 64 * 1024 * 1024;
const MAX_BLOCK_BYTES = 512 * 1024 * 1024;
const SYNC_BYTES = 16;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

interface AvroHeader {
  metadata: Map<string, Uint8Array>;
  sync: Uint8Array;
  codec: string;
  decode: Decode;
}

/**
 * Decodes a container file that comes in pieces: `push` one, take the `records` of the blocks that are whole by then,
 * and `end` after the last. No more is held than a piece, the open block and one record. Errors of all three:
 * METADATA_INVALID, UNSUPPORTED for a codec.
 */
export class AvroFileDecoder {
  readonly #source: string;
  readonly #pending = new PendingBytes();
  #header: AvroHeader | undefined;

  /** `source` names the file in errors. */
  constructor(source: string) {
    this.#source = source;
  }

  /** The key-value metadata of the header; undefined before it has come. */
  get metadata(): ReadonlyMap<string, Uint8Array> | undefined {
    return this.#header?.metadata;
  }

  /** Takes a piece, which stays as it is from now on. */
  push(bytes: Uint8Array): void {
    this.#pending.push(bytes);
  }

  *records(): Generator<AvroRecord> {
    try {
      for (;;) {
        const block = this.#nextBlock(false);
        if (block === undefined) return;
        yield* block;
      }
    } catch (e) {
      throw this.#fault(e);
    }
  }

  /** The bytes are all there, and every record was taken. */
  end(): void {
    try {
      if (this.#header === undefined || this.#pending.length > 0) this.#nextBlock(true);
    } catch (e) {
      throw this.#fault(e);
    }
  }

  #fault(e: unknown): unknown {
    if (e instanceof SluiceError) return e;
    return new SluiceError('METADATA_INVALID', `${this.#source} is not a whole Avro file: ${messageOf(e)}`, {
      cause: e,
      context: { path: this.#source },
    });
  }

  /** The records of the next block; undefined where it is not whole yet, which is an error where nothing is `final`. */
  #nextBlock(final: boolean): Generator<AvroRecord> | undefined {
    try {
      this.#header ??= this.#readHeader();
      const header = this.#header;
      if (this.#pending.length === 0) return undefined;
      const reader = new AvroReader(this.#pending.view());
      const count = reader.long();
      const size = reader.long();
      if (size < 0n || size > BigInt(MAX_BLOCK_BYTES)) throw new AvroError(`a block of ${size} bytes`);
      const bytes = reader.raw(Number(size));
      const marker = reader.raw(SYNC_BYTES);
      this.#pending.drop(reader.position);
      if (marker.some((b, i) => b !== header.sync[i]))
        throw new AvroError('a block does not end in the sync marker');
      return recordsOf(count, bytes, header);
    } catch (e) {
      if (final || !(e instanceof AvroShortError)) throw e;
      return undefined;
    }
  }

  #readHeader(): AvroHeader {
    const reader = new AvroReader(this.#pending.view());
    try {
      const header = readHeader(reader);
      this.#pending.drop(reader.position);
      return header;
    } catch (e) {
      if (e instanceof AvroShortError && this.#pending.length > MAX_HEADER_BYTES)
        throw new AvroError(`a header of more than ${MAX_HEADER_BYTES} bytes`);
      throw e;
    }
  }
}

/** Bytes that have come and were not read yet. */
class PendingBytes {
  #buffer: Uint8Array = new Uint8Array(0);
  /** Is the buffer our own, and not a piece that was handed in? */
  #owned = false;
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  view(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  drop(count: number): void {
    this.#start += count;
  }

  push(bytes: Uint8Array): void {
    const left = this.length;
    if (left === 0) {
      this.#buffer = bytes;
      this.#owned = false;
      this.#start = 0;
      this.#end = bytes.length;
      return;
    }
    const needed = left + bytes.length;
    if (!this.#owned || this.#buffer.length < needed) {
      // Doubled, so that a block of many pieces is not copied once for each.
      const grown = new Uint8Array(Math.max(needed, 2 * left));
      grown.set(this.view());
      this.#buffer = grown;
      this.#owned = true;
    } else this.#buffer.copyWithin(0, this.#start, this.#end);
    this.#buffer.set(bytes, left);
    this.#start = 0;
    this.#end = needed;
  }
}

function readHeader(reader: AvroReader): AvroHeader {
  for (const expected of AVRO_MAGIC)
    if (reader.remaining > 0 && reader.byte() !== expected)
      throw new AvroError('it does not begin with "Obj" 1');
  if (reader.position < AVRO_MAGIC.length) throw new AvroShortError('it does not begin with "Obj" 1');
  const metadata = new Map<string, Uint8Array>();
  readBlocks(reader, () => {
    const key = reader.string();
    metadata.set(key, reader.bytes().slice());
  });
  const sync = reader.raw(SYNC_BYTES).slice();
  const schemaText = metadata.get('avro.schema');
  if (schemaText === undefined) throw new AvroError('its header has no avro.schema');
  const decode = compileDecoder(JSON.parse(decoder.decode(schemaText)) as AvroSchema);
  const codec = metadata.has('avro.codec') ? decoder.decode(metadata.get('avro.codec')) : 'null';
  return { metadata, sync, codec, decode };
}

/** The block is unpacked when its first record is asked for. A value that ends beyond it is a fault, not a piece to wait for. */
function* recordsOf(count: bigint, bytes: Uint8Array, header: AvroHeader): Generator<AvroRecord> {
  const block = new AvroReader(decompress(header.codec, bytes));
  if (count < 0n || count > BigInt(block.remaining))
    throw new AvroError(`a block of ${count} records in ${block.remaining} bytes`);
  for (let i = 0; i < Number(count); i++) yield header.decode(block) as AvroRecord;
  if (block.remaining > 0) throw new AvroError(`${block.remaining} bytes are left over in a block`);
}

export interface AvroFile {
  /** The key-value metadata of the header. */
  readonly metadata: ReadonlyMap<string, Uint8Array>;
  readonly records: AvroRecord[];
}

/** Reads a whole container file of records, for small ones. Throws as `AvroFileDecoder`. */
export function readAvroFile(bytes: Uint8Array, source: string): AvroFile {
  const file = new AvroFileDecoder(source);
  file.push(bytes);
  const records = [...file.records()];
  file.end();
  return { metadata: file.metadata!, records };
}

function decompress(codec: string, bytes: Uint8Array): Uint8Array {
  switch (codec) {
    case 'null':
      return bytes;
    case 'deflate':
      return inflateRawSync(bytes, { maxOutputLength: MAX_BLOCK_BYTES });
    case 'zstandard':
      return zstdDecompressSync(bytes, { maxOutputLength: MAX_BLOCK_BYTES });
    case 'snappy':
      return decompressSnappy(bytes);
    default:
      throw new SluiceError(
        'UNSUPPORTED',
        `a manifest is compressed by the Avro codec "${codec}"; known are null, deflate, snappy, zstandard`,
      );
  }
}

/** Avro's snappy blocks end in the big-endian CRC-32 of the uncompressed bytes. */
function decompressSnappy(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 5) throw new AvroError('a snappy block is too short');
  let size = 0;
  for (let i = 0, shift = 0; i < 5; i++, shift += 7) {
    size += (bytes[i] & 0x7f) * 2 ** shift;
    if (bytes[i] < 0x80) break;
  }
  if (size > MAX_BLOCK_BYTES) throw new AvroError(`a snappy block of ${size} bytes`);
  const plain = uncompressSync(Buffer.from(bytes.subarray(0, -4)), { asBuffer: true }) as Uint8Array;
  const expected = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0);
  if (crc32(plain) !== expected) throw new AvroError('a snappy block has a wrong checksum');
  return plain;
}
