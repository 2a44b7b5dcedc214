/** One table of every type, flat and nested, as JSON documents and as Avro data, and what each reader must find in it. */
import type { ForeignValue } from './python.ts';

const f = (id: number, name: string, type: unknown, required = false) => ({ id, name, required, type });

/** Iceberg schema JSON: DDL has no uuid, time or fixed. */
export const EVERY_TYPE = {
  type: 'struct',
  'schema-id': 0,
  fields: [
    f(1, 'id', 'long', true),
    f(2, 'flag', 'boolean'),
    f(3, 'small', 'int'),
    f(4, 'big', 'long'),
    f(5, 'single', 'float'),
    f(6, 'twice', 'double'),
    f(7, 'day', 'date'),
    f(8, 'clock', 'time'),
    f(9, 'local', 'timestamp'),
    f(10, 'instant', 'timestamptz'),
    f(11, 'text', 'string'),
    f(12, 'uid', 'uuid'),
    f(13, 'bin', 'binary'),
    f(14, 'four', 'fixed[4]'),
    f(15, 'd1', 'decimal(1, 0)'),
    f(16, 'd9', 'decimal(9, 2)'),
    f(17, 'd18', 'decimal(18, 4)'),
    f(18, 'd19', 'decimal(19, 4)'),
    f(19, 'd38', 'decimal(38, 10)'),
    f(20, 'pair', {
      type: 'struct',
      fields: [
        f(21, 'a', 'int'),
        f(22, 'b', { type: 'struct', fields: [f(23, 'at', 'timestamptz'), f(24, 'uid', 'uuid')] }),
      ],
    }),
    f(25, 'list', { type: 'list', 'element-id': 26, element: 'decimal(9, 2)', 'element-required': false }),
    f(27, 'map', {
      type: 'map',
      'key-id': 28,
      key: 'string',
      'value-id': 29,
      value: 'long',
      'value-required': false,
    }),
    f(30, 'lines', {
      type: 'list',
      'element-id': 31,
      'element-required': false,
      element: {
        type: 'struct',
        fields: [
          f(32, 'sku', 'string'),
          f(33, 'tags', { type: 'list', 'element-id': 34, element: 'string', 'element-required': false }),
        ],
      },
    }),
  ],
} as const;

const UUID_LOW = '00000000-0000-0000-0000-000000000001';
const UUID_HIGH = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const MAX_38 = '9999999999999999999999999999.9999999999';

/** Integers beyond 2^53 stand in the texts as digits. */
export const EVERY_TYPE_JSON: readonly string[] = [
  `{"id":0,"flag":true,"small":2147483647,"big":9223372036854775807,"single":3.4028234663852886e38,"twice":1.7976931348623157e308,
    "day":"9999-12-31","clock":"23:59:59.999999","local":"9999-12-31T23:59:59.999999","instant":"9999-12-31T23:59:59.999999Z",
    "text":"é€😀\\u0000\\n\\"","uid":"${UUID_HIGH}","bin":"AP+A","four":"/////w==","d1":9,"d9":9999999.99,"d18":99999999999999.9999,
    "d19":999999999999999.9999,"d38":${MAX_38},"pair":{"a":1,"b":{"at":"2026-07-14T09:05:06.123456+05:30","uid":"${UUID_LOW}"}},
    "list":[1.25,null,-1.28],"map":{"":9223372036854775807,"k":null},"lines":[{"sku":"a","tags":["x",null,""]},null,{"sku":null,"tags":[]}]}`,
  `{"id":1,"flag":false,"small":-2147483648,"big":-9223372036854775808,"single":-1.401298464324817e-45,"twice":-4.9e-324,
    "day":"0001-01-01","clock":"00:00:00","local":"0001-01-01T00:00:00","instant":"0001-01-01T00:00:00Z",
    "text":"","uid":"${UUID_LOW}","bin":"","four":"AAAAAA==","d1":-9,"d9":-0.01,"d18":-0.0001,"d19":-0.0001,"d38":-0.0000000001,
    "pair":{"a":null,"b":null},"list":[],"map":{},"lines":[]}`,
  `{"id":2}`,
  `{"id":3,"day":"1969-12-31","clock":"12:00:00.1","local":"1969-12-31T23:59:59.999999","instant":"1969-12-31T23:59:59.999999Z","pair":{"b":{"at":null}},
    "list":[-9999999.99],"map":{"one":1,"two":2},"lines":[{"tags":null}],"twice":-0.0,"single":0.1,"d9":-1.28}`,
];

const SECOND = 1_000_000n;
const LAST_US = 253402300799n * SECOND + 999_999n;
const FIRST_US = -62135596800n * SECOND;

/** As `ForeignValue`s: timestamps in microseconds, maps as lists of pairs, uuids without dashes. */
export const EVERY_TYPE_ROWS: readonly Record<string, ForeignValue>[] = [
  {
    id: 0,
    flag: true,
    small: 2147483647,
    big: 9223372036854775807n,
    single: Math.fround(3.4028234663852886e38),
    twice: Number.MAX_VALUE,
    day: '9999-12-31',
    clock: 86399999999,
    local: LAST_US,
    instant: LAST_US,
    text: 'é€😀\u0000\n"',
    uid: UUID_HIGH.replaceAll('-', ''),
    bin: '00ff80',
    four: 'ffffffff',
    d1: '9',
    d9: '9999999.99',
    d18: '99999999999999.9999',
    d19: '999999999999999.9999',
    d38: MAX_38,
    pair: { a: 1, b: { at: 1784000106123456, uid: UUID_LOW.replaceAll('-', '') } },
    list: ['1.25', null, '-1.28'],
    map: [
      ['', 9223372036854775807n],
      ['k', null],
    ],
    lines: [{ sku: 'a', tags: ['x', null, ''] }, null, { sku: null, tags: [] }],
  },
  {
    id: 1,
    flag: false,
    small: -2147483648,
    big: -9223372036854775808n,
    single: Math.fround(-1.401298464324817e-45),
    twice: -Number.MIN_VALUE,
    day: '0001-01-01',
    clock: 0,
    local: FIRST_US,
    instant: FIRST_US,
    text: '',
    uid: UUID_LOW.replaceAll('-', ''),
    bin: '',
    four: '00000000',
    d1: '-9',
    d9: '-0.01',
    d18: '-0.0001',
    d19: '-0.0001',
    d38: '-1E-10',
    pair: { a: null, b: null },
    list: [],
    map: [],
    lines: [],
  },
  nulls(2),
  {
    ...nulls(3),
    day: '1969-12-31',
    clock: 43200100000,
    local: -1,
    instant: -1,
    pair: { a: null, b: { at: null, uid: null } },
    list: ['-9999999.99'],
    map: [
      ['one', 1],
      ['two', 2],
    ],
    lines: [{ sku: null, tags: null }],
    twice: -0,
    single: Math.fround(0.1),
    d9: '-1.28',
  },
];

function nulls(id: number): Record<string, ForeignValue> {
  return Object.fromEntries(EVERY_TYPE.fields.map(({ name }) => [name, name === 'id' ? id : null]));
}

const logical = (type: string, logicalType: string, more: object = {}) => ({ type, logicalType, ...more });
const decimal = (precision: number, scale: number) => logical('bytes', 'decimal', { precision, scale });
const maybe = (type: unknown) => ['null', type];
const record = (name: string, fields: Record<string, unknown>) => ({
  type: 'record',
  name,
  fields: Object.entries(fields).map(([key, type]) => ({ name: key, type })),
});

/** The Avro schema of the same rows. */
export const EVERY_TYPE_AVRO = record('Every', {
  id: 'long',
  flag: maybe('boolean'),
  small: maybe('int'),
  big: maybe('long'),
  single: maybe('float'),
  twice: maybe('double'),
  day: maybe(logical('int', 'date')),
  clock: maybe(logical('long', 'time-micros')),
  local: maybe(logical('long', 'local-timestamp-micros')),
  instant: maybe(logical('long', 'timestamp-micros')),
  text: maybe('string'),
  uid: maybe(logical('string', 'uuid')),
  bin: maybe('bytes'),
  four: maybe({ type: 'fixed', name: 'Four', size: 4 }),
  d1: maybe(decimal(1, 0)),
  d9: maybe(decimal(9, 2)),
  d18: maybe(decimal(18, 4)),
  d19: maybe(logical('fixed', 'decimal', { name: 'D19', size: 9, precision: 19, scale: 4 })),
  d38: maybe(decimal(38, 10)),
  pair: maybe(
    record('Pair', {
      a: maybe('int'),
      b: maybe(
        record('Inner', {
          at: maybe(logical('long', 'timestamp-micros')),
          uid: maybe(logical('string', 'uuid')),
        }),
      ),
    }),
  ),
  list: maybe({ type: 'array', items: maybe(decimal(9, 2)) }),
  map: maybe({ type: 'map', values: maybe('long') }),
  lines: maybe({
    type: 'array',
    items: maybe(
      record('Line', { sku: maybe('string'), tags: maybe({ type: 'array', items: maybe('string') }) }),
    ),
  }),
});

/** The rows as avsc writes them: unions as `{branch: value}`, logical types as what lies under them. */
export function everyTypeAvroRow(row: Record<string, ForeignValue>): Record<string, unknown> {
  return avroOf(EVERY_TYPE_AVRO, row) as Record<string, unknown>;
}

interface Schema {
  type?: string;
  name?: string;
  logicalType?: string;
  size?: number;
  fields?: { name: string; type: unknown }[];
  items?: unknown;
  values?: unknown;
}

function avroOf(schema: unknown, value: ForeignValue): unknown {
  if (Array.isArray(schema)) {
    if (value === null) return null;
    const branch = schema[1] as Schema | string;
    return { [branchName(branch)]: avroOf(branch, value) };
  }
  const type = typeof schema === 'string' ? schema : (schema as Schema).type!;
  const node: Schema = typeof schema === 'string' ? {} : (schema as Schema);
  if (node.logicalType === 'decimal') return unscaledBytes(String(value), node.size);
  if (node.logicalType === 'date') return Math.round(Date.parse(`${value}T00:00:00Z`) / 86_400_000);
  if (node.logicalType === 'uuid')
    return String(value).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  switch (type) {
    case 'record': {
      const row = value as Record<string, ForeignValue>;
      return Object.fromEntries(
        node.fields!.map((field) => [field.name, avroOf(field.type, row[field.name])]),
      );
    }
    case 'array':
      return (value as ForeignValue[]).map((item) => avroOf(node.items, item));
    case 'map':
      return Object.fromEntries(
        (value as [string, ForeignValue][]).map(([k, v]) => [k, avroOf(node.values, v)]),
      );
    case 'long':
      return BigInt(value as number);
    case 'bytes':
    case 'fixed':
      return Buffer.from(value as string, 'hex');
    default:
      return value;
  }
}

function branchName(branch: Schema | string): string {
  return typeof branch === 'string' ? branch : (branch.name ?? branch.type!);
}

/** Two's complement, big-endian: as few bytes as there may be, or `size`. */
function unscaledBytes(text: string, size?: number): Buffer {
  const unscaled = BigInt(text === '-1E-10' ? '-1' : text.replace('.', ''));
  let width = size ?? 1;
  if (size === undefined) while (BigInt.asIntN(width * 8, unscaled) !== unscaled) width++;
  const digits = BigInt.asUintN(width * 8, unscaled)
    .toString(16)
    .padStart(width * 2, '0');
  return Buffer.from(digits, 'hex');
}
