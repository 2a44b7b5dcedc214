import { describe, expect, it } from 'vitest';
import {
  dtOfHourKey,
  hourOfHourKey,
  isTimeZone,
  NO_HOUR,
  PartitionTime,
} from '../../../src/core/partition-time.ts';

const at = (zone: string, iso: string) => {
  const { dt, hour } = new PartitionTime(zone).stretchOf(Date.parse(iso));
  return [dt, hour];
};

describe('dt and hour in a time zone', () => {
  it.each<[string, string, string, number]>([
    ['UTC', '2024-03-10T23:59:59.999Z', '2024-03-10', 23],
    ['UTC', '1969-12-31T23:59:59.999Z', '1969-12-31', 23],
    ['UTC', '0001-01-01T00:00:00Z', '0001-01-01', 0],
    ['UTC', '9999-12-31T23:59:59.999Z', '9999-12-31', 23],
    ['UTC', '2000-02-29T12:00:00Z', '2000-02-29', 12],
    // A KST day is one partition (seed 004).
    ['Asia/Seoul', '2024-07-13T15:00:00Z', '2024-07-14', 0],
    ['Asia/Seoul', '2024-07-13T14:59:59.999Z', '2024-07-13', 23],
    // Offsets of 45 and 30 minutes.
    ['Asia/Kathmandu', '2024-01-01T18:14:59.999Z', '2024-01-01', 23],
    ['Asia/Kathmandu', '2024-01-01T18:15:00Z', '2024-01-02', 0],
    ['America/St_Johns', '2024-01-01T03:29:59.999Z', '2023-12-31', 23],
    ['America/St_Johns', '2024-01-01T03:30:00Z', '2024-01-01', 0],
    ['Pacific/Chatham', '2024-01-01T10:15:00Z', '2024-01-02', 0],
    // Summer time: an hour is left out, an hour comes twice.
    ['America/New_York', '2024-03-10T06:59:59.999Z', '2024-03-10', 1],
    ['America/New_York', '2024-03-10T07:00:00Z', '2024-03-10', 3],
    ['America/New_York', '2024-11-03T05:30:00Z', '2024-11-03', 1],
    ['America/New_York', '2024-11-03T06:30:00Z', '2024-11-03', 1],
    ['America/New_York', '2024-11-03T07:00:00Z', '2024-11-03', 2],
    // Half an hour of summer time.
    ['Australia/Lord_Howe', '2024-04-06T14:59:59.999Z', '2024-04-07', 1],
    ['Australia/Lord_Howe', '2024-04-06T15:00:00Z', '2024-04-07', 1],
    ['Australia/Lord_Howe', '2024-04-06T15:30:00Z', '2024-04-07', 2],
    // Offsets with seconds: -00:44:30 until 1972.
    ['Africa/Monrovia', '1972-01-07T00:44:29.999Z', '1972-01-06', 23],
    ['Africa/Monrovia', '1972-01-07T00:44:30Z', '1972-01-07', 0],
    // A day that did not take place.
    ['Pacific/Apia', '2011-12-30T09:59:59.999Z', '2011-12-29', 23],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31', 0],
    ['+05:30', '2024-01-01T18:30:00Z', '2024-01-02', 0],
  ])('%s at %s: %s %d', (zone, iso, dt, hour) => expect(at(zone, iso)).toEqual([dt, hour]));

  it('C19: the last moments before 1970 have their own day and hour', () => {
    const utc = new PartitionTime('UTC');
    expect([-1, -1000, -86_400_000, 0].map((ms) => [utc.stretchOf(ms).dt, utc.stretchOf(ms).hour])).toEqual([
      ['1969-12-31', 23],
      ['1969-12-31', 23],
      ['1969-12-31', 0],
      ['1970-01-01', 0],
    ]);
  });

  it('has none outside of the years 0001 to 9999', () => {
    for (const zone of ['UTC', 'Asia/Seoul', 'America/New_York']) {
      const time = new PartitionTime(zone);
      for (const ms of [
        -62_135_596_800_001 - 86_400_000,
        253_402_300_800_000 + 86_400_000,
        9e18,
        -9e18,
        8.64e15 + 1,
        Number.MAX_VALUE,
        Number.NaN,
        Number.POSITIVE_INFINITY,
      ]) {
        expect(time.hourKeyOf(ms)).toBe(NO_HOUR);
        expect(time.stretchOf(ms)).toMatchObject({ dt: null, hour: null });
      }
      expect(time.hourKeyOf(0)).not.toBe(NO_HOUR);
    }
    expect(new PartitionTime('UTC').hourKeyOf(-62_135_596_800_001)).toBe(NO_HOUR);
    expect(new PartitionTime('UTC').hourKeyOf(253_402_300_800_000)).toBe(NO_HOUR);
    // Year 0 on these clocks, 0001 in UTC; and year 10000.
    expect(new PartitionTime('America/New_York').hourKeyOf(-62_135_596_800_000)).toBe(NO_HOUR);
    expect(new PartitionTime('Asia/Seoul').hourKeyOf(253_402_300_799_999)).toBe(NO_HOUR);
  });

  it('gives the repeated hour one key, so that it is one partition', () => {
    const time = new PartitionTime('America/New_York');
    const first = time.hourKeyOf(Date.parse('2024-11-03T05:30:00Z'));
    expect(time.hourKeyOf(Date.parse('2024-11-03T06:30:00Z'))).toBe(first);
    expect(time.hourKeyOf(Date.parse('2024-11-03T07:30:00Z'))).toBe(first + 1);
    expect([dtOfHourKey(first), hourOfHourKey(first)]).toEqual(['2024-11-03', 1]);
  });

  it('refuses what is no time zone', () => {
    for (const name of ['', 'Mars/Olympus', 'KST9', 'Asia/Seoul ', '../etc/passwd']) {
      expect(isTimeZone(name)).toBe(false);
      expect(() => new PartitionTime(name)).toThrowError(
        expect.objectContaining({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining(JSON.stringify(name)),
        }),
      );
    }
  });
});
