/** Times of day and points in time, of any of Avro's units, into columns of micros or nanos. */

import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import type { AvroInput } from './avro-input.ts';
import type { TimeUnit } from './avro-schema.ts';
import type { Op } from './op.ts';

const DAY_MICROS = 86_400_000_000;

/** `time-millis` or `time-micros` into micros since midnight; what is no time of a day is OUT_OF_RANGE. */
export class TimeOp implements Op {
  private readonly column: Int64Column;
  private readonly wire: 'int' | 'long';
  private readonly microsPerUnit: number;

  constructor(column: Int64Column, wire: 'int' | 'long', unit: TimeUnit) {
    this.column = column;
    this.wire = wire;
    this.microsPerUnit = unit === 'millis' ? 1000 : 1;
  }

  run(input: AvroInput): void {
    const { at } = input;
    if (this.wire === 'int') input.readIntWords();
    else input.readLong();
    const micros = input.number * this.microsPerUnit;
    if (micros < 0 || micros >= DAY_MICROS) {
      input.at = at;
      input.fail('OUT_OF_RANGE', `${micros} microseconds are no time of a day`);
    }
    this.column.appendNumber(micros);
  }
}

const NANOS: Record<TimeUnit, number> = { millis: 1_000_000, micros: 1000, nanos: 1 };

/**
 * A timestamp, local or not, into micros or nanos since 1970. A finer unit is cut towards the past, as a clock is read; what
 * does not fit 64 bits, or in micros lies outside of the years 0001 to 9999 that readers of tables know, is OUT_OF_RANGE.
 */
export class TimestampOp implements Op {
  private readonly column: Int64Column;
  private readonly wire: 'int' | 'long';
  /** How often to multiply by 1000; below 0, to divide. */
  private readonly thousands: number;
  private readonly isMicros: boolean;

  constructor(column: Int64Column, wire: 'int' | 'long', unit: TimeUnit, columnUnit: 'micros' | 'nanos') {
    this.isMicros = columnUnit === 'micros';
    this.column = column;
    this.wire = wire;
    this.thousands = Math.round(Math.log10(NANOS[unit] / NANOS[columnUnit]) / 3);
  }

  run(input: AvroInput): void {
    const { at } = input;
    if (this.wire === 'int') input.readIntWords();
    else input.readLong();
    if (this.thousands === 1) timesThousand(input, at);
    else if (this.thousands === -1) cutThousandth(input);
    else if (this.thousands === 2) {
      timesThousand(input, at);
      timesThousand(input, at);
    }
    if (this.isMicros && !isWithinYears(input.low, input.high)) {
      input.at = at;
      input.fail('OUT_OF_RANGE', `a timestamp of ${input.number} lies outside of the years 0001 to 9999`);
    }
    this.column.appendWords(input.low, input.high);
  }
}

/** 0001-01-01T00:00:00 and 9999-12-31T23:59:59.999999 in micros since 1970. */
const MIN_MICROS = -62_135_596_800_000_000n;
const MAX_MICROS = 253_402_300_799_999_999n;
const MIN_LOW = Number(BigInt.asUintN(32, MIN_MICROS));
const MIN_HIGH = Number(MIN_MICROS >> 32n);
const MAX_LOW = Number(BigInt.asUintN(32, MAX_MICROS));
const MAX_HIGH = Number(MAX_MICROS >> 32n);

function isWithinYears(low: number, high: number): boolean {
  if (high > MIN_HIGH && high < MAX_HIGH) return true;
  if (high === MIN_HIGH) return low >>> 0 >= MIN_LOW;
  return high === MAX_HIGH && low >>> 0 <= MAX_LOW;
}

/** 0001-01-01 and 9999-12-31 in days since 1970. */
const MIN_DAY = -719_162;
const MAX_DAY = 2_932_896;

/** A `date`, in days since 1970; one outside of the years 0001 to 9999 is OUT_OF_RANGE. */
export class DateOp implements Op {
  private readonly column: Int32Column;

  constructor(column: Int32Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    const { at } = input;
    const days = input.readInt();
    if (days < MIN_DAY || days > MAX_DAY) {
      input.at = at;
      input.fail('OUT_OF_RANGE', `a date of ${days} days lies outside of the years 0001 to 9999`);
    }
    this.column.append(days);
  }
}

function timesThousand(input: AvroInput, at: number): void {
  const low = (input.low >>> 0) * 1000;
  const carry = Math.floor(low / 4_294_967_296);
  const high = input.high * 1000 + carry;
  if (high < -0x8000_0000 || high > 0x7fff_ffff) {
    input.at = at;
    input.fail('OUT_OF_RANGE', `a timestamp of ${input.number} does not fit its column`);
  }
  input.low = (low - carry * 4_294_967_296) | 0;
  input.high = high;
}

function cutThousandth(input: AvroInput): void {
  const high = Math.floor(input.high / 1000);
  const rest = (input.high - high * 1000) * 4_294_967_296 + (input.low >>> 0);
  input.low = Math.floor(rest / 1000) | 0;
  input.high = high;
}
