import { describe, expect, it } from 'vitest';
import type { IcebergType } from '../../../../src/core/schema.ts';
import { protobufToIceberg } from '../../../../src/decode/protobuf/protobuf-to-iceberg.ts';
import { proto } from '../../../support/protobuf.ts';

/** A type as short text. */
function shown(type: IcebergType): string {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return `list<${shown(type.element)}${type.elementRequired ? '!' : ''}>`;
  if (type.type === 'map')
    return `map<${shown(type.key)}, ${shown(type.value)}${type.valueRequired ? '!' : ''}>`;
  return `struct<${type.fields.map((f) => `${f.name}${f.required ? '!' : ''}: ${shown(f.type)}`).join(', ')}>`;
}

const columns = (text: string, message: string | null = null) =>
  shown(protobufToIceberg(proto(9, text), message));

describe('the columns of a message', () => {
  it('have a type for every type of Protobuf', () => {
    const scalars = [
      'double',
      'float',
      'int32',
      'int64',
      'uint32',
      'uint64',
      'sint32',
      'sint64',
      'fixed32',
      'fixed64',
      'sfixed32',
      'sfixed64',
      'bool',
      'string',
      'bytes',
    ];
    const text = `syntax = "proto3"; message M { ${scalars.map((type, i) => `${type} f${i} = ${i + 1};`).join(' ')} }`;
    const types = protobufToIceberg(proto(9, text), null).fields.map((f) => f.type);
    expect(types).toEqual([
      'double',
      'float',
      'int',
      'long',
      'long',
      'decimal(20, 0)',
      'int',
      'long',
      'long',
      'decimal(20, 0)',
      'int',
      'long',
      'boolean',
      'string',
      'binary',
    ]);
  });

  it('are lists, maps, structs, texts of enums, values of well-known types', () => {
    const text = `syntax = "proto3"; package p; import "google/protobuf/wrappers.proto";
      message M { repeated N a = 1; map<int32, E> b = 2; oneof o { string c = 3; N d = 4; } google.protobuf.Timestamp e = 5;
        google.protobuf.Duration f = 6; google.protobuf.UInt64Value g = 7; google.protobuf.Empty h = 8; google.protobuf.Any i = 9; }
      message N { bool x = 1; } enum E { Z = 0; }`;
    expect(columns(text)).toBe(
      'struct<a: list<struct<x: boolean>!>, b: map<int, string!>, c: string, d: struct<x: boolean>, e: timestamptz, ' +
        'f: struct<seconds: long, nanos: int>, g: decimal(20, 0), i: struct<type_url: string, value: binary>>',
    );
  });

  it('are required where proto2 says so, and have ids level by level', () => {
    const text =
      'syntax = "proto2"; message M { required int32 a = 1; required N b = 2; optional group G = 3 { optional int32 z = 1; } } message N { optional int32 c = 1; }';
    expect(columns(text)).toBe('struct<a!: int, b!: struct<c: int>>');
    expect(protobufToIceberg(proto(1, text), null)).toMatchObject({
      fields: [{ id: 1 }, { id: 2, type: { fields: [{ id: 3, name: 'c' }] } }],
    });
  });

  it('are those of the first message, or of a named one, nested and imported too', () => {
    const text =
      'syntax = "proto3"; package p; message A { int32 a = 1; message B { int32 b = 1; } } message C { int32 c = 1; }';
    expect(columns(text)).toBe('struct<a: int>');
    expect(columns(text, 'p.C')).toBe('struct<c: int>');
    expect(columns(text, '.p.A.B')).toBe('struct<b: int>');
  });

  it.each([
    [
      'syntax = "proto3"; message M { N n = 1; } message N { repeated M m = 1; }',
      null,
      'message M holds itself at n.m',
    ],
    [
      'syntax = "proto3"; message M { google.protobuf.Struct s = 1; }',
      null,
      'google.protobuf.Struct holds itself at s.fields.struct_value',
    ],
    ['syntax = "proto3"; message M { Gone n = 1; }', null, 'M.n is of type Gone, which is not defined'],
    ['syntax = "proto3"; message M { int32 a = 1; }', 'X', 'it has no message X'],
    ['syntax = "proto3"; message M {}', null, 'has no field that a table can hold'],
    ['syntax = "proto3"; enum E { A = 0; }', null, 'it has no message'],
    ['nonsense', null, 'is no .proto file'],
  ])('cannot be made of %s', (text, message, what) => {
    expect(() => columns(text, message)).toThrow(`REGISTRY_SCHEMA: schema 9, Protobuf, makes no table`);
    expect(() => columns(text, message)).toThrow(what);
  });

  it('are bounded in number', () => {
    const levels = Array.from(
      { length: 20 },
      (_, i) => `message L${i} { L${i + 1} a = 1; L${i + 1} b = 2; }`,
    );
    expect(() => columns(`syntax = "proto3"; ${levels.join(' ')} message L20 { int32 x = 1; }`)).toThrow(
      'more than 10000 columns',
    );
  });
});
