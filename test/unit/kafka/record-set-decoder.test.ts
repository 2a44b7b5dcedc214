import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { RecordColumns } from '../../../src/columns/record-columns.ts';
import { addSums, stretchSum } from '../../../src/core/gap-sum.ts';
import { isSluiceError, SluiceError } from '../../../src/errors.ts';
import type { AbortedTransaction } from '../../../src/kafka/aborted-transactions.ts';
import { openCursor, RecordSetDecoder } from '../../../src/kafka/record-set-decoder.ts';
import { DECODER_OPTIONS, type DecodedSet, decodeSet, rowsOf, textHex } from '../../support/decoded-rows.ts';
import {
  encodeControlBatch,
  encodeHeaders,
  encodeRecordBatch,
  fixCrc,
  type TestCodec,
  type TestRecord,
} from '../../support/record-batch-encoder.ts';

const records = (from: number, count: number, extra: Partial<TestRecord> = {}): TestRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    offset: BigInt(from + i),
    timestamp: 1_784_000_000_000n + BigInt(i),
    key: `k${from + i}`,
    value: `value of ${from + i}`,
    ...extra,
  }));
const batch = (from: number, count: number, options = {}) => encodeRecordBatch(records(from, count), options);
const offsetsOf = (decoded: DecodedSet) => decoded.rows.map((r) => Number(r.offset));
const countsOf = ({ cursor }: DecodedSet) => ({
  position: cursor.position,
  rows: cursor.rows,
  control: cursor.control,
  aborted: cursor.aborted,
  holes: cursor.holes,
});
const gap = (from: number, until: number) => ({ from: BigInt(from), until: BigInt(until) });

function errorOf(decoded: DecodedSet): SluiceError {
  expect(decoded.error).toBeInstanceOf(SluiceError);
  return decoded.error as SluiceError;
}

describe('cases', () => {
  it('C11: a compacted batch that reaches over the position moves it to the end of the batch', () => {
    const hole = encodeRecordBatch([{ offset: 98n, value: 'old' }], { baseOffset: 97n, lastOffset: 105n });
    const first = decodeSet(hole, { from: 100n, until: 110n });
    expect(first.result).toEqual({ progressed: true });
    expect(first.rows).toEqual([]);
    expect(countsOf(first)).toEqual({ position: 106n, rows: 0, control: 0, aborted: 0, holes: 6 });

    const rest = encodeRecordBatch(
      [
        { offset: 107n, value: 'a' },
        { offset: 109n, value: 'b' },
      ],
      { baseOffset: 106n },
    );
    const both = decodeSet(Buffer.concat([hole, rest]), { from: 100n, until: 110n });
    expect(offsetsOf(both)).toEqual([107, 109]);
    expect(countsOf(both)).toEqual({ position: 110n, rows: 2, control: 0, aborted: 0, holes: 8 });
    expect(both.cursor.gaps).toEqual([gap(100, 107), gap(108, 109)]);
  });

  it('C15: under LogAppendTime every record has the maxTimestamp of the batch; -1 is null', () => {
    const appended = encodeRecordBatch(
      [
        { offset: 0n, timestamp: 1_784_000_100_000n, value: 'a' },
        { offset: 1n, timestamp: 1_784_007_877_777n, value: 'b' },
      ],
      { logAppendTime: true, baseTimestamp: 1_784_000_100_000n, maxTimestamp: 1_784_000_106_123n },
    );
    const created = encodeRecordBatch([{ offset: 2n, timestamp: -1n, value: 'c' }]);
    const decoded = decodeSet(Buffer.concat([appended, created]));
    expect(decoded.rows.map((r) => [r.timestamp, r.timestampType])).toEqual([
      [1_784_000_106_123n, 1],
      [1_784_000_106_123n, 1],
      [null, 0],
    ]);
    expect(decoded.faults).toEqual([]);
  });

  const framings: [string, TestCodec, string][] = [
    ['an LZ4 frame', 'lz4', '04224d18'],
    ['xerial Snappy', 'snappy-xerial', '82534e4150505900'],
    ['raw Snappy', 'snappy', ''],
    ['Zstandard of two frames', 'zstd-frames', '28b52ffd'],
    ['gzip', 'gzip', '1f8b'],
    ['no compression', 'none', ''],
  ];
  it.each(framings)('C16: reads a batch of %s', (_name, codec, magic) => {
    const set = encodeRecordBatch(records(40, 3), { codec });
    expect(set.subarray(61).toString('hex').startsWith(magic)).toBe(true);
    const decoded = decodeSet(set, { from: 40n });
    expect(decoded.rows.map((r) => r.value)).toEqual([40, 41, 42].map((i) => textHex(`value of ${i}`)));
    expect(decoded.cursor.position).toBe(43n);
  });

  it('C16: an unknown codec id is one fatal error that names it; the position stays', () => {
    const set = encodeRecordBatch(records(43, 3), { codec: { id: 7, compress: (data) => data } });
    const decoded = decodeSet(Buffer.concat([batch(40, 3), set]), { from: 40n });
    const error = errorOf(decoded);
    expect(error.code).toBe('UNSUPPORTED_CODEC');
    expect(error.retryable).toBe(false);
    expect(error.message).toContain('codec id 7');
    expect(error.message).toContain('orders-3 at offset 43');
    expect(error.context).toMatchObject({ topic: 'orders', partition: 3, offset: 43n });
    expect(offsetsOf(decoded)).toEqual([40, 41, 42]);
    expect(decoded.cursor.position).toBe(43n);
  });

  it('C17: a batch above the fetch limit is read whole, or its size is told', () => {
    const large = 'x'.repeat(126 * 1024);
    const set = Buffer.concat([
      encodeRecordBatch([{ offset: 10n, value: large }]),
      encodeRecordBatch([{ offset: 11n, value: 'y'.repeat(20) }]),
    ]);
    const size = set.length - encodeRecordBatch([{ offset: 11n, value: 'y'.repeat(20) }]).length;
    const whole = decodeSet(set, { from: 10n, until: 12n });
    expect(whole.rows.map((r) => r.value?.length)).toEqual([2 * 126 * 1024, 40]);
    for (const limit of [64 * 1024, 12, 61, size - 1]) {
      const cut = decodeSet(set.subarray(0, limit), { from: 10n, until: 12n });
      expect(cut.result).toEqual({ progressed: false, firstBatchBytesNeeded: size });
      expect(cut.cursor.position).toBe(10n);
      expect(cut.rows).toEqual([]);
    }
    expect(decodeSet(set.subarray(0, size), { from: 10n, until: 12n }).result).toEqual({ progressed: true });
  });
});

describe('rows', () => {
  it('keeps key, value, time and headers exact; tells null from empty', () => {
    const headers = [
      { key: 'trace', value: 'abc' },
      { key: '', value: null },
      { key: 'e', value: '' },
    ];
    const set = encodeRecordBatch([
      { offset: 5n, timestamp: 100n, key: 'k', value: Uint8Array.from([0xff, 0, 0x80]), headers },
      { offset: 6n, timestamp: 99n, key: null, value: null },
      { offset: 7n, timestamp: 5_000_000_000n, key: '', value: '' },
    ]);
    const decoded = decodeSet(set, { from: 5n });
    const rows = [
      {
        offset: 5n,
        timestamp: 100n,
        key: textHex('k'),
        value: 'ff0080',
        headers: Buffer.from(encodeHeaders(headers)).toString('hex'),
      },
      { offset: 6n, timestamp: 99n, key: null, value: null, headers: null },
      { offset: 7n, timestamp: 5_000_000_000n, key: '', value: '', headers: null },
    ];
    expect(decoded.rows).toEqual(rows.map((r) => ({ ...r, timestampType: 0 })));
    expect(decoded.faults).toEqual([]);
  });

  it('keeps values of every length around the lengths where copying changes', () => {
    const lengths = [...Array.from({ length: 140 }, (_, i) => i), 500, 5000, 70_000, 3, 0, 113];
    const values = lengths.map((n, i) =>
      createHash('sha512').update(`${i}`).digest('hex').repeat(600).slice(0, n),
    );
    const set = encodeRecordBatch(
      values.map((value, i) => ({
        offset: BigInt(i),
        key: values[values.length - 1 - i].slice(0, 3000),
        value,
      })),
    );
    const decoded = decodeSet(set);
    expect(decoded.rows.map((r) => r.value)).toEqual(values.map(textHex));
    expect(decoded.rows.map((r) => r.key)).toEqual(
      [...values].reverse().map((v) => textHex(v.slice(0, 3000))),
    );
    expect(decoded.faults).toEqual([]);
  });

  it('keeps offsets and times exact up to the limits of 64 bits', () => {
    const max = 2n ** 63n - 1n;
    const times = [max, -(2n ** 63n), 0n, 2n ** 53n + 1n, -2n, 4294967295n, 4294967296n];
    const from = max - 8n;
    const set = encodeRecordBatch(
      times.map((timestamp, i) => ({ offset: from + BigInt(i), timestamp, value: `${i}` })),
    );
    const decoded = decodeSet(set, { from, until: max });
    expect(decoded.rows.map((r) => r.offset)).toEqual(times.map((_, i) => from + BigInt(i)));
    expect(decoded.rows.map((r) => r.timestamp)).toEqual(times);
    expect(decoded.cursor.position).toBe(from + 7n);
  });

  it('reads timestamps against the delete horizon that compaction puts in the base', () => {
    const set = encodeRecordBatch([{ offset: 0n, timestamp: 1000n, value: 'a' }], {
      deleteHorizon: true,
      baseTimestamp: 90_000n,
    });
    expect(decodeSet(set).rows[0].timestamp).toBe(1000n);
  });

  it('carries offsets and times over 32 bits', () => {
    const from = 2n ** 32n - 2n;
    const set = encodeRecordBatch(
      [0n, 1n, 2n, 3n].map((i) => ({ offset: from + i, timestamp: 2n ** 40n - 2n + i, value: 'v' })),
    );
    const decoded = decodeSet(set, { from, until: from + 4n });
    expect(decoded.rows.map((r) => r.offset - from)).toEqual([0n, 1n, 2n, 3n]);
    expect(decoded.rows.map((r) => r.timestamp! - 2n ** 40n)).toEqual([-2n, -1n, 0n, 1n]);
  });

  it('lists the rows that are not UTF-8, and seals all', () => {
    const bad = Uint8Array.from([0x61, 0xff]);
    const set = encodeRecordBatch([
      { offset: 0n, key: 'a', value: 'good' },
      { offset: 1n, key: bad, value: bad },
      { offset: 2n, key: null, value: null },
      { offset: 3n, key: bad, value: '' },
    ]);
    const decode = (options: object) => {
      const seen: unknown[] = [];
      const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 4n });
      new RecordSetDecoder({ ...DECODER_OPTIONS, ...options }).decode(
        set,
        0,
        set.length,
        cursor,
        [],
        (_c, columns) => {
          seen.push(
            [...columns.invalidUtf8Values],
            [...columns.invalidUtf8Keys],
            rowsOf(columns).map((r) => r.value),
          );
        },
      );
      return seen;
    };
    const values = [textHex('good'), '61ff', null, ''];
    expect(decode({ checkUtf8Values: true, checkUtf8Keys: true })).toEqual([[1], [1, 3], values]);
    expect(decode({ checkUtf8Values: true })).toEqual([[1], [], values]);
    expect(decode({ checkUtf8Keys: true })).toEqual([[], [1, 3], values]);
    expect(decode({})).toEqual([[], [], values]);
    expect(decodeSet(set, {}, { checkUtf8Keys: true }).faults).toEqual([]);
  });

  it('stops where the receiver has enough, and goes on there', () => {
    const set = Buffer.concat(Array.from({ length: 40 }, (_, i) => batch(i * 10, 10)));
    const decoder = new RecordSetDecoder({ ...DECODER_OPTIONS, emitBytes: 2000 });
    const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 400n });
    const seen: number[] = [];
    const take = (_c: unknown, columns: RecordColumns): boolean => {
      seen.push(...rowsOf(columns).map((r) => Number(r.offset)));
      return true;
    };
    let result = decoder.decode(set, 0, set.length, cursor, [], take);
    let pauses = 0;
    while (result.pausedAt !== undefined) {
      pauses++;
      expect(cursor.position).toBe(BigInt(seen.length));
      expect(result.progressed).toBe(true);
      result = decoder.resume(set, result.pausedAt, set.length, cursor, take);
    }
    expect(pauses).toBeGreaterThan(5);
    expect(seen).toEqual(Array.from({ length: 400 }, (_, i) => i));
    expect(cursor.position).toBe(400n);
  });

  it('hands rows on when the columns are full, and reuses the columns', () => {
    const set = Buffer.concat(Array.from({ length: 40 }, (_, i) => batch(i * 10, 10)));
    const seen: number[] = [];
    const positions: bigint[] = [];
    const buffers = new Set<unknown>();
    const decoder = new RecordSetDecoder({ ...DECODER_OPTIONS, emitBytes: 2000 });
    const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 400n });
    decoder.decode(set, 0, set.length, cursor, [], (c, columns) => {
      seen.push(...rowsOf(columns).map((r) => Number(r.offset)));
      positions.push(c.position);
      expect(c.position).toBe(columns.offsets.getBigInt(columns.length - 1) + 1n);
      expect(columns.byteLength).toBeLessThan(2000 + 1000);
      buffers.add(columns.values.data);
    });
    expect(seen).toEqual(Array.from({ length: 400 }, (_, i) => i));
    expect(positions.length).toBeGreaterThan(5);
    expect(buffers.size).toBe(1);
  });

  it('does not keep the memory of one large batch', () => {
    const decoder = new RecordSetDecoder({ ...DECODER_OPTIONS, emitBytes: 1000 });
    const sizes: number[] = [];
    for (const value of ['x'.repeat(4_000_000), 'y']) {
      const set = encodeRecordBatch([{ offset: 0n, value }]);
      const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 1n });
      decoder.decode(set, 0, set.length, cursor, [], (_c, columns) => {
        sizes.push(columns.values.data.length);
      });
    }
    expect(sizes[0]).toBeGreaterThan(4_000_000);
    expect(sizes[1]).toBeLessThanOrEqual(1024 * 1024);
  });

  it('decodes for one cursor after another', () => {
    const decoder = new RecordSetDecoder(DECODER_OPTIONS);
    const set = batch(0, 5);
    const a = openCursor({ topic: 'a', partition: 0, from: 0n, until: 5n });
    const b = openCursor({ topic: 'b', partition: 1, from: 3n, until: 4n });
    const seen: string[] = [];
    const onRows: Parameters<RecordSetDecoder['decode']>[5] = (c, columns) => {
      seen.push(...rowsOf(columns).map((r) => `${c.topic}${r.offset}`));
    };
    decoder.decode(set, 0, set.length, a, [], onRows);
    decoder.decode(set, 0, set.length, b, [], onRows);
    expect(seen).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'b3']);
  });

  it('lets an error of the receiver through', () => {
    const set = batch(0, 5);
    const cursor = openCursor({ topic: 'a', partition: 0, from: 0n, until: 5n });
    const full = new Error('disk full');
    expect(() =>
      new RecordSetDecoder(DECODER_OPTIONS).decode(set, 0, set.length, cursor, [], () => {
        throw full;
      }),
    ).toThrow(full);
  });
});

describe('the range [position, until)', () => {
  const set = Buffer.concat([batch(10, 10), batch(20, 10), batch(30, 10)]);

  it.each([
    [10, 40],
    [15, 25],
    [19, 21],
    [20, 30],
    [12, 13],
    [39, 40],
    [10, 11],
  ])('delivers exactly [%d, %d)', (from, until) => {
    const decoded = decodeSet(set, { from: BigInt(from), until: BigInt(until) });
    expect(offsetsOf(decoded)).toEqual(Array.from({ length: until - from }, (_, i) => from + i));
    expect(countsOf(decoded)).toEqual({
      position: BigInt(until),
      rows: until - from,
      control: 0,
      aborted: 0,
      holes: 0,
    });
    expect(decoded.cursor.gaps).toEqual([]);
  });

  it('counts the offsets before, between and after batches as holes, and none at or beyond until', () => {
    const holes = Buffer.concat([batch(12, 2), batch(20, 2), batch(100, 2)]);
    const decoded = decodeSet(holes, { from: 10n, until: 50n });
    expect(offsetsOf(decoded)).toEqual([12, 13, 20, 21]);
    expect(countsOf(decoded)).toEqual({ position: 50n, rows: 4, control: 0, aborted: 0, holes: 36 });
    expect(decoded.cursor.gaps).toEqual([gap(10, 12), gap(14, 20), gap(22, 50)]);
  });

  it('passes an empty batch, which compaction leaves of a producer', () => {
    const empty = encodeRecordBatch([], { baseOffset: 5n, lastOffset: 9n });
    const decoded = decodeSet(Buffer.concat([batch(0, 5), empty, batch(10, 1)]), { until: 11n });
    expect(countsOf(decoded)).toEqual({ position: 11n, rows: 6, control: 0, aborted: 0, holes: 5 });
    expect(decoded.cursor.gaps).toEqual([gap(5, 10)]);
  });

  it('skips batches that are older than the position', () => {
    const decoded = decodeSet(set, { from: 31n, until: 33n });
    expect(offsetsOf(decoded)).toEqual([31, 32]);
    expect(decodeSet(batch(0, 5), { from: 31n, until: 33n }).result).toEqual({ progressed: false });
  });

  it('needs nothing where the range is read already, or the set is empty', () => {
    expect(decodeSet(set, { from: 10n, until: 10n })).toMatchObject({
      rows: [],
      result: { progressed: false },
    });
    expect(decodeSet(Buffer.alloc(0)).result).toEqual({ progressed: false });
    expect(decodeSet(Buffer.alloc(11)).result).toEqual({ progressed: false, firstBatchBytesNeeded: 61 });
  });

  it('leaves a batch that is cut off for the next fetch', () => {
    for (const rest of [1, 11, 12, 60, 61, 200]) {
      const cut = set.subarray(0, batch(10, 10).length + rest);
      const decoded = decodeSet(cut, { from: 10n, until: 40n });
      expect(decoded.result).toEqual({ progressed: true });
      expect(decoded.cursor.position).toBe(20n);
    }
  });

  it('knows the leader epoch and the bytes of the batches that it passed', () => {
    const first = batch(0, 5, { leaderEpoch: 7 });
    const second = batch(5, 5, { leaderEpoch: 9 });
    const third = batch(10, 5, { leaderEpoch: 11 });
    const decoded = decodeSet(Buffer.concat([first, second, third]), { from: 2n, until: 8n });
    expect(decoded.cursor.leaderEpoch).toBe(9);
    expect(decoded.cursor.bytes).toBe(first.length + second.length);
    expect(openCursor({ topic: 't', partition: 0, from: 0n, until: 1n }).leaderEpoch).toBe(-1);
  });

  it('keeps the first 10,000 gaps and says that there are more', () => {
    const every = (count: number) =>
      encodeRecordBatch(
        Array.from({ length: count }, (_, i) => ({ offset: BigInt(i * 2), value: 'v' })),
        { baseOffset: 0n },
      );
    const exact = decodeSet(every(10_001), { until: 20_001n });
    expect(exact.cursor.gaps).toHaveLength(10_000);
    expect(exact.cursor.gapsCut).toBe(false);
    const cut = decodeSet(every(10_500), { until: 20_999n });
    expect(cut.cursor.gaps).toHaveLength(10_000);
    expect(cut.cursor.gapsCut).toBe(true);
    expect(countsOf(cut)).toEqual({
      position: 20_999n,
      rows: 10_500,
      control: 0,
      aborted: 0,
      holes: 10_499,
    });
    let sum = 0;
    for (let i = 0; i < 10_499; i++) sum = addSums(sum, stretchSum(2 * i + 1, 2 * i + 2));
    expect(cut.cursor.gapSum).toBe(sum);
  });
});

describe('transactions', () => {
  const P = 42n;
  const transactional = { transactional: true, producerId: P, producerEpoch: 0 };
  const log = Buffer.concat([
    batch(0, 3, transactional), // aborted at 8
    batch(3, 2), // no transaction
    batch(5, 3, transactional), // aborted at 8
    encodeControlBatch('abort', 8n, P),
    batch(9, 2, transactional), // committed at 11
    encodeControlBatch('commit', 11n, P),
    batch(12, 1, { producerId: P }), // idempotent only
  ]);
  const aborted: AbortedTransaction[] = [{ producerId: P, firstOffset: 0n }];

  it('drops the records of an aborted transaction under read_committed, and no other', () => {
    const decoded = decodeSet(log, { until: 13n }, { readCommitted: true }, aborted);
    expect(offsetsOf(decoded)).toEqual([3, 4, 9, 10, 12]);
    expect(countsOf(decoded)).toEqual({ position: 13n, rows: 5, control: 2, aborted: 6, holes: 0 });
    expect(decoded.cursor.gaps).toEqual([gap(0, 3), gap(5, 9), gap(11, 12)]);
  });

  it('delivers everything but markers under read_uncommitted', () => {
    const decoded = decodeSet(log, { until: 13n }, { readCommitted: false }, aborted);
    expect(offsetsOf(decoded)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12]);
    expect(countsOf(decoded)).toEqual({ position: 13n, rows: 11, control: 2, aborted: 0, holes: 0 });
  });

  it('is exact where the position stands inside the transaction', () => {
    for (let from = 0n; from < 13n; from++) {
      const decoded = decodeSet(log, { from, until: 13n }, {}, aborted);
      expect(offsetsOf(decoded)).toEqual([3, 4, 9, 10, 12].filter((o) => o >= from));
      expect(decoded.cursor.aborted).toBe([0, 1, 2, 5, 6, 7].filter((o) => o >= from).length);
      const until = decodeSet(log, { until: from }, {}, aborted);
      expect(offsetsOf(until)).toEqual([3, 4, 9, 10, 12].filter((o) => o < from));
      expect(until.cursor.aborted).toBe([0, 1, 2, 5, 6, 7].filter((o) => o < from).length);
    }
  });

  it('delivers what the producer of an aborted transaction wrote outside of it', () => {
    const set = Buffer.concat([batch(0, 2, transactional), batch(2, 2, { producerId: P })]);
    const decoded = decodeSet(set, { until: 4n }, {}, aborted);
    expect(offsetsOf(decoded)).toEqual([2, 3]);
    expect(countsOf(decoded)).toEqual({ position: 4n, rows: 2, control: 0, aborted: 2, holes: 0 });
  });

  it('is exact where the transaction spans several fetches', () => {
    const batches = [
      batch(0, 3, transactional),
      batch(3, 3, transactional),
      encodeControlBatch('abort', 6n, P),
      batch(7, 2, transactional),
    ];
    const decoder = new RecordSetDecoder(DECODER_OPTIONS);
    const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 9n });
    const seen: number[] = [];
    for (const [i, set] of batches.entries()) {
      const list = i < 3 ? aborted : [];
      decoder.decode(set, 0, set.length, cursor, list, (_c, columns) => {
        seen.push(...rowsOf(columns).map((r) => Number(r.offset)));
      });
    }
    expect(seen).toEqual([7, 8]);
    expect([cursor.position, cursor.aborted, cursor.control, cursor.rows]).toEqual([9n, 6, 1, 2]);
  });

  it('does not drop what follows the marker when a response is decoded in two calls', () => {
    const decoder = new RecordSetDecoder(DECODER_OPTIONS);
    const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 13n });
    const seen: number[] = [];
    const half = [0, 1, 2, 3].reduce((at) => at + 12 + log.readInt32BE(at + 8), 0);
    for (const [start, end] of [
      [0, half],
      [half, log.length],
    ]) {
      decoder.decode(log, start, end, cursor, aborted, (_c, columns) => {
        seen.push(...rowsOf(columns).map((r) => Number(r.offset)));
      });
    }
    expect(seen).toEqual([3, 4, 9, 10, 12]);
  });

  it('reads the marker of a batch before the position', () => {
    // The response begins at the marker's batch (offsets 3 to 8 after compaction); the position stands beyond it.
    const marker = encodeRecordBatch([{ offset: 8n, key: Uint8Array.from([0, 0, 0, 0]), value: null }], {
      ...transactional,
      control: true,
      baseOffset: 3n,
    });
    const decoded = decodeSet(
      Buffer.concat([marker, batch(9, 2, transactional)]),
      { from: 9n, until: 11n },
      {},
      aborted,
    );
    expect(offsetsOf(decoded)).toEqual([9, 10]);
  });

  it('counts a compressed aborted batch that the range cuts', () => {
    const packed = Buffer.concat([
      batch(0, 10, { ...transactional, codec: 'zstd' }),
      encodeControlBatch('abort', 10n, P),
    ]);
    const decoded = decodeSet(packed, { from: 4n, until: 9n }, {}, aborted);
    expect(countsOf(decoded)).toEqual({ position: 9n, rows: 0, control: 0, aborted: 5, holes: 0 });
  });

  it('counts control records of other kinds, and delivers none', () => {
    const leaderChange = encodeRecordBatch([{ offset: 0n, key: Uint8Array.from([0, 0, 0, 2]), value: 'x' }], {
      control: true,
    });
    const decoded = decodeSet(leaderChange, { until: 1n });
    expect(countsOf(decoded)).toEqual({ position: 1n, rows: 0, control: 1, aborted: 0, holes: 0 });
  });

  it('passes a control batch whose marker was compacted away', () => {
    const empty = encodeRecordBatch([], { ...transactional, control: true, baseOffset: 0n, lastOffset: 0n });
    expect(countsOf(decodeSet(empty, { until: 1n }))).toEqual({
      position: 1n,
      rows: 0,
      control: 0,
      aborted: 0,
      holes: 1,
    });
  });
});

describe('damage', () => {
  /** Sets bytes in the header or the records and gives it the right CRC: what a hostile broker may send. */
  const hostile = (change: (b: Buffer) => void, source = batch(20, 3)) => {
    const changed = Buffer.from(source);
    change(changed);
    return fixCrc(changed);
  };
  const section = (hex: string, options: object = {}) =>
    encodeRecordBatch(records(20, 1), { mangle: () => Buffer.from(hex, 'hex'), ...options });

  it('names topic, partition and offset, delivers the rows before and does not advance', () => {
    const damaged = batch(20, 3);
    damaged[damaged.length - 1] ^= 1;
    const decoded = decodeSet(Buffer.concat([batch(10, 10), damaged, batch(23, 3)]), { from: 10n });
    const error = errorOf(decoded);
    expect(error.code).toBe('COULD_NOT_READ');
    expect(error.message).toMatch(/orders-3 at offset 20.*CRC-32C mismatch/);
    expect(error.context).toMatchObject({ topic: 'orders', partition: 3, offset: 20n, position: 20n });
    expect(error.cause).toBeInstanceOf(Error);
    expect(offsetsOf(decoded)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(countsOf(decoded)).toMatchObject({ position: 20n, rows: 10, holes: 0 });
  });

  const damages: [string, () => Buffer, RegExp][] = [
    ['a batch length below any header', () => hostile((b) => b.writeInt32BE(10, 8)), /length field says 10/],
    ['a negative batch length', () => hostile((b) => b.writeInt32BE(-5, 8)), /length field says -5/],
    [
      'a batch length within the header',
      () => hostile((b) => b.writeInt32BE(30, 8)),
      /shorter than its header/,
    ],
    ['an unknown magic', () => hostile((b) => b.writeInt8(3, 16)), /unknown magic 3/],
    ['a negative base offset', () => hostile((b) => b.writeBigInt64BE(-1n, 0)), /negative base offset/],
    ['a negative offset delta', () => hostile((b) => b.writeInt32BE(-1, 23)), /negative last offset delta/],
    ['offsets beyond 64 bits', () => hostile((b) => b.writeBigInt64BE(2n ** 63n - 2n, 0)), /beyond 64 bits/],
    ['a negative count', () => hostile((b) => b.writeInt32BE(-1, 57)), /-1 records do not fit 3 offsets/],
    [
      'a count of 2^31 - 1',
      () => hostile((b) => b.writeInt32BE(2 ** 31 - 1, 57)),
      /2147483647 records do not fit/,
    ],
    [
      'a count of 2^31 - 1 with offsets for it',
      () =>
        hostile((b) => {
          b.writeInt32BE(2 ** 31 - 1, 57);
          b.writeInt32BE(2 ** 31 - 1, 23);
        }),
      /2147483647 records do not fit \d+ bytes/,
    ],
    [
      'a count that is too small',
      () => hostile((b) => b.writeInt32BE(2, 57)),
      /bytes are left after the last record/,
    ],
    [
      'a count that is too great',
      () => encodeRecordBatch(records(20, 3), { recordsCount: 4, lastOffset: 30n }),
      /record 3|do not fit|cut off/,
    ],
    [
      'a record length beyond the batch',
      () => section('7e00000001010000'),
      /record 0 says it is 63 bytes long/,
    ],
    ['a negative record length', () => section('0500000001010000'), /record 0 says it is -3 bytes long/],
    [
      'a record too short for its fields',
      () => section('0a000000010101' + '00'),
      /record 0 says it is 5 bytes long/,
    ],
    [
      'a record length of eleven bytes',
      () => section('80808080808080808080010000000000'),
      /longer than 32 bits/,
    ],
    [
      'a timestamp delta of eleven bytes',
      () => section('2000' + '8080808080808080808001' + '0001010000'),
      /longer than 64 bits|long/,
    ],
    [
      'an offset delta beyond the last',
      () => section('0c000002010100'),
      /offset delta 1, expected one of 0 to 0/,
    ],
    ['a negative offset delta', () => section('0c000001010100'), /offset delta -1/],
    ['a key beyond the record', () => section('0c0000007e0100'), /the key says it is 63 bytes/],
    ['a key length of -2', () => section('0c000000030100'), /the key says it is -2 bytes/],
    ['a value beyond the record', () => section('0c000000017e00'), /the value says it is 63 bytes/],
    [
      'a value that leaves no room for headers',
      () => section('0c000000010200'),
      /the value says it is 1 bytes/,
    ],
    ['a value length of -2', () => section('0c000000010300'), /the value says it is -2 bytes/],
    ['a negative header count', () => section('0c000000010101'), /says it has -1 headers/],
    ['a header count beyond the record', () => section('0e00000001010400'), /says it has 2 headers/],
    [
      'a header key of negative length',
      () => section('10000000010102' + '0101'),
      /key of header 0 says it is -1/,
    ],
    [
      'a header value beyond the record',
      () => section('10000000010102' + '007e'),
      /value of header 0 says it is 63/,
    ],
    [
      'bytes after the fields of a record',
      () => section('0e00000001010000'),
      /is 7 bytes long, its fields take 6/,
    ],
    ['bytes after the last record', () => section('0c00000001010000'), /1 bytes are left/],
    [
      'offsets that do not rise',
      () => encodeRecordBatch([{ offset: 20n }, { offset: 20n }], { lastOffset: 22n }),
      /offset delta 0, expected one of 1 to 2/,
    ],
    [
      'a control record without a type',
      () => encodeRecordBatch([{ offset: 20n, key: 'ab' }], { control: true }),
      /key of 2 bytes/,
    ],
    [
      'compressed bytes that are none',
      () => encodeRecordBatch(records(20, 3), { codec: { id: 1, compress: (d) => d } }),
      /gzip/,
    ],
    [
      'Zstandard bytes that are none',
      () => encodeRecordBatch(records(20, 3), { codec: { id: 4, compress: (d) => d } }),
      /zstd/,
    ],
  ];

  it.each(damages)('finds %s', (_what, set, message) => {
    const decoded = decodeSet(Buffer.concat([batch(10, 10), set(), batch(60, 3)]), { from: 10n, until: 63n });
    const error = errorOf(decoded);
    expect(error.code).toBe('COULD_NOT_READ');
    expect(error.message).toMatch(message);
    expect(offsetsOf(decoded)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(decoded.cursor.position).toBe(20n);
    expect(decoded.faults).toEqual([]);
  });

  it('finds batches that do not follow each other', () => {
    const decoded = decodeSet(Buffer.concat([batch(10, 10), batch(19, 3)]), { from: 10n });
    expect(errorOf(decoded).message).toContain('its first offset 19 does not follow 19');
    expect(decoded.cursor.position).toBe(20n);
  });

  it('does not let nulls of a damaged batch shine through in the next', () => {
    const decoder = new RecordSetDecoder(DECODER_OPTIONS);
    const cursor = openCursor({ topic: 't', partition: 0, from: 0n, until: 10n });
    const damaged = encodeRecordBatch(
      [
        { offset: 0n, timestamp: -1n },
        { offset: 1n, timestamp: -1n },
      ],
      {
        mangle: (b) => Buffer.concat([b, Buffer.from([0])]),
      },
    );
    expect(() => decoder.decode(damaged, 0, damaged.length, cursor, [], () => {})).toThrow(
      '1 bytes are left',
    );
    const good = encodeRecordBatch([
      { offset: 0n, timestamp: 5n },
      { offset: 1n, timestamp: 6n },
      { offset: 2n, timestamp: -1n },
    ]);
    let times: unknown;
    decoder.decode(good, 0, good.length, cursor, [], (_c, columns) => {
      times = rowsOf(columns).map((r) => r.timestamp);
    });
    expect(times).toEqual([5n, 6n, null]);
  });

  it('bounds what a batch may need, compressed or not, with its sizes in the message', () => {
    const large = records(20, 1, { value: 'z'.repeat(100_000) });
    for (const codec of ['none', 'gzip', 'snappy', 'snappy-xerial', 'lz4', 'zstd', 'zstd-frames'] as const) {
      const set = Buffer.concat([batch(10, 10), encodeRecordBatch(large, { codec })]);
      const decoded = decodeSet(set, { from: 10n }, { maxBatchBytes: 50_000 });
      const error = errorOf(decoded);
      expect(error.code).toBe('MEMORY_LIMIT');
      expect(error.message).toMatch(/orders-3 at offset 20.*at most 50000/);
      expect(error.context).toMatchObject({ offset: 20n, maxBytes: 50_000 });
      expect(decoded.cursor.position).toBe(20n);
      expect(decoded.rows).toHaveLength(10);
    }
  });

  it('stops a decompression bomb, and does not take its inner layer for records', () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 }), { level: 9 });
    const layered = encodeRecordBatch(records(20, 3), {
      codec: { id: 1, compress: () => gzipSync(Buffer.alloc(64 << 20)) },
    });
    expect(errorOf(decodeSet(layered, { from: 20n })).code).toBe('MEMORY_LIMIT');
    const twice = encodeRecordBatch(records(20, 3), { codec: { id: 1, compress: () => bomb } });
    expect(isSluiceError(decodeSet(twice, { from: 20n }).error, 'COULD_NOT_READ')).toBe(true);
  });
});
