import { describe, expect, it } from 'vitest';
import { RowBlock } from '../../../src/engine/local/row-block.ts';
import { bronzeTarget, columnsOf, type TestRecord, topicTargets } from '../../support/blocks.ts';

function blockOf(records: TestRecord[], targets = topicTargets()): RowBlock {
  const block = new RowBlock();
  block.load(targets, 3, columnsOf(records));
  return block;
}

describe('RowBlock', () => {
  it('turns milliseconds into microseconds exactly, before 1970 and up to the year 9999', () => {
    const times = [
      0,
      1,
      -1,
      1784000106123,
      -62_135_596_800_000,
      253_402_300_799_999,
      2 ** 32,
      -(2 ** 32) - 7,
    ];
    const block = blockOf(times.map((ms, offset) => ({ offset, ms })));
    expect(times.map((_, row) => block.timestampsMicros.getBigInt(row))).toEqual(
      times.map((ms) => BigInt(ms) * 1000n),
    );
    expect(block.excluded).toEqual([]);
    expect(block.maxTimestampMs).toBe(253_402_300_799_999);
  });

  it('keeps a missing timestamp null', () => {
    const block = blockOf([{ offset: 0, ms: null }]);
    expect(block.timestampsMicros.isNull(0)).toBe(true);
    expect(block.excluded).toEqual([]);
    expect(block.maxTimestampMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it('quarantines a timestamp that no date can say', () => {
    const block = blockOf([
      { offset: 0, ms: 253_402_300_800_000 },
      { offset: 1, ms: -62_135_596_800_001 },
    ]);
    expect(block.excluded.map((e) => [e.row, e.reason, e.field])).toEqual([
      [0, 'OUT_OF_RANGE', 'kafka_timestamp'],
      [1, 'OUT_OF_RANGE', 'kafka_timestamp'],
    ]);
  });

  it('names the first byte that is not UTF-8', () => {
    const block = blockOf([
      { offset: 0, ms: 0, value: 'good' },
      { offset: 1, ms: 0, value: Uint8Array.of(0x61, 0x62, 0xff, 0x63) },
    ]);
    expect(block.excluded).toEqual([
      {
        row: 1,
        reason: 'INVALID_UTF8',
        field: 'value',
        message: 'the value (4 bytes) is not valid UTF-8: first bad byte at 2',
      },
    ]);
  });

  it('drops tombstones where the rule says so, and never a broken record', () => {
    const targets = topicTargets(bronzeTarget({ tombstones: 'drop' }), { checkUtf8Keys: true });
    const block = blockOf(
      [
        { offset: 0, ms: 0, value: null },
        { offset: 1, ms: 0, value: '' },
        { offset: 2, ms: 0, value: null, key: Uint8Array.of(0xc3) },
      ],
      targets,
    );
    expect(block.excluded.map((e) => [e.row, e.reason])).toEqual([
      [0, null],
      [2, 'INVALID_UTF8'],
    ]);
  });

  it('C17: sets a record aside that is over the limit, with its length and hash', () => {
    const targets = topicTargets(bronzeTarget({ maxRecordBytes: 10 }));
    const records = ['0123456789', '01234567890', ''].map((value, offset) => ({ offset, ms: 0, value }));
    const block = blockOf([...records, { offset: 3, ms: 0, value: '123456', key: '12345' }], targets);
    expect(block.excluded.map((e) => [e.row, e.reason])).toEqual([
      [1, 'TOO_LARGE'],
      [3, 'TOO_LARGE'],
    ]);
    expect(block.excluded[0].message).toBe(
      'key and value have 11 bytes, maxRecordBytes is 10; the value has 11 bytes, SHA-256 ee29eb4a8725678278ac439cf7abfd2a849cdc7378a6b6316017b81c51d720e7',
    );
  });

  it('lets every byte through where the columns are binary', () => {
    const block = blockOf(
      [{ offset: 0, ms: 0, value: Uint8Array.of(0xff) }],
      topicTargets(bronzeTarget({ valueType: 'binary' }), { checkUtf8Values: false }),
    );
    expect(block.excluded).toEqual([]);
  });

  it('quarantines a record with a header key that is no UTF-8 where the table has headers', () => {
    const bad = Uint8Array.of(0x61, 0xff);
    const records: TestRecord[] = [
      { offset: 0, ms: 0, headers: [['é\u{1f600}', bad]] },
      {
        offset: 1,
        ms: 0,
        headers: [
          ['a', null],
          ['', bad],
          [bad, new Uint8Array(0)],
        ],
      },
      { offset: 2, ms: 0, headers: null },
      { offset: 3, ms: 0, value: null, headers: [[bad, null]] },
      {
        offset: 4,
        ms: 0,
        headers: [
          ['x'.repeat(200), new Uint8Array(300)],
          [bad, null],
          ['b', null],
        ],
      },
    ];
    expect(blockOf(records).excluded).toEqual([]);
    const targets = topicTargets(bronzeTarget({ includeHeaders: true, tombstones: 'drop' }), {
      checkUtf8HeaderKeys: true,
    });
    expect(blockOf(records, targets).excluded).toEqual([
      { row: 1, reason: 'INVALID_UTF8', field: 'headers', message: 'the key of header 2 is not valid UTF-8' },
      { row: 3, reason: 'INVALID_UTF8', field: 'headers', message: 'the key of header 0 is not valid UTF-8' },
      { row: 4, reason: 'INVALID_UTF8', field: 'headers', message: 'the key of header 1 is not valid UTF-8' },
    ]);
  });
});
