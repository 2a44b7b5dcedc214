import { isTimeZone } from '../../core/partition-time.ts';
import { LocalClock } from './local-clock.ts';
import { daysFromCivil } from './timestamp-text.ts';

/**
 * Dates and timestamps as Spark reads them from texts when no format is given (SparkDateTimeUtils: `stringToDate`,
 * `parseTimestampString`): months, days, hours and so on of one or two digits, years of four to six (dates: seven) with a
 * sign, a date or a part of it alone, zones by name.
 *
 * A time without a date is refused here; Spark takes the date of the day on which it reads.
 */

/** Zones of three letters that Spark knows beside those of the time zone database (java.time.ZoneId.SHORT_IDS). */
const SHORT_ZONES: Record<string, string> = {
  EST: '-05:00',
  HST: '-10:00',
  MST: '-07:00',
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Anchorage',
  BET: 'America/Sao_Paulo',
  BST: 'Asia/Dhaka',
  CAT: 'Africa/Harare',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Addis_Ababa',
  ECT: 'Europe/Paris',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
};

/** Spaces and control characters of ASCII are taken off at both ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what Spark takes off
const TRIMMED = /^[\u0000-\u0020\u007f]*(.*?)[\u0000-\u0020\u007f]*$/s;

const DATE = /^([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?$/s;
const TIMESTAMP =
  /^([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*)?)?)?)?)?)?)?$/s;

export class SparkTime {
  private readonly clock: LocalClock;
  private readonly clocks = new Map<string, LocalClock | number | undefined>();

  /** Throws CONFIG_INVALID for a name that is no time zone. */
  constructor(timeZone: string) {
    this.clock = new LocalClock(timeZone);
  }

  /** Days since 1970; undefined for a text that is no date. */
  readDate(text: string): number | undefined {
    const trimmed = (TRIMMED.exec(text) as RegExpExecArray)[1];
    const match = DATE.exec(trimmed);
    if (match !== null) {
      const days = daysOf(match[1], match[2], match[3], match[4]);
      if (days !== undefined) return days;
    }
    // As Spark 1.5 wrote dates: days, in the calendar that was Julian until 1582.
    if (!/^[+-]?\d{1,10}$/.test(text)) return undefined;
    const days = Number(text);
    return (days | 0) === days ? fromHybridDays(days) : undefined;
  }

  /**
   * Since 1970, with so many digits of the second; undefined for a text that is no timestamp. Where the column has no zone,
   * texts with one are none. (Spark itself knows microseconds only.)
   */
  readTimestamp(text: string, zoned: boolean, digits: number): bigint | undefined {
    const units = this.readUnits(text, zoned, digits);
    if (units !== undefined || !zoned || !text.includes('GMT')) return units;
    return this.readUnits(text.replaceAll('GMT', ''), zoned, digits);
  }

  private readUnits(text: string, zoned: boolean, digits: number): bigint | undefined {
    const match = TIMESTAMP.exec((TRIMMED.exec(text) as RegExpExecArray)[1]);
    if (match === null) return undefined;
    const [, sign, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match;
    const days = daysOf(sign, year, month, day);
    if (days === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
      return undefined;
    let seconds = days * 86_400 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
    if (zone !== undefined && !zoned) return undefined;
    if (zoned) {
      const offset = zone === undefined ? this.clock.offsetOf(seconds) : this.offsetOf(zone, seconds);
      if (offset === undefined) return undefined;
      seconds -= offset;
    }
    const units =
      BigInt(seconds) * 10n ** BigInt(digits) + BigInt(fraction.slice(0, digits).padEnd(digits, '0'));
    return BigInt.asIntN(64, units) === units ? units : undefined;
  }

  private offsetOf(zone: string, localSeconds: number): number | undefined {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as Java's String.trim
    const name = zone.replace(/^[\u0000-\u0020]+|[\u0000-\u0020]+$/g, '');
    if (!this.clocks.has(name)) {
      if (this.clocks.size >= 1000) this.clocks.clear();
      this.clocks.set(name, zoneOf(name));
    }
    const clock = this.clocks.get(name);
    return typeof clock === 'number' ? clock : clock?.offsetOf(localSeconds);
  }
}

function daysOf(sign: string, year: string, month = '1', day = '1'): number | undefined {
  const [y, m, d] = [Number(sign + year), Number(month), Number(day)];
  if (m < 1 || m > 12 || d < 1 || d > 31) return undefined;
  const days = daysFromCivil(y, m, d);
  // A day beyond the end of its month would be one of the next.
  const nextMonth = m === 12 ? daysFromCivil(y + 1, 1, 1) : daysFromCivil(y, m + 1, 1);
  return days < nextMonth && (days | 0) === days ? days : undefined;
}

/** A zone's fixed offset in seconds, or its clock; undefined for a name that is none. */
function zoneOf(name: string): number | LocalClock | undefined {
  const full = name.replace(/([+-])(\d):/, '$10$2:').replace(/([+-]\d\d):(\d)$/, '$1:0$2');
  const id = Object.hasOwn(SHORT_ZONES, full) ? SHORT_ZONES[full] : full;
  if (/^(?:Z|UTC|GMT|UT)$/.test(id)) return 0;
  const offset = /^(?:UTC|GMT|UT)?([+-].*)$/.exec(id);
  if (offset !== null) return fixedOffset(offset[1]);
  if (!/^[A-Za-z][A-Za-z0-9~/._+-]+$/.test(id) || !isTimeZone(id)) return undefined;
  // Intl takes names in any case, Java as they are.
  const canonical = new Intl.DateTimeFormat('en-US', { timeZone: id }).resolvedOptions().timeZone;
  if (canonical !== id && canonical.toLowerCase() === id.toLowerCase()) return undefined;
  return new LocalClock(id);
}

/** +h, +hh, +hhmm, +hh:mm, +hhmmss, +hh:mm:ss; at most 18 hours. */
function fixedOffset(text: string): number | undefined {
  const match = /^([+-])(\d{1,2})(?:(\d\d)(\d\d)?|:(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (match === null || (match[2].length === 1 && text.length > 2)) return undefined;
  const minutes = Number(match[3] ?? match[5] ?? 0);
  const seconds = Number(match[4] ?? match[6] ?? 0);
  const total = Number(match[2]) * 3600 + minutes * 60 + seconds;
  if (minutes > 59 || seconds > 59 || total > 18 * 3600) return undefined;
  return match[1] === '-' ? -total : total;
}

/** The first day that is Gregorian in the hybrid calendar: 1582-10-15. */
const GREGORIAN_START = -141_427;

/** The day of the proleptic Gregorian calendar with the name that a day has in the calendar that was Julian until 1582. */
function fromHybridDays(days: number): number {
  if (days >= GREGORIAN_START) return days;
  // Civil date of the Julian calendar: years of 365.25 days that begin in March; 719470 days before 1970 is 0000-03-01.
  const shifted = days + 719_470;
  const era = Math.floor(shifted / 1461);
  const ofEra = shifted - era * 1461;
  const yearOfEra = Math.min(3, Math.floor(ofEra / 365));
  const ofYear = ofEra - yearOfEra * 365;
  const month = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = era * 4 + yearOfEra + (month >= 10 ? 1 : 0);
  return daysFromCivil(year, month >= 10 ? month - 9 : month + 3, day);
}
