/** google.protobuf.Timestamp and Duration: seconds and nanoseconds. */

import type { Int64Column } from '../../columns/int64-column.ts';
import { appendScaled } from '../json/words64.ts';
import type { ProtoInput } from './proto-input.ts';
import type { Step } from './step.ts';

/** Years 0001 to 9999, as the messages and the tables have them. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;
/** About 10,000 years, the most that a Duration holds. */
const LONGEST_SECONDS = 315_576_000_000;

/** Reads the two fields of a message at [at, end) that has a length before it; numbers that are no timestamp's are left to the caller. */
class SecondsAndNanos {
  seconds = 0;
  nanos = 0;

  read(input: ProtoInput): void {
    this.seconds = 0;
    this.nanos = 0;
    const size = input.readSize();
    const outer = input.end;
    input.end = input.at + size;
    while (input.at < input.end) {
      const tag = input.readTag();
      if (tag === 8 || tag === 16) {
        input.readVarint();
        const value = input.high * 4_294_967_296 + (input.low >>> 0);
        if (tag === 8) this.seconds = value;
        else this.nanos = value;
      } else if (tag >>> 3 <= 2) {
        input.fail('PROTOBUF_DECODE', `field ${tag >>> 3} of a time has the wire type ${tag & 7}, not 0`);
      } else {
        input.unknownFields++;
        input.skip(tag);
      }
    }
    input.end = outer;
  }
}

/** Into timestamps of micros or nanos; nanos below a micro are cut. */
export class TimestampStep implements Step {
  private readonly column: Int64Column;
  private readonly isNanos: boolean;
  private readonly parts = new SecondsAndNanos();

  constructor(column: Int64Column, isNanos: boolean) {
    this.column = column;
    this.isNanos = isNanos;
  }

  read(input: ProtoInput): void {
    const { at } = input;
    this.parts.read(input);
    const { seconds, nanos } = this.parts;
    const isTimestamp =
      seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos <= 999_999_999;
    const fits =
      isTimestamp &&
      (this.isNanos
        ? appendScaled(this.column, seconds, 1_000_000_000, nanos)
        : appendScaled(this.column, seconds, 1_000_000, Math.floor(nanos / 1000)));
    if (fits) return;
    input.at = at;
    input.fail('OUT_OF_RANGE', `${seconds} seconds and ${nanos} nanos are no timestamp of the column`);
  }
}

/** Into a long: micros; what is below a micro is cut toward zero. */
export class DurationStep implements Step {
  private readonly column: Int64Column;
  private readonly parts = new SecondsAndNanos();

  constructor(column: Int64Column) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    const { at } = input;
    this.parts.read(input);
    const { seconds, nanos } = this.parts;
    const isDuration =
      Math.abs(seconds) <= LONGEST_SECONDS && Math.abs(nanos) <= 999_999_999 && seconds * nanos >= 0;
    if (!isDuration) {
      input.at = at;
      input.fail('OUT_OF_RANGE', `${seconds} seconds and ${nanos} nanos are no duration`);
    }
    const micros = Math.trunc(nanos / 1000);
    if (micros >= 0) appendScaled(this.column, seconds, 1_000_000, micros);
    else appendScaled(this.column, seconds - 1, 1_000_000, micros + 1_000_000);
  }
}
