import { createWriteStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { runMeasured } from '../measured-process.ts';
import { median } from '../raw.ts';
import { DUCKDB_JOBS } from './duckdb-jobs.ts';
import { TypedEvents } from './typed-events.ts';

/** A process that read the documents, in the median run. */
export interface ReaderResult {
  cpuSeconds: number;
  recordsPerCpuSecond: number;
  peakRssBytes: number;
}

/** The documents of the topic as a file, read by Sluice's decoder alone and by DuckDB. */
export interface ReadersResult {
  duckdbVersion: string;
  records: number;
  /** Sluice's decoder alone, on one thread. */
  decoder: ReaderResult;
  /** See DUCKDB_JOBS. */
  duckdb: Record<(typeof DUCKDB_JOBS)[number], ReaderResult>;
}

export interface ReadersRequest {
  records: number;
  valueBytes: number;
  /** Of DuckDB. */
  threads: number;
  runs: number;
}

const DECODER = fileURLToPath(new URL('./decode-json.ts', import.meta.url));
const DUCKDB = fileURLToPath(new URL('./duckdb-json.ts', import.meta.url));
const DOCUMENTS_A_PIECE = 1000;

/** Measures each reader in a process of its own, in turn. Throws where one of them did not read every document. */
export async function measureReaders(
  request: ReadersRequest,
  say: (line: string) => void,
): Promise<ReadersResult> {
  const { records, runs } = request;
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-readers-'));
  const plain = join(directory, 'documents.ndjson');
  const compressed = join(directory, 'documents.ndjson.zst');
  const output = join(directory, 'output');
  const found = new Map<string, ReaderResult[]>();
  const run = async (name: string, script: readonly string[]): Promise<void> => {
    rmSync(output, { recursive: true, force: true });
    const { cpuSeconds, peakRssBytes } = await runMeasured(script, directory);
    const result = { cpuSeconds, recordsPerCpuSecond: records / cpuSeconds, peakRssBytes };
    say(`${name}: ${Math.round(result.recordsPerCpuSecond)} records per CPU s`);
    found.set(name, [...(found.get(name) ?? []), result]);
  };
  try {
    await pipeline(Readable.from(linesOf(request)), createWriteStream(plain));
    await pipeline(Readable.from(framesOf(request)), createWriteStream(compressed));
    for (let i = 0; i < runs; i++) {
      await run('decoder', [DECODER, plain, String(records)]);
      for (const job of DUCKDB_JOBS) {
        const documents = job === 'partitioned' ? compressed : plain;
        await run(`DuckDB, ${job}`, [DUCKDB, job, documents, output, String(request.threads)]);
        if (job !== 'read') await checkParquet(output, request);
      }
    }
    const medianOf = (name: string) => median(found.get(name) ?? [], (result) => result.recordsPerCpuSecond);
    const duckdb = Object.fromEntries(DUCKDB_JOBS.map((job) => [job, medianOf(`DuckDB, ${job}`)]));
    return {
      duckdbVersion: await duckdbVersion(),
      records,
      decoder: medianOf('decoder'),
      duckdb: duckdb as ReadersResult['duckdb'],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function* linesOf({ records, valueBytes }: ReadersRequest): Generator<string> {
  const events = new TypedEvents(valueBytes);
  for (let from = 0; from < records; from += DOCUMENTS_A_PIECE) {
    let piece = '';
    for (let sequence = from; sequence < Math.min(records, from + DOCUMENTS_A_PIECE); sequence++)
      piece += `${events.json(sequence).value}\n`;
    yield piece;
  }
}

/** A frame of zstd for as many documents as a record batch of the topic has, about. */
function* framesOf(request: ReadersRequest): Generator<Buffer> {
  for (const piece of linesOf(request)) yield zstdCompressSync(piece);
}

/** Throws where a document is missing, or the prices of some. `output`: a Parquet file, or a directory of them. */
async function checkParquet(output: string, { records }: ReadersRequest): Promise<void> {
  const files = statSync(output).isDirectory()
    ? readdirSync(output, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.parquet'))
        .map((name) => join(output, name))
    : [output];
  const [row] = await query(
    `SELECT count(*)::INTEGER AS rows, count(price)::INTEGER AS prices, count(ts)::INTEGER AS times
     FROM read_parquet([${files.map((file) => `'${file.replaceAll("'", "''")}'`).join(', ')}])`,
  );
  if (row.rows !== records || row.prices !== records || row.times !== records)
    throw new Error(`DuckDB read ${JSON.stringify(row)} of ${records} documents`);
}

async function duckdbVersion(): Promise<string> {
  const [row] = await query('SELECT version() AS version');
  return String(row.version);
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjects();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
