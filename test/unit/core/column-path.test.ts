import { describe, expect, it } from 'vitest';
import { columnOfPath, optionalColumn } from '../../../src/core/column-path.ts';
import type { StructType } from '../../../src/core/schema.ts';
import { formatDdl } from '../../../src/core/schema-text/format-ddl.ts';
import { parseSchemaText } from '../../../src/core/schema-text/parse-schema-text.ts';

const SCHEMA = parseSchemaText(
  [
    'a INT NOT NULL',
    '`a.b` INT NOT NULL',
    's STRUCT<a: INT NOT NULL, `x[0]`: INT NOT NULL>',
    'l ARRAY<ARRAY<STRUCT<a: INT NOT NULL>>>',
    'm MAP<STRING, INT>',
    'n MAP<STRING, STRUCT<a: INT NOT NULL, l: ARRAY<INT>>>',
  ].join(', '),
);
const required: StructType = {
  type: 'struct',
  fields: [
    {
      id: 1,
      name: 'l',
      required: true,
      type: { type: 'list', elementId: 2, element: 'int', elementRequired: true },
    },
    {
      id: 3,
      name: 'm',
      required: true,
      type: { type: 'map', keyId: 4, key: 'string', valueId: 5, value: 'int', valueRequired: true },
    },
  ],
};

describe('columnOfPath', () => {
  it.each([
    ['a', ['a']],
    ['a.b', ['a.b']],
    ['a.c', undefined],
    ['', undefined],
    ['z', undefined],
    ['s.a', ['s', 'a']],
    ['s.x[0]', ['s', 'x[0]']],
    ['s.b', undefined],
    ['s[0]', undefined],
    ['l', ['l']],
    ['l[3]', ['l', 'element']],
    ['l[0][12]', ['l', 'element', 'element']],
    ['l[0][12].a', ['l', 'element', 'element', 'a']],
    ['l.a', undefined],
    ['m.key', ['m', 'value']],
    ['m.a key. with [dots]', ['m', 'value']],
    ['m[3]', ['m', 'value']],
    ['n.k', ['n', 'value']],
    ['n.k.a', ['n', 'value', 'a']],
    ['n.k.k.l[1]', ['n', 'value', 'l', 'element']],
    ['n[0].a', ['n', 'value', 'a']],
  ])('of %s is %j', (path, steps) => expect(columnOfPath(SCHEMA.fields, path)).toEqual(steps));
});

describe('optionalColumn', () => {
  it('asks for nothing but that column', () => {
    const ddl = (...steps: string[]) => formatDdl(optionalColumn(SCHEMA, steps)!);
    expect(ddl('a.b')).toBe('`a.b` INT');
    expect(ddl('s', 'a')).toBe('s STRUCT<a: INT>');
    expect(ddl('l', 'element', 'element', 'a')).toBe('l ARRAY<ARRAY<STRUCT<a: INT>>>');
    expect(ddl('n', 'value', 'a')).toBe('n MAP<STRING, STRUCT<a: INT>>');
  });

  it('makes elements and values optional where they are meant, and what holds them not', () => {
    const [list, map] = required.fields;
    const { type: listType } = list as unknown as { type: object };
    const { type: mapType } = map as unknown as { type: object };
    expect(optionalColumn(required, ['l', 'element'])?.fields).toEqual([
      { ...list, type: { ...listType, elementRequired: false } },
    ]);
    expect(optionalColumn(required, ['m', 'value'])?.fields).toEqual([
      { ...map, type: { ...mapType, valueRequired: false } },
    ]);
    expect(optionalColumn(required, ['l'])?.fields).toEqual([{ ...list, required: false }]);
  });

  it('is nothing where there is no such column', () => {
    for (const steps of [['z'], ['a', 'b'], ['l', 'value'], ['m', 'element'], ['s', 'z']])
      expect(optionalColumn(SCHEMA, steps)).toBeUndefined();
  });
});
