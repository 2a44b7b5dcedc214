import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeDataFile, encodeDataFile } from '../../../src/checkpoint/data-file-json.ts';
import { formatEnvelope, parseEnvelope } from '../../../src/checkpoint/envelope.ts';
import { JsonObject } from '../../../src/checkpoint/json-fields.ts';
import { Malformed } from '../../../src/checkpoint/malformed.ts';
import {
  decodeDone,
  decodePlan,
  decodePrepared,
  encodeDone,
  encodePlan,
  encodePrepared,
} from '../../../src/checkpoint/record-json.ts';
import {
  formatInitialOffsets,
  formatOffsetLog,
  parseInitialOffsets,
  parseOffsetLog,
} from '../../../src/checkpoint/spark-format.ts';
import { parseJson64, stringifyJson64 } from '../../../src/core/json64.ts';
import type { OffsetMap } from '../../../src/core/offset-range.ts';
import { doneOf, planOf, preparedOf } from '../../support/checkpoint.ts';
import { dataFile, long } from '../../support/data-file-arbitrary.ts';

const ODD_TOPICS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '0',
  '1',
  '-0',
  '9007199254740993',
  'a.b',
  '..',
  '"',
  '\\',
  '\u2028',
  '토픽',
  '',
];
const topic = fc.oneof(
  fc.constantFrom(...ODD_TOPICS),
  fc.stringMatching(/^[a-zA-Z0-9._-]{1,249}$/),
  fc.string({ unit: 'grapheme' }),
);
const offset = fc.oneof(
  fc.bigInt(0n, 2n ** 63n - 1n),
  fc.bigInt(2n ** 53n - 2n, 2n ** 53n + 2n),
  fc.constantFrom(0n, 1n, 2n ** 63n - 1n),
);
const partition = fc.oneof(fc.nat(20), fc.constantFrom(2 ** 31 - 1, 10, 2));
const offsetMap: fc.Arbitrary<OffsetMap> = fc
  .uniqueArray(
    fc.tuple(
      topic,
      fc.uniqueArray(fc.tuple(partition, offset), { minLength: 1, maxLength: 6, selector: (p) => p[0] }),
    ),
    { minLength: 1, maxLength: 6, selector: (t) => t[0] },
  )
  .map((entries) => new Map(entries.map(([t, ps]) => [t, new Map(ps)])));

describe('what is written comes back', () => {
  it("offset maps, in Spark's two files", () => {
    fc.assert(
      fc.property(offsetMap, fc.nat(2 ** 41), (offsets, batchTimestampMs) => {
        expect(parseOffsetLog(formatOffsetLog({ offsets, batchTimestampMs }))).toEqual({
          offsets,
          batchTimestampMs,
        });
        expect(parseInitialOffsets(formatInitialOffsets(offsets))).toEqual(offsets);
      }),
    );
  });

  it('data files, with every kind of partition value', () => {
    fc.assert(
      fc.property(dataFile, (file) => {
        const found = decodeDataFile(new JsonObject(parseJson64(stringifyJson64(encodeDataFile(file))), ''));
        expect(found).toEqual(file);
        // toEqual does not tell -0 from 0.
        expect(
          found.partition.every((v, i) => Object.is(v, file.partition[i]) || typeof v === 'object'),
        ).toBe(true);
      }),
    );
  });

  it('records of a batch, with 64-bit numbers', () => {
    const writer = { host: 'h', pid: 1, writerId: 'w' };
    fc.assert(
      fc.property(
        fc.nat(2 ** 40),
        offset,
        long,
        fc.array(dataFile, { maxLength: 3 }),
        topic,
        (batchId, from, snapshotId, files, name) => {
          const range = { topic: name, partition: 0, from, until: 2n ** 63n - 1n };
          const lost = [{ ...range, topicId: null, reason: name, acceptedBy: name }];
          const plan = {
            ...planOf(batchId),
            ranges: [range],
            lost,
            topics: [{ topic: name, topicId: null }],
          };
          expect(
            parseEnvelope('plan', formatEnvelope('plan', writer, 0, encodePlan(plan)), decodePlan),
          ).toEqual({ writer, writtenAt: '1970-01-01T00:00:00.000Z', record: plan });
          const prepared = preparedOf(batchId, 'w');
          prepared.tables[0] = { ...prepared.tables[0], snapshotId, files };
          expect(
            parseEnvelope(
              'prepared',
              formatEnvelope('prepared', writer, 0, encodePrepared(prepared)),
              decodePrepared,
            ).record,
          ).toEqual(prepared);
          const done = { ...doneOf(batchId), lost, reset: { reason: name, by: 'x', at: 'y' } };
          done.tables[0] = { ...done.tables[0], snapshotId, sequenceNumber: null };
          expect(
            parseEnvelope('done', formatEnvelope('done', writer, 0, encodeDone(done)), decodeDone).record,
          ).toEqual(done);
        },
      ),
    );
  });
});

describe('what is damaged is refused', () => {
  const prepared = formatEnvelope(
    'prepared',
    { host: 'h', pid: 1, writerId: 'w' },
    0,
    encodePrepared(preparedOf(7, 'w')),
  );

  it('a record cut anywhere', () => {
    // The last byte is the newline, without which it is whole.
    for (let length = 0; length < prepared.length - 1; length++) {
      expect(() => parseEnvelope('prepared', prepared.subarray(0, length), decodePrepared)).toThrowError(
        Malformed,
      );
    }
  });

  it('an offset log cut anywhere', () => {
    const file = formatOffsetLog({
      offsets: new Map([
        [
          't',
          new Map([
            [0, 12n],
            [1, 345n],
          ]),
        ],
      ]),
      batchTimestampMs: 1,
    });
    for (let length = 0; length < file.length; length++)
      expect(() => parseOffsetLog(file.subarray(0, length))).toThrowError(Malformed);
  });

  it('any bytes at all: a clear fault or a value, nothing else', () => {
    const parsers = [
      parseOffsetLog,
      parseInitialOffsets,
      (b: Uint8Array) => parseEnvelope('prepared', b, decodePrepared),
    ];
    const damaged = fc
      .tuple(fc.nat(prepared.length - 1), fc.nat(255))
      .map(([at, value]) => Uint8Array.from(prepared).with(at, value));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), damaged), (input) => {
        for (const parse of parsers) {
          try {
            parse(input);
          } catch (error) {
            expect(error).toBeInstanceOf(Malformed);
          }
        }
      }),
    );
  });
});
