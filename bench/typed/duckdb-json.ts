/**
 * DuckDB's own JSON reader over a file of documents, one a line. A process of its own, so that all it uses is counted.
 *
 * Arguments: what it does with them (see DUCKDB_JOBS), the file of the documents, where to write, threads.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { type DuckDBJob, duckdbStatement } from './duckdb-jobs.ts';

const [job, documents, output, threads] = process.argv.slice(2);
const instance = await DuckDBInstance.create(':memory:', { threads });
const connection = await instance.connect();
await connection.run("SET TimeZone = 'UTC'");
await connection.run(duckdbStatement(job as DuckDBJob, documents, output));
connection.closeSync();
instance.closeSync();
