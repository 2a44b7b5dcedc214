import type { ValueRange } from './value-range.ts';

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

  takePlain(plain: Uint8Array, count: number): void {
    const view = new DataView(plain.buffer, plain.byteOffset, plain.byteLength);
    const value = this.width === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
    if (Number.isNaN(value)) this.nanCount += count;
    else this.update(Float64Array.of(value), 0, 1);
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
