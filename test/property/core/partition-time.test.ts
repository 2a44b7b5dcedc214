import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dtOfHourKey, hourOfHourKey, PartitionTime } from '../../../src/core/partition-time.ts';

const ZONES = [
  'UTC',
  'Asia/Seoul',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'America/St_Johns',
  'America/New_York',
  'America/Sao_Paulo',
  'Europe/London',
  'Europe/Dublin',
  'Europe/Amsterdam',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Africa/Monrovia',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Asia/Tehran',
  'Asia/Gaza',
  'Antarctica/Troll',
  'America/Caracas',
  'Asia/Pyongyang',
  'Etc/GMT+12',
  'Africa/Freetown',
];

const formats = new Map<string, Intl.DateTimeFormat>();

/** dt and hour straight from Intl, one call per timestamp. */
function naive(zone: string, ms: number): [string, number] {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      era: 'short',
    });
    formats.set(zone, format);
  }
  const part = Object.fromEntries(format.formatToParts(ms).map((p) => [p.type, p.value]));
  return [`${part.year.padStart(4, '0')}-${part.month}-${part.day}`, Number(part.hour)];
}

const YEAR_2 = Date.UTC(2000, 0, 1) - 1998 * 365.2425 * 86_400_000;
const YEAR_9998 = Date.UTC(9998, 11, 31);
const ms = fc.oneof(
  fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2030, 0, 1) }),
  fc.integer({ min: Date.UTC(1880, 0, 1), max: Date.UTC(1990, 0, 1) }),
  fc.integer({ min: Math.ceil(YEAR_2), max: YEAR_9998 }),
  fc.integer({ min: -7_200_000, max: 7_200_000 }),
);

/** A moment at which the clocks of the zone are changed, found by halving between two that differ. */
function nearTransition(zone: string, from: number, to: number): number | undefined {
  const offset = (at: number) => {
    const [dt, hour] = naive(zone, at);
    return Math.round((Date.parse(`${dt}T${String(hour).padStart(2, '0')}:00Z`) - at) / 900_000);
  };
  const hour = 3_600_000;
  let low = Math.floor(from / hour) * hour;
  let high = Math.floor(to / hour) * hour;
  if (offset(low) === offset(high)) return undefined;
  while (high - low > hour) {
    const middle = low + Math.floor((high - low) / 2 / hour) * hour;
    if (offset(middle) === offset(low)) low = middle;
    else high = middle;
  }
  return low;
}

describe('PartitionTime', () => {
  it('agrees with Intl, in every zone and whatever was asked before', () => {
    const times = new Map(ZONES.map((zone) => [zone, new PartitionTime(zone)]));
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        ms,
        fc.integer({ min: -90_000_000, max: 90_000_000 }),
        (zone, moment, step) => {
          const time = times.get(zone)!;
          for (const at of [moment, moment + step, moment]) {
            const key = time.hourKeyOf(at);
            expect([dtOfHourKey(key), hourOfHourKey(key)]).toEqual(naive(zone, at));
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('gives stretches that hold the moment, are an hour at most, and do not change inside', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), ms, (zone, moment) => {
        const { startMs, endMs, dt, hour } = new PartitionTime(zone).stretchOf(moment);
        expect(startMs <= moment && moment < endMs && endMs - startMs <= 3_600_000).toBe(true);
        for (const at of [startMs, endMs - 1, startMs + Math.floor((endMs - startMs) / 2)])
          expect(naive(zone, at)).toEqual([dt, hour]);
      }),
      { numRuns: 500 },
    );
  });

  it('is exact to the millisecond around changes of the clocks', () => {
    let changes = 0;
    for (const zone of ZONES) {
      const time = new PartitionTime(zone);
      for (let year = 1890; year < 2037; year += 7) {
        const change =
          nearTransition(zone, Date.UTC(year, 0, 1), Date.UTC(year, 6, 1)) ??
          nearTransition(zone, Date.UTC(year, 6, 1), Date.UTC(year + 1, 0, 1));
        if (change === undefined) continue;
        changes++;
        for (let at = change - 3_600_000; at < change + 3 * 3_600_000; at += 300_000) {
          const { startMs, endMs } = time.stretchOf(at);
          for (const moment of [at, startMs - 1, startMs, endMs - 1, endMs]) {
            const key = time.hourKeyOf(moment);
            expect([zone, moment, dtOfHourKey(key), hourOfHourKey(key)]).toEqual([
              zone,
              moment,
              ...naive(zone, moment),
            ]);
          }
        }
      }
    }
    expect(changes).toBeGreaterThan(100);
  });
});
