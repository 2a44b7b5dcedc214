import type { JsonFormat } from '../../core/value-format.ts';
import type { ReasonCode } from '../reasons.ts';
import { fieldPath } from './field-path.ts';
import type { FieldPlan } from './field-plan.ts';
import { firstByte, MINUS, QUOTE, stopBits } from './json-scanner.ts';
import { JsonStrings } from './json-strings.ts';
import { LocalClock } from './local-clock.ts';
import {
  divideExact,
  INEXACT,
  POWERS_OF_TEN,
  scaledInteger,
  TOO_LARGE,
  writeBigEndian,
  writeBigEndianNumber,
} from './number-values.ts';
import { base64Size, decodeBase64, decodeUuid } from './text-values.ts';
import { TimestampText } from './timestamp-text.ts';
import { appendDigits, appendScaled } from './words64.ts';

/** 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z in seconds since 1970: timestamps are in [MIN_SECONDS, END_SECONDS). */
const MIN_SECONDS = -62_135_596_800;
const END_SECONDS = 253_402_300_800;

const MIN_SECONDS_EXACT = BigInt(MIN_SECONDS);
const END_SECONDS_EXACT = BigInt(END_SECONDS);

const MAX_LONG = 9223372036854775807n;
const MIN_LONG = -9223372036854775808n;

const UNIT_DIGITS = { seconds: 0, millis: 3, micros: 6, nanos: 9 } as const;

/** Reads the values of columns that are no containers. Each method appends one row, or throws and leaves the column as it was. */
export class JsonValues extends JsonStrings {
  private readonly timestamps = new TimestampText();
  private readonly clock: LocalClock;
  private readonly unitDigits: number;
  private readonly decimalRounding: 'refuse' | 'halfUp';

  constructor(format: JsonFormat) {
    super();
    this.clock = new LocalClock(format.timeZone);
    this.unitDigits = UNIT_DIGITS[format.timestampUnit];
    this.decimalRounding = format.decimalRounding;
  }

  protected failField(field: FieldPlan, reason: ReasonCode, at: number, message: string): never {
    this.fail(reason, fieldPath(field), at, `${message} at byte ${at - this.from}`);
  }

  /** A null, or a value of another type. */
  protected readOther(field: FieldPlan, at: number): number {
    if (this.data[at] !== 0x6e) this.failType(field, at);
    const until = this.expectNull(at);
    if (field.required) this.failField(field, 'MISSING_REQUIRED', at, 'a required field is null');
    field.column.appendNull();
    return until;
  }

  protected failType(field: FieldPlan, at: number): never {
    this.failField(field, 'TYPE_MISMATCH', at, `expected ${typeText(field)}, found ${this.kindText(at)}`);
  }

  protected kindText(at: number): string {
    const byte = this.data[at];
    if (byte === QUOTE) return 'a string';
    if (byte === 0x7b) return 'an object';
    if (byte === 0x5b) return 'a list';
    if (byte === 0x74 || byte === 0x66) return 'a boolean';
    if (byte === 0x6e) return 'null';
    if (byte === MINUS || (byte ^ 0x30) < 10) return 'a number';
    this.failByte(at, 'a value');
  }

  private failRange(field: FieldPlan, from: number, until: number, why = ''): never {
    const text = this.slice(from, Math.min(until, from + 50));
    const shown = until - from > 50 ? `${text}...` : text;
    this.failField(field, 'OUT_OF_RANGE', from, `${shown} does not fit ${typeText(field)}${why}`);
  }

  /** ASCII bytes as a string. */
  protected slice(from: number, until: number): string {
    const { data } = this;
    if (until - from > 64)
      return Buffer.from(data.buffer, data.byteOffset + from, until - from).toString('latin1');
    let text = '';
    for (let at = from; at < until; at++) text += String.fromCharCode(data[at]);
    return text;
  }

  protected readString(field: FieldPlan, at: number): number {
    const { data, view, end } = this;
    if (data[at] !== QUOTE) return this.readOther(field, at);
    const column = field.bytes;
    const { length } = column;
    const start = column.starts[length];
    // Escapes only shrink: what is left of the value is room enough. Words of four bytes are written, whole.
    const room = end - at + 8;
    if (start + room > column.data.length || length + 2 > column.starts.length) column.reserve(1, room);
    const out = column.data;
    if (field.viewed !== out) {
      field.viewed = out;
      field.view = column.view;
    }
    const target = field.view;
    let from = at + 1;
    let to = start + 4;
    let stops = 0;
    while (from < end) {
      const word = view.getInt32(from, true);
      target.setInt32(to, word, true);
      stops = stopBits(word);
      if (stops !== 0) break;
      from += 4;
      to += 4;
    }
    if (stops !== 0) {
      const skip = firstByte(stops);
      from += skip;
      to += skip;
    }
    if (from < end && data[from] === QUOTE) {
      from++;
    } else {
      from = this.copyString(from, out, to);
      to = this.written;
    }
    target.setInt32(start, to - start - 4, true);
    column.starts[length + 1] = to;
    column.length = length + 1;
    return from;
  }

  protected readLong(field: FieldPlan, at: number): number {
    const { data } = this;
    let next = at;
    const negative = data[next] === MINUS;
    if (negative) next++;
    const first = next;
    const zero = data[next] === 0x30;
    let high = data[next] ^ 0x30;
    if (high > 9) return this.readOther(field, at);
    let digit = data[++next] ^ 0x30;
    for (const until = first + 9; digit < 10 && next < until; digit = data[++next] ^ 0x30) {
      high = high * 10 + digit;
    }
    let value = high;
    if (digit < 10) {
      const second = next;
      let low = 0;
      for (const until = first + 15; digit < 10 && next < until; digit = data[++next] ^ 0x30) {
        low = low * 10 + digit;
      }
      value = high * POWERS_OF_TEN[next - second] + low;
    }
    const byte = data[next];
    if (digit < 10 || byte === 0x2e || (byte | 0x20) === 0x65 || (zero && next - first > 1))
      return this.readLongSlow(field, at);
    if (negative) value = -value;
    field.int64.appendWords(value | 0, Math.floor(value / 4294967296));
    return next;
  }

  protected readLongSlow(field: FieldPlan, at: number): number {
    const until = this.lexNumber(at);
    const { digitCount } = this;
    const isPlain = until - at === digitCount + (this.negative ? 1 : 0);
    if (isPlain && digitCount > 9 && digitCount <= 19) {
      const lowDigits = Math.min(9, digitCount - 9);
      const last = digitCount === 19 ? this.data[until - 1] ^ 0x30 : -1;
      const power = POWERS_OF_TEN[lowDigits];
      if (!appendDigits(field.int64, this.negative, this.mantissaHigh, this.mantissaLow, power, last))
        this.failRange(field, at, until);
      return until;
    }
    const value = scaledInteger(this.slice(at, until), 0, 19, 'refuse');
    if (value === INEXACT) this.failRange(field, at, until, ', as it is not whole,');
    if (value === TOO_LARGE || value > MAX_LONG || value < MIN_LONG) this.failRange(field, at, until);
    field.int64.appendBigInt(value);
    return until;
  }

  protected readInt(field: FieldPlan, at: number): number {
    const { data } = this;
    let next = at;
    const negative = data[next] === MINUS;
    if (negative) next++;
    const first = next;
    const zero = data[next] === 0x30;
    let value = data[next] ^ 0x30;
    if (value > 9) return this.readOther(field, at);
    let digit = data[++next] ^ 0x30;
    for (const until = first + 9; digit < 10 && next < until; digit = data[++next] ^ 0x30) {
      value = value * 10 + digit;
    }
    const byte = data[next];
    if (digit < 10 || byte === 0x2e || (byte | 0x20) === 0x65 || (zero && next - first > 1))
      return this.readIntSlow(field, at);
    field.int32.append(negative ? -value : value);
    return next;
  }

  protected readIntSlow(field: FieldPlan, at: number): number {
    const until = this.lexNumber(at);
    const value = scaledInteger(this.slice(at, until), 0, 10, 'refuse');
    if (value === INEXACT) this.failRange(field, at, until, ', as it is not whole,');
    if (value === TOO_LARGE || value > 2147483647n || value < -2147483648n) this.failRange(field, at, until);
    field.int32.append(Number(value));
    return until;
  }

  protected readDouble(field: FieldPlan, at: number): number {
    const byte = this.data[at];
    if (byte !== MINUS && (byte ^ 0x30) > 9) return this.readOther(field, at);
    const until = this.lexNumber(at);
    const value = this.lexedDouble(at, until);
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
      this.failRange(field, at, until);
    field.float64.append(value);
    return until;
  }

  protected readFloat(field: FieldPlan, at: number): number {
    const byte = this.data[at];
    if (byte !== MINUS && (byte ^ 0x30) > 9) return this.readOther(field, at);
    const until = this.lexNumber(at);
    const value = Math.fround(this.lexedDouble(at, until));
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
      this.failRange(field, at, until);
    field.float32.append(value);
    return until;
  }

  /** The double nearest to the number [at, until) that was lexed last. */
  protected lexedDouble(at: number, until: number): number {
    const { digitCount } = this;
    const exponent = this.exponent - this.fractionDigits;
    let value = Number.NaN;
    if (digitCount <= 15) {
      // Both are exact doubles, and one operation rounds once (Clinger).
      value = this.lexedMantissa();
      if (exponent < 0) value = exponent >= -22 ? value / POWERS_OF_TEN[-exponent] : Number.NaN;
      else if (exponent > 0) value = exponent <= 22 ? value * POWERS_OF_TEN[exponent] : Number.NaN;
    } else if (digitCount <= 18 && exponent <= 0 && exponent >= -22) {
      const power = POWERS_OF_TEN[digitCount - 9];
      value = divideExact(this.mantissaHigh, power, this.mantissaLow, POWERS_OF_TEN[-exponent]);
    }
    if (Number.isNaN(value)) return Number(this.slice(at, until));
    return this.negative ? -value : value;
  }

  /** The mantissa of at most 15 digits. */
  private lexedMantissa(): number {
    const { digitCount } = this;
    return digitCount <= 9
      ? this.mantissaHigh
      : this.mantissaHigh * POWERS_OF_TEN[digitCount - 9] + this.mantissaLow;
  }

  /** The number that was lexed last times 10^scale, where it is whole and safe; else NaN. */
  private lexedScaled(scale: number): number {
    const shift = scale + this.exponent - this.fractionDigits;
    if (this.digitCount === 0) return 0;
    if (this.digitCount > 15 || shift < 0 || shift > 15) return Number.NaN;
    const value = this.lexedMantissa() * POWERS_OF_TEN[shift];
    if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
    return this.negative ? -value : value;
  }

  protected readDecimal(field: FieldPlan, at: number): number {
    const byte = this.data[at];
    if (byte !== MINUS && (byte ^ 0x30) > 9) return this.readOther(field, at);
    const until = this.lexNumber(at);
    const { precision, scale } = field;
    const value = this.lexedScaled(scale);
    if (Number.isNaN(value)) {
      const exact = scaledInteger(this.slice(at, until), scale, precision, this.decimalRounding);
      if (exact === INEXACT) this.failRange(field, at, until, ', as it has more digits after the point,');
      if (exact === TOO_LARGE) this.failRange(field, at, until);
      appendDecimal(field, exact);
      return until;
    }
    if (precision < 16 && Math.abs(value) >= POWERS_OF_TEN[precision]) this.failRange(field, at, until);
    if (precision <= 9) field.int32.append(value);
    else if (precision <= 18) field.int64.appendWords(value | 0, Math.floor(value / 4294967296));
    else {
      writeBigEndianNumber(field.scratch, 0, field.width, value);
      field.fixed.append(field.scratch);
    }
    return until;
  }

  protected readBoolean(field: FieldPlan, at: number): number {
    const byte = this.data[at];
    if (byte !== 0x74 && byte !== 0x66) return this.readOther(field, at);
    const until = this.expectBoolean(at);
    field.booleans.append(byte === 0x74);
    return until;
  }

  protected readTimestamp(field: FieldPlan, at: number): number {
    const byte = this.data[at];
    if (byte !== QUOTE) {
      if (byte !== MINUS && (byte ^ 0x30) > 9) return this.readOther(field, at);
      return this.readEpoch(field, at);
    }
    const { timestamps } = this;
    if (at + 21 < this.end) {
      const behind = timestamps.readCommon(this.data, this.view, at + 1);
      if (behind >= 0 && this.data[behind] === QUOTE) {
        this.appendTimestamp(field, at);
        return behind + 1;
      }
    }
    return this.readOddTimestamp(field, at);
  }

  /** A text that is no timestamp of the commonest form. */
  protected readOddTimestamp(field: FieldPlan, at: number): number {
    const until = this.readText(at);
    const { timestamps } = this;
    if (!timestamps.readTimestamp(this.text, this.textFrom, this.textUntil))
      this.failField(
        field,
        'BAD_TIMESTAMP',
        at,
        'expected yyyy-MM-ddTHH:mm:ss with a fraction and a zone as you like (Z, +hh:mm, +hhmm, +hh), found another text',
      );
    this.appendTimestamp(field, at);
    return until;
  }

  /** Appends the timestamp that was read last, from the text at `at`. */
  private appendTimestamp(field: FieldPlan, at: number): void {
    const { timestamps } = this;
    if (timestamps.zoned && !field.zoned)
      this.failField(field, 'BAD_TIMESTAMP', at, `${typeText(field)} has no zone, found a text with one`);
    let seconds = timestamps.days * 86_400 + timestamps.secondOfDay;
    if (timestamps.zoned) seconds -= timestamps.offsetSeconds;
    else if (field.zoned) seconds -= this.clock.offsetOf(seconds);
    if (seconds < MIN_SECONDS || seconds >= END_SECONDS)
      this.failField(field, 'OUT_OF_RANGE', at, 'the moment is outside of the years 0001 to 9999 of UTC');
    const fits =
      field.digits === 6
        ? appendScaled(field.int64, seconds, 1_000_000, Math.floor(timestamps.nanos / 1000))
        : appendScaled(field.int64, seconds, 1_000_000_000, timestamps.nanos);
    if (!fits) this.failField(field, 'OUT_OF_RANGE', at, `the moment does not fit ${typeText(field)}`);
  }

  /** A number since 1970, in the unit of the format; what is finer than the column goes, toward the past. */
  protected readEpoch(field: FieldPlan, at: number): number {
    const until = this.lexNumber(at);
    const { digits } = field;
    const value = this.lexedScaled(digits - this.unitDigits);
    if (Number.isNaN(value)) {
      const perSecond = digits === 6 ? 1_000_000n : 1_000_000_000n;
      const exact = scaledInteger(this.slice(at, until), digits - this.unitDigits, 21, 'floor');
      if (exact === TOO_LARGE || exact === INEXACT) this.failRange(field, at, until);
      const outside = exact < MIN_SECONDS_EXACT * perSecond || exact >= END_SECONDS_EXACT * perSecond;
      if (outside || exact > MAX_LONG || exact < MIN_LONG) this.failRange(field, at, until);
      field.int64.appendBigInt(exact);
      return until;
    }
    // A safe integer: within 285 years of 1970.
    field.int64.appendWords(value | 0, Math.floor(value / 4294967296));
    return until;
  }

  protected readDate(field: FieldPlan, at: number): number {
    if (this.data[at] !== QUOTE) return this.readOther(field, at);
    const until = this.readText(at);
    if (!this.timestamps.readDate(this.text, this.textFrom, this.textUntil))
      this.failField(field, 'BAD_TIMESTAMP', at, 'expected yyyy-MM-dd, found another text');
    field.int32.append(this.timestamps.days);
    return until;
  }

  protected readTime(field: FieldPlan, at: number): number {
    if (this.data[at] !== QUOTE) return this.readOther(field, at);
    const until = this.readText(at);
    const { timestamps } = this;
    if (!timestamps.readTime(this.text, this.textFrom, this.textUntil))
      this.failField(
        field,
        'BAD_TIMESTAMP',
        at,
        'expected HH:mm:ss with a fraction as you like, found another text',
      );
    appendScaled(field.int64, timestamps.secondOfDay, 1_000_000, Math.floor(timestamps.nanos / 1000));
    return until;
  }

  protected readUuid(field: FieldPlan, at: number): number {
    if (this.data[at] !== QUOTE) return this.readOther(field, at);
    const until = this.readText(at);
    if (!decodeUuid(this.text, this.textFrom, this.textUntil, field.scratch))
      this.failField(
        field,
        'TYPE_MISMATCH',
        at,
        'expected a uuid of 8-4-4-4-12 hexadecimal digits, found another text',
      );
    field.fixed.append(field.scratch);
    return until;
  }

  /** Base64 (RFC 4648, section 4) into a binary column. */
  protected readBinary(field: FieldPlan, at: number): number {
    if (this.data[at] !== QUOTE) return this.readOther(field, at);
    const until = this.readText(at);
    const size = this.base64Size(field, at);
    const column = field.bytes;
    column.reserve(1, size + 4);
    const start = column.end;
    decodeBase64(this.text, this.textFrom, this.textUntil, column.data, start + 4);
    column.view.setInt32(start, size, true);
    column.length++;
    column.starts[column.length] = start + 4 + size;
    return until;
  }

  protected readFixed(field: FieldPlan, at: number): number {
    if (this.data[at] !== QUOTE) return this.readOther(field, at);
    const until = this.readText(at);
    const size = this.base64Size(field, at);
    if (size !== field.width)
      this.failField(
        field,
        'OUT_OF_RANGE',
        at,
        `expected base64 of ${field.width} bytes, found ${size} bytes`,
      );
    decodeBase64(this.text, this.textFrom, this.textUntil, field.scratch, 0);
    field.fixed.append(field.scratch);
    return until;
  }

  protected base64Size(field: FieldPlan, at: number): number {
    const size = base64Size(this.text, this.textFrom, this.textUntil);
    if (size < 0) this.failField(field, 'TYPE_MISMATCH', at, 'expected base64, found another text');
    return size;
  }
}

/** Appends an unscaled decimal of at most the field's precision. */
export function appendDecimal(field: FieldPlan, value: bigint): void {
  if (field.precision <= 9) field.int32.append(Number(value));
  else if (field.precision <= 18) field.int64.appendBigInt(value);
  else {
    writeBigEndian(field.scratch, 0, field.width, value);
    field.fixed.append(field.scratch);
  }
}

/** The type as it is called in messages. */
export function typeText(field: FieldPlan): string {
  return typeof field.type === 'string' ? field.type : `a ${field.type.type}`;
}
