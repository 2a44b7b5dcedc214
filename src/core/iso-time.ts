/** Dates and times as ISO 8601 texts over the whole range of an Iceberg value: days, microseconds, nanoseconds since 1970. */

/** Year, month 1..12 and day 1..31 of the days since 1970-01-01, proleptic Gregorian (Hinnant's civil_from_days). */
export function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}

/** Days since 1970-01-01 of a date. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const pad = (value: number, width: number): string => String(value).padStart(width, '0');

/** A year as Java formats `%04d`: at least four digits, the sign in front. */
function yearText(year: number): string {
  return year < 0 ? `-${pad(-year, 3)}` : pad(year, 4);
}

export function yearsText(years: number): string {
  return yearText(1970 + years);
}

export function monthsText(months: number): string {
  return `${yearText(1970 + Math.floor(months / 12))}-${pad(months - Math.floor(months / 12) * 12 + 1, 2)}`;
}

export function dateText(days: number): string {
  const { year, month, day } = civilFromDays(days);
  return `${yearText(year)}-${pad(month, 2)}-${pad(day, 2)}`;
}

export function hoursText(hours: number): string {
  const days = Math.floor(hours / 24);
  return `${dateText(days)}-${pad(hours - days * 24, 2)}`;
}

/** Floor division, for a divisor above 0. */
export function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

/** Microseconds of a day as HH:mm:ss.ffffff. */
export function timeText(micros: bigint): string {
  const seconds = Number(micros / 1_000_000n);
  const clock = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return `${clock}.${pad(Number(micros % 1_000_000n), 6)}`;
}

/** Units (microseconds for `digits` 6, nanoseconds for 9) since 1970 as yyyy-MM-ddTHH:mm:ss with `digits` after the point. */
export function timestampText(units: bigint, digits: 6 | 9): string {
  const perSecond = 10n ** BigInt(digits);
  const perDay = 86_400n * perSecond;
  const days = floorDiv(units, perDay);
  const ofDay = units - days * perDay;
  const seconds = Number(ofDay / perSecond);
  const clock = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return `${dateText(Number(days))}T${clock}.${pad(Number(ofDay % perSecond), digits)}`;
}

const DATE = /^(-?\d{4,6})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;

/** Days since 1970, or undefined where the text is no date of the calendar. */
export function parseDate(text: string): number | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (month < 1 || month > 12) return undefined;
  const days = daysFromCivil(year, month, day);
  return civilFromDays(days).day === day ? days : undefined;
}

export function parseTime(text: string): bigint | undefined {
  return parseClock(text, 6);
}

function parseClock(text: string, digits: 6 | 9): bigint | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
  const fraction = match[4] ?? '';
  if (hour > 23 || minute > 59 || second > 59 || fraction.length > digits) return undefined;
  return (
    BigInt(hour * 3600 + minute * 60 + second) * 10n ** BigInt(digits) + BigInt(fraction.padEnd(digits, '0'))
  );
}

/** Units since 1970, or undefined. With a zone the text must end in +00:00 (or Z), without it must not. */
export function parseTimestamp(text: string, digits: 6 | 9, zone: boolean): bigint | undefined {
  const zoned = /(?:\+00:00|Z)$/.test(text);
  if (zoned !== zone) return undefined;
  const [date, clock, ...rest] = text.replace(/(?:\+00:00|Z)$/, '').split('T');
  const days = parseDate(date);
  const ofDay = clock === undefined || rest.length > 0 ? undefined : parseClock(clock, digits);
  return days === undefined || ofDay === undefined
    ? undefined
    : BigInt(days) * 86_400n * 10n ** BigInt(digits) + ofDay;
}
