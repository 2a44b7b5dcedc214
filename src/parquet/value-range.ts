import { parseDecimal } from '../core/schema.ts';
import { minimalTwosComplement, readSignedBigEndian } from './bounds.ts';
import { BytesRange } from './bytes-range.ts';
import { PHYSICAL_TYPE } from './format.ts';
import type { LeafColumn } from './leaf-column.ts';

/**
 * Smallest and largest value of a page, a column chunk or a file. Ranges of pages are merged into those of the chunk,
 * these into that of the file; nothing is allocated per value.
 */
export interface ValueRange {
  /** No value but NaN was seen. */
  readonly isEmpty: boolean;
  readonly nanCount: number;
  clear(): void;
  /** Takes in one value in PLAIN form (booleans one byte, byte arrays with their length). */
  takePlain(plain: Uint8Array): void;
  /** Takes in a range of the same class. */
  merge(other: ValueRange): void;
  /** PLAIN bytes for Parquet's statistics; undefined where there is no such bound. */
  minBytes(): Uint8Array | undefined;
  maxBytes(): Uint8Array | undefined;
  /** False where the bound was cut. */
  readonly minExact: boolean;
  readonly maxExact: boolean;
  /** Bounds for a manifest, in Iceberg's single-value serialisation. */
  lowerBound(): Uint8Array | undefined;
  upperBound(): Uint8Array | undefined;
  /** Compares minima and maxima with another range of the same class, negative where this one is smaller; both not empty. */
  compareMin(other: ValueRange): number;
  compareMax(other: ValueRange): number;
}

/** An empty range for the values of a leaf. */
export function createRange(leaf: LeafColumn): ValueRange {
  const isDecimal = parseDecimal(leaf.type) !== undefined;
  switch (leaf.physicalType) {
    case PHYSICAL_TYPE.BOOLEAN:
      return new Int32Range(1, false);
    case PHYSICAL_TYPE.INT32:
      return new Int32Range(4, isDecimal);
    case PHYSICAL_TYPE.INT64:
      return new Int64Range(isDecimal);
    case PHYSICAL_TYPE.FLOAT:
      return new FloatRange(4);
    case PHYSICAL_TYPE.DOUBLE:
      return new FloatRange(8);
    case PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY:
      return new FixedRange(leaf.width, isDecimal);
    default:
      return new BytesRange(leaf.type === 'string');
  }
}

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

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function wordBytes(low: number, high: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, low, true);
  view.setInt32(4, high, true);
  return bytes;
}

/**
 * Floats. NaN is counted and is never a bound; -0.0 is below 0.0 in the bounds of a manifest (Iceberg spec, "Data File
 * Fields"), while a minimum of zero is written as -0.0 and a maximum of zero as +0.0 in Parquet's statistics.
 */
export class FloatRange implements ValueRange {
  isEmpty = true;
  nanCount = 0;
  readonly minExact = true;
  readonly maxExact = true;
  private min = 0;
  private max = 0;
  private readonly width: 4 | 8;

  constructor(width: 4 | 8) {
    this.width = width;
  }

  clear(): void {
    this.isEmpty = true;
    this.nanCount = 0;
  }

  /** Rows [from, until) of which none is null. */
  update(values: Float32Array | Float64Array, from: number, until: number): void {
    for (let i = from; i < until; i++) {
      const v = values[i];
      if (Number.isNaN(v)) {
        this.nanCount++;
      } else if (this.isEmpty) {
        this.min = this.max = v;
        this.isEmpty = false;
      } else {
        if (isBelow(v, this.min)) this.min = v;
        if (isBelow(this.max, v)) this.max = v;
      }
    }
  }

  takePlain(plain: Uint8Array): void {
    const view = viewOf(plain);
    this.update(
      Float64Array.of(this.width === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true)),
      0,
      1,
    );
  }

  merge(other: FloatRange): void {
    this.nanCount += other.nanCount;
    if (other.isEmpty) return;
    if (this.isEmpty || isBelow(other.min, this.min)) this.min = other.min;
    if (this.isEmpty || isBelow(this.max, other.max)) this.max = other.max;
    this.isEmpty = false;
  }

  minBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.min === 0 ? -0 : this.min);
  }

  maxBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.max === 0 ? 0 : this.max);
  }

  lowerBound(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.min);
  }

  upperBound(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.plain(this.max);
  }

  compareMin(other: FloatRange): number {
    return this.min < other.min ? -1 : this.min > other.min ? 1 : 0;
  }

  compareMax(other: FloatRange): number {
    return this.max < other.max ? -1 : this.max > other.max ? 1 : 0;
  }

  private plain(value: number): Uint8Array {
    const bytes = new Uint8Array(this.width);
    const view = new DataView(bytes.buffer);
    if (this.width === 4) view.setFloat32(0, value, true);
    else view.setFloat64(0, value, true);
    return bytes;
  }
}

function isBelow(a: number, b: number): boolean {
  return a < b || (a === 0 && b === 0 && Object.is(a, -0) && !Object.is(b, -0));
}

/** Bytes of one width: unsigned byte-wise for uuid and fixed, signed for decimals. */
export class FixedRange implements ValueRange {
  isEmpty = true;
  readonly nanCount = 0;
  readonly minExact = true;
  readonly maxExact = true;
  private readonly width: number;
  private readonly isDecimal: boolean;
  private readonly min: Uint8Array;
  private readonly max: Uint8Array;

  constructor(width: number, isDecimal: boolean) {
    this.width = width;
    this.isDecimal = isDecimal;
    this.min = new Uint8Array(width);
    this.max = new Uint8Array(width);
  }

  clear(): void {
    this.isEmpty = true;
  }

  /** Rows [from, until) of which none is null. */
  update(data: Uint8Array, from: number, until: number): void {
    const { width } = this;
    for (let row = from; row < until; row++) this.take(data, row * width, data, row * width);
  }

  takePlain(plain: Uint8Array): void {
    this.take(plain, 0, plain, 0);
  }

  merge(other: FixedRange): void {
    if (!other.isEmpty) this.take(other.min, 0, other.max, 0);
  }

  private take(low: Uint8Array, lowAt: number, high: Uint8Array, highAt: number): void {
    const { width } = this;
    if (this.isEmpty || this.compare(low, lowAt, this.min) < 0)
      this.min.set(low.subarray(lowAt, lowAt + width));
    if (this.isEmpty || this.compare(high, highAt, this.max) > 0)
      this.max.set(high.subarray(highAt, highAt + width));
    this.isEmpty = false;
  }

  private compare(a: Uint8Array, at: number, b: Uint8Array): number {
    // the sign bit turned over makes two's complement compare as unsigned
    const flip = this.isDecimal ? 0x80 : 0;
    const first = (a[at] ^ flip) - (b[0] ^ flip);
    if (first !== 0) return first;
    for (let i = 1; i < this.width; i++) {
      const d = a[at + i] - b[i];
      if (d !== 0) return d;
    }
    return 0;
  }

  minBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.min.slice();
  }

  maxBytes(): Uint8Array | undefined {
    return this.isEmpty ? undefined : this.max.slice();
  }

  lowerBound(): Uint8Array | undefined {
    if (this.isEmpty) return undefined;
    return this.isDecimal ? minimalTwosComplement(readSignedBigEndian(this.min)) : this.min.slice();
  }

  upperBound(): Uint8Array | undefined {
    if (this.isEmpty) return undefined;
    return this.isDecimal ? minimalTwosComplement(readSignedBigEndian(this.max)) : this.max.slice();
  }

  compareMin(other: FixedRange): number {
    return Math.sign(this.compare(this.min, 0, other.min));
  }

  compareMax(other: FixedRange): number {
    return Math.sign(this.compare(this.max, 0, other.max));
  }
}
