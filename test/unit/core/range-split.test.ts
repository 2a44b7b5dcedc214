import { describe, expect, it } from 'vitest';
import { splitRanges } from '../../../src/core/range-split.ts';

const range = (partition: number, from: bigint, until: bigint) => ({ topic: 't', partition, from, until });
const shape = (ranges: { partition: number; from: bigint; until: bigint }[]) =>
  ranges.map((r) => [r.partition, r.from, r.until]);

describe("splitRanges, as Spark's KafkaOffsetRangeCalculatorSuite has it", () => {
  it('gives one range per partition without minPartitions, and drops empty ones', () => {
    expect(
      shape(splitRanges([range(0, 1n, 3n), range(1, 5n, 5n), range(2, 9n, 7n), range(3, 0n, 1n)], {})),
    ).toEqual([
      [0, 1n, 3n],
      [3, 0n, 1n],
    ]);
  });

  it('does not split where there are partitions enough', () => {
    expect(
      shape(splitRanges([range(0, 1n, 2n), range(1, 1n, 2n), range(2, 1n, 2n)], { minPartitions: 3 })),
    ).toHaveLength(3);
    expect(
      shape(splitRanges([range(0, 1n, 2n), range(1, 1n, 2n), range(2, 1n, 2n)], { minPartitions: 2 })),
    ).toHaveLength(3);
  });

  it('splits one partition into equal parts, the longer ones last', () => {
    expect(shape(splitRanges([range(0, 1n, 5n)], { minPartitions: 3 }))).toEqual([
      [0, 1n, 2n],
      [0, 2n, 3n],
      [0, 3n, 5n],
    ]);
    expect(shape(splitRanges([range(0, 0n, 8n)], { minPartitions: 3 }))).toEqual([
      [0, 0n, 2n],
      [0, 2n, 5n],
      [0, 5n, 8n],
    ]);
  });

  it('splits the large partitions and leaves the small ones whole', () => {
    expect(
      shape(splitRanges([range(0, 0n, 100n), range(1, 0n, 100n), range(2, 0n, 1n)], { minPartitions: 5 })),
    ).toEqual([
      [0, 0n, 50n],
      [0, 50n, 100n],
      [1, 0n, 50n],
      [1, 50n, 100n],
      [2, 0n, 1n],
    ]);
    // Skewed: what stays whole is taken out of both numbers first.
    const parts = splitRanges(
      [range(0, 0n, 10_000n), ...Array.from({ length: 6 }, (_, i) => range(i + 1, 0n, 10n))],
      { minPartitions: 12 },
    );
    expect(parts.filter((p) => p.partition === 0)).toHaveLength(6);
    expect(parts).toHaveLength(12);
  });

  it('never makes an empty part', () => {
    expect(shape(splitRanges([range(0, 7n, 9n)], { minPartitions: 50 }))).toEqual([
      [0, 7n, 8n],
      [0, 8n, 9n],
    ]);
  });

  it('cuts above maxRecordsPerPartition', () => {
    expect(shape(splitRanges([range(0, 0n, 10n), range(1, 0n, 4n)], { maxRecordsPerPartition: 4n }))).toEqual(
      [
        [0, 0n, 3n],
        [0, 3n, 6n],
        [0, 6n, 10n],
        [1, 0n, 4n],
      ],
    );
  });

  it('splits on where both are given and the parts are still too few', () => {
    expect(splitRanges([range(0, 0n, 100n)], { maxRecordsPerPartition: 50n, minPartitions: 8 })).toHaveLength(
      8,
    );
    expect(splitRanges([range(0, 0n, 100n)], { maxRecordsPerPartition: 10n, minPartitions: 8 })).toHaveLength(
      10,
    );
  });

  it('keeps 64-bit offsets and what else a range carries', () => {
    const big = { ...range(0, 2n ** 62n, 2n ** 62n + 5n), epoch: 7 };
    expect(splitRanges([big], { minPartitions: 2 })).toEqual([
      { ...big, until: 2n ** 62n + 2n },
      { ...big, from: 2n ** 62n + 2n },
    ]);
  });

  it('refuses numbers below one', () => {
    for (const options of [{ minPartitions: 0 }, { maxRecordsPerPartition: 0n }]) {
      expect(() => splitRanges([], options)).toThrowError(expect.objectContaining({ code: 'INTERNAL' }));
    }
    expect(splitRanges([], { minPartitions: null, maxRecordsPerPartition: null })).toEqual([]);
  });
});
