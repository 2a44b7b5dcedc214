/** A struct by its field ids. 64-bit integers are numbers: Parquet's are sizes and positions, all below 2^53. */
export interface ThriftStruct {
  [field: number]: ThriftValue | undefined;
}
export type ThriftValue = boolean | number | Uint8Array | ThriftValue[] | ThriftStruct;

/** Parquet's own structures nest at most 7 deep. */
const MAX_DEPTH = 16;

/**
 * Reads Thrift's compact protocol from bytes that are not trusted: every length is checked against what is left.
 * Throws RangeError where the bytes are no such structure.
 */
export class ThriftReader {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  /** Where the next byte is read. */
  position: number;

  constructor(bytes: Uint8Array, position = 0) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = position;
  }

  struct(depth = 0): ThriftStruct {
    if (depth > MAX_DEPTH) throw new RangeError('thrift: nested too deep');
    const struct: ThriftStruct = {};
    let field = 0;
    for (;;) {
      const header = this.byte();
      const type = header & 0x0f;
      if (type === 0) return struct;
      field = header >> 4 === 0 ? this.zigzag() : field + (header >> 4);
      if (field < 0 || field > 0x7fff) throw new RangeError(`thrift: field ${field}`);
      struct[field] = type <= 2 ? type === 1 : this.value(type, depth);
    }
  }

  private value(type: number, depth: number): ThriftValue {
    switch (type) {
      case 1:
      case 2:
        return this.byte() === 1;
      case 3:
        return this.view.getInt8(this.advance(1));
      case 4:
      case 5:
      case 6:
        return this.zigzag();
      case 7:
        return this.view.getFloat64(this.advance(8), true);
      case 8: {
        const length = this.varint();
        const at = this.advance(length);
        return this.bytes.subarray(at, at + length);
      }
      case 9:
      case 10:
        return this.list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new RangeError(`thrift: unknown type ${type}`);
    }
  }

  private list(depth: number): ThriftValue[] {
    const header = this.byte();
    const size = header >> 4 === 15 ? this.varint() : header >> 4;
    // an element takes a byte at least
    if (size > this.bytes.length - this.position) throw new RangeError(`thrift: a list of ${size}`);
    const list: ThriftValue[] = [];
    for (let i = 0; i < size; i++) list.push(this.value(header & 0x0f, depth));
    return list;
  }

  private zigzag(): number {
    const raw = this.varint64();
    if (typeof raw === 'number') return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
    const value = Number((raw >> 1n) ^ -(raw & 1n));
    if (!Number.isSafeInteger(value)) throw new RangeError('thrift: a number above 2^53');
    return value;
  }

  /** A length or a count. */
  private varint(): number {
    const value = this.varint64();
    if (typeof value !== 'number') throw new RangeError('thrift: a length above 2^49');
    return value;
  }

  /** A number where it takes up to 7 bytes (49 bits), else a bigint. */
  private varint64(): number | bigint {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, wide);
    }
    throw new RangeError('thrift: a number of more than 10 bytes');
  }

  private byte(): number {
    return this.bytes[this.advance(1)];
  }

  private advance(count: number): number {
    const at = this.position;
    if (count > this.bytes.length - at) throw new RangeError('thrift: ends within a structure');
    this.position = at + count;
    return at;
  }
}
