import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BytesColumn } from '../../src/columns/bytes-column.ts';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { ParquetCodec } from '../../src/core/parquet-codec.ts';
import { type PrimitiveType, parseDecimal } from '../../src/core/schema.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import {
  ALL_TYPES,
  bytesVector,
  field,
  HEADERS_FIELD,
  headerBlock,
  int64Vector,
  type TableValue,
  tableSchema,
  toVector,
  writeTable,
} from '../support/parquet-table.ts';
import { runPython } from '../support/python.ts';

interface Field {
  name: string;
  type: string;
  nullable: boolean;
  id: number;
  children?: Field[];
}
interface Chunk {
  path: string;
  compression: string;
  encodings: string[];
  nullCount: number;
  min: unknown;
  max: unknown;
  hasColumnIndex: boolean;
  hasOffsetIndex: boolean;
  hasBloomFilter: boolean;
}
interface Inspection {
  pyarrow: {
    rows: unknown[][];
    fields: Field[];
    parquet: {
      path: string;
      physical: string;
      length: number;
      logical: string;
      converted: string;
      definition: number;
      repetition: number;
    }[];
    rowGroups: { rows: number; columns: Chunk[] }[];
    createdBy: string;
  };
  pyiceberg: string[];
  duckdb: { rows: unknown[][]; schema: [string, string | null, number | null, string | null][] };
}

const io = new LocalFileIO();
let directory: string;
let files = 0;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-parquet-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const freshPath = (): string => join(directory, `data-${files++}.parquet`);
const inspect = async (path: string): Promise<Inspection> =>
  (await runPython('inspect_parquet.py', [path])) as Inspection;

/** Three values of each type and a null, the least ones of case C26 among them. */
function samples(type: PrimitiveType): TableValue[] {
  const decimal = parseDecimal(type);
  if (decimal !== undefined) return [-1n, null, 10n ** BigInt(decimal.precision) - 1n, 0n];
  switch (type) {
    case 'boolean':
      return [true, null, false, true];
    case 'int':
      return [-(2 ** 31), null, 2 ** 31 - 1, 0];
    case 'date':
      return [-1, null, 20_000, 0];
    case 'long':
      return [-(2n ** 63n), null, 2n ** 63n - 1n, 9007199254740993n];
    case 'time':
      return [0n, null, 86_399_999_999n, 1n];
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
      return [-1n, null, 1784000106123456n, 0n];
    case 'float':
    case 'double':
      return [Number.NaN, null, -0, 1.5];
    case 'string':
      return ['', null, `${'b'.repeat(15)}\u2026 tail`, 'aa'];
    case 'binary':
      return [new Uint8Array(0), null, new Uint8Array(20).fill(0xff), Uint8Array.of(0)];
    default: {
      const width = type === 'uuid' ? 16 : 5;
      return [new Uint8Array(width).fill(0xff), null, new Uint8Array(width), new Uint8Array(width).fill(7)];
    }
  }
}

/** A value as `inspect_parquet.py` prints it. */
function printed(type: PrimitiveType, value: TableValue): unknown {
  if (value === null) return null;
  const decimal = parseDecimal(type);
  if (decimal !== undefined) return decimalText(value as bigint, decimal.scale);
  if (type === 'uuid')
    return Buffer.from(value as Uint8Array)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'bigint') return value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : value;
  if (type === 'float' || type === 'double')
    return Number.isNaN(value) ? 'nan' : Object.is(value, -0) ? '-0x0.0p+0' : '0x1.8000000000000p+0';
  return value;
}

/** As Python's Decimal prints it: small numbers of many digits with an exponent. */
function decimalText(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString();
  const sign = unscaled < 0n ? '-' : '';
  const exponent = digits.length - 1 - scale;
  if (exponent < -6)
    return `${sign}${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ''}E${exponent}`;
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, padded.length - scale)}.${padded.slice(padded.length - scale)}`;
}

/** `converted` is what pyarrow derives from the logical type: nothing for local times; the file has it (unit tests). */
const EXPECTED_TYPES: Record<
  string,
  { arrow: string; physical: string; converted: string; iceberg: string; length?: number }
> = {
  boolean: { arrow: 'bool', physical: 'BOOLEAN', converted: 'NONE', iceberg: 'boolean' },
  int: { arrow: 'int32', physical: 'INT32', converted: 'NONE', iceberg: 'int' },
  long: { arrow: 'int64', physical: 'INT64', converted: 'NONE', iceberg: 'long' },
  float: { arrow: 'float', physical: 'FLOAT', converted: 'NONE', iceberg: 'float' },
  double: { arrow: 'double', physical: 'DOUBLE', converted: 'NONE', iceberg: 'double' },
  date: { arrow: 'date32[day]', physical: 'INT32', converted: 'DATE', iceberg: 'date' },
  time: { arrow: 'time64[us]', physical: 'INT64', converted: 'NONE', iceberg: 'time' },
  timestamp: {
    arrow: 'timestamp[us]',
    physical: 'INT64',
    converted: 'NONE',
    iceberg: 'timestamp',
  },
  timestamptz: {
    arrow: 'timestamp[us, tz=UTC]',
    physical: 'INT64',
    converted: 'TIMESTAMP_MICROS',
    iceberg: 'timestamptz',
  },
  string: { arrow: 'string', physical: 'BYTE_ARRAY', converted: 'UTF8', iceberg: 'string' },
  binary: { arrow: 'binary', physical: 'BYTE_ARRAY', converted: 'NONE', iceberg: 'binary' },
  uuid: {
    arrow: 'extension<arrow.uuid>',
    physical: 'FIXED_LEN_BYTE_ARRAY',
    converted: 'NONE',
    iceberg: 'uuid',
    length: 16,
  },
  'fixed[5]': {
    arrow: 'fixed_size_binary[5]',
    physical: 'FIXED_LEN_BYTE_ARRAY',
    converted: 'NONE',
    iceberg: 'fixed[5]',
    length: 5,
  },
  'decimal(7, 2)': {
    arrow: 'decimal128(7, 2)',
    physical: 'INT32',
    converted: 'DECIMAL',
    iceberg: 'decimal(7, 2)',
  },
  'decimal(18, 4)': {
    arrow: 'decimal128(18, 4)',
    physical: 'INT64',
    converted: 'DECIMAL',
    iceberg: 'decimal(18, 4)',
  },
  'decimal(19, 4)': {
    arrow: 'decimal128(19, 4)',
    physical: 'FIXED_LEN_BYTE_ARRAY',
    converted: 'DECIMAL',
    iceberg: 'decimal(19, 4)',
    length: 9,
  },
  'decimal(38, 10)': {
    arrow: 'decimal128(38, 10)',
    physical: 'FIXED_LEN_BYTE_ARRAY',
    converted: 'DECIMAL',
    iceberg: 'decimal(38, 10)',
    length: 16,
  },
};

describe('pyarrow, PyIceberg and DuckDB', () => {
  it('see every type, its field id, its nulls and its values', async () => {
    const types = ALL_TYPES.filter((type) => type in EXPECTED_TYPES);
    const schema = tableSchema(types.map((type, i) => field(i + 100, `c${i}`, type)));
    const path = freshPath();
    const columns = types.map(samples);
    const metrics = await writeTable(
      io,
      path,
      schema,
      columns.map((values, i) => toVector(types[i], values)),
      4,
      { flushEvery: 3 },
    );
    const { pyarrow, pyiceberg, duckdb } = await inspect(path);
    const rows = [0, 1, 2, 3].map((row) => types.map((type, i) => printed(type, columns[i][row])));
    expect(pyarrow.rows).toEqual(rows);
    expect(duckdb.rows).toEqual(rows);
    types.forEach((type, i) => {
      const wanted = EXPECTED_TYPES[type];
      expect(pyarrow.fields[i]).toMatchObject({
        name: `c${i}`,
        type: wanted.arrow,
        nullable: true,
        id: i + 100,
      });
      expect(pyarrow.parquet[i]).toMatchObject({
        physical: wanted.physical,
        converted: wanted.converted,
        definition: 1,
        repetition: 0,
      });
      if (wanted.length !== undefined) expect(pyarrow.parquet[i].length).toBe(wanted.length);
      expect(pyiceberg[i]).toBe(`${i + 100}: c${i}: optional ${wanted.iceberg}`);
      expect(duckdb.schema[i + 1][2]).toBe(i + 100);
    });
    // the least decimal, -1, in its shortest form, whatever the physical type (case C26)
    for (const [i, type] of types.entries()) {
      if (parseDecimal(type) !== undefined)
        expect(Buffer.from(metrics.lowerBounds.get(i + 100)!).toString('hex')).toBe('ff');
    }
    expect(pyarrow.createdBy).toBe('Sluice version 0.1.0');
  });

  it('find statistics, page indexes and bloom filters', async () => {
    const path = freshPath();
    const schema = tableSchema([
      field(1, 'text', 'string'),
      field(2, 'n', 'long', true),
      field(3, 'topic', 'string', true),
    ]);
    const texts = [`${'b'.repeat(15)}\u2026 tail`, 'aa', null, 'ab'];
    const vectors: ColumnVector[] = [
      bytesVector(texts),
      int64Vector([3n, -5n, 4n, 0n]),
      { kind: 'constant', value: 'ad-clicks' },
    ];
    await writeTable(io, path, schema, vectors, 4, { flushEvery: 2, bloomFilterFieldIds: [2] });
    const { rowGroups } = (await inspect(path)).pyarrow;
    expect(rowGroups.map((group) => group.rows)).toEqual([2, 2]);
    const [text, n, topic] = rowGroups[0].columns;
    expect(text).toMatchObject({
      nullCount: 0,
      hasColumnIndex: true,
      hasOffsetIndex: true,
      hasBloomFilter: false,
      compression: 'ZSTD',
    });
    expect(Buffer.from(String(text.min), 'hex').toString()).toBe('aa');
    expect(Buffer.from(String(text.max), 'hex').toString()).toBe(`${'b'.repeat(15)}\u2027`);
    expect(n).toMatchObject({ min: -5, max: 3, hasBloomFilter: true });
    expect(topic.encodings).toContain('RLE_DICTIONARY');
    expect(rowGroups[1].columns[0]).toMatchObject({ nullCount: 1 });
    expect(rowGroups[1].columns[1]).toMatchObject({ min: 0, max: 4 });
  });

  it.each(['zstd', 'snappy', 'gzip', 'lz4', 'none'] as ParquetCodec[])(
    'read many pages and row groups: %s',
    async (codec) => {
      const path = freshPath();
      const rows = 3000;
      const schema = tableSchema([
        field(1, 'v', 'string'),
        field(2, 'o', 'long', true),
        field(3, 'f', 'boolean'),
        field(4, 't', 'string'),
      ]);
      const texts = Array.from({ length: rows }, (_, i) =>
        i % 11 === 0 ? null : `value ${i} `.repeat(i % 30),
      );
      const flags = texts.map((_, i) => (i % 5 === 0 ? null : i % 3 === 0));
      const vectors: ColumnVector[] = [
        bytesVector(texts),
        int64Vector(texts.map((_, i) => BigInt(i))),
        toVector('boolean', flags),
        { kind: 'constant', value: 'x' },
      ];
      await writeTable(io, path, schema, vectors, rows, {
        codec,
        level: 3,
        pageBytes: 2048,
        pageRows: 333,
        flushEvery: 1100,
        step: 17,
      });
      const { pyarrow, duckdb } = await inspect(path);
      const wanted = texts.map((text, i) => [text, i, flags[i], 'x']);
      expect(pyarrow.rows).toEqual(wanted);
      expect(duckdb.rows).toEqual(wanted);
      expect(pyarrow.rowGroups.length).toBe(3);
    },
  );

  it('read dictionaries, and chunks that go on without one', async () => {
    const path = freshPath();
    const rows = 30_000;
    const schema = tableSchema([
      field(1, 'few', 'string'),
      field(2, 'grows', 'binary', true),
      field(3, 'n', 'long', true),
    ]);
    const few = Array.from({ length: rows }, (_, i) =>
      i % 7 === 0 ? null : ['DE', 'FR', '', 'é'.repeat(30)][i % 4],
    );
    const grows = few.map((_, i) => Buffer.from(i < 15_000 ? `${i % 3}` : `session ${i}`));
    const vectors = [bytesVector(few), bytesVector(grows), int64Vector(few.map((_, i) => BigInt(i)))];
    await writeTable(io, path, schema, vectors, rows, {
      pageRows: 7000,
      dictionaryBytes: 64 * 1024,
      flushEvery: 25_000,
    });
    const { pyarrow, duckdb } = await inspect(path);
    const wanted = few.map((text, i) => [text, grows[i].toString('hex'), i]);
    expect(pyarrow.rows).toEqual(wanted);
    expect(duckdb.rows).toEqual(wanted);
    const [first, second] = pyarrow.rowGroups.map((group) => group.columns.map((c) => c.encodings));
    expect([first[0], second[0]].every((encodings) => encodings.includes('RLE_DICTIONARY'))).toBe(true);
    expect(first[1]).toEqual(expect.arrayContaining(['PLAIN', 'RLE_DICTIONARY']));
    expect(second[1]).not.toContain('RLE_DICTIONARY');
  });

  it('see Kafka headers as a list of structs, with field ids at every level', async () => {
    const raw = new BytesColumn();
    raw.appendBytes(
      headerBlock([
        { key: 'trace', value: 'abc' },
        { key: 'empty', value: '' },
        { key: 'none', value: null },
      ]),
    );
    raw.appendNull();
    raw.appendBytes(headerBlock([]));
    raw.appendBytes(headerBlock([{ key: 'trace', value: Uint8Array.of(0, 255) }]));
    const path = freshPath();
    const vectors: ColumnVector[] = [{ kind: 'headers', raw }, int64Vector([1n, 2n, 3n, 4n])];
    await writeTable(io, path, tableSchema([HEADERS_FIELD, field(1, 'n', 'long')]), vectors, 4, {
      pageRows: 2,
    });
    const { pyarrow, pyiceberg, duckdb } = await inspect(path);
    const rows = [
      [
        [
          { key: 'trace', value: '616263' },
          { key: 'empty', value: '' },
          { key: 'none', value: null },
        ],
        1,
      ],
      [null, 2],
      [[], 3],
      [[{ key: 'trace', value: '00ff' }], 4],
    ];
    expect(pyarrow.rows).toEqual(rows);
    expect(duckdb.rows).toEqual(rows);
    const list = pyarrow.fields[0];
    expect([list.id, list.children![0].id, ...list.children![0].children!.map((f) => f.id)]).toEqual([
      20, 21, 22, 23,
    ]);
    expect(pyiceberg[0]).toBe(
      '20: headers: optional list<struct<22: key: required string, 23: value: optional binary>>',
    );
    expect(pyarrow.rowGroups[0].columns.map((c) => c.hasOffsetIndex)).toEqual([true, true, true]);
  });

  it('read a file without rows, and one whose columns are constants and nulls only', async () => {
    const schema = tableSchema([field(1, 'a', 'string'), field(2, 'b', 'int'), field(3, 'c', 'double')]);
    const constants: ColumnVector[] = [
      { kind: 'constant', value: 'x' },
      { kind: 'constant', value: null },
      { kind: 'constant', value: -0 },
    ];
    const empty = freshPath();
    await writeTable(io, empty, schema, constants, 0);
    expect((await inspect(empty)).pyarrow.rows).toEqual([]);
    const path = freshPath();
    await writeTable(io, path, schema, constants, 50_000);
    const { pyarrow, duckdb } = await inspect(path);
    expect(pyarrow.rows.length).toBe(50_000);
    expect(new Set(pyarrow.rows.map((row) => JSON.stringify(row)))).toEqual(
      new Set(['["x",null,"-0x0.0p+0"]']),
    );
    expect(duckdb.rows).toEqual(pyarrow.rows);
  });
});
