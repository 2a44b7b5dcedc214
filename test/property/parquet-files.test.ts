import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { DataFileMetrics } from '../../src/core/data-file.ts';
import type { ParquetCodec } from '../../src/core/parquet-codec.ts';
import { type PrimitiveType, parseDecimal } from '../../src/core/schema.ts';
import type { FlatReadVector } from '../../src/parquet/column-sink.ts';
import { DEFAULT_PARQUET_OPTIONS, type ParquetWriterOptions } from '../../src/parquet/options.ts';
import { readColumns } from '../../src/parquet/reader.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import {
  model,
  plainDuckDb,
  RAW_PARSERS,
  show,
  toArrayBuffer,
  vectorValue,
} from '../support/parquet-model.ts';
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
      dictionaryBytes: fc.constantFrom(0, 1 << 20),
      rowGroupBytes: fc.constantFrom(1024, 20_000, 1 << 25),
      bloomFilterFieldIds: fc.constantFrom([], [1, 2, 3]),
    }),
  })
  .chain(({ types, stretches, options }) => {
    const rows = stretches.reduce((sum, s) => sum + s.rows, 0);
    const columns = types.map(([type, required]) => {
      const value = arbitraryValue(type);
      const cell: fc.Arbitrary<TableValue> = required ? value : fc.option(value, { freq: 4 });
      const values = { minLength: rows, maxLength: rows, size: 'max' as const };
      // all different, or few that repeat: those get a dictionary
      const few = fc
        .array(cell, { minLength: 1, maxLength: 4 })
        .chain((all) => fc.array(fc.constantFrom(...all), values));
      return fc.oneof(fc.array(cell, values), few).map((list) => ({ type, required, values: list }));
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

function expected(table: Table): string[][] {
  return table.columns.map((column) => column.values.map(show));
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
            all[c].push(show(vectorValue(vector as FlatReadVector, row, table.columns[c].type)));
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
    return result.getColumns().map((column) => column.map((value) => show(plainDuckDb(value))));
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
