import { TYPED_COLUMNS } from './typed-events.ts';

/**
 * What DuckDB is measured at. `read`: every column read, nothing kept. `parquet`: into one Parquet file. `partitioned`: from
 * documents in zstd, as a topic has them, into Parquet files of a day each, as the table has them.
 */
export const DUCKDB_JOBS = ['read', 'parquet', 'partitioned'] as const;
export type DuckDBJob = (typeof DUCKDB_JOBS)[number];

const PARQUET = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1';

/** The SQL of a job. `documents` ends in `.zst` where they are compressed; `output` is a file, for `partitioned` a directory. */
export function duckdbStatement(job: DuckDBJob, documents: string, output: string): string {
  const types = TYPED_COLUMNS.map(({ name, duckdb }) => `${name}: '${duckdb}'`).join(', ');
  const source = `read_json(${text(documents)}, format = 'newline_delimited', columns = {${types}})`;
  switch (job) {
    case 'read':
      return `SELECT ${TYPED_COLUMNS.map(({ name }) => `count(${name})`).join(', ')} FROM ${source}`;
    case 'parquet':
      return `COPY (SELECT * FROM ${source}) TO ${text(output)} (${PARQUET})`;
    case 'partitioned':
      return `COPY (SELECT *, ts::DATE AS ts_day FROM ${source}) TO ${text(output)} (${PARQUET}, PARTITION_BY (ts_day))`;
  }
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
