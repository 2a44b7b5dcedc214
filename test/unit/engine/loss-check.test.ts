import { describe, expect, it } from 'vitest';
import { formatOffsetMap } from '../../../src/core/offset-range.ts';
import type { KnownSource } from '../../../src/engine/known-source.ts';
import { checkIdentity, deletedError, findLostRanges } from '../../../src/engine/loss-check.ts';
import { offsets, stateOf } from '../../support/source-state.ts';

const known = (positions: Record<string, number[]>): KnownSource => ({
  clusterId: 'cluster-1',
  topics: Object.keys(positions).map((topic) => ({ topic, topicId: `id-${topic}` })),
  positions: offsets(positions),
});

describe('checkIdentity', () => {
  it('passes the same log', () => {
    expect(() => checkIdentity(known({ a: [1] }), stateOf({ a: [0] }, { a: [5] }))).not.toThrow();
  });

  it('tells another cluster', () => {
    const state = { ...stateOf({ a: [0] }, { a: [5] }), clusterId: 'cluster-2' };
    expect(() => checkIdentity(known({ a: [1] }), state)).toThrow(
      /^CLUSTER_REPLACED: .*cluster-1.*cluster-2/,
    );
  });

  it('tells a recreated topic even where its offsets look right', () => {
    const state = stateOf({ a: [0] }, { a: [900] });
    state.topicIds.set('a', 'id-new');
    expect(() => checkIdentity(known({ a: [500] }), state)).toThrow(
      /^TOPIC_REPLACED: topic a .*id-a.*id-new/,
    );
  });

  it('tells partitions that vanished, but not those of a topic that is no longer subscribed', () => {
    expect(() => checkIdentity(known({ a: [1, 1, 1] }), stateOf({ a: [0, 0] }, { a: [5, 5] }))).toThrow(
      /^PARTITIONS_DELETED: .*a-2/,
    );
    expect(() => checkIdentity(known({ a: [1], b: [3] }), stateOf({ a: [0] }, { a: [5] }))).not.toThrow();
  });
});

describe('C12: the position fell behind retention', () => {
  it('names partition, range and count, and moves to the start of the log, never to its end', () => {
    const source = known({ p: [1200] });
    const lost = findLostRanges(source, stateOf({ p: [5000] }, { p: [9000] }));
    expect(lost).toMatchObject([{ topic: 'p', partition: 0, from: 1200n, until: 5000n }]);
    expect(formatOffsetMap(source.positions)).toBe('{"p":{"0":5000}}');
    const error = deletedError(lost, new Map([['p-0', Date.UTC(2026, 0, 2)]]));
    expect(error.code).toBe('DATA_LOSS');
    expect(error.message).toMatch(
      /p-0: offsets \[1200, 5000\) .* 3800 records lost.*2026-01-02T00:00:00.000Z/,
    );
  });
});

describe('C13: the topic was recreated and its log is shorter than the checkpoint', () => {
  it('stops with both numbers', () => {
    expect(() => findLostRanges(known({ p: [500] }), stateOf({ p: [0] }, { p: [300] }))).toThrow(
      /^DATA_LOSS: p-0: log end 300 < checkpoint position 500; was the topic recreated/,
    );
  });

  it('does not stop while a position is above the last stable offset only', () => {
    expect(findLostRanges(known({ p: [500] }), stateOf({ p: [0] }, { p: [300] }, { p: [500] }))).toEqual([]);
  });
});
