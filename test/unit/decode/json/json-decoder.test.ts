import { describe, expect, it } from 'vitest';
import type { NestedField } from '../../../../src/core/schema.ts';
import type { JsonFormat } from '../../../../src/core/value-format.ts';
import { createJsonDecoder } from '../../../../src/decode/json/json-decoder.ts';
import { SluiceError } from '../../../../src/errors.ts';
import {
  columnsOf,
  decodeJson,
  decodeWith,
  JSON_FORMAT,
  listOf,
  mapOf,
  structOf,
} from '../../../support/decode/json-rows.ts';

const ID = { id: 'long' } as const;

function configError(columns: readonly NestedField[], format: Partial<JsonFormat>): string {
  try {
    createJsonDecoder(columns, { ...JSON_FORMAT, ...format });
  } catch (e) {
    if (e instanceof SluiceError) return e.code;
    throw e;
  }
  return 'none';
}

describe('missing, null and default', () => {
  const field = (name: string, type: NestedField['type'], more: Partial<NestedField> = {}): NestedField => ({
    id: 1,
    name,
    type,
    required: false,
    ...more,
  });

  it('tells an explicit null from a missing field (case C05)', () => {
    const columns = [field('id', 'long'), field('tier', 'string', { writeDefault: 'basic' })];
    expect(decodeJson(columns, ['{"id":1,"tier":null}', '{"id":2}', '{"id":3,"tier":"x"}']).rows).toEqual([
      [1n, null],
      [2n, 'basic'],
      [3n, 'x'],
    ]);
  });

  it('knows defaults of every type', () => {
    const struct = structOf({ a: 'int', b: 'string' });
    const defaults: [NestedField['type'], unknown, unknown][] = [
      ['boolean', true, true],
      ['int', -5, -5],
      ['long', 9223372036854775807n, 9223372036854775807n],
      ['float', 0.5, 0.5],
      ['double', 1e300, 1e300],
      ['date', '2026-07-14', 20648],
      ['time', '09:05:06.5', 32706500000n],
      ['timestamp', '2026-07-14T09:05:06', 1784019906000000n],
      ['timestamptz', '2026-07-14T09:05:06+00:00', 1784019906000000n],
      ['timestamp_ns', '2026-07-14T09:05:06.123456789', 1784019906123456789n],
      ['string', 'é', 'é'],
      ['uuid', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'f81d4fae7dec11d0a76500a0c91e6bf6'],
      ['binary', '00ff', '00ff'],
      ['fixed[2]', '00ff', '00ff'],
      ['decimal(9, 2)', '14.20', 1420],
      ['decimal(38, 2)', '-14.20', -1420n],
      [listOf('int'), [1, 2], [1, 2]],
      [mapOf('string', 'int'), { keys: ['a'], values: [1] }, [['a', 1]]],
      [struct, { 1: 7 }, [7, null]],
    ];
    const columns = defaults.map(([type, writeDefault], i) => field(`c${i}`, type, { writeDefault }));
    const { rows } = decodeJson(columns, ['{}', '{"c0":null}']);
    expect(rows[0]).toEqual(defaults.map(([, , value]) => value));
    expect(rows[1]).toEqual([null, ...defaults.slice(1).map(([, , value]) => value)]);
  });

  it('refuses defaults that are none of their type', () => {
    const wrong: [NestedField['type'], unknown][] = [
      ['int', 'x'],
      ['int', 2147483648],
      ['long', 1.5],
      ['boolean', 1],
      ['date', '2026-02-30'],
      ['timestamp', '2026-07-14T09:05:06Z'],
      ['timestamptz', '2026-07-14T09:05:06'],
      ['decimal(5, 2)', '1000.00'],
      ['fixed[2]', '00'],
      ['binary', 'xyz'],
      ['uuid', 'x'],
      [listOf('int'), {}],
      [structOf({ a: 'int' }), { 99: 1 }],
    ];
    for (const [type, writeDefault] of wrong)
      expect(configError([field('c', type, { writeDefault })], {}), JSON.stringify(writeDefault)).toBe(
        'CONFIG_INVALID',
      );
  });

  it('gives fields of structs their defaults too', () => {
    const struct = {
      type: 'struct',
      fields: [field('a', 'int', { writeDefault: 7 }), field('b', 'int')],
    } as const;
    expect(decodeJson([field('s', struct)], ['{"s":{}}', '{"s":{"a":null}}', '{}']).rows).toEqual([
      [[7, null]],
      [[null, null]],
      [null],
    ]);
  });

  it('quarantines a required field that is missing or null, and tells its path', () => {
    const types = {
      'id!': 'long',
      s: structOf({ 'a!': 'int' }),
      l: listOf(structOf({ 'a!': 'int' })),
    } as const;
    const { faults } = decodeJson(types, [
      '{}',
      '{"id":null}',
      '{"id":1}',
      '{"id":1,"s":{}}',
      '{"id":1,"s":{"a":null}}',
      '{"id":1,"l":[{"a":1},{"a":2},{}]}',
      'null',
    ]);
    expect(faults.map((f) => [f.row, f.reason, f.field])).toEqual([
      [0, 'MISSING_REQUIRED', 'id'],
      [1, 'MISSING_REQUIRED', 'id'],
      [3, 'MISSING_REQUIRED', 's.a'],
      [4, 'MISSING_REQUIRED', 's.a'],
      [5, 'MISSING_REQUIRED', 'l[2].a'],
      [6, 'MISSING_REQUIRED', 'id'],
    ]);
  });
});

describe('documents that are no objects', () => {
  it('tells the empty value, white space, null and others apart (case C04)', () => {
    const documents = [null, '', ' \t\r\n', 'null', ' null ', '[]', '1', '"x"', '{}'];
    const { reasons, rows } = decodeJson(ID, documents);
    expect(reasons).toEqual([
      null,
      'EMPTY_VALUE',
      'EMPTY_VALUE',
      null,
      null,
      'NOT_AN_OBJECT',
      'NOT_AN_OBJECT',
      'NOT_AN_OBJECT',
      null,
    ]);
    expect(rows.every((row) => row[0] === null)).toBe(true);
    expect(decodeJson(ID, ['null'], { nullDocument: 'quarantine' }).reasons).toEqual(['NOT_AN_OBJECT']);
  });

  it('says what an empty value is', () => {
    const { faults } = decodeJson(ID, ['', '  ']);
    expect(faults.map((f) => f.message)).toEqual(['the value is empty', 'the value is white space']);
  });
});

describe('faults', () => {
  it('tell path, place, what was expected and what was found', () => {
    const types = { s: structOf({ l: listOf(mapOf('string', 'long')) }), n: 'int' } as const;
    const { faults } = decodeJson(types, ['{"s":{"l":[{},{"a":1,"kéy":true}]}}', '{"n": 99999999999}']);
    expect(faults).toEqual([
      {
        row: 0,
        reason: 'TYPE_MISMATCH',
        field: 's.l[1].kéy',
        message: 'expected long, found a boolean at byte 28',
        schemaId: null,
      },
      {
        row: 1,
        reason: 'OUT_OF_RANGE',
        field: 'n',
        message: '99999999999 does not fit int at byte 6',
        schemaId: null,
      },
    ]);
  });

  it('are told of a text that is no JSON before those of its fields', () => {
    const { faults } = decodeJson(ID, ['{"id":"x","y":tru}', '{"id":"x","y":true}']);
    expect(faults.map((f) => [f.reason, f.field])).toEqual([
      ['INVALID_JSON', ''],
      ['TYPE_MISMATCH', 'id'],
    ]);
  });

  it('never hold a long value', () => {
    const { faults } = decodeJson(ID, [`{"id":${'9'.repeat(100_000)}}`]);
    expect(faults[0].reason).toBe('OUT_OF_RANGE');
    expect(faults[0].message.length).toBeLessThan(200);
  });

  it('never hold a long name', () => {
    const name = 'n'.repeat(100_000);
    const { faults } = decodeJson({ m: mapOf('string', 'int') }, [`{"m":{"${name}":"x"}}`, `{"${name}":1}`], {
      unknownFields: 'quarantine',
    });
    expect(faults.map((f) => f.reason)).toEqual(['TYPE_MISMATCH', 'UNKNOWN_FIELD']);
    for (const { field, message } of faults) expect(field.length + message.length).toBeLessThan(300);
  });

  it('leave the rows around them as they are', () => {
    const types = {
      s: structOf({ a: 'int', l: listOf(listOf('string')) }),
      t: 'string',
      m: mapOf('string', 'int'),
    } as const;
    const good = '{"t":"x","m":{"k":1},"s":{"a":1,"l":[["a"],["b"]]}}';
    const bad = [
      '{"t":"y","m":{"k":1,"j":2},"s":{"a":1,"l":[["a"],["b",5]]}}',
      '{"t":"y","m":{"k":1,"j":"x"}}',
      '{"t":"y","s":{"a":1,"l":[["a"',
      '{"t":"y","s":{"l":[["q"]],"a":1.5}}',
    ];
    const documents = bad.flatMap((b) => [b, good]);
    const { rows, reasons } = decodeJson(types, documents);
    for (const [i, row] of rows.entries()) {
      expect(reasons[i] === null).toBe(i % 2 === 1);
      expect(row).toEqual(i % 2 === 1 ? [[1, [['a'], ['b']]], 'x', [['k', 1]]] : [null, null, null]);
    }
  });
});

describe('names', () => {
  it('match exactly, with escapes, in any order, of any length', () => {
    const names = [
      'a',
      'ab',
      'abc',
      'abcd',
      'abcde',
      'a'.repeat(12),
      'a'.repeat(13),
      'a'.repeat(17),
      'clé',
      'x"y',
      'x\\y',
      '',
      '\n',
    ];
    const types = Object.fromEntries(names.map((n) => [n, 'int' as const]));
    const object = (order: string[]) =>
      JSON.stringify(Object.fromEntries(order.map((n) => [n, names.indexOf(n)])));
    const escaped = `{${names.map((n, i) => `"${[...n].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}":${i}`).join(',')}}`;
    const expected = names.map((_, i) => i);
    const { rows } = decodeJson(types, [object(names), object([...names].reverse()), escaped, object(names)]);
    expect(rows).toEqual([expected, expected, expected, expected]);
    expect(decodeJson({ id: 'int' }, ['{"ID":1,"Id":2,"idx":3,"i":4," id":5}']).rows).toEqual([[null]]);
  });

  it('that stand twice: the last one counts, and they are counted', () => {
    const types = { a: 'int', s: 'string', l: listOf('int'), t: structOf({ x: 'int', y: 'int' }) } as const;
    const { rows, decoder } = decodeJson(types, [
      '{"a":1,"a":2,"s":"first","s":"2nd","l":[1,2],"l":[3],"t":{"x":1,"y":2},"t":{"y":3},"a":3}',
      '{"a":1,"a":null}',
      '{"a":null,"\\u0061":1}',
    ]);
    expect(rows).toEqual([
      [3, '2nd', [3], [null, 3]],
      [null, null, null, null],
      [1, null, null, null],
    ]);
    expect(decoder.counts.duplicateKeys).toBe(7);
  });

  it('match in any case on request (case C23)', () => {
    const insensitive = { caseInsensitive: true };
    const { rows, faults, decoder } = decodeJson(
      { orderid: 'long', clé: 'int' },
      [
        '{"ORDERID":5}',
        '{"orderId":6,"ORDERID":7}',
        '{"orderId":6,"order\\u0049d":7}',
        '{"CLÉ":1}',
        '{"OrderID":8}',
      ],
      insensitive,
    );
    expect(rows).toEqual([
      [5n, null],
      [null, null],
      [7n, null],
      [null, 1],
      [8n, null],
    ]);
    expect(faults.map((f) => [f.row, f.reason, f.field])).toEqual([[1, 'AMBIGUOUS_FIELD', 'orderid']]);
    expect(decoder.counts.duplicateKeys).toBe(1);
    expect(configError(columnsOf({ a: 'int', A: 'int' }), insensitive)).toBe('CONFIG_INVALID');
    expect(configError(columnsOf({ s: structOf({ a: 'int', A: 'int' }) }), insensitive)).toBe(
      'CONFIG_INVALID',
    );
    expect(configError(columnsOf({ a: 'int', A: 'int' }), {})).toBe('none');
    expect(decodeJson({ a: 'int', A: 'int' }, ['{"A":1,"a":2}']).rows).toEqual([[2, 1]]);
  });
});

describe('fields that no column takes', () => {
  it('are passed over, counted, and their rows told where they hold something (case C06)', () => {
    const { rows, reasons, decoder } = decodeJson({ id: 'long', s: structOf({ a: 'int' }) }, [
      '{"id":1,"a":{},"b":[],"c":null,"d":[null],"e":{"f":null,"g":[{}]}}',
      '{"id":2,"a":{"x":1}}',
      '{"id":3,"b":[null,{"x":[false]}]}',
      '{"id":4}',
      '{"id":5,"s":{"a":1,"b":""}}',
      '{"id":6,"c":0}',
    ]);
    expect(reasons.every((r) => r === null)).toBe(true);
    expect(rows.map((r) => r[0])).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    expect(decoder.rowsWithUnknownFields).toEqual([1, 2, 4, 5]);
    expect(decoder.counts.unknownFields).toBe(9);
  });

  it('quarantine their record on request', () => {
    const { faults } = decodeJson(
      { id: 'long', s: structOf({ a: 'int' }) },
      ['{"id":1,"x":1}', '{"s":{"b":null}}', '{"id":1}'],
      {
        unknownFields: 'quarantine',
      },
    );
    expect(faults.map((f) => [f.row, f.reason, f.field])).toEqual([
      [0, 'UNKNOWN_FIELD', 'x'],
      [1, 'UNKNOWN_FIELD', 's.b'],
    ]);
  });

  it('are kept as one JSON text on request, numbers as they were written', () => {
    const types = {
      id: 'long',
      _rest: 'string',
      s: structOf({ a: 'int', t: structOf({ b: 'int' }) }),
      l: listOf(structOf({ a: 'int' })),
    } as const;
    const format = { unknownFields: { restColumn: '_rest' } };
    const { rows, decoder } = decodeJson(
      types,
      [
        '{"id":1}',
        '{"x":1.50,"id":2,"y":{"a": [1, 2.0e+10 , "a b\\"  c" ]},"big":12345678901234567890}',
        '{"s":{"a":1,"q":"é","t":{"z":null}},"w":[]}',
        '{"l":[{"a":1,"lost":2}]}',
        '{"x":1,"y":2,"x":3}',
        '{"s":{"q":1},"s":{"r":2}}',
        '{"_rest":"not the column","k\\u0065y":1}',
        '{"x":1',
        '{"id":3}',
      ],
      format,
    );
    expect(rows.map((r) => r[1])).toEqual([
      null,
      '{"x":1.50,"y":{"a":[1,2.0e+10,"a b\\"  c"]},"big":12345678901234567890}',
      '{"w":[],"s":{"q":"é","t":{"z":null}}}',
      null,
      '{"y":2,"x":3}',
      '{"s":{"r":2}}',
      '{"_rest":"not the column","k\\u0065y":1}',
      null,
      null,
    ]);
    expect(decoder.rowsWithUnknownFields).toEqual([1, 2, 3, 4, 5, 6]);
    expect(configError(columnsOf(ID), format)).toBe('CONFIG_INVALID');
    expect(configError(columnsOf({ _rest: 'int' }), format)).toBe('CONFIG_INVALID');
    expect(configError(columnsOf({ '_rest!': 'string' }), format)).toBe('CONFIG_INVALID');
  });
});

describe('a record of very many members', () => {
  const many = Array.from({ length: 60_000 }, (_, i) => i);

  it('takes no longer for each of them', () => {
    const types = { s: structOf({ a: 'int' }), m: mapOf('string', 'int'), _rest: 'string' } as const;
    const unknown = many.map((i) => `"u${i}":${i}`).join(',');
    const again = many.map((i) => `"s":{"v":${i}}`).join(',');
    const inside = `"s":{${unknown}}`;
    const { rows, decoder } = decodeJson(
      types,
      [
        `{${unknown},${again}}`,
        `{${again},${inside}}`,
        `{"m":{${many.map((i) => `"k${i % 30_000}":${i}`).join(',')}}}`,
      ],
      { unknownFields: { restColumn: '_rest' } },
    );
    expect(rows[0][2]).toBe(`{${unknown},"s":{"v":59999}}`);
    expect(rows[1][2]).toBe(`{"s":{${unknown}}}`);
    expect((rows[2][1] as unknown[]).length).toBe(30_000);
    expect(decoder.counts.duplicateKeys).toBe(59_999 + 60_000 + 30_000);
  });
});

describe('modes', () => {
  const types = {
    a: 'int',
    b: 'string',
    s: structOf({ x: 'int', y: 'int' }),
    l: listOf('int'),
    _corrupt: 'string',
  } as const;
  const documents = [
    '{"a":1,"b":"x"}',
    '{"a":"no","b":"x"}',
    '{"a":1,"b":tru}',
    '{"a":1,"s":{"x":"no","y":2},"l":[1,"no"]}',
    '[1]',
    '',
    null,
    '{"_corrupt":"not the column","a":5}',
  ];

  it('permissive: what cannot be read is null, a text that is no JSON a row of nulls, and the text is kept', () => {
    const { rows, reasons } = decodeJson(types, documents, {
      mode: 'permissive',
      corruptRecordColumn: '_corrupt',
    });
    expect(reasons.every((r) => r === null)).toBe(true);
    expect(rows).toEqual([
      [1, 'x', null, null, null],
      [null, 'x', null, null, documents[1]],
      [null, null, null, null, documents[2]],
      [1, null, [null, 2], null, documents[3]],
      [null, null, null, null, '[1]'],
      [null, null, null, null, ''],
      [null, null, null, null, null],
      [5, null, null, null, null],
    ]);
  });

  it('permissive keeps a text that is no UTF-8 as far as it is', () => {
    const { rows } = decodeJson(types, [Buffer.from([0x7b, 0xff, 0x7d])], {
      mode: 'permissive',
      corruptRecordColumn: '_corrupt',
    });
    expect(rows[0][4]).toBe('{\ufffd}');
  });

  it('permissive cannot make a required field null', () => {
    const { faults, rows } = decodeJson(
      { 'a!': 'int', b: structOf({ 'c!': 'int' }) },
      ['{"a":"x"}', '{"a":1,"b":{"c":"x"}}', '{'],
      {
        mode: 'permissive',
      },
    );
    expect(faults.map((f) => [f.row, f.reason])).toEqual([
      [0, 'TYPE_MISMATCH'],
      [2, 'INVALID_JSON'],
    ]);
    expect(rows[1]).toEqual([1, null]);
  });

  it('quarantine and failfast: a record at fault is no row, and its fault is told', () => {
    for (const mode of ['quarantine', 'failfast'] as const)
      expect(decodeJson(types, documents, { mode, corruptRecordColumn: '_corrupt' }).reasons).toEqual([
        null,
        'TYPE_MISMATCH',
        'INVALID_JSON',
        'TYPE_MISMATCH',
        'NOT_AN_OBJECT',
        'EMPTY_VALUE',
        null,
        null,
      ]);
  });

  it('dropmalformed: a record at fault is dropped and counted', () => {
    const { decoder, faults } = decodeJson(types, documents, { mode: 'dropmalformed' });
    expect(faults).toEqual([]);
    expect(decoder.dropped).toEqual([1, 2, 3, 4, 5]);
    expect(decoder.counts.dropped).toBe(5);
    expect(configError(columnsOf(types), { mode: 'dropmalformed', compat: 'spark' })).toBe('CONFIG_INVALID');
  });

  it('refuses a corrupt-record column that is not there or no string, and an unknown zone', () => {
    expect(configError(columnsOf(ID), { corruptRecordColumn: '_corrupt' })).toBe('CONFIG_INVALID');
    expect(configError(columnsOf({ _corrupt: 'int' }), { corruptRecordColumn: '_corrupt' })).toBe(
      'CONFIG_INVALID',
    );
    expect(configError(columnsOf(ID), { timeZone: 'Mars/Olympus' })).toBe('CONFIG_INVALID');
    expect(configError(columnsOf({ v: 'unknown' }), {})).toBe('UNSUPPORTED');
    expect(configError(columnsOf({ m: mapOf('double', 'int') }), {})).toBe('UNSUPPORTED');
  });
});

describe('a decoder', () => {
  it('is used again and again: nothing is left of the block before', () => {
    const columns = columnsOf({ a: 'int', s: 'string', l: listOf(structOf({ x: 'int' })) });
    const decoder = createJsonDecoder(columns, JSON_FORMAT);
    const first = decodeWith(decoder, columns, ['{"a":1,"a":2,"u":1,"l":[{"x":1,"x":2}]}', '{', '{"s":"x"}']);
    expect(first.decoder.counts).toEqual({ duplicateKeys: 2, unknownFields: 1, dropped: 0 });
    const second = decodeWith(decoder, columns, ['{"s":"y","l":[{"x":3}]}']);
    expect(second.rows).toEqual([[null, 'y', [[3]]]]);
    expect(second.faults).toEqual([]);
    expect(decoder.counts).toEqual({ duplicateKeys: 0, unknownFields: 0, dropped: 0 });
    expect(decoder.rowsWithUnknownFields).toEqual([]);
    expect(decodeWith(decoder, columns, []).rows).toEqual([]);
    expect(decodeWith(decoder, columns, [null, null]).rows).toEqual([
      [null, null, null],
      [null, null, null],
    ]);
    expect(decoder.missingSchemas({} as never)).toEqual([]);
  });

  it('takes long values and tells the bytes that it holds', () => {
    const columns = columnsOf({ s: 'string', t: 'string' });
    const decoder = createJsonDecoder(columns, JSON_FORMAT);
    const before = decoder.byteLength;
    const text = 'x'.repeat(3_000_000);
    const { rows } = decodeWith(decoder, columns, [`{"s":"${text}"}`, `{"t":"${text}\\n${text}","s":"y"}`]);
    expect(rows).toEqual([
      [text, null],
      ['y', `${text}\n${text}`],
    ]);
    expect(decoder.byteLength).toBeGreaterThan(before + 9_000_000);
  });

  it('reads without any column', () => {
    expect(decodeJson({}, ['{"a":1}', '{', 'null']).reasons).toEqual([null, 'INVALID_JSON', null]);
  });
});
