import { describe, expect, it } from 'vitest';
import type { IcebergType, NestedField } from '../../../../src/core/schema.ts';
import { avroRecord, decodePlain, faultsOf, field, hex, type Plain } from '../../../support/avro.ts';

interface Resolved {
  rows: Plain[];
  faults: string[];
  messages: string[];
  unknown: readonly number[];
}

function resolve(
  fields: readonly NestedField[],
  writer: unknown,
  reader: unknown,
  ...bodies: string[]
): Resolved {
  const text = (schema: unknown): string => (typeof schema === 'string' ? schema : JSON.stringify(schema));
  const { rows, decoder } = decodePlain(fields, text(writer), bodies.map(hex), {
    readerSchema: text(reader),
  });
  return {
    rows,
    faults: faultsOf(decoder),
    messages: decoder.faults.map((fault) => fault.message),
    unknown: decoder.rowsWithUnknownFields,
  };
}

/** What becomes of one field that has a type at the writer and one at the reader: the values, or the faults. */
function pair(column: IcebergType, writer: unknown, reader: unknown, ...bodies: string[]): Plain[] {
  const { rows, faults } = resolve(
    [field('a', column)],
    avroRecord('R', { a: writer }),
    avroRecord('R', { a: reader }),
    ...bodies,
  );
  const reasons = new Map(
    faults.map((fault) => fault.split(' ')).map(([row, reason]) => [Number(row), reason]),
  );
  return rows.map((row, i) => reasons.get(i) ?? (row as Record<string, Plain>).a);
}

const enumOf = (name: string, symbols: string[], more: object = {}): object => ({
  type: 'enum',
  name,
  symbols,
  ...more,
});
const fixedOf = (name: string, size: number, more: object = {}): object => ({
  type: 'fixed',
  name,
  size,
  ...more,
});
const recordOf = (name: string, fields: object, more: object = {}): object => ({
  ...JSON.parse(avroRecord(name, fields as never)),
  ...more,
});
const members = (...types: IcebergType[]): IcebergType => ({
  type: 'struct',
  fields: types.map((type, i) => field(`member${i}`, type)),
});

describe('promotions', () => {
  it('are those of Avro, and no others', () => {
    expect(pair('long', 'int', 'long', '01')).toEqual([-1n]);
    expect(pair('float', 'int', 'float', '01')).toEqual([-1]);
    expect(pair('double', 'int', 'double', '01')).toEqual([-1]);
    expect(pair('double', 'float', 'double', '0000803F')).toEqual([1]);
    expect(pair('binary', 'string', 'bytes', '0241')).toEqual(['0x41']);
    expect(pair('string', 'bytes', 'string', '0241')).toEqual(['A']);
    const refused: [unknown, unknown, IcebergType][] = [
      ['long', 'int', 'int'],
      ['double', 'float', 'double'],
      ['float', 'int', 'double'],
      ['float', 'long', 'double'],
      ['boolean', 'int', 'int'],
      ['string', 'int', 'int'],
      ['int', 'string', 'string'],
      [fixedOf('F', 1), 'bytes', 'binary'],
      [enumOf('E', ['A']), 'string', 'string'],
      ['string', enumOf('E', ['A']), 'string'],
    ];
    for (const [writer, reader, column] of refused)
      expect(pair(column, writer, reader, '00'), JSON.stringify([writer, reader])).toEqual([
        'AVRO_RESOLUTION',
      ]);
  });

  it('round as Avro does where the reader asks for a float, once', () => {
    const zigzag = (value: bigint): string => {
      let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
      let digits = '';
      for (; rest > 127n; rest >>= 7n) digits += (Number(rest & 127n) | 128).toString(16);
      return digits + Number(rest).toString(16).padStart(2, '0');
    };
    const max = 2n ** 63n - 1n;
    expect(pair('double', 'long', 'double', zigzag(2n ** 53n + 1n), zigzag(max))).toEqual([2 ** 53, 2 ** 63]);
    expect(pair('float', 'long', 'float', zigzag(16_777_217n), zigzag(max))).toEqual([16_777_216, 2 ** 63]);
    expect(pair('double', 'long', 'float', zigzag(16_777_217n))).toEqual([16_777_216]);
    // Through a double this would be rounded down to even twice: just above the middle between two floats.
    const above = 2n ** 62n + 2n ** 38n + 1n;
    expect(Math.fround(Number(above))).toBe(2 ** 62);
    expect(pair('float', 'long', 'float', zigzag(above), zigzag(-above))).toEqual([
      2 ** 62 + 2 ** 39,
      -(2 ** 62) - 2 ** 39,
    ]);
  });

  it('go on from the reader to a wider column', () => {
    expect(pair('double', 'int', 'long', '06')).toEqual([3]);
    expect(pair('long', 'int', 'int', '06')).toEqual([3n]);
  });
});

describe('records', () => {
  const fields = [field('a', 'int'), field('b', 'string'), field('c', 'long')];
  const reader = {
    type: 'record',
    name: 'R',
    fields: [
      { name: 'c', type: 'long', default: -5 },
      { name: 'b', type: 'string', aliases: ['old_b', 'older_b'] },
      { name: 'a', type: ['null', 'int'], default: null },
    ],
  };

  it('are matched by name whatever the order; what is missing has its default', () => {
    const full = avroRecord('R', { a: 'int', b: 'string', c: 'int' });
    expect(resolve(fields, full, reader, '02 0241 04').rows).toEqual([{ a: 1, b: 'A', c: 2n }]);
    expect(resolve(fields, avroRecord('R', { b: 'string' }), reader, '0241').rows).toEqual([
      { a: null, b: 'A', c: -5n },
    ]);
  });

  it('are matched by the aliases of the reader, its own name first', () => {
    expect(resolve(fields, avroRecord('R', { older_b: 'string' }), reader, '0241').rows).toMatchObject([
      { b: 'A' },
    ]);
    const both = avroRecord('R', { old_b: 'string', b: 'string' });
    expect(resolve(fields, both, reader, '0241 0242').rows).toMatchObject([{ b: 'B' }]);
    const olds = avroRecord('R', { older_b: 'string', old_b: 'string' });
    expect(resolve(fields, olds, reader, '0241 0242').rows).toMatchObject([{ b: 'B' }]);
  });

  it('give a field of the writer to one of the reader only', () => {
    const twice = {
      type: 'record',
      name: 'R',
      fields: [
        { name: 'b', type: 'string', aliases: ['a'], default: 'd' },
        { name: 'a', type: 'int' },
      ],
    };
    expect(resolve(fields, avroRecord('R', { a: 'int' }), twice, '02').rows).toEqual([
      { a: 1, b: 'd', c: null },
    ]);
  });

  it('without a field that has no default cannot be read, with or without a column for it', () => {
    const { faults, messages } = resolve(fields, avroRecord('R', { a: 'int' }), reader, '02');
    expect(faults).toEqual(['0 AVRO_RESOLUTION b']);
    expect(messages[0]).toContain('field b has no default');
    expect(resolve([field('a', 'int')], avroRecord('R', { a: 'int' }), reader, '02').faults).toEqual([
      '0 AVRO_RESOLUTION b',
    ]);
  });

  it('leave out what the reader does not have: it is no unknown field; what no column takes is', () => {
    const writer = avroRecord('R', { extra: 'int', b: 'string' });
    expect(resolve([field('b', 'string')], writer, reader, '02 0241')).toMatchObject({
      rows: [{ b: 'A' }],
      unknown: [],
    });
    expect(resolve([field('a', 'int')], writer, reader, '02 0241')).toMatchObject({
      rows: [{ a: null }],
      unknown: [0],
    });
  });

  it('need not have the same name, as in Java', () => {
    expect(resolve(fields, avroRecord('Other', { b: 'string' }), reader, '0241').rows).toMatchObject([
      { b: 'A' },
    ]);
  });

  it('that a reader schema leaves without a column’s field have the column’s own default', () => {
    const more = [...fields, field('d', 'string', { writeDefault: 'own' })];
    expect(resolve(more, avroRecord('R', { b: 'string' }), reader, '0241').rows).toMatchObject([
      { d: 'own' },
    ]);
  });

  it('take an explicit null as null, not as the default (case C05)', () => {
    const withDefault = {
      type: 'record',
      name: 'R',
      fields: [{ name: 'tier', type: ['string', 'null'], default: 'basic' }],
    };
    const tier = [field('tier', 'string')];
    expect(resolve(tier, avroRecord('R', { tier: ['null', 'string'] }), withDefault, '00').rows).toEqual([
      { tier: null },
    ]);
    expect(resolve(tier, avroRecord('R', {}), withDefault, '').rows).toEqual([{ tier: 'basic' }]);
  });
});

describe('defaults of the reader', () => {
  const one = (column: IcebergType, type: unknown, value: unknown): Plain => {
    const reader = { type: 'record', name: 'R', fields: [{ name: 'a', type, default: value }] };
    const { rows, faults } = resolve([field('a', column)], avroRecord('R', { z: 'int' }), reader, '02');
    expect(faults).toEqual([]);
    return (rows[0] as Record<string, Plain>).a;
  };

  it('are of every type', () => {
    expect(one('boolean', 'boolean', true)).toBe(true);
    expect(one('int', 'int', -7)).toBe(-7);
    expect(one('float', 'float', 1)).toBe(1);
    expect(one('double', 'double', 1e300)).toBe(1e300);
    expect(one('string', 'string', 'é€')).toBe('é€');
    expect(one('binary', 'bytes', '\u00ff\u0000')).toBe('0xff00');
    expect(one('fixed[2]', fixedOf('F', 2), '\u0001\u00fe')).toBe('0x01fe');
    expect(one('string', enumOf('E', ['A', 'B']), 'B')).toBe('B');
    expect(
      one('decimal(9, 2)', { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }, '\u00ff8'),
    ).toBe(-200);
    expect(one('timestamptz', { type: 'long', logicalType: 'timestamp-millis' }, 5)).toBe(5000n);
    expect(
      one(
        { type: 'list', elementId: 0, element: 'int', elementRequired: false },
        { type: 'array', items: 'int' },
        [1, 2],
      ),
    ).toEqual([1, 2]);
    const map: IcebergType = {
      type: 'map',
      keyId: 0,
      key: 'string',
      valueId: 0,
      value: 'int',
      valueRequired: false,
    };
    expect(one(map, { type: 'map', values: 'int' }, { k: 1 })).toEqual([['k', 1]]);
    expect(one(map, { type: 'map', values: 'int' }, {})).toEqual([]);
  });

  it('keep long integers exact', () => {
    const reader =
      '{"type":"record","name":"R","fields":[{"name":"a","type":"long","default":9007199254740993}]}';
    expect(resolve([field('a', 'long')], avroRecord('R', {}), reader, '').rows).toEqual([
      { a: 9007199254740993n },
    ]);
  });

  it('of unions are of the first branch that takes them', () => {
    expect(one('string', ['null', 'string'], null)).toBeNull();
    expect(one('string', ['null', 'string'], 'x')).toBe('x');
    expect(one(members('string', 'int'), ['string', 'int'], 3)).toEqual({ member0: null, member1: 3 });
  });

  it('of records take the fields’ own where they leave them out', () => {
    const inner = {
      type: 'record',
      name: 'I',
      fields: [
        { name: 'x', type: 'int' },
        { name: 'y', type: 'string', default: 'd' },
      ],
    };
    const struct: IcebergType = { type: 'struct', fields: [field('x', 'int'), field('y', 'string')] };
    expect(one(struct, inner, { x: 1 })).toEqual({ x: 1, y: 'd' });
  });

  it.each<[unknown, unknown]>([
    ['int', 2 ** 31],
    ['int', 1.5],
    ['long', 1e30],
    ['string', 5],
    ['bytes', 'Ā'],
    [fixedOf('F', 2), 'x'],
    [enumOf('E', ['A']), 'B'],
    [['null', 'int'], 'x'],
    [{ type: 'array', items: 'int' }, {}],
    [recordOf('I', { x: 'int' }), {}],
    [recordOf('I', { x: 'int' }), null],
  ])('that are none of their type are refused at once: %j, %j', (type, value) => {
    const reader = { type: 'record', name: 'R', fields: [{ name: 'a', type, default: value }] };
    expect(() => resolve([field('a', 'int')], avroRecord('R', {}), reader, '')).toThrow(
      /the reader schema is no usable Avro schema: a.*the default/,
    );
  });

  it('that have no end are refused', () => {
    const reader = '{"type":"record","name":"R","fields":[{"name":"a","type":"R","default":{}}]}';
    const struct: IcebergType = { type: 'struct', fields: [field('x', 'int')] };
    expect(() => resolve([field('a', struct)], avroRecord('R', {}), reader, '')).toThrow(
      /the default has no end/,
    );
  });
});

describe('enums', () => {
  const writer = enumOf('Status', ['OPEN', 'HELD', 'VOID', 'OTHER']);

  it('are read by name, and what the reader lacks as its default (case C08)', () => {
    const reader = enumOf('Status', ['OTHER', 'OPEN'], { default: 'OTHER' });
    expect(pair('string', writer, reader, '04', '00', '08')).toEqual(['OTHER', 'OPEN', 'AVRO_DECODE']);
  });

  it('without a default are at fault only with what the reader lacks', () => {
    expect(pair('string', writer, enumOf('Status', ['OTHER', 'OPEN']), '04', '00')).toEqual([
      'AVRO_RESOLUTION',
      'OPEN',
    ]);
  });

  it('and fixed must have one name, without its namespace, or an alias', () => {
    expect(pair('string', writer, enumOf('shop.Status', ['OPEN']), '00')).toEqual(['OPEN']);
    expect(pair('string', writer, enumOf('State', ['OPEN']), '00')).toEqual(['AVRO_RESOLUTION']);
    expect(pair('string', writer, enumOf('State', ['OPEN'], { aliases: ['Status'] }), '00')).toEqual([
      'OPEN',
    ]);
    expect(pair('fixed[1]', fixedOf('F', 1), fixedOf('n.F', 1), '07')).toEqual(['0x07']);
    expect(pair('fixed[1]', fixedOf('F', 1), fixedOf('G', 1), '07')).toEqual(['AVRO_RESOLUTION']);
    expect(pair('fixed[1]', fixedOf('F', 1), fixedOf('F', 2), '07')).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('unions', () => {
  it('on both sides: the first branch of the reader that matches the one that is there', () => {
    expect(pair('string', ['null', 'string'], ['string', 'null'], '00', '020241')).toEqual([null, 'A']);
    const struct = members('string', 'long');
    expect(pair(struct, ['int', 'string'], ['null', 'string', 'long'], '0002', '020241')).toEqual([
      { member0: null, member1: 1n },
      { member0: 'A', member1: null },
    ]);
    expect(pair(struct, ['int', 'boolean'], ['string', 'long'], '0002', '0201')).toEqual([
      { member0: null, member1: 1n },
      'AVRO_RESOLUTION',
    ]);
  });

  it('on one side', () => {
    expect(pair('int', 'int', ['null', 'int'], '02')).toEqual([1]);
    expect(pair(members('string', 'int'), 'int', ['string', 'int'], '02')).toEqual([
      { member0: null, member1: 1 },
    ]);
    expect(pair('long', ['null', 'int', 'string'], 'long', '0202', '00', '040241')).toEqual([
      1n,
      'AVRO_RESOLUTION',
      'AVRO_RESOLUTION',
    ]);
    expect(pair('int', 'string', ['null', 'int'], '0241')).toEqual(['AVRO_RESOLUTION']);
  });

  it('take the same type before a promotion', () => {
    expect(pair(members('double', 'int', 'string'), 'int', ['double', 'int', 'string'], '02')).toEqual([
      { member0: null, member1: 1, member2: null },
    ]);
    expect(pair(members('binary', 'string'), 'string', ['bytes', 'string'], '0241')).toEqual([
      { member0: null, member1: 'A' },
    ]);
  });

  it('of records: by the full name, then an alias, then the short name, then the fields', () => {
    const struct = (name: string): IcebergType => ({ type: 'struct', fields: [field(name, 'int')] });
    const writer = recordOf('a.X', { x: 'int' });
    const read = (...branches: object[]): Plain[] =>
      pair(members(struct('x'), struct('x')), writer, branches, '02');
    const first = [{ member0: { x: 1 }, member1: null }];
    const second = [{ member0: null, member1: { x: 1 } }];
    expect(read(recordOf('b.X', { x: 'int' }), recordOf('a.X', { x: 'int' }))).toEqual(second);
    expect(read(recordOf('b.X', { x: 'int' }), recordOf('Y', { x: 'int' }, { aliases: ['a.X'] }))).toEqual(
      second,
    );
    expect(read(recordOf('Z', { x: 'int' }), recordOf('b.X', { x: 'int' }))).toEqual(second);
    expect(read(recordOf('b.X', { y: 'int' }), recordOf('Z', { x: 'int' }))).toEqual(second);
    expect(read(recordOf('Y', { x: 'long' }), recordOf('Z', { x: 'int' }))).toEqual(first);
    expect(read(recordOf('Y', { y: 'int' }), recordOf('Z', { x: 'string' }))).toEqual(['AVRO_RESOLUTION']);
  });

  it('of records that hold themselves are compared without an end', () => {
    const node = (name: string): object => ({
      type: 'record',
      name,
      fields: [
        { name: 'next', type: ['null', name] },
        { name: 'v', type: 'int' },
      ],
    });
    const column = members({ type: 'struct', fields: [field('v', 'int')] }, 'string');
    expect(pair(column, node('W'), [node('R1'), 'string'], '00 02', '02 00 04 02')).toEqual([
      { member0: { v: 1 }, member1: null },
      { member0: { v: 1 }, member1: null },
    ]);
  });
});

describe('arrays and maps', () => {
  it('resolve what they hold', () => {
    const list: IcebergType = { type: 'list', elementId: 0, element: 'long', elementRequired: false };
    expect(
      pair(list, { type: 'array', items: 'int' }, { type: 'array', items: 'long' }, '04 02 04 00'),
    ).toEqual([[1n, 2n]]);
    const map: IcebergType = {
      type: 'map',
      keyId: 0,
      key: 'string',
      valueId: 0,
      value: 'double',
      valueRequired: false,
    };
    expect(
      pair(map, { type: 'map', values: 'int' }, { type: 'map', values: 'double' }, '02 0241 02 00'),
    ).toEqual([[['A', 1]]]);
    expect(pair(map, { type: 'map', values: 'int' }, { type: 'array', items: 'int' }, '00')).toEqual([
      'AVRO_RESOLUTION',
    ]);
  });
});

describe('logical types', () => {
  const logical = (type: string, logicalType: string, more: object = {}): object => ({
    type,
    logicalType,
    ...more,
  });

  it('of one family keep the writer’s unit, so that the time is that which was written', () => {
    expect(
      pair('timestamptz', logical('long', 'timestamp-millis'), logical('long', 'timestamp-micros'), '0A'),
    ).toEqual([5000n]);
    expect(pair('time', logical('int', 'time-millis'), logical('long', 'time-micros'), '0A')).toEqual([
      5000n,
    ]);
  });

  it('are the reader’s where the writer has none, and none where the reader has none', () => {
    expect(pair('timestamptz', 'long', logical('long', 'timestamp-millis'), '0A')).toEqual([5000n]);
    expect(pair('timestamptz', 'int', logical('long', 'timestamp-millis'), '0A')).toEqual([5000n]);
    expect(pair('long', logical('long', 'timestamp-millis'), 'long', '0A')).toEqual([5n]);
    expect(pair('timestamptz', logical('long', 'timestamp-millis'), 'long', '0A')).toEqual([
      'AVRO_RESOLUTION',
    ]);
    expect(
      pair('decimal(9, 2)', 'bytes', logical('bytes', 'decimal', { precision: 9, scale: 2 }), '04FF38'),
    ).toEqual([-200]);
  });

  it('of two families do not match', () => {
    expect(
      pair(
        'timestamptz',
        logical('long', 'local-timestamp-millis'),
        logical('long', 'timestamp-millis'),
        '0A',
      ),
    ).toEqual(['AVRO_RESOLUTION']);
    expect(pair('timestamptz', logical('int', 'date'), logical('long', 'timestamp-millis'), '0A')).toEqual([
      'AVRO_RESOLUTION',
    ]);
  });

  it('that are decimals must have one scale', () => {
    const decimal = (precision: number, scale: number): object =>
      logical('bytes', 'decimal', { precision, scale });
    expect(pair('decimal(9, 2)', decimal(4, 2), decimal(9, 2), '04FF38')).toEqual([-200]);
    expect(pair('decimal(9, 3)', decimal(9, 2), decimal(9, 3), '04FF38')).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('a datum that is no record', () => {
  it('is resolved as a field is', () => {
    expect(resolve([field('k', 'long')], '"int"', '["null","long"]', '02').rows).toEqual([{ k: 1n }]);
    expect(resolve([field('k', 'long')], '"string"', '"long"', '0241').faults).toEqual([
      '0 AVRO_RESOLUTION k',
    ]);
  });

  it('cannot be read as a record, nor a record as one', () => {
    expect(resolve([field('a', 'int')], '"int"', avroRecord('R', { a: 'int' }), '02').faults).toEqual([
      '0 AVRO_RESOLUTION',
    ]);
    expect(resolve([field('a', 'int')], avroRecord('R', { a: 'int' }), '"int"', '02').faults).toEqual([
      '0 AVRO_RESOLUTION a',
    ]);
  });
});
