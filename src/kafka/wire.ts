import { SluiceError } from '../errors.ts';

/**
 * Readers and writers of Kafka's wire primitives, after the protocol guide and the message definitions of Apache Kafka
 * (`clients/src/main/resources/common/message`). A message is written once for all of its versions: `flexible` switches
 * strings, arrays and byte strings to their compact forms and turns tagged fields on (KIP-482).
 */

const ZERO_UUID = new Uint8Array(16);

/** Writes one request into a growing buffer. Reused: `reset` before each message. */
export class WireWriter {
  flexible = false;
  length = 0;
  private buffer: Buffer;

  constructor(capacity = 1024) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
  }

  reset(flexible: boolean): this {
    this.length = 0;
    this.flexible = flexible;
    return this;
  }

  /** The bytes written so far; a view that the next write may move or overwrite. */
  view(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** A copy of the bytes written so far. */
  copy(): Buffer {
    return Buffer.from(this.view());
  }

  private room(bytes: number): number {
    const at = this.length;
    this.length = at + bytes;
    if (this.length > this.buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.length, this.buffer.length * 2));
      this.buffer.copy(grown, 0, 0, at);
      this.buffer = grown;
    }
    return at;
  }

  int8(value: number): this {
    const at = this.room(1);
    this.buffer.writeInt8(value, at);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  int16(value: number): this {
    const at = this.room(2);
    this.buffer.writeInt16BE(value, at);
    return this;
  }

  int32(value: number): this {
    const at = this.room(4);
    this.buffer.writeInt32BE(value, at);
    return this;
  }

  int64(value: bigint): this {
    const at = this.room(8);
    this.buffer.writeBigInt64BE(value, at);
    return this;
  }

  /** Overwrites four bytes written before, as a length that is known only afterwards. */
  patchInt32(at: number, value: number): this {
    this.buffer.writeInt32BE(value, at);
    return this;
  }

  unsignedVarint(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      const at = this.room(1);
      this.buffer[at] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    const at = this.room(1);
    this.buffer[at] = rest;
    return this;
  }

  raw(bytes: Uint8Array): this {
    const at = this.room(bytes.length);
    this.buffer.set(bytes, at);
    return this;
  }

  /** A string in the form of this version; null only where the message allows it. */
  string(value: string | null): this {
    if (this.flexible) return this.compactString(value);
    return this.plainString(value);
  }

  /** The header's client id is never compact, whatever the version (RequestHeader.json). */
  plainString(value: string | null): this {
    if (value === null) return this.int16(-1);
    const size = Buffer.byteLength(value);
    if (size > 32767)
      throw new SluiceError('INTERNAL', `a string of ${size} bytes does not fit a Kafka request`);
    this.int16(size);
    const at = this.room(size);
    this.buffer.write(value, at);
    return this;
  }

  private compactString(value: string | null): this {
    if (value === null) return this.unsignedVarint(0);
    const size = Buffer.byteLength(value);
    this.unsignedVarint(size + 1);
    const at = this.room(size);
    this.buffer.write(value, at);
    return this;
  }

  /** The count of an array; its items follow. Null is another thing than empty. */
  arrayLength(count: number | null): this {
    if (this.flexible) return this.unsignedVarint(count === null ? 0 : count + 1);
    return this.int32(count ?? -1);
  }

  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.arrayLength(items === null ? null : items.length);
    if (items !== null) for (const item of items) write(item);
    return this;
  }

  /** The length prefix of a byte string (type `records` or `bytes`) that the caller sends behind it. */
  bytesLength(size: number): this {
    return this.flexible ? this.unsignedVarint(size + 1) : this.int32(size);
  }

  uuid(base64url: string | null): this {
    if (base64url === null) return this.raw(ZERO_UUID);
    const bytes = Buffer.from(base64url, 'base64url');
    if (bytes.length !== 16)
      throw new SluiceError('INTERNAL', `"${base64url}" is not a topic id of 16 bytes`);
    return this.raw(bytes);
  }

  /** The empty set of tagged fields that ends every flexible structure. */
  tags(): this {
    return this.flexible ? this.unsignedVarint(0) : this;
  }
}

/**
 * Reads one response. Every length and count is checked against the bytes that are there, so that hostile bytes give a
 * PROTOCOL_ERROR, never a huge allocation or a read past the end.
 */
export class WireReader {
  flexible = false;
  private readonly buffer: Buffer;
  private at: number;
  private readonly end: number;
  /** What is being read, for messages: `Metadata v12 of broker 10.0.0.1:9092`. */
  private readonly what: string;

  constructor(bytes: Uint8Array, start: number, end: number, what: string) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = start;
    this.end = end;
    this.what = what;
  }

  get position(): number {
    return this.at;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  fail(reason: string): never {
    throw new SluiceError('PROTOCOL_ERROR', `${this.what}: ${reason} at byte ${this.at} of ${this.end}`);
  }

  private take(bytes: number): number {
    const at = this.at;
    if (bytes > this.end - at) this.fail(`${bytes} bytes expected, ${this.end - at} left`);
    this.at = at + bytes;
    return at;
  }

  int8(): number {
    return this.buffer.readInt8(this.take(1));
  }

  boolean(): boolean {
    return this.int8() !== 0;
  }

  int16(): number {
    return this.buffer.readInt16BE(this.take(2));
  }

  int32(): number {
    return this.buffer.readInt32BE(this.take(4));
  }

  int64(): bigint {
    return this.buffer.readBigInt64BE(this.take(8));
  }

  unsignedVarint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 5; i++) {
      const byte = this.buffer[this.take(1)];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    return this.fail('a varint of more than five bytes');
  }

  nullableString(): string | null {
    const size = this.flexible ? this.unsignedVarint() - 1 : this.int16();
    if (size === -1) return null;
    if (size < 0) this.fail(`a string of ${size} bytes`);
    const at = this.take(size);
    return this.buffer.toString('utf8', at, at + size);
  }

  string(): string {
    return this.nullableString() ?? this.fail('null where a string is required');
  }

  /** The count of an array; -1 for null. An item takes one byte at least, so more items than bytes is a lie. */
  arrayLength(): number {
    const count = this.flexible ? this.unsignedVarint() - 1 : this.int32();
    if (count < -1 || count > this.remaining)
      this.fail(`an array of ${count} items in ${this.remaining} bytes`);
    return count;
  }

  /** The items of an array; a null array is an empty one. */
  array<T>(read: () => T): T[] {
    const count = this.arrayLength();
    const items: T[] = [];
    for (let i = 0; i < count; i++) items.push(read());
    return items;
  }

  /** Steps over a byte string; where it is null, `start` and `end` are the same. */
  bytesRange(): { start: number; end: number } {
    const size = this.flexible ? this.unsignedVarint() - 1 : this.int32();
    if (size < -1) this.fail(`a byte string of ${size} bytes`);
    const start = this.take(Math.max(size, 0));
    return { start, end: this.at };
  }

  /** A copy of a byte string; empty where it is null. */
  bytes(): Buffer {
    const { start, end } = this.bytesRange();
    return Buffer.from(this.buffer.subarray(start, end));
  }

  /** A topic id as Kafka prints it (base64url, no padding); null for the zero id. */
  uuid(): string | null {
    const at = this.take(16);
    for (let i = at; i < at + 16; i++) {
      if (this.buffer[i] !== 0) return this.buffer.toString('base64url', at, at + 16);
    }
    return null;
  }

  skip(bytes: number): void {
    this.take(bytes);
  }

  /** Steps over tagged fields; `visit` may read the ones it knows (it need not read to the end of the field). */
  tags(visit?: (tag: number) => void): void {
    if (!this.flexible) return;
    const count = this.unsignedVarint();
    for (let i = 0; i < count; i++) {
      const tag = this.unsignedVarint();
      const size = this.unsignedVarint();
      if (size > this.remaining) this.fail(`tagged field ${tag} of ${size} bytes, ${this.remaining} left`);
      const next = this.at + size;
      visit?.(tag);
      if (this.at > next) this.fail(`tagged field ${tag} is shorter than its content`);
      this.at = next;
    }
  }
}
