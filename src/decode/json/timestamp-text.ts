/**
 * Dates, times and timestamps as ISO 8601 texts, read from bytes without a string being made. Years 0001 to 9999, days of
 * the calendar, hours 00 to 23, no leap seconds. A fraction of the second may have any number of digits; what is beyond
 * nanoseconds is cut off. A zone is Z, +hh:mm, +hhmm or +hh, at most 18 hours from UTC.
 */
export class TimestampText {
  /** Days since 1970. */
  days = 0;
  secondOfDay = 0;
  /** Of the second. */
  nanos = 0;
  /** Did the text name its zone? */
  zoned = false;
  /** Of the zone, ahead of UTC. */
  offsetSeconds = 0;

  private at = 0;
  /** The date that was taken last, packed; none at first. */
  private lastDate = -1;
  private lastDays = 0;

  /** `yyyy-MM-ddTHH:mm[:ss[.f]][zone]`, with a T or a space. False where [from, until) is nothing of the kind. */
  readTimestamp(bytes: Uint8Array, from: number, until: number): boolean {
    if (until - from < 16 || !this.readDateAt(bytes, from)) return false;
    const separator = bytes[from + 10];
    if (separator !== 0x54 && separator !== 0x20) return false;
    if (!this.readClockAt(bytes, from + 11, until)) return false;
    return this.readZone(bytes, this.at, until);
  }

  /**
   * The commonest form, `yyyy-MM-ddTHH:mm:ss[.f][Z]`, in words of four bytes. Gives the position behind it, or -1 where
   * something else stands there, which may still be a timestamp. There are 20 bytes or more from `at`.
   */
  readCommon(bytes: Uint8Array, view: DataView, at: number): number {
    const year = view.getInt32(at, true) ^ 0x30303030;
    const month = view.getInt32(at + 4, true) ^ 0x2d30302d;
    const dayHour = view.getInt32(at + 8, true) ^ 0x30543030;
    const hourMinute = view.getInt32(at + 12, true) ^ 0x30303a30;
    const second = (view.getInt32(at + 16, true) ^ 0x0030303a) & 0xffffff;
    // Now digits are 0 to 9 and separators 0.
    const separators = (month & 0xff0000ff) | (dayHour & 0xff0000) | (hourMinute & 0xff00) | (second & 0xff);
    const digits =
      year |
      (year + 0x06060606) |
      month |
      (month + 0x06060606) |
      dayHour |
      (dayHour + 0x06060606) |
      hourMinute |
      (hourMinute + 0x06060606) |
      second |
      (second + 0x06060606);
    if (separators !== 0 || (digits & 0xf0f0f0f0) !== 0) return -1;
    const years = year * 10 + (year >>> 8);
    const hours = (dayHour >>> 24) * 10 + (hourMinute & 0xff);
    const minutes = ((hourMinute >>> 16) & 0xff) * 10 + (hourMinute >>> 24);
    const seconds = ((second >>> 8) & 0xff) * 10 + (second >>> 16);
    if (hours > 23 || minutes > 59 || seconds > 59) return -1;
    if (
      !this.setDate(
        (years & 0xff) * 100 + ((years >>> 16) & 0xff),
        ((month >>> 8) & 0xff) * 10 + ((month >>> 16) & 0xff),
        (dayHour & 0xff) * 10 + ((dayHour >>> 8) & 0xff),
      )
    )
      return -1;
    this.secondOfDay = hours * 3600 + minutes * 60 + seconds;
    this.nanos = 0;
    this.offsetSeconds = 0;
    let next = at + 19;
    if (bytes[next] === 0x2e) {
      const first = ++next;
      let fraction = 0;
      let digit = bytes[next] ^ 0x30;
      for (; digit < 10 && next - first < 9; digit = bytes[++next] ^ 0x30) fraction = fraction * 10 + digit;
      if (digit < 10 || next === first) return -1;
      this.nanos = fraction * NANOS_OF_DIGITS[next - first];
    }
    this.zoned = bytes[next] === 0x5a;
    return this.zoned ? next + 1 : next;
  }

  /** `yyyy-MM-dd`. */
  readDate(bytes: Uint8Array, from: number, until: number): boolean {
    return until - from === 10 && this.readDateAt(bytes, from);
  }

  /** `HH:mm[:ss[.f]]`. */
  readTime(bytes: Uint8Array, from: number, until: number): boolean {
    return until - from >= 5 && this.readClockAt(bytes, from, until) && this.at === until;
  }

  private readDateAt(bytes: Uint8Array, from: number): boolean {
    if (bytes[from + 4] !== 0x2d || bytes[from + 7] !== 0x2d) return false;
    const century = twoDigits(bytes, from);
    const ofCentury = twoDigits(bytes, from + 2);
    const month = twoDigits(bytes, from + 5);
    const day = twoDigits(bytes, from + 8);
    if (century < 0 || ofCentury < 0 || month < 0 || day < 0) return false;
    return this.setDate(century * 100 + ofCentury, month, day);
  }

  /** Takes a date, where it is one of the calendar and of the years 0001 to 9999. */
  setDate(year: number, month: number, day: number): boolean {
    const packed = (year << 9) | (month << 5) | day;
    if (packed !== this.lastDate) {
      if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return false;
      this.lastDays = daysFromCivil(year, month, day);
      this.lastDate = packed;
    }
    this.days = this.lastDays;
    return true;
  }

  private readClockAt(bytes: Uint8Array, from: number, until: number): boolean {
    const hour = twoDigits(bytes, from);
    const minute = twoDigits(bytes, from + 3);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || bytes[from + 2] !== 0x3a) return false;
    let second = 0;
    let at = from + 5;
    this.nanos = 0;
    if (at < until && bytes[at] === 0x3a) {
      if (at + 3 > until) return false;
      second = twoDigits(bytes, at + 1);
      if (second < 0 || second > 59) return false;
      at += 3;
      if (at < until && bytes[at] === 0x2e) {
        at = this.readFraction(bytes, at + 1, until);
        if (at < 0) return false;
      }
    }
    this.secondOfDay = hour * 3600 + minute * 60 + second;
    this.at = at;
    return true;
  }

  private readFraction(bytes: Uint8Array, from: number, until: number): number {
    let nanos = 0;
    let at = from;
    for (; at < until && (bytes[at] ^ 0x30) < 10; at++) {
      if (at - from < 9) nanos = nanos * 10 + (bytes[at] ^ 0x30);
    }
    if (at === from) return -1;
    for (let digits = at - from; digits < 9; digits++) nanos *= 10;
    this.nanos = nanos;
    return at;
  }

  private readZone(bytes: Uint8Array, from: number, until: number): boolean {
    this.zoned = from < until;
    this.offsetSeconds = 0;
    if (!this.zoned) return true;
    const sign = bytes[from];
    const length = until - from;
    if (sign === 0x5a) return length === 1;
    if (sign !== 0x2b && sign !== 0x2d) return false;
    const colon = length === 6 ? 1 : 0;
    if (length !== 3 && length !== 5 && (length !== 6 || bytes[from + 3] !== 0x3a)) return false;
    const hours = twoDigits(bytes, from + 1);
    const minutes = length === 3 ? 0 : twoDigits(bytes, from + 3 + colon);
    if (hours < 0 || minutes < 0 || minutes > 59 || hours * 60 + minutes > 18 * 60) return false;
    const seconds = hours * 3600 + minutes * 60;
    this.offsetSeconds = sign === 0x2d ? -seconds : seconds;
    return true;
  }
}

/** By how much a fraction of so many digits is multiplied to be nanoseconds. */
const NANOS_OF_DIGITS = [1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1000, 100, 10, 1];

/** The number of two digits, or -1. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at] ^ 0x30;
  const ones = bytes[at + 1] ^ 0x30;
  return tens > 9 || ones > 9 ? -1 : tens * 10 + ones;
}

const DAYS_OF_MONTH = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysOfMonth(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return leap ? 29 : DAYS_OF_MONTH[month];
}

/** Days since 1970-01-01 of a date of the proleptic Gregorian calendar (Hinnant's days_from_civil). */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
