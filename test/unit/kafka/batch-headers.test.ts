import { describe, expect, it } from 'vitest';
import { scanHeaders } from '../../../src/kafka/batch-headers.ts';
import { encodeMessageSet, encodeRecordBatch } from '../../support/record-batch-encoder.ts';

const scan = (bytes: Buffer) => scanHeaders(Buffer.concat([Buffer.alloc(3), bytes]), 3, 3 + bytes.length);
const records = (...offsets: bigint[]) => offsets.map((offset) => ({ offset, value: 'v' }));

describe('scanHeaders', () => {
  it('finds the offset behind the last whole batch', () => {
    const first = encodeRecordBatch(records(5n, 6n));
    const second = encodeRecordBatch(records(7n), { lastOffset: 19n });
    expect(scan(Buffer.concat([first, second]))).toEqual({
      next: 20n,
      firstOffset: 5n,
      firstBatchBytes: first.length,
    });
    expect(scan(Buffer.concat([first, second.subarray(0, 40)])).next).toBe(7n);
  });

  it('tells the size of a first batch that is cut off', () => {
    const batch = encodeRecordBatch(records(5n, 6n));
    expect(scan(batch.subarray(0, 20))).toEqual({
      next: null,
      firstOffset: 5n,
      firstBatchBytes: batch.length,
    });
    expect(scan(batch.subarray(0, 11))).toEqual({ next: null, firstOffset: null, firstBatchBytes: 0 });
  });

  it('takes the offset of an old message as its last one', () => {
    expect(scan(encodeMessageSet(1, records(3n, 4n, 5n), { codec: 'gzip' })).next).toBe(6n);
    expect(scan(encodeMessageSet(0, records(3n, 4n))).next).toBe(5n);
  });

  it('foretells nothing from a length that no batch has, and never walks for ever', () => {
    const batch = encodeRecordBatch(records(5n));
    for (const length of [-1, -12, 0, 13, -2147483648]) {
      const broken = Buffer.from(batch);
      broken.writeInt32BE(length, 8);
      expect(scan(Buffer.concat([batch, broken])).next).toBe(null);
    }
  });
});
