import { SluiceError } from '../errors.ts';
import { ZoneOffsets } from './zone-offsets.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Local hours (hours since 1970-01-01T00 on the zone's clocks) of the years 0001 to 9999: [first, end). */
const FIRST_HOUR = -62_135_596_800_000 / HOUR_MS;
const END_HOUR = 253_402_300_800_000 / HOUR_MS;

/** The hour key of a timestamp outside of the years 0001 to 9999. */
export const NO_HOUR = -0x80000000;

/** A stretch of time [startMs, endMs), ms since 1970, in which dt and hour do not change. */
export interface HourStretch {
  startMs: number;
  endMs: number;
  /** See `PartitionTime.hourKeyOf`. */
  hourKey: number;
  /** yyyy-MM-dd; null outside of the years 0001 to 9999. */
  dt: string | null;
  /** 0 to 23; null where dt is. */
  hour: number | null;
}

/**
 * dt and hour of a timestamp on the clocks of an IANA time zone: the partition columns of the bronze layout (spec 50).
 * Exact to the millisecond for every zone and year, transitions and offsets with odd minutes and seconds included.
 * A timestamp outside of the years 0001 to 9999 has none (the null partition). Nothing is allocated for a timestamp of
 * the hour that was asked for last.
 */
export class PartitionTime {
  readonly timeZone: string;
  readonly #zone: ZoneOffsets;
  #startMs = 1;
  #endMs = 0;
  #hourKey = NO_HOUR;

  /** Throws CONFIG_INVALID for a name that is no time zone. */
  constructor(timeZone: string) {
    if (!isTimeZone(timeZone)) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `timeZone ${JSON.stringify(timeZone)}: expected the name of a time zone, such as UTC or Asia/Seoul`,
      );
    }
    this.timeZone = timeZone;
    this.#zone = new ZoneOffsets(timeZone);
  }

  /**
   * The hour on the zone's clocks as one integer: equal for two timestamps exactly when their dt and hour are. (When the
   * clocks go back an hour comes twice, and both times are one partition.)
   */
  hourKeyOf(ms: number): number {
    if (!(ms >= this.#startMs && ms < this.#endMs)) this.#enter(ms);
    return this.#hourKey;
  }

  /** The stretch around a timestamp, at most one hour long, in which the hour key does not change. */
  stretchOf(ms: number): HourStretch {
    const hourKey = this.hourKeyOf(ms);
    return {
      startMs: this.#startMs,
      endMs: this.#endMs,
      hourKey,
      dt: dtOfHourKey(hourKey),
      hour: hourOfHourKey(hourKey),
    };
  }

  #enter(ms: number): void {
    const local = Math.floor(ms / HOUR_MS);
    // A zone's clocks are never a day away from UTC: beyond two days there is nothing to look up, and Intl ends there too.
    if (!(local >= FIRST_HOUR - 48)) {
      this.#set(NO_HOUR, Number.NEGATIVE_INFINITY, (FIRST_HOUR - 48) * HOUR_MS);
    } else if (local >= END_HOUR + 48) {
      this.#set(NO_HOUR, (END_HOUR + 48) * HOUR_MS, Number.POSITIVE_INFINITY);
    } else {
      const { offsetMs, startMs, endMs } = this.#zone.pieceOf(ms);
      const hour = Math.floor((ms + offsetMs) / HOUR_MS);
      const known = hour >= FIRST_HOUR && hour < END_HOUR;
      this.#set(
        known ? hour : NO_HOUR,
        Math.max(startMs, hour * HOUR_MS - offsetMs),
        Math.min(endMs, (hour + 1) * HOUR_MS - offsetMs),
      );
    }
  }

  #set(hourKey: number, startMs: number, endMs: number): void {
    this.#hourKey = hourKey;
    this.#startMs = startMs;
    this.#endMs = endMs;
  }
}

/** Is it a name that `Intl` knows as a time zone? */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return name !== '';
  } catch {
    return false;
  }
}

/** yyyy-MM-dd of an hour key, or null for NO_HOUR. */
export function dtOfHourKey(hourKey: number): string | null {
  if (hourKey === NO_HOUR) return null;
  return new Date(Math.floor(hourKey / 24) * DAY_MS).toISOString().slice(0, 10);
}

/** 0 to 23 of an hour key, or null for NO_HOUR. */
export function hourOfHourKey(hourKey: number): number | null {
  if (hourKey === NO_HOUR) return null;
  return hourKey - Math.floor(hourKey / 24) * 24;
}
