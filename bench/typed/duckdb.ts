import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { START_MS } from '../events.ts';
import { runMeasured } from '../measured-process.ts';
import { median } from '../raw.ts';
import { TypedEvents } from './typed-events.ts';

/** DuckDB over the documents of the topic, in the median run. */
export interface DuckDBResult {
  version: string;
  records: number;
  cpuSeconds: number;
  recordsPerCpuSecond: number;
  peakRssBytes: number;
  parquetBytes: number;
}

export interface DuckDBRequest {
  records: number;
  valueBytes: number;
  threads: number;
  runs: number;
}

const PROGRAM = fileURLToPath(new URL('./duckdb-json.ts', import.meta.url));
/** Enough for steady figures without gigabytes on the disk. */
const MAX_DOCUMENT_BYTES = 512 * 1024 * 1024;
const DOCUMENTS_A_PIECE = 1000;

/** Writes the documents of the topic to a file and has DuckDB read it, in a process of its own each time. */
export async function measureDuckDB(
  request: DuckDBRequest,
  say: (line: string) => void,
): Promise<DuckDBResult> {
  const records = Math.min(request.records, Math.floor(MAX_DOCUMENT_BYTES / (request.valueBytes + 1)));
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-duckdb-'));
  try {
    const documents = join(directory, 'documents.ndjson');
    const parquet = join(directory, 'documents.parquet');
    await pipeline(Readable.from(linesOf(records, request.valueBytes)), createWriteStream(documents));
    const runs: { cpuSeconds: number; peakRssBytes: number }[] = [];
    for (let i = 1; i <= request.runs; i++) {
      rmSync(parquet, { force: true });
      const run = await runMeasured([PROGRAM, documents, parquet, String(request.threads)], directory);
      say(`DuckDB ${i} of ${request.runs}: ${run.cpuSeconds.toFixed(2)} CPU s`);
      runs.push(run);
    }
    const { cpuSeconds, peakRssBytes } = median(runs, (run) => -run.cpuSeconds);
    return {
      version: await checkParquet(parquet, records),
      records,
      cpuSeconds,
      recordsPerCpuSecond: records / cpuSeconds,
      peakRssBytes,
      parquetBytes: statSync(parquet).size,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function* linesOf(records: number, valueBytes: number): Generator<string> {
  const events = new TypedEvents(valueBytes);
  for (let from = 0; from < records; from += DOCUMENTS_A_PIECE) {
    let piece = '';
    for (let sequence = from; sequence < Math.min(records, from + DOCUMENTS_A_PIECE); sequence++)
      piece += `${events.json(sequence).value}\n`;
    yield piece;
  }
}

/** Throws where a document is missing or one of its fields was not read. @returns DuckDB's version */
async function checkParquet(parquet: string, records: number): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const { rows, prices, latest, version } = (
      await connection.runAndReadAll(
        `SELECT count(*)::INTEGER AS rows, count(price)::INTEGER AS prices, epoch_ms(max(ts)) AS latest, version() AS version
         FROM read_parquet('${parquet}')`,
      )
    ).getRowObjects()[0];
    if (rows !== records || prices !== records || Number(latest) < START_MS - 86_400_000)
      throw new Error(`DuckDB read ${rows} of ${records} documents, ${prices} prices, times up to ${latest}`);
    return String(version);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
