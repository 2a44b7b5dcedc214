import { describe, expect, it } from 'vitest';
import type { IcebergType } from '../../../../src/core/schema.ts';
import { formatDdl } from '../../../../src/core/schema-text/format-ddl.ts';
import { parseSchemaText } from '../../../../src/core/schema-text/parse-schema-text.ts';
import { isSluiceError } from '../../../../src/errors.ts';

const typeOf = (text: string): IcebergType => parseSchemaText(`a ${text}`).fields[0].type;

function faultOf(input: string | object): string {
  try {
    parseSchemaText(input);
  } catch (error) {
    if (isSluiceError(error, 'CONFIG_INVALID')) return error.message.replace('CONFIG_INVALID: ', '');
    throw error;
  }
  throw new Error('no fault');
}

describe('DDL', () => {
  it('gives columns with fresh ids, those of the top first, then what is nested', () => {
    const schema = parseSchemaText(
      "user_id BIGINT NOT NULL COMMENT 'who', event_time TIMESTAMP, items ARRAY<STRUCT<sku: STRING, qty: INT>>, m MAP<STRING, DOUBLE>, d DECIMAL(12,2) DEFAULT 0",
    );
    expect(schema).toEqual({
      type: 'struct',
      fields: [
        { id: 1, name: 'user_id', required: true, type: 'long', doc: 'who' },
        { id: 2, name: 'event_time', required: false, type: 'timestamptz' },
        {
          id: 3,
          name: 'items',
          required: false,
          type: {
            type: 'list',
            elementId: 6,
            elementRequired: false,
            element: {
              type: 'struct',
              fields: [
                { id: 7, name: 'sku', required: false, type: 'string' },
                { id: 8, name: 'qty', required: false, type: 'int' },
              ],
            },
          },
        },
        {
          id: 4,
          name: 'm',
          required: false,
          type: { type: 'map', keyId: 9, key: 'string', valueId: 10, value: 'double', valueRequired: false },
        },
        {
          id: 5,
          name: 'd',
          required: false,
          type: 'decimal(12, 2)',
          initialDefault: '0.00',
          writeDefault: '0.00',
        },
      ],
    });
  });

  it.each([
    ['BOOLEAN', 'boolean'],
    ['TINYINT', 'int'],
    ['BYTE', 'int'],
    ['SMALLINT', 'int'],
    ['SHORT', 'int'],
    ['INT', 'int'],
    ['integer', 'int'],
    ['BigInt', 'long'],
    ['LONG', 'long'],
    ['FLOAT', 'float'],
    ['REAL', 'float'],
    ['DOUBLE', 'double'],
    ['DECIMAL', 'decimal(10, 0)'],
    ['DEC(5)', 'decimal(5, 0)'],
    ['NUMERIC ( 38 , 38 )', 'decimal(38, 38)'],
    ['STRING', 'string'],
    ['STRING COLLATE UTF8_LCASE', 'string'],
    ['VARCHAR(20)', 'string'],
    ['CHAR(3)', 'string'],
    ['CHARACTER(3)', 'string'],
    ['BINARY', 'binary'],
    ['DATE', 'date'],
    ['TIME', 'time'],
    ['TIME(3)', 'time'],
    ['TIMESTAMP', 'timestamptz'],
    ['TIMESTAMP_LTZ', 'timestamptz'],
    ['TIMESTAMP WITH LOCAL TIME ZONE', 'timestamptz'],
    ['TIMESTAMP_NTZ', 'timestamp'],
    ['TIMESTAMP WITHOUT TIME ZONE', 'timestamp'],
    ['TIMESTAMP_NS', 'timestamp_ns'],
    ['TIMESTAMPTZ_NS', 'timestamptz_ns'],
    ['UUID', 'uuid'],
    ['FIXED(16)', 'fixed[16]'],
  ])('%s is %s', (text, type) => expect(typeOf(text)).toBe(type));

  it.each([
    ['`a b` INT', 'a b'],
    ['`a``b` INT', 'a`b'],
    ['`a.b` INT', 'a.b'],
    ['1a INT', '1a'],
    ['not INT', 'not'],
    ['comment INT', 'comment'],
    ['struct INT', 'struct'],
    ['a: INT', 'a'],
    ['`키` INT', '키'],
  ])('%s names the column %s', (text, name) => expect(parseSchemaText(text).fields[0].name).toBe(name));

  it('takes comments of SQL, and options in any order', () => {
    const schema = parseSchemaText(
      "a int -- one\n, /* two /* nested */ */ b INT COMMENT 'x' NOT NULL DEFAULT 7 -- and no end",
    );
    expect(schema.fields).toHaveLength(2);
  });

  it.each([
    ["'it''s'", "it's"],
    ["'a' 'b'", 'ab'],
    ['"d\\"q\\u00e9\\101\\U0001F600"', 'd"qéA😀'],
    ["r'x\\ny'", 'x\\ny'],
    ["'\\%\\_\\q\\n\\0\\Z'", '\\%\\_q\n\0\x1a'],
  ])('reads the text %s', (text, value) =>
    expect(parseSchemaText(`a INT COMMENT ${text}`).fields[0].doc).toBe(value),
  );

  it('keeps what Spark cannot say: elements and values that are required', () => {
    const text = 'a ARRAY<INT NOT NULL>, m MAP<STRING, ARRAY<STRUCT<x: INT NOT NULL>> NOT NULL> NOT NULL';
    expect(formatDdl(parseSchemaText(text))).toBe(text);
  });

  it('reads one STRUCT as its fields', () =>
    expect(parseSchemaText('STRUCT<a: INT, b STRING>')).toEqual(parseSchemaText('a INT, b STRING')));
});

describe('defaults', () => {
  it.each([
    ['BOOLEAN', 'true', true],
    ['INT', '-7', -7],
    ['INT', '1e3', 1000],
    ['INT', '2147483647', 2147483647],
    ['BIGINT', '9223372036854775807L', 9223372036854775807n],
    ['BIGINT', '5', 5],
    ['DOUBLE', '1.5e-3', 0.0015],
    ['FLOAT', '0.1', Math.fround(0.1)],
    ['DECIMAL(5,2)', '-1.5', '-1.50'],
    ['DECIMAL(5,2)', "'999.99'", '999.99'],
    ['DECIMAL(38,0)', '99999999999999999999999999999999999999BD', '99999999999999999999999999999999999999'],
    ['STRING', "'x'", 'x'],
    ['DATE', "DATE '2026-02-28'", '2026-02-28'],
    ['DATE', "'2026-02-28'", '2026-02-28'],
    ['TIME', "'10:00'", '10:00:00.000000'],
    ['TIMESTAMP', "TIMESTAMP '2026-07-14 09:05:06.5+05:30'", '2026-07-14T03:35:06.500000+00:00'],
    ['TIMESTAMP', "'2026-07-14'", '2026-07-14T00:00:00.000000+00:00'],
    ['TIMESTAMP_NTZ', "TIMESTAMP_NTZ '2026-07-14 09:05:06'", '2026-07-14T09:05:06.000000'],
    ['TIMESTAMP_NS', "'2026-07-14T09:05:06.123456789'", '2026-07-14T09:05:06.123456789'],
    ['UUID', "'F79C3E09-677C-4BBD-A479-3F349CB785E7'", 'f79c3e09-677c-4bbd-a479-3f349cb785e7'],
    ['BINARY', "X'0AfF'", '0aff'],
    ['FIXED(2)', "X'0AfF'", '0aff'],
  ])('%s DEFAULT %s', (type, literal, value) => {
    const [field] = parseSchemaText(`a ${type} DEFAULT ${literal}`).fields;
    expect(field).toMatchObject({ initialDefault: value, writeDefault: value });
    expect(parseSchemaText(formatDdl({ type: 'struct', fields: [field] })).fields[0]).toEqual(field);
  });

  it('NULL is none', () =>
    expect(parseSchemaText('a INT DEFAULT NULL').fields[0]).toEqual({
      id: 1,
      name: 'a',
      required: false,
      type: 'int',
    }));

  it.each([
    ['a INT DEFAULT 2147483648', '1:15', 'is no value of the type INT'],
    ['a INT DEFAULT 1.5', '1:15', 'is no value of the type INT'],
    ["a INT DEFAULT '1'", '1:15', 'is no value of the type INT'],
    ['a DOUBLE DEFAULT 1e400', '1:18', 'is no value'],
    ['a DECIMAL(3,1) DEFAULT 100', '1:24', 'is no value'],
    ['a DECIMAL(3,1) DEFAULT 1.25', '1:24', 'is no value'],
    ['a DECIMAL(3,1) DEFAULT 1e999999999', '1:24', 'is no value'],
    ["a DATE DEFAULT '2026-02-29'", '1:16', 'is no value'],
    ["a TIMESTAMP_NTZ DEFAULT '2026-02-28 00:00:00Z'", '1:25', 'is no value'],
    ["a TIMESTAMP DEFAULT '300000-01-01'", '1:21', 'is no value'],
    ["a UUID DEFAULT 'x'", '1:16', 'is no value'],
    ["a FIXED(2) DEFAULT X'00'", '1:20', 'is no value'],
    ["a BINARY DEFAULT X'0g'", '1:18', 'hex digits'],
    ['a INT NOT NULL DEFAULT NULL', '1:24', 'contradicts NOT NULL'],
    ['a ARRAY<INT> DEFAULT 1', '1:22', 'a list takes no DEFAULT'],
    ['a INT DEFAULT now()', '1:15', 'expected a literal'],
    ['a INT DEFAULT -', '1:16', 'expected a number'],
    ['a INT DEFAULT 1 DEFAULT 2', '1:17', 'stands twice'],
  ])('%s is refused', (text, place, message) => {
    expect(faultOf(text)).toContain(`schema ${place}: `);
    expect(faultOf(text)).toContain(message);
  });
});

describe('faults of DDL', () => {
  it.each([
    ['a BIGIN', '1:3', 'expected a type, found BIGIN; did you mean BIGINT?'],
    ['a INT,\n  b TEXT', '2:5', 'did you mean STRING?'],
    ['a `INT`', '1:3', 'did you mean INT?'],
    ['a QQQQQQQQ', '1:3', 'the types are BOOLEAN'],
    ['a VOID', '1:3', 'nothing but null'],
    ['a INTERVAL DAY TO SECOND', '1:3', 'holds no INTERVAL'],
    ['a VARIANT', '1:3', 'VARIANT is not written'],
    ['a INT,', '1:7', 'expected the name of a column, found the end'],
    ['a', '1:2', 'expected a type, found the end'],
    ['a INT b INT', '1:7', 'expected a comma, NOT NULL, DEFAULT, COMMENT or the end, found b'],
    ['a INT NOT', '1:10', 'expected NULL, behind NOT, found the end'],
    ['a INT NOT NULL NOT NULL', '1:16', 'NOT NULL stands twice'],
    ["a INT COMMENT 'x' COMMENT 'y'", '1:19', 'COMMENT stands twice'],
    ['a INT COMMENT x', '1:15', 'expected the text of the comment in quotes, found x'],
    ['a-b INT', '1:1', 'a name with - in it is put in backquotes'],
    ['a.b INT', '1:1', 'a name with . in it is put in backquotes'],
    ['키 INT', '1:1', 'expected the name of a column, found 키'],
    ['123 INT', '1:1', 'put it in backquotes: `123`'],
    ['`` INT', '1:1', 'a column has no name'],
    ['`a INT', '1:1', 'this backquote is not closed'],
    ["a INT COMMENT 'x", '1:15', 'this text is not closed'],
    ["a INT COMMENT '\\UFFFFFFFF'", '1:16', 'beyond the last character'],
    ['a INT /* b', '1:7', 'this comment has no end'],
    ['a DECIMAL(39)', '1:3', 'the precision 39 is not from 1 to 38'],
    ['a DECIMAL(0)', '1:3', 'the precision 0 is not from 1 to 38'],
    ['a DECIMAL(4,5)', '1:3', 'the scale 5 is above the precision 4'],
    ['a DECIMAL(1,2,3)', '1:3', 'DECIMAL takes two numbers in brackets'],
    ['a DECIMAL(x)', '1:11', 'expected a whole number, found x'],
    ['a DECIMAL(-1)', '1:11', 'expected a whole number, found -'],
    ['a INT(3)', '1:3', 'INT takes nothing in brackets'],
    ['a FIXED', '1:3', 'FIXED needs its length'],
    ['a FIXED(0)', '1:3', 'the length 0 is not from 1'],
    ['a TIME(9)', '1:3', 'at most 6 digits'],
    ['a STRUCT<>', '1:3', 'a STRUCT without fields'],
    ['a STRUCT<b INT', '1:15', 'found the end'],
    ['a ARRAY', '1:8', 'expected "<" and the type of the elements'],
    ['a MAP<INT>', '1:10', 'expected a comma and the type of the values'],
    ['STRUCT<a INT>, b INT', '1:14', 'expected the end, behind the STRUCT'],
    ['a INT; b INT', '1:6', 'found ;'],
  ])('%s', (text, place, message) => {
    const fault = faultOf(text);
    expect(fault).toContain(message);
    expect(fault).toMatch(new RegExp(`^schema ${place}: `));
  });

  it('names that stand twice', () => {
    expect(faultOf('a INT, a STRING')).toContain('two columns have the name a');
    expect(faultOf('s STRUCT<a: INT, a: INT>')).toContain('two columns have the name s.a');
    expect(faultOf('a STRUCT<b: INT>, `a.b` INT')).toContain('two columns have the name a.b');
    expect(parseSchemaText('s STRUCT<a: INT>, a INT').fields).toHaveLength(2);
  });

  it('texts without bounds', () => {
    expect(faultOf(' \n')).toContain('the text is empty');
    expect(faultOf('x'.repeat(1 << 20) + ' INT')).toContain('at most 1048576 are taken');
    expect(faultOf(`${'x'.repeat(1001)} INT`)).toContain('a name of 1001 characters');
    expect(faultOf(`a ${'ARRAY<'.repeat(200)}INT${'>'.repeat(200)}`)).toContain('nested more than 100 deep');
    expect(faultOf(Array.from({ length: 10_001 }, (_, i) => `c${i} INT`).join())).toContain(
      'more than 10000',
    );
    const long = `${'x'.repeat(1000)} STRUCT<`.repeat(99);
    const fields = Array.from({ length: 9_000 }, (_, i) => `c${i} INT`).join();
    expect(faultOf(`${long}${fields}${'>'.repeat(99)}`)).toContain('too long together');
  });
});
