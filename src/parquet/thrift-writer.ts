/**
 * Thrift's compact protocol, the part that Parquet's structures use: structs, lists, zigzag varints, booleans, binary.
 * Fields of a struct are written in ascending order of their ids (1 to 15 apart).
 */

const TRUE = 1;
const FALSE = 2;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

/** A structure of Parquet nests at most 7 deep (FileMetaData ... TimeUnit); more is a fault of the caller. */
const MAX_DEPTH = 16;

export type ThriftElement = 'i32' | 'i64' | 'binary' | 'struct' | 'bool';
const ELEMENT_TYPE: Record<ThriftElement, number> = {
  i32: I32,
  i64: I64,
  binary: BINARY,
  struct: STRUCT,
  bool: TRUE,
};

const encoder = new TextEncoder();

/** A buffer that one large structure has made larger is not kept for the small ones. */
const MAX_KEPT_BYTES = 256 * 1024;

export class ThriftWriter {
  private buffer: Uint8Array;
  private end = 0;
  private lastField = 0;
  private readonly stack: number[] = [];

  constructor(capacity = 1024) {
    this.buffer = new Uint8Array(capacity);
  }

  get length(): number {
    return this.end;
  }

  /** What was written so far, as a view that is good until the next call. */
  bytes(): Uint8Array {
    if (this.stack.length !== 0) throw new RangeError('thrift: a struct was not ended');
    return this.buffer.subarray(0, this.end);
  }

  clear(): void {
    if (this.buffer.length > MAX_KEPT_BYTES) this.buffer = new Uint8Array(MAX_KEPT_BYTES);
    this.end = 0;
    this.lastField = 0;
    this.stack.length = 0;
  }

  /** Begins a struct as field `id` of the struct at hand. */
  structField(id: number): void {
    this.header(id, STRUCT);
    this.beginStruct();
  }

  /** Begins a struct that stands alone or as the element of a list. */
  beginStruct(): void {
    if (this.stack.length >= MAX_DEPTH) throw new RangeError('thrift: nested too deep');
    this.stack.push(this.lastField);
    this.lastField = 0;
  }

  endStruct(): void {
    this.reserve(1);
    this.buffer[this.end++] = 0;
    this.lastField = this.stack.pop()!;
  }

  /** An empty struct as field `id`: how unions name a variant without content. */
  emptyField(id: number): void {
    this.structField(id);
    this.endStruct();
  }

  boolField(id: number, value: boolean): void {
    this.header(id, value ? TRUE : FALSE);
  }

  byteField(id: number, value: number): void {
    this.header(id, 3);
    this.reserve(1);
    this.buffer[this.end++] = value;
  }

  i16Field(id: number, value: number): void {
    this.header(id, I16);
    this.zigzag32(value);
  }

  i32Field(id: number, value: number): void {
    this.header(id, I32);
    this.zigzag32(value);
  }

  /** A 64-bit field; `value` is a safe integer. */
  i64Field(id: number, value: number): void {
    this.header(id, I64);
    this.i64(value);
  }

  binaryField(id: number, value: Uint8Array): void {
    this.header(id, BINARY);
    this.binary(value);
  }

  stringField(id: number, value: string): void {
    this.binaryField(id, encoder.encode(value));
  }

  /** Begins a list of `size` elements, which the caller writes next. */
  listField(id: number, element: ThriftElement, size: number): void {
    this.header(id, LIST);
    this.reserve(6);
    if (size < 15) {
      this.buffer[this.end++] = (size << 4) | ELEMENT_TYPE[element];
    } else {
      this.buffer[this.end++] = 0xf0 | ELEMENT_TYPE[element];
      this.varint(size);
    }
  }

  /** List element. */
  i32(value: number): void {
    this.zigzag32(value);
  }

  /** List element; a safe integer. */
  i64(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`thrift: ${value} is not a safe integer`);
    // zigzag: 2v for v >= 0, -2v - 1 below; above 2^52 the product needs 64 bits
    if (value > 0x000f_ffff_ffff_ffff || value < -0x000f_ffff_ffff_ffff) {
      let big = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
      this.reserve(10);
      while (big > 0x7fn) {
        this.buffer[this.end++] = Number(big & 0x7fn) | 0x80;
        big >>= 7n;
      }
      this.buffer[this.end++] = Number(big);
      return;
    }
    this.varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  /** List element. */
  bool(value: boolean): void {
    this.reserve(1);
    this.buffer[this.end++] = value ? TRUE : FALSE;
  }

  /** List element. */
  binary(value: Uint8Array): void {
    this.varint(value.length);
    this.reserve(value.length);
    this.buffer.set(value, this.end);
    this.end += value.length;
  }

  string(value: string): void {
    this.binary(encoder.encode(value));
  }

  private header(id: number, type: number): void {
    const delta = id - this.lastField;
    if (delta < 1 || delta > 15) throw new RangeError(`thrift: field ${id} after field ${this.lastField}`);
    this.reserve(1);
    this.buffer[this.end++] = (delta << 4) | type;
    this.lastField = id;
  }

  private zigzag32(value: number): void {
    if ((value | 0) !== value) throw new RangeError(`thrift: ${value} is not a 32-bit integer`);
    this.varint(((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** ULEB128 of an integer of 0 to 2^53 - 1. */
  private varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest > 0x7f) {
      this.buffer[this.end++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.end++] = rest;
  }

  private reserve(bytes: number): void {
    const need = this.end + bytes;
    if (need <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(need, this.buffer.length * 2));
    grown.set(this.buffer.subarray(0, this.end));
    this.buffer = grown;
  }
}
