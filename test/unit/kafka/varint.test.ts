import { describe, expect, it } from 'vitest';
import { RecordFault } from '../../../src/kafka/record-fault.ts';
import { readUnsignedVarint, readVarint, readVarlong, varint } from '../../../src/kafka/varint.ts';

/** Vectors of the protocol buffers encoding (zigzag, then base 128), as Kafka's ByteUtilsTest has them. */
const VARINTS: [number, string][] = [
  [0, '00'],
  [-1, '01'],
  [1, '02'],
  [63, '7e'],
  [-64, '7f'],
  [64, '8001'],
  [-65, '8101'],
  [8191, 'fe7f'],
  [-8192, 'ff7f'],
  [8192, '808001'],
  [-8193, '818001'],
  [1048575, 'feff7f'],
  [-1048576, 'ffff7f'],
  [1048576, '80808001'],
  [134217727, 'feffff7f'],
  [-134217728, 'ffffff7f'],
  [134217728, '8080808001'],
  [-134217729, '8180808001'],
  [2147483647, 'feffffff0f'],
  [-2147483648, 'ffffffff0f'],
];

const VARLONGS: [bigint, string][] = [
  ...VARINTS.map(([n, hex]): [bigint, string] => [BigInt(n), hex]),
  [2147483648n, '8080808010'],
  [-2147483649n, '8180808010'],
  [17179869183n, 'feffffff7f'],
  [-17179869184n, 'ffffffff7f'],
  [17179869184n, '808080808001'],
  [2199023255551n, 'feffffffff7f'],
  [281474976710655n, 'feffffffffff7f'],
  [-281474976710656n, 'ffffffffffff7f'],
  [36028797018963967n, 'feffffffffffff7f'],
  [4611686018427387903n, 'feffffffffffffff7f'],
  [-4611686018427387904n, 'ffffffffffffffff7f'],
  [4611686018427387904n, '80808080808080808001'],
  [9223372036854775807n, 'feffffffffffffffff01'],
  [-9223372036854775808n, 'ffffffffffffffffff01'],
];

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const longOf = () => (BigInt(varint.high) << 32n) | BigInt(varint.low >>> 0);

describe('varints', () => {
  it.each(VARINTS)('reads the varint %d from %s', (value, hex) => {
    const bytes = bytesOf(`ee${hex}ee`);
    expect(readVarint(bytes, 1, bytes.length)).toBe(value);
    expect(varint.end).toBe(1 + hex.length / 2);
  });

  it.each(VARLONGS)('reads the varlong %s from %s', (value, hex) => {
    const bytes = bytesOf(`ee${hex}ee`);
    readVarlong(bytes, 1, bytes.length);
    expect(longOf()).toBe(value);
    expect(varint.end).toBe(1 + hex.length / 2);
  });

  it('reads longer forms than needed, up to the greatest length', () => {
    expect(readVarint(bytesOf('8080808000'), 0, 5)).toBe(0);
    readVarlong(bytesOf('82808080808080808000'), 0, 10);
    expect(longOf()).toBe(1n);
  });

  it('reads unsigned varints as their bit pattern', () => {
    expect(readUnsignedVarint(bytesOf('ffffffff0f'), 0, 5)).toBe(-1);
    expect(readUnsignedVarint(bytesOf('ac02'), 0, 2)).toBe(300);
  });

  it.each([
    ['more than 32 bits', 'ffffffff1f'],
    ['six bytes', '808080808001'],
    ['eleven bytes', '8080808080808080808001'],
    ['cut off', 'ffff'],
    ['empty', ''],
  ])('refuses a varint of %s', (_what, hex) => {
    const bytes = bytesOf(hex);
    expect(() => readVarint(bytes, 0, bytes.length)).toThrow(RecordFault);
  });

  it.each([
    ['more than 64 bits', 'ffffffffffffffffff02'],
    ['eleven bytes', '8080808080808080808001'],
    ['cut off', 'ffffffffff'],
    ['empty', ''],
  ])('refuses a varlong of %s', (_what, hex) => {
    const bytes = bytesOf(hex);
    expect(() => readVarlong(bytes, 0, bytes.length)).toThrow(RecordFault);
  });

  it('does not read beyond its limit, though there are bytes', () => {
    expect(() => readVarint(bytesOf('8001'), 0, 1)).toThrow('cut off at byte 1');
    expect(() => readVarlong(bytesOf('8001'), 0, 1)).toThrow('cut off at byte 1');
  });
});
