import { describe, expect, it } from 'vitest';
import { Malformed } from '../../../src/checkpoint/malformed.ts';
import {
  formatCommitLog,
  formatInitialOffsets,
  formatMetadata,
  formatOffsetLog,
  parseCommitLog,
  parseInitialOffsets,
  parseMetadata,
  parseOffsetLog,
} from '../../../src/checkpoint/spark-format.ts';
import type { OffsetMap } from '../../../src/core/offset-range.ts';

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const bytes = (s: string) => new TextEncoder().encode(s);
const OFFSETS: OffsetMap = new Map([
  [
    't',
    new Map([
      [1, 7n],
      [0, 23n],
    ]),
  ],
  ['a.b-c_D', new Map([[10, 2n ** 63n - 1n]])],
]);

describe('what Spark wrote or would write, byte for byte', () => {
  it('metadata', () => {
    expect(text(formatMetadata('0b7a'))).toBe('{"id":"0b7a"}');
    expect(parseMetadata(bytes('{"id":"0b7a"}'))).toBe('0b7a');
    expect(parseMetadata(bytes('{"id":"0b7a"}\n'))).toBe('0b7a');
  });

  it('offsets/N', () => {
    const file =
      'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000123,"conf":{}}\n{"a.b-c_D":{"10":9223372036854775807},"t":{"0":23,"1":7}}';
    expect(text(formatOffsetLog({ batchTimestampMs: 1_700_000_000_123, offsets: OFFSETS }))).toBe(file);
    expect(parseOffsetLog(bytes(file))).toEqual({ batchTimestampMs: 1_700_000_000_123, offsets: OFFSETS });
  });

  it('offsets/N as a Spark 3.5 query left it, in its own order and with its conf', () => {
    const file =
      'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1718000000000,"conf":{"spark.sql.streaming.stateStore.providerClass":"x","spark.sql.shuffle.partitions":"200"}}\n' +
      '{"t":{"8":1,"2":9,"0":9007199254740993}}';
    const { offsets, batchTimestampMs } = parseOffsetLog(bytes(file));
    expect(batchTimestampMs).toBe(1_718_000_000_000);
    expect(offsets).toEqual(
      new Map([
        [
          't',
          new Map([
            [8, 1n],
            [2, 9n],
            [0, 9_007_199_254_740_993n],
          ]),
        ],
      ]),
    );
  });

  it('offsets/N without metadata, and with a newline at the end, as Spark reads them too', () => {
    expect(parseOffsetLog(bytes('v1\n\n{"t":{"0":1}}')).batchTimestampMs).toBe(0);
    expect(parseOffsetLog(bytes('v1\n{}\n{"t":{"0":1}}\n')).offsets.get('t')).toEqual(new Map([[0, 1n]]));
  });

  it('commits/N', () => {
    expect(text(formatCommitLog())).toBe('v1\n{"nextBatchWatermarkMs":0}');
    for (const file of [
      'v1\n{"nextBatchWatermarkMs":0}',
      'v1\n{"nextBatchWatermarkMs":1718}',
      'v1\n{}',
      'v1',
    ])
      parseCommitLog(bytes(file));
  });

  it('sources/0/0', () => {
    expect([...formatInitialOffsets(new Map([['t', new Map([[0, 5n]])]]))]).toEqual([
      0,
      ...bytes('v1\n{"t":{"0":5}}'),
    ]);
    expect(parseInitialOffsets(bytes('\0v1\n{"t":{"0":5}}'))).toEqual(new Map([['t', new Map([[0, 5n]])]]));
    // Spark 2.1.0, before there was a version line.
    expect(parseInitialOffsets(bytes('\0{"t":{"0":5}}'))).toEqual(new Map([['t', new Map([[0, 5n]])]]));
  });

  it('topics that JavaScript could take for something else', () => {
    const offsets: OffsetMap = new Map(
      ['__proto__', 'constructor', 'toString', '10', '9', '-', '..a', 'hasOwnProperty'].map((t) => [
        t,
        new Map([[0, 1n]]),
      ]),
    );
    expect(parseOffsetLog(formatOffsetLog({ batchTimestampMs: 1, offsets })).offsets).toEqual(offsets);
  });
});

describe('what is torn or foreign', () => {
  const meta = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}';
  it.each([
    ['', 'empty'],
    ['v1', 'after the version line'],
    ['v1\n', 'after the version line'],
    [`v1\n${meta}`, 'after the metadata line'],
    [`v1\n${meta}\n`, 'after the metadata line'],
    [`v1\n${meta}\n{"t":{"0":2`, 'no JSON'],
    [`v1\n${meta}\n-`, 'no offset'],
    [`v1\n${meta}\n{}`, 'no partition'],
    [`v1\n${meta}\n{"t":{}}`, 'no partition'],
    [`v1\n${meta}\n[]`, 'JSON object'],
    [`v1\n${meta}\n{"t":5}`, 'topic t'],
    [`v1\n${meta}\n{"t":{"0":-1}}`, 't-0'],
    [`v1\n${meta}\n{"t":{"0":1.5}}`, 't-0'],
    [`v1\n${meta}\n{"t":{"0":"1"}}`, 't-0'],
    [`v1\n${meta}\n{"t":{"0":9223372036854775808}}`, 't-0'],
    [`v1\n${meta}\n{"t":{"-1":1}}`, 'partition'],
    [`v1\n${meta}\n{"t":{"01":1}}`, 'partition'],
    [`v1\n${meta}\n{"t":{"2147483648":1}}`, 'partition'],
    [`v1\n{"batch\n{"t":{"0":1}}`, 'no JSON'],
    [`v1\n{"batchTimestampMs":"x"}\n{"t":{"0":1}}`, 'batchTimestampMs'],
    [`1\n${meta}\n{"t":{"0":1}}`, 'version'],
    [`vx\n${meta}\n{"t":{"0":1}}`, 'version'],
    ['\0\0\0\0\0\0\0\0', 'version'],
    ['\ufffd', 'version'],
  ])('offset log %j: %s', (file, words) => {
    expect(() => parseOffsetLog(bytes(file))).toThrowError(
      expect.objectContaining({ kind: 'corrupt', message: expect.stringContaining(words) }),
    );
  });

  it.each([
    [`v2\n${meta}\n0:{"t":{"0":1}}`, 'v2'],
    [`v17\n${meta}\n{"t":{"0":1}}`, 'v17'],
    [`v1\n${meta}\n{"t":{"0":1}}\n{"u":{"0":1}}`, '2 sources'],
  ])('offset log %j is of a version that is not ours', (file, words) => {
    expect(() => parseOffsetLog(bytes(file))).toThrowError(
      expect.objectContaining({ kind: 'version', message: expect.stringContaining(words) }),
    );
  });

  it.each(['', 'v1\n', '\n', 'v1\n{', 'v1\n[]', 'v1\n{}\n{}\n', 'V1\n{}'].filter((f) => f !== 'v1\n'))(
    'commit log %j',
    (file) => {
      expect(() => parseCommitLog(bytes(file))).toThrowError(expect.objectContaining({ kind: 'corrupt' }));
    },
  );

  it.each(['v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}', 'v3\n{}'])(
    'commit log %j is of a version that is not ours',
    (file) => {
      expect(() => parseCommitLog(bytes(file))).toThrowError(expect.objectContaining({ kind: 'version' }));
    },
  );

  it.each(['', '\0', '\0v1', '\0v1\n', 'v1\n{"t":{"0":1}}', '\0v1\n{"t":{"0":1}', '\0v1\n{"t":{"0":1}}\nx'])(
    'initial offsets %j',
    (file) => {
      expect(() => parseInitialOffsets(bytes(file))).toThrowError(
        expect.objectContaining({ kind: 'corrupt' }),
      );
    },
  );

  it.each(['', '{', '{}', '{"id":5}', '{"id":""}', '[]', 'null', '"x"'])('metadata %j', (file) => {
    expect(() => parseMetadata(bytes(file))).toThrowError(expect.objectContaining({ kind: 'corrupt' }));
  });

  it('bytes that are no UTF-8', () => {
    for (const parse of [parseOffsetLog, parseCommitLog, parseMetadata]) {
      expect(() => parse(Uint8Array.of(0x76, 0x31, 0x0a, 0xff))).toThrowError(
        expect.objectContaining({ message: 'it is not UTF-8 text' }),
      );
    }
  });
});

describe('what must not be stored', () => {
  it.each<[string, OffsetMap]>([
    ['no topic', new Map()],
    ['no partition', new Map([['t', new Map()]])],
    ['earliest, unresolved', new Map([['t', new Map([[0, -2n]])]])],
    ['latest, unresolved', new Map([['t', new Map([[0, -1n]])]])],
    ['more than a long', new Map([['t', new Map([[0, 2n ** 63n]])]])],
    ['a partition below zero', new Map([['t', new Map([[-1, 0n]])]])],
  ])('%s', (_what, offsets) => {
    expect(() => formatOffsetLog({ batchTimestampMs: 0, offsets })).toThrowError(Malformed);
    expect(() => formatInitialOffsets(offsets)).toThrowError(Malformed);
  });
});
