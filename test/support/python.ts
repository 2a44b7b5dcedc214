/** Foreign readers and writers of tables: PyIceberg, DuckDB and pyarrow, each in a Python process of its own. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { parseJson64, stringifyJson64 } from '../../src/core/json64.ts';

const SCRIPTS = fileURLToPath(new URL('./python/', import.meta.url));
const OUTPUT_LIMIT_BYTES = 1 << 30;

export type ForeignEngine = 'pyiceberg' | 'duckdb' | 'pyarrow';
export const FOREIGN_ENGINES: readonly ForeignEngine[] = ['pyiceberg', 'duckdb', 'pyarrow'];

/** Where a table is. */
export interface ForeignTable {
  /** The SQLite file of the catalog: an absolute path. */
  catalog: string;
  /** `catalog_name` in it; `sluice` when left out. */
  catalogName?: string;
  /** An absolute path. */
  warehouse: string;
  /** For example `bronze.ad_clicks`. */
  table: string;
}

/** A 64-bit integer: a number where it is safe, else a bigint. */
export type Integer64 = number | bigint;

/** A value of a row: binary in hex, timestamps in microseconds, decimals and NaN as text, 64-bit integers beyond 2^53 as bigint. */
export type ForeignValue =
  | null
  | boolean
  | Integer64
  | string
  | ForeignValue[]
  | { [name: string]: ForeignValue };

export interface ForeignReading {
  engine: ForeignEngine;
  /** What pyarrow finds in the files, e.g. `ZSTD`; null for the other engines. */
  codecs: string[] | null;
  table: string;
  uuid: string;
  location: string;
  formatVersion: number;
  properties: Record<string, string>;
  /** Names of types are the engine's own: Iceberg's, DuckDB's, Arrow's. Empty where DuckDB or pyarrow has no file to look at. */
  schema: { id: number | null; name: string; type: string; required: boolean }[];
  partitionSpec: { fieldId: number; sourceId: number; name: string; transform: string }[];
  rowCount: number;
  /** All rows by (topic, kafka_partition, kafka_offset). */
  rows: Record<string, ForeignValue>[];
  partitions: { partition: Record<string, ForeignValue>; files: number; records: number }[];
  files: ForeignFile[];
  currentSnapshotId: Integer64 | null;
  snapshots: {
    id: Integer64;
    parentId: Integer64 | null;
    sequenceNumber: number;
    timestampMs: number;
    manifestList: string;
    /** With `operation`. */
    summary: Record<string, string>;
  }[];
}

/** A data file of the plan. Counts and bounds are by field id; bounds are the manifest's bytes in hex. */
export interface ForeignFile {
  path: string;
  records: number;
  bytes: number;
  partition: Record<string, ForeignValue>;
  sortOrderId: number | null;
  splitOffsets: number[];
  columnSizes: Record<string, number>;
  valueCounts: Record<string, number>;
  nullCounts: Record<string, number>;
  nanCounts: Record<string, number>;
  lowerBounds: Record<string, string>;
  upperBounds: Record<string, string>;
}

export interface ReadOptions {
  engine?: ForeignEngine;
  snapshotId?: Integer64;
  /** A row filter of PyIceberg, e.g. `kafka_offset >= 10`: prunes the files of every engine, and PyIceberg's rows. */
  filter?: string;
  columns?: string[];
  /** False leaves `rows` empty: for large tables. */
  rows?: boolean;
}

/** Reads a table as another engine does. */
export async function readForeign(at: ForeignTable, options: ReadOptions = {}): Promise<ForeignReading> {
  const args = [...place(at), at.table, '--engine', options.engine ?? 'pyiceberg'];
  if (options.snapshotId !== undefined) args.push('--snapshot', String(options.snapshotId));
  if (options.filter !== undefined) args.push('--filter', options.filter);
  if (options.columns !== undefined) args.push('--columns', options.columns.join(','));
  if (options.rows === false) args.push('--no-rows');
  return (await runPython('read_table.py', args)) as ForeignReading;
}

/** A condition on rows, as PyIceberg gets it. Binary values are hex, timestamps microseconds. */
export type Where =
  | {
      column: string;
      op: '=' | '<' | '<=' | '>' | '>=' | 'starts';
      value: string | number;
      type: 'int' | 'string' | 'binary' | 'timestamp';
    }
  | { column: string; op: 'null' | 'notNull' }
  | { and: Where[] };

export interface ReadRequest {
  table: string;
  engine?: ForeignEngine;
  snapshot?: Integer64;
  where?: Where;
  columns?: string[];
  rows?: boolean;
}

/** As `readForeign`, for many readings in one Python process. */
export async function readMany(
  at: Omit<ForeignTable, 'table'>,
  requests: readonly ReadRequest[],
): Promise<ForeignReading[]> {
  return (await runRequests(at, requests)) as ForeignReading[];
}

/** The summaries of a table's snapshots, oldest first, as PyIceberg computes them from manifests and the parent's totals. */
export async function computedSummaries(
  at: Omit<ForeignTable, 'table'>,
  tables: readonly string[],
): Promise<{ id: Integer64; summary: Record<string, string> }[][]> {
  const requests = tables.map((table) => ({ table, summaries: true }));
  return (await runRequests(at, requests)) as Awaited<ReturnType<typeof computedSummaries>>;
}

async function runRequests(at: Omit<ForeignTable, 'table'>, requests: readonly unknown[]): Promise<unknown> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-requests-'));
  try {
    const file = join(directory, 'requests.json');
    writeFileSync(file, stringifyJson64(requests));
    return await runPython('read_many.py', [...place(at), file]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface CatalogInfo {
  namespaces: { name: string; properties: Record<string, string> }[];
  tables: { name: string; metadataLocation: string }[];
  /** The rows of the catalog's own two tables. */
  icebergTables: Record<string, string | null>[];
  icebergNamespaceProperties: Record<string, string | null>[];
}

/** What PyIceberg finds in a catalog. */
export async function catalogInfo(at: Omit<ForeignTable, 'table'>): Promise<CatalogInfo> {
  return (await runPython('catalog_info.py', place(at))) as CatalogInfo;
}

export interface WriteOptions {
  /** 100 when left out; 0 only creates the table. */
  rows?: number;
  firstOffset?: number;
  topic?: string;
  formatVersion?: 1 | 2;
  /** Properties of a new table. */
  properties?: Record<string, string>;
}

/** Creates a table of the bronze layout with PyIceberg, or appends to one; write_table.py says which rows. */
export async function writeForeign(
  at: ForeignTable,
  options: WriteOptions = {},
): Promise<{ location: string; metadataLocation: string; snapshotId: Integer64 | null }> {
  const args = [
    ...place(at),
    at.table,
    '--rows',
    String(options.rows ?? 100),
    '--first-offset',
    String(options.firstOffset ?? 0),
  ];
  if (options.topic !== undefined) args.push('--topic', options.topic);
  if (options.formatVersion !== undefined) args.push('--format-version', String(options.formatVersion));
  for (const [key, value] of Object.entries(options.properties ?? {}))
    args.push('--property', `${key}=${value}`);
  return (await runPython('write_table.py', args)) as Awaited<ReturnType<typeof writeForeign>>;
}

function place(at: Omit<ForeignTable, 'table'>): string[] {
  return [at.catalog, at.warehouse, '--catalog', at.catalogName ?? 'sluice'];
}

/** Runs a script of `test/support/python` and parses what it prints. Throws with the end of its stderr when it fails. */
export function runPython(script: string, args: string[]): Promise<unknown> {
  const python = process.env.SLUICE_TEST_PYTHON || inject('python');
  if (!python)
    throw new Error('This project has no Python: list test/support/python-setup.ts as its globalSetup.');
  const env = { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' };
  return new Promise((resolve, reject) => {
    execFile(
      python,
      [SCRIPTS + script, ...args],
      { env, maxBuffer: OUTPUT_LIMIT_BYTES },
      (error, stdout, stderr) => {
        if (error === null) return resolve(parseJson64(stdout));
        const end = stderr.trim().split('\n').slice(-15).join('\n');
        reject(new Error(`${script} ${args.join(' ')} failed: ${end || error.message}`));
      },
    );
  });
}
