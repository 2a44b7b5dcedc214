import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RecordKey, RecordSet, recordSetOf } from '../../../../src/engine/requeue/record-set.ts';

const key = (more: Partial<RecordKey> = {}): RecordKey => ({
  topic: 't',
  partition: 0,
  pipeline: 'p',
  batchId: 1n,
  ...more,
});

describe('RecordSet', () => {
  it('agrees with a set of texts, in whatever order records come', () => {
    const record = fc.record({
      partition: fc.integer({ min: 0, max: 1 }),
      batchId: fc.constantFrom(null, 1n, 2n),
      offset: fc.bigInt({ min: 0n, max: 40n }),
    });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 120 }), fc.array(record), (some, others) => {
        const set = new RecordSet();
        const model = new Set<string>();
        const text = (r: (typeof some)[number]): string => `${r.partition}/${r.batchId}/${r.offset}`;
        for (const { offset, ...rest } of some) {
          const isNew = !model.has(text({ ...rest, offset }));
          model.add(text({ ...rest, offset }));
          expect(set.add(key(rest), offset)).toBe(isNew);
        }
        expect(set.size).toBe(model.size);
        for (const { offset, ...rest } of [...some, ...others])
          expect(set.has(key(rest), offset)).toBe(model.has(text({ ...rest, offset })));
        for (const { offsets } of set.records())
          for (let i = 1; i < offsets.length; i++) expect(offsets[i].from > offsets[i - 1].until).toBe(true);
        expect(recordSetOf(set.records()).size).toBe(set.size);
        const other = recordSetOf([]);
        for (const { offset, ...rest } of others) other.add(key(rest), offset);
        const meets = others.some((r) => model.has(text(r)));
        expect(set.shared(other) !== null).toBe(meets);
      }),
    );
  });

  it('tells one incarnation of a coordinate from another by the batch that set it aside', () => {
    const set = new RecordSet();
    set.add(key(), 5n);
    expect(set.has(key({ batchId: 2n }), 5n)).toBe(false);
    expect(set.has(key({ pipeline: null }), 5n)).toBe(false);
    expect(set.has(key(), 5n)).toBe(true);
  });

  it('holds offsets beyond what doubles tell apart', () => {
    const set = new RecordSet();
    set.add(key(), 2n ** 62n);
    expect(set.has(key(), 2n ** 62n + 1n)).toBe(false);
    set.add(key(), 2n ** 62n + 1n);
    expect(set.records()).toEqual([{ ...key(), offsets: [{ from: 2n ** 62n, until: 2n ** 62n + 2n }] }]);
  });
});
