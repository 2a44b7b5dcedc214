import { describe, expect, it } from 'vitest';
import type { IcebergType } from '../../../../src/core/schema.ts';
import { field, hex } from '../../../support/avro.ts';
import { decodeProto, proto, protoValue } from '../../../support/protobuf.ts';

const schema = (body: string, syntax = 'proto3') =>
  proto(1, `syntax = "${syntax}"; package t; message M { ${body} }`);
const list = (element: IcebergType): IcebergType => ({
  type: 'list',
  elementId: 0,
  element,
  elementRequired: true,
});
const map = (key: IcebergType, value: IcebergType): IcebergType => ({
  type: 'map',
  keyId: 0,
  key,
  valueId: 0,
  value,
  valueRequired: true,
});

/** The one column `x` of one message with the given fields on the wire. */
function one(
  declaration: string,
  type: IcebergType,
  wire: string,
  rest: { syntax?: string; more?: string } = {},
) {
  const { rows, faults } = decodeProto(
    [field('x', type)],
    [schema(`${declaration} ${rest.more ?? ''}`, rest.syntax)],
    [protoValue(1, hex(wire))],
  );
  return faults.length > 0 ? faults[0] : rows[0].x;
}

const MAX = 'ff ff ff ff ff ff ff ff ff 01';
const MIN = '80 80 80 80 80 80 80 80 80 01';

describe('scalars', () => {
  it.each([
    ['int32 x = 1;', 'int', '08 96 01', 150],
    ['int32 x = 1;', 'int', `08 ${MAX}`, -1],
    ['int32 x = 1;', 'int', '08 80 80 80 80 f8 ff ff ff ff 01', -(2 ** 31)],
    ['int32 x = 1;', 'long', `08 ${MAX}`, -1n],
    ['int64 x = 1;', 'long', `08 ${MAX}`, -1n],
    ['int64 x = 1;', 'long', `08 ${MIN}`, -(2n ** 63n)],
    ['int64 x = 1;', 'long', '08 81 80 80 80 80 80 80 10', 9_007_199_254_740_993n],
    ['uint32 x = 1;', 'long', '08 ff ff ff ff 0f', 4_294_967_295n],
    ['uint64 x = 1;', 'decimal(20, 0)', `08 ${MAX}`, '0x00ffffffffffffffff'],
    ['uint64 x = 1;', 'long', '08 ff ff ff ff ff ff ff ff 7f', 2n ** 63n - 1n],
    ['sint32 x = 1;', 'int', '08 03', -2],
    ['sint32 x = 1;', 'int', '08 ff ff ff ff 0f', -(2 ** 31)],
    ['sint64 x = 1;', 'long', `08 ${MAX}`, -(2n ** 63n)],
    ['sint64 x = 1;', 'decimal(20, 0)', '08 01', '0xffffffffffffffffff'],
    ['fixed32 x = 1;', 'long', '0d ff ff ff ff', 4_294_967_295n],
    ['sfixed32 x = 1;', 'int', '0d ff ff ff ff', -1],
    ['fixed64 x = 1;', 'decimal(20, 0)', '09 00 00 00 00 00 00 00 80', '0x008000000000000000'],
    ['sfixed64 x = 1;', 'long', '09 00 00 00 00 00 00 00 80', -(2n ** 63n)],
    ['float x = 1;', 'float', '0d 00 00 c0 3f', 1.5],
    ['float x = 1;', 'double', '0d 00 00 80 7f', Number.POSITIVE_INFINITY],
    ['double x = 1;', 'double', '09 00 00 00 00 00 00 f8 7f', Number.NaN],
    ['bool x = 1;', 'boolean', '08 01', true],
    ['bool x = 1;', 'boolean', `08 ${MIN}`, true],
    ['string x = 1;', 'string', '0a 03 c3 a9 21', 'é!'],
    ['string x = 1;', 'binary', '0a 01 ff', '0xff'],
    ['bytes x = 1;', 'binary', '0a 02 00 ff', '0x00ff'],
    ['bytes x = 1;', 'fixed[2]', '0a 02 00 ff', '0x00ff'],
    ['int64 x = 1;', 'decimal(18, 2)', '08 07', 700n],
    ['int32 x = 1;', 'decimal(9, 0)', '08 07', 7],
    ['int32 x = 1;', 'double', '08 07', 7],
  ] as [string, IcebergType, string, unknown][])('%s into %s', (declaration, type, wire, value) => {
    expect(one(declaration, type, wire)).toEqual(value);
  });

  it.each([
    ['int32 x = 1;', 'int', '08 80 80 80 80 08'],
    ['int32 x = 1;', 'int', '08 80 80 80 80 10'],
    ['uint32 x = 1;', 'long', '08 80 80 80 80 10'],
    ['sint32 x = 1;', 'int', '08 80 80 80 80 10'],
    ['int64 x = 1;', 'int', '08 80 80 80 80 08'],
    ['uint64 x = 1;', 'long', `08 ${MAX}`],
    ['uint64 x = 1;', 'int', '08 ff ff ff ff ff ff ff ff ff 01'],
    ['int64 x = 1;', 'double', '08 81 80 80 80 80 80 80 10'],
    ['int32 x = 1;', 'decimal(3, 1)', '08 64'],
    ['uint64 x = 1;', 'decimal(19, 0)', `08 ${MAX}`],
    ['E x = 1; enum E { A = 0; }', 'string', '08 80 80 80 80 10'],
  ] as [string, IcebergType, string][])('%s out of range of %s', (declaration, type, wire) => {
    expect(one(declaration, type, wire)).toBe('0 OUT_OF_RANGE x');
  });

  it.each([
    ['string x = 1;', 'int', '0a 01 61'],
    ['int32 x = 1;', 'string', '08 01'],
    ['int32 x = 1;', 'date', '08 01'],
    ['double x = 1;', 'float', '09 00 00 00 00 00 00 00 00'],
    ['repeated int32 x = 1;', 'int', '08 01'],
    ['int32 x = 1;', list('int'), '08 01'],
    ['N x = 1; message N {}', 'string', '0a 00'],
    ['bytes x = 1;', 'fixed[3]', '0a 01 61'],
  ] as [string, IcebergType, string][])('%s is a mismatch of %s', (declaration, type, wire) => {
    expect(one(declaration, type, wire)).toBe('0 TYPE_MISMATCH x');
  });

  it('of text must be UTF-8, told with the place', () => {
    const values = ['0a 02 61 62', '0a 03 61 c3 28', '0a 00', '0a 01 80'].map((wire) =>
      protoValue(1, hex(wire)),
    );
    const { rows, faults, decoder } = decodeProto([field('x', 'string')], [schema('string x = 1;')], values);
    expect(faults).toEqual(['1 INVALID_UTF8 x', '3 INVALID_UTF8 x']);
    expect(decoder.faults[0].message).toContain('at byte 9');
    expect(rows.map((row) => row.x)).toEqual(['ab', null, '', null]);
  });
});

describe('a field that does not stand in the message', () => {
  it('has the value zero where proto3 does not tell the two apart', () => {
    const body = `int32 a = 1; int64 b = 2; uint64 c = 3; double d = 4; bool e = 5; string f = 6; bytes g = 7; E h = 8;
      repeated int32 i = 9; map<string, int32> j = 10; optional int32 k = 11; N l = 12; sfixed64 m = 13; float n = 14;
      oneof o { int32 p = 15; } enum E { ZERO = 0; ONE = 1; } message N {int32 q = 1;}`;
    const fields = [
      field('a', 'int'),
      field('b', 'long'),
      field('c', 'decimal(20, 0)'),
      field('d', 'double'),
      field('e', 'boolean'),
      field('f', 'string'),
      field('g', 'binary'),
      field('h', 'string'),
      field('i', list('int')),
      field('j', map('string', 'int')),
      field('k', 'int'),
      field('l', { type: 'struct', fields: [field('q', 'int')] }),
      field('m', 'long'),
      field('n', 'float'),
      field('p', 'int'),
    ];
    const { rows, faults } = decodeProto(fields, [schema(body)], [protoValue(1, hex(''))]);
    expect(faults).toEqual([]);
    expect(rows[0]).toEqual({
      a: 0,
      b: 0n,
      c: `0x${'00'.repeat(9)}`,
      d: 0,
      e: false,
      f: '',
      g: '0x',
      h: 'ZERO',
      i: [],
      j: [],
      k: null,
      l: null,
      m: 0n,
      n: 0,
      p: null,
    });
  });

  it('has the declared default of proto2, else the column’s, else null', () => {
    const body = `optional int32 a = 1 [default = -7]; optional string b = 2 [default = "a\\x41\\n"]; optional E c = 3 [default = TWO];
      optional E d = 4; optional bool e = 5 [default = true]; optional double f = 6 [default = -inf]; optional bytes g = 7 [default = "\\377a"];
      optional sint64 h = 8 [default = -3]; optional fixed32 i = 9 [default = 4294967295]; optional int32 j = 10; optional int32 k = 11;
      enum E { ONE = 1; TWO = 2; }`;
    const fields = [
      field('a', 'int'),
      field('b', 'string'),
      field('c', 'string'),
      field('d', 'string'),
      field('e', 'boolean'),
      field('f', 'double'),
      field('g', 'binary'),
      field('h', 'long'),
      field('i', 'long'),
      field('j', 'int', { writeDefault: 5 }),
      field('k', 'int'),
    ];
    const { rows } = decodeProto(fields, [schema(body, 'proto2')], [protoValue(1, hex(''))]);
    expect(rows[0]).toEqual({
      a: -7,
      b: 'aA\n',
      c: 'TWO',
      d: null,
      e: true,
      f: Number.NEGATIVE_INFINITY,
      g: '0xff61',
      h: -3n,
      i: 4_294_967_295n,
      j: 5,
      k: null,
    });
  });

  it('is MISSING_REQUIRED where proto2 or the column requires it', () => {
    const required = schema('required int32 x = 1; required int32 y = 2;', 'proto2');
    const values = ['08 01 10 01', '08 01', '10 01'].map((wire) => protoValue(1, hex(wire)));
    expect(decodeProto([field('x', 'int')], [required], values).faults).toEqual([
      '1 MISSING_REQUIRED y',
      '2 MISSING_REQUIRED x',
    ]);
    const fields = [field('x', 'int', { required: true }), field('z', 'int', { required: true })];
    const optional = schema('optional int32 x = 1;', 'proto2');
    expect(decodeProto(fields, [optional], [protoValue(1, hex(''))]).faults).toEqual([
      '0 MISSING_REQUIRED x',
    ]);
    expect(decodeProto(fields, [optional], [protoValue(1, hex('08 01'))]).faults).toEqual([
      '0 MISSING_REQUIRED z',
    ]);
  });

  it('cannot have a default that was not read exactly', () => {
    const big = schema('optional int64 x = 1 [default = 9007199254740993];', 'proto2');
    const { faults, decoder } = decodeProto([field('x', 'long')], [big], [protoValue(1, hex('08 01'))]);
    expect(faults).toEqual(['0 PROTOBUF_DECODE']);
    expect(decoder.faults[0].message).toContain('the default of x is beyond 2^53');
  });
});

describe('fields that stand several times', () => {
  it('count by the last one, in any order', () => {
    expect(one('int32 x = 1;', 'int', '08 01 10 05 08 02', { more: 'int32 y = 2;' })).toBe(2);
    expect(one('string x = 1;', 'string', '0a 01 61 0a 02 62 63')).toBe('bc');
  });

  it('merge where they are messages, at every level', () => {
    const struct: IcebergType = {
      type: 'struct',
      fields: [
        field('a', 'int'),
        field('b', list('int')),
        field('n', { type: 'struct', fields: [field('c', 'int'), field('d', 'int')] }),
      ],
    };
    const declaration =
      'N x = 1; message N { int32 a = 1; repeated int32 b = 2; O n = 3; message O { int32 c = 1; int32 d = 2; } }';
    const parts = '0a 06 08 01 10 01 1a 00 0a 08 08 05 10 02 1a 02 08 03 0a 04 1a 02 10 04';
    expect(one(declaration, struct, parts)).toEqual({ a: 5, b: [1, 2], n: { c: 3, d: 4 } });
  });

  it('of a oneof: the last member counts, and begins anew', () => {
    const oneof = schema('oneof o { N x = 1; int32 y = 2; } message N { int32 a = 1; int32 b = 2; }');
    const fields = [
      field('x', { type: 'struct', fields: [field('a', 'int'), field('b', 'int')] }),
      field('y', 'int'),
    ];
    const rows = (wire: string) => decodeProto(fields, [oneof], [protoValue(1, hex(wire))]).rows[0];
    expect(rows('0a 02 08 01 0a 02 10 02')).toEqual({ x: { a: 1, b: 2 }, y: null });
    expect(rows('0a 02 08 01 10 07')).toEqual({ x: null, y: 7 });
    expect(rows('0a 02 08 01 10 07 0a 02 10 02')).toEqual({ x: { a: 0, b: 2 }, y: null });
  });

  it('of a oneof count also where the last member has no column', () => {
    const oneof = schema('oneof o { int32 x = 1; int32 y = 2; }');
    const { rows, decoder } = decodeProto([field('x', 'int')], [oneof], [protoValue(1, hex('08 01 10 02'))]);
    expect(rows).toEqual([{ x: null }]);
    expect(decoder.rowsWithUnknownFields).toEqual([0]);
  });
});

describe('lists', () => {
  it('stand packed, unpacked, or both', () => {
    expect(one('repeated int32 x = 1;', list('int'), '0a 03 01 02 03 08 04 0a 01 05')).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect(one('repeated int32 x = 1 [packed = false];', list('int'), '0a 03 01 02 03')).toEqual([1, 2, 3]);
    expect(
      one('repeated sfixed64 x = 1;', list('long'), `0a 10 ${'01'.padEnd(16, '0')} ${'ff'.repeat(8)}`),
    ).toEqual([1n, -1n]);
    expect(one('repeated int32 x = 1;', list('int'), '0a 00')).toEqual([]);
  });

  it('stand among other fields', () => {
    expect(
      one('repeated string x = 1;', list('string'), '0a 01 61 10 01 0a 01 62 18 07 0a 00', {
        more: 'int32 y = 2;',
      }),
    ).toEqual(['a', 'b', '']);
  });

  it('hold messages, each for itself', () => {
    const struct: IcebergType = { type: 'struct', fields: [field('a', 'int'), field('b', list('string'))] };
    const declaration = 'repeated N x = 1; message N { optional int32 a = 1; repeated string b = 2; }';
    expect(one(declaration, list(struct), '0a 02 08 01 0a 00 0a 03 12 01 63')).toEqual([
      { a: 1, b: [] },
      { a: null, b: [] },
      { a: null, b: ['c'] },
    ]);
  });

  it('tell the element at fault', () => {
    const declaration = 'repeated N x = 1; message N { int32 a = 1; }';
    const struct: IcebergType = { type: 'struct', fields: [field('a', 'int')] };
    expect(one(declaration, list(struct), '0a 02 08 01 0a 02 08 ff')).toBe('0 PROTOBUF_DECODE x[1]');
    expect(one('repeated sint32 x = 1;', list('int'), '0a 06 01 80 80 80 80 10')).toBe('0 OUT_OF_RANGE x[1]');
    expect(one('repeated sfixed32 x = 1;', list('int'), '0a 05 00 00 00 00 01')).toBe(
      '0 PROTOBUF_DECODE x[1]',
    );
  });

  it('cannot make endless rows of few bytes', () => {
    const names = Array.from({ length: 400 }, (_, i) => `f${i}`);
    const struct: IcebergType = { type: 'struct', fields: names.map((name) => field(name, 'int')) };
    const declaration = `repeated N x = 1; message N { ${names.map((name, i) => `int32 ${name} = ${i + 1};`).join(' ')} }`;
    expect(one(declaration, list(struct), '0a 00'.repeat(100_000))).toMatch(/^0 TOO_LARGE x\[\d+\]$/);
  });
});

describe('maps', () => {
  it('have entries of key and value, in any order, with zero for what is not there', () => {
    const entries = '0a 05 0a 01 61 10 01 0a 05 10 02 0a 01 62 0a 03 0a 01 63 0a 02 10 04';
    expect(one('map<string, int32> x = 1;', map('string', 'int'), entries)).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 0],
      ['', 4],
    ]);
  });

  it('keep the last of several entries with one key, counted', () => {
    for (const [count, type, key] of [
      [3, 'string', (i: number) => `0a 01 ${(0x61 + (i % 2)).toString(16)}`],
      [40, 'string', (i: number) => `0a 01 ${(0x61 + (i % 2)).toString(16)}`],
      [3, 'int64', (i: number) => `08 0${i % 2}`],
      [40, 'int64', (i: number) => `08 0${i % 2}`],
      [40, 'bool', (i: number) => `08 0${i % 2}`],
    ] as [number, string, (i: number) => string][]) {
      const wire = Array.from({ length: count }, (_, i) => {
        const body = `${key(i)} 10 ${i.toString(16).padStart(2, '0')}`;
        return `0a ${hex(body).length.toString(16).padStart(2, '0')} ${body}`;
      }).join(' ');
      const keyType: IcebergType = type === 'string' ? 'string' : type === 'bool' ? 'boolean' : 'long';
      const { rows, decoder } = decodeProto(
        [field('x', map(keyType, 'int'))],
        [schema(`map<${type}, int32> x = 1;`)],
        [protoValue(1, hex(wire))],
      );
      const found = rows[0].x as unknown[][];
      expect(found.map((entry) => entry[1])).toEqual([count - 2, count - 1]);
      expect(decoder.counts.duplicateKeys).toBe(count - 2);
    }
  });

  it('must hold UTF-8 also in an entry that another takes the place of, whatever stands in other records', () => {
    const values = ['0a 06 0a 01 61 12 01 ff 0a 06 0a 01 61 12 01 62', '0a 06 0a 01 61 12 01 62'].map(
      (wire) => protoValue(1, hex(wire)),
    );
    const decode = (some: Buffer[]) =>
      decodeProto([field('x', map('string', 'string'))], [schema('map<string, string> x = 1;')], some);
    expect(decode(values)).toMatchObject({
      faults: ['0 INVALID_UTF8 x[0].value'],
      rows: [{ x: null }, { x: [['a', 'b']] }],
    });
    const bad = protoValue(1, hex('0a 06 0a 01 61 12 01 ff'));
    expect(decode([...values, bad]).faults).toEqual([
      '0 INVALID_UTF8 x[0].value',
      '2 INVALID_UTF8 x[0].value',
    ]);
  });

  it('hold messages; one that is not there is empty', () => {
    const struct: IcebergType = { type: 'struct', fields: [field('a', 'int')] };
    const declaration = 'map<int32, N> x = 1; message N { int32 a = 1; }';
    expect(one(declaration, map('int', struct), '0a 06 08 01 12 02 08 05 0a 02 08 02')).toEqual([
      [1, { a: 5 }],
      [2, { a: 0 }],
    ]);
  });
});

describe('enums', () => {
  const E = 'enum E { option allow_alias = true; A = 0; ALSO_A = 0; B = -1; }';

  it('are the first names of their numbers, or numbers', () => {
    expect(one(`E x = 1; ${E}`, 'string', '08 00')).toBe('A');
    expect(one(`E x = 1; ${E}`, 'string', `08 ${MAX}`)).toBe('B');
    expect(one(`E x = 1; ${E}`, 'int', `08 ${MAX}`)).toBe(-1);
  });

  it('keep a number without a name where they are open', () => {
    expect(one(`E x = 1; ${E}`, 'string', '08 07')).toBe('UNKNOWN_ENUM_VALUE_E_7');
    expect(one(`repeated E x = 1; ${E}`, list('string'), '0a 02 00 07')).toEqual([
      'A',
      'UNKNOWN_ENUM_VALUE_E_7',
    ]);
  });

  it('do not have it where they are closed', () => {
    const closed = { syntax: 'proto2' };
    expect(one(`optional E x = 1; ${E}`, 'string', '08 00 08 07', closed)).toBe('A');
    expect(one(`optional E x = 1 [default = B]; ${E}`, 'string', '08 07', closed)).toBe('B');
    expect(one(`optional E x = 1; ${E}`, 'string', '08 07', closed)).toBeNull();
    expect(one(`repeated E x = 1; ${E}`, list('string'), '08 00 08 07 0a 02 07 00 08 09', closed)).toEqual([
      'A',
      'A',
    ]);
    expect(
      one(
        `map<string, E> x = 1; ${E}`,
        map('string', 'string'),
        '0a 05 0a 01 61 10 07 0a 05 0a 01 62 10 00',
        closed,
      ),
    ).toEqual([['b', 'A']]);
  });
});

describe('well-known types', () => {
  it('Timestamp: micros, nanos, or a struct', () => {
    const x = 'google.protobuf.Timestamp x = 1;';
    // 1784000106 seconds, 123456789 nanos.
    const wire = '0a 0b 08 ea dc d6 d2 06 10 95 9a ef 3a';
    expect(one(x, 'timestamptz', wire)).toBe(1_784_000_106_123_456n);
    expect(one(x, 'timestamptz_ns', wire)).toBe(1_784_000_106_123_456_789n);
    expect(one(x, 'timestamp', wire)).toBe(1_784_000_106_123_456n);
    const struct: IcebergType = { type: 'struct', fields: [field('seconds', 'long'), field('nanos', 'int')] };
    expect(one(x, struct, '0a 04 08 07 10 05')).toEqual({ seconds: 7n, nanos: 5 });
    expect(one(x, 'timestamptz', '')).toBeNull();
    expect(one(x, 'timestamptz', '0a 00')).toBe(0n);
    // One second before 1970, and a million nanos after that.
    expect(one(x, 'timestamptz', `0a 0f 08 ${MAX} 10 c0 84 3d`)).toBe(-999_000n);
    // In two parts.
    expect(one(x, 'timestamptz', '0a 02 08 01 0a 04 10 c0 84 3d')).toBe(1_001_000n);
  });

  it.each([['08 80 80 80 80 80 80 80 80 01'], [`08 ${MIN}`], [`10 ${MAX}`], ['10 80 94 eb dc 03']])(
    'Timestamp out of range: %s',
    (body) => {
      const wire = `0a ${hex(body).length.toString(16).padStart(2, '0')} ${body}`;
      expect(one('google.protobuf.Timestamp x = 1;', 'timestamptz', wire)).toBe('0 OUT_OF_RANGE x');
    },
  );

  it('Duration: micros toward zero', () => {
    const x = 'google.protobuf.Duration x = 1;';
    expect(one(x, 'long', '0a 04 08 01 10 01')).toBe(1_000_000n);
    expect(one(x, 'long', `0a 16 08 ${MAX} 10 ff ff ff ff ff ff ff ff ff 01`)).toBe(-1_000_000n);
    expect(one(x, 'long', `0a 16 08 ${MAX} 10 c0 fb c2 ff ff ff ff ff ff 01`)).toBe(-1_001_000n);
    expect(one(x, 'long', `0a 0d 08 01 10 ${MAX}`)).toBe('0 OUT_OF_RANGE x');
  });

  it('wrappers: their value, zero where they are empty, null where they are not there', () => {
    const x = 'google.protobuf.Int64Value x = 1;';
    expect(one(x, 'long', '0a 02 08 05')).toBe(5n);
    expect(one(x, 'long', '0a 00')).toBe(0n);
    expect(one(x, 'long', '')).toBeNull();
    expect(one(x, 'string', '0a 00')).toBe('0 TYPE_MISMATCH x');
    expect(
      one('repeated google.protobuf.StringValue x = 1;', list('string'), '0a 03 0a 01 61 0a 00'),
    ).toEqual(['a', '']);
  });
});

describe('what is no message', () => {
  it.each([
    ['a tag that is cut off', '80'],
    ['a varint that is cut off', '08 80'],
    ['a varint of eleven bytes', '08 ff ff ff ff ff ff ff ff ff ff 01'],
    ['a varint beyond 64 bits', '08 ff ff ff ff ff ff ff ff ff 02'],
    ['a length beyond the end', '12 05 61'],
    ['a length beyond 2^53', '12 ff ff ff ff ff ff ff ff 7f'],
    ['a negative length', `12 ${MAX}`],
    ['four bytes that are three', '1d 00 00 00'],
    ['eight bytes that are none', '21'],
    ['field number 0', '00 01'],
    ['a tag beyond 32 bits', '80 80 80 80 10 01'],
    ['wire type 6', '0e'],
    ['wire type 7 of an unknown field', '7f'],
    ['the end of a group', '0c'],
    ['a group that does not end', '53 08 01'],
    ['a group that ends as another', '53 5c'],
    ['another wire type than the schema has', '0a 01 61'],
    ['a string as a varint', '10 01'],
  ])('is PROTOBUF_DECODE: %s', (_, wire) => {
    const { faults, rows } = decodeProto(
      [field('x', 'int'), field('s', 'string')],
      [schema('int32 x = 1; string s = 2; fixed32 f = 3; fixed64 g = 4;')],
      [protoValue(1, hex('08 01')), protoValue(1, hex(wire)), protoValue(1, hex('08 02 12 01 61'))],
    );
    expect(faults.map((fault) => fault.split(' ').slice(0, 2).join(' '))).toEqual(['1 PROTOBUF_DECODE']);
    expect(rows).toEqual([
      { x: 1, s: '' },
      { x: null, s: null },
      { x: 2, s: 'a' },
    ]);
  });

  it('unknown fields of every wire type are passed over and counted, groups whole', () => {
    const wire =
      '50 01 51 00 00 00 00 00 00 00 00 52 01 61 55 00 00 00 00 53 08 01 5b 5c 54 08 09 a2 80 80 04 00';
    const { rows, faults, decoder } = decodeProto(
      [field('x', 'int')],
      [schema('int32 x = 1;')],
      [protoValue(1, hex(wire))],
    );
    expect(faults).toEqual([]);
    expect(rows).toEqual([{ x: 9 }]);
    expect(decoder.counts.unknownFields).toBe(6);
    expect(decoder.rowsWithUnknownFields).toEqual([]);
  });

  it('fields of the schema that no column takes are told', () => {
    const values = ['08 01', '08 01 10 02', '10 02'].map((wire) => protoValue(1, hex(wire)));
    const { decoder } = decodeProto([field('x', 'int')], [schema('int32 x = 1; int32 y = 2;')], values);
    expect(decoder.rowsWithUnknownFields).toEqual([1, 2]);
  });

  it('groups nested without end are TOO_DEEP', () => {
    expect(one('int32 x = 1;', 'int', '53'.repeat(200_000))).toBe('0 TOO_DEEP');
  });

  it('tells the byte', () => {
    const { decoder } = decodeProto(
      [field('x', 'int')],
      [schema('int32 x = 1;')],
      [protoValue(1, hex('08 01 08 80'))],
    );
    expect(decoder.faults[0]).toMatchObject({
      message: 'the value is cut off: a number has no end, at byte 9',
      schemaId: 1,
    });
  });
});
