import { describe, expect, it } from 'vitest';
import type { IcebergType } from '../../../../src/core/schema.ts';
import { jsonSchemaToIceberg } from '../../../../src/decode/json-schema/json-schema-to-iceberg.ts';

function shown(type: IcebergType): string {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return `list<${shown(type.element)}${type.elementRequired ? '!' : ''}>`;
  if (type.type === 'map')
    return `map<${shown(type.key)}, ${shown(type.value)}${type.valueRequired ? '!' : ''}>`;
  return `struct<${type.fields.map((f) => `${f.name}${f.required ? '!' : ''}: ${shown(f.type)}`).join(', ')}>`;
}

const columns = (schema: unknown, references: [string, unknown][] = []): string =>
  shown(
    jsonSchemaToIceberg(
      JSON.stringify(schema),
      references.map(([name, each]) => ({ name, schema: JSON.stringify(each) })),
    ),
  );
/** The type of the one property `x`. */
const of = (x: unknown, rest: object = {}): string =>
  /^struct<x: (.*)>$/.exec(columns({ type: 'object', properties: { x }, ...rest }))?.[1] ?? 'none';

describe('the columns of a JSON Schema', () => {
  it.each([
    [{ type: 'integer' }, 'long'],
    [{ type: 'number' }, 'double'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'date-time' }, 'timestamptz'],
    [{ type: 'string', format: 'date' }, 'date'],
    [{ type: 'string', format: 'uuid' }, 'uuid'],
    [{ type: 'string', format: 'email' }, 'string'],
    [{ enum: ['a', 'b'] }, 'string'],
    [{ const: 5 }, 'long'],
    [{ enum: [1, 1.5, null] }, 'double'],
    [{ type: ['null', 'integer'] }, 'long'],
    [{ type: ['integer', 'number'] }, 'double'],
    [{ oneOf: [{ type: 'null' }, { type: 'string' }] }, 'string'],
    [
      {
        anyOf: [
          { type: 'string', format: 'uuid' },
          { type: 'string', format: 'date' },
        ],
      },
      'string',
    ],
    [{ type: 'array', items: { type: 'integer' } }, 'list<long!>'],
    [{ type: 'array', items: { type: ['integer', 'null'] } }, 'list<long>'],
    [{ items: { enum: ['a'] } }, 'list<string!>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'map<string, double!>'],
    [{ additionalProperties: { oneOf: [{ type: 'null' }, { type: 'number' }] } }, 'map<string, double>'],
    [
      { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: true },
      'struct<a: long>',
    ],
    [{ properties: { a: { type: 'null' }, b: { type: 'string' }, c: false } }, 'struct<b: string>'],
    [{ type: 'string', minLength: 1, anyOf: [{ pattern: 'a' }, { maxLength: 3 }] }, 'string'],
  ])('%j is %s', (schema, type) => {
    expect(of({ ...schema })).toBe(type);
  });

  it('are required where the property is and takes no null', () => {
    const properties = {
      a: { type: 'string' },
      b: { type: ['string', 'null'] },
      c: { type: 'string' },
      d: { type: 'string', nullable: true },
    };
    expect(columns({ type: 'object', properties, required: ['a', 'b', 'd'] })).toBe(
      'struct<a!: string, b: string, c: string, d: string>',
    );
  });

  it('have ids level by level', () => {
    const schema = { properties: { a: { properties: { c: { type: 'string' } } }, b: { type: 'string' } } };
    expect(jsonSchemaToIceberg(JSON.stringify(schema))).toMatchObject({
      fields: [{ id: 1, type: { fields: [{ id: 3 }] } }, { id: 2 }],
    });
  });

  it('are put together of allOf; of oneOf and anyOf, where not all have a property it is optional', () => {
    const base = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    const a = { properties: { kind: { const: 'a' }, x: { type: 'integer' } }, required: ['kind', 'x'] };
    const b = {
      properties: { kind: { const: 'b' }, x: { type: 'number' }, y: { type: 'string' } },
      required: ['kind', 'y'],
    };
    expect(columns({ type: 'object', allOf: [base, a] })).toBe('struct<id!: long, kind!: string, x!: long>');
    expect(columns({ type: 'object', oneOf: [a, b] })).toBe('struct<kind!: string, x: double, y: string>');
    expect(columns({ ...base, anyOf: [a, b, { required: ['id'] }] })).toBe(
      'struct<kind!: string, x: double, y: string, id!: long>',
    );
  });
});

describe('references', () => {
  const money = {
    $id: 'http://example.com/money.json',
    type: 'object',
    properties: { units: { type: 'integer' } },
    definitions: { C: { type: 'string' } },
  };

  it('lead within the schema: by pointer, anchor, definitions of any draft', () => {
    const definitions = {
      'a/b~c d': { type: 'integer' },
      A: { $anchor: 'here', type: 'boolean' },
      B: { $ref: '#/definitions/A' },
    };
    expect(of({ $ref: '#/definitions/a~1b~0c%20d' }, { definitions })).toBe('long');
    expect(of({ $ref: '#here' }, { definitions })).toBe('boolean');
    expect(of({ $ref: '#/definitions/B' }, { definitions })).toBe('boolean');
    expect(of({ $ref: '#/$defs/A' }, { $defs: definitions })).toBe('boolean');
    expect(of({ oneOf: [{ type: 'null' }, { $ref: '#/definitions/A' }] }, { definitions })).toBe('boolean');
  });

  it('lead to those of the registry: by name, by $id, relative to it, into their definitions', () => {
    const struct = 'struct<units: long>';
    expect(
      columns({ properties: { x: { $ref: 'money.json' } } }, [['money.json', { ...money, $id: undefined }]]),
    ).toContain(struct);
    expect(
      columns({ properties: { x: { $ref: 'http://example.com/money.json' } } }, [['any', money]]),
    ).toContain(struct);
    const relative = {
      $id: 'http://example.com/order.json',
      properties: { x: { $ref: 'money.json' }, y: { $ref: 'money.json#/definitions/C' } },
    };
    expect(columns(relative, [['http://example.com/money.json', money]])).toBe(
      `struct<x: ${struct}, y: string>`,
    );
    expect(columns(relative, [['money.json', { ...money, $id: undefined }]])).toBe(
      `struct<x: ${struct}, y: string>`,
    );
  });

  it('within a reference lead within that', () => {
    const other = { properties: { c: { $ref: '#/definitions/C' } }, definitions: { C: { type: 'integer' } } };
    const schema = { properties: { x: { $ref: 'other.json' } }, definitions: { C: { type: 'string' } } };
    expect(columns(schema, [['other.json', other]])).toBe('struct<x: struct<c: long>>');
  });

  it.each([
    'https://example.com/x.json',
    'file:///etc/x.json',
    '/etc/x.json',
    'http://127.0.0.1:1/a#/b',
    'other.json',
  ])('are not followed elsewhere: %s', (ref) => {
    expect(() => columns({ properties: { x: { $ref: ref } } })).toThrow(
      `REGISTRY_SCHEMA: the JSON Schema makes no table: $ref "${ref}" leads out of the schema, and is no reference of it in the registry; remote and file references are not followed`,
    );
  });
});

describe('what makes no table', () => {
  const deep = Array.from({ length: 40 }).reduce<Record<string, unknown>>(
    (defs, _, i) =>
      Object.assign(defs, {
        [`L${i}`]: { allOf: [{ $ref: `#/$defs/L${i + 1}` }, { $ref: `#/$defs/L${i + 1}` }] },
      }),
    { L40: { type: 'string' } },
  );
  const wide = Array.from({ length: 20 }).reduce<Record<string, unknown>>(
    (defs, _, i) =>
      Object.assign(defs, {
        [`L${i}`]: { properties: { a: { $ref: `#/$defs/L${i + 1}` }, b: { $ref: `#/$defs/L${i + 1}` } } },
      }),
    { L20: { type: 'string' } },
  );
  it.each([
    [
      { properties: { a: { properties: { b: { $ref: '#' } } } } },
      'it holds itself; a table has no type for it, at a.b',
    ],
    [
      { properties: { a: { items: { $ref: '#/properties/a' } } } },
      'it holds itself; a table has no type for it, at a.element',
    ],
    [{ properties: { a: { $ref: '#/nowhere' } } }, '$ref "#/nowhere" leads to no schema, at a'],
    [
      { properties: { a: { type: ['string', 'integer'] } } },
      'type takes values of several types (string and long), at a',
    ],
    [
      { properties: { a: { oneOf: [{ type: 'string' }, { properties: { b: { type: 'string' } } }] } } },
      'oneOf takes values of several types',
    ],
    [{ properties: { a: {} } }, 'it does not say a type, at a'],
    [{ properties: { a: true } }, 'any value fits it'],
    [{ properties: { a: { type: 'object' } } }, 'its object has neither properties nor'],
    [{ properties: { a: { type: 'array' } } }, 'its array has no one schema in items'],
    [
      { properties: { a: { type: 'array', items: [{ type: 'string' }] } } },
      'its array has no one schema in items',
    ],
    [{ properties: { a: { type: 'thing' } } }, 'there is no type "thing"'],
    [{ properties: { a: 5 } }, 'neither an object nor true or false'],
    [{ type: 'string' }, 'an object with properties is expected at its root'],
    [{ $ref: '#/$defs/L0', $defs: deep }, 'more than 100000 schemas lead to one another'],
    [{ $ref: '#/$defs/L0', $defs: wide }, 'more than 10000 columns'],
    [[], 'it is no JSON Schema'],
    [null, 'it is no JSON Schema'],
  ])('schema %#', (schema, what) => {
    expect(() => columns(schema)).toThrow('REGISTRY_SCHEMA: the JSON Schema makes no table: ');
    expect(() => columns(schema)).toThrow(what);
  });

  it('text that is no JSON', () => {
    expect(() => jsonSchemaToIceberg('{"type":')).toThrow('it is no JSON');
    expect(() => jsonSchemaToIceberg('['.repeat(1_000_000))).toThrow('REGISTRY_SCHEMA');
  });
});
