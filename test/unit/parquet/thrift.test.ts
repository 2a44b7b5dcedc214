import { describe, expect, it } from 'vitest';
import { ThriftReader } from '../../../src/parquet/thrift-reader.ts';
import { ThriftWriter } from '../../../src/parquet/thrift-writer.ts';

describe('Thrift compact protocol', () => {
  it('writes the bytes of the specification', () => {
    const thrift = new ThriftWriter();
    thrift.beginStruct();
    thrift.i32Field(1, -1);
    thrift.boolField(2, true);
    thrift.boolField(4, false);
    thrift.i64Field(5, 150);
    thrift.stringField(6, 'hi');
    thrift.listField(8, 'i32', 2);
    thrift.i32(0);
    thrift.i32(64);
    thrift.endStruct();
    expect(Buffer.from(thrift.bytes()).toString('hex')).toBe(
      '150111' + '22' + '16ac02' + '18026869' + '2925' + '00' + '8001' + '00',
    );
  });

  it('brings back what was written, edge values included', () => {
    const integers = [
      0,
      1,
      -1,
      63,
      64,
      -64,
      -65,
      2 ** 31 - 1,
      -(2 ** 31),
      2 ** 52 - 1,
      2 ** 52,
      -(2 ** 52),
      Number.MAX_SAFE_INTEGER,
      -Number.MAX_SAFE_INTEGER,
    ];
    const thrift = new ThriftWriter(1);
    thrift.beginStruct();
    thrift.listField(1, 'i64', integers.length);
    for (const integer of integers) thrift.i64(integer);
    thrift.listField(2, 'bool', 20);
    for (let i = 0; i < 20; i++) thrift.bool(i % 3 === 0);
    thrift.structField(14);
    thrift.structField(1);
    thrift.emptyField(3);
    thrift.endStruct();
    thrift.binaryField(2, new Uint8Array(300).fill(7));
    thrift.endStruct();
    thrift.i16Field(15, -300);
    thrift.endStruct();
    expect(new ThriftReader(thrift.bytes()).struct()).toEqual({
      1: integers,
      2: Array.from({ length: 20 }, (_, i) => i % 3 === 0),
      14: { 1: { 3: {} }, 2: new Uint8Array(300).fill(7) },
      15: -300,
    });
  });

  it('refuses what the protocol cannot hold', () => {
    const thrift = new ThriftWriter();
    thrift.beginStruct();
    thrift.i32Field(5, 1);
    expect(() => thrift.i32Field(5, 1)).toThrow(RangeError);
    expect(() => thrift.i32Field(21, 1)).toThrow(RangeError);
    expect(() => thrift.i32Field(6, 2 ** 31)).toThrow(RangeError);
    expect(() => thrift.bytes()).toThrow(RangeError);
    expect(() => thrift.i64(2 ** 53)).toThrow(RangeError);
  });

  it.each([
    ['an end within a field', '15'],
    ['a string behind the end', '18ff7f61'],
    ['a list of two thousand million', '19f5ffffffff07'],
    ['a number without end', '16ffffffffffffffffffff01'],
    ['an unknown type', '1f00'],
    ['nesting without end', '1c'.repeat(4000)],
  ])('refuses %s', (_name, hex) => {
    expect(() => new ThriftReader(Buffer.from(hex, 'hex')).struct()).toThrow(RangeError);
  });
});
