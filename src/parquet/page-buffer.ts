import type { BufferPool } from './byte-chain.ts';

/** Room kept free in front of the values for the levels of the page, so that the values need not be moved. */
const HEADROOM = 64;

/** The values of an open page, in PLAIN form, in a buffer of the pool that starts small and grows. */
export class PageBuffer {
  private readonly pool: BufferPool;
  private readonly pageBytes: number;
  private buffer: Uint8Array | undefined;
  private end = HEADROOM;

  /** A page is full at `pageBytes`, headroom included: the buffer of a whole page is a power of two when that is. */
  constructor(pool: BufferPool, pageBytes: number) {
    this.pool = pool;
    this.pageBytes = pageBytes;
  }

  /** Bytes of values. */
  get length(): number {
    return this.end - HEADROOM;
  }

  get capacityBytes(): number {
    return this.buffer?.length ?? 0;
  }

  /** Bytes until the page is full; negative where one value was longer than a page. */
  get room(): number {
    return this.pageBytes - this.end;
  }

  append(source: Uint8Array, from: number, until: number): void {
    const length = until - from;
    if (length === 0) return;
    const buffer = this.reserve(length);
    // a view costs more than it saves for a few bytes
    if (length < 48) {
      for (let i = 0; i < length; i++) buffer[this.end + i] = source[from + i];
    } else {
      buffer.set(source.subarray(from, until), this.end);
    }
    this.end += length;
  }

  appendRepeated(value: Uint8Array, count: number): void {
    const total = value.length * count;
    const buffer = this.reserve(total);
    buffer.set(value, this.end);
    for (let done = value.length; done < total; done *= 2) {
      buffer.copyWithin(this.end + done, this.end, this.end + Math.min(done, total - done));
    }
    this.end += total;
  }

  /** From one byte to one bit per value, lowest bit first, in place. */
  packBooleans(): void {
    const count = this.length;
    const buffer = this.reserve(0);
    for (let i = 0, at = HEADROOM; i < count; i += 8, at++) {
      let byte = 0;
      for (let bit = 0; bit < 8 && i + bit < count; bit++) byte |= buffer[HEADROOM + i + bit] << bit;
      buffer[at] = byte;
    }
    this.end = HEADROOM + Math.ceil(count / 8);
  }

  /** The whole page: `levels` one behind the other, then the values. A view that is good until the next call. */
  withLevels(levels: readonly Uint8Array[]): Uint8Array {
    let length = 0;
    for (const part of levels) length += part.length;
    const buffer = this.reserve(Math.max(0, length - HEADROOM));
    let at = HEADROOM - length;
    if (at < 0) {
      buffer.copyWithin(length, HEADROOM, this.end);
      this.end += length - HEADROOM;
      at = 0;
    }
    const start = at;
    for (const part of levels) {
      buffer.set(part, at);
      at += part.length;
    }
    return buffer.subarray(start, this.end);
  }

  /** Empties the page; keeps the buffer unless one long value has made it far larger than a page. */
  clear(): void {
    this.end = HEADROOM;
    if (this.capacityBytes > 2 * this.pageBytes) this.release();
  }

  release(): void {
    if (this.buffer !== undefined) this.pool.give(this.buffer);
    this.buffer = undefined;
    this.end = HEADROOM;
  }

  private reserve(bytes: number): Uint8Array {
    const need = this.end + bytes;
    if (this.buffer !== undefined && need <= this.buffer.length) return this.buffer;
    const grown = this.pool.take(need);
    if (this.buffer !== undefined) {
      grown.set(this.buffer.subarray(0, this.end));
      this.pool.give(this.buffer);
    }
    this.buffer = grown;
    return grown;
  }
}
