import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import type { IcebergType } from '../../core/schema.ts';
import { ByteMap } from './byte-map.ts';

/** Source values whose number is remembered; beyond it all are forgotten and met again. */
const MAX_REMEMBERED = 16_384;
/** Doubles tell microseconds apart up to here. */
const MAX_EXACT = 2 ** 53;
const UNKNOWN = -1;

/**
 * Numbers the values of one partition field: equal values, and only they, have equal numbers. What was met before is found
 * again by its source value, without the transform and without an object; that is the point of it.
 */
export class ValueNumbers {
  /** By number. */
  readonly values: PartitionValue[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly apply: (value: PartitionValue) => PartitionValue;
  private readonly keyOf: (partition: readonly PartitionValue[]) => string;
  private readonly bytes = new ByteMap(MAX_REMEMBERED);
  /** By source value; of times with stretches by the stretch's index. */
  private readonly numbers = new Map<number, number>();
  private nullNumber = UNKNOWN;
  /** The stretch of times that share the last number. */
  private readonly stretch: number;
  private stretchFrom = 1;
  private stretchUntil = 0;
  private stretchNumber = UNKNOWN;

  /**
   * @param apply the transform
   * @param keyOf a text that is equal for equal values only
   * @param stretch how many units of the source's integer share a value, where such stretches begin at multiples; 0 for none
   */
  constructor(
    apply: (value: PartitionValue) => PartitionValue,
    keyOf: (partition: readonly PartitionValue[]) => string,
    stretch: number,
  ) {
    this.apply = apply;
    this.keyOf = keyOf;
    this.stretch = stretch;
  }

  ofNull(): number {
    if (this.nullNumber === UNKNOWN) this.nullNumber = this.ofValue(null);
    return this.nullNumber;
  }

  ofInt64(column: Int64Column, row: number): number {
    const value = column.words[row * 2 + 1] * 4294967296 + (column.words[row * 2] >>> 0);
    if (!(value < MAX_EXACT && value > -MAX_EXACT)) return this.ofValue(column.getBigInt(row));
    if (value >= this.stretchFrom && value < this.stretchUntil) return this.stretchNumber;
    if (this.stretch > 0) {
      const index = Math.floor(value / this.stretch);
      this.stretchNumber =
        this.numbers.get(index) ?? this.remember(index, this.ofValue(column.getBigInt(row)));
      this.stretchFrom = index * this.stretch;
      this.stretchUntil = this.stretchFrom + this.stretch;
      return this.stretchNumber;
    }
    return this.numbers.get(value) ?? this.remember(value, this.ofValue(column.getBigInt(row)));
  }

  /** `decimal`: the column holds unscaled digits, which transforms take as bigint. */
  ofInt32(column: Int32Column, row: number, decimal: boolean): number {
    const value = column.values[row];
    return this.numbers.get(value) ?? this.remember(value, this.ofValue(decimal ? BigInt(value) : value));
  }

  ofBytes(column: BytesColumn, row: number, isText: boolean): number {
    const { data, starts } = column;
    const from = starts[row] + 4;
    const until = starts[row + 1];
    const known = this.bytes.get(data, from, until);
    if (known >= 0) return known;
    const bytes = data.slice(from, until);
    const number = this.ofValue(isText ? Buffer.from(bytes).toString('utf8') : bytes);
    this.bytes.set(bytes, number);
    return number;
  }

  /** Applies the transform to a value in its JS form. */
  ofValue(source: PartitionValue): number {
    const value = this.apply(source);
    const key = this.keyOf([value]);
    let number = this.byKey.get(key);
    if (number === undefined) {
      number = this.values.length;
      this.values.push(value);
      this.byKey.set(key, number);
    }
    return number;
  }

  private remember(source: number, number: number): number {
    if (this.numbers.size >= MAX_REMEMBERED) this.numbers.clear();
    this.numbers.set(source, number);
    return number;
  }
}

const HOUR_MICROS = 3_600_000_000;

/** For `ValueNumbers`: the stretch of a transform of times; years and months have none of one length. */
export function stretchOf(transform: string, type: IcebergType): number {
  if (type !== 'timestamp' && type !== 'timestamptz') return 0;
  return transform === 'hour' ? HOUR_MICROS : transform === 'day' ? 24 * HOUR_MICROS : 0;
}
