import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KafkaCodec, RecordBatchBuilder } from '../../../src/kafka/record-batch-builder.ts';
import { decodeSet, hexOf } from '../../support/decoded-rows.ts';
import { encodeHeaders, encodeRecordBatch, toBytes } from '../../support/record-batch-encoder.ts';

const SEAL = { producerId: -1n, producerEpoch: -1, baseSequence: -1, transactional: false } as const;
const codecs: KafkaCodec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

describe('RecordBatchBuilder', () => {
  it('writes the same bytes as the reference encoder', () => {
    const builder = new RecordBatchBuilder(16);
    builder.append('key', 'value', 1_784_000_000_500);
    builder.append(null, null, 1_784_000_000_000, [
      ['h', 'x'],
      ['n', null],
    ]);
    builder.append('', Uint8Array.from([1, 2]), 1_784_000_100_000);
    const expected = encodeRecordBatch(
      [
        { offset: 0n, timestamp: 1_784_000_000_500n, key: 'key', value: 'value' },
        {
          offset: 1n,
          timestamp: 1_784_000_000_000n,
          headers: [
            { key: 'h', value: 'x' },
            { key: 'n', value: null },
          ],
        },
        { offset: 2n, timestamp: 1_784_000_100_000n, key: '', value: Uint8Array.from([1, 2]) },
      ],
      { leaderEpoch: -1 },
    );
    expect(builder.seal({ ...SEAL, codec: 'none' }).toString('hex')).toBe(expected.toString('hex'));
  });

  it.each(codecs)('builds what the decoder reads, %s', (codec) => {
    const bytes = fc.option(
      fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: 'binary', maxLength: 50 })),
    );
    const record = fc.record({
      key: bytes,
      value: bytes,
      timestamp: fc.integer({ min: 0, max: 2 ** 52 }),
      headers: fc.array(fc.tuple(fc.string({ maxLength: 9 }), bytes), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 40 }), (records) => {
        const builder = new RecordBatchBuilder(64);
        builder.append('dropped', 'dropped', 1);
        builder.clear();
        for (const r of records) builder.append(r.key, r.value, r.timestamp, r.headers);
        const { rows, error, faults } = decodeSet(builder.seal({ ...SEAL, codec }));
        expect([error, faults]).toEqual([undefined, []]);
        expect(rows).toEqual(
          records.map((r, i) => ({
            offset: BigInt(i),
            timestamp: BigInt(r.timestamp),
            timestampType: 0,
            key: hexOf(toBytes(r.key)),
            value: hexOf(toBytes(r.value)),
            headers:
              r.headers.length === 0
                ? null
                : hexOf(encodeHeaders(r.headers.map(([key, value]) => ({ key, value })))),
          })),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('refuses to seal nothing', () => {
    expect(() => new RecordBatchBuilder(10).seal({ ...SEAL, codec: 'none' })).toThrow(/^INTERNAL/);
  });
});
