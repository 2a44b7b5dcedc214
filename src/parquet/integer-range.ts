import { minimalTwosComplement } from './bounds.ts';
import type { ValueRange } from './value-range.ts';

/** Booleans (width 1), integers, dates and decimals of up to 9 digits. */
export class Int32Range implements ValueRange {
  isEmpty = true;
  readonly nanCount = 0;
  readonly minExact = true;
  readonly maxExact = true;
  private min = 0;
  private max = 0;
  private readonly width: 1 | 4;
  private readonly isDecimal: boolean;

  constructor(width: 1 | 4, isDecimal: boolean) {
    this.width = width;
    this.isDecimal = isDecimal;
  }

  clear(): void {
    this.isEmpty = true;
  }

  /** Rows [from, until) of which none is null. */
  update(values: Int32Array | Uint8Array, from: number, until: number): void {
    if (from >= until) return;
    let min = this.isEmpty ? values[from] : this.min;
    let max = this.isEmpty ? values[from] : this.max;
    for (let i = from; i < until; i++) {
      const v = values[i];
      if (v < min) min = v;
      if (v > max) max = v;
    }
    this.min = min;
    this.max = max;
    this.isEmpty = false;
  }

  takePlain(plain: Uint8Array): void {
    const value = this.width === 1 ? plain[0] : viewOf(plain).getInt32(0, true);
    if (this.isEmpty || value < this.min) this.min = value;
    if (this.isEmpty || value > this.max) this.max = value;
    this.isEmpty = false;
  }

  merge(other: Int32Range): void {
    if (other.isEmpty) return;
    if (this.isEmpty || other.min < this.min) this.min = other.min;
    if (this.isEmpty || other.max > this.max) this.max = other.max;
    this.isEmpty = false;
  }

  minBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.min);
  }

  maxBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.max);
  }

  lowerBound(): Uint8Array | undefined {
    return this.isDecimal && !this.isEmpty ? minimalTwosComplement(BigInt(this.min)) : this.minBytes();
  }

  upperBound(): Uint8Array | undefined {
    return this.isDecimal && !this.isEmpty ? minimalTwosComplement(BigInt(this.max)) : this.maxBytes();
  }

  compareMin(other: Int32Range): number {
    return Math.sign(this.min - other.min);
  }

  compareMax(other: Int32Range): number {
    return Math.sign(this.max - other.max);
  }

  private plain(value: number): Uint8Array {
    if (this.width === 1) return Uint8Array.of(value);
    return Uint8Array.of(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, value >>> 24);
  }
}

/** 64-bit integers as pairs of words, compared high word first, then low word unsigned. */
export class Int64Range implements ValueRange {
  isEmpty = true;
  readonly nanCount = 0;
  readonly minExact = true;
  readonly maxExact = true;
  private minHigh = 0;
  private minLow = 0;
  private maxHigh = 0;
  private maxLow = 0;
  private readonly isDecimal: boolean;

  constructor(isDecimal: boolean) {
    this.isDecimal = isDecimal;
  }

  clear(): void {
    this.isEmpty = true;
  }

  /** Rows [from, until) of which none is null; row i is words 2i and 2i+1. */
  update(words: Int32Array, from: number, until: number): void {
    if (from >= until) return;
    if (this.isEmpty) {
      this.minLow = this.maxLow = words[from * 2] >>> 0;
      this.minHigh = this.maxHigh = words[from * 2 + 1];
      this.isEmpty = false;
    }
    let { minHigh, minLow, maxHigh, maxLow } = this;
    for (let i = from * 2; i < until * 2; i += 2) {
      const low = words[i] >>> 0;
      const high = words[i + 1];
      if (high < minHigh || (high === minHigh && low < minLow)) {
        minHigh = high;
        minLow = low;
      }
      if (high > maxHigh || (high === maxHigh && low > maxLow)) {
        maxHigh = high;
        maxLow = low;
      }
    }
    this.minHigh = minHigh;
    this.minLow = minLow;
    this.maxHigh = maxHigh;
    this.maxLow = maxLow;
  }

  takePlain(plain: Uint8Array): void {
    const view = viewOf(plain);
    this.update(Int32Array.of(view.getInt32(0, true), view.getInt32(4, true)), 0, 1);
  }

  merge(other: Int64Range): void {
    if (other.isEmpty) return;
    if (this.isEmpty || other.compareMin(this) < 0) {
      this.minHigh = other.minHigh;
      this.minLow = other.minLow;
    }
    if (this.isEmpty || other.compareMax(this) > 0) {
      this.maxHigh = other.maxHigh;
      this.maxLow = other.maxLow;
    }
    this.isEmpty = false;
  }

  minBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : wordBytes(this.minLow, this.minHigh);
  }

  maxBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : wordBytes(this.maxLow, this.maxHigh);
  }

  lowerBound(): Uint8Array | undefined {
    if (!this.isDecimal || this.isEmpty) return this.minBytes();
    return minimalTwosComplement((BigInt(this.minHigh) << 32n) | BigInt(this.minLow));
  }

  upperBound(): Uint8Array | undefined {
    if (!this.isDecimal || this.isEmpty) return this.maxBytes();
    return minimalTwosComplement((BigInt(this.maxHigh) << 32n) | BigInt(this.maxLow));
  }

  compareMin(other: Int64Range): number {
    return Math.sign(this.minHigh - other.minHigh || this.minLow - other.minLow);
  }

  compareMax(other: Int64Range): number {
    return Math.sign(this.maxHigh - other.maxHigh || this.maxLow - other.maxLow);
  }
}

function wordBytes(low: number, high: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, low, true);
  view.setInt32(4, high, true);
  return bytes;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
