import { describe, expect, it } from 'vitest';
import type { PartitionValue } from '../../../src/core/data-file.ts';
import { parseTimestamp } from '../../../src/core/iso-time.ts';
import type { IcebergType, PrimitiveType } from '../../../src/core/schema.ts';
import {
  bindTransform,
  hashFunction,
  humanText,
  parseTransform,
  transformResultType,
  transformText,
} from '../../../src/iceberg/transforms.ts';

const apply = (transform: string, type: IcebergType, value: PartitionValue): PartitionValue =>
  bindTransform(parseTransform(transform), type)(value);
const hash = (type: PrimitiveType, value: Exclude<PartitionValue, null>): number => hashFunction(type)(value);
const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const micros = (text: string): bigint => parseTimestamp(text, 6, false)!;

describe('hashes of the specification (appendix B)', () => {
  it('every listed type', () => {
    expect(hash('int', 34)).toBe(2017239379);
    expect(hash('long', 34n)).toBe(2017239379);
    expect(hash('decimal(9, 2)', 1420n)).toBe(-500754589);
    expect(hash('date', 17486)).toBe(-653330422);
    expect(hash('time', 81_068_000_000n)).toBe(-662762989);
    expect(hash('timestamp', micros('2017-11-16T22:31:08'))).toBe(-2047944441);
    expect(hash('timestamptz', micros('2017-11-16T22:31:08.000001'))).toBe(-1207196810);
    expect(hash('timestamp_ns', parseTimestamp('2017-11-16T22:31:08.000001001', 9, false)!)).toBe(
      -1207196810,
    );
    expect(hash('timestamptz_ns', parseTimestamp('2017-11-16T22:31:08+00:00', 9, true)!)).toBe(-2047944441);
    expect(hash('string', 'iceberg')).toBe(1210000089);
    expect(hash('uuid', bytes('f79c3e09677c4bbda4793f349cb785e7'))).toBe(1488055340);
    expect(hash('fixed[4]', bytes('00010203'))).toBe(-188683207);
    expect(hash('binary', bytes('00010203'))).toBe(-188683207);
  });

  it('every length of a tail', () => {
    // Computed with Python's mmh3 over the same bytes.
    const expected = [0, 1009084850, -1681926305, -1277324294, 1139631978, -392455434, 1635893381];
    expect(['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef'].map((t) => hash('binary', utf8(t)))).toEqual(
      expected,
    );
  });

  it('decimals without padding, negative ones too (C18)', () => {
    const values = [1420n, -1n, -128n, -32768n, -8388608n];
    expect(values.map((v) => hash('decimal(9, 2)', v))).toEqual([
      -500754589, -43192051, 267099677, 1659329203, -640632435,
    ]);
    expect(values.map((v) => apply('bucket[16]', 'decimal(9, 2)', v))).toEqual([3, 13, 13, 3, 13]);
  });
});

describe('date transforms floor (C19)', () => {
  const values = [-1n, -1_000_000n, -86_400_000_000n, 0n, null];
  it('hours and days before 1970', () => {
    expect(values.map((v) => apply('hour', 'timestamptz', v))).toEqual([-1, -1, -24, 0, null]);
    expect(values.map((v) => apply('day', 'timestamptz', v))).toEqual([-1, -1, -1, 0, null]);
    expect(values.map((v) => apply('month', 'timestamptz', v))).toEqual([-1, -1, -1, 0, null]);
    expect(values.map((v) => apply('year', 'timestamptz', v))).toEqual([-1, -1, -1, 0, null]);
  });

  it('nanoseconds and dates', () => {
    expect(apply('hour', 'timestamp_ns', -1n)).toBe(-1);
    expect(apply('day', 'timestamp_ns', -86_400_000_000_001n)).toBe(-2);
    expect(apply('day', 'date', -5)).toBe(-5);
    expect(apply('month', 'date', 17486)).toBe(574);
    expect(apply('year', 'date', 17486)).toBe(47);
    expect(apply('month', 'date', -32)).toBe(-2);
    expect(apply('year', 'date', -366)).toBe(-2);
  });

  it('the ends of the range of a timestamp', () => {
    for (const value of [-(2n ** 63n), 2n ** 63n - 1n]) {
      const hour = apply('hour', 'timestamptz', value) as number;
      expect(BigInt(hour) * 3_600_000_000n <= value && value < (BigInt(hour) + 1n) * 3_600_000_000n).toBe(
        true,
      );
    }
  });
});

describe('truncate', () => {
  it('the examples of the specification', () => {
    expect(apply('truncate[10]', 'int', 1)).toBe(0);
    expect(apply('truncate[10]', 'int', -1)).toBe(-10);
    expect(apply('truncate[10]', 'long', -1n)).toBe(-10n);
    expect(apply('truncate[50]', 'decimal(9, 2)', 1065n)).toBe(1050n);
    expect(apply('truncate[10]', 'decimal(9, 2)', -5n)).toBe(-10n);
    expect(apply('truncate[3]', 'string', 'iceberg')).toBe('ice');
    expect(apply('truncate[3]', 'binary', bytes('0102030405'))).toEqual(bytes('010203'));
  });

  it('counts code points, not code units', () => {
    expect(apply('truncate[2]', 'string', '\u{1f600}\u{1f601}\u{1f602}')).toBe('\u{1f600}\u{1f601}');
    expect(apply('truncate[3]', 'string', 'é\u{1f600}')).toBe('é\u{1f600}');
    expect(apply('truncate[5]', 'string', '')).toBe('');
  });
});

describe('transforms as texts', () => {
  it('known ones are read and written, others kept', () => {
    for (const text of ['identity', 'bucket[16]', 'truncate[4]', 'year', 'month', 'day', 'hour', 'void']) {
      expect(transformText(parseTransform(text))).toBe(text);
    }
    for (const text of [
      'bucket[0]',
      'bucket[-1]',
      'truncate[]',
      'bucket[99999999999]',
      'zorder',
      'bucket(16)',
    ]) {
      expect(parseTransform(text)).toEqual({ kind: 'unknown', text });
    }
  });

  it('an unknown transform, or one that does not take the type, is never applied', () => {
    expect(() => apply('zorder', 'int', 1)).toThrow('UNSUPPORTED');
    expect(() => apply('hour', 'date', 1)).toThrow('hour does not take a column of type date');
    expect(() => apply('bucket[4]', 'double', 1)).toThrow('UNSUPPORTED');
    expect(() => apply('identity', { type: 'struct', fields: [] }, 1)).toThrow('UNSUPPORTED');
  });

  it('void is null, identity the value; result types', () => {
    expect(apply('void', 'string', 'x')).toBeNull();
    expect(apply('identity', 'string', 'x')).toBe('x');
    expect(transformResultType(parseTransform('day'), 'timestamptz')).toBe('date');
    expect(transformResultType(parseTransform('hour'), 'timestamptz')).toBe('int');
    expect(transformResultType(parseTransform('truncate[3]'), 'string')).toBe('string');
  });
});

describe('values in paths, as Java prints them', () => {
  const human = (transform: string, type: PrimitiveType, value: PartitionValue): string =>
    humanText(parseTransform(transform), type, value);
  it('dates and times', () => {
    expect(human('year', 'int', -1)).toBe('1969');
    expect(human('month', 'int', -1)).toBe('1969-12');
    expect(human('month', 'int', 574)).toBe('2017-11');
    expect(human('day', 'date', -1)).toBe('1969-12-31');
    expect(human('hour', 'int', -1)).toBe('1969-12-31-23');
    expect(human('hour', 'int', 419_669)).toBe('2017-11-16-05');
    expect(human('identity', 'date', 19_782)).toBe('2024-02-29');
    expect(human('identity', 'timestamptz', micros('2017-12-01T10:12:55.038194'))).toBe(
      '2017-12-01T10:12:55.038194+00:00',
    );
    expect(human('identity', 'timestamp', micros('2017-12-01T10:12:50'))).toBe('2017-12-01T10:12:50');
    expect(human('identity', 'timestamp', micros('2017-12-01T10:12:50.1'))).toBe('2017-12-01T10:12:50.1');
    expect(human('identity', 'time', 36_775_038_194n)).toBe('10:12:55.038194');
    expect(human('identity', 'time', 36_720_000_000n)).toBe('10:12');
  });
  it('the rest', () => {
    expect(human('identity', 'string', null)).toBe('null');
    expect(human('identity', 'binary', bytes('010203'))).toBe('AQID');
    expect(human('identity', 'decimal(9, 2)', -5n)).toBe('-0.05');
    expect(human('identity', 'decimal(9, 0)', 12n)).toBe('12');
    expect(human('identity', 'boolean', true)).toBe('true');
    expect(human('identity', 'double', 1)).toBe('1.0');
    expect(human('identity', 'uuid', bytes('f79c3e09677c4bbda4793f349cb785e7'))).toBe(
      'f79c3e09-677c-4bbd-a479-3f349cb785e7',
    );
    expect(human('bucket[16]', 'int', 3)).toBe('3');
  });
});
