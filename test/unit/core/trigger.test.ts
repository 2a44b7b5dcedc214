import { describe, expect, it } from 'vitest';
import { DEFAULT_TRIGGER, nextTriggerTime, parseProcessingTime } from '../../../src/core/trigger.ts';

describe('parseProcessingTime', () => {
  it.each([
    ['60 seconds', 60_000],
    ['1 minute', 60_000],
    ['interval 10 seconds', 10_000],
    ['INTERVAL 1 minute 30 seconds', 90_000],
    ['500ms', 500],
    ['0 seconds', 0],
  ])('%s', (text, intervalMs) =>
    expect(parseProcessingTime(text)).toEqual({ kind: 'processingTime', intervalMs }),
  );

  it.each(['', 'soon', '-5 seconds', '10 parsecs', 'PT10S', 'interval'])('refuses %j', (text) => {
    expect(() => parseProcessingTime(text)).toThrowError(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('is a minute by default', () => expect(parseProcessingTime('1 minute')).toEqual(DEFAULT_TRIGGER));
});

describe("nextTriggerTime, as Spark's ProcessingTimeExecutorSuite has it", () => {
  it.each([
    [0, 100, 100],
    [1, 100, 100],
    [99, 100, 100],
    [100, 100, 200],
    [101, 100, 200],
    [150, 100, 200],
    [1_700_000_012_345, 60_000, 1_700_000_040_000],
    [5, 0, 5],
  ])('at %d every %d: %d', (now, interval, next) => expect(nextTriggerTime(now, interval)).toBe(next));
});
