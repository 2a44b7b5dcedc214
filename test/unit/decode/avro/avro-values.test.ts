import { describe, expect, it } from 'vitest';
import type { IcebergType, NestedField } from '../../../../src/core/schema.ts';
import {
  avroRecord,
  avscType,
  decodePlain,
  faultsOf,
  field,
  hex,
  type Plain,
  rowsOf,
  valuesOf,
} from '../../../support/avro.ts';

/** What becomes of one field's bytes in a column: the value, or the fault. */
function into(column: IcebergType, type: unknown, ...bodies: string[]): Plain[] {
  const { rows, decoder } = decodePlain([field('a', column)], avroRecord('R', { a: type }), bodies.map(hex));
  const reasons = new Map(decoder.faults.map((fault) => [fault.row, fault.reason]));
  return rows.map((row, i) => reasons.get(i) ?? (row as Record<string, Plain>).a);
}

const zigzag = (value: bigint): string => avscType('long').toBuffer(value).toString('hex');
const longs = (column: IcebergType, type: unknown, ...values: bigint[]): Plain[] =>
  into(column, type, ...values.map(zigzag));
const sized = (digits: string): string => zigzag(BigInt(hex(digits).length)) + digits;
const logical = (type: string, logicalType: string, more: object = {}): object => ({
  type,
  logicalType,
  ...more,
});

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

describe('integers', () => {
  it('are exact over the whole range', () => {
    const values = [0n, -1n, 1n, 63n, -64n, 64n, 2n ** 31n, -(2n ** 31n), 2n ** 53n + 1n, MAX, MIN];
    expect(longs('long', 'long', ...values)).toEqual(values);
    expect(into('int', 'int', '00', '01', '02', 'FEFFFFFF0F', 'FFFFFFFF0F')).toEqual([
      0, -1, 1, 2147483647, -2147483648,
    ]);
    expect(into('long', 'int', '01', 'FEFFFFFF0F', 'FFFFFFFF0F')).toEqual([-1n, 2147483647n, -2147483648n]);
  });

  it('of every length of a varint are read right', () => {
    const values = Array.from({ length: 64 }, (_, bit) => [
      1n << BigInt(bit),
      (1n << BigInt(bit)) - 1n,
      -(1n << BigInt(bit)),
    ])
      .flat()
      .filter((value) => BigInt.asIntN(64, value) === value);
    expect(longs('long', 'long', ...values)).toEqual(values);
  });

  it('that do not fit an int column are out of range, never wrapped', () => {
    expect(
      longs('int', 'long', 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n), -(2n ** 31n) - 1n, 2n ** 32n, MAX),
    ).toEqual([2147483647, 'OUT_OF_RANGE', -2147483648, 'OUT_OF_RANGE', 'OUT_OF_RANGE', 'OUT_OF_RANGE']);
  });

  it('go into columns of floats where these hold them exactly', () => {
    expect(longs('double', 'long', 5n, 2n ** 53n, 2n ** 53n + 1n, MIN, MAX)).toEqual([
      5,
      2 ** 53,
      'OUT_OF_RANGE',
      -(2 ** 63),
      'OUT_OF_RANGE',
    ]);
    expect(longs('float', 'int', 16_777_216n, 16_777_217n, -3n)).toEqual([16_777_216, 'OUT_OF_RANGE', -3]);
  });

  it('may be written in more bytes than they need, but not in more than they have', () => {
    expect(into('long', 'long', '8200', '82808080808080808000')).toEqual([1n, 1n]);
    expect(into('int', 'int', '8200', '8280808000')).toEqual([1, 1]);
    expect(into('long', 'long', '8080808080808080808000', 'FFFFFFFFFFFFFFFFFF02', '80')).toEqual([
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
    expect(into('int', 'int', 'FFFFFFFF10', '808080808000', 'FFFFFFFF')).toEqual([
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
  });
});

describe('floats, booleans, bytes', () => {
  it('are read as they are', () => {
    expect(into('float', 'float', '0000803F', '0000C07F', '000080FF')).toEqual([
      1,
      Number.NaN,
      Number.NEGATIVE_INFINITY,
    ]);
    expect(into('double', 'float', 'CDCCCC3D')).toEqual([Math.fround(0.1)]);
    expect(into('double', 'double', '9A9999999999B93F', '0000000000000080')).toEqual([0.1, -0]);
    expect(into('boolean', 'boolean', '00', '01', '02', 'FF')).toEqual([
      false,
      true,
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
    expect(into('binary', 'bytes', '00', '04 00FF')).toEqual(['0x', '0x00ff']);
    const fixed = { type: 'fixed', name: 'F', size: 3 };
    expect(into('fixed[3]', fixed, '010203', '0102')).toEqual(['0x010203', 'AVRO_DECODE']);
    expect(into('binary', fixed, '010203')).toEqual(['0x010203']);
    expect(into('fixed[4]', fixed, '010203')).toEqual(['AVRO_RESOLUTION']);
  });

  it('of a fixed of no bytes are a value too', () => {
    const fixed = { type: 'fixed', name: 'F', size: 0 };
    const { rows } = decodePlain(
      [field('a', 'binary'), field('b', 'int')],
      avroRecord('R', { a: fixed, b: 'int' }),
      [hex('02')],
    );
    expect(rows).toEqual([{ a: '0x', b: 1 }]);
  });
});

describe('texts', () => {
  it('are proven UTF-8, each row for itself', () => {
    const fields = [field('a', 'string'), field('b', 'string')];
    const schema = avroRecord('R', { a: 'string', b: 'string' });
    const bodies = ['02 41 02 42', '02 C3 02 A9', '04 C3A9 02 FF', '06 E282AC 00', '06 EDA080 00'].map(hex);
    const { rows, decoder } = decodePlain(fields, schema, bodies);
    expect(rows).toEqual([
      { a: 'A', b: 'B' },
      { a: null, b: null },
      { a: null, b: null },
      { a: '€', b: '' },
      { a: null, b: null },
    ]);
    expect(faultsOf(decoder)).toEqual(['1 INVALID_UTF8 a', '2 INVALID_UTF8 b', '4 INVALID_UTF8 a']);
    expect(decoder.faults[1].message).toBe('a text is not UTF-8, at byte 4');
    decoder.decode(valuesOf(bodies.slice(0, 1)));
    expect([decoder.faults, rowsOf(fields, decoder)]).toEqual([[], [{ a: 'A', b: 'B' }]]);
  });

  it('within lists, maps and structs too, with the path', () => {
    const fields: NestedField[] = [
      field('l', { type: 'list', elementId: 0, element: 'string', elementRequired: false }),
      field('m', { type: 'map', keyId: 0, key: 'string', valueId: 0, value: 'int', valueRequired: false }),
      field('s', { type: 'struct', fields: [field('t', 'string')] }),
    ];
    const schema = avroRecord('R', {
      l: { type: 'array', items: 'string' },
      m: { type: 'map', values: 'int' },
      s: { type: 'record', name: 'S', fields: [{ name: 't', type: 'string' }] },
    });
    const bodies = [
      '04 0241 02FF 00 00 00',
      '00 02 02FF02 00 00',
      '00 00 02FF',
      '02 0241 00 02 024202 00 0243',
    ].map(hex);
    const { rows, decoder } = decodePlain(fields, schema, bodies);
    expect(faultsOf(decoder)).toEqual(['0 INVALID_UTF8 l[1]', '1 INVALID_UTF8 m[0]', '2 INVALID_UTF8 s.t']);
    expect(rows[3]).toEqual({ l: ['A'], m: [['B', 1]], s: { t: 'C' } });
  });

  it('are not looked at where no column takes them or the column is binary', () => {
    const schema = avroRecord('R', { skipped: 'string', a: 'string' });
    const { rows, decoder } = decodePlain([field('a', 'binary')], schema, [hex('02 FF 02 FF')]);
    expect([rows, faultsOf(decoder)]).toEqual([[{ a: '0xff' }], []]);
  });

  it('of all lengths are copied whole', () => {
    const type = avscType(JSON.parse(avroRecord('R', { a: 'string', b: 'bytes' })));
    const texts = Array.from({ length: 200 }, (_, i) => 'xyz€'.repeat(80).slice(0, i));
    const bodies = texts.map((a) => type.toBuffer({ a, b: Buffer.from(a) }));
    const fields = [field('a', 'string'), field('b', 'binary')];
    const { rows } = decodePlain(fields, JSON.stringify(type.schema()), bodies);
    expect(rows).toEqual(texts.map((a) => ({ a, b: `0x${Buffer.from(a).toString('hex')}` })));
  });

  it('of bytes go into a text column, as Avro promotes them', () => {
    expect(into('string', 'bytes', '02 41', '02 FF')).toEqual(['A', 'INVALID_UTF8']);
    expect(into('string', logical('bytes', 'decimal', { precision: 4 }), '02 41')).toEqual([
      'AVRO_RESOLUTION',
    ]);
  });
});

describe('enums', () => {
  it('are the text of the symbol; an index that is none is a fault (case C08)', () => {
    const status = {
      type: 'enum',
      name: 'Status',
      symbols: ['OPEN', 'HELD', 'VOID', 'OTHER'],
      default: 'OTHER',
    };
    expect(into('string', status, '04', '00', '08', '01', '80')).toEqual([
      'VOID',
      'OPEN',
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
    expect(into('int', status, '04')).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('decimals', () => {
  const decimal = (precision: number, scale: number): object =>
    logical('bytes', 'decimal', { precision, scale });

  it('are signed and of any length (case C07)', () => {
    const schema = avroRecord('Fee', { id: 'int', amt: ['null', decimal(9, 2)] });
    const fields = [field('id', 'int'), field('amt', 'decimal(9, 2)')];
    const bodies = ['0E 02 04 FF 38', '0E 02 02 80', '0E 02 04 00 80', '0E 02 08 00 00 00 80', '0E 00'].map(
      hex,
    );
    const { rows } = decodePlain(fields, schema, bodies);
    expect(rows.map((row) => (row as Record<string, Plain>).amt)).toEqual([-200, -128, 128, 128, null]);
  });

  it.each([
    [4, 'decimal(4, 1)'],
    [9, 'decimal(9, 0)'],
    [10, 'decimal(10, 2)'],
    [18, 'decimal(18, 6)'],
    [19, 'decimal(19, 4)'],
    [38, 'decimal(38, 10)'],
  ] as const)('of %i digits hold every value up to the last', (precision, column) => {
    const most = 10n ** BigInt(precision) - 1n;
    const scale = Number(/, (\d+)/.exec(column)?.[1]);
    const bytesOf = (value: bigint, length: number): string =>
      BigInt.asUintN(length * 8, value)
        .toString(16)
        .padStart(length * 2, '0');
    const least = (value: bigint): number => {
      let length = 1;
      while (BigInt.asIntN(length * 8, value) !== value) length++;
      return length;
    };
    const values = [0n, 1n, -1n, 127n, 128n, -128n, -129n, most, -most, most + 1n, -most - 1n, most * 1000n];
    for (const more of [0, 1, 9]) {
      const bodies = values.map((value) => sized(bytesOf(value, least(value) + more)));
      const read = into(column, decimal(precision, scale), ...bodies).map((value) =>
        typeof value === 'string' && value.startsWith('0x')
          ? BigInt.asIntN((value.length - 2) * 4, BigInt(value))
          : typeof value === 'number'
            ? BigInt(value)
            : value,
      );
      expect(read).toEqual(values.map((v) => (v > most || v < -most ? 'OUT_OF_RANGE' : v)));
    }
  });

  it('on fixed are the same', () => {
    const fixed = { type: 'fixed', name: 'F', size: 6, ...decimal(9, 2), logicalType: 'decimal' };
    const fee = { ...fixed, type: 'fixed' };
    expect(into('decimal(9, 2)', fee, 'FFFFFFFFFF38', '00003B9ACA00', '00003B9AC9FF')).toEqual([
      -200,
      'OUT_OF_RANGE',
      999_999_999,
    ]);
  });

  it('of no bytes are a fault, since they are no number', () => {
    expect(into('decimal(9, 2)', decimal(9, 2), '00')).toEqual(['AVRO_DECODE']);
  });

  it('of fewer digits after the point gain zeros; of more they do not go in', () => {
    expect(into('decimal(9, 4)', decimal(6, 2), sized('FF38'), sized('3B9AC9FF'))).toEqual([
      -20_000,
      'OUT_OF_RANGE',
    ]);
    expect(into('decimal(18, 4)', decimal(6, 2), sized('FF38'))).toEqual([-20_000n]);
    expect(into('decimal(20, 4)', decimal(6, 2), sized('01'))).toEqual(['0x000000000000000064']);
    expect(into('decimal(9, 1)', decimal(6, 2), sized('FF38'))).toEqual(['AVRO_RESOLUTION']);
  });

  it('go into a binary column as their bytes', () => {
    expect(into('binary', decimal(9, 2), sized('FF38'))).toEqual(['0xff38']);
  });
});

describe('times', () => {
  it('of day are micros since midnight, and within the day', () => {
    const millis = logical('int', 'time-millis');
    expect(longs('time', millis, 0n, 86_399_999n, 86_400_000n, -1n)).toEqual([
      0n,
      86_399_999_000n,
      'OUT_OF_RANGE',
      'OUT_OF_RANGE',
    ]);
    expect(longs('time', logical('long', 'time-micros'), 1n, 86_399_999_999n, 86_400_000_000n, MAX)).toEqual([
      1n,
      86_399_999_999n,
      'OUT_OF_RANGE',
      'OUT_OF_RANGE',
    ]);
  });

  it('on the time line become micros, exactly and within the years 0001 to 9999 (case C10)', () => {
    const millis = logical('long', 'timestamp-millis');
    const last = 253_402_300_799_999n;
    const first = -62_135_596_800_000n;
    expect(
      longs('timestamptz', millis, 1_784_000_106_123n, -1n, last, last + 1n, first, first - 1n, MAX),
    ).toEqual([
      1_784_000_106_123_000n,
      -1000n,
      last * 1000n,
      'OUT_OF_RANGE',
      first * 1000n,
      'OUT_OF_RANGE',
      'OUT_OF_RANGE',
    ]);
    const micros = [
      MAX,
      MIN,
      -1n,
      last * 1000n + 999n,
      last * 1000n + 1000n,
      first * 1000n,
      first * 1000n - 1n,
    ];
    expect(longs('timestamptz', logical('long', 'timestamp-micros'), ...micros)).toEqual([
      'OUT_OF_RANGE',
      'OUT_OF_RANGE',
      -1n,
      last * 1000n + 999n,
      'OUT_OF_RANGE',
      first * 1000n,
      'OUT_OF_RANGE',
    ]);
    expect(longs('timestamp', logical('long', 'local-timestamp-millis'), 5n)).toEqual([5000n]);
  });

  it('of nanoseconds are cut towards the past', () => {
    const nanos = logical('long', 'timestamp-nanos');
    const values = [0n, 999n, 1000n, -1n, -1000n, -1001n, MAX, MIN, 4_294_967_296_000n, -4_294_967_296_001n];
    const floor = (v: bigint): bigint => (v - (((v % 1000n) + 1000n) % 1000n)) / 1000n;
    expect(longs('timestamptz', nanos, ...values)).toEqual(values.map(floor));
    expect(longs('timestamptz_ns', nanos, MAX, -1n)).toEqual([MAX, -1n]);
    expect(longs('timestamptz_ns', logical('long', 'timestamp-micros'), 7n, MAX)).toEqual([
      7000n,
      'OUT_OF_RANGE',
    ]);
    expect(longs('timestamptz_ns', logical('long', 'timestamp-millis'), 7n, -7n, MAX / 1000n)).toEqual([
      7_000_000n,
      -7_000_000n,
      'OUT_OF_RANGE',
    ]);
    expect(longs('timestamp_ns', logical('long', 'local-timestamp-nanos'), 7n)).toEqual([7n]);
  });

  it('go into a column of the raw type as they are, and into no column of another meaning', () => {
    const millis = logical('long', 'timestamp-millis');
    expect(longs('long', millis, 7n)).toEqual([7n]);
    expect(longs('timestamp', millis, 7n)).toEqual(['AVRO_RESOLUTION']);
    expect(longs('timestamptz', 'long', 7n)).toEqual(['AVRO_RESOLUTION']);
    expect(longs('double', millis, 7n)).toEqual(['AVRO_RESOLUTION']);
    expect(into('date', logical('int', 'date'), '01')).toEqual([-1]);
    expect(into('int', logical('int', 'date'), '01')).toEqual([-1]);
    expect(into('date', 'int', '01')).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('uuids', () => {
  const text = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const bytes = (value: string): string => sized(Buffer.from(value).toString('hex'));
  const type = logical('string', 'uuid');

  it('of text and of fixed are the same 16 bytes', () => {
    const digits = text.replaceAll('-', '');
    expect(into('uuid', type, bytes(text), bytes(text.toUpperCase()))).toEqual([
      `0x${digits}`,
      `0x${digits}`,
    ]);
    expect(into('uuid', { type: 'fixed', name: 'F', size: 16, logicalType: 'uuid' }, digits)).toEqual([
      `0x${digits}`,
    ]);
    expect(into('string', type, bytes(text))).toEqual([text]);
  });

  it('that are none are a mismatch', () => {
    const bad = [
      '',
      text.slice(1),
      `${text}0`,
      text.replaceAll('-', ''),
      text.replace('0', 'g'),
      text.replace('-', '0'),
    ];
    expect(into('uuid', type, ...bad.map(bytes))).toEqual(bad.map(() => 'TYPE_MISMATCH'));
    expect(into('uuid', 'string', bytes(text))).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('lists and maps', () => {
  const list: IcebergType = { type: 'list', elementId: 0, element: 'int', elementRequired: false };
  const map: IcebergType = {
    type: 'map',
    keyId: 0,
    key: 'string',
    valueId: 0,
    value: 'int',
    valueRequired: false,
  };
  const ints = { type: 'array', items: 'int' };
  const counts = { type: 'map', values: 'int' };

  it('are read block by block, with and without sizes', () => {
    expect(into(list, ints, '00', '04 02 04 00', '02 02 02 04 00', '03 04 02 04 02 06 00')).toEqual([
      [],
      [1, 2],
      [1, 2],
      [1, 2, 3],
    ]);
    expect(into(map, counts, '00', '01 06 02 41 02 02 02 42 04 00')).toEqual([
      [],
      [
        ['A', 1],
        ['B', 2],
      ],
    ]);
  });

  it('whose blocks do not end where they say are a fault', () => {
    expect(into(list, ints, '03 02 02 04 00', '03 06 02 04 00 00', '01 81 02 00', '03 03 02 04 00')).toEqual([
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
  });

  it('of maps keep the last of several entries with one key, and count them', () => {
    const many = (n: number): string =>
      zigzag(BigInt(n)) +
      Array.from({ length: n }, (_, i) => `02${i % 2 === 0 ? '41' : '42'}${zigzag(BigInt(i))}`).join('') +
      '00';
    const bodies = ['06 02 41 02 02 42 04 02 41 06 00', many(12), many(40)];
    const { rows, decoder } = decodePlain([field('a', map)], avroRecord('R', { a: counts }), bodies.map(hex));
    expect(rows).toEqual([
      {
        a: [
          ['B', 2],
          ['A', 3],
        ],
      },
      {
        a: [
          ['A', 10],
          ['B', 11],
        ],
      },
      {
        a: [
          ['A', 38],
          ['B', 39],
        ],
      },
    ]);
    expect(decoder.counts.duplicateKeys).toBe(1 + 10 + 38);
  });

  it('with repeated keys are read again whole: values that nest, and blocks with sizes', () => {
    const nested: IcebergType = { ...map, value: list };
    const type = { type: 'map', values: ints };
    expect(into(nested, type, '02 0241 04 02 04 00 01 0A 0241 02 06 00 00')).toEqual([[['A', [3]]]]);
  });

  it('cannot be made large by a few bytes', () => {
    const empty = { type: 'record', name: 'E', fields: [] };
    const struct: IcebergType = { ...list, element: { type: 'struct', fields: [field('x', 'int')] } };
    const million = zigzag(1_000_000n);
    expect(
      into(struct, { type: 'array', items: empty }, `${zigzag(1000n)}00`, `${million}00`, `${zigzag(MAX)}00`),
    ).toEqual([Array.from({ length: 1000 }, () => ({ x: null })), 'TOO_LARGE', 'TOO_LARGE']);
    expect(into(list, { type: 'array', items: 'null' }, `${million}00`)).toEqual(['TOO_LARGE']);
    expect(into(list, ints, `${million}020400`, `${zigzag(MIN)}0000`, `${zigzag(MAX)}00`)).toEqual([
      'AVRO_DECODE',
      'AVRO_DECODE',
      'AVRO_DECODE',
    ]);
    expect(into(map, counts, `${million}020400`)).toEqual(['AVRO_DECODE']);
  });
});

describe('unions', () => {
  const optional = (type: unknown): unknown => ['null', type];

  it('of null and a type are an optional column, either way round', () => {
    expect(into('int', optional('int'), '00', '0202', '04', '01', '8000', '820002')).toEqual([
      null,
      1,
      'AVRO_DECODE',
      'AVRO_DECODE',
      null,
      1,
    ]);
    expect(into('int', ['int', 'null'], '0002', '02')).toEqual([1, null]);
    expect(into('int', ['int'], '0002', '0202')).toEqual([1, 'AVRO_DECODE']);
  });

  it('of several types are a struct of members', () => {
    const struct: IcebergType = {
      type: 'struct',
      fields: [field('member0', 'string'), field('member1', 'int'), field('member2', 'boolean')],
    };
    const bodies = ['00 0241', '02', '04 02', '06 01', '08'];
    expect(into(struct, ['string', 'null', 'int', 'boolean'], ...bodies)).toEqual([
      { member0: 'A', member1: null, member2: null },
      null,
      { member0: null, member1: 1, member2: null },
      { member0: null, member1: null, member2: true },
      'AVRO_DECODE',
    ]);
  });

  it('of numbers go into the wider column', () => {
    expect(into('long', ['null', 'int', 'long'], '00', '0202', '0404')).toEqual([null, 1n, 2n]);
    expect(into('double', ['float', 'double'], '000000803F', '02000000000000F03F')).toEqual([1, 1]);
  });

  it('with a member that no column takes are listed, not lost silently', () => {
    const struct: IcebergType = { type: 'struct', fields: [field('member0', 'string')] };
    const schema = avroRecord('R', { a: ['string', 'int'] });
    const { rows, decoder } = decodePlain([field('a', struct)], schema, ['000241', '0202'].map(hex));
    expect(rows).toEqual([{ a: { member0: 'A' } }, { a: { member0: null } }]);
    expect(decoder.rowsWithUnknownFields).toEqual([1]);
  });

  it('are at fault only with the branch that does not fit', () => {
    expect(into('int', ['null', 'int', 'string'], '00', '0202', '040241')).toEqual([
      null,
      1,
      'AVRO_RESOLUTION',
    ]);
    expect(into('int', ['null', 'string'], '00', '020241')).toEqual([null, 'AVRO_RESOLUTION']);
  });

  it('that have become one type go into the first member that takes it', () => {
    const struct: IcebergType = {
      type: 'struct',
      fields: [field('member0', 'string'), field('member1', 'int')],
    };
    expect(into(struct, 'int', '02')).toEqual([{ member0: null, member1: 1 }]);
    expect(into(struct, ['null', 'string'], '00', '020241')).toEqual([null, { member0: 'A', member1: null }]);
    expect(into(struct, 'boolean', '01')).toEqual(['AVRO_RESOLUTION']);
  });
});

describe('a datum that is no record', () => {
  it('fills the one column, or the one that is called value', () => {
    expect(decodePlain([field('k', 'long')], '"long"', [hex('02')]).rows).toEqual([{ k: 1n }]);
    expect(decodePlain([field('k', 'long')], '["null","long"]', ['00', '0202'].map(hex)).rows).toEqual([
      { k: null },
      { k: 1n },
    ]);
    const two = [field('a', 'long'), field('value', 'long')];
    expect(decodePlain(two, '"long"', [hex('02')]).rows).toEqual([{ a: null, value: 1n }]);
    const none = decodePlain([field('a', 'long'), field('b', 'long')], '"long"', [hex('02')]).decoder;
    expect([none.rowsWithUnknownFields, none.counts.unknownFields]).toEqual([[0], 1]);
  });

  it('of a union of records fills their columns, or the members', () => {
    const union = JSON.stringify(['A', 'B'].map((name) => JSON.parse(avroRecord(name, { [name]: 'int' }))));
    const fields = [field('A', 'int'), field('B', 'int')];
    expect(decodePlain(fields, union, ['0002', '0204'].map(hex)).rows).toEqual([
      { A: 1, B: null },
      { A: null, B: 2 },
    ]);
    const members = ['A', 'B'].map((name, i) =>
      field(`member${i}`, { type: 'struct', fields: [field(name, 'int')] }),
    );
    expect(decodePlain(members, union, ['0002', '0204'].map(hex)).rows).toEqual([
      { member0: { A: 1 }, member1: null },
      { member0: null, member1: { B: 2 } },
    ]);
  });

  it('of a union of records fills the members also beside a column for corrupt records', () => {
    const union = JSON.stringify(['A', 'B'].map((name) => JSON.parse(avroRecord(name, { [name]: 'int' }))));
    const fields = [
      field('_corrupt', 'string'),
      ...['A', 'B'].map((name, i) => field(`member${i}`, { type: 'struct', fields: [field(name, 'int')] })),
    ];
    const options = { mode: 'permissive', corruptRecordColumn: '_corrupt' } as const;
    expect(decodePlain(fields, union, ['0204', '04'].map(hex), options).rows).toEqual([
      { _corrupt: null, member0: null, member1: { B: 2 } },
      { _corrupt: 'BA==', member0: null, member1: null },
    ]);
  });

  it('that is null is a row of nulls, or a fault where a column is required', () => {
    const union = JSON.stringify(['null', JSON.parse(avroRecord('A', { a: 'int' }))]);
    expect(decodePlain([field('a', 'int')], union, [hex('00')]).rows).toEqual([{ a: null }]);
    const { decoder } = decodePlain([field('a', 'int', { required: true })], union, [hex('00')]);
    expect(faultsOf(decoder)).toEqual(['0 MISSING_REQUIRED']);
  });
});
