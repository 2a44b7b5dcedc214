import { describe, expect, it } from 'vitest';
import { MAX_LEDGER_STRETCHES, mergeIntoLedger } from '../../../src/checkpoint/ledger.ts';
import type { DoneBatch, LedgerEntry, LostRange, RangeFunnel } from '../../../src/checkpoint/records.ts';

function read(partition: number, from: bigint, until: bigint, more: Partial<RangeFunnel> = {}): RangeFunnel {
  const gaps = more.gaps ?? [];
  const holes = gaps.reduce((n, g) => n + Number(g.until - g.from), 0);
  return {
    topic: 't',
    partition,
    from,
    until,
    rows: Number(until - from) - holes,
    quarantined: 0,
    dropped: 0,
    control: 0,
    aborted: 0,
    holes,
    bytes: 1,
    leaderEpoch: 0,
    leaderEpochEnd: until,
    maxTimestampMs: null,
    gaps,
    gapsCut: false,
    ...more,
  };
}

function batch(batchId: number, funnel: RangeFunnel[], more: Partial<DoneBatch> = {}): DoneBatch {
  return {
    batchId,
    clusterId: 'c',
    topics: [{ topic: 't', topicId: 'one' }],
    tables: [],
    funnel,
    lost: [],
    ...more,
  };
}

function lost(
  partition: number,
  from: bigint,
  until: bigint,
  reason = 'retention',
  topicId: string | null = 'one',
): LostRange {
  return { topic: 't', topicId, partition, from, until, reason, acceptedBy: 'failOnDataLoss=false' };
}

const shape = (entries: LedgerEntry[]) =>
  entries.map((e) => [e.topicId, e.partition, e.from, e.until, e.firstBatch, e.lastBatch]);

describe('the ledger', () => {
  it('merges the batches of a partition into one entry and adds their counts', () => {
    const entries = mergeIntoLedger(
      [],
      [
        batch(0, [read(0, 0n, 10n, { gaps: [{ from: 8n, until: 10n }] }), read(1, 5n, 6n)]),
        batch(1, [
          read(0, 10n, 20n, {
            gaps: [
              { from: 10n, until: 11n },
              { from: 15n, until: 16n },
            ],
          }),
          read(1, 6n, 6n),
        ]),
        batch(2, [
          read(0, 20n, 30n, { rows: 4, quarantined: 3, dropped: 1, control: 1, aborted: 1, holes: 0 }),
        ]),
      ],
    );
    expect(shape(entries)).toEqual([
      ['one', 0, 0n, 30n, 0, 2],
      ['one', 1, 5n, 6n, 0, 0],
    ]);
    expect(entries[0]).toMatchObject({
      rows: 20,
      quarantined: 3,
      dropped: 1,
      control: 1,
      aborted: 1,
      holes: 4,
      gapsCut: false,
    });
    expect(entries[0].gaps).toEqual([
      { from: 8n, until: 11n },
      { from: 15n, until: 16n },
    ]);
  });

  it('gives the same, however the batches are dealt out and in whatever order they come', () => {
    const batches = Array.from({ length: 9 }, (_, n) =>
      batch(n, [
        read(0, BigInt(n * 10), BigInt(n * 10 + 10), {
          gaps: [{ from: BigInt(n * 10), until: BigInt(n * 10 + 1) }],
        }),
      ]),
    );
    const whole = mergeIntoLedger([], batches);
    for (let cut = 0; cut <= batches.length; cut++) {
      expect(mergeIntoLedger(mergeIntoLedger([], batches.slice(0, cut)), batches.slice(cut))).toEqual(whole);
    }
    expect(mergeIntoLedger([], batches.reverse())).toEqual(whole);
  });

  it('does not change what it is given', () => {
    const entries = mergeIntoLedger([], [batch(0, [read(0, 0n, 10n, { gaps: [{ from: 1n, until: 2n }] })])]);
    const copy = structuredClone(entries);
    mergeIntoLedger(entries, [batch(1, [read(0, 10n, 20n, { gaps: [{ from: 10n, until: 12n }] })])]);
    expect(entries).toEqual(copy);
  });

  it('keeps incarnations of a topic apart although their offsets repeat', () => {
    const entries = mergeIntoLedger(
      [],
      [
        batch(0, [read(0, 0n, 10n)]),
        batch(1, [read(0, 10n, 20n)], { topics: [{ topic: 't', topicId: 'two' }] }),
        batch(2, [read(0, 20n, 25n)], { topics: [{ topic: 't', topicId: 'two' }] }),
        batch(3, [read(0, 0n, 5n)], { topics: [{ topic: 't', topicId: null }] }),
      ],
    );
    expect(shape(entries)).toEqual([
      [null, 0, 0n, 5n, 3, 3],
      ['one', 0, 0n, 10n, 0, 0],
      ['two', 0, 10n, 25n, 1, 2],
    ]);
  });

  it('begins anew where a reset went back or jumped', () => {
    const entries = mergeIntoLedger(
      [],
      [
        batch(0, [read(0, 0n, 10n)]),
        batch(1, [read(0, 0n, 10n)]),
        batch(2, [read(0, 10n, 12n)]),
        batch(3, [read(0, 50n, 60n)]),
      ],
    );
    expect(shape(entries)).toEqual([
      ['one', 0, 0n, 10n, 0, 0],
      ['one', 0, 0n, 12n, 1, 2],
      ['one', 0, 50n, 60n, 3, 3],
    ]);
  });

  it('holds lost ranges as part of the stretch', () => {
    const [entry, ...none] = mergeIntoLedger(
      [],
      [
        batch(0, [read(0, 0n, 10n)]),
        batch(1, [read(0, 20n, 30n)], { lost: [lost(0, 10n, 15n), lost(0, 15n, 20n)] }),
        batch(2, [read(0, 40n, 41n)], { lost: [lost(0, 30n, 38n), lost(0, 38n, 40n, 'reset')] }),
      ],
    );
    expect(none).toEqual([]);
    expect([entry.from, entry.until, entry.rows, entry.lostOffsets]).toEqual([0n, 41n, 21, 20n]);
    expect(entry.lost).toEqual([
      { from: 10n, until: 20n, reason: 'retention' },
      { from: 30n, until: 38n, reason: 'retention' },
      { from: 38n, until: 40n, reason: 'reset' },
    ]);
  });

  it('stays bounded, and goes on counting', () => {
    let entries: LedgerEntry[] = [];
    const batches = 2 * MAX_LEDGER_STRETCHES;
    for (let n = 0; n < batches; n++) {
      const from = BigInt(n) * 10n;
      const gaps = [{ from: from + 5n, until: from + 6n }];
      entries = mergeIntoLedger(entries, [
        batch(n, [read(0, from + 2n, from + 10n, { gaps })], { lost: [lost(0, from, from + 2n)] }),
      ]);
    }
    expect(entries).toHaveLength(1);
    const [entry] = entries;
    expect([entry.gaps.length, entry.lost.length, entry.gapsCut, entry.lostCut]).toEqual([
      MAX_LEDGER_STRETCHES,
      MAX_LEDGER_STRETCHES,
      true,
      true,
    ]);
    expect([entry.rows, entry.holes, entry.lostOffsets]).toEqual([
      batches * 7,
      batches,
      BigInt(batches) * 2n,
    ]);
    expect(BigInt(entry.rows + entry.holes) + entry.lostOffsets).toBe(entry.until - entry.from);
  });

  it('passes on that a batch had cut its own gaps', () => {
    const entries = mergeIntoLedger(
      [],
      [batch(0, [read(0, 0n, 10n, { gapsCut: true })]), batch(1, [read(0, 10n, 20n)])],
    );
    expect(entries[0].gapsCut).toBe(true);
  });
});
