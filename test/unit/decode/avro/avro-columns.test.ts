import { describe, expect, it } from 'vitest';
import type { IcebergType } from '../../../../src/core/schema.ts';
import { createAvroDecoder } from '../../../../src/decode/avro/avro-decoder.ts';
import {
  avroFormat,
  avroRecord,
  avscType,
  decodePlain,
  faultsOf,
  field,
  hex,
  rowsOf,
  valuesOf,
} from '../../../support/avro.ts';

const list = (element: IcebergType, elementRequired = false): IcebergType => ({
  type: 'list',
  elementId: 0,
  element,
  elementRequired,
});

describe('columns without a field of the writer', () => {
  it('hold their write default, else null; an explicit null stays null (case C05)', () => {
    const fields = [field('id', 'int'), field('tier', 'string', { writeDefault: 'basic' })];
    const writer = (name: string, more: object): string => avroRecord(name, { id: 'int', ...more });
    expect(decodePlain(fields, writer('A', { tier: ['null', 'string'] }), [hex('02 00')]).rows).toEqual([
      { id: 1, tier: null },
    ]);
    expect(decodePlain(fields, writer('B', {}), [hex('04')]).rows).toEqual([{ id: 2, tier: 'basic' }]);
    expect(
      decodePlain([field('id', 'int'), field('tier', 'string')], writer('B', {}), [hex('04')]).rows,
    ).toEqual([{ id: 2, tier: null }]);
  });

  it('hold defaults of every type', () => {
    const fields = [
      field('a', 'boolean', { writeDefault: true }),
      field('b', 'int', { writeDefault: -7 }),
      field('c', 'long', { writeDefault: 9_007_199_254_740_993n }),
      field('d', 'float', { writeDefault: 1.5 }),
      field('e', 'double', { writeDefault: 0.1 }),
      field('f', 'date', { writeDefault: '1969-12-31' }),
      field('g', 'time', { writeDefault: '00:00:01.000002' }),
      field('h', 'timestamptz', { writeDefault: '1970-01-01T00:00:01.000000+00:00' }),
      field('i', 'string', { writeDefault: 'é' }),
      field('j', 'binary', { writeDefault: '00ff' }),
      field('k', 'fixed[2]', { writeDefault: '0102' }),
      field('l', 'uuid', { writeDefault: '0f8fad5b-d9cb-469f-a165-70867728950e' }),
      field('m', 'decimal(9, 2)', { writeDefault: '-1.28' }),
      field('n', 'decimal(18, 2)', { writeDefault: '-1.28' }),
      field('o', 'decimal(20, 2)', { writeDefault: '-1.28' }),
      field(
        'p',
        { type: 'struct', fields: [field('x', 'int', { writeDefault: 3 }), field('y', 'int')] },
        { writeDefault: {} },
      ),
      field('q', list('int')),
    ];
    const { rows, decoder } = decodePlain(fields, avroRecord('R', { z: 'null' }), [hex(''), hex('')]);
    expect(faultsOf(decoder)).toEqual([]);
    expect(rows[1]).toEqual({
      a: true,
      b: -7,
      c: 9_007_199_254_740_993n,
      d: 1.5,
      e: 0.1,
      f: -1,
      g: 1_000_002n,
      h: 1_000_000n,
      i: 'é',
      j: '0x00ff',
      k: '0x0102',
      l: '0x0f8fad5bd9cb469fa16570867728950e',
      m: -128,
      n: -128n,
      o: '0xffffffffffffffff80',
      p: { x: 3, y: null },
      q: null,
    });
    expect(rows[0]).toEqual(rows[1]);
  });

  it('that are required and have no default make every record a fault', () => {
    const fields = [field('a', 'int'), field('b', 'int', { required: true })];
    const { rows, decoder } = decodePlain(fields, avroRecord('R', { a: 'int' }), [hex('02'), null]);
    expect(faultsOf(decoder)).toEqual(['0 MISSING_REQUIRED b']);
    expect(rows).toEqual([
      { a: null, b: null },
      { a: null, b: null },
    ]);
    const withDefault = [field('b', 'int', { required: true, writeDefault: 4 })];
    expect(decodePlain(withDefault, avroRecord('R', { a: 'int' }), [hex('02')]).rows).toEqual([{ b: 4 }]);
  });
});

describe('a null', () => {
  it('in a required column is a fault, at every level', () => {
    const fields = [
      field('a', 'int', { required: true }),
      field('l', list({ type: 'struct', fields: [field('x', 'int', { required: true })] }, true)),
      field('m', { type: 'map', keyId: 0, key: 'string', valueId: 0, value: 'int', valueRequired: true }),
    ];
    const struct = { type: 'record', name: 'S', fields: [{ name: 'x', type: ['null', 'int'] }] };
    const writer = avroRecord('R', {
      a: ['null', 'int'],
      l: { type: 'array', items: ['null', struct] },
      m: { type: 'map', values: ['null', 'int'] },
    });
    const bodies = [
      '0202 00 00',
      '00 00 00',
      '0202 04 02 02 06 00 00 00',
      '0202 04 02 02 06 02 00 00 00',
      '0202 00 02 0241 00 00',
    ];
    const { decoder } = decodePlain(fields, writer, bodies.map(hex));
    expect(faultsOf(decoder)).toEqual([
      '1 MISSING_REQUIRED a',
      '2 MISSING_REQUIRED l[1]',
      '3 MISSING_REQUIRED l[1].x',
      '4 MISSING_REQUIRED m[0]',
    ]);
  });

  it('of a struct is one of all its fields', () => {
    const struct: IcebergType = { type: 'struct', fields: [field('x', 'int'), field('y', list('string'))] };
    const inner = {
      type: 'record',
      name: 'S',
      fields: [
        { name: 'x', type: 'int' },
        { name: 'y', type: { type: 'array', items: 'string' } },
      ],
    };
    const writer = avroRecord('R', { s: ['null', inner] });
    const bodies = ['00', '02 04 02 0241 00', '00', '02 06 00'].map(hex);
    expect(decodePlain([field('s', struct)], writer, bodies).rows).toEqual([
      { s: null },
      { s: { x: 2, y: ['A'] } },
      { s: null },
      { s: { x: 3, y: [] } },
    ]);
  });
});

describe('fields of the writer without a column', () => {
  const everything = {
    type: 'record',
    name: 'Everything',
    fields: [
      { name: 'a', type: 'boolean' },
      { name: 'b', type: 'long' },
      { name: 'c', type: 'float' },
      { name: 'd', type: 'double' },
      { name: 'e', type: 'bytes' },
      { name: 'f', type: { type: 'fixed', name: 'F', size: 3 } },
      { name: 'g', type: { type: 'enum', name: 'G', symbols: ['X', 'Y'] } },
      { name: 'h', type: { type: 'array', items: { type: 'map', values: ['null', 'string'] } } },
      { name: 'i', type: ['null', 'Everything'] },
      { name: 'j', type: { type: 'array', items: 'null' } },
    ],
  };
  const one = {
    a: true,
    b: -(2n ** 40n),
    c: 1,
    d: 2,
    e: Buffer.from('xyz'),
    f: Buffer.from('abc'),
    g: 'Y',
    h: [{ k: null, l: { string: 'v' } }, {}],
    i: null,
    j: [null, null],
  };

  it('are passed over, whatever they hold, and the rows are listed', () => {
    const writer = {
      type: 'record',
      name: 'R',
      fields: [
        { name: 'x', type: everything },
        { name: 'y', type: 'int' },
      ],
    };
    const value = { ...one, i: { Everything: { ...one, i: { Everything: one } } } };
    const body = avscType(writer).toBuffer({ x: value, y: 7 });
    const { rows, decoder } = decodePlain([field('y', 'int')], JSON.stringify(writer), [body, body]);
    expect([rows, faultsOf(decoder)]).toEqual([[{ y: 7 }, { y: 7 }], []]);
    expect(decoder.rowsWithUnknownFields).toEqual([0, 1]);
    expect(decoder.counts.unknownFields).toBe(2);
  });

  it('are not listed where they are null', () => {
    const writer = avroRecord('R', { a: ['null', 'int'], b: 'null', c: 'int' });
    const { rows, decoder } = decodePlain(
      [field('c', 'int')],
      writer,
      ['00 02', '02 04 02', '00 02'].map(hex),
    );
    expect(rows).toEqual([{ c: 1 }, { c: 1 }, { c: 1 }]);
    expect([decoder.rowsWithUnknownFields, decoder.counts.unknownFields]).toEqual([[1], 1]);
    decoder.decode(valuesOf([hex('00 02')]));
    expect([decoder.rowsWithUnknownFields, decoder.counts.unknownFields]).toEqual([[], 0]);
  });

  it('within structs and elements are listed too, a row once', () => {
    const item = {
      type: 'record',
      name: 'I',
      fields: [
        { name: 'x', type: 'int' },
        { name: 'new', type: 'int' },
      ],
    };
    const writer = avroRecord('R', { l: { type: 'array', items: item } });
    const fields = [field('l', list({ type: 'struct', fields: [field('x', 'int')] }))];
    const { rows, decoder } = decodePlain(fields, writer, ['00', '04 02 04 06 08 00'].map(hex));
    expect(rows).toEqual([{ l: [] }, { l: [{ x: 1 }, { x: 3 }] }]);
    expect([decoder.rowsWithUnknownFields, decoder.counts.unknownFields]).toEqual([[1], 2]);
  });

  it('of a record at fault are not counted', () => {
    const writer = avroRecord('R', { a: 'int', c: 'int' });
    const { decoder } = decodePlain([field('c', 'int')], writer, [hex('02')]);
    expect([decoder.rowsWithUnknownFields, decoder.counts.unknownFields]).toEqual([[], 0]);
  });

  it('are checked as far as the way over them needs', () => {
    const bodyOf = (type: unknown, ...bodies: string[]): string[] => {
      const writer = avroRecord('R', { skipped: type, a: 'int' });
      return faultsOf(decodePlain([field('a', 'int')], writer, bodies.map(hex)).decoder);
    };
    expect(bodyOf('boolean', '02 02', '01 02')).toEqual(['0 AVRO_DECODE skipped']);
    expect(bodyOf('string', '01 02', '06 41 02', '02 41 02')).toEqual([
      '0 AVRO_DECODE skipped',
      '1 AVRO_DECODE skipped',
    ]);
    expect(bodyOf({ type: 'enum', name: 'E', symbols: ['A'] }, '00 02', '02 02', '01 02')).toEqual([
      '1 AVRO_DECODE skipped',
      '2 AVRO_DECODE skipped',
    ]);
    expect(bodyOf(['null', 'int'], '04 02', '03 02')).toEqual([
      '0 AVRO_DECODE skipped',
      '1 AVRO_DECODE skipped',
    ]);
    expect(bodyOf({ type: 'array', items: 'int' }, '80 80 80 80 80 80 80 80 80 01 00 02')).toEqual([
      '0 AVRO_DECODE skipped',
    ]);
    expect(bodyOf({ type: 'array', items: 'long' }, '03 04 02 02 00 02', '03 40 02 02 00 02')).toEqual([
      '1 AVRO_DECODE skipped',
    ]);
    // A block that lies about its size would have what follows read from other bytes.
    expect(
      bodyOf({ type: 'array', items: 'long' }, '03 02 02 02 00 02', '03 00 00 02', '01 06 02 00 02'),
    ).toEqual(['0 AVRO_DECODE skipped', '1 AVRO_DECODE skipped', '2 AVRO_DECODE skipped']);
    expect(bodyOf({ type: 'array', items: 'null' }, 'FE FF FF FF FF FF FF FF FF 01 00 02')).toEqual([]);
    expect(bodyOf({ type: 'map', values: 'null' }, '02 02 41 00 02', 'FE FF 03 00 02')).toEqual([
      '1 AVRO_DECODE skipped',
    ]);
  });

  it('that hold themselves without an end are too deep, not a crash', () => {
    const node = { type: 'record', name: 'Node', fields: [{ name: 'next', type: ['null', 'Node'] }] };
    const writer = avroRecord('R', { head: node, a: 'int' });
    const chain = (length: number): Buffer => Buffer.concat([Buffer.alloc(length, 2), hex('00 02')]);
    const { rows, decoder } = decodePlain([field('a', 'int')], writer, [
      chain(500),
      chain(600),
      chain(100_000),
    ]);
    expect(rows[0]).toEqual({ a: 1 });
    expect(faultsOf(decoder)).toEqual(['1 TOO_DEEP head', '2 TOO_DEEP head']);
    const endless = {
      type: 'record',
      name: 'Endless',
      fields: [
        { name: 'a', type: 'Endless' },
        { name: 'b', type: 'Endless' },
      ],
    };
    const never = decodePlain([field('a', 'int')], avroRecord('R', { x: endless, a: 'int' }), [
      hex('02'),
    ]).decoder;
    expect(faultsOf(never)).toEqual(['0 TOO_DEEP x']);
  });

  it('cost nothing where their types are many and their bytes none', () => {
    const references = Array.from({ length: 60 }, (_, i) => ({
      name: `R${i}`,
      schema: avroRecord(`R${i}`, i === 0 ? { a: 'null' } : { a: `R${i - 1}`, b: `R${i - 1}` }),
    }));
    const format = avroFormat({ framing: 'confluent' });
    const schema = avroRecord('R', { bomb: 'R59', list: { type: 'array', items: 'R59' }, a: 'int' });
    const decoder = createAvroDecoder([field('a', 'int')], format, [
      { id: 1, type: 'AVRO', schema, references },
    ]);
    decoder.decode(valuesOf([hex('00 00000001 FEFFFFFF0F 00 02')]));
    expect([rowsOf([field('a', 'int')], decoder), decoder.faults]).toEqual([[{ a: 1 }], []]);
  });
});

describe('a writer schema that does not fit its columns', () => {
  it('makes faults of the records that hold what does not fit', () => {
    const fields = [field('a', 'int'), field('l', list('int'))];
    const writer = avroRecord('R', { a: ['null', 'string'], l: { type: 'array', items: 'string' } });
    const { rows, decoder } = decodePlain(
      fields,
      writer,
      ['00 00', '02 02 41 00', '00 02 02 41 00'].map(hex),
    );
    expect(rows[0]).toEqual({ a: null, l: [] });
    expect(faultsOf(decoder)).toEqual(['1 AVRO_RESOLUTION a', '2 AVRO_RESOLUTION l[0]']);
    expect(decoder.faults[0].message).toBe(
      "the writer's string does not go into a column of type int, at byte 1",
    );
  });

  it.each<[unknown, IcebergType]>([
    ['string', 'int'],
    ['double', 'float'],
    ['double', 'long'],
    ['int', 'string'],
    ['int', 'boolean'],
    ['boolean', 'int'],
    ['long', 'decimal(18, 0)'],
    [{ type: 'array', items: 'int' }, 'int'],
    ['int', list('int')],
    [{ type: 'map', values: 'int' }, list('int')],
    [
      { type: 'map', values: 'int' },
      { type: 'map', keyId: 0, key: 'int', valueId: 0, value: 'int', valueRequired: false },
    ],
    [{ type: 'record', name: 'S', fields: [] }, 'int'],
    ['int', { type: 'struct', fields: [field('x', 'int')] }],
  ])('%j never goes into %j', (type, column) => {
    const { rows, decoder } = decodePlain([field('a', column)], avroRecord('R', { a: type }), [hex('00')]);
    expect([faultsOf(decoder), rows]).toEqual([['0 AVRO_RESOLUTION a'], [{ a: null }]]);
  });
});

describe('a fault', () => {
  it('leaves nothing of its record in any column', () => {
    const fields = [
      field('s', 'string'),
      field('l', list({ type: 'struct', fields: [field('t', list('string')), field('u', 'int')] })),
      field('m', { type: 'map', keyId: 0, key: 'string', valueId: 0, value: 'string', valueRequired: false }),
      field('n', 'int'),
    ];
    const item = {
      type: 'record',
      name: 'I',
      fields: [
        { name: 't', type: { type: 'array', items: 'string' } },
        { name: 'u', type: ['null', 'int'] },
      ],
    };
    const writer = {
      type: 'record',
      name: 'R',
      fields: [
        { name: 's', type: 'string' },
        { name: 'l', type: { type: 'array', items: item } },
        { name: 'm', type: { type: 'map', values: 'string' } },
        { name: 'n', type: 'int' },
      ],
    };
    const value = {
      s: 'x',
      l: [
        { t: ['a', 'b'], u: { int: 1 } },
        { t: [], u: null },
      ],
      m: { k: 'v' },
      n: 5,
    };
    const row = {
      s: 'x',
      l: [
        { t: ['a', 'b'], u: 1 },
        { t: [], u: null },
      ],
      m: [['k', 'v']],
      n: 5,
    };
    const body = avscType(writer).toBuffer(value);
    const cut = Array.from({ length: body.length - 1 }, (_, i) => body.subarray(0, i + 1));
    const { rows, decoder } = decodePlain(
      fields,
      JSON.stringify(writer),
      cut.flatMap((part) => [part, body, null]),
    );
    expect(decoder.faults.map((fault) => fault.row)).toEqual(cut.map((_, i) => i * 3));
    expect(new Set(decoder.faults.map((fault) => fault.reason))).toEqual(new Set(['AVRO_DECODE']));
    const empty = { s: null, l: null, m: null, n: null };
    expect(rows).toEqual(cut.flatMap(() => [empty, row, empty]));
  });

  it('names the byte in the value, the frame counted', () => {
    const format = avroFormat({ framing: 'confluent' });
    const schema = avroRecord('R', { a: 'int', b: 'boolean' });
    const decoder = createAvroDecoder([field('b', 'boolean')], format, [
      { id: 3, type: 'AVRO', schema, references: [] },
    ]);
    decoder.decode(valuesOf([hex('00 00000003 02 05')]));
    expect(decoder.faults).toEqual([
      {
        row: 0,
        reason: 'AVRO_DECODE',
        field: 'b',
        message: 'a boolean is 5, not 0 or 1, at byte 6',
        schemaId: 3,
      },
    ]);
  });
});
