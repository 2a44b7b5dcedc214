import { describe, expect, it } from 'vitest';
import type { SourceConfig } from '../../../src/config/pipeline-config.ts';
import { formatOffsetMap } from '../../../src/core/offset-range.ts';
import { endPositions } from '../../../src/engine/end-positions.ts';
import { startingPositions, startingTimes } from '../../../src/engine/starting-positions.ts';
import { offsets, stateOf } from '../../support/source-state.ts';

const source = (startingOffsets: SourceConfig['startingOffsets']): SourceConfig =>
  ({ startingOffsets }) as SourceConfig;

describe('startingPositions', () => {
  const state = stateOf({ a: [5, 0] }, { a: [90, 40] });

  it('resolves earliest, latest, -2 and -1', () => {
    expect(formatOffsetMap(startingPositions(source({ kind: 'earliest' }), state))).toBe(
      '{"a":{"0":5,"1":0}}',
    );
    expect(formatOffsetMap(startingPositions(source({ kind: 'latest' }), state))).toBe(
      '{"a":{"0":90,"1":40}}',
    );
    const map = offsets({ a: [-2, -1] });
    expect(formatOffsetMap(startingPositions(source({ kind: 'map', offsets: map }), state))).toBe(
      '{"a":{"0":5,"1":40}}',
    );
    expect(
      formatOffsetMap(startingPositions(source({ kind: 'map', offsets: offsets({ a: [7, 3] }) }), state)),
    ).toBe('{"a":{"0":7,"1":3}}');
  });

  it('refuses a map that does not name exactly the assigned partitions', () => {
    expect(() => startingPositions(source({ kind: 'map', offsets: offsets({ a: [7] }) }), state)).toThrow(
      /it lacks a-1/,
    );
    expect(() =>
      startingPositions(source({ kind: 'map', offsets: offsets({ a: [7, 3, 1] }) }), state),
    ).toThrow(/names a-2, which is not assigned/);
  });

  it('refuses an offset outside the log', () => {
    expect(() => startingPositions(source({ kind: 'map', offsets: offsets({ a: [4, 0] }) }), state)).toThrow(
      /a-0 is to start at 4, but the log holds \[5, 90\)/,
    );
    expect(() => startingPositions(source({ kind: 'map', offsets: offsets({ a: [5, 41] }) }), state)).toThrow(
      /a-1 is to start at 41/,
    );
  });
});

describe('startingPositions by time', () => {
  const state = stateOf({ a: [5, 0] }, { a: [90, 40] });
  const at = (noMatch: 'error' | 'latest') => source({ kind: 'timestamp', timestampMs: 1000n, noMatch });
  const timestampsMs = offsets({ a: [1000, 2000] });

  it('asks one time of every partition, or each its own', () => {
    expect(formatOffsetMap(startingTimes(at('error'), state)!)).toBe('{"a":{"0":1000,"1":1000}}');
    const each = source({ kind: 'timestamps', timestampsMs, noMatch: 'error' });
    expect(startingTimes(each, state)).toBe(timestampsMs);
    expect(startingTimes(source({ kind: 'earliest' }), state)).toBeNull();
  });

  it('begins at the offsets that were found, also above an end that was asked for before', () => {
    const positions = startingPositions(at('error'), state, offsets({ a: [7, 41] }));
    expect(formatOffsetMap(positions)).toBe('{"a":{"0":7,"1":41}}');
  });

  it('stops with every partition that has no record so late, or begins it at its end', () => {
    expect(() => startingPositions(at('error'), state, offsets({ a: [-1, -1] }))).toThrow(
      /no record at or after the starting time of a-0 \(1970-01-01T00:00:01.000Z\), a-1 .*Strategy: latest/,
    );
    const positions = startingPositions(at('latest'), state, offsets({ a: [-1, 3] }));
    expect(formatOffsetMap(positions)).toBe('{"a":{"0":90,"1":3}}');
  });

  it('refuses times that do not name exactly what is read', () => {
    const short = source({ kind: 'timestamps', timestampsMs: offsets({ a: [1] }), noMatch: 'latest' });
    expect(() => startingTimes(short, state)).toThrow(
      /startingOffsetsByTimestamp: a map must name exactly the assigned partitions; it lacks a-1/,
    );
  });
});

describe('endPositions', () => {
  const state = stateOf({ a: [5, 0] }, { a: [90, 40] });

  it('ends at the newest offsets, at a time, or at offsets', () => {
    expect(endPositions(state, { kind: 'latest' }, null)).toBe(state.latest);
    const byTime = endPositions(state, { kind: 'timestamp', timestampMs: 1n }, offsets({ a: [10, -1] }));
    expect(formatOffsetMap(byTime)).toBe('{"a":{"0":10,"1":40}}');
    const map = endPositions(state, { kind: 'map', offsets: offsets({ a: [90, -1] }) }, null);
    expect(formatOffsetMap(map)).toBe('{"a":{"0":90,"1":40}}');
  });

  it('does not go above what can be read now', () => {
    const byTime = endPositions(state, { kind: 'timestamp', timestampMs: 1n }, offsets({ a: [91, 40] }));
    expect(formatOffsetMap(byTime)).toBe('{"a":{"0":90,"1":40}}');
    expect(() => endPositions(state, { kind: 'map', offsets: offsets({ a: [91, 1] }) }, null)).toThrow(
      /a-0 is to be read up to 91, but can be read up to 90 now/,
    );
  });

  it('refuses offsets that do not name exactly what is read', () => {
    expect(() => endPositions(state, { kind: 'map', offsets: offsets({ a: [1] }) }, null)).toThrow(
      /--until: a map must name exactly .* lacks a-1/,
    );
  });
});
