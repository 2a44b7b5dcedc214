import { expect, it } from 'vitest';
import { parseTimestampMs } from '../../../src/core/timestamp.ts';

it.each<[unknown, bigint | undefined]>([
  [0, 0n],
  ['1784000000000', 1_784_000_000_000n],
  [1_784_000_000_000, 1_784_000_000_000n],
  ['2026-07-14T03:33:20Z', 1_784_000_000_000n],
  ['2026-07-14T12:33:20.250+09:00', 1_784_000_000_250n],
  ['2024-02-29T00:00Z', 1_709_164_800_000n],
  ['2026-02-29T00:00Z', undefined],
  ['2026-04-31T00:00Z', undefined],
  ['2026-07-14T03:33:20', undefined],
  ['2026-07-14', undefined],
  ['1969-12-31T23:59:59Z', undefined],
  [-1, undefined],
  [1.5, undefined],
  ['1784000000000000', undefined],
  ['latest', undefined],
  ['', undefined],
  [null, undefined],
  [true, undefined],
])('%s', (value, ms) => {
  expect(parseTimestampMs(value)).toBe(ms);
});
