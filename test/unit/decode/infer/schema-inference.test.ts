import { describe, expect, it } from 'vitest';
import { formatDdl } from '../../../../src/core/schema-text/format-ddl.ts';
import { type InferenceOptions, SchemaInference } from '../../../../src/decode/infer/schema-inference.ts';

const inferenceOf = (documents: readonly string[], options?: InferenceOptions): SchemaInference => {
  const inference = new SchemaInference(options);
  for (const document of documents) inference.addJson(Buffer.from(document));
  return inference;
};
const inferred = (documents: readonly string[], options?: InferenceOptions): string | null => {
  const result = inferenceOf(documents, options).result();
  return result === null ? null : formatDdl(result);
};

describe('inference', () => {
  it.each([
    ['{"a":1}', 'a BIGINT'],
    ['{"a":-0}', 'a BIGINT'],
    ['{"a":9223372036854775807}', 'a BIGINT'],
    ['{"a":-9223372036854775808}', 'a BIGINT'],
    ['{"a":9223372036854775808}', 'a DECIMAL(19,0)'],
    ['{"a":-9223372036854775809}', 'a DECIMAL(19,0)'],
    [`{"a":${'9'.repeat(38)}}`, 'a DECIMAL(38,0)'],
    [`{"a":${'9'.repeat(39)}}`, 'a DOUBLE'],
    ['{"a":1.0}', 'a DOUBLE'],
    ['{"a":1e3}', 'a DOUBLE'],
    ['{"a":1E400}', 'a DOUBLE'],
    ['{"a":true}', 'a BOOLEAN'],
    ['{"a":"x"}', 'a STRING'],
    ['{"a":""}', 'a STRING'],
    ['{"a":"2026-07-14T09:05:06Z"}', 'a STRING'],
    ['{"a":[1,null,2.5]}', 'a ARRAY<DOUBLE>'],
    ['{"a":[[1],["x"]]}', 'a ARRAY<ARRAY<STRING>>'],
    ['{"a":[{"x":1},{"y":2}]}', 'a ARRAY<STRUCT<x: BIGINT, y: BIGINT>>'],
    ['{"b":{"d":1,"c":"x"},"a":1}', 'b STRUCT<d: BIGINT, c: STRING>, a BIGINT'],
    ['{"a":1,"a":"x"}', 'a STRING'],
    ['{"\\u0061\\n":1,"\\u00e9":1,"é b":2}', '`é` BIGINT, `é b` BIGINT'],
    [' { "a" : [ ] , "b" : 1 } ', 'b BIGINT'],
  ])('of %s is %s', (document, ddl) => expect(inferred([document])).toBe(ddl));

  it.each([
    ['1', '2.5', 'DOUBLE'],
    ['1', '9223372036854775808', 'DECIMAL(20,0)'],
    ['9223372036854775808', '1.5', 'DOUBLE'],
    ['9223372036854775808', '99999999999999999999', 'DECIMAL(20,0)'],
    ['1', '"x"', 'STRING'],
    ['1', 'true', 'STRING'],
    ['1', '[1]', 'STRING'],
    ['[1]', '{"x":1}', 'STRING'],
    ['[1]', '["x"]', 'ARRAY<STRING>'],
    ['[1]', '[]', 'ARRAY<BIGINT>'],
    ['1', 'null', 'BIGINT'],
    ['1', '""', 'BIGINT'],
    ['{"x":1}', '""', 'STRUCT<x: BIGINT>'],
    ['{"x":1}', '{}', 'STRUCT<x: BIGINT>'],
    ['{"x":1}', '{"y":true}', 'STRUCT<x: BIGINT, y: BOOLEAN>'],
  ])('of %s and %s is %s, whichever comes first', (one, other, type) => {
    for (const values of [
      [one, other],
      [other, one],
    ])
      expect(
        inferred(values.map((value) => `{"a":${value}}`))?.replace(
          'y: BOOLEAN, x: BIGINT',
          'x: BIGINT, y: BOOLEAN',
        ),
      ).toBe(`a ${type}`);
  });

  it('ignores what tells nothing until something does (case C06)', () => {
    const r1 = '{"id":1,"a":{},"b":[],"c":null,"d":[null],"e":{"f":null}}';
    expect(inferred([r1])).toBe('id BIGINT');
    expect(inferred([r1, '{"id":2,"a":{"x":1},"b":[3],"c":"q"}'])).toBe(
      'id BIGINT, a STRUCT<x: BIGINT>, b ARRAY<BIGINT>, c STRING',
    );
    expect(inferred(['{}', '{"a":null,"b":[[]]}'])).toBeNull();
    expect(inferred([])).toBeNull();
  });

  it('gives ids from 1, and requires nothing', () => {
    expect(inferenceOf(['{"a":{"b":1},"c":[1]}']).result()).toEqual({
      type: 'struct',
      fields: [
        {
          id: 1,
          name: 'a',
          required: false,
          type: { type: 'struct', fields: [{ id: 3, name: 'b', required: false, type: 'long' }] },
        },
        {
          id: 2,
          name: 'c',
          required: false,
          type: { type: 'list', elementId: 4, element: 'long', elementRequired: false },
        },
      ],
    });
  });

  it('takes nothing of what is no JSON object', () => {
    const inference = new SchemaInference();
    const bad = [
      '',
      ' ',
      'null',
      '[{"a":1}]',
      '"a"',
      '1',
      '{"a":1',
      '{"a":1}x',
      '{"a":NaN}',
      '{"a":01}',
      "{'a':1}",
      '{"a":"\\ud800"}',
      '{"a":1,}',
    ];
    for (const text of bad) expect(inference.addJson(Buffer.from(text)), text).toBe(false);
    expect(inference.addJson(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe(false);
    expect(inference.result()).toBeNull();
    expect(inference.report()).toMatchObject({ documents: 0, skipped: bad.length + 1 });
  });

  it('does not follow a text beyond its end', () => {
    const inference = new SchemaInference();
    const block = Buffer.from('{"long":"a text of some length"}');
    inference.addJson(block);
    expect(inference.addJson(block.subarray(0, 9))).toBe(false);
    expect(inference.addJson(Buffer.from('{"a":1}'))).toBe(true);
    expect(formatDdl(inference.result()!)).toBe('long STRING, a BIGINT');
  });

  it('infers timestamps and dates where it is asked to', () => {
    const options = { inferTimestamps: true };
    expect(
      inferred(['{"a":"2026-07-14T09:05:06.5+0530","b":"2026-07-14","c":"2026-07-14 09:05"}'], options),
    ).toBe('a TIMESTAMP, b DATE, c TIMESTAMP');
    expect(inferred(['{"a":"2026-07-14T09:05:06Z"}', '{"a":""}'], options)).toBe('a TIMESTAMP');
    expect(inferred(['{"a":"2026-07-14T09:05:06Z"}', '{"a":"soon"}'], options)).toBe('a STRING');
    expect(inferred(['{"a":"2026-07-14T09:05:06Z"}', '{"a":"2026-07-14"}'], options)).toBe('a STRING');
    expect(inferred(['{"a":"2026-02-30"}', '{"b":"2026-07-14T25:00:00Z"}'], options)).toBe(
      'a STRING, b STRING',
    );
  });

  it('refuses names that can be no columns, and says so', () => {
    const inference = inferenceOf([
      `{"":1,"a":{"\\u0000":1,"x":1},"${'n'.repeat(256)}":1,"${'n'.repeat(255)}":1}`,
    ]);
    expect(formatDdl(inference.result()!)).toBe(`a STRUCT<x: BIGINT>, ${'n'.repeat(255)} BIGINT`);
    expect([...inference.report().refused.keys()]).toEqual(['', 'a.\0', `${'n'.repeat(80)}...`]);
  });

  it('keeps the first of names that differ only in case or meet through a dot', () => {
    const inference = inferenceOf([
      '{"id":1,"ID":2,"a":{"b":1},"a.b":2,"c.d":1,"c":{"D":1},"e":[{"x":1,"X":2}]}',
    ]);
    expect(formatDdl(inference.result()!)).toBe(
      'id BIGINT, a STRUCT<b: BIGINT>, `c.d` BIGINT, e ARRAY<STRUCT<x: BIGINT>>',
    );
    expect([...inference.report().refused.keys()]).toEqual(['ID', 'a.b', 'c.D', 'e.element.X']);
  });

  it('names the places where only the text is left', () =>
    expect(inferenceOf(['{"a":{"b":[1]}}', '{"a":{"b":[true]}}']).report().conflicts).toEqual([
      { path: 'a.b[]', kinds: ['long', 'boolean'] },
    ]));

  it('is bounded, however wide or deep the documents are', () => {
    const wide = inferenceOf(
      Array.from({ length: 50 }, (_, i) => `{${Array.from({ length: 100 }, (_, j) => `"k${i}_${j}":1`)}}`),
    );
    expect(wide.result()?.fields).toHaveLength(1000);
    expect(wide.report().leftOut).toBe(4000);
    const deep = inferenceOf([`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`, '{"b":1}'], { maxDepth: 3 });
    expect(formatDdl(deep.result()!)).toBe('b BIGINT');
    expect(deep.report().tooDeep).toBe(1);
    expect(inferenceOf([`${'['.repeat(600)}1`]).report().skipped).toBe(1);
    expect(inferenceOf([`{"a":${'['.repeat(600)}1${']'.repeat(600)}}`]).report().skipped).toBe(1);
  });

  it('takes time in proportion to a document of very many names, with escapes among them or not', () => {
    const names = Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`);
    expect(inferenceOf([`{${names.join()}}`]).report().leftOut).toBe(59_000);
    expect(
      inferenceOf([`{"plain":1,"e\\u0061":{"plain":2},"t":"\\\\"}`])
        .result()
        ?.fields.map((f) => f.name),
    ).toEqual(['plain', 'ea', 't']);
  });

  it('takes documents whole or not at all, where it is asked to', () => {
    const wide = `{"a":1,${Array.from({ length: 20 }, (_, i) => `"w${i}":{"x":[{"y":1}]}`)}}`;
    const inference = inferenceOf(
      ['{"a":1,"b":{"c":1}}', wide, '{"b":{"d":[{"e":1}]}}', '{"f":1,"g":1}', '{"b":{"h":1}}'],
      {
        maxFields: 6,
        wholeDocuments: true,
      },
    );
    expect(formatDdl(inference.result()!)).toBe(
      'a BIGINT, b STRUCT<c: BIGINT, d: ARRAY<STRUCT<e: BIGINT>>, h: BIGINT>',
    );
    expect(inference.report().leftOut).toBe(62);
  });

  it('tells integers of 32 bits apart where it is asked to', () => {
    const inference = inferenceOf([
      '{"a":2147483647,"b":-2147483648,"c":2147483648,"d":-2147483649,"e":[1,3000000000],"f":[1],"g":1}',
      '{"a":0,"g":0.5}',
    ]);
    const ddl = 'a INT, b INT, c BIGINT, d BIGINT, e ARRAY<BIGINT>, f ARRAY<INT>, g DOUBLE';
    expect(formatDdl(inference.result({ narrowIntegers: true })!)).toBe(ddl);
    expect(formatDdl(inference.result()!)).toBe(ddl.replaceAll(/\bINT/g, 'BIGINT'));
  });

  it('keeps what was seen first where a text does not stand for all, and passes over lists at odds', () => {
    const inference = inferenceOf(
      [
        '{"a":1,"b":{"x":1},"c":["x",1],"d":[{"y":1},{"y":"q"}],"e":null}',
        '{"a":"q","b":[1],"c":[2],"d":[{"y":true}],"e":"q"}',
        '{"a":0.5,"e":1}',
      ],
      { conflicts: 'first' },
    );
    expect(formatDdl(inference.result()!)).toBe(
      'a DOUBLE, b STRUCT<x: BIGINT>, c ARRAY<BIGINT>, d ARRAY<STRUCT<y: BOOLEAN>>, e STRING',
    );
    expect(inference.report().conflicts.map(({ path }) => path)).toEqual(['a', 'b', 'e']);
  });
});
