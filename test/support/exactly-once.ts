/**
 * The one checker: given what the broker told the producers, is every record in its table or its quarantine exactly once, byte
 * for byte, and does the checkpoint agree? It reads tables and checkpoint by other code than Sluice's (`independent-table.ts`),
 * and asks `verifyTable` last, which must come to the same end.
 */
import { isUtf8 } from 'node:buffer';
import { type VerifyReport, verifyTable } from '../../src/proof/verify-table.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { type IndependentTable, type ReadLocation, readIndependently } from './independent-table.ts';
import { endsOf, type Produced, type ProducedRecord } from './produced.ts';
import type { TestPipeline } from './test-pipeline.ts';

export interface ExactlyOnceOptions {
  pipeline: TestPipeline;
  produced: Produced;
  topics?: readonly string[];
  /** Where the topics end for the run; asked of the broker where it is left out. */
  ends?: ReadonlyMap<string, readonly bigint[]>;
  /** Offsets below it were never to be read: a start at `latest`, or a loss that was accepted. By `topic-partition`. */
  from?: Readonly<Record<string, bigint>>;
  /** How many offsets `verify` should call an accepted loss. */
  acceptedLoss?: bigint;
  /** The storage of the run, where it was not the disk. */
  io?: FileIO;
  /** The broker's own time stands in the table: between these, ms. */
  appendTime?: { from: number; until: number };
  includeHeaders?: boolean;
  /** Topics that another pipeline brings into the same tables. */
  otherTopics?: readonly string[];
}

export interface ExactlyOnceResult {
  rows: number;
  quarantined: number;
  batches: number;
  snapshots: number;
  dataFiles: string[];
  tables: Map<string, IndependentTable>;
  verify: VerifyReport[];
}

interface Seen {
  quarantined: boolean;
  row: Record<string, unknown>;
}

/** Throws an error that lists what is wrong (the first 20 faults), or returns what was found. */
export async function checkExactlyOnce(options: ExactlyOnceOptions): Promise<ExactlyOnceResult> {
  const { pipeline, produced } = options;
  const topics = options.topics ?? pipeline.options.topics;
  const io = options.io ?? new LocalFileIO();
  const readLocation: ReadLocation = (location) => io.read(location);
  const faults: string[] = [];
  const result: ExactlyOnceResult = {
    rows: 0,
    quarantined: 0,
    batches: 0,
    snapshots: 0,
    dataFiles: [],
    tables: new Map(),
    verify: [],
  };
  const tables = [...new Set(topics.map((topic) => pipeline.tableOf(topic)))];
  const seen = await collectRows(options, tables, readLocation, result, faults);
  for (const [name, records] of produced.records) {
    const topic = name.slice(0, name.lastIndexOf('-'));
    if (!topics.includes(topic)) continue;
    for (const record of records.values()) {
      if (record.offset < (options.from?.[name] ?? 0n)) continue;
      const key = `${name}@${record.offset}`;
      const found = seen.get(key) ?? [];
      seen.delete(key);
      if (found.length === 0) faults.push(`${key} is lost`);
      else if (found.length > 1) faults.push(`${key} is there ${found.length} times`);
      else checkRecord(key, record, found[0], options, faults);
    }
  }
  for (const [key, found] of seen)
    faults.push(`${key} is there ${found.length} times and was never produced`);
  const ends = options.ends ?? (await endsOf(pipeline.options.bootstrap, topics));
  result.batches = await checkCheckpoint(pipeline, io, topics, ends, faults);
  await askVerify(options, io, tables, result, faults);
  if (faults.length > 0) {
    const more = faults.length > 20 ? `\n... and ${faults.length - 20} more` : '';
    throw new Error(`not exactly once: ${faults.length} faults\n${faults.slice(0, 20).join('\n')}${more}`);
  }
  return result;
}

/** All rows of the tables and their quarantines, by `topic-partition@offset`. */
async function collectRows(
  { pipeline, otherTopics }: ExactlyOnceOptions,
  tables: readonly string[],
  readLocation: ReadLocation,
  result: ExactlyOnceResult,
  faults: string[],
): Promise<Map<string, Seen[]>> {
  const seen = new Map<string, Seen[]>();
  for (const [name, quarantined] of tables.flatMap(
    (t) =>
      [
        [t, false],
        [`${t}__quarantine`, true],
      ] as const,
  )) {
    const table = await readIndependently(pipeline.catalogFile, name, readLocation);
    // What is missing is told record by record.
    if (table === undefined) continue;
    result.tables.set(name, table);
    result.dataFiles.push(...table.files.map((f) => f.path.replace(/^file:\/\//, '')));
    result.snapshots += table.history.length;
    checkHistory(name, table, faults);
    for (const row of table.rows) {
      if (otherTopics?.includes(row.topic as string)) continue;
      if (quarantined) result.quarantined++;
      else result.rows++;
      const key = `${row.topic}-${row.kafka_partition}@${row.kafka_offset}`;
      seen.set(key, [...(seen.get(key) ?? []), { quarantined, row }]);
    }
  }
  return seen;
}

/** One snapshot per batch of a pipeline and per commit id, in the order of the batches. */
function checkHistory(name: string, table: IndependentTable, faults: string[]): void {
  const last = new Map<string, number>();
  const commits = new Set<string>();
  for (const { summary } of table.history) {
    const id = summary['sluice.pipeline-id'];
    if (id === undefined) continue;
    const batch = Number(summary['sluice.batch-id']);
    const before = last.get(id) ?? -1;
    if (batch <= before) faults.push(`${name}: batch ${batch} comes after batch ${before}`);
    if (commits.has(summary['sluice.commit-id'])) faults.push(`${name}: a commit id is there twice`);
    commits.add(summary['sluice.commit-id']);
    last.set(id, batch);
  }
}

function checkRecord(
  key: string,
  record: ProducedRecord,
  { row, quarantined }: Seen,
  options: ExactlyOnceOptions,
  faults: string[],
): void {
  const binary = options.pipeline.options.table?.valueType === 'binary';
  const odd = !binary && record.value !== null && !isUtf8(record.value);
  if (quarantined !== odd) {
    faults.push(`${key} is in ${quarantined ? 'the quarantine' : 'the table'}`);
    return;
  }
  const differs = (column: string, expected: unknown) => {
    if (!same(row[column], expected))
      faults.push(`${key}: ${column} is ${show(row[column])}, not ${show(expected)}`);
  };
  differs('value', odd || binary ? record.value : (record.value?.toString('utf8') ?? null));
  differs('key', record.key);
  const at = checkTime(key, row, record, options, faults);
  if (!quarantined) {
    const utc = new Date(Number(at / 1000n)).toISOString();
    differs('dt', utc.slice(0, 10));
    differs('hour', Number(utc.slice(11, 13)));
  }
  if (quarantined || options.includeHeaders === true) checkHeaders(key, row, record, faults);
}

/** Returns the time that the row bears, in microseconds. */
function checkTime(
  key: string,
  row: Record<string, unknown>,
  record: ProducedRecord,
  { appendTime }: ExactlyOnceOptions,
  faults: string[],
): bigint {
  const found = row.kafka_timestamp as bigint;
  const [from, until] =
    appendTime === undefined
      ? [record.timestampMs, record.timestampMs]
      : [BigInt(appendTime.from), BigInt(appendTime.until)];
  if (typeof found !== 'bigint' || found < from * 1000n || found > until * 1000n)
    faults.push(`${key}: kafka_timestamp is ${show(found)}, not within [${from}, ${until}] ms`);
  return typeof found === 'bigint' ? found : 0n;
}

function checkHeaders(
  key: string,
  row: Record<string, unknown>,
  record: ProducedRecord,
  faults: string[],
): void {
  const expected = record.headers ?? [];
  const found = (row.headers ?? []) as { key: string; value: Uint8Array }[];
  const equal =
    found.length === expected.length &&
    expected.every(([name, bytes], i) => found[i].key === name && same(found[i].value, bytes));
  if (!equal) faults.push(`${key}: headers are ${show(row.headers)}, not ${show(expected)}`);
}

/** `offsets/`, `commits/` as Spark reads them: the newest batch is committed and ends where the topics end. */
async function checkCheckpoint(
  pipeline: TestPipeline,
  io: FileIO,
  topics: readonly string[],
  ends: ReadonlyMap<string, readonly bigint[]>,
  faults: string[],
): Promise<number> {
  const planned = await batchesIn(io, `${pipeline.checkpoint}/offsets`);
  const committed = await batchesIn(io, `${pipeline.checkpoint}/commits`);
  const newest = planned.at(-1);
  if (newest === undefined) {
    if ([...ends.values()].flat().some((end) => end > 0n)) faults.push('the checkpoint has planned no batch');
    return 0;
  }
  if (committed.at(-1) !== newest)
    faults.push(`batch ${newest} is planned, the newest commit is ${committed.at(-1)}`);
  let before: Record<string, Record<string, number>> = {};
  for (const batch of planned) {
    const text = Buffer.from(await io.read(`${pipeline.checkpoint}/offsets/${batch}`)).toString();
    const offsets = JSON.parse(text.split('\n')[2]) as Record<string, Record<string, number>>;
    for (const [topic, partitions] of Object.entries(before)) {
      for (const [partition, offset] of Object.entries(partitions))
        if (!(offsets[topic]?.[partition] >= offset))
          faults.push(`offsets/${batch}: ${topic}-${partition} goes back from ${offset}`);
    }
    before = offsets;
  }
  for (const topic of topics) {
    const expected = ends.get(topic) ?? [];
    const found = Object.entries(before[topic] ?? {}).sort(([a], [b]) => Number(a) - Number(b));
    if (found.map(([, offset]) => offset).join() !== expected.join())
      faults.push(`the checkpoint ends ${topic} at ${show(before[topic])}, the log at ${expected.join()}`);
  }
  return newest + 1;
}

async function batchesIn(io: FileIO, directory: string): Promise<number[]> {
  const batches: number[] = [];
  for await (const { path } of io.list(directory)) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (/^\d+$/.test(name)) batches.push(Number(name));
  }
  return batches.sort((a, b) => a - b);
}

async function askVerify(
  options: ExactlyOnceOptions,
  io: FileIO,
  tables: readonly string[],
  result: ExactlyOnceResult,
  faults: string[],
): Promise<void> {
  const { pipeline } = options;
  const checkpoint = await pipeline.openCheckpoint(io);
  if (checkpoint.latestPlanned === null) return;
  const catalog = await pipeline.openCatalog(io);
  let accepted = 0n;
  try {
    for (const table of tables) {
      const report = await verifyTable({ checkpoint, catalog, io }, table);
      result.verify.push(report);
      for (const p of report.partitions) accepted += p.acceptedLoss;
      if (!report.ok)
        faults.push(
          `verify finds ${report.lost} lost, ${report.duplicated} doubled, ${report.unexpected} unexpected in ${report.table}`,
        );
    }
  } finally {
    await catalog.close();
  }
  if (accepted !== (options.acceptedLoss ?? 0n))
    faults.push(`verify counts ${accepted} offsets as accepted loss`);
  const rows = result.verify.reduce((sum, r) => sum + r.rows + r.quarantined, 0);
  if (rows !== result.rows + result.quarantined) faults.push(`verify counts ${rows} rows`);
}

function same(found: unknown, expected: unknown): boolean {
  if (expected === null || found === null || found === undefined)
    return (found ?? null) === (expected ?? null);
  if (expected instanceof Uint8Array)
    return found instanceof Uint8Array && Buffer.compare(found, expected) === 0;
  return found === expected;
}

function show(value: unknown): string {
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex').slice(0, 80)}`;
  return (
    JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))?.slice(0, 200) ??
    'absent'
  );
}
