/** `compat: spark` against what Spark's from_json made of the same documents; see json-spark-rows.py. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { IcebergType, NestedField } from '../../../../src/core/schema.ts';
import { createJsonDecoder } from '../../../../src/decode/json/json-decoder.ts';
import {
  columnsOf,
  decodeJson,
  decodeWith,
  JSON_FORMAT,
  listOf,
  mapOf,
  structOf,
} from '../../../support/decode/json-rows.ts';

interface SparkCase {
  name: string;
  columns: NestedField[];
  timeZone: string;
  documents: (string | { hex: string })[];
  /** What to_json wrote of each struct; null for a NULL struct. */
  rows: (string | null)[];
}

const cases = readFileSync(new URL('../../../support/decode/json-spark-rows.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as SparkCase);

/** A JSON text with each number as an object that holds its text. */
function parseExact(text: string): unknown {
  const revive = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? { number: context?.source } : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** What to_json wrote of a value, in the form of `cellOf`. */
function cellOf(type: IcebergType, json: unknown): unknown {
  if (json === null || json === undefined) return null;
  if (typeof type !== 'string') {
    if (type.type === 'struct')
      return type.fields.map((f) => cellOf(f.type, (json as Record<string, unknown>)[f.name]));
    if (type.type === 'list') return (json as unknown[]).map((element) => cellOf(type.element, element));
    return Object.entries(json).map(([key, value]) => [key, cellOf(type.value, value)]);
  }
  // Infinities and NaN are strings.
  const text = typeof json === 'string' ? json : ((json as { number?: string }).number ?? String(json));
  switch (type) {
    case 'boolean':
      return json;
    case 'int':
    case 'double':
      return Number(text);
    case 'float':
      return Math.fround(Number(text));
    case 'long':
      return BigInt(text);
    case 'string':
      return text;
    case 'binary':
      return Buffer.from(text, 'base64').toString('hex');
    case 'date':
      return daysOf(text);
    default:
      return type.startsWith('timestamp') ? microsOf(text) : unscaled(type, text);
  }
}

/** By cycles of 400 years: `Date` ends long before Spark's dates do. */
function daysOf(text: string): number {
  const [, year, month, day] = (/^([+-]?\d+)-(\d\d)-(\d\d)$/.exec(text) as RegExpExecArray).map(Number);
  const cycles = Math.floor(year / 400);
  return cycles * 146_097 + new Date(0).setUTCFullYear(year - cycles * 400, month - 1, day) / 86_400_000;
}

function microsOf(text: string): bigint {
  const match = /^(.*)T(\d\d):(\d\d):(\d\d)\.(\d{6})(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  const [, date, hour, minute, second, micros, sign, ...offset] = match as RegExpExecArray;
  const seconds = daysOf(date) * 86_400 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const ahead = Number(offset[0] ?? 0) * 3600 + Number(offset[1] ?? 0) * 60 + Number(offset[2] ?? 0);
  return BigInt(seconds - (sign === '-' ? -ahead : ahead)) * 1_000_000n + BigInt(micros);
}

function unscaled(type: string, text: string): bigint | number {
  const [, precision, scale] = /^decimal\((\d+), (\d+)\)$/.exec(type) as RegExpExecArray;
  const [mantissa, exponent = '0'] = text.toLowerCase().split('e');
  const [whole, fraction = ''] = mantissa.split('.');
  const shift = Number(scale) + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  const value = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  return Number(precision) <= 9 ? Number(value) : value;
}

/** Of keys that a map holds twice the last entry, in the place of the first: `JSON.parse` keeps no more. */
function withoutTwins(type: IcebergType, cell: unknown): unknown {
  if (cell === null || typeof type === 'string') return cell;
  const cells = cell as unknown[];
  if (type.type === 'struct') return cells.map((inner, i) => withoutTwins(type.fields[i].type, inner));
  if (type.type === 'list') return cells.map((inner) => withoutTwins(type.element, inner));
  return [...new Map(cells as [string, unknown][])].map(([key, inner]) => [
    key,
    withoutTwins(type.value, inner),
  ]);
}

describe("what Spark's from_json reads", () => {
  it.each(cases)('$name', ({ columns, timeZone, documents, rows }) => {
    const format = {
      ...JSON_FORMAT,
      compat: 'spark',
      mode: 'permissive',
      timeZone,
      corruptRecordColumn: '_corrupt_record',
    } as const;
    const bytes = documents.map((d) => (typeof d === 'string' ? Buffer.from(d) : Buffer.from(d.hex, 'hex')));
    const decoded = decodeWith(createJsonDecoder(columns, format), columns, bytes);
    expect(decoded.faults).toEqual([]);
    for (const [i, row] of rows.entries()) {
      const struct = row === null ? {} : (parseExact(row) as Record<string, unknown>);
      const found = columns.map((column, at) => withoutTwins(column.type, decoded.rows[i][at]));
      expect({ document: documents[i], row: found }).toEqual({
        document: documents[i],
        row: columns.map((column) => cellOf(column.type, struct[column.name])),
      });
    }
  });

  it('is many documents', () => {
    expect(cases.flatMap((c) => c.rows).length).toBeGreaterThan(1000);
    expect(
      cases.flatMap((c) => c.rows.filter((row) => row?.includes('"_corrupt_record":null'))).length,
    ).toBeGreaterThan(300);
  });
});

describe('compat spark beside from_json', () => {
  const spark = { compat: 'spark' } as const;

  it('keeps all entries of a map', () => {
    const { rows } = decodeJson({ m: mapOf('string', 'int') }, ['{"m":{"a":1,"a":2}}'], spark);
    expect(rows).toEqual([
      [
        [
          ['a', 1],
          ['a', 2],
        ],
      ],
    ]);
  });

  it('takes no date for a time of the day', () => {
    expect(decodeJson({ t: 'timestamptz' }, ['{"t":"09:05:06"}'], spark).reasons).toEqual(['BAD_TIMESTAMP']);
  });

  it('quarantines what from_json makes null, where that is asked for', () => {
    const types = { a: 'int', s: structOf({ x: 'int' }), l: listOf('int') } as const;
    const documents = [
      '{"a":1.0}',
      '{"s":{"x":"1"}}',
      '{"l":[1,{}]}',
      '{"a":1,}',
      'null',
      '[1]',
      '',
      '{"a":1}x',
      '{"a":99999999999}',
    ];
    const { faults } = decodeJson(types, documents, spark);
    expect(faults.map((f) => [f.row, f.reason, f.field])).toEqual([
      [0, 'TYPE_MISMATCH', 'a'],
      [1, 'TYPE_MISMATCH', 's.x'],
      [2, 'TYPE_MISMATCH', 'l[1]'],
      [3, 'INVALID_JSON', ''],
      [4, 'NOT_AN_OBJECT', ''],
      [5, 'NOT_AN_OBJECT', ''],
      [8, 'OUT_OF_RANGE', 'a'],
    ]);
  });

  it('cannot make a required field null', () => {
    const { reasons } = decodeJson(
      { 'a!': 'int' },
      ['{"a":"x"}', '', '{}', '{"a":1,"a":"x"}', '{"a":\'1\'}', "{'a':2}"],
      {
        ...spark,
        mode: 'permissive',
      },
    );
    expect(reasons).toEqual([
      'TYPE_MISMATCH',
      'MISSING_REQUIRED',
      'MISSING_REQUIRED',
      'TYPE_MISMATCH',
      'TYPE_MISMATCH',
      null,
    ]);
  });

  it('knows unknown fields, doubles and the rest of a record too', () => {
    const types = { a: 'int', s: structOf({ x: 'int' }), _rest: 'string' } as const;
    const format = { ...spark, unknownFields: { restColumn: '_rest' } };
    const { rows, decoder } = decodeJson(
      types,
      [
        "{'a':1,'u':{'v':1.50,'w':'it''s'}}".replace("''", "\\'"),
        "{'a':1,'a':2,'n':null,'e':[]}",
        "{'s':{'y':[1, 2],'x':3},'z':NaN}",
      ],
      format,
    );
    expect(rows).toEqual([
      [1, null, '{"u":{"v":1.50,"w":"it\'s"}}'],
      [2, null, '{"n":null,"e":[]}'],
      [null, [3], '{"z":"NaN","s":{"y":[1,2]}}'],
    ]);
    expect(decoder.counts).toEqual({ duplicateKeys: 1, unknownFields: 5, dropped: 0 });
    expect(decoder.rowsWithUnknownFields).toEqual([0, 2]);
    const refuse = { ...spark, unknownFields: 'quarantine' } as const;
    expect(decodeJson({ a: 'int' }, ["{'b':1}", '{"b":1}'], refuse).reasons).toEqual([
      'UNKNOWN_FIELD',
      'UNKNOWN_FIELD',
    ]);
  });

  it('matches names in any case where that is asked for', () => {
    const { rows, reasons } = decodeJson({ id: 'int' }, ["{'ID':1}", "{'ID':1,'Id':2}", '{"ID":3}'], {
      ...spark,
      caseInsensitive: true,
    });
    expect(rows).toEqual([[1], [null], [3]]);
    expect(reasons).toEqual([null, 'AMBIGUOUS_FIELD', null]);
  });

  it('gives missing fields their defaults', () => {
    const columns = columnsOf({ a: 'int', b: 'string' }).map((c) =>
      c.name === 'b' ? { ...c, writeDefault: 'd' } : c,
    );
    expect(decodeJson(columns, ["{'a':1}", "{'a':1,'b':null}"], spark).rows).toEqual([
      [1, 'd'],
      [1, null],
    ]);
  });

  it('is bounded: a thousand open containers, numbers of a thousand digits', () => {
    const nested = (n: number) => `{"u":${'['.repeat(n)}${']'.repeat(n)},"a":1}`;
    const digits = (n: number) => `{"u":${'1'.repeat(n)},"a":1}`;
    const { rows } = decodeJson(
      { a: 'int' },
      [nested(999), nested(1000), nested(100_000), digits(1000), digits(1001)],
      {
        ...spark,
        mode: 'permissive',
      },
    );
    expect(rows).toEqual([[1], [null], [null], [1], [null]]);
  });
});
