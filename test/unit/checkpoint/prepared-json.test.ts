import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatEnvelope, parseEnvelope } from '../../../src/checkpoint/envelope.ts';
import { Malformed } from '../../../src/checkpoint/malformed.ts';
import { formatPrepared, parsePrepared, samePrepared } from '../../../src/checkpoint/prepared-json.ts';
import { splitPrepared } from '../../../src/checkpoint/prepared-split.ts';
import { decodePrepared, encodePrepared } from '../../../src/checkpoint/record-json.ts';
import type { PreparedBatch } from '../../../src/checkpoint/records.ts';
import { parseJson64, stringifyJson64 } from '../../../src/core/json64.ts';
import { PackedDataFiles } from '../../../src/core/packed-data-files.ts';
import { preparedOf } from '../../support/checkpoint.ts';
import { dataFile, long } from '../../support/data-file-arbitrary.ts';

const WRITER = { host: 'h', pid: 1, writerId: 'w' };
const UTF8 = new TextEncoder();
const DAMAGE = '",:[]{}\\ 0\u0000';

const prepared: fc.Arbitrary<PreparedBatch> = fc
  .array(
    fc.record({
      table: fc.string({ unit: 'binary' }),
      snapshotId: long,
      files: fc.array(dataFile, { maxLength: 3 }),
    }),
    { maxLength: 3 },
  )
  .map((tables) => {
    const batch = preparedOf(3, 'w');
    return { ...batch, tables: tables.map((table) => ({ ...batch.tables[0], ...table })) };
  });

/** A batch of one table of two files. */
function twoFiles(): PreparedBatch {
  const batch = preparedOf(3, 'w');
  return { ...batch, tables: [{ ...batch.tables[0], files: fc.sample(dataFile, { numRuns: 2, seed: 7 }) }] };
}

/** With arrays in place of packed files. */
function plain(batch: PreparedBatch): PreparedBatch {
  return { ...batch, tables: batch.tables.map((table) => ({ ...table, files: [...table.files] })) };
}

const text = (batch: PreparedBatch): string => Buffer.from(formatPrepared(WRITER, 0, batch)).toString();

describe('prepared/N', () => {
  it('is the text of the whole record, and comes back as it was', () => {
    fc.assert(
      fc.property(prepared, (batch) => {
        const bytes = formatPrepared(WRITER, 0, batch);
        expect(Buffer.from(bytes)).toEqual(
          Buffer.from(formatEnvelope('prepared', WRITER, 0, encodePrepared(batch))),
        );
        const read = parsePrepared(bytes);
        expect(plain(read.record)).toEqual(batch);
        expect(read).toMatchObject({ writer: WRITER, writtenAt: '1970-01-01T00:00:00.000Z' });
        expect(samePrepared(read.record, batch)).toBe(true);
      }),
    );
  });

  it('is read a file at a time', () => {
    const batch = preparedOf(3, 'w');
    const files = PackedDataFiles.of(fc.sample(dataFile, { numRuns: 500, seed: 1 }));
    const bytes = formatPrepared(WRITER, 0, { ...batch, tables: [{ ...batch.tables[0], files }] });
    const split = splitPrepared(bytes)!;
    expect(split.files.map((texts) => texts?.length)).toEqual([1000]);
    expect(split.frame.length).toBeLessThan(2000);
    const read = parsePrepared(bytes).record.tables[0].files;
    expect(read).toBeInstanceOf(PackedDataFiles);
    expect([...read]).toEqual([...files]);
  });

  it('is told apart by every part of it', () => {
    const batch = twoFiles();
    const [table] = batch.tables;
    const [file] = table.files;
    const other = { ...file, recordCount: file.recordCount + 1n };
    expect(samePrepared(batch, { ...batch, writerId: 'v' })).toBe(false);
    expect(samePrepared(batch, { ...batch, tables: [{ ...table, files: [other] }] })).toBe(false);
    expect(samePrepared(batch, { ...batch, tables: [{ ...table, files: [...table.files, file] }] })).toBe(
      false,
    );
  });

  it('is read with spaces, in another order of its fields, and with fields that are not known', () => {
    const batch = twoFiles();
    const json = parseJson64(text(batch)) as { record: { tables: Record<string, unknown>[] } };
    json.record.tables = json.record.tables.map(({ files, ...rest }) => ({
      files,
      ...rest,
      more: { files: [[{ x: ']}"' }]] },
    }));
    const spaced = UTF8.encode(stringifyJson64(json, 3));
    expect(plain(parsePrepared(spaced).record)).toEqual(batch);
    expect(splitPrepared(spaced)?.files.length).toBe(batch.tables.length);
  });

  it('is what a parser of the whole says where keys come twice or are escaped', () => {
    const whole = text(twoFiles());
    for (const changed of [
      whole.replace('"files":[', '"files":[],"files":['),
      whole.replace('"files":[', '"files":[{"x":1}],"f\\u0069les":['),
      whole.replace('"tables":[', '"tables":[],"tables":['),
      whole.replace('"record":{', '"record":{"tables":[]},"record":{'),
    ]) {
      expect(changed).not.toBe(whole);
      const bytes = UTF8.encode(changed);
      expect(plain(parsePrepared(bytes).record)).toEqual(
        parseEnvelope('prepared', bytes, decodePrepared).record,
      );
    }
  });

  it('is refused wherever a byte of it is gone, doubled or changed, if a parser of the whole refuses it', () => {
    const bytes = UTF8.encode(text(twoFiles()));
    const outcome = (read: () => PreparedBatch): unknown => {
      try {
        return plain(read());
      } catch (error) {
        expect(error).toBeInstanceOf(Malformed);
        return 'refused';
      }
    };
    for (let at = 0; at < bytes.length; at++) {
      const changed = [
        bytes.subarray(0, at),
        Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
        Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)]),
        // Each of them in one place after another.
        Buffer.concat([
          bytes.subarray(0, at),
          UTF8.encode(DAMAGE[at % DAMAGE.length]),
          bytes.subarray(at + 1),
        ]),
      ];
      for (const damaged of changed)
        expect(outcome(() => parsePrepared(damaged).record)).toEqual(
          outcome(() => parseEnvelope('prepared', damaged, decodePrepared).record),
        );
    }
  });
});
