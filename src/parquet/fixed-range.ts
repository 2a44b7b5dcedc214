import { minimalTwosComplement, readSignedBigEndian } from './bounds.ts';
import type { ValueRange } from './value-range.ts';

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
