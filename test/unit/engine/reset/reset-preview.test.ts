import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../../src/checkpoint/records.ts';
import { countLost, lostRanges } from '../../../../src/engine/reset/partition-move.ts';
import type { ResetBase } from '../../../../src/engine/reset/reset-base.ts';
import { previewReset } from '../../../../src/engine/reset/reset-preview.ts';
import type { SourceState } from '../../../../src/engine/source-state.ts';
import { planOf } from '../../../support/checkpoint.ts';
import { resetRequest } from '../../../support/reset.ts';
import { offsets, stateOf } from '../../../support/source-state.ts';

const NONE = new Map<string, bigint | null>();

function baseOf(positions: Record<string, number[]>, more: Partial<ResetBase> = {}): ResetBase {
  return {
    clusterId: 'cluster-1',
    topics: Object.keys(positions).map((topic) => ({ topic, topicId: `id-${topic}` })),
    positions: offsets(positions),
    batchId: 7,
    epochs: new Map(),
    initial: offsets(
      Object.fromEntries(Object.entries(positions).map(([t, list]) => [t, list.map(() => 0)])),
    ),
    ledger: [],
    plan: null,
    pending: null,
    carried: [],
    unfinished: null,
    ...more,
  };
}

function entry(partition: number, from: bigint, until: bigint, more: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    table: 'bronze.a',
    topic: 'a',
    topicId: 'id-a',
    partition,
    from,
    until,
    firstBatch: 0,
    lastBatch: 0,
    rows: Number(until - from),
    quarantined: 0,
    dropped: 0,
    control: 0,
    aborted: 0,
    holes: 0,
    gaps: '',
    gapsCut: false,
    lost: [],
    lostOffsets: 0n,
    lostCut: false,
    gapSum: 0,
    ...more,
  };
}

const replacedState = (state: SourceState): SourceState => ({
  ...state,
  topicIds: new Map([['a', 'id-new']]),
});

describe('targets', () => {
  const state = stateOf({ a: [100, 0] }, { a: [400, 300] });
  const base = () => baseOf({ a: [50, 200] });
  const moves = (to: string, more = {}) =>
    previewReset(base(), resetRequest('a', to, more), { state, parted: NONE }).moves.map((m) => [
      m.partition,
      m.from,
      m.to,
    ]);

  it('are resolved per partition', () => {
    expect(moves('earliest')).toEqual([
      [0, 50n, 100n],
      [1, 200n, 0n],
    ]);
    expect(moves('latest')).toEqual([
      [0, 50n, 400n],
      [1, 200n, 300n],
    ]);
    expect(moves('unread')).toEqual([
      [0, 50n, 100n],
      [1, 200n, 200n],
    ]);
    expect(moves('{"1":250}')).toEqual([[1, 200n, 250n]]);
    expect(moves('{"0":-2,"1":-1}')).toEqual([
      [0, 50n, 100n],
      [1, 200n, 300n],
    ]);
    expect(moves('150', { partition: 0 })).toEqual([[0, 50n, 150n]]);
  });

  it('must be in the log and name what is there', () => {
    expect(() => moves('99', { partition: 0 })).toThrow(
      /^USAGE: a-0: offset 99 is not in the log, which is \[100, 400\)/,
    );
    expect(() => moves('401', { partition: 0 })).toThrow(/^USAGE/);
    expect(moves('400', { partition: 0 })).toEqual([[0, 50n, 400n]]);
    expect(() => moves('{"2":5}')).toThrow(/^USAGE: topic a has no partition 2: 0, 1/);
    expect(() => moves('earliest', { partition: 2 })).toThrow(/^USAGE/);
    expect(() => moves('150')).toThrow(/^USAGE: topic a has the partitions 0, 1: name one with --partition/);
    expect(() => previewReset(base(), resetRequest('b', 'earliest'), { state, parted: NONE })).toThrow(
      /^RESET_REFUSED: topic b is not one that this pipeline reads: a/,
    );
  });

  it('on an offset below the last stable one stop before an open transaction', () => {
    const open = stateOf({ a: [0] }, { a: [300] }, { a: [400] });
    const {
      moves: [move],
    } = previewReset(baseOf({ a: [300] }), resetRequest('a', 'latest'), { state: open, parted: NONE });
    expect(move).toMatchObject({ to: 300n, lost: [], again: [], changed: false });
  });

  it('that change nothing are told so', () => {
    expect(previewReset(base(), resetRequest('a', '{"1":200}'), { state, parted: NONE })).toMatchObject({
      changes: false,
      refusals: [],
    });
  });
});

describe('what is lost', () => {
  it('is told apart: gone from the broker, or passed over', () => {
    const state = stateOf({ a: [5000] }, { a: [9000] });
    const { moves } = previewReset(baseOf({ a: [1200] }), resetRequest('a', '6000'), { state, parted: NONE });
    expect(lostRanges(moves[0], 'poison', 'me')).toEqual([
      {
        topic: 'a',
        partition: 0,
        topicId: 'id-a',
        from: 1200n,
        until: 5000n,
        reason: 'the records were gone before they were read',
        acceptedBy: 'me',
      },
      {
        topic: 'a',
        partition: 0,
        topicId: 'id-a',
        from: 5000n,
        until: 6000n,
        reason: 'passed over by a reset: poison',
        acceptedBy: 'me',
      },
    ]);
    expect([countLost(moves), countLost(moves, 'gone')]).toEqual([4800n, 3800n]);
  });

  it('of a new partition is what a reset passes over', () => {
    const state = stateOf({ a: [0, 10] }, { a: [5, 30] });
    const { moves } = previewReset(baseOf({ a: [5] }), resetRequest('a', 'latest'), { state, parted: NONE });
    expect(moves[1]).toMatchObject({ from: null, to: 30n, lost: [{ from: 10n, until: 30n, gone: false }] });
  });
});

describe('what would come again', () => {
  const state = stateOf({ a: [0] }, { a: [100] });
  const again = (ledger: LedgerEntry[], to: string, more: Partial<ResetBase> = {}) =>
    previewReset(baseOf({ a: [100] }, { ledger, ...more }), resetRequest('a', to), { state, parted: NONE });

  it('is what the ledger has as rows, refused by name unless it is allowed', () => {
    const ledger = [entry(0, 0n, 100n, { gaps: 'KC', holes: 2, rows: 98 })];
    const preview = again(ledger, '5', {
      plan: {
        ...planOf(6),
        ranges: [{ topic: 'a', partition: 0, from: 0n, until: 100n }],
        config: {
          hash: '',
          text: '{"version":1,"includeHeaders":false,"tables":[{"match":"*","table":"bronze.${topic}"}]}',
        },
      },
    });
    expect(preview.moves[0].again).toEqual([
      { from: 5n, until: 10n },
      { from: 12n, until: 100n },
    ]);
    expect(preview.refusals).toEqual([
      expect.stringContaining('a-0 [5, 10), [12, 100) (93 offsets) into bronze.a'),
    ]);
    expect(
      previewReset(baseOf({ a: [100] }, { ledger }), resetRequest('a', '5', { allowDuplicates: true }), {
        state,
        parted: NONE,
      }).refusals,
    ).toEqual([]);
  });

  it('is not what was passed over, unless it was read later', () => {
    const lost = { lost: [{ from: 40n, until: 100n, reason: 'r' }], lostOffsets: 60n, rows: 40 };
    expect(again([entry(0, 0n, 100n, lost)], '40').moves[0].again).toEqual([]);
    expect(again([entry(0, 0n, 100n, lost), entry(0, 40n, 70n)], '40').moves[0].again).toEqual([
      { from: 40n, until: 70n },
    ]);
  });

  it('is what another engine may have read, and not what lies before the beginning', () => {
    expect(again([], '10').moves[0].again).toEqual([{ from: 10n, until: 100n }]);
    expect(again([], '10', { initial: null }).moves[0].again).toEqual([{ from: 10n, until: 100n }]);
    expect(again([], '10', { initial: offsets({ a: [60] }) }).moves[0].again).toEqual([
      { from: 60n, until: 100n },
    ]);
    expect(again([entry(0, 60n, 100n)], '10', { initial: offsets({ a: [60] }) }).refusals).toHaveLength(1);
    expect(again([entry(0, 60n, 100n)], '10', { initial: offsets({ a: [60] }) }).moves[0].again).toEqual([
      { from: 60n, until: 100n },
    ]);
  });

  it('is not what another incarnation brought', () => {
    const ledger = [entry(0, 0n, 500n, { topicId: 'id-old' }), entry(0, 20n, 100n)];
    expect(again(ledger, '0').moves[0].again).toEqual([{ from: 20n, until: 100n }]);
  });
});

describe('a log that was truncated within one incarnation', () => {
  it('goes on at its end; what is before it would come again', () => {
    const log = { state: stateOf({ a: [0] }, { a: [80] }), parted: NONE };
    const base = baseOf({ a: [100] }, { ledger: [entry(0, 0n, 100n)] });
    expect(previewReset(base, resetRequest('a', 'unread'), log)).toMatchObject({
      refusals: [],
      moves: [{ from: 100n, to: 80n, lost: [], again: [] }],
    });
    expect(previewReset(base, resetRequest('a', 'latest'), log)).toMatchObject({
      refusals: [],
      moves: [{ to: 80n, lost: [] }],
    });
    expect(previewReset(base, resetRequest('a', 'earliest'), log).moves[0].again).toEqual([
      { from: 0n, until: 80n },
    ]);
  });

  it('and grew again: from where the logs part the records are others', () => {
    const log = {
      state: stateOf({ a: [0] }, { a: [150] }),
      parted: new Map([['a-0', 70n as bigint | null]]),
    };
    const base = baseOf({ a: [100] }, { ledger: [entry(0, 0n, 100n)] });
    expect(previewReset(base, resetRequest('a', 'unread'), log).moves[0]).toMatchObject({
      to: 70n,
      unread: 70n,
      lost: [],
      again: [],
    });
    expect(previewReset(base, resetRequest('a', '100'), log).moves[0]).toMatchObject({
      lost: [{ from: 70n, until: 100n, gone: false }],
      changed: true,
    });
    expect(previewReset(base, resetRequest('a', '50'), log).moves[0].again).toEqual([
      { from: 50n, until: 70n },
    ]);
  });

  it('whose leader does not know the epoch goes on at the position', () => {
    const log = { state: stateOf({ a: [0] }, { a: [150] }), parted: new Map([['a-0', null]]) };
    expect(previewReset(baseOf({ a: [100] }), resetRequest('a', 'unread'), log)).toMatchObject({
      changes: true,
      moves: [{ to: 100n, changed: true }],
    });
  });
});

describe('a replaced topic', () => {
  const log = { state: replacedState(stateOf({ a: [0, 0] }, { a: [900, 900] })), parted: NONE };

  it('begins anew in all partitions; those that are no more are dropped', () => {
    const { moves, refusals } = previewReset(
      baseOf({ a: [100, 100, 100] }),
      resetRequest('a', 'unread'),
      log,
    );
    expect(moves.map((m) => [m.to, m.replaced, m.fromTopicId, m.toTopicId])).toEqual([
      [0n, true, 'id-a', 'id-new'],
      [0n, true, 'id-a', 'id-new'],
      [null, true, 'id-a', 'id-new'],
    ]);
    expect(refusals).toEqual([]);
  });

  it('is refused in a part', () => {
    for (const request of [resetRequest('a', '5', { partition: 0 }), resetRequest('a', '{"0":5}')])
      expect(() => previewReset(baseOf({ a: [100, 100] }), request, log)).toThrow(
        /^RESET_REFUSED: .*all its partitions \(0, 1\) begin anew; only 0 is named/,
      );
  });

  it('with a planned batch loses on record what was planned', () => {
    const pending = {
      batchId: 6,
      state: 'unread' as const,
      ranges: [
        { topic: 'a', partition: 0, from: 100n, until: 130n },
        { topic: 'a', partition: 1, from: 100n, until: 100n },
      ],
    };
    const preview = previewReset(baseOf({ a: [100, 100] }, { pending }), resetRequest('a', 'earliest'), log);
    expect(preview).toMatchObject({ givesUp: { batchId: 6 }, refusals: [] });
    expect(preview.moves.flatMap((m) => m.lost)).toEqual([
      { from: 100n, until: 130n, topicId: 'id-a', gone: true },
    ]);
  });
});

describe('a planned batch', () => {
  const range = { topic: 'a', partition: 0, from: 50n, until: 80n };
  const refusals = (
    state: SourceState,
    pendingState: 'unread' | 'prepared' | 'planned elsewhere' | 'given up',
    more = {},
    parted = NONE,
  ) =>
    previewReset(
      baseOf({ a: [50] }, { pending: { batchId: 6, state: pendingState, ranges: [range] } }),
      resetRequest('a', 'unread', more),
      { state, parted },
    ).refusals;
  const whole = stateOf({ a: [0] }, { a: [100] });

  it('that can be read must be, unless it is given up', () => {
    expect(refusals(whole, 'unread')).toEqual([
      expect.stringMatching(/^batch 6 .*sluice run --once.*--give-up-batch/),
    ]);
    expect(refusals(whole, 'unread', { giveUpBatch: true })).toEqual([]);
    expect(refusals(whole, 'given up')).toEqual([]);
  });

  it('is given up where its records are gone: deleted, truncated, parted', () => {
    expect(refusals(stateOf({ a: [51] }, { a: [100] }), 'unread')).toEqual([]);
    expect(refusals(stateOf({ a: [0] }, { a: [79] }), 'unread')).toEqual([]);
    expect(refusals(whole, 'unread', {}, new Map([['a-0', 40n]]))).toEqual([]);
  });

  it('whose commits have begun is finished by a run, and no other option helps', () => {
    expect(refusals(stateOf({ a: [90] }, { a: [100] }), 'prepared', { giveUpBatch: true })).toEqual([
      expect.stringContaining('`sluice run --once` finishes it'),
    ]);
    expect(refusals(whole, 'planned elsewhere', { giveUpBatch: true })).toEqual([
      expect.stringContaining('another engine'),
    ]);
  });

  it('whose end was cut off with the log loses it on record', () => {
    const pending = { batchId: 6, state: 'unread' as const, ranges: [range] };
    const preview = previewReset(baseOf({ a: [50] }, { pending }), resetRequest('a', 'unread'), {
      state: stateOf({ a: [0] }, { a: [60] }),
      parted: NONE,
    });
    expect(preview.moves[0]).toMatchObject({ to: 50n, lost: [{ from: 60n, until: 80n, gone: true }] });
  });
});

describe('another cluster', () => {
  const state: SourceState = {
    ...stateOf({ a: [0], b: [3] }, { a: [10], b: [9] }),
    clusterId: 'cluster-2',
    topicIds: new Map([
      ['a', 'other-a'],
      ['b', null],
    ]),
  };
  const base = () => baseOf({ a: [100], b: [100], c: [4] });

  it('is acknowledged for all topics that are read, with or without topic ids', () => {
    const preview = previewReset(base(), resetRequest(null, 'earliest'), { state, parted: NONE });
    expect(preview).toMatchObject({
      clusterFrom: 'cluster-1',
      clusterTo: 'cluster-2',
      refusals: [],
      changes: true,
    });
    expect(preview.moves.map((m) => [m.topic, m.to, m.replaced])).toEqual([
      ['a', 0n, true],
      ['b', 3n, true],
    ]);
    const map = previewReset(base(), resetRequest(null, '{"a":{"0":5},"b":{"0":-1}}'), {
      state,
      parted: NONE,
    });
    expect(map.moves.map((m) => m.to)).toEqual([5n, 9n]);
  });

  it('is not for one topic alone, and not where it is the same', () => {
    expect(() => previewReset(base(), resetRequest('a', 'earliest'), { state, parted: NONE })).toThrow(
      /^RESET_REFUSED: .*cluster-1.*cluster-2: `sluice checkpoint reset --cluster/,
    );
    const same = { ...state, clusterId: 'cluster-1' };
    expect(
      previewReset(base(), resetRequest(null, 'latest'), { state: same, parted: NONE }).refusals,
    ).toEqual([expect.stringContaining('--topic')]);
  });
});
