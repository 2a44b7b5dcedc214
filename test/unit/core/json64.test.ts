import { describe, expect, it } from 'vitest';
import {
  floatingJson,
  parseFaithfulJson64,
  parseJson64,
  plainNumber,
  stringifyJson64,
} from '../../../src/core/json64.ts';

const NUMBERS = [
  '0',
  '-1',
  '9007199254740991',
  '9007199254740993',
  '-9223372036854775808',
  '99999999999999999999999',
  '1.5',
  '1.0',
  '-0',
  '-0.0',
  '1.0E20',
  '1e+20',
  '100000000000000000000.0',
  '0.10',
  '5e-324',
  '1e400',
];

describe('numbers of documents that are written back', () => {
  it.each(NUMBERS)('%s is written as it came', (text) => {
    const document = `{"a":[${text},{"b":${text}}],"c":"${text}"}`;
    expect(stringifyJson64(parseFaithfulJson64(document))).toBe(document);
  });

  it.each(NUMBERS)('%s is the number that parseJson64 gives', (text) => {
    const plain = parseJson64(text);
    expect(plainNumber(parseFaithfulJson64(text))).toBe(plain);
    expect(typeof plain).toBe(/^-?\d{16,}$/.test(text) && text !== '9007199254740991' ? 'bigint' : 'number');
  });

  it('what is no number stays', () => {
    for (const value of [null, true, 'x', undefined, 7n]) expect(plainNumber(value)).toBe(value);
  });
});

it.each([
  [1, '1.0'],
  [-0, '-0.0'],
  [0, '0.0'],
  [1e20, '100000000000000000000.0'],
  [-1e21, '-1e+21'],
  [1.5, '1.5'],
  [5e-324, '5e-324'],
])('the double %d is written as %s', (value, text) => {
  expect(stringifyJson64(floatingJson(value))).toBe(text);
  expect(JSON.parse(text)).toBe(value);
});
