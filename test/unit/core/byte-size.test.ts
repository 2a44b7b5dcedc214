import { describe, expect, it } from 'vitest';
import { formatByteSize, parseByteSize } from '../../../src/core/byte-size.ts';

describe('parseByteSize', () => {
  it.each([
    ['0', 0],
    ['1048576', 1_048_576],
    ['512MB', 536_870_912],
    ['512 mb', 536_870_912],
    ['512m', 536_870_912],
    ['512MiB', 536_870_912],
    ['1.5GB', 1_610_612_736],
    ['64k', 65_536],
    ['1TB', 1_099_511_627_776],
    ['10 bytes', 10],
    [' 7b ', 7],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseByteSize(text)).toBe(bytes);
  });

  it.each(['', 'MB', '-1MB', '1e3', '12 parsecs', '1,5GB', 'NaN', 'Infinity', '999999999999999TB', '1 M B'])(
    'refuses %j',
    (text) => {
      expect(() => parseByteSize(text)).toThrow(/CONFIG_INVALID: size .* expected a number with a unit/);
    },
  );
});

describe('formatByteSize', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KB'],
    [134_217_728, '128 MB'],
    [5_368_709_120, '5 GB'],
  ])('%d is %s', (bytes, text) => {
    expect(formatByteSize(bytes)).toBe(text);
  });
});
