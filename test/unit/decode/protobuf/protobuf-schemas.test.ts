import { describe, expect, it } from 'vitest';
import type { IcebergType, NestedField } from '../../../../src/core/schema.ts';
import { createProtobufDecoder } from '../../../../src/decode/protobuf/protobuf-decoder.ts';
import { field, hex, valuesOf } from '../../../support/avro.ts';
import { decodeProto, proto, protobufFormat, protoValue, readDecoder } from '../../../support/protobuf.ts';

const X: NestedField[] = [field('x', 'int')];
const M = proto(1, 'syntax = "proto3"; package t; message M { int32 x = 1; }');
const NESTED = proto(
  2,
  `syntax = "proto3"; package t;
  message A { int32 x = 1; map<string, int32> m = 2; message B { int32 x = 2; message C { int32 x = 3; } } enum E { Z = 0; } message D { int32 x = 4; } }
  message F { int32 x = 5; }`,
);

describe('frames (cases C04 and C09)', () => {
  it('that are none are told apart, and need no schema', () => {
    const values = [
      null,
      hex(''),
      hex('48 0a 4e 6f 72 74 68'),
      hex('00 00 01'),
      hex('00 00 00 00 01'),
      hex('00 00 00 00 01 02'),
      hex('00 00 00 00 01 00'),
      protoValue(1, hex('08 07')),
    ];
    const decoder = createProtobufDecoder(X, protobufFormat());
    expect(decoder.missingSchemas(valuesOf(values.slice(0, 4)))).toEqual([]);
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([1]);
    decoder.addSchema(M);
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([]);
    decoder.decode(valuesOf(values));
    const { rows, faults } = readDecoder(X, decoder);
    expect(faults).toEqual([
      '1 SHORT_FRAME',
      '2 BAD_MAGIC',
      '3 SHORT_FRAME',
      '4 EMPTY_BODY',
      '5 SHORT_FRAME',
    ]);
    expect(decoder.faults[1].message).toContain('0x48');
    // A message of zeros has no bytes: no fault.
    expect(rows.map((row) => row.x)).toEqual([null, null, null, null, null, null, 0, 7]);
  });

  it('with ids that the registry does not know are UNKNOWN_SCHEMA_ID in this block, negative ones without asking', () => {
    const values = valuesOf([protoValue(77, hex('00')), protoValue(-1, hex('00')), protoValue(1, hex(''))]);
    const decoder = createProtobufDecoder(X, protobufFormat(), [M]);
    expect(decoder.missingSchemas(values)).toEqual([77]);
    expect(() => decoder.decode(values)).toThrow('INTERNAL');
    decoder.markUnknown(77);
    expect(decoder.missingSchemas(values)).toEqual([]);
    decoder.decode(values);
    expect(readDecoder(X, decoder).faults).toEqual(['0 UNKNOWN_SCHEMA_ID', '1 UNKNOWN_SCHEMA_ID']);
    expect(decoder.faults.map((fault) => fault.schemaId)).toEqual([77, -1]);
    expect(decoder.missingSchemas(values)).toEqual([77]);
    decoder.addSchema({ ...M, id: 77 });
    decoder.decode(valuesOf([protoValue(77, hex('08 03'))]));
    expect(readDecoder(X, decoder)).toEqual({ rows: [{ x: 3 }], faults: [] });
  });

  it('name the message by indexes into the file, map entries and enums not counted', () => {
    const of = (indexes: string, body: string) => protoValue(2, hex(body), hex(indexes));
    const values = [
      of('00', '08 01'),
      of('02 00', '08 01'),
      of('02 02', '28 02'),
      of('04 00 00', '10 03'),
      of('06 00 00 00', '18 04'),
      of('04 00 02', '20 05'),
    ];
    const { rows, faults } = decodeProto(X, [NESTED], values);
    expect(faults).toEqual([]);
    expect(rows.map((row) => row.x)).toEqual([1, 1, 2, 3, 4, 5]);
  });

  it('with indexes that lead nowhere are PROTOBUF_DECODE', () => {
    const indexes = [
      '02 04',
      '04 02 00',
      '02 01',
      '01',
      `ca 01${' 00'.repeat(101)}`,
      'ff ff ff ff 0f',
      '08 00 00 00 00',
    ];
    const values = indexes.map((each) => protoValue(2, hex(''), hex(each)));
    const { faults, decoder } = decodeProto(X, [NESTED], values);
    expect(faults).toEqual(indexes.map((_, i) => `${i} PROTOBUF_DECODE`));
    expect(decoder.faults[0].message).toBe('schema 2 has no message at the indexes 2');
    const torn = ['04 00', '80', '02 80'].map((each) => protoValue(2, hex(''), hex(each)));
    expect(decodeProto(X, [NESTED], torn).faults).toEqual(torn.map((_, i) => `${i} SHORT_FRAME`));
  });

  it('of another message than the one that is asked for are PROTOBUF_DECODE', () => {
    const values = [protoValue(2, hex('08 01')), protoValue(2, hex('28 02'), hex('02 02'))];
    const { rows, faults, decoder } = decodeProto(X, [NESTED], values, { message: 't.F' });
    expect(faults).toEqual(['0 PROTOBUF_DECODE']);
    expect(decoder.faults[0].message).toBe('the value is of message t.A, and t.F is expected');
    expect(rows[1]).toEqual({ x: 2 });
  });
});

describe('schemas', () => {
  it('of several versions and messages fill the same columns', () => {
    const later = proto(3, 'syntax = "proto3"; package t; message M { int64 x = 1; string y = 2; }');
    const fields = [field('x', 'long'), field('y', 'string')];
    const values = [
      protoValue(1, hex('08 01')),
      protoValue(3, hex('08 02 12 01 61')),
      protoValue(1, hex('08 03')),
    ];
    const { rows } = decodeProto(fields, [M, later], values);
    expect(rows).toEqual([
      { x: 1n, y: null },
      { x: 2n, y: 'a' },
      { x: 3n, y: null },
    ]);
  });

  it('import others of the registry, and what every compiler knows', () => {
    const common = {
      name: 'common.proto',
      schema:
        'syntax = "proto2"; package c; import "deep.proto"; message Money { optional int64 units = 1 [default = 3]; optional d.Deep deep = 2; }',
    };
    const deep = {
      name: 'deep.proto',
      schema: 'syntax = "proto3"; package c.d; message Deep { int32 v = 1; }',
    };
    const text = `syntax = "proto3"; package c; import "common.proto"; import public 'google/protobuf/timestamp.proto'; import "confluent/meta.proto";
      message M { Money m = 1; google.protobuf.Timestamp t = 2; }`;
    const money: IcebergType = {
      type: 'struct',
      fields: [field('units', 'long'), field('deep', { type: 'struct', fields: [field('v', 'int')] })],
    };
    const fields = [field('m', money), field('t', 'timestamptz')];
    const value = protoValue(1, hex('0a 04 12 02 08 05 12 02 08 01'));
    expect(decodeProto(fields, [proto(1, text, [deep, common])], [value]).rows).toEqual([
      { m: { units: 3n, deep: { v: 5 } }, t: 1_000_000n },
    ]);
  });

  it('resolve names by scope, the innermost first, not into other messages', () => {
    const text = `syntax = "proto3"; package a.b;
      message Outer { message Inner { message Money { string no = 1; } } Money m = 1; b.Money n = 2; .a.b.Outer.Inner.Money o = 3; Inner.Money p = 4; }
      message Money { int32 yes = 1; }`;
    const yes: IcebergType = { type: 'struct', fields: [field('yes', 'int')] };
    const no: IcebergType = { type: 'struct', fields: [field('no', 'string')] };
    const fields = [field('m', yes), field('n', yes), field('o', no), field('p', no)];
    const wire = '0a 02 08 05 12 02 08 06 1a 03 0a 01 61 22 03 0a 01 62';
    expect(decodeProto(fields, [proto(1, text)], [protoValue(1, hex(wire))]).rows).toEqual([
      { m: { yes: 5 }, n: { yes: 6 }, o: { no: 'a' }, p: { no: 'b' } },
    ]);
  });

  it('with a missing import are unusable only where a column needs it', () => {
    const text = 'syntax = "proto3"; import "gone.proto"; message M { int32 x = 1; g.Gone y = 2; }';
    const value = protoValue(1, hex('08 01 12 00'));
    expect(decodeProto(X, [proto(1, text)], [value]).rows).toEqual([{ x: 1 }]);
    const { faults, decoder } = decodeProto(
      [...X, field('y', { type: 'struct', fields: X })],
      [proto(1, text)],
      [value],
    );
    expect(faults).toEqual(['0 PROTOBUF_DECODE']);
    expect(decoder.faults[0].message).toContain(
      'M.y is of type g.Gone, which is not defined; the registry did not give the imports gone.proto',
    );
  });

  it('that hold themselves fill the columns that there are', () => {
    const text = 'syntax = "proto3"; message M { int32 x = 1; M m = 2; }';
    const fields = [...X, field('m', { type: 'struct', fields: X })];
    const { rows, decoder } = decodeProto(
      fields,
      [proto(1, text)],
      [protoValue(1, hex('08 01 12 06 08 02 12 02 08 03'))],
    );
    expect(rows).toEqual([{ x: 1, m: { x: 2 } }]);
    expect(decoder.rowsWithUnknownFields).toEqual([0]);
  });

  it('of editions say what has presence, what is closed, what stands as a group', () => {
    const text = `edition = "2023"; package e; option features.field_presence = IMPLICIT;
      message M { int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT]; int32 c = 3 [features.field_presence = LEGACY_REQUIRED];
        O o = 4; C k = 5; N n = 6 [features.message_encoding = DELIMITED]; }
      enum O { OA = 0; } enum C { option features.enum_type = CLOSED; CA = 0; } message N { int32 x = 1; }`;
    const fields = [
      field('a', 'int'),
      field('b', 'int'),
      field('c', 'int'),
      field('o', 'string'),
      field('k', 'string'),
    ];
    const values = ['18 01 20 05 28 05 33 08 01 34', ''].map((wire) => protoValue(1, hex(wire)));
    const { rows, faults } = decodeProto(fields, [proto(1, text)], values);
    expect(rows[0]).toEqual({ a: 0, b: null, c: 1, o: 'UNKNOWN_ENUM_VALUE_O_5', k: 'CA' });
    expect(faults).toEqual(['1 MISSING_REQUIRED c']);
  });

  it('of proto2 may have groups and extensions, which are passed over', () => {
    const text = `/* proto2 without a syntax line */ package p; message M { optional int32 x = 1; optional group G = 2 { optional int32 y = 1; } extensions 100 to max; }
      extend M { optional int32 z = 100; }`;
    const { rows, faults } = decodeProto(
      X,
      [proto(1, text)],
      [protoValue(1, hex('13 08 05 14 08 02 a0 06 01'))],
    );
    expect({ rows, faults }).toEqual({ rows: [{ x: 2 }], faults: [] });
  });

  it('that are none, or of another type, are faults of their records', () => {
    const bad = [
      proto(1, 'message M { int32 x = '),
      proto(2, '{"type":"record"}'),
      { ...M, id: 3, type: 'AVRO' as const },
      proto(4, 'syntax = "proto3"; import "a.proto";', [{ name: 'a.proto', schema: 'message {' }]),
      proto(5, 'syntax = "proto3";'),
    ];
    const { faults, decoder } = decodeProto(
      X,
      bad,
      bad.map(({ id }) => protoValue(id, hex('08 01'))),
    );
    expect(faults).toEqual(bad.map((_, i) => `${i} PROTOBUF_DECODE`));
    expect(decoder.faults[2].message).toContain('it is of type AVRO');
    expect(decoder.faults[3].message).toContain('a.proto is no .proto file');
  });
});

describe('modes', () => {
  const values = [protoValue(1, hex('08 01')), hex('ff'), protoValue(1, hex('08'))];

  it('permissive: null rows, the bytes in the column for corrupt records', () => {
    const permissive = { mode: 'permissive', corruptRecordColumn: '_corrupt' } as const;
    const text = decodeProto([...X, field('_corrupt', 'string')], [M], values, permissive);
    expect(text.rows).toEqual([
      { x: 1, _corrupt: null },
      { x: null, _corrupt: Buffer.from('ff', 'hex').toString('base64') },
      { x: null, _corrupt: values[2].toString('base64') },
    ]);
    expect(text.faults).toEqual([]);
    const binary = decodeProto([field('_corrupt', 'binary'), ...X], [M], values, permissive);
    expect(binary.rows.map((row) => row._corrupt)).toEqual([null, '0xff', `0x${values[2].toString('hex')}`]);
    const required = decodeProto([field('x', 'int', { required: true })], [M], values, {
      mode: 'permissive',
    });
    expect(required.faults).toEqual(['1 BAD_MAGIC', '2 PROTOBUF_DECODE x'].map((f) => f.replace(' x', '')));
    expect(() => decodeProto([field('_corrupt', 'int')], [], [], permissive)).toThrow(
      'no string and no binary',
    );
  });

  it('dropmalformed: dropped and counted', () => {
    const { decoder, faults } = decodeProto(X, [M], values, { mode: 'dropmalformed' });
    expect(faults).toEqual([]);
    expect(decoder.dropped).toEqual([1, 2]);
    expect(decoder.counts.dropped).toBe(2);
    decoder.decode(valuesOf([values[0]]));
    expect([decoder.dropped, decoder.counts.dropped]).toEqual([[], 0]);
  });
});

describe('blocks', () => {
  it('take the place of those before, whatever these held', () => {
    const fields = [
      field('l', { type: 'list', elementId: 0, element: 'string', elementRequired: true }),
      ...X,
    ];
    const schema = proto(1, 'syntax = "proto3"; message M { int32 x = 1; repeated string l = 2; }');
    const decoder = createProtobufDecoder(fields, protobufFormat(), [schema]);
    for (let round = 0; round < 3; round++) {
      decoder.decode(
        valuesOf([protoValue(1, hex('12 01 61 12 01 ff')), protoValue(1, hex('08 01 12 01 62'))]),
      );
      expect(readDecoder(fields, decoder)).toEqual({
        rows: [
          { l: null, x: null },
          { l: ['b'], x: 1 },
        ],
        faults: ['0 INVALID_UTF8 l[1]'],
      });
    }
    expect(decoder.byteLength).toBeGreaterThan(1000);
  });
});
