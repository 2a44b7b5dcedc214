import { describe, expect, it } from 'vitest';
import type { AvroRecord, AvroSchema } from '../../../../src/decode/avro/avro-schema.ts';
import { canonicalForm } from '../../../../src/decode/avro/canonical-form.ts';
import { parseAvroSchema } from '../../../../src/decode/avro/schema-parser.ts';

const parse = (json: unknown, references: { name: string; schema: string }[] = []): AvroSchema =>
  parseAvroSchema(JSON.stringify(json), references);
const record = (name: string, fields: unknown[], more: object = {}): object => ({
  type: 'record',
  name,
  fields,
  ...more,
});
const fieldOf = (name: string, type: unknown, more: object = {}): object => ({ name, type, ...more });

describe('names', () => {
  it('take the namespace of what encloses them, unless they have a dot or a namespace of their own', () => {
    const schema = parse(
      record(
        'Outer',
        [
          fieldOf('a', { type: 'enum', name: 'Inherits', symbols: ['X'] }),
          fieldOf('b', { type: 'fixed', name: 'Own', namespace: 'other', size: 1 }),
          fieldOf('c', { type: 'fixed', name: 'full.Name', namespace: 'not.looked.at', size: 1 }),
          fieldOf('d', { type: 'fixed', name: 'Bare', namespace: '', size: 1 }),
          fieldOf(
            'e',
            record('full.space.Inner', [fieldOf('f', { type: 'enum', name: 'Deep', symbols: [] })]),
          ),
        ],
        { namespace: 'org.shop' },
      ),
    );
    expect(
      [...canonicalForm(schema).matchAll(/"name":"([\w.]+)","type":"(?:record|enum|fixed)"/g)].map(
        (m) => m[1],
      ),
    ).toEqual([
      'org.shop.Outer',
      'org.shop.Inherits',
      'other.Own',
      'full.Name',
      'Bare',
      'full.space.Inner',
      'full.space.Deep',
    ]);
  });

  it('are referred to within the namespace first, then without any', () => {
    const id = { type: 'fixed', name: 'Id', namespace: '', size: 2 };
    const schema = parse(
      record('n.R', [fieldOf('a', id), fieldOf('b', 'Id'), fieldOf('c', ['null', 'n.R'])]),
    ) as AvroRecord;
    expect(schema.fields[1].schema).toBe(schema.fields[0].schema);
    const own = { type: 'fixed', name: 'Id', size: 3 };
    const both = parse(
      record('n.R', [fieldOf('a', id), fieldOf('b', own), fieldOf('c', 'Id')]),
    ) as AvroRecord;
    expect(both.fields[2].schema).toBe(both.fields[1].schema);
  });

  it('of aliases are relative to the type, and kept', () => {
    const schema = parse(
      record('a.b', [fieldOf('x', 'int', { aliases: ['y'] })], { aliases: ['c', 'x.y'] }),
    ) as AvroRecord;
    expect(schema.aliases).toEqual(['a.c', 'x.y']);
    expect(schema.fields[0].aliases).toEqual(['y']);
  });

  it('may have letters beyond ASCII, as Java takes them', () => {
    expect(parse(record('Größe', [fieldOf('länge', 'int')]))).toMatchObject({ fullName: 'Größe' });
  });

  it('may be those of complex types', () => {
    const schema = parse(
      record('R', [fieldOf('a', record('record', [])), fieldOf('b', { type: 'array', items: 'R' })]),
    );
    expect(schema.kind).toBe('record');
  });
});

describe('references', () => {
  const address = {
    name: 'Address',
    schema: JSON.stringify(record('geo.Address', [fieldOf('street', 'string')])),
  };
  const customer = {
    name: 'Customer',
    schema: JSON.stringify(record('Customer', [fieldOf('home', 'geo.Address')])),
  };

  it('define their types for those that come after', () => {
    const schema = parse(record('Order', [fieldOf('by', 'Customer'), fieldOf('to', 'geo.Address')]), [
      address,
      customer,
    ]);
    const [by, to] = (schema as AvroRecord).fields.map((f) => f.schema);
    expect((by as AvroRecord).fields[0].schema).toBe(to);
  });

  it('may bring the same definition twice, but not two of one name', () => {
    const again = {
      name: 'Again',
      schema: JSON.stringify(record('Pair', [fieldOf('a', JSON.parse(address.schema))])),
    };
    expect(parse(record('Order', [fieldOf('a', 'Pair')]), [address, again])).toMatchObject({
      fullName: 'Order',
    });
    const other = {
      name: 'Other',
      schema: JSON.stringify(record('geo.Address', [fieldOf('street', 'int')])),
    };
    expect(() => parse('geo.Address', [address, other])).toThrow(
      /reference Other: .*geo\.Address is defined in two ways/,
    );
  });

  it('that are missing are named with the path', () => {
    expect(() => parse(record('Order', [fieldOf('to', ['null', 'geo.Address'])]))).toThrow(
      'to: the type "geo.Address" is not defined before it is used',
    );
    expect(() => parse('int', [{ name: 'Broken', schema: '{' }])).toThrow(/reference Broken: no JSON/);
  });
});

describe('logical types', () => {
  const logical = (type: object): unknown => (parse(type) as { logical: unknown }).logical;

  it('are read where they are valid', () => {
    expect(logical({ type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 })).toEqual({
      name: 'decimal',
      precision: 9,
      scale: 2,
    });
    expect(logical({ type: 'bytes', logicalType: 'decimal', precision: 4 })).toMatchObject({ scale: 0 });
    expect(
      logical({ type: 'fixed', name: 'F', size: 2, logicalType: 'decimal', precision: 4 }),
    ).toMatchObject({
      precision: 4,
    });
    expect(logical({ type: 'int', logicalType: 'time-millis' })).toEqual({ name: 'time', unit: 'millis' });
    expect(logical({ type: 'long', logicalType: 'local-timestamp-nanos' })).toEqual({
      name: 'local-timestamp',
      unit: 'nanos',
    });
    expect(logical({ type: 'fixed', name: 'F', size: 16, logicalType: 'uuid' })).toEqual({ name: 'uuid' });
    expect(logical({ type: 'fixed', name: 'F', size: 12, logicalType: 'duration' })).toEqual({
      name: 'duration',
    });
  });

  it.each([
    { type: 'bytes', logicalType: 'decimal', precision: 2, scale: 3 },
    { type: 'bytes', logicalType: 'decimal', precision: 0 },
    { type: 'bytes', logicalType: 'decimal', precision: '9' },
    { type: 'bytes', logicalType: 'decimal' },
    { type: 'bytes', logicalType: 'big-decimal' },
    { type: 'fixed', name: 'F', size: 2, logicalType: 'decimal', precision: 5 },
    { type: 'fixed', name: 'F', size: 12, logicalType: 'uuid' },
    { type: 'fixed', name: 'F', size: 16, logicalType: 'duration' },
    { type: 'long', logicalType: 'date' },
    { type: 'int', logicalType: 'timestamp-millis' },
    { type: 'string', logicalType: 'no-such-type' },
    { type: 'long', logicalType: 7 },
  ])('that are not valid count as none: %j', (type) => {
    expect(logical(type)).toBeNull();
  });

  it('beside the type of a field are none (case C10)', () => {
    const schema = parse(
      record('R', [fieldOf('at', 'long', { logicalType: 'timestamp-millis' })]),
    ) as AvroRecord;
    expect(schema.fields[0].schema).toEqual({ kind: 'long', logical: null });
  });
});

describe('what is no schema is refused with its place', () => {
  it.each<[unknown, string]>([
    [7, '7 is no type'],
    [null, 'null is no type'],
    [{}, 'an object without a type name'],
    [{ type: { type: 'int' } }, 'an object without a type name'],
    ['Nowhere', 'the type "Nowhere" is not defined'],
    [[], 'a union of nothing'],
    [['int', 'int'], 'a union holds int twice'],
    [['int', ['null']], 'a union directly within a union'],
    [
      [
        { type: 'map', values: 'int' },
        { type: 'map', values: 'long' },
      ],
      'a union holds map twice',
    ],
    [{ type: 'array' }, 'nothing is no type'],
    [{ type: 'record', name: 'R' }, 'record R has no fields'],
    [{ type: 'record', fields: [] }, 'a named type without a name'],
    [record('R', [fieldOf('a', 'int'), fieldOf('a', 'int')]), 'two fields are called a'],
    [record('R', [fieldOf('a-b', 'int')]), '"a-b" is no name'],
    [record('R', [fieldOf('', 'int')]), '"" is no name'],
    [record('R', ['a']), '"a" is no field'],
    [record('a..b', []), '"" is no name'],
    [record('int', []), 'may not be called int'],
    [record('R', [fieldOf('a', record('R', []))]), 'a: the type R is defined twice'],
    [{ type: 'enum', name: 'E', symbols: ['A', 'A'] }, 'enum E has a symbol twice'],
    [{ type: 'enum', name: 'E', symbols: 'A' }, 'symbols is no list of texts'],
    [{ type: 'enum', name: 'E' }, 'symbols is no list of texts'],
    [
      { type: 'enum', name: 'E', symbols: ['A'], default: 'B' },
      'the default of enum E is none of its symbols',
    ],
    [{ type: 'fixed', name: 'F', size: -1 }, 'fixed F has no size'],
    [{ type: 'fixed', name: 'F', size: 2 ** 31 }, 'fixed F has no size'],
    [{ type: 'fixed', name: 'F', size: '4' }, 'fixed F has no size'],
    [
      record('R', [fieldOf('a', record('S', [fieldOf('b', { type: 'array', items: 9 })]))]),
      'a.b: 9 is no type',
    ],
  ])('%j', (json, message) => {
    expect(() => parse(json)).toThrow(message);
  });

  it('also where it is no JSON', () => {
    expect(() => parseAvroSchema('{"type": "int"')).toThrow(/no JSON/);
    expect(() => parseAvroSchema('')).toThrow(/no JSON/);
  });
});

describe('hostile schemas are refused, quickly and without a crash', () => {
  it('by their brackets', () => {
    expect(() => parseAvroSchema('['.repeat(1_000_000))).toThrow(/nested deeper/);
    expect(() => parseAvroSchema('{"type":'.repeat(500_000))).toThrow(/nested deeper/);
    expect(() => parseAvroSchema(`"${'['.repeat(10_000)}"`)).toThrow(/not defined/);
  });

  it('by types within types, also where references make them', () => {
    const nest = (levels: number): unknown =>
      levels === 0 ? 'int' : { type: 'array', items: nest(levels - 1) };
    expect(parse(nest(90)).kind).toBe('array');
    expect(() => parse(nest(110))).toThrow(/nested deeper than 100 types/);
    const chain = Array.from({ length: 200 }, (_, i) =>
      fieldOf(`f${i}`, record(`R${i}`, i === 0 ? [] : [fieldOf('a', `R${i - 1}`)])),
    );
    expect(() => parse(record('Top', chain))).toThrow(/nested deeper than 100 types/);
  });

  it('by their size and their count', () => {
    expect(() => parseAvroSchema(`"${' '.repeat(4 * 1024 * 1024)}"`)).toThrow(/characters/);
    const fields = Array.from({ length: 60_000 }, (_, i) => fieldOf(`f${i}`, 'int'));
    expect(() => parse(record('R', fields))).toThrow(/more than 50000 types/);
  });

  it('keeps names of Object.prototype as names', () => {
    const schema = parse(record('constructor', [fieldOf('__proto__', 'int'), fieldOf('toString', 'int')]));
    expect((schema as AvroRecord).fields.map((f) => f.name)).toEqual(['__proto__', 'toString']);
    expect(() => parse('hasOwnProperty')).toThrow(/not defined/);
  });
});
