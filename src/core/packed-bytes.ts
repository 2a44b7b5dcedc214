/** Writing and reading values one behind the other in bytes, for what is held in memory only: no format of any file. */

const UTF8 = new TextEncoder();

/** Integers up to here can be doubled, or have a bit added, without leaving the numbers that are exact. */
const MAX_SMALL = 2 ** 51;

export class PackedBytesWriter {
  #bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  get capacityBytes(): number {
    return this.#bytes.length;
  }

  /** A copy of exactly the bytes so far, in a buffer of their own. */
  copy(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  /** What was written so far: a view that is good until the next call. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  /** An integer of 0 to 2^53 - 1. */
  count(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#bytes[this.length++] = (rest % 128) | 0x80;
    this.#bytes[this.length++] = rest;
  }

  /** A safe integer. */
  integer(value: number): void {
    if (value >= -MAX_SMALL && value <= MAX_SMALL) this.count(value >= 0 ? value * 2 : -value * 2 - 1);
    else this.bigint(BigInt(value));
  }

  /** An integer of any size. */
  bigint(value: bigint): void {
    const small = Number(value);
    if (small >= -MAX_SMALL && small <= MAX_SMALL) {
      this.integer(small);
      return;
    }
    let rest = value >= 0n ? value << 1n : (-value << 1n) - 1n;
    for (; rest > 0x7fn; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80);
    this.byte(Number(rest));
  }

  double(value: number): void {
    this.#reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.length, value);
    this.length += 8;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  bytes(bytes: Uint8Array): void {
    this.count(bytes.length);
    this.raw(bytes);
  }

  /** Any text, also one that UTF-8 cannot say. */
  text(text: string): void {
    const whole = text.isWellFormed();
    this.byte(whole ? 1 : 0);
    this.bytes(whole ? UTF8.encode(text) : Buffer.from(text, 'utf16le'));
  }

  #reserve(bytes: number): void {
    const need = this.length + bytes;
    if (need <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(need, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
  }
}

/** Reads what a `PackedBytesWriter` wrote, by the same calls in the same order. */
export class PackedBytesReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++];
  }

  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  integer(): number {
    return Number(this.bigint());
  }

  bigint(): bigint {
    const start = this.#at;
    let end = start;
    while (this.#bytes[end] >= 0x80) end++;
    // up to 7 of these bytes are a number that is exact
    if (end - start < 7) {
      const value = this.count();
      return BigInt(value % 2 === 0 ? value / 2 : -(value + 1) / 2);
    }
    let value = 0n;
    for (let i = end; i >= start; i--) value = (value << 7n) | BigInt(this.#bytes[i] & 0x7f);
    this.#at = end + 1;
    return (value & 1n) === 0n ? value >> 1n : -((value + 1n) >> 1n);
  }

  double(): number {
    this.#at += 8;
    return this.#bytes.readDoubleBE(this.#at - 8);
  }

  /** A view. */
  raw(length: number): Uint8Array {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A copy. */
  bytes(): Uint8Array {
    return new Uint8Array(this.raw(this.count()));
  }

  text(): string {
    const whole = this.byte() === 1;
    const length = this.count();
    this.#at += length;
    return this.#bytes.toString(whole ? 'utf8' : 'utf16le', this.#at - length, this.#at);
  }
}
