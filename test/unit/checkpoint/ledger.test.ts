import { describe, expect, it } from 'vitest';
import { checkAccount } from '../../../src/checkpoint/account-check.ts';
import { decodeGaps, encodeGaps } from '../../../src/checkpoint/gap-text.ts';
import {
  LedgerBook,
  MAX_LEDGER_GAPS,
  MAX_LEDGER_LOST,
  mergeIntoLedger,
} from '../../../src/checkpoint/ledger.ts';
import { Malformed } from '../../../src/checkpoint/malformed.ts';
import type { DoneBatch, LedgerEntry, LostRange, RangeFunnel } from '../../../src/checkpoint/records.ts';
import { addSums, stretchSum } from '../../../src/core/gap-sum.ts';

function read(partition: number, from: bigint, until: bigint, more: Partial<RangeFunnel> = {}): RangeFunnel {
  const gaps = more.gaps ?? [];
  const holes = gaps.reduce((n, g) => n + Number(g.until - g.from), 0);
  return {
    topic: 't',
    partition,
    table: 'b.t',
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
    gapSum: sumOf(gaps),
    ...more,
  };
}

const sumOf = (gaps: { from: bigint; until: bigint }[]) =>
  gaps.reduce((sum, g) => addSums(sum, stretchSum(Number(g.from), Number(g.until))), 0);

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
      ['one', 1, 5n, 6n, 0, 1],
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
    expect(decodeGaps(entries[0].gaps)).toEqual([
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
    const book = new LedgerBook([]);
    const batches = MAX_LEDGER_GAPS + 500;
    let sum = 0;
    for (let n = 0; n < batches; n++) {
      const from = BigInt(n) * 10n;
      const gaps = [{ from: from + 5n, until: from + 6n }];
      sum = addSums(sum, sumOf([...gaps, { from, until: from + 2n }]));
      book.add(batch(n, [read(0, from + 2n, from + 10n, { gaps })], { lost: [lost(0, from, from + 2n)] }));
    }
    const entries = book.entries();
    expect(entries).toHaveLength(1);
    const [entry] = entries;
    expect([decodeGaps(entry.gaps).length, entry.lost.length, entry.gapsCut, entry.lostCut]).toEqual([
      MAX_LEDGER_GAPS,
      MAX_LEDGER_LOST,
      true,
      true,
    ]);
    expect(entry.gapSum).toBe(sum);
    expect([entry.rows, entry.holes, entry.lostOffsets]).toEqual([
      batches * 7,
      batches,
      BigInt(batches) * 2n,
    ]);
    expect(BigInt(entry.rows + entry.holes) + entry.lostOffsets).toBe(entry.until - entry.from);
  });

  it('keeps apart what went to different tables, and finds the table of a loss', () => {
    const entries = mergeIntoLedger(
      [],
      [
        batch(0, [read(0, 0n, 10n, { table: 'b.old' })]),
        batch(1, [read(0, 12n, 20n)], { lost: [lost(0, 10n, 12n)] }),
        batch(2, [], { lost: [lost(0, 20n, 21n)] }),
        batch(3, [read(0, 21n, 30n, { table: 'b.old' })]),
      ],
    );
    expect(entries.map((e) => [e.table, e.from, e.until, e.lostOffsets])).toEqual([
      ['b.old', 0n, 10n, 0n],
      ['b.old', 21n, 30n, 0n],
      ['b.t', 10n, 21n, 3n],
    ]);
  });

  it('keeps where a partition began, before anything was read of it', () => {
    const entries = mergeIntoLedger([], [batch(0, [read(0, 7n, 7n)]), batch(1, [read(0, 7n, 7n)])]);
    expect(shape(entries)).toEqual([['one', 0, 7n, 7n, 0, 1]]);
    expect(shape(mergeIntoLedger(entries, [batch(2, [read(0, 7n, 9n)])]))).toEqual([
      ['one', 0, 7n, 9n, 0, 2],
    ]);
  });

  it('keeps where a reset set the next offset to read', () => {
    const book = new LedgerBook([]);
    book.add(batch(0, [read(0, 5n, 9n), read(1, 5n, 9n)]));
    const positions = new Map([
      [
        't',
        new Map([
          [0, 0n],
          [1, 9n],
        ]),
      ],
    ]);
    book.add(batch(1, [], { reset: { reason: 'r', by: 'b', at: 'a' } }), positions);
    expect(shape(book.entries())).toEqual([
      ['one', 0, 5n, 9n, 0, 0],
      ['one', 0, 0n, 0n, 1, 1],
      ['one', 1, 5n, 9n, 0, 0],
    ]);
    expect(book.entries().map((e) => e.byReset)).toEqual([undefined, true, undefined]);
  });

  it('passes on that a batch had cut its own gaps', () => {
    const entries = mergeIntoLedger(
      [],
      [batch(0, [read(0, 0n, 10n, { gapsCut: true })]), batch(1, [read(0, 10n, 20n)])],
    );
    expect(entries[0].gapsCut).toBe(true);
  });
});

describe('the account of a record', () => {
  const entry = () =>
    mergeIntoLedger(
      [],
      [batch(0, [read(0, 2n, 10n, { gaps: [{ from: 4n, until: 5n }] })], { lost: [lost(0, 0n, 2n)] })],
    )[0];

  it('is whole where its counts, its lists and its checksum agree', () => {
    expect(() => checkAccount(entry())).not.toThrow();
    expect(() => checkAccount({ ...entry(), gaps: '', gapsCut: true })).not.toThrow();
  });

  it.each<[string, Partial<LedgerEntry>]>([
    ['counts that do not add up', { rows: 8 }],
    ['a range that ends before it begins', { from: 11n }],
    ['fewer gaps than it counts', { gaps: '' }],
    ['more gaps than it counts', { gaps: encodeGaps([{ from: 4n, until: 6n }]), gapsCut: true }],
    ['a gap outside', { gaps: encodeGaps([{ from: 10n, until: 11n }]) }],
    ['a gap elsewhere', { gaps: encodeGaps([{ from: 5n, until: 6n }]) }],
    ['another checksum', { gapSum: 1 }],
    ['a lost range that is not listed', { lost: [] }],
  ])('is refused with %s', (_, damage) => {
    expect(() => checkAccount({ ...entry(), ...damage })).toThrowError(Malformed);
  });
});
