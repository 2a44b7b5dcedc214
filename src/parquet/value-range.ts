/**
 * Smallest and largest value of a page, a column chunk or a file. Ranges of pages are merged into those of the chunk,
 * these into that of the file; nothing is allocated per value.
 */
export interface ValueRange {
  /** No value but NaN was seen. */
  readonly isEmpty: boolean;
  readonly nanCount: number;
  clear(): void;
  /** Takes in `count` times one value in PLAIN form (booleans one byte, byte arrays with their length). */
  takePlain(plain: Uint8Array, count: number): void;
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
