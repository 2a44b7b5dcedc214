import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
} from '@duckdb/node-api';
import fc from 'fast-check';
import { type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { DataFileMetrics } from '../../src/core/data-file.ts';
import type { ParquetCodec } from '../../src/core/parquet-codec.ts';
import { type PrimitiveType, parseDecimal } from '../../src/core/schema.ts';
import {
  binaryLowerBound,
  binaryUpperBound,
  readSignedBigEndian,
  singleValueBytes,
  stringLowerBound,
  stringUpperBound,
} from '../../src/parquet/bounds.ts';
import { DEFAULT_PARQUET_OPTIONS, type ParquetWriterOptions } from '../../src/parquet/options.ts';
import { type ReadVector, readColumns } from '../../src/parquet/reader.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import {
  ALL_TYPES,
  arbitraryValue,
  field,
  type TableValue,
  tableSchema,
  toVector,
} from '../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';
let fileNumber = 0;

interface Column {
  type: PrimitiveType;
  required: boolean;
  values: TableValue[];
}
/** Rows that are handed over in one call; columns with their bit set in `constants` repeat the first value of the stretch. */
interface Stretch {
  rows: number;
  constants: number;
  flush: boolean;
}
interface Table {
  columns: Column[];
  rows: number;
  stretches: Stretch[];
  options: Partial<ParquetWriterOptions>;
}

const arbitraryTable: fc.Arbitrary<Table> = fc
  .record({
    types: fc.array(fc.tuple(fc.constantFrom(...ALL_TYPES), fc.boolean()), { minLength: 1, maxLength: 5 }),
    stretches: fc.array(
      fc.record({ rows: fc.integer({ min: 0, max: 40 }), constants: fc.nat(31), flush: fc.boolean() }),
      { maxLength: 8 },
    ),
    options: fc.record({
      codec: fc.constantFrom<ParquetCodec>('zstd', 'snappy', 'gzip', 'lz4', 'none'),
      pageBytes: fc.constantFrom(1024, 1500, 1 << 20),
      pageRows: fc.constantFrom(1, 7, 20, 20_000),
      rowGroupBytes: fc.constantFrom(1024, 20_000, 1 << 25),
      bloomFilterFieldIds: fc.constantFrom([], [1, 2, 3]),
    }),
  })
  .chain(({ types, stretches, options }) => {
    const rows = stretches.reduce((sum, s) => sum + s.rows, 0);
    const columns = types.map(([type, required]) => {
      const value = arbitraryValue(type);
      const cell: fc.Arbitrary<TableValue> = required ? value : fc.option(value, { freq: 4 });
      return fc
        .array(cell, { minLength: rows, maxLength: rows, size: 'max' })
        .map((values) => ({ type, required, values }));
    });
    return fc.tuple(...columns).map((list) => ({ columns: list, rows, stretches, options }));
  })
  .map(withConstants);

/** Makes the values what will be written: stretches of constants repeat their first value. */
function withConstants(table: Table): Table {
  const columns = table.columns.map((column, c) => {
    const values = [...column.values];
    let row = 0;
    for (const stretch of table.stretches) {
      if ((stretch.constants >> c) & 1) values.fill(values[row], row, row + stretch.rows);
      row += stretch.rows;
    }
    return { ...column, values };
  });
  return { ...table, columns };
}

async function write(io: MemoryFileIO, table: Table): Promise<DataFileMetrics> {
  const schema = tableSchema(table.columns.map((c, i) => field(i + 1, `c${i}`, c.type, c.required)));
  const writer = new ParquetWriter(await io.create(PATH), schema, {
    ...DEFAULT_PARQUET_OPTIONS,
    ...table.options,
  });
  const whole = table.columns.map((c) => toVector(c.type, c.values));
  let row = 0;
  for (const stretch of table.stretches) {
    const vectors = whole.map((vector, c): ColumnVector => {
      const isConstant = ((stretch.constants >> c) & 1) === 1 && stretch.rows > 0;
      return isConstant ? { kind: 'constant', value: table.columns[c].values[row] } : vector;
    });
    writer.append(vectors, row, row + stretch.rows);
    row += stretch.rows;
    if (stretch.flush || writer.wantsFlush) await writer.flush();
  }
  expect(writer.rowCount).toBe(table.rows);
  return writer.close();
}

/** A text that is the same for values that are the same; floats by their bits (NaN is one value). */
function show(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function expected(table: Table): string[][] {
  return table.columns.map((column) => column.values.map(show));
}

function vectorValue(vector: ReadVector, row: number, type: PrimitiveType): TableValue {
  if (vector.kind === 'strings') return vector.values[row];
  if (vector.isNull(row)) return null;
  if (vector.kind === 'bytes') return vector.get(row);
  if (vector.kind === 'fixed') {
    const bytes = vector.data.subarray(row * vector.width, (row + 1) * vector.width);
    return parseDecimal(type) === undefined ? bytes : readSignedBigEndian(bytes);
  }
  if (vector.kind === 'int64') return vector.getBigInt(row);
  if (vector.kind === 'boolean') return vector.values[row] === 1;
  return parseDecimal(type) === undefined ? vector.values[row] : BigInt(vector.values[row]);
}

describe('Parquet files', () => {
  let directory: string;
  let duckdb: DuckDBConnection;
  let instance: DuckDBInstance;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-parquet-'));
    instance = await DuckDBInstance.create(':memory:');
    duckdb = await instance.connect();
    await duckdb.run("SET TimeZone = 'UTC'");
  });
  afterAll(async () => {
    duckdb.closeSync();
    instance.closeSync();
    await rm(directory, { recursive: true, force: true });
  });

  async function readByUs(io: MemoryFileIO, table: Table): Promise<string[][]> {
    const all: string[][] = table.columns.map(() => []);
    await readColumns(
      io,
      PATH,
      table.columns.map((_, i) => i + 1),
      ({ vectors, rowCount }) => {
        for (let row = 0; row < rowCount; row++) {
          vectors.forEach((vector, c) => {
            all[c].push(show(vectorValue(vector, row, table.columns[c].type)));
          });
        }
      },
    );
    return all;
  }

  async function readByDuckDb(io: MemoryFileIO, table: Table): Promise<string[][]> {
    // a fresh name: DuckDB keeps what it has read of a file
    const file = join(directory, `table-${fileNumber++}.parquet`);
    await writeFile(file, await io.read(PATH));
    const columns = table.columns.map((_, i) => `c${i}`).join(', ');
    const result = await duckdb.runAndReadAll(`SELECT ${columns} FROM read_parquet('${file}')`);
    await rm(file);
    return result.getColumns().map((column) => column.map((value) => show(plain(value))));
  }

  it('are read back value by value by this reader and by DuckDB', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryTable, async (table) => {
        const io = new MemoryFileIO();
        const metrics = await write(io, table);
        const wanted = expected(table);
        expect(await readByUs(io, table)).toEqual(wanted);
        expect(await readByDuckDb(io, table)).toEqual(
          table.rows === 0 ? table.columns.map(() => []).slice(0, 0) : wanted,
        );
        checkMetrics(table, metrics);
        const bytes = await io.read(PATH);
        expect(metrics.fileSizeInBytes).toBe(BigInt(bytes.length));
        checkStatistics(table, parquetMetadata(toArrayBuffer(bytes)), metrics);
      }),
      { numRuns: 150 },
    );
  });

  it('are read back by hyparquet', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryTable, async (table) => {
        const io = new MemoryFileIO();
        await write(io, table);
        const rows: unknown[][] = [];
        await parquetRead({
          file: toArrayBuffer(await io.read(PATH)),
          compressors,
          utf8: false,
          parsers: RAW_PARSERS,
          onComplete: (all) => rows.push(...all),
        });
        const readable = table.columns.map((c) => parseDecimal(c.type) === undefined);
        const wanted = expected(table).filter((_, c) => readable[c]);
        const got = table.columns
          .map((_, c) => rows.map((row) => show(row[c])))
          .filter((_, c) => readable[c]);
        expect(got).toEqual(wanted);
      }),
      { numRuns: 100 },
    );
  });
});

const RAW_PARSERS = {
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  uuidFromBytes: (value: Uint8Array) => value,
};

function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}

/** A value of DuckDB in the form of `TableValue`. */
function plain(value: unknown): unknown {
  if (value instanceof DuckDBBlobValue) return value.bytes;
  if (value instanceof DuckDBDateValue) return value.days;
  if (
    value instanceof DuckDBTimeValue ||
    value instanceof DuckDBTimestampValue ||
    value instanceof DuckDBTimestampTZValue
  )
    return value.micros;
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value instanceof DuckDBUUIDValue) return Buffer.from(value.toString().replaceAll('-', ''), 'hex');
  return value;
}

/** Orders values as their column does; NaN left out beforehand. */
function compare(a: TableValue, b: TableValue): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0));
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

interface Model {
  nulls: number;
  nans: number;
  /** Bounds as Iceberg has them, in hex; undefined where there is none. */
  lower: string | undefined;
  upper: string | undefined;
  min: TableValue | undefined;
  max: TableValue | undefined;
}

function model(type: PrimitiveType, values: readonly TableValue[]): Model {
  const nulls = values.filter((v) => v === null).length;
  const nans = values.filter((v) => typeof v === 'number' && Number.isNaN(v)).length;
  const sorted = values
    .filter((v) => v !== null && !(typeof v === 'number' && Number.isNaN(v)))
    .sort(compare);
  const min = sorted[0];
  const max = sorted[sorted.length - 1];
  const bound = (value: TableValue | undefined, isUpper: boolean): string | undefined => {
    if (value === undefined || value === null) return undefined;
    const bytes = singleValueBytes(type, value);
    const cut = cutBound(type, bytes, isUpper);
    return cut === undefined ? undefined : Buffer.from(cut).toString('hex');
  };
  return { nulls, nans, min, max, lower: bound(min, false), upper: bound(max, true) };
}

function cutBound(type: PrimitiveType, bytes: Uint8Array, isUpper: boolean): Uint8Array | undefined {
  if (type === 'string') return isUpper ? stringUpperBound(bytes) : stringLowerBound(bytes);
  if (type === 'binary') return isUpper ? binaryUpperBound(bytes) : binaryLowerBound(bytes);
  return bytes;
}

function checkMetrics(table: Table, metrics: DataFileMetrics): void {
  expect(metrics.recordCount).toBe(BigInt(table.rows));
  if (table.rows === 0) return;
  const hex = (bytes: Uint8Array | undefined) =>
    bytes === undefined ? undefined : Buffer.from(bytes).toString('hex');
  table.columns.forEach((column, i) => {
    const wanted = model(column.type, column.values);
    const isFloat = column.type === 'float' || column.type === 'double';
    expect({
      values: metrics.valueCounts.get(i + 1),
      nulls: metrics.nullValueCounts.get(i + 1),
      nans: metrics.nanValueCounts.get(i + 1),
      lower: hex(metrics.lowerBounds.get(i + 1)),
      upper: hex(metrics.upperBounds.get(i + 1)),
    }).toEqual({
      values: BigInt(table.rows),
      nulls: BigInt(wanted.nulls),
      nans: isFloat ? BigInt(wanted.nans) : undefined,
      lower: wanted.lower,
      upper: wanted.upper,
    });
  });
}

/** Row groups: their places and sizes add up, and their statistics hold what the rows of each say. */
function checkStatistics(table: Table, metadata: FileMetaData, metrics: DataFileMetrics): void {
  expect(metadata.row_groups.map((g) => g.file_offset)).toEqual(metrics.splitOffsets);
  const sizes = new Map<number, bigint>();
  let row = 0;
  for (const group of metadata.row_groups) {
    const end = row + Number(group.num_rows);
    table.columns.forEach((column, i) => {
      const meta = group.columns[i].meta_data!;
      sizes.set(i + 1, (sizes.get(i + 1) ?? 0n) + meta.total_compressed_size);
      const wanted = model(column.type, column.values.slice(row, end));
      expect(Number(meta.statistics!.null_count)).toBe(wanted.nulls);
      if (wanted.lower === undefined || wanted.upper === undefined) {
        expect(meta.statistics!.min_value).toBeUndefined();
      } else if (column.type === 'string') {
        expect(meta.statistics!.is_min_value_exact).toBe(
          Buffer.from(wanted.lower, 'hex').toString() === wanted.min,
        );
        expect(meta.statistics!.is_max_value_exact).toBe(
          Buffer.from(wanted.upper, 'hex').toString() === wanted.max,
        );
      } else if (column.type === 'int' || column.type === 'long') {
        expect([meta.statistics!.min_value, meta.statistics!.max_value]).toEqual([wanted.min, wanted.max]);
      }
    });
    row = end;
  }
  expect(row).toBe(table.rows);
  expect(metrics.columnSizes).toEqual(sizes);
}
