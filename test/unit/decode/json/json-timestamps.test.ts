import { describe, expect, it } from 'vitest';
import { decodeJson, decodeValue } from '../../../support/decode/json-rows.ts';

const micros = (iso: string) => BigInt(Date.parse(iso)) * 1000n;

describe('timestamps', () => {
  it('take a fraction and every form of zone (case C02)', () => {
    const read = (text: string) => decodeValue('timestamptz', `"${text}"`);
    expect(read('2026-07-14T09:05:06.123456+05:30')).toBe(1784000106123456n);
    expect(read('2026-07-14T09:05:06.123456+0530')).toBe(1784000106123456n);
    expect(read('2026-07-14T09:05:06.123456+05')).toBe(1784001906123456n);
    expect(read('2026-07-14T09:05:06.1-03:30')).toBe(1784032506100000n);
    expect(read('2026-07-14T09:05:06Z')).toBe(micros('2026-07-14T09:05:06Z'));
    expect(read('2026-07-14T09:05:06.123456')).toBe(micros('2026-07-14T09:05:06Z') + 123456n);
    expect(read('2026-07-14 09:05:06Z')).toBe(micros('2026-07-14T09:05:06Z'));
    expect(read('2026-07-14T09:05Z')).toBe(micros('2026-07-14T09:05:00Z'));
  });

  it('is the same in whatever zone the process is', () => {
    const before = process.env.TZ;
    try {
      process.env.TZ = 'Asia/Kolkata';
      expect(decodeValue('timestamptz', '"2026-07-14T09:05:06"')).toBe(micros('2026-07-14T09:05:06Z'));
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  it('reads times without a zone in the zone of the format', () => {
    const paris = { timeZone: 'Europe/Paris' };
    const read = (text: string) => decodeValue('timestamptz', `"${text}"`, paris);
    expect(read('2026-01-14T09:00:00')).toBe(micros('2026-01-14T08:00:00Z'));
    expect(read('2026-07-14T09:00:00')).toBe(micros('2026-07-14T07:00:00Z'));
    // The hour that never came is moved on by the length of the gap; of the hour that came twice the first is taken.
    expect(read('2026-03-29T02:30:00')).toBe(micros('2026-03-29T01:30:00Z'));
    expect(read('2026-10-25T02:30:00')).toBe(micros('2026-10-25T00:30:00Z'));
    expect(read('2026-03-29T01:59:59')).toBe(micros('2026-03-29T00:59:59Z'));
    expect(read('2026-03-29T03:00:00')).toBe(micros('2026-03-29T01:00:00Z'));
    expect(read('2026-10-25T03:00:00')).toBe(micros('2026-10-25T02:00:00Z'));
    expect(read('2026-10-25T02:30:00+01:00')).toBe(micros('2026-10-25T01:30:00Z'));
    expect(decodeValue('timestamp', '"2026-07-14T09:00:00"', paris)).toBe(micros('2026-07-14T09:00:00Z'));
  });

  it('cuts what is finer than the column off, toward the past', () => {
    expect(decodeValue('timestamptz', '"2026-07-14T09:05:06.1234567899999Z"')).toBe(
      micros('2026-07-14T09:05:06Z') + 123456n,
    );
    expect(decodeValue('timestamptz_ns', '"2026-07-14T09:05:06.1234567899Z"')).toBe(
      micros('2026-07-14T09:05:06Z') * 1000n + 123456789n,
    );
    expect(decodeValue('timestamptz', '"1969-12-31T23:59:59.9999999Z"')).toBe(-1n);
    expect(decodeValue('timestamptz', '"1969-12-31T23:59:59.999999999Z"')).toBe(-1n);
  });

  it('knows the years 0001 to 9999 and the calendar', () => {
    const read = (text: string) => decodeValue('timestamptz', `"${text}"`);
    expect(read('0001-01-01T00:00:00Z')).toBe(-62135596800000000n);
    expect(read('9999-12-31T23:59:59.999999Z')).toBe(253402300799999999n);
    expect(read('2024-02-29T00:00:00Z')).toBe(micros('2024-02-29T00:00:00Z'));
    expect(read('2000-02-29T00:00:00Z')).toBe(micros('2000-02-29T00:00:00Z'));
    for (const text of [
      '0000-01-01T00:00:00Z',
      '10000-01-01T00:00:00Z',
      '2026-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2026-04-31T00:00:00Z',
      '2026-00-01T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T23:60:00Z',
      '2026-01-01T23:59:60Z',
      '2026-01-01T00:00:00+18:01',
      '2026-01-01T00:00:00+05:60',
      '2026-01-01T00:00:00+5',
      '2026-01-01T00:00:00+05:3',
      '2026-01-01T00:00:00 +05:30',
      '2026-01-01T00:00:00UTC',
      '2026-01-01T00:00:00.Z',
      '2026-01-01T00:00:00,5Z',
      '2026-01-01t00:00:00z',
      '2026-01-01',
      '2026-1-1T00:00:00Z',
      ' 2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00Z ',
      '1784000106',
      '',
    ])
      expect(read(text), text).toBe('BAD_TIMESTAMP');
    expect(read('0001-01-01T00:00:00+01:00')).toBe('OUT_OF_RANGE');
    expect(read('9999-12-31T23:59:59-01:00')).toBe('OUT_OF_RANGE');
  });

  it('refuses nanoseconds beyond 64 bits', () => {
    expect(decodeValue('timestamp_ns', '"1677-09-21T00:12:43.145224193"')).toBe(-9223372036854775807n);
    expect(decodeValue('timestamp_ns', '"1677-09-21T00:12:43.145224191"')).toBe('OUT_OF_RANGE');
    expect(decodeValue('timestamp_ns', '"2262-04-11T23:47:16.854775807"')).toBe(9223372036854775807n);
    expect(decodeValue('timestamp_ns', '"2262-04-11T23:47:16.854775808"')).toBe('OUT_OF_RANGE');
  });

  it('takes no zone where the column has none', () => {
    expect(decodeValue('timestamp', '"2026-07-14T09:05:06"')).toBe(micros('2026-07-14T09:05:06Z'));
    expect(decodeValue('timestamp', '"2026-07-14T09:05:06Z"')).toBe('BAD_TIMESTAMP');
    expect(decodeValue('timestamp', '"2026-07-14T09:05:06+05:30"')).toBe('BAD_TIMESTAMP');
  });

  it('reads numbers in the unit of the format, exactly', () => {
    const read = (
      json: string,
      timestampUnit: 'seconds' | 'millis' | 'micros' | 'nanos',
      type = 'timestamptz' as const,
    ) => decodeValue(type, json, { timestampUnit });
    expect(read('1784000106', 'seconds')).toBe(1784000106000000n);
    expect(read('1784000106.123456', 'seconds')).toBe(1784000106123456n);
    expect(read('1784000106.1234569', 'seconds')).toBe(1784000106123456n);
    expect(read('-0.0000001', 'seconds')).toBe(-1n);
    expect(read('1.784000106e9', 'seconds')).toBe(1784000106000000n);
    expect(read('1784000106123', 'millis')).toBe(1784000106123000n);
    expect(read('-1', 'millis')).toBe(-1000n);
    expect(read('1784000106123456', 'micros')).toBe(1784000106123456n);
    expect(read('1784000106123456789', 'nanos')).toBe(1784000106123456n);
    expect(read('-1784000106123456789', 'nanos')).toBe(-1784000106123457n);
    expect(decodeValue('timestamp_ns', '1784000106123456789', { timestampUnit: 'nanos' })).toBe(
      1784000106123456789n,
    );
    expect(decodeValue('timestamp_ns', '1784000106.123456789', { timestampUnit: 'seconds' })).toBe(
      1784000106123456789n,
    );
    expect(read('253402300799', 'seconds')).toBe(253402300799000000n);
    expect(read('253402300800', 'seconds')).toBe('OUT_OF_RANGE');
    expect(read('-62135596800', 'seconds')).toBe(-62135596800000000n);
    expect(read('-62135596800.000001', 'seconds')).toBe('OUT_OF_RANGE');
    expect(read('1e400', 'seconds')).toBe('OUT_OF_RANGE');
    expect(read('1e-400', 'seconds')).toBe(0n);
    expect(decodeValue('timestamp_ns', '9300000000', { timestampUnit: 'seconds' })).toBe('OUT_OF_RANGE');
  });

  it('takes nothing but texts and numbers', () => {
    for (const json of ['true', '[]', '{}']) expect(decodeValue('timestamptz', json)).toBe('TYPE_MISMATCH');
  });
});

describe('dates and times', () => {
  it('reads dates', () => {
    expect(decodeValue('date', '"1970-01-01"')).toBe(0);
    expect(decodeValue('date', '"0001-01-01"')).toBe(-719162);
    expect(decodeValue('date', '"9999-12-31"')).toBe(2932896);
    expect(decodeValue('date', String.raw`"2026\u002d07-14"`)).toBe(20648);
    for (const text of [
      '0000-00-00',
      '0000-01-01',
      '2026-02-29',
      '2026-7-14',
      '2026-07-14T00:00:00',
      '20260714',
      '',
    ])
      expect(decodeValue('date', `"${text}"`), text).toBe('BAD_TIMESTAMP');
    expect(decodeValue('date', '20648')).toBe('TYPE_MISMATCH');
  });

  it('reads times', () => {
    expect(decodeValue('time', '"09:05:06.123456789"')).toBe(32706123456n);
    expect(decodeValue('time', '"00:00"')).toBe(0n);
    expect(decodeValue('time', '"23:59:59"')).toBe(86399000000n);
    for (const text of ['24:00:00', '9:05', '09:05:06Z', '09:05:', '09:05:06.', ''])
      expect(decodeValue('time', `"${text}"`), text).toBe('BAD_TIMESTAMP');
    expect(decodeValue('time', '1')).toBe('TYPE_MISMATCH');
  });

  it('does not mistake a first date of zeros for the date that was read last', () => {
    const { reasons } = decodeJson({ d: 'date' }, ['{"d":"0000-00-00"}']);
    expect(reasons).toEqual(['BAD_TIMESTAMP']);
  });
});
