import { describe, expect, it } from 'vitest';
import { formatDuration, parseDurationMs } from '../../../src/core/duration.ts';

describe('parseDurationMs', () => {
  it.each([
    ['0', 0],
    ['250', 250],
    ['500ms', 500],
    ['10s', 10_000],
    ['60 seconds', 60_000],
    ['1 second', 1_000],
    ['1 Minute', 60_000],
    ['15m', 900_000],
    ['2 hours 30 minutes', 9_000_000],
    ['1.5h', 5_400_000],
    ['7 days', 604_800_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', 's', '-5s', '5 lightyears', '5 minutes 30', '5,5s', '1e3s', 'PT5M', '999999999999999d'])(
    'refuses %j',
    (text) => {
      expect(() => parseDurationMs(text)).toThrow(/CONFIG_INVALID: time .* expected a number with a unit/);
    },
  );
});

describe('formatDuration', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [12_345, '12.3 s'],
    [245_000, '4 min 5 s'],
    [12_000_000, '3 h 20 min'],
    [187_200_000, '2 d 4 h'],
  ])('%d is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
