import { describe, expect, it } from 'vitest';
import { walkFields } from '../../../../src/core/schema.ts';
import { type AvroTypeOptions, avroToIceberg } from '../../../../src/decode/avro/avro-to-iceberg.ts';
import { type ErrorCode, isSluiceError } from '../../../../src/errors.ts';
import { avroRecord } from '../../../support/avro.ts';

/** The type of one field, and whether it is required. */
function columnOf(type: unknown, options?: AvroTypeOptions): unknown {
  const [field] = avroToIceberg(avroRecord('R', { a: type }), [], options).fields;
  return [field.type, field.required ? 'required' : 'optional'];
}

describe('the column of', () => {
  it.each<[unknown, unknown]>([
    ['boolean', 'boolean'],
    ['int', 'int'],
    ['long', 'long'],
    ['float', 'float'],
    ['double', 'double'],
    ['bytes', 'binary'],
    ['string', 'string'],
    [{ type: 'enum', name: 'E', symbols: ['A'] }, 'string'],
    [{ type: 'fixed', name: 'F', size: 7 }, 'fixed[7]'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }, 'decimal(9, 2)'],
    [{ type: 'fixed', name: 'F', size: 16, logicalType: 'decimal', precision: 38 }, 'decimal(38, 0)'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 2, scale: 3 }, 'binary'],
    [{ type: 'int', logicalType: 'date' }, 'date'],
    [{ type: 'int', logicalType: 'time-millis' }, 'time'],
    [{ type: 'long', logicalType: 'time-micros' }, 'time'],
    [{ type: 'long', logicalType: 'timestamp-millis' }, 'timestamptz'],
    [{ type: 'long', logicalType: 'timestamp-micros' }, 'timestamptz'],
    [{ type: 'long', logicalType: 'timestamp-nanos' }, 'timestamptz'],
    [{ type: 'long', logicalType: 'local-timestamp-millis' }, 'timestamp'],
    [{ type: 'long', logicalType: 'local-timestamp-nanos' }, 'timestamp'],
    [{ type: 'string', logicalType: 'uuid' }, 'uuid'],
    [{ type: 'fixed', name: 'F', size: 16, logicalType: 'uuid' }, 'uuid'],
    [{ type: 'fixed', name: 'F', size: 12, logicalType: 'duration' }, 'fixed[12]'],
    [{ type: 'string', logicalType: 'unheard-of' }, 'string'],
  ])('%j is %s', (type, expected) => {
    expect(columnOf(type)).toEqual([expected, 'required']);
    expect(columnOf(['null', type])).toEqual([expected, 'optional']);
    expect(columnOf([type, 'null'])).toEqual([expected, 'optional']);
    expect(columnOf([type])).toEqual([expected, 'required']);
    expect(columnOf(type, { optional: true })).toEqual([expected, 'optional']);
  });

  it('nanoseconds keeps them where the table can', () => {
    const nanos = { nanos: true };
    expect(columnOf({ type: 'long', logicalType: 'timestamp-nanos' }, nanos)).toEqual([
      'timestamptz_ns',
      'required',
    ]);
    expect(columnOf({ type: 'long', logicalType: 'local-timestamp-nanos' }, nanos)).toEqual([
      'timestamp_ns',
      'required',
    ]);
    expect(columnOf({ type: 'long', logicalType: 'timestamp-micros' }, nanos)).toEqual([
      'timestamptz',
      'required',
    ]);
  });

  it('a logical type beside the type is that of the raw type (case C10)', () => {
    const schema = JSON.stringify({
      type: 'record',
      name: 'R',
      fields: [
        { name: 'a', type: 'long', logicalType: 'timestamp-millis' },
        { name: 'b', type: { type: 'long', logicalType: 'timestamp-millis' } },
      ],
    });
    expect(avroToIceberg(schema).fields.map((f) => f.type)).toEqual(['long', 'timestamptz']);
  });
});

describe('nested types', () => {
  it('become structs, lists and maps, with ids as Iceberg gives them', () => {
    const schema = avroRecord('R', {
      id: 'long',
      tags: { type: 'array', items: ['null', 'string'] },
      by: { type: 'map', values: { type: 'record', name: 'P', fields: [{ name: 'x', type: 'int' }] } },
      inner: ['null', { type: 'record', name: 'I', fields: [{ name: 'y', type: 'string' }] }],
    });
    const type = avroToIceberg(schema);
    expect(type.fields).toEqual([
      { id: 1, name: 'id', required: true, type: 'long' },
      {
        id: 2,
        name: 'tags',
        required: true,
        type: { type: 'list', elementId: 5, element: 'string', elementRequired: false },
      },
      {
        id: 3,
        name: 'by',
        required: true,
        type: {
          type: 'map',
          keyId: 6,
          key: 'string',
          valueId: 7,
          value: { type: 'struct', fields: [{ id: 8, name: 'x', required: true, type: 'int' }] },
          valueRequired: true,
        },
      },
      {
        id: 4,
        name: 'inner',
        required: false,
        type: { type: 'struct', fields: [{ id: 9, name: 'y', required: true, type: 'string' }] },
      },
    ]);
    const ids = [...walkFields(type)].map((f) => f.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('of unions with several types are structs of members, as Spark has them', () => {
    const struct = (...types: string[]): unknown => ({
      type: 'struct',
      fields: types.map((type, i) => ({ id: 2 + i, name: `member${i}`, required: false, type })),
    });
    expect(columnOf(['string', 'null', 'int', 'boolean'])).toEqual([
      struct('string', 'int', 'boolean'),
      'optional',
    ]);
    expect(columnOf(['int', 'string'])).toEqual([struct('int', 'string'), 'required']);
    expect(columnOf(['int', 'long', 'float'])).toEqual([struct('int', 'long', 'float'), 'required']);
    expect(columnOf(['int', 'long'])).toEqual(['long', 'required']);
    expect(columnOf(['null', 'long', 'int'])).toEqual(['long', 'optional']);
    expect(columnOf(['float', 'double'])).toEqual(['double', 'required']);
  });

  it('that can only be null have no column', () => {
    const empty = { type: 'record', name: 'Empty', fields: [] };
    const schema = avroRecord('R', {
      a: 'null',
      b: { type: 'array', items: 'null' },
      c: empty,
      d: ['null'],
      e: 'int',
    });
    expect(avroToIceberg(schema).fields.map((f) => f.name)).toEqual(['e']);
    expect(() => avroToIceberg(avroRecord('R', { a: 'null' }))).toThrow(/no field that is more than null/);
  });
});

describe('a schema that is no record', () => {
  it('is one column', () => {
    expect(avroToIceberg('"string"').fields).toEqual([
      { id: 1, name: 'value', required: true, type: 'string' },
    ]);
    expect(avroToIceberg('["null","long"]', [], { rootName: 'key' }).fields).toEqual([
      { id: 1, name: 'key', required: false, type: 'long' },
    ]);
  });

  it('but a union of records is a struct of them at the top', () => {
    const references = ['A', 'B'].map((name) => ({ name, schema: avroRecord(name, { x: 'int' }) }));
    expect(avroToIceberg('["A","B"]', references).fields.map((f) => f.name)).toEqual(['member0', 'member1']);
    expect(avroToIceberg('["null","A"]', references).fields.map((f) => f.name)).toEqual(['x']);
  });
});

describe('refused, with the path:', () => {
  const refusal = (
    schema: string,
    references: { name: string; schema: string }[] = [],
    code: ErrorCode = 'UNSUPPORTED',
  ): string => {
    try {
      avroToIceberg(schema, references);
    } catch (e) {
      expect(isSluiceError(e, code)).toBe(true);
      return (e as Error).message;
    }
    throw new Error('the schema was taken');
  };

  it('a schema that holds itself', () => {
    const list = { type: 'record', name: 'Node', fields: [{ name: 'next', type: ['null', 'Node'] }] };
    expect(refusal(avroRecord('R', { head: list }))).toContain('head.next: record Node holds itself');
    const tree = {
      type: 'record',
      name: 'Tree',
      fields: [{ name: 'kids', type: { type: 'array', items: 'Tree' } }],
    };
    expect(refusal(JSON.stringify(tree))).toContain('kids.element: record Tree holds itself');
  });

  it('a decimal that no table holds, and a fixed of nothing', () => {
    const wide = { type: 'bytes', logicalType: 'decimal', precision: 39, scale: 2 };
    expect(refusal(avroRecord('R', { a: { type: 'array', items: wide } }))).toContain(
      'a.element: a decimal of 39 digits',
    );
    expect(refusal(avroRecord('R', { a: { type: 'fixed', name: 'F', size: 0 } }))).toContain(
      'a: fixed F has no bytes',
    );
  });

  it('one that names its records in so many places that its columns have no end', () => {
    const references = Array.from({ length: 40 }, (_, i) => ({
      name: `R${i}`,
      schema: avroRecord(`R${i}`, i === 0 ? { a: 'int' } : { a: `R${i - 1}`, b: `R${i - 1}` }),
    }));
    expect(refusal('"R39"', references)).toContain('more than 10000 columns');
  });

  it('what is no schema', () => {
    expect(refusal('{"type":"record"}', [], 'REGISTRY_SCHEMA')).toContain('a named type without a name');
  });
});
