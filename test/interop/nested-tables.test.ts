import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warehouseLocation } from '../../src/catalog/open-catalog.ts';
import type { SqliteCatalog } from '../../src/catalog/sqlite-catalog.ts';
import type { DataFileMetrics } from '../../src/core/data-file.ts';
import { type IcebergType, type NestedField, parseDecimal, type Schema } from '../../src/core/schema.ts';
import { commitBatch } from '../../src/iceberg/commit.ts';
import { buildPartitionSpec } from '../../src/iceberg/partition.ts';
import { dataDirectory } from '../../src/iceberg/table-files.ts';
import { readColumns } from '../../src/parquet/reader.ts';
import { joinPath } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import {
  catalogServices,
  commitContext,
  openSqlite,
  TestCheckpoint,
  TestClock,
} from '../support/iceberg-fixture.ts';
import {
  arbitraryFields,
  arbitraryNested,
  type MapValue,
  type NestedValue,
  readValue,
  type StructValue,
  showNested,
  structLeaves,
  toNestedVector,
} from '../support/nested-table.ts';
import { ALL_TYPES, field, writeTable } from '../support/parquet-table.ts';
import { runPython } from '../support/python.ts';
import { THOROUGH } from '../support/thorough.ts';

interface Counts {
  values: Record<string, number>;
  nulls: Record<string, number>;
  sizes: Record<string, number>;
  splitOffsets: number[];
}
interface Reading {
  pyiceberg: Record<string, unknown>[];
  pyarrow: Record<string, unknown>[];
  duckdb: Record<string, unknown>[];
  tableSchema: string[];
  fileSchema: string[];
  manifest: Counts & { lower: Record<string, string>; upper: Record<string, string> };
  computed: Counts;
}
interface Table {
  name: string;
  fields: NestedField[];
  rows: NestedValue[][];
}

const directory = mkdtempSync(join(tmpdir(), 'sluice-nested-'));
const io = new LocalFileIO();
const clock = new TestClock();
const place = { catalog: join(directory, 'catalog.db'), warehouse: join(directory, 'warehouse') };
let catalog: SqliteCatalog;

beforeAll(async () => {
  catalog = await openSqlite(
    place.catalog,
    warehouseLocation(place.warehouse),
    catalogServices(io, clock, 'nested'),
  );
});
afterAll(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

async function createTable({ name, fields, rows }: Table, step: number): Promise<DataFileMetrics> {
  const identifier = { namespace: ['typed'], name };
  const schema: Schema = { type: 'struct', schemaId: 0, fields };
  await catalog.createTable(identifier, {
    schema,
    partitionSpec: buildPartitionSpec([], schema),
    properties: {},
    formatVersion: 2,
  });
  const { metadata } = (await catalog.loadTable(identifier))!;
  const filePath = joinPath(dataDirectory(metadata), `${name}.parquet`);
  const vectors = fields.map((f, c) =>
    toNestedVector(
      f.type,
      rows.map((row) => row[c]),
    ),
  );
  const options = { step, flushEvery: step * 3, pageRows: 10, pageBytes: 1024 };
  const metrics = await writeTable(io, filePath, schema, vectors, rows.length, options);
  const batch = new TestCheckpoint('p1').batch(0, metadata.tableUuid, {
    identifier,
    files: [{ ...metrics, content: 0, filePath, fileFormat: 'PARQUET', partition: [], specId: 0 }],
  });
  await commitBatch(commitContext(catalog, io, clock), batch);
  return metrics;
}

/** A value that `nested_tables.py` has printed. */
function fromForeign(type: IcebergType, value: unknown): NestedValue {
  if (value === null) return null;
  if (typeof type !== 'string') {
    if (type.type === 'struct') {
      const fields = value as Record<string, unknown>;
      return {
        struct: Object.fromEntries(type.fields.map((f) => [f.name, fromForeign(f.type, fields[f.name])])),
      };
    }
    if (type.type === 'list') return (value as unknown[]).map((v) => fromForeign(type.element, v));
    const entries = value as Array<[unknown, unknown]>;
    return {
      entries: entries.map(([k, v]) => [fromForeign(type.key, k), fromForeign(type.value, v)] as const),
    };
  }
  if (parseDecimal(type) !== undefined) return BigInt(value as string);
  switch (type) {
    case 'boolean':
    case 'string':
    case 'int':
    case 'date':
      return value as boolean | string | number;
    case 'float':
    case 'double':
      return Buffer.from(value as string, 'hex').readDoubleBE(0);
    case 'uuid':
      return Buffer.from((value as string).replaceAll('-', ''), 'hex');
    default:
      return type === 'binary' || type.startsWith('fixed')
        ? Buffer.from(value as string, 'hex')
        : BigInt(value as number | bigint);
  }
}

/**
 * PyIceberg 0.11 makes most arrays of structs anew from their offsets, and with that forgets which lists and maps were null:
 * such lists are empty here. pyarrow and DuckDB, which read the same files, tell the two apart.
 */
function withoutNullLists(type: IcebergType, value: NestedValue): NestedValue {
  if (typeof type === 'string') return value;
  if (type.type === 'struct') {
    if (value === null) return null;
    const { struct } = value as StructValue;
    const fields = type.fields.map((f) => [f.name, withoutNullLists(f.type, struct[f.name])]);
    return { struct: Object.fromEntries(fields) };
  }
  const inner = type.type === 'list' ? type.element : type.value;
  const isOfStructs = typeof inner !== 'string' && inner.type === 'struct';
  if (value === null) return isOfStructs ? (type.type === 'list' ? [] : { entries: [] }) : null;
  if (type.type === 'list') return (value as NestedValue[]).map((v) => withoutNullLists(type.element, v));
  const entries = (value as MapValue).entries.map(([k, v]) => [k, withoutNullLists(type.value, v)] as const);
  return { entries };
}

function check(table: Table, reading: Reading, metrics: DataFileMetrics, label: string): void {
  for (const engine of ['pyarrow', 'duckdb', 'pyiceberg'] as const) {
    const show = (type: IcebergType, value: NestedValue) =>
      showNested(engine === 'pyiceberg' ? withoutNullLists(type, value) : value);
    const got = reading[engine].map((row) =>
      table.fields.map((f) => show(f.type, fromForeign(f.type, row[f.name]))),
    );
    const wanted = table.rows.map((row) => table.fields.map((f, c) => show(f.type, row[c])));
    expect(got, `${engine}, ${label}`).toEqual(wanted);
  }
  // names, types, ids and what is required, at every level
  expect(reading.fileSchema, label).toEqual(reading.tableSchema);
  const leaves = [...structLeaves(table.fields, table.rows).keys()].map(String);
  const pick = (counts: Record<string, number>) => Object.fromEntries(leaves.map((id) => [id, counts[id]]));
  expect(reading.manifest.values, label).toEqual(pick(reading.computed.values));
  expect(reading.manifest.nulls, label).toEqual(pick(reading.computed.nulls));
  expect(reading.manifest.sizes, label).toEqual(reading.computed.sizes);
  expect(reading.manifest.splitOffsets, label).toEqual(reading.computed.splitOffsets);
  expect(Object.keys(reading.manifest.lower).sort(), label).toEqual(
    [...metrics.lowerBounds.keys()].map(String).sort(),
  );
}

async function readByUs(path: string, fields: readonly NestedField[]): Promise<string[][]> {
  const rows: string[][] = [];
  const ids = fields.map((f) => f.id);
  await readColumns(io, path, ids, ({ vectors, rowCount }) => {
    for (let row = 0; row < rowCount; row++)
      rows.push(vectors.map((vector, c) => showNested(readValue(vector, row, fields[c].type))));
  });
  return rows;
}

/** Every type in structs, in lists, in lists of structs of lists, and as the value of a map. */
function everyNesting(): Table {
  // PyIceberg 0.11 cannot read a uuid in a required struct below a null: pyarrow refuses to cast its extension type there.
  const types = ALL_TYPES.filter((type) => type !== 'timestamp_ns' && type !== 'uuid');
  let id = 0;
  const next = () => ++id;
  const fields: NestedField[] = types.flatMap((type, i) => [
    field(next(), `s${i}`, {
      type: 'struct',
      fields: [field(next(), 'x', type), field(next(), 'y', type, true)],
    }),
    field(next(), `l${i}`, {
      type: 'list',
      elementId: next(),
      elementRequired: false,
      element: {
        type: 'struct',
        fields: [
          field(next(), 'n', { type: 'list', elementId: next(), elementRequired: false, element: type }),
        ],
      },
    }),
    field(
      next(),
      `m${i}`,
      { type: 'map', keyId: next(), key: 'string', valueId: next(), value: type, valueRequired: false },
      true,
    ),
  ]);
  const row = fc.tuple(...fields.map((f) => arbitraryNested(f.type, f.required)));
  const rows = fc.sample(row, { numRuns: 25, seed: 4 }) as NestedValue[][];
  return { name: 'every', fields, rows };
}

function randomTables(seed: number, count: number): Table[] {
  const types = ALL_TYPES.filter((type) => type !== 'timestamp_ns');
  const table = fc.integer({ min: 1, max: 4 }).chain((depth) =>
    arbitraryFields(depth, types).chain((fields) =>
      fc
        .array(fc.tuple(...fields.map((f) => arbitraryNested(f.type, f.required))), {
          minLength: 1,
          maxLength: 60,
        })
        .map((rows) => ({ fields, rows: rows as NestedValue[][] })),
    ),
  );
  return fc.sample(table, { numRuns: count, seed }).map((t, i) => ({ name: `random${i}`, ...t }));
}

describe('PyIceberg, pyarrow and DuckDB read nested columns', () => {
  it('of every type and of random types: equal values, null and empty apart, ids at every level, metrics', async () => {
    const seed = Number(
      process.env['SLUICE_TEST_SEED'] ?? (THOROUGH ? Math.floor(Math.random() * 2 ** 31) : 20_261_129),
    );
    const tables = [everyNesting(), ...randomTables(seed, 30)];
    const metrics: DataFileMetrics[] = [];
    for (const [i, table] of tables.entries()) metrics.push(await createTable(table, 1 + ((i * 7) % 20)));
    const names = tables.map((table) => `typed.${table.name}`);
    const args = [place.catalog, place.warehouse, ...names, '--rewrite', directory];
    const readings = (await runPython('nested_tables.py', args)) as Reading[];
    tables.forEach((table, i) => {
      check(table, readings[i], metrics[i], `${table.name}, SLUICE_TEST_SEED=${seed}`);
    });
    // and back: what pyarrow writes, with pages of both versions, is read here
    for (const table of tables) {
      for (const version of ['v1', 'v2']) {
        const path = join(directory, `typed.${table.name}-${version}.parquet`);
        const label = `${table.name} ${version}, SLUICE_TEST_SEED=${seed}`;
        expect(await readByUs(path, table.fields), label).toEqual(
          table.rows.map((row) => row.map(showNested)),
        );
      }
    }
  });
});
