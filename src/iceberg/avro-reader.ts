/** Avro's binary encoding, read (Avro specification 1.11, "Binary Encoding"). */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class AvroError extends Error {}

/** The bytes end within a value: of a file that comes in pieces the rest may be still to come. */
export class AvroShortError extends AvroError {}

/** Reads Avro's binary encoding; throws AvroError at the end of the bytes or where a value does not fit. */
export class AvroReader {
  readonly #bytes: Uint8Array;
  position = 0;

  constructor(bytes: Uint8Array) {
    // A Buffer's `slice` is a view that would keep a whole block alive for one bound: a plain array's is a copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get remaining(): number {
    return this.#bytes.length - this.position;
  }

  byte(): number {
    if (this.position >= this.#bytes.length)
      throw new AvroShortError(`it ends at byte ${this.position}, within a value`);
    return this.#bytes[this.position++];
  }

  long(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt((low >>> 1) ^ -(low & 1));
    }
    return this.#wideLong(BigInt(low));
  }

  #wideLong(low: bigint): bigint {
    let value = low;
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >> 64n !== 0n)
          throw new AvroError(`a number before byte ${this.position} does not fit into 64 bits`);
        return (value >> 1n) ^ -(value & 1n);
      }
    }
    throw new AvroError(`a number before byte ${this.position} is longer than 10 bytes`);
  }

  int(): number {
    const value = this.long();
    if (value !== BigInt.asIntN(32, value))
      throw new AvroError(`the int before byte ${this.position} does not fit into 32 bits`);
    return Number(value);
  }

  /** A length or count of things that are within the remaining bytes. */
  length(): number {
    const value = this.long();
    if (value < 0n) throw new AvroError(`a length of ${value} before byte ${this.position}`);
    if (value > BigInt(this.remaining)) {
      throw new AvroShortError(
        `a length of ${value} before byte ${this.position}, where ${this.remaining} bytes are left`,
      );
    }
    return Number(value);
  }

  /** A view, not a copy. */
  raw(length: number): Uint8Array {
    if (length > this.remaining)
      throw new AvroShortError(`${length} bytes wanted at byte ${this.position}, ${this.remaining} are left`);
    this.position += length;
    return this.#bytes.subarray(this.position - length, this.position);
  }

  view(length: number): DataView {
    const bytes = this.raw(length);
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }

  bytes(): Uint8Array {
    return this.raw(this.length());
  }

  string(): string {
    return decoder.decode(this.bytes());
  }
}
