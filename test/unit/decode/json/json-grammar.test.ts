/**
 * The behaviours that public JSON parsing suites look for, with inputs of our own: what must be taken (in a field that no
 * column takes, and in the columns), what must be refused and with which code, and what a parser may decide, with what
 * this one has decided.
 */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../../src/decode/json/json-decoder.ts';
import {
  columnsOf,
  decodeJson,
  decodeWith,
  JSON_FORMAT,
  structOf,
} from '../../../support/decode/json-rows.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

/** The code of a document, or null where it becomes a row. */
const reasonOf = (document: string | Uint8Array) => decodeJson({ id: 'long' }, [document]).reasons[0];

/** Values that are JSON. */
const VALUES = [
  '[]',
  '[[]   ]',
  '[""]',
  '[false]',
  '[null, 1, "1", {}]',
  '[null]',
  '[1\n]',
  ' [1]',
  '[1,null,null,null,2]',
  '[2] ',
  '[0e+1]',
  '[0e1]',
  '[ 4]',
  '[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]',
  '[20e1]',
  '[-0]',
  '[-123]',
  '[-1]',
  '[-0.0]',
  '[1E22]',
  '[1E-2]',
  '[1E+2]',
  '[123e45]',
  '[123.456e78]',
  '[1e-2]',
  '[1e+2]',
  '[123]',
  '[123.456789]',
  '[1e400]',
  '[-1e400]',
  '[1e-400]',
  '[0.4e00669999999999999999999999999999999]',
  '[-237462374673276894279832749832423479823246327846]',
  '[100000000000000000000]',
  '[123123e100000]',
  '{"asd":"sdf"}',
  '{"a":"b","a":"c"}',
  '{"a":"b","a":"b"}',
  '{}',
  '{"":0}',
  '{"foo\\u0000bar": 42}',
  '{ "min": -1.0e+28, "max": 1.0e+28 }',
  '{"a":[]}',
  '{"title":"\\u041f\\u043e\\u043b\\u0442" }',
  '{\n"a": "b"\n}',
  '["\\u0060\\u012a\\u12AB"]',
  '["\\uD801\\udc37"]',
  '["\\ud83d\\ude39\\ud83d\\udc8d"]',
  '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
  '["\\\\u0000"]',
  '["\\""]',
  '["a/*b*/c/*d//e"]',
  '["\\\\a"]',
  '["\\\\n"]',
  '["\\u0012"]',
  '["\\uFFFF"]',
  '["asd"]',
  '[ "asd"]',
  '["\\uDBFF\\uDFFF"]',
  '["new\\u00A0line"]',
  '["\u{10ffff}"]',
  '["\uffff"]',
  '["\\u0000"]',
  '["\\u002c"]',
  '["π"]',
  '["\u{1bfff}"]',
  '["asd "]',
  '" "',
  '["\\uD834\\uDd1e"]',
  '["\\u0821"]',
  '["\\u0123"]',
  '["\u2028"]',
  '["\u2029"]',
  '["\\u0061\\u30af\\u30EA\\u30b9"]',
  '["new\\u000Aline"]',
  '["\u007f"]',
  '["\\uA66D"]',
  '["\\u005C"]',
  '["⍂㈴⍂"]',
  '["\\u200B"]',
  '["\\u2064"]',
  '["\\uFDD0"]',
  '["\\uFFFE"]',
  '["\\u0022"]',
  '["€𝄞"]',
  '["aa"]',
  'false',
  '42',
  '-0.1',
  'null',
  '"asd"',
  'true',
  '""',
  '["a"]\n',
  '[true]',
  ' [] ',
  '\t\r\n[\t\r\n]\t\r\n',
];

/** Values that are no JSON. */
const NO_VALUES = [
  '[1 true]',
  '["": 1]',
  '[""],',
  '[,1]',
  '[1,,2]',
  '["x",,]',
  '["x"]]',
  '["",]',
  '["x"',
  '[x',
  '[3[4]]',
  '[1:2]',
  '[,]',
  '[-]',
  '[   , ""]',
  '["a",\n4\n,1,',
  '[1,]',
  '[1,,]',
  '["\u000b"]',
  '[*]',
  '[""',
  '[1,',
  '[1,\n1\n,1',
  '[{}',
  '[fals]',
  '[nul]',
  '[tru]',
  '[True]',
  '[falseX]',
  '[nullx]',
  '[++1234]',
  '[+1]',
  '[+Inf]',
  '[-01]',
  '[-1.0.]',
  '[-2.]',
  '[-NaN]',
  '[.-1]',
  '[.2e-3]',
  '[0.1.2]',
  '[0.3e+]',
  '[0.3e]',
  '[0.e1]',
  '[0E+]',
  '[0E]',
  '[0e]',
  '[0e+]',
  '[1.0e+]',
  '[1.0e-]',
  '[1.0e]',
  '[1 000.0]',
  '[1eE2]',
  '[2.e+3]',
  '[2.e-3]',
  '[2.e3]',
  '[9.e+]',
  '[Inf]',
  '[NaN]',
  '[１]',
  '[1+2]',
  '[0x1]',
  '[0x42]',
  '[Infinity]',
  '[-Infinity]',
  '[0e+-1]',
  '[-123.123foo]',
  '[-foo]',
  '[- 1]',
  '[-012]',
  '[-.123]',
  '[-1x]',
  '[1ea]',
  '[1.]',
  '[.123]',
  '[1.2a-3]',
  '[1.8011670033376514H-308]',
  '[012]',
  '[00]',
  '[1_000]',
  '["x", truth]',
  '{[: "x"}',
  '{"x", null}',
  '{"x"::"b"}',
  '{🇨🇭}',
  '{"a":"a" 123}',
  "{key: 'value'}",
  '{"a" b}',
  '{:"b"}',
  '{"a" "b"}',
  '{"a":',
  '{"a"',
  '{1:1}',
  '{9999E9999:1}',
  '{null:null,null:null}',
  '{"id":0,,,,,}',
  "{'a':0}",
  '{"id":0,}',
  '{"a":"b"}/**/',
  '{"a":"b"}/**//',
  '{"a":"b"}//',
  '{"a":"b"}/',
  '{"a":"b",,"c":"d"}',
  '{a: "b"}',
  '{"a":"a',
  '{"a":"b"}#',
  '{ "foo" : "bar", "a" }',
  '[\\u000A""]',
  '["\\uD800\\u"]',
  '["\\uD800\\u1"]',
  '["\\uD800\\u1x"]',
  '[é]',
  '["\\\0"]',
  '["\\\\\\"]',
  '["\\x00"]',
  '["\\\t"]',
  '["\\🌀"]',
  '["\\"]',
  '["\\u00A"]',
  '["\\uD834\\uDd"]',
  '["\\uD800\\uD800\\x"]',
  '["\\a"]',
  '["\\uqqqq"]',
  "['single quote']",
  'abc',
  '["\\',
  '["a\u0000a"]',
  '["new\nline"]',
  '["\t"]',
  '"\\UA66D"',
  '""x',
  '<.>',
  '[<null>]',
  '[1]x',
  '[1]]',
  '["asd]',
  'aå',
  '[True]',
  '1]',
  '{"x": true,',
  '[][]',
  ']',
  '2@',
  '{}}',
  '{"":',
  '{"a":/*comment*/"b"}',
  '{"a": true} "x"',
  "['",
  '[,',
  '[{',
  '["a',
  '["a"',
  '{',
  '{]',
  '{,',
  '{[',
  '{"a',
  "{'a'",
  '["\\{["\\{["\\{["\\{',
  '*',
  '{"a":"b"}#{}',
  '[\\u000A""]',
  '[1',
  '[ false, nul',
  '[ true, fals',
  '[ false, tru',
  '["asd"',
  '\\u0020',
  '\u2060[]',
  '[\f]',
  '\u00a0[]',
  '[\u00a0]',
  '\f',
  '-',
  '--1',
  'tru',
  '/',
  '"',
  "'",
  '\\',
  ',',
  ':',
  '}',
];

describe('the grammar of JSON', () => {
  it.each(VALUES)('takes %j in a field that no column takes', (value) => {
    const { rows, reasons } = decodeJson({ id: 'long' }, [
      `{"id":7,"x":${value}}`,
      `{"x" : ${value} , "id": 7}`,
    ]);
    expect(reasons).toEqual([null, null]);
    expect(rows).toEqual([[7n], [7n]]);
  });

  it.each(VALUES)('takes %j as a document that is no object, unless it is one', (value) => {
    const trimmed = value.trim();
    const expected = trimmed.startsWith('{') || trimmed === 'null' ? null : 'NOT_AN_OBJECT';
    expect(reasonOf(value)).toBe(expected);
  });

  it.each(NO_VALUES)('refuses %j, as a document and in a field', (value) => {
    expect(reasonOf(value)).toBe('INVALID_JSON');
    expect(reasonOf(`{"id":7,"x":${value}}`)).toBe('INVALID_JSON');
    expect(reasonOf(`{"x":[${value}]}`)).toBe('INVALID_JSON');
  });

  it.each(NO_VALUES)('refuses %j also where a column reads it', (value) => {
    for (const type of [
      'long',
      'double',
      'string',
      'boolean',
      'decimal(9, 2)',
      'timestamptz',
      'binary',
    ] as const)
      expect(decodeJson({ v: type }, [`{"v":${value}}`]).reasons, type).toEqual(['INVALID_JSON']);
    const struct = structOf({ a: 'string', x: 'long' });
    expect(decodeJson({ v: struct }, [`{"v":${value}}`]).reasons).toEqual(['INVALID_JSON']);
  });
});

describe('bytes that are no text', () => {
  it.each<[string, Uint8Array, string, number]>([
    ['a lone continuation byte', bytes('{"s":"', [0x81], '"}'), 'INVALID_UTF8', 6],
    ['an overlong slash', bytes('{"s":"ab', [0xc0, 0xaf], '"}'), 'INVALID_UTF8', 8],
    ['an overlong euro', bytes('{"s":"', [0xf0, 0x82, 0x82, 0xac], '"}'), 'INVALID_UTF8', 6],
    ['an encoded surrogate', bytes('{"s":"', [0xed, 0xa0, 0x80], '"}'), 'INVALID_UTF8', 6],
    ['a point above U+10FFFF', bytes('{"s":"', [0xf4, 0x90, 0x80, 0x80], '"}'), 'INVALID_UTF8', 6],
    ['a byte that no sequence begins with', bytes('{"s":"é', [0xff], '"}'), 'INVALID_UTF8', 8],
    ['a cut sequence before the quote', bytes('{"s":"', [0xe2, 0x82], '"}'), 'INVALID_UTF8', 6],
    ['a sequence cut by the end', bytes('{"s":"', [0xe2, 0x82]), 'INVALID_UTF8', 6],
    ['Latin-1', bytes('{"s":"caf', [0xe9], '"}'), 'INVALID_UTF8', 9],
    ['a name', bytes('{"', [0xe9], '":1}'), 'INVALID_UTF8', 2],
    ['a field that no column takes', bytes('{"x":["', [0xe9], '"]}'), 'INVALID_UTF8', 7],
    ['a byte between tokens', bytes('{"s":1', [0xe9], '}'), 'INVALID_UTF8', 6],
    ['a byte behind the document', bytes('{"s":"a"}', [0xff]), 'INVALID_UTF8', 9],
    ['UTF-16', Buffer.from('\ufeff{"s":"a"}', 'utf16le'), 'INVALID_UTF8', 0],
    ['UTF-16 without a mark', Buffer.from('{"s":"a"}', 'utf16le'), 'INVALID_JSON', 1],
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{"s":"a"}'), 'INVALID_JSON', 0],
    ['a byte order mark inside', bytes('{', [0xef, 0xbb, 0xbf], '"s":"a"}'), 'INVALID_JSON', 1],
    ['a letter between tokens', bytes('{"s":é}'), 'INVALID_JSON', 5],
    ['a control character', bytes('{"s":"a', [0x1f], '"}'), 'INVALID_JSON', 7],
    ['a zero byte', bytes('{"s":"a"}', [0]), 'INVALID_JSON', 9],
    ['half of a pair', bytes(String.raw`{"s":"a\ud800"}`), 'INVALID_JSON', 7],
    ['the other half', bytes(String.raw`{"s":"\udc00"}`), 'INVALID_JSON', 6],
    ['halves the wrong way round', bytes(String.raw`{"s":"\udc00\ud800"}`), 'INVALID_JSON', 6],
    ['half of a pair before another escape', bytes(String.raw`{"s":"\ud800\n"}`), 'INVALID_JSON', 6],
    ['half of a pair in a name', bytes(String.raw`{"\ud800":1}`), 'INVALID_JSON', 2],
    ['half of a pair where no column reads', bytes(String.raw`{"x":{"y":"\ud800"}}`), 'INVALID_JSON', 11],
    ['an early end', bytes('{"s":"a"'), 'INVALID_JSON', 8],
  ])('tells the place of %s', (_, document, reason, position) => {
    const { faults } = decodeJson({ s: 'string' }, [document]);
    expect(faults).toEqual([
      {
        row: 0,
        reason,
        field: '',
        message: expect.stringMatching(new RegExp(`byte ${position}$`)),
        schemaId: null,
      },
    ]);
  });

  it('takes every kind of character', () => {
    const text = '\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
    expect(decodeJson({ s: 'string' }, [JSON.stringify({ s: text })]).rows).toEqual([[text]]);
  });
});

describe('depth', () => {
  const nested = (n: number) => '['.repeat(n) + ']'.repeat(n);
  const nestedObjects = (n: number) => '{"a":'.repeat(n) + '1' + '}'.repeat(n);

  it('may be 512, the document included', () => {
    expect(reasonOf(`{"x":${nested(511)}}`)).toBe(null);
    expect(reasonOf(`{"x":${nested(512)}}`)).toBe('TOO_DEEP');
    expect(reasonOf(nested(512))).toBe('NOT_AN_OBJECT');
    expect(reasonOf(nested(513))).toBe('TOO_DEEP');
    expect(reasonOf(nestedObjects(512))).toBe(null);
    expect(reasonOf(nestedObjects(513))).toBe('TOO_DEEP');
  });

  it('counts the containers of columns too', () => {
    const types = {
      s: structOf({ l: { type: 'list', elementId: 9, element: 'long', elementRequired: false } }),
    };
    expect(decodeJson(types, [`{"s":{"x":${nested(510)}}}`]).reasons).toEqual([null]);
    expect(decodeJson(types, [`{"s":{"x":${nested(511)}}}`]).reasons).toEqual(['TOO_DEEP']);
    expect(decodeJson(types, [`{"s":{"l":${nested(511)}}}`]).reasons).toEqual(['TOO_DEEP']);
    expect(decodeJson(types, [`{"s":{"l":${nested(510)}}}`]).reasons).toEqual(['TYPE_MISMATCH']);
  });

  it('does not eat the stack, however deep', () => {
    for (const open of ['[', '{"a":', '[{"a":']) {
      expect(reasonOf(open.repeat(200_000))).toBe('TOO_DEEP');
      expect(decodeJson({ a: structOf({ a: 'long' }) }, [`{"a":${open.repeat(200_000)}`]).reasons).toEqual([
        'TOO_DEEP',
      ]);
    }
  });
});

describe('values next to each other', () => {
  it('do not leak into each other where one is cut short', () => {
    const columns = columnsOf({
      a: 'long',
      b: 'string',
      c: { type: 'list', elementId: 9, element: 'double', elementRequired: false },
    });
    const decoder = createJsonDecoder(columns, JSON_FORMAT);
    const whole = '{"a":12345,"b":"text \\u0041","c":[1.5,2e3]}';
    const documents: string[] = [];
    // The length of the next value stands in four bytes behind each: with every length, digits, quotes and braces come up.
    for (let at = 1; at <= whole.length; at++) documents.push(whole.slice(0, at), whole + ' '.repeat(at * 3));
    const { rows, reasons } = decodeWith(decoder, columns, documents);
    for (const [i, document] of documents.entries()) {
      const good = document.startsWith(whole);
      expect(reasons[i], document).toBe(good ? null : 'INVALID_JSON');
      expect(rows[i]).toEqual(good ? [12345n, 'text A', [1.5, 2000]] : [null, null, null]);
    }
  });

  it('take the bytes of the length behind for nothing, whatever they are', () => {
    // A cut number, a cut literal and a missing brace before lengths whose first byte is '0'..'9', 'e', '}', '"', ' '.
    for (const length of [0x30, 0x39, 0x65, 0x7d, 0x22, 0x20, 0x2c, 0x5d, 0x5c]) {
      const filler = `{"a":1${' '.repeat(length - 7)}}`;
      for (const cut of [
        '{"a":1',
        '{"a":12',
        '{"a":-',
        '{"a":1.',
        '{"a":tru',
        '{"b":"x',
        '{"a":1,',
        '4',
        '"x',
        '[1',
        '{"a":1}',
      ])
        expect(
          decodeJson({ a: 'long', b: 'string' }, [cut, filler]).reasons,
          `${cut} before ${length}`,
        ).toEqual([cut === '{"a":1}' ? null : cut === '4' ? 'NOT_AN_OBJECT' : 'INVALID_JSON', null]);
    }
  });
});
