/** Writing Avro object container files (Avro specification 1.11, "Object Container Files" and "Binary Encoding"). */
import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { SluiceError } from '../errors.ts';
import { AVRO_MAGIC, type AvroSchema } from './avro-schema.ts';

/** Writes Avro's binary encoding into a growing buffer. */
export class AvroWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + count));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  boolean(value: boolean): void {
    this.#reserve(1);
    this.#bytes[this.length++] = value ? 1 : 0;
  }

  int(value: number): void {
    this.#reserve(10);
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    while (rest > 0x7f) {
      this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.length++] = rest;
  }

  long(value: bigint): void {
    if (value >= -0x4000_0000n && value < 0x4000_0000n) {
      this.int(Number(value));
      return;
    }
    if (value !== BigInt.asIntN(64, value))
      throw new SluiceError('INTERNAL', `${value} does not fit into a long`);
    this.#reserve(10);
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
    while (rest > 0x7fn) {
      this.#bytes[this.length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.length++] = Number(rest);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.length, value, true);
    this.length += 4;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  bytes(bytes: Uint8Array): void {
    this.int(bytes.length);
    this.raw(bytes);
  }

  string(text: string): void {
    this.bytes(Buffer.from(text, 'utf8'));
  }

  /** A union of null and one type: 0, or 1 and the value. */
  optional<T>(value: T | null | undefined, write: (value: T) => void): void {
    const absent = value === null || value === undefined;
    this.int(absent ? 0 : 1);
    if (!absent) write(value);
  }

  /** What was written since the start, or since `clear`; a view. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }
}

/**
 * A container file, deflated. The header holds the exact text of the schema, so that field ids and logical types are
 * kept. The sync marker is made of the file's location: no randomness, and no other file has it.
 */
export class AvroFileWriter {
  readonly #out = new AvroWriter();
  readonly #block = new AvroWriter();
  readonly #sync: Uint8Array;
  #count = 0;
  /** Bytes that `take` gave away. */
  #taken = 0;

  constructor(location: string, schema: AvroSchema, metadata: Record<string, string>) {
    this.#sync = createHash('md5').update(location).digest();
    const entries = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'deflate', ...metadata };
    this.#out.raw(Uint8Array.from(AVRO_MAGIC));
    this.#out.int(Object.keys(entries).length);
    for (const [key, value] of Object.entries(entries)) {
      this.#out.string(key);
      this.#out.string(value);
    }
    this.#out.int(0);
    this.#out.raw(this.#sync);
  }

  /** Bytes so far, those of the open block uncompressed: an upper guess of the file's size. */
  get sizeGuess(): number {
    return this.#taken + this.#out.length + this.#block.length;
  }

  /** Bytes of whole blocks that wait to be taken. */
  get waiting(): number {
    return this.#out.length;
  }

  /** Takes the bytes that wait, so that a large file need not be held whole. The view holds until the next record. */
  take(): Uint8Array {
    const bytes = this.#out.view();
    this.#taken += bytes.length;
    this.#out.clear();
    return bytes;
  }

  /** Takes one record, which `write` writes field by field in the order of the schema. */
  record(write: (writer: AvroWriter) => void): void {
    write(this.#block);
    this.#count++;
    if (this.#block.length >= 64 * 1024) this.#flush();
  }

  #flush(): void {
    if (this.#count === 0) return;
    this.#out.int(this.#count);
    this.#out.bytes(deflateRawSync(this.#block.view()));
    this.#out.raw(this.#sync);
    this.#block.clear();
    this.#count = 0;
  }

  /** The rest of the file, all of it where nothing was taken, and the size of the whole. */
  finish(): { rest: Uint8Array; size: number } {
    this.#flush();
    const rest = this.take();
    return { rest, size: this.#taken };
  }
}
