/**
 * DuckDB's own JSON reader over a file of documents, one a line, into one Parquet file, zstd. A process of its own, so that
 * all it uses is counted; prints one line of JSON.
 *
 * Arguments: the file of the documents, the Parquet file to write, threads.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { TYPED_COLUMNS } from './typed-events.ts';

async function main(documents: string, parquet: string, threads: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const columns = TYPED_COLUMNS.map(({ name, duckdb }) => `${name}: '${duckdb}'`).join(', ');
  await connection.run(
    `COPY (SELECT * FROM read_json(${text(documents)}, format = 'newline_delimited', columns = {${columns}}))
     TO ${text(parquet)} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)`,
  );
  connection.closeSync();
  instance.closeSync();
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

const [documents, parquet, threads] = process.argv.slice(2);
await main(documents, parquet, threads);
