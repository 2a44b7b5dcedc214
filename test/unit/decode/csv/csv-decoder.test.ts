import { describe, expect, it } from 'vitest';
import { parseSchemaText } from '../../../../src/core/schema-text/parse-schema-text.ts';
import type { CsvFormat } from '../../../../src/core/value-format.ts';
import { createCsvDecoder } from '../../../../src/decode/csv/csv-decoder.ts';
import type { ValueDecoder } from '../../../../src/decode/value-decoder.ts';
import { isSluiceError } from '../../../../src/errors.ts';
import { vectorValue } from '../../../support/parquet-model.ts';
import { bytesVector } from '../../../support/parquet-table.ts';

const FORMAT: CsvFormat = {
  format: 'csv',
  mode: 'quarantine',
  corruptRecordColumn: null,
  timeZone: 'UTC',
  delimiter: ',',
  quote: '"',
  escape: '"',
  nullValue: '',
  timestampUnit: 'micros',
  decimalRounding: 'refuse',
};

interface Decoded {
  rows: unknown[][];
  faults: string[];
  decoder: ValueDecoder;
}

function decode(
  ddl: string,
  lines: readonly (string | Uint8Array | null)[],
  more: Partial<CsvFormat> = {},
  into?: ValueDecoder,
): Decoded {
  const { fields } = parseSchemaText(ddl);
  const decoder = into ?? createCsvDecoder(fields, { ...FORMAT, ...more });
  decoder.decode(bytesVector(lines));
  for (const column of decoder.columns) expect(column.length).toBe(lines.length);
  const rows = lines.map((_, row) =>
    decoder.columns.map((column, i) => {
      const { type } = fields[i];
      const value = vectorValue(column as never, row, type as never);
      return value instanceof Uint8Array
        ? type === 'string'
          ? Buffer.from(value).toString()
          : Buffer.from(value).toString('hex')
        : value;
    }),
  );
  const faults = decoder.faults.map((f) => `${f.row} ${f.reason} ${f.field}: ${f.message}`);
  return { rows, faults, decoder };
}

const one = (type: string, text: string, more?: Partial<CsvFormat>): unknown =>
  decode(`a ${type}`, [text], more).rows[0][0];
const faultOf = (type: string, text: string, more?: Partial<CsvFormat>): string =>
  decode(`a ${type}`, [text], more).faults.join('; ');

describe('CSV', () => {
  it('goes by position, null is nothing between two delimiters', () => {
    const { rows, faults, decoder } = decode('id BIGINT, n STRING, x DOUBLE', [
      '1,one,1.5',
      '2,"",',
      '3,,0',
      null,
      '"4"," x ",-0.0\n',
      '5,"one\r\ntwo, ""three""",1e3\r\n',
    ]);
    expect(rows).toEqual([
      [1n, 'one', 1.5],
      [2n, '', null],
      [3n, null, 0],
      [null, null, null],
      [4n, ' x ', -0],
      [5n, 'one\r\ntwo, "three"', 1000],
    ]);
    expect(faults).toEqual([]);
    expect(decoder.counts).toEqual({ duplicateKeys: 0, unknownFields: 0, dropped: 0 });
  });

  it.each([
    ['BIGINT', '9007199254740993', 9007199254740993n],
    ['BIGINT', '-9223372036854775808', -9223372036854775808n],
    ['BIGINT', '+7', 7n],
    ['BIGINT', '007', 7n],
    ['BIGINT', '-00', 0n],
    ['BIGINT', '1.0', 1n],
    ['BIGINT', '1e3', 1000n],
    ['INT', '2147483647', 2147483647],
    ['INT', '"-12"', -12],
    ['DOUBLE', '0.1', 0.1],
    ['DOUBLE', '00.50', 0.5],
    ['DOUBLE', '9007199254740993', 9007199254740992],
    ['FLOAT', '0.1', Math.fround(0.1)],
    ['DECIMAL(5,2)', '-1.5', -150n],
    ['DECIMAL(5,2)', '+0999.99', 99999n],
    ['DECIMAL(38,10)', '1234567890123456789012345678.0123456789', 12345678901234567890123456780123456789n],
    ['BOOLEAN', 'true', true],
    ['BOOLEAN', 'FALSE', false],
    ['DATE', '2026-07-14', 20648],
    ['TIME', '09:05:06.5', 32706500000n],
    ['TIMESTAMP', '2026-07-14T09:05:06.123456+05:30', 1784000106123456n],
    ['TIMESTAMP', '"2026-07-14 09:05:06Z"', 1784019906000000n],
    ['TIMESTAMP', '1784000106123456', 1784000106123456n],
    ['TIMESTAMP_NTZ', '2026-07-14 09:05', 1784019900000000n],
    ['UUID', 'F79C3E09-677c-4bbd-a479-3f349cb785e7', 'f79c3e09677c4bbda4793f349cb785e7'],
    ['BINARY', 'AAEC', '000102'],
    ['FIXED(3)', 'AAEC', '000102'],
    ['STRING', 'a"b', 'a"b'],
    ['STRING', '"a,b"', 'a,b'],
    ['STRING', '"日本"', '日本'],
    ['STRING', ' ', ' '],
  ])('%s of %s', (type, text, value) => {
    const { rows, faults } = decode(`a ${type}`, [text]);
    expect(faults).toEqual([]);
    expect(rows[0][0]).toEqual(value);
  });

  it.each([
    ['BIGINT', '9223372036854775808', 'OUT_OF_RANGE', 'byte 0'],
    ['BIGINT', '1.5', 'OUT_OF_RANGE', 'not whole'],
    ['INT', '2147483648', 'OUT_OF_RANGE', 'int'],
    ['BIGINT', '12x', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', ' 1', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', 'null', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '-', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '--1', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '1.', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '1e', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '""', 'TYPE_MISMATCH', 'expected long'],
    ['BIGINT', '"{"', 'TYPE_MISMATCH', 'expected long'],
    ['DOUBLE', 'NaN', 'TYPE_MISMATCH', 'expected double'],
    ['DOUBLE', '1e400', 'OUT_OF_RANGE', 'double'],
    ['DECIMAL(3,1)', '100', 'OUT_OF_RANGE', 'decimal(3, 1)'],
    ['DECIMAL(3,1)', '1.25', 'OUT_OF_RANGE', 'more digits'],
    ['BOOLEAN', '1', 'TYPE_MISMATCH', 'expected boolean'],
    ['BOOLEAN', 'truth', 'TYPE_MISMATCH', 'expected boolean'],
    ['DATE', '2026-02-30', 'BAD_TIMESTAMP', 'yyyy-MM-dd'],
    ['DATE', '20648', 'BAD_TIMESTAMP', 'yyyy-MM-dd'],
    ['TIME', '25:00', 'BAD_TIMESTAMP', 'HH:mm'],
    ['TIMESTAMP', 'soon', 'BAD_TIMESTAMP', 'byte 0'],
    ['TIMESTAMP_NTZ', '2026-07-14T09:05:06Z', 'BAD_TIMESTAMP', 'no zone'],
    ['UUID', 'x', 'TYPE_MISMATCH', 'uuid'],
    ['BINARY', 'A?', 'TYPE_MISMATCH', 'base64'],
    ['FIXED(2)', 'AAEC', 'OUT_OF_RANGE', 'base64 of 2 bytes'],
    ['INT NOT NULL', ',', 'INVALID_CSV', 'found 2'],
  ])('%s of %s is at fault', (type, text, reason, message) => {
    const fault = faultOf(type, text);
    expect(fault).toContain(`0 ${reason} `);
    expect(fault).toContain(message);
  });

  it.each([
    ['', 'EMPTY_VALUE'],
    ['\n', 'EMPTY_VALUE'],
    ['\r\n', 'EMPTY_VALUE'],
    [
      '\n\n',
      'INVALID_CSV : a second line begins here; a record is one line, line breaks are quoted, at byte 0',
    ],
    ['1', 'INVALID_CSV : expected 2 fields, one for each column, found 1'],
    ['1,2,3', 'INVALID_CSV : expected 2 fields, one for each column, found 3'],
    ['1,"x', 'INVALID_CSV : a quote is not closed, at byte 2'],
    ['1,"x""', 'INVALID_CSV : a quote is not closed, at byte 2'],
    ['1,"x"y', 'INVALID_CSV : expected a delimiter behind the closing quote, at byte 5'],
    ['1,x\ny', 'INVALID_CSV : a second line begins here'],
    ['1,x\r', ''],
    ['1,\ry', 'INVALID_CSV : a second line begins here'],
    ['\ufeff1,x', 'INVALID_CSV : a byte order mark at byte 0'],
    [',x', 'MISSING_REQUIRED id: a required field is null at byte 0'],
    ['"",x', 'TYPE_MISMATCH id'],
    ['12,x\0', ''],
  ])('the line %j', (line, fault) => {
    const { faults, rows } = decode('id BIGINT NOT NULL, n STRING', [line]);
    if (fault === '') expect(faults).toEqual([]);
    else {
      expect(faults.join()).toContain(`0 ${fault}`);
      expect(rows).toEqual([[null, null]]);
    }
  });

  it('says where bytes are no UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('1,é'), Buffer.from([0xff]), Buffer.from('x')]);
    expect(decode('id BIGINT, n STRING', [bytes]).faults).toEqual([
      '0 INVALID_UTF8 : no well-formed UTF-8 at byte 4',
    ]);
  });

  it('names the field and the byte of a fault, and goes on behind it', () => {
    const { rows, faults } = decode('id BIGINT, n INT, x STRING', [
      '1,2,a',
      '2,"x",b',
      '3,+9999999999,c',
      '4,5,d',
    ]);
    expect(rows).toEqual([
      [1n, 2, 'a'],
      [null, null, null],
      [null, null, null],
      [4n, 5, 'd'],
    ]);
    expect(faults).toEqual([
      '1 TYPE_MISMATCH n: expected int, found another text at byte 2',
      '2 OUT_OF_RANGE n: 9999999999 does not fit int at byte 2',
    ]);
  });

  it('takes other marks', () => {
    const marks = { delimiter: '\t', quote: "'", escape: '\\', nullValue: '\\N' };
    expect(
      decode('a STRING, b STRING, c INT', ["'it\\'s'\t'a\\\\b\\n'\t\\N", "'x''y'\t\t1"], marks).rows,
    ).toEqual([
      ["it's", 'a\\b\\n', null],
      ["x'y", '', 1],
    ]);
    expect(one('STRING', "'\\N'", marks)).toBe('\\N');
    expect(faultOf('STRING', "'a\\'", marks)).toContain('a quote is not closed');
  });

  it('reads times without a zone in the zone of the pipeline, and numbers by their unit', () => {
    expect(one('TIMESTAMP', '2026-07-14 09:05:06', { timeZone: 'Asia/Kolkata' })).toBe(1784000106000000n);
    expect(one('TIMESTAMP', '1784000106', { timestampUnit: 'seconds' })).toBe(1784000106000000n);
    expect(one('TIMESTAMP', '1784000106.5', { timestampUnit: 'seconds' })).toBe(1784000106500000n);
    expect(one('DECIMAL(3,1)', '1.25', { decimalRounding: 'halfUp' })).toBe(13n);
  });

  it('keeps the row under `permissive`, with null for what cannot be read', () => {
    const permissive = { mode: 'permissive', corruptRecordColumn: '_c' } as const;
    const { rows, faults } = decode(
      'id BIGINT, _c STRING, n INT',
      ['1,2', 'x,2', '1', '1,2,3', '1,"2', '', null],
      permissive,
    );
    expect(faults).toEqual([]);
    expect(rows).toEqual([
      [1n, null, 2],
      [null, 'x,2', 2],
      [1n, '1', null],
      [1n, '1,2,3', 2],
      [null, '1,"2', null],
      [null, '', null],
      [null, null, null],
    ]);
    const required = decode('id BIGINT NOT NULL, n INT', ['x,2', '1,x', ',1'], { mode: 'permissive' });
    expect(required.rows).toEqual([
      [null, null],
      [1n, null],
      [null, null],
    ]);
    expect(required.faults.map((f) => f.slice(0, 18))).toEqual(
      ['0 TYPE_MISMATCH id', '2 MISSING_REQUIRED'].map((t) => t.slice(0, 18)),
    );
  });

  it('drops rows under `dropmalformed`, and gives them as faults under `failfast`', () => {
    const lines = ['1', 'x', '2', ''];
    const dropped = decode('id BIGINT', lines, { mode: 'dropmalformed' });
    expect(dropped.decoder.dropped).toEqual([1, 3]);
    expect(dropped.decoder.counts.dropped).toBe(2);
    expect(dropped.faults).toEqual([]);
    expect(decode('id BIGINT', lines, { mode: 'failfast' }).decoder.faults.map((f) => f.row)).toEqual([1, 3]);
  });

  it('is used from block to block', () => {
    const { decoder } = decode('a STRING, b INT', ['x,1', '"q""r",2', 'bad', 'y,3']);
    expect(decode('a STRING, b INT', ['z,9'], {}, decoder)).toMatchObject({ rows: [['z', 9]], faults: [] });
    expect(decode('a STRING, b INT', [], {}, decoder).faults).toEqual([]);
    expect(decoder.byteLength).toBeGreaterThan(0);
    expect(decoder.missingSchemas(bytesVector([]))).toEqual([]);
  });

  it('refuses columns and marks that cannot be', () => {
    const refused = (ddl: string, more: Partial<CsvFormat>, message: string): void => {
      try {
        createCsvDecoder(parseSchemaText(ddl).fields, { ...FORMAT, ...more });
      } catch (error) {
        expect(isSluiceError(error, 'CONFIG_INVALID')).toBe(true);
        expect(String(error)).toContain(message);
        return;
      }
      throw new Error('taken');
    };
    refused('a INT, l ARRAY<INT>', {}, 'column l: a field of CSV holds no list');
    refused('a INT', { delimiter: ';;' }, 'delimiter ";;"');
    refused('a INT', { delimiter: '\n' }, 'no line break');
    refused('a INT', { quote: '' }, 'quote ""');
    refused('a INT', { delimiter: '"' }, 'the same character');
    refused('a INT', { corruptRecordColumn: 'a' }, 'corruptRecordColumn "a"');
    refused('a INT', { corruptRecordColumn: 'b' }, 'corruptRecordColumn "b"');
    refused('a INT', { timeZone: 'Nowhere' }, 'timeZone');
  });
});
