import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { type DecodedSet, decodeSet, textHex } from '../../support/decoded-rows.ts';
import {
  encodeMessage,
  encodeMessageSet,
  encodeRecordBatch,
  fixMessageCrc,
  type TestCodec,
  type TestRecord,
} from '../../support/record-batch-encoder.ts';

const RECORDS: TestRecord[] = [
  { offset: 10n, timestamp: 1000n, key: 'a', value: 'first' },
  { offset: 11n, timestamp: -1n, key: null, value: 'second' },
  { offset: 14n, timestamp: 3000n, key: '', value: null },
  { offset: 15n, timestamp: 2000n, key: 'd', value: '' },
];
const ROWS = [
  [10n, 1000n, textHex('a'), textHex('first')],
  [11n, null, null, textHex('second')],
  [14n, 3000n, '', null],
  [15n, 2000n, textHex('d'), ''],
];
const CODECS: TestCodec[] = ['none', 'gzip', 'snappy', 'snappy-xerial', 'lz4'];

const rows = (decoded: DecodedSet) => decoded.rows.map((r) => [r.offset, r.timestamp, r.key, r.value]);
const rowsOfMagic = (magic: number) => ROWS.map((r) => (magic === 0 ? [r[0], null, r[2], r[3]] : r));

function errorOf(decoded: DecodedSet): SluiceError {
  expect(decoded.error).toBeInstanceOf(SluiceError);
  return decoded.error as SluiceError;
}

describe.each([0, 1] as const)('magic %d', (magic) => {
  it.each(CODECS as string[])('decodes messages compressed with %s', (codec) => {
    const set = encodeMessageSet(magic, RECORDS, { codec: codec as TestCodec });
    for (const checkUtf8Values of [false, true]) {
      const decoded = decodeSet(set, { from: 10n, until: 16n }, { checkUtf8Values });
      expect(decoded.error).toBeUndefined();
      expect(rows(decoded)).toEqual(rowsOfMagic(magic));
      expect(decoded.faults).toEqual([]);
      expect(decoded.rows.every((r) => r.headers === null && r.timestampType === 0)).toBe(true);
      expect(decoded.cursor).toMatchObject({
        position: 16n,
        rows: 4,
        holes: 2,
        control: 0,
        aborted: 0,
        leaderEpoch: -1,
      });
      expect(decoded.cursor.gaps).toEqual([{ from: 12n, until: 14n }]);
    }
  });

  it.each(CODECS as string[])('delivers exactly the range, compressed with %s', (codec) => {
    const set = encodeMessageSet(magic, RECORDS, { codec: codec as TestCodec });
    for (let from = 8n; from <= 16n; from++) {
      for (let until = from + 1n; until <= 18n; until++) {
        const { cursor, ...decoded } = decodeSet(set, { from, until });
        const wanted = RECORDS.filter((r) => r.offset >= from && r.offset < until);
        expect(decoded.rows.map((r) => r.offset)).toEqual(wanted.map((r) => r.offset));
        const end = until < 16n ? until : from > 16n ? from : 16n;
        expect(cursor.position).toBe(end);
        expect(cursor.rows + cursor.holes).toBe(Number(end - from));
      }
    }
  });

  it('finds a wrong CRC of a message and of an inner message', () => {
    const plain = encodeMessageSet(magic, RECORDS);
    plain[plain.length - 1] ^= 1; // the last value's length
    const decoded = decodeSet(plain, { from: 10n, until: 16n });
    expect(errorOf(decoded).code).toBe('COULD_NOT_READ');
    expect(errorOf(decoded).message).toMatch(/orders-3 at offset 15.*CRC-32 mismatch/);
    expect(rows(decoded)).toEqual(rowsOfMagic(magic).slice(0, 3));
    expect(decoded.cursor.position).toBe(15n);

    const inner = encodeMessageSet(magic, RECORDS, {
      codec: 'gzip',
      mangle: (bytes) => {
        bytes[bytes.length - 1] ^= 1;
        return bytes;
      },
    });
    const wrapped = decodeSet(inner, { from: 10n, until: 16n });
    expect(errorOf(wrapped).message).toContain('CRC-32 mismatch');
    expect(wrapped.rows).toEqual([]);
    expect(wrapped.cursor).toMatchObject({ position: 10n, rows: 0, holes: 0 });
  });

  it('names an unknown codec', () => {
    const set = encodeMessageSet(magic, RECORDS, { codec: { id: 6, compress: (d) => d } });
    expect(errorOf(decodeSet(set, { from: 10n })).code).toBe('UNSUPPORTED_CODEC');
  });

  it('bounds what a wrapper may need', () => {
    const large = [{ offset: 10n, value: 'x'.repeat(100_000) }];
    const set = encodeMessageSet(magic, large, { codec: 'gzip' });
    expect(errorOf(decodeSet(set, { from: 10n }, { maxBatchBytes: 5000 })).code).toBe('MEMORY_LIMIT');
  });

  const message = (key: Uint8Array | null, value: Uint8Array | null, attributes = 0) =>
    encodeMessage(magic, 10n, attributes, 5n, key, value);
  const keyLengthAt = magic === 0 ? 18 : 26;
  const damages: [string, () => Buffer, RegExp][] = [
    [
      'a key length of -2',
      () => patched((b) => b.writeInt32BE(-2, keyLengthAt)),
      /key of a message says it is -2/,
    ],
    [
      'a key beyond the message',
      () => patched((b) => b.writeInt32BE(2 ** 31 - 1, keyLengthAt)),
      /key of a message/,
    ],
    [
      'a value beyond the message',
      () => patched((b) => b.writeInt32BE(9, keyLengthAt + 5)),
      /value of a message/,
    ],
    ['a value that ends early', () => patched((b) => b.writeInt32BE(0, keyLengthAt + 5)), /bytes are left/],
    ['a negative offset', () => patched((b) => b.writeBigInt64BE(-7n, 0)), /negative offset/],
    ['a compressed message of no value', () => message(null, null, 1), /without a value/],
    ['a wrapper that holds nothing', () => wrapper(() => Buffer.alloc(0)), /holds no message/],
    ['an inner set that is cut off', () => wrapper((b) => b.subarray(0, b.length - 1)), /are left/],
    [
      'an inner set cut within an overhead',
      () => wrapper((b) => Buffer.concat([b, Buffer.alloc(5)])),
      /cut off/,
    ],
    [
      'an inner message of another magic',
      () => wrapper(() => encodeMessageSet(magic === 0 ? 1 : 0, RECORDS)),
      /an inner message of magic/,
    ],
    ['an inner message of magic 2', () => wrapper(() => encodeRecordBatch(RECORDS)), /magic 2 inside/],
    [
      'a wrapper in a wrapper',
      () => wrapper(() => encodeMessageSet(magic, RECORDS, { codec: 'gzip' })),
      /compressed again/,
    ],
    ['inner offsets that do not rise', () => wrapper((b) => Buffer.concat([b, b])), /does not follow/],
    [
      'inner offsets beyond the wrapper',
      () => wrapper(() => encodeMessageSet(magic, [{ offset: 99n, value: 'x' }])),
      /beyond the wrapper's 15/,
    ],
  ];

  function patched(change: (b: Buffer) => void): Buffer {
    const entry = message(Uint8Array.from([1]), Uint8Array.from([2, 3]));
    change(entry);
    return fixMessageCrc(entry);
  }

  function wrapper(mangle: (b: Uint8Array) => Uint8Array): Buffer {
    return encodeMessageSet(magic, RECORDS, { codec: 'gzip', mangle });
  }

  it.each(damages)('finds %s', (_what, set, text) => {
    const decoded = decodeSet(set(), { from: 10n });
    expect(errorOf(decoded).code).toBe('COULD_NOT_READ');
    expect(errorOf(decoded).message).toMatch(text);
    expect(decoded.rows).toEqual([]);
    expect(decoded.cursor.position).toBe(10n);
  });

  it('stands between batches of other magics in one set', () => {
    const set = Buffer.concat([
      encodeMessageSet(0, [{ offset: 1n, value: 'zero' }]),
      encodeMessageSet(1, [{ offset: 2n, timestamp: 5n, value: 'one' }], { codec: 'lz4' }),
      encodeRecordBatch([{ offset: 4n, timestamp: 6n, value: 'two' }], { leaderEpoch: 3 }),
      encodeMessageSet(magic, [{ offset: 5n, value: 'again' }]),
    ]);
    const decoded = decodeSet(set, { from: 0n, until: 7n });
    expect(decoded.rows.map((r) => [r.offset, r.timestamp, r.value])).toEqual([
      [1n, null, textHex('zero')],
      [2n, 5n, textHex('one')],
      [4n, 6n, textHex('two')],
      [5n, null, textHex('again')],
    ]);
    expect(decoded.cursor).toMatchObject({ position: 6n, holes: 2, leaderEpoch: 3 });
  });
});

describe('magic 1', () => {
  it('reads relative inner offsets also where compaction took the first ones', () => {
    const set = encodeMessageSet(1, RECORDS.slice(1), { codec: 'gzip', firstInnerOffset: 1n });
    expect(rows(decodeSet(set, { from: 10n, until: 16n }))).toEqual(ROWS.slice(1));
  });

  it('C15: under LogAppendTime inner messages have the time of the wrapper', () => {
    const set = encodeMessageSet(1, RECORDS, { codec: 'gzip', logAppendTime: true, wrapperTimestamp: 7777n });
    const decoded = decodeSet(set, { from: 10n, until: 16n });
    expect(decoded.rows.map((r) => [r.timestamp, r.timestampType])).toEqual(RECORDS.map(() => [7777n, 1]));
    const plain = encodeMessageSet(1, RECORDS, { logAppendTime: true });
    expect(
      decodeSet(plain, { from: 10n, until: 16n }).rows.map((r) => [r.timestamp, r.timestampType]),
    ).toEqual(ROWS.map((r) => [r[1], 1]));
  });
});

it('finds messages that do not follow each other', () => {
  const set = Buffer.concat([encodeMessageSet(1, RECORDS), encodeMessageSet(1, RECORDS, { codec: 'gzip' })]);
  const decoded = decodeSet(set, { from: 10n, until: 100n });
  expect(errorOf(decoded).message).toContain('its first offset 10 does not follow 15');
  expect(decoded.rows).toHaveLength(4);
});
