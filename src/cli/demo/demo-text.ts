import { formatByteSize } from '../../core/byte-size.ts';
import { formatDuration } from '../../core/duration.ts';
import { count } from '../../monitor/progress-line.ts';
import type { VerifyReport } from '../../proof/verify-table.ts';
import { textTable } from '../text-table.ts';
import { countColumns, rangesText } from '../verify-text.ts';
import type { DemoTable } from './demo-report.ts';
import type { DemoTopics } from './demo-topics.ts';
import type { Produced } from './produce-events.ts';

/** `Topics      ad-requests, ...`: one fact of the demo. */
export function fact(name: string, text: string): string {
  return `${name.padEnd(11)} ${text}\n`;
}

export function topicsText({ created, topics }: DemoTopics): string {
  const names = topics.map(({ topic }) => topic);
  const sizes = [...new Set(topics.map(({ partitions }) => partitions.length))];
  const partitions = sizes.length === 1 ? `${sizes[0]} partitions each` : `${sizes.join(', ')} partitions`;
  const how =
    created.length === 0
      ? 'there already'
      : created.length === topics.length
        ? 'created'
        : `${created.join(', ')} created`;
  return `${names.join(', ')} (${partitions}, ${how})`;
}

export function producedText(produced: Produced, firstSequence: number): string {
  const { records, bytes, seconds } = produced;
  const after = firstSequence > 0 ? `, after the ${count(firstSequence)} that were there` : '';
  return `${count(records)} events of two shapes, ${formatByteSize(bytes)} in ${formatDuration(seconds * 1000)}${rate(records, seconds)}${after}`;
}

/** `, 98,000/s`; nothing where no time has passed. */
export function rate(records: number, seconds: number): string {
  return seconds > 0 ? `, ${count(Math.round(records / seconds))}/s` : '';
}

export function tablesText(tables: readonly DemoTable[]): string {
  return textTable(
    ['table', 'rows', 'files', 'partitions', 'snapshot'],
    tables.map((t) => [
      t.name,
      count(t.rows),
      count(t.dataFiles),
      count(t.partitions),
      t.snapshotId === null ? 'none' : String(t.snapshotId),
    ]),
  );
}

/** A line for each Kafka partition: the offsets that were read, the rows, and the rows by the counted field. */
export function proofText(proofs: readonly VerifyReport[]): string {
  const counted = countColumns(proofs);
  const partitions = proofs.flatMap((proof) => proof.partitions);
  const quarantined = partitions.some((p) => p.quarantined > 0);
  const rows = partitions.map((p) => [
    p.topic,
    String(p.partition),
    rangesText(p),
    count(p.rows),
    ...(quarantined ? [count(p.quarantined)] : []),
    ...counted.cells(p),
  ]);
  return textTable(
    ['topic', 'partition', 'offsets', 'rows', ...(quarantined ? ['quarantined'] : []), ...counted.header],
    rows,
  );
}

/** Where things are and how to go on; every path as it is from the working directory. */
export interface DemoPlaces {
  directory: string;
  pipelineFile: string;
  catalogName: string;
  catalog: string;
  warehouse: string;
  checkpoint: string;
  report: string;
  /** How the command line is called: `sluice`, or through npm inside the repository. */
  cli: string;
  /** A table to show the ways of querying with. */
  table: string;
}

export function placesText(places: DemoPlaces): string {
  return [
    fact('Tables', `${places.warehouse}  (Iceberg; the catalog is the SQLite file ${places.catalog})`),
    fact('Checkpoint', places.checkpoint),
    fact('Report', places.report),
  ].join('');
}

/** Lines for a shell in the working directory; nothing is indented, since the ends of here-documents may not be. */
export function nextText(places: DemoPlaces): string {
  const { cli, pipelineFile, table, directory, catalog, warehouse } = places;
  const pipeline = `-c ${shellWord(pipelineFile)} ${table}`;
  const files = `${directory}/files.json`;
  return `# Run it again: as many events more are produced, and only those are read

# The files of a table, and the proof again, with the rows by a field of their JSON
export SLUICE_HOME=${shellWord(directory)}
${cli} table files ${pipeline}
${cli} verify ${pipeline} --count-by source

# PyIceberg: pip install 'pyiceberg[sql-sqlite,pyarrow]'
python3 - <<'END'
from pyiceberg.catalog.sql import SqlCatalog
catalog = SqlCatalog("${places.catalogName}", uri="sqlite:///${catalog}", warehouse="${warehouse}")
events = catalog.load_table("${table}")
rows = events.scan(row_filter="hour = 1").to_arrow()
print(rows.num_rows, rows["value"][0])
END

# DuckDB over the live files of the table; @duckdb/node-api comes with the repository
${cli} table files ${pipeline} -o json > ${shellWord(files)}
node --input-type=module <<'END'
import { DuckDBConnection } from '@duckdb/node-api';
const duck = await DuckDBConnection.create();
await duck.run("SET VARIABLE files = (SELECT list(path) FROM '${files}')");
const events = await duck.runAndReadAll(\`
  SELECT value->>'source' AS source, dt::VARCHAR AS dt, hour::INT AS hour, count(*)::INT AS events
  FROM read_parquet(getvariable('files')) GROUP BY ALL ORDER BY ALL\`);
console.table(events.getRowObjectsJson());
END
`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
