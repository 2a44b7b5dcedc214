import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import { decodeGaps } from '../checkpoint/gap-text.ts';
import type { BatchPlan, LedgerEntry } from '../checkpoint/records.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { parseRoutingText, routeTopics } from '../engine/routing.ts';
import { parseTableName } from '../engine/target-tables.ts';
import { SluiceError } from '../errors.ts';
import type { Catalog, LoadedTable } from '../iceberg/catalog.ts';
import { currentSchema, snapshotOfRef } from '../iceberg/metadata.ts';
import { liveFiles } from '../iceberg/scan.ts';
import { type ReadVector, type RowChunk, readColumns } from '../parquet/reader.ts';
import type { FileIO } from '../storage/file-io.ts';
import { FieldCounter, type FieldCounts } from './field-counter.ts';
import { compareOffsets, countOf, type Interval, OffsetRuns, subtractIntervals } from './offset-intervals.ts';

export interface VerifyContext {
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
}

export interface VerifyOptions {
  /** Also count the rows by this top-level field of the JSON in the column `value`: reads that column too. */
  countBy?: string;
}

/** What became of the offsets of one partition, all incarnations of its topic together. */
export interface PartitionProof {
  topic: string;
  partition: number;
  /** The ranges that the checkpoint says were read, per incarnation. */
  ranges: Interval[];
  /** Found in the table and in its quarantine. */
  rows: number;
  quarantined: number;
  /** Proven to have no row, by the ledger: dropped by rule, control records, aborted, holes, lost and accepted. */
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  acceptedLoss: bigint;
  missing: Interval[];
  duplicated: Interval[];
  unexpected: Interval[];
  /** The ledger kept the count of the gaps, not their places: missing offsets were compared by number. */
  byCount: boolean;
  /** With `countBy`: the rows by what the field holds. */
  counts?: FieldCounts;
}

export interface VerifyReport {
  table: string;
  quarantineTable: string;
  snapshotId: bigint | null;
  ok: boolean;
  /** Offsets that should be there and are not; that are there too often; that the ledger does not know. */
  lost: bigint;
  duplicated: bigint;
  unexpected: bigint;
  rows: number;
  quarantined: number;
  partitions: PartitionProof[];
  /** With `countBy`: the field, and the rows of all partitions by what it holds. */
  countBy?: { field: string; counts: FieldCounts };
}

interface Found {
  rows: OffsetRuns;
  quarantined: OffsetRuns;
  counter?: FieldCounter;
}

/**
 * Proves, from the checkpoint's ledger and the offset columns of the table and its quarantine, that every offset which
 * was read is a row, a quarantined record or a gap that the ledger names, and none is there twice. Reads metadata and
 * three columns only. Rows of partitions that this checkpoint never read are not looked at.
 *
 * Throws TABLE_NOT_FOUND, NOT_VERIFIABLE for a table without the columns topic, kafka_partition and kafka_offset or one
 * that this checkpoint does not feed, UNSUPPORTED for `countBy` where there is no column `value` of text or bytes, and
 * what the storage and the catalog throw.
 */
export async function verifyTable(
  context: VerifyContext,
  table: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { checkpoint, catalog, io } = context;
  const newest = checkpoint.latestPlanned === null ? null : await checkpoint.plan(checkpoint.latestPlanned);
  const topics = topicsOf(newest, table);
  const data = await catalog.loadTable(parseTableName(table));
  if (data === undefined)
    throw new SluiceError('TABLE_NOT_FOUND', `table ${table} is not in the catalog`, { context: { table } });
  const quarantineTable = `${table}__quarantine`;
  const quarantine = await catalog.loadTable(parseTableName(quarantineTable));
  const found = new Map<string, Found>();
  const { countBy } = options;
  await collectRows(io, data, table, countBy !== undefined, (key) => {
    const entry = foundOf(found, key);
    if (countBy !== undefined) entry.counter ??= new FieldCounter(countBy);
    return { offsets: entry.rows, counter: entry.counter };
  });
  if (quarantine !== undefined) {
    await collectRows(io, quarantine, quarantineTable, false, (key) => ({
      offsets: foundOf(found, key).quarantined,
    }));
  }
  const ledger = (await checkpoint.ledger()).filter((entry) => topics.has(entry.topic));
  const inFlight =
    newest !== null && newest.batchId > (checkpoint.latestCommitted ?? -1) ? newest.ranges : [];
  const partitions = provePartitions(ledger, inFlight, found);
  const sum = (of: (p: PartitionProof) => bigint): bigint =>
    partitions.reduce((total, p) => total + of(p), 0n);
  const lost = sum((p) => countOf(p.missing));
  const duplicated = sum((p) => countOf(p.duplicated));
  const unexpected = sum((p) => countOf(p.unexpected));
  return {
    table,
    quarantineTable,
    snapshotId: data.metadata.currentSnapshotId,
    ok: lost === 0n && duplicated === 0n && unexpected === 0n,
    lost,
    duplicated,
    unexpected,
    rows: partitions.reduce((total, p) => total + p.rows, 0),
    quarantined: partitions.reduce((total, p) => total + p.quarantined, 0),
    partitions,
    ...(countBy === undefined ? {} : { countBy: totalCounts(countBy, partitions, found) }),
  };
}

function totalCounts(
  field: string,
  partitions: readonly PartitionProof[],
  found: ReadonlyMap<string, Found>,
): { field: string; counts: FieldCounts } {
  const total = new FieldCounter(field);
  for (const { topic, partition } of partitions) {
    const counter = found.get(topicPartitionKey(topic, partition))?.counter;
    if (counter !== undefined) total.merge(counter);
  }
  return { field, counts: total.counts() };
}

/** The topics that feed the table, by the routing of the newest planned batch. */
function topicsOf(newest: BatchPlan | null, table: string): Set<string> {
  if (newest !== null) {
    const { rules } = parseRoutingText(newest.config.text);
    const routed = [...new Set(newest.ranges.map((r) => r.topic))];
    const topics = routeTopics(routed, rules).filter((route) => route.table === table);
    if (topics.length > 0) return new Set(topics.map((route) => route.topic));
  }
  throw new SluiceError(
    'NOT_VERIFIABLE',
    `table ${table} is not fed by the pipeline of this checkpoint; verify it with the pipeline file that writes it`,
    {
      context: { table },
    },
  );
}

function foundOf(found: Map<string, Found>, key: string): Found {
  let entry = found.get(key);
  if (entry === undefined) {
    entry = { rows: new OffsetRuns(), quarantined: new OffsetRuns() };
    found.set(key, entry);
  }
  return entry;
}

/** Where the rows of one partition go. */
interface RowSink {
  offsets: OffsetRuns;
  counter?: FieldCounter;
}

async function collectRows(
  io: FileIO,
  table: LoadedTable,
  name: string,
  withValues: boolean,
  sinkOf: (key: string) => RowSink,
): Promise<void> {
  const ids = [...offsetColumns(table, name), ...(withValues ? [valueColumn(table, name)] : [])];
  const snapshot = snapshotOfRef(table.metadata, 'main');
  if (snapshot === undefined) return;
  for await (const { file } of liveFiles(io, table.metadata, snapshot)) {
    if (file.content !== 0) {
      throw new SluiceError(
        'NOT_VERIFIABLE',
        `table ${name} has delete files: its rows are no longer those that were read`,
        { context: { table: name } },
      );
    }
    await readColumns(io, file.filePath, ids, (chunk) => collectChunk(chunk, name, sinkOf));
  }
}

function offsetColumns(table: LoadedTable, name: string): number[] {
  const { fields } = currentSchema(table.metadata);
  return ['topic', 'kafka_partition', 'kafka_offset'].map((column) => {
    const field = fields.find((f) => f.name === column);
    if (field === undefined) {
      throw new SluiceError(
        'NOT_VERIFIABLE',
        `table ${name} has no column ${column}, so that its rows cannot be told apart`,
        { context: { table: name, column } },
      );
    }
    return field.id;
  });
}

function valueColumn(table: LoadedTable, name: string): number {
  const field = currentSchema(table.metadata).fields.find((f) => f.name === 'value');
  if (field?.type === 'string' || field?.type === 'binary') return field.id;
  throw new SluiceError(
    'UNSUPPORTED',
    `table ${name} has no column value of type string or binary: rows are counted by a field of the JSON in it`,
    { context: { table: name } },
  );
}

function collectChunk(chunk: RowChunk, name: string, sinkOf: (key: string) => RowSink): void {
  const [topics, partitions, offsets, values] = chunk.vectors;
  if (topics.kind !== 'strings' || partitions.kind !== 'int32' || offsets.kind !== 'int64') {
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `table ${name}: topic, kafka_partition and kafka_offset should be string, int and long`,
    );
  }
  let topic: string | null = null;
  let partition = -1;
  let sink: RowSink | undefined;
  for (let row = 0; row < chunk.rowCount; row++) {
    if (sink === undefined || topics.values[row] !== topic || partitions.values[row] !== partition) {
      topic = topics.values[row];
      partition = partitions.values[row];
      sink = sinkOf(topicPartitionKey(topic ?? '', partition));
    }
    sink.offsets.add(offsets.getNumber(row));
    sink.counter?.add(textAt(values, row));
  }
}

function textAt(values: ReadVector, row: number): string | null {
  if (values.kind === 'strings') return values.values[row];
  const bytes = values.kind === 'bytes' ? values.get(row) : null;
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

function provePartitions(
  ledger: readonly LedgerEntry[],
  inFlight: readonly OffsetRange[],
  found: ReadonlyMap<string, Found>,
): PartitionProof[] {
  const byPartition = Map.groupBy(ledger, (entry) => topicPartitionKey(entry.topic, entry.partition));
  return [...byPartition].map(([key, entries]) => provePartition(entries, inFlight, found.get(key)));
}

function provePartition(
  entries: readonly LedgerEntry[],
  inFlight: readonly OffsetRange[],
  found: Found | undefined,
): PartitionProof {
  const { topic, partition } = entries[0];
  const expected = entries.flatMap((e) =>
    subtractIntervals([{ from: e.from, until: e.until }], [...decodeGaps(e.gaps), ...e.lost]),
  );
  const all = OffsetRuns.union(found?.rows, found?.quarantined);
  const difference = compareOffsets(expected, all);
  const flying = inFlight.filter((r) => r.topic === topic && r.partition === partition);
  const sum = (of: (e: LedgerEntry) => number): number => entries.reduce((total, e) => total + of(e), 0);
  const proof: PartitionProof = {
    topic,
    partition,
    ranges: entries.map((e) => ({ from: e.from, until: e.until })),
    rows: found?.rows.count ?? 0,
    quarantined: found?.quarantined.count ?? 0,
    dropped: sum((e) => e.dropped),
    control: sum((e) => e.control),
    aborted: sum((e) => e.aborted),
    holes: sum((e) => e.holes),
    acceptedLoss: entries.reduce((total, e) => total + e.lostOffsets, 0n),
    missing: difference.missing,
    duplicated: difference.duplicated,
    // A batch whose table commit is done and whose checkpoint commit is not: the next run finishes it.
    unexpected: subtractIntervals(difference.unexpected, flying),
    byCount: entries.some((e) => e.gapsCut || e.lostCut),
    ...(found?.counter === undefined ? {} : { counts: found.counter.counts() }),
  };
  if (proof.byCount) acceptByCount(proof, entries);
  return proof;
}

/** Where not every gap is listed, the missing offsets must be as many as the gaps that are not. */
function acceptByCount(proof: PartitionProof, entries: readonly LedgerEntry[]): void {
  const counted = BigInt(proof.dropped + proof.control + proof.aborted + proof.holes) + proof.acceptedLoss;
  const listed = entries.reduce((total, e) => total + countOf(decodeGaps(e.gaps)) + countOf(e.lost), 0n);
  if (countOf(proof.missing) === counted - listed) proof.missing = [];
}
