import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { parquetMetadata, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { DataFileMetrics } from '../../src/core/data-file.ts';
import type { ParquetCodec } from '../../src/core/parquet-codec.ts';
import {
  type IcebergType,
  type NestedField,
  type PrimitiveType,
  parseDecimal,
} from '../../src/core/schema.ts';
import { DEFAULT_PARQUET_OPTIONS, type ParquetWriterOptions } from '../../src/parquet/options.ts';
import { readColumns } from '../../src/parquet/reader.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import {
  arbitraryFields,
  arbitraryNested,
  type MapValue,
  type NestedValue,
  nestedDuckDb,
  readValue,
  type StructValue,
  showNested,
  structLeaves,
  toNestedVector,
} from '../support/nested-table.ts';
import { model, RAW_PARSERS, show, toArrayBuffer } from '../support/parquet-model.ts';
import { ALL_TYPES, tableSchema } from '../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';

interface Table {
  fields: NestedField[];
  rows: NestedValue[][];
  /** Rows that are handed over in one call, columns that are handed over as null constants, and whether a row group ends. */
  stretches: Array<{ rows: number; nulls: number; flush: boolean }>;
  options: Partial<ParquetWriterOptions>;
}

const arbitraryTable = (types: readonly PrimitiveType[]): fc.Arbitrary<Table> =>
  fc
    .record({
      fields: fc.integer({ min: 1, max: 4 }).chain((depth) => arbitraryFields(depth, types)),
      stretches: fc.array(
        fc.record({
          rows: fc.integer({ min: 0, max: 25 }),
          nulls: fc.constantFrom(0, 0, 0, 1, 2, 3),
          flush: fc.boolean(),
        }),
        { maxLength: 5 },
      ),
      options: fc.record({
        codec: fc.constantFrom<ParquetCodec>('zstd', 'snappy', 'none'),
        pageBytes: fc.constantFrom(1024, 1 << 20),
        pageRows: fc.constantFrom(1, 7, 20_000),
        rowGroupBytes: fc.constantFrom(1024, 1 << 25),
        bloomFilterFieldIds: fc.constantFrom([], [1, 2, 3, 4, 5]),
      }),
    })
    .chain(({ fields, stretches, options }) => {
      const count = stretches.reduce((sum, s) => sum + s.rows, 0);
      const row = fc.tuple(...fields.map((f) => arbitraryNested(f.type, f.required)));
      return fc
        .array(row, { minLength: count, maxLength: count, size: 'max' })
        .map((rows) => withNulls({ fields, rows: rows as NestedValue[][], stretches, options }));
    });

function isNullStretch(table: Table, column: number, nulls: number): boolean {
  return ((nulls >> column) & 1) === 1 && !table.fields[column].required;
}

/** Makes the rows what will be written: stretches of null constants are null. */
function withNulls(table: Table): Table {
  const rows = table.rows.map((row) => [...row]);
  let at = 0;
  for (const stretch of table.stretches) {
    for (let row = at; row < at + stretch.rows; row++)
      table.fields.forEach((_, c) => {
        if (isNullStretch(table, c, stretch.nulls)) rows[row][c] = null;
      });
    at += stretch.rows;
  }
  return { ...table, rows };
}

async function write(io: MemoryFileIO, table: Table): Promise<DataFileMetrics> {
  const writer = new ParquetWriter(await io.create(PATH), tableSchema(table.fields), {
    ...DEFAULT_PARQUET_OPTIONS,
    ...table.options,
  });
  const whole = table.fields.map((f, c) =>
    toNestedVector(
      f.type,
      table.rows.map((row) => row[c]),
    ),
  );
  let row = 0;
  for (const stretch of table.stretches) {
    const vectors = whole.map((vector, c): ColumnVector => {
      return isNullStretch(table, c, stretch.nulls) ? { kind: 'constant', value: null } : vector;
    });
    writer.append(vectors, row, row + stretch.rows);
    row += stretch.rows;
    if (stretch.flush || writer.wantsFlush) await writer.flush();
  }
  return writer.close();
}

function expectedColumns(table: Table): string[][] {
  return table.fields.map((_, c) => table.rows.map((row) => showNested(row[c])));
}

describe('Parquet files of nested columns', () => {
  let directory: string;
  let instance: DuckDBInstance;
  let duckdb: DuckDBConnection;
  let fileNumber = 0;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-nested-'));
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
    const all: string[][] = table.fields.map(() => []);
    const ids = table.fields.map((f) => f.id);
    await readColumns(io, PATH, ids, ({ vectors, rowCount }) => {
      vectors.forEach((vector, c) => {
        expect(vector.length).toBe(rowCount);
        for (let row = 0; row < rowCount; row++)
          all[c].push(showNested(readValue(vector, row, table.fields[c].type)));
      });
    });
    return all;
  }

  async function readByDuckDb(io: MemoryFileIO, table: Table): Promise<string[][]> {
    const file = join(directory, `table-${fileNumber++}.parquet`);
    await writeFile(file, await io.read(PATH));
    const names = table.fields.map((f) => f.name).join(', ');
    const result = await duckdb.runAndReadAll(`SELECT ${names} FROM read_parquet('${file}')`);
    await rm(file);
    return result.getColumns().map((column) => column.map((value) => showNested(nestedDuckDb(value))));
  }

  it('are read back value by value by this reader and by DuckDB, with metrics of what nothing repeats', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryTable(ALL_TYPES), async (table) => {
        const io = new MemoryFileIO();
        const metrics = await write(io, table);
        const wanted = expectedColumns(table);
        expect(await readByUs(io, table)).toEqual(wanted);
        expect(await readByDuckDb(io, table)).toEqual(table.rows.length === 0 ? [] : wanted);
        checkMetrics(table, metrics);
        checkNullCounts(table, await io.read(PATH));
      }),
      { numRuns: 200 },
    );
  });

  it('are read back by hyparquet', async () => {
    // hyparquet makes floats of decimals
    const types = ALL_TYPES.filter((type) => parseDecimal(type) === undefined);
    await fc.assert(
      fc.asyncProperty(arbitraryTable(types), async (table) => {
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
        const got = rows.map((row) => table.fields.map((f, c) => showHyparquet(f.type, row[c])));
        const wanted = table.rows.map((row) =>
          table.fields.map((f, c) => showHyparquet(f.type, asHyparquet(f.type, row[c]))),
        );
        expect(got).toEqual(wanted);
      }),
      { numRuns: 150 },
    );
  });
});

/** A value as hyparquet gives it: structs and maps as objects, the keys of maps as texts. */
function asHyparquet(type: IcebergType, value: NestedValue): unknown {
  if (value === null || typeof type === 'string') return value;
  if (type.type === 'list') return (value as NestedValue[]).map((v) => asHyparquet(type.element, v));
  if (type.type === 'map') {
    const { entries } = value as MapValue;
    return Object.fromEntries(entries.map(([k, v]) => [String(k), asHyparquet(type.value, v)]));
  }
  const { struct } = value as StructValue;
  return Object.fromEntries(type.fields.map((f) => [f.name, asHyparquet(f.type, struct[f.name])]));
}

function showHyparquet(type: IcebergType, value: unknown): string {
  if (value === null || value === undefined || typeof type === 'string') return show(value);
  if (type.type === 'list') {
    return `[${(value as unknown[]).map((v) => showHyparquet(type.element, v)).join(', ')}]`;
  }
  const children = Object.entries(value as object).map(([name, v]) => {
    const of = type.type === 'map' ? type.value : type.fields.find((f) => f.name === name)!.type;
    return `${JSON.stringify(name)}: ${showHyparquet(of, v)}`;
  });
  return `{${children.sort().join(', ')}}`;
}

/** Counts and bounds for leaves in structs, as Iceberg Java keeps them; none inside lists and maps. */
function checkMetrics(table: Table, metrics: DataFileMetrics): void {
  expect(metrics.recordCount).toBe(BigInt(table.rows.length));
  if (table.rows.length === 0) return;
  const leaves = structLeaves(table.fields, table.rows);
  expect(new Set(metrics.valueCounts.keys())).toEqual(new Set(leaves.keys()));
  const hex = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString('hex') : undefined);
  for (const [id, { type, values }] of leaves) {
    const wanted = model(type, values);
    const isFloat = type === 'float' || type === 'double';
    expect({
      id,
      values: metrics.valueCounts.get(id),
      nulls: metrics.nullValueCounts.get(id),
      nans: metrics.nanValueCounts.get(id),
      lower: hex(metrics.lowerBounds.get(id)),
      upper: hex(metrics.upperBounds.get(id)),
    }).toEqual({
      id,
      values: BigInt(values.length),
      nulls: BigInt(wanted.nulls),
      nans: isFloat ? BigInt(wanted.nans) : undefined,
      lower: wanted.lower,
      upper: wanted.upper,
    });
  }
}

/** In each row group, the statistics of leaves in structs count the rows in which they are null, at any level. */
function checkNullCounts(table: Table, bytes: Uint8Array): void {
  const metadata = parquetMetadata(toArrayBuffer(bytes));
  let row = 0;
  for (const group of metadata.row_groups) {
    const end = row + Number(group.num_rows);
    const leaves = structLeaves(table.fields, table.rows.slice(row, end));
    for (const { meta_data } of group.columns) {
      const id = Number(/\d+$/.exec(meta_data!.path_in_schema.at(-1)!)?.[0]);
      const isRepeated = meta_data!.path_in_schema.some((name) => name === 'list' || name === 'key_value');
      if (isRepeated) continue;
      const { values } = leaves.get(id)!;
      expect(Number(meta_data!.num_values)).toBe(values.length);
      expect(Number(meta_data!.statistics!.null_count)).toBe(values.filter((v) => v === null).length);
    }
    row = end;
  }
  expect(row).toBe(table.rows.length);
}
