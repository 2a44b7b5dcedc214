import { describe, expect, it } from 'vitest';
import { decodeJson, decodeValue, listOf, mapOf, structOf } from '../../../support/decode/json-rows.ts';

describe('integers', () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775807', -9223372036854775807n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['999999999', 999999999n],
    ['1000000000', 1000000000n],
    ['4294967296', 4294967296n],
    ['-4294967296', -4294967296n],
    ['123456789012345', 123456789012345n],
    ['1234567890123456', 1234567890123456n],
    ['-1234567890123456789', -1234567890123456789n],
    ['1.0', 1n],
    ['1e3', 1000n],
    ['1.5e1', 15n],
    ['9223372036854775807.0', 9223372036854775807n],
    ['92233720368547758070e-1', 9223372036854775807n],
    ['0e999999999999', 0n],
    ['0.0', 0n],
  ])('reads %s into long', (json, value) => {
    expect(decodeValue('long', json)).toBe(value);
  });

  it.each([
    '9223372036854775808',
    '-9223372036854775809',
    '9223372036854775808e0',
    '18446744073709551616',
    '99999999999999999999999999',
    '1e19',
    '1e999999999999',
    '1.5',
    '1e-1',
    '1e-999999999999',
    '0.000000000000000000000000000001',
  ])('refuses %s for long, never wrapped nor rounded', (json) => {
    expect(decodeValue('long', json)).toBe('OUT_OF_RANGE');
  });

  it('keeps int within 32 bits', () => {
    expect(decodeValue('int', '2147483647')).toBe(2147483647);
    expect(decodeValue('int', '-2147483648')).toBe(-2147483648);
    expect(decodeValue('int', '2.147483647e9')).toBe(2147483647);
    expect(decodeValue('int', '2147483648')).toBe('OUT_OF_RANGE');
    expect(decodeValue('int', '-2147483649')).toBe('OUT_OF_RANGE');
    expect(decodeValue('int', '1.5')).toBe('OUT_OF_RANGE');
  });

  it.each(['"1"', 'true', '[]', '{}'])('takes no %s for a number', (json) => {
    expect(decodeValue('int', json)).toBe('TYPE_MISMATCH');
    expect(decodeValue('long', json)).toBe('TYPE_MISMATCH');
    expect(decodeValue('double', json)).toBe('TYPE_MISMATCH');
    expect(decodeValue('decimal(9, 2)', json)).toBe('TYPE_MISMATCH');
  });

  it('keeps large ids exact and refuses what does not fit (case C01)', () => {
    const { rows, reasons } = decodeJson({ id: 'long', neg: 'long' }, [
      '{"id":9007199254740993,"neg":-9223372036854775807}',
      '{"id":9223372036854775808}',
    ]);
    expect(rows).toEqual([
      [9007199254740993n, -9223372036854775807n],
      [null, null],
    ]);
    expect(reasons).toEqual([null, 'OUT_OF_RANGE']);
  });
});

describe('floating numbers', () => {
  it.each([
    '0.1',
    '1e22',
    '1e23',
    '9007199254740993',
    '0.30000000000000004',
    '1.7976931348623157e308',
    '5e-324',
    '2.2250738585072011e-308',
    '123456789012345678',
    '0.1234567890123456789012345',
    '6.62607015e-34',
    '-1.5',
    '100000000000000000000000',
    '8.41e+21',
    '9.5367431640625e-7',
    '4503599627370497.5',
    '4503599627370496.5',
  ])('reads %s as the nearest double', (json) => {
    expect(decodeValue('double', json)).toBe(Number(json));
  });

  it('keeps the sign of zero', () => {
    expect(Object.is(decodeValue('double', '-0'), -0)).toBe(true);
    expect(Object.is(decodeValue('double', '-0.0e5'), -0)).toBe(true);
  });

  it('refuses NaN, infinities and numbers that are too large; too small ones are zero (case C03)', () => {
    expect(decodeValue('double', 'NaN')).toBe('INVALID_JSON');
    expect(decodeValue('double', '-Infinity')).toBe('INVALID_JSON');
    expect(decodeValue('double', '1e400')).toBe('OUT_OF_RANGE');
    expect(decodeValue('double', '-1e400')).toBe('OUT_OF_RANGE');
    expect(decodeValue('double', '1e-400')).toBe(0);
    expect(decodeValue('double', '"NaN"')).toBe('TYPE_MISMATCH');
  });

  it('rounds float, and refuses what is beyond it', () => {
    expect(decodeValue('float', '0.1')).toBe(Math.fround(0.1));
    expect(decodeValue('float', '3.4028235e38')).toBe(Math.fround(3.4028235e38));
    expect(decodeValue('float', '3.5e38')).toBe('OUT_OF_RANGE');
  });
});

describe('decimals', () => {
  it('are exact up to 38 digits', () => {
    const digits = '12345678901234567890123456789012345678';
    expect(decodeValue('decimal(38, 0)', digits)).toBe(BigInt(digits));
    expect(decodeValue('decimal(38, 38)', `0.${digits}`)).toBe(BigInt(digits));
    expect(decodeValue('decimal(38, 0)', `-${digits}`)).toBe(-BigInt(digits));
    expect(decodeValue('decimal(38, 10)', '0.1')).toBe(1_000_000_000n);
    expect(decodeValue('decimal(38, 0)', `${digits}0`)).toBe('OUT_OF_RANGE');
  });

  it('take exponents and zeros at the end', () => {
    expect(decodeValue('decimal(9, 2)', '1.5')).toBe(150);
    expect(decodeValue('decimal(9, 2)', '1.5000')).toBe(150);
    expect(decodeValue('decimal(9, 2)', '15e-1')).toBe(150);
    expect(decodeValue('decimal(9, 2)', '1e6')).toBe(100_000_000);
    expect(decodeValue('decimal(18, 2)', '-0.01')).toBe(-1n);
    expect(decodeValue('decimal(20, 2)', '-0.01')).toBe(-1n);
    expect(decodeValue('decimal(20, 2)', '0e99999999999')).toBe(0n);
  });

  it('refuse more digits, unless rounding is asked for', () => {
    expect(decodeValue('decimal(5, 2)', '1.005')).toBe('OUT_OF_RANGE');
    expect(decodeValue('decimal(5, 2)', '1000')).toBe('OUT_OF_RANGE');
    expect(decodeValue('decimal(5, 2)', '1e999999999')).toBe('OUT_OF_RANGE');
    expect(decodeValue('decimal(5, 2)', '1e-999999999')).toBe('OUT_OF_RANGE');
    const halfUp = { decimalRounding: 'halfUp' } as const;
    expect(decodeValue('decimal(5, 2)', '1.005', halfUp)).toBe(101);
    expect(decodeValue('decimal(5, 2)', '-1.005', halfUp)).toBe(-101);
    expect(decodeValue('decimal(5, 2)', '1.00499', halfUp)).toBe(100);
    expect(decodeValue('decimal(5, 2)', '0.004999', halfUp)).toBe(0);
    expect(decodeValue('decimal(5, 2)', '0.005', halfUp)).toBe(1);
    expect(decodeValue('decimal(5, 2)', '0.0005', halfUp)).toBe(0);
    expect(decodeValue('decimal(5, 2)', '1e-999999999', halfUp)).toBe(0);
    expect(decodeValue('decimal(5, 2)', '999.994', halfUp)).toBe(99999);
    expect(decodeValue('decimal(5, 2)', '999.995', halfUp)).toBe('OUT_OF_RANGE');
  });
});

describe('strings', () => {
  it('take escapes away', () => {
    expect(decodeValue('string', String.raw`"\"\\\/\b\f\n\r\t"`)).toBe('"\\/\b\f\n\r\t');
    expect(decodeValue('string', String.raw`"\u0041\u00e9\u20AC\ud83d\ude00"`)).toBe('Aé€😀');
    expect(decodeValue('string', String.raw`"\u0000"`)).toBe('\0');
    expect(decodeValue('string', '""')).toBe('');
  });

  it('keep every length and every place of an odd byte', () => {
    const documents: string[] = [];
    const texts: string[] = [];
    for (let length = 0; length < 12; length++) {
      for (let at = 0; at <= length; at++) {
        for (const odd of ['é', '😀', '\n', '"', '\\', '']) {
          texts.push('x'.repeat(at) + odd + 'y'.repeat(length - at));
          documents.push(JSON.stringify({ s: texts.at(-1) }));
        }
      }
    }
    expect(decodeJson({ s: 'string' }, documents).rows).toEqual(texts.map((text) => [text]));
  });

  it('are only made of strings', () => {
    for (const json of ['1', 'true', '{}', '[]']) expect(decodeValue('string', json)).toBe('TYPE_MISMATCH');
  });
});

describe('booleans, uuid, binary, fixed', () => {
  it('take true and false only', () => {
    expect(decodeValue('boolean', 'true')).toBe(true);
    expect(decodeValue('boolean', 'false')).toBe(false);
    for (const json of ['1', '"true"', '0', '[]']) expect(decodeValue('boolean', json)).toBe('TYPE_MISMATCH');
  });

  it('read uuids in either case', () => {
    expect(decodeValue('uuid', '"F81D4fae-7dec-11d0-a765-00a0c91e6bf6"')).toBe(
      'f81d4fae7dec11d0a76500a0c91e6bf6',
    );
    for (const text of ['f81d4fae7dec11d0a76500a0c91e6bf6', 'f81d4fae-7dec-11d0-a765-00a0c91e6bfg', ''])
      expect(decodeValue('uuid', `"${text}"`)).toBe('TYPE_MISMATCH');
  });

  it('read base64, padded or not', () => {
    expect(decodeValue('binary', '"AQID"')).toBe('010203');
    expect(decodeValue('binary', '"AQ=="')).toBe('01');
    expect(decodeValue('binary', '"AQ"')).toBe('01');
    expect(decodeValue('binary', String.raw`"A\/\u002bx"`)).toBe('03ffb1');
    expect(decodeValue('binary', '""')).toBe('');
    for (const text of ['A', 'AQ=', 'A-_x', 'AQ ==', 'AR==', '====', 'é'])
      expect(decodeValue('binary', `"${text}"`)).toBe('TYPE_MISMATCH');
    expect(decodeValue('fixed[3]', '"AQID"')).toBe('010203');
    expect(decodeValue('fixed[3]', '"AQI="')).toBe('OUT_OF_RANGE');
    expect(decodeValue('fixed[3]', '"AQIDBA=="')).toBe('OUT_OF_RANGE');
  });
});

describe('nested values', () => {
  it('read structs, lists and maps in each other', () => {
    const type = structOf({
      l: listOf(structOf({ a: 'int', m: mapOf('string', listOf('long')) })),
      s: 'string',
    });
    const json = '{"l":[{"a":1,"m":{"x":[1,2],"y":[]}},{"m":null},null],"s":"t"}';
    expect(decodeValue(type, json)).toEqual([
      [
        [
          1,
          [
            ['x', [1n, 2n]],
            ['y', []],
          ],
        ],
        [null, null],
        null,
      ],
      't',
    ]);
    expect(decodeValue(type, 'null')).toBe(null);
    expect(decodeValue(type, '[]')).toBe('TYPE_MISMATCH');
    expect(decodeValue(listOf('int'), '{}')).toBe('TYPE_MISMATCH');
    expect(decodeValue(mapOf('string', 'int'), '[]')).toBe('TYPE_MISMATCH');
  });

  it('keep nulls in lists, unless elements are required', () => {
    expect(decodeValue(listOf('int'), '[1,null,2]')).toEqual([1, null, 2]);
    expect(decodeValue(listOf('int', true), '[1,null,2]')).toBe('MISSING_REQUIRED');
    expect(decodeValue(mapOf('string', 'int', true), '{"a":null}')).toBe('MISSING_REQUIRED');
  });

  it('read keys of maps as their type', () => {
    expect(decodeValue(mapOf('int', 'int'), '{"1":2,"-3":4}')).toEqual([
      [1, 2],
      [-3, 4],
    ]);
    expect(decodeValue(mapOf('long', 'int'), '{"9223372036854775807":1}')).toEqual([
      [9223372036854775807n, 1],
    ]);
    expect(decodeValue(mapOf('date', 'int'), '{"1970-01-02":1}')).toEqual([[1, 1]]);
    expect(decodeValue(mapOf('int', 'int'), '{"01":1}')).toBe('TYPE_MISMATCH');
    expect(decodeValue(mapOf('int', 'int'), '{"2147483648":1}')).toBe('OUT_OF_RANGE');
    expect(decodeValue(mapOf('long', 'int'), `{"${'9'.repeat(1000)}":1}`)).toBe('OUT_OF_RANGE');
    expect(decodeValue(mapOf('date', 'int'), '{"1970-02-30":1}')).toBe('BAD_TIMESTAMP');
  });

  it('keep the last of keys that stand twice in a map, few or many, and count them', () => {
    const few = decodeJson({ m: mapOf('string', 'int') }, ['{"m":{"a":1,"b":2,"\\u0061":3}}']);
    expect(few.rows).toEqual([
      [
        [
          ['b', 2],
          ['a', 3],
        ],
      ],
    ]);
    expect(few.decoder.counts.duplicateKeys).toBe(1);
    const keys = Array.from({ length: 5000 }, (_, i) => `k${i % 4000}`);
    const many = decodeJson({ m: mapOf('string', 'int') }, [
      `{"m":{${keys.map((k, i) => `"${k}":${i}`).join(',')}}}`,
      '{"m":{"k":1}}',
    ]);
    const last = new Map(keys.map((k, i) => [k, i]));
    expect(new Map(many.rows[0][0] as [string, number][])).toEqual(last);
    expect((many.rows[0][0] as unknown[]).length).toBe(4000);
    expect(many.decoder.counts.duplicateKeys).toBe(1000);
    expect(many.rows[1]).toEqual([[['k', 1]]]);
  });
});
