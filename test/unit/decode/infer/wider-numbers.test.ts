import { describe, expect, it } from 'vitest';
import { formatDdl } from '../../../../src/core/schema-text/format-ddl.ts';
import { parseSchemaText } from '../../../../src/core/schema-text/parse-schema-text.ts';
import { WiderNumbers, type WiderNumbersOptions } from '../../../../src/decode/infer/wider-numbers.ts';

function wider(schema: string, documents: readonly string[], options: Partial<WiderNumbersOptions> = {}) {
  const numbers = new WiderNumbers(parseSchemaText(schema).fields, {
    rounding: 'refuse',
    caseInsensitive: false,
    ...options,
  });
  for (const document of documents) numbers.addJson(Buffer.from(document));
  const result = numbers.result();
  return result === null ? null : formatDdl(result);
}

describe('WiderNumbers', () => {
  const D = 'd DECIMAL(5,2)';
  it.each([
    [D, ['{"d":999.99}', '{"d":-999.99}', '{"d":0}', '{"d":null}', '{}'], null],
    [D, ['{"d":1000}'], 'd DECIMAL(6,2)'],
    [D, ['{"d":-1000.00}', '{"d":12345.6}'], 'd DECIMAL(7,2)'],
    [D, ['{"d":1e3}', '{"d":100000e-2}'], 'd DECIMAL(6,2)'],
    [D, [`{"d":${'9'.repeat(36)}.99}`], 'd DECIMAL(38,2)'],
    [D, [`{"d":1${'0'.repeat(36)}}`], null],
    [D, ['{"d":1e999999999999}', '{"d":1e-999999999}'], null],
    [D, ['{"d":1000.001}'], null],
    [D, ['{"d":"1000"}', '{"d":[1000]}', '{"d":{"d":1000}}', '{"d":true}', '{"d":1000', '[1000]', '5'], null],
    [D, ['{"d":1000,"d":1}'], null],
    [D, ['{"D":1000,"__proto__":{"d":1000}}'], null],
    ['f FLOAT', ['{"f":3.4028234e38}', '{"f":1e400}', '{"f":0.1}'], null],
    ['f FLOAT, g DOUBLE', ['{"f":-1e39,"g":1e300}'], 'f DOUBLE'],
    ['i INT, s STRING, l BIGINT', ['{"i":"x","s":1,"l":1e30}', '{"i":3e9}'], 'i BIGINT'],
    ['i INT', ['{"i":-2147483648}', '{"i":2147483647.0}', '{"i":1.5}', '{"i":9223372036854775808}'], null],
    ['i INT', ['{"i":2147483648}'], 'i BIGINT'],
    ['i INT', ['{"i":-9223372036854775808}'], 'i BIGINT'],
    [
      'a STRUCT<x: INT NOT NULL, y: DECIMAL(3,1) NOT NULL> NOT NULL, l ARRAY<FLOAT>, m MAP<STRING, DECIMAL(3,1)>',
      ['{"a":{"y":123.5},"l":[1,1e39]}', '{"m":{"k":1,"toString":9999.5}}'],
      'a STRUCT<y: DECIMAL(4,1) NOT NULL> NOT NULL, l ARRAY<DOUBLE>, m MAP<STRING, DECIMAL(5,1)>',
    ],
  ] as const)('of %s, %j', (schema, documents, expected) => expect(wider(schema, documents)).toBe(expected));

  it('rounds where the decoder does', () => {
    expect(wider(D, ['{"d":1000.001}'], { rounding: 'halfUp' })).toBe('d DECIMAL(6,2)');
    expect(wider(D, ['{"d":999.995}'], { rounding: 'halfUp' })).toBe('d DECIMAL(6,2)');
  });

  it('takes names without regard to case where the decoder does', () =>
    expect(wider('Dd DECIMAL(5,2)', ['{"dD":1000}'], { caseInsensitive: true })).toBe('Dd DECIMAL(6,2)'));

  it('looks at no document of more than a MiB', () => {
    const space = ' '.repeat(1024 * 1024);
    expect(wider(D, [`{"d":1000${space}}`])).toBeNull();
  });
});
