import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitRanges } from '../../../src/core/range-split.ts';

const ranges = fc
  .array(
    fc.record({
      from: fc.bigInt(0n, 2n ** 62n),
      size: fc.oneof(fc.bigInt(0n, 20n), fc.bigInt(0n, 10n ** 6n)),
    }),
    { maxLength: 8 },
  )
  .map((list) =>
    list.map(({ from, size }, partition) => ({ topic: 't', partition, from, until: from + size })),
  );

describe('splitRanges', () => {
  it('covers every range exactly, in order, within the bound', () => {
    fc.assert(
      fc.property(
        ranges,
        fc.option(fc.integer({ min: 1, max: 40 })),
        fc.option(fc.bigInt(1000n, 10n ** 7n)),
        (given, minPartitions, maxRecordsPerPartition) => {
          const parts = splitRanges(given, { minPartitions, maxRecordsPerPartition });
          const wanted = given.filter((r) => r.until > r.from);
          let i = 0;
          for (const range of wanted) {
            let at = range.from;
            while (at < range.until) {
              const part = parts[i++];
              expect([part.partition, part.from]).toEqual([range.partition, at]);
              expect(part.until > part.from && part.until <= range.until).toBe(true);
              if (maxRecordsPerPartition !== null)
                expect(part.until - part.from <= maxRecordsPerPartition).toBe(true);
              at = part.until;
            }
          }
          expect(i).toBe(parts.length);
          expect(parts.length).toBeGreaterThanOrEqual(wanted.length);
        },
      ),
    );
  });
});
