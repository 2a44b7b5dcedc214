import type { RequeuedRecords } from '../checkpoint/requeue-intents.ts';
import { SluiceError } from '../errors.ts';
import type { LoadedTable } from '../iceberg/catalog.ts';
import { currentSchema, snapshotOfRef } from '../iceberg/metadata.ts';
import { liveFiles } from '../iceberg/scan.ts';
import { type ReadVector, type RowChunk, readColumns, readFileMetadata } from '../parquet/reader.ts';
import type { FileIO } from '../storage/file-io.ts';
import { FieldCounter } from './field-counter.ts';
import { forEachStretch, OffsetRuns } from './offset-runs.ts';

/** The rows of one partition: by the incarnation of its topic, null where the row does not say. */
export interface FoundPartition {
  rows: Map<string | null, OffsetRuns>;
  /** Once `takeBack` was called: without those that have gone back. */
  quarantined: Map<string | null, OffsetRuns>;
  /** Quarantined records that have gone back into their table. */
  requeued: number;
  /** With `countBy`: the rows of the data table by what the field holds. */
  counter?: FieldCounter;
}

/** The coordinates of all rows of a table and its quarantine. */
export class FoundRows {
  private readonly countBy: string | undefined;
  private readonly topics = new Map<string, Map<number, FoundPartition>>();
  /** Rows that lack a topic, a partition or an offset: Sluice did not write them. */
  unplaced = 0;

  constructor(countBy?: string) {
    this.countBy = countBy;
  }

  get(topic: string, partition: number): FoundPartition | undefined {
    return this.topics.get(topic)?.get(partition);
  }

  /** Rows of partitions that `isKnown` does not know, and those without a place. */
  countOthers(isKnown: (topic: string, partition: number) => boolean): number {
    let rows = this.unplaced;
    for (const [topic, partitions] of this.topics) {
      for (const [partition, found] of partitions) {
        if (isKnown(topic, partition)) continue;
        for (const runs of [...found.rows.values(), ...found.quarantined.values()]) rows += runs.count;
      }
    }
    return rows;
  }

  partition(topic: string, partition: number): FoundPartition {
    let partitions = this.topics.get(topic);
    if (partitions === undefined) {
      partitions = new Map();
      this.topics.set(topic, partitions);
    }
    let found = partitions.get(partition);
    if (found === undefined) {
      found = { rows: new Map(), quarantined: new Map(), requeued: 0 };
      if (this.countBy !== undefined) found.counter = new FieldCounter(this.countBy);
      partitions.set(partition, found);
    }
    return found;
  }

  /**
   * Takes from the quarantined records those that have gone back: as rows they count, as quarantined ones no more. To be
   * called when all is collected.
   */
  takeBack(records: readonly RequeuedRecords[]): void {
    const gone = new Map<FoundPartition, OffsetRuns>();
    for (const { topic, partition, offsets } of records) {
      const found = this.partition(topic, partition);
      const runs = gone.get(found) ?? new OffsetRuns();
      runs.addIntervals(offsets);
      gone.set(found, runs);
    }
    for (const [found, runs] of gone) {
      const aside = found.quarantined.get(null) ?? new OffsetRuns();
      const left = new OffsetRuns();
      forEachStretch([aside, runs], (from, until, [held, back]) => {
        for (let n = back; n < held; n++) left.addRun(from, until);
        found.requeued += Math.min(held, back) * (until - from);
      });
      found.quarantined.set(null, left);
    }
  }

  /**
   * Reads the rows of a table's main branch: three columns, `kafka_topic_id` where the table has it, and what is to be
   * counted by: a column of that name, else `value`, whose JSON may have the field. Throws NOT_VERIFIABLE for a table
   * without the three or with delete files, UNSUPPORTED where there is neither to count by, and what the storage throws.
   */
  async collect(io: FileIO, table: LoadedTable, name: string, kind: 'rows' | 'quarantined'): Promise<void> {
    const coordinates = coordinateColumns(table, name);
    const topicId = columnOf(table, 'kafka_topic_id', ['string'])?.id;
    const counted =
      kind === 'rows' && this.countBy !== undefined ? countedColumn(table, name, this.countBy) : undefined;
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
      const path = file.filePath;
      const columns = [...coordinates];
      const idAt =
        topicId !== undefined && (await hasColumn(io, path, topicId)) ? columns.push(topicId) - 1 : -1;
      const hasCounted = counted !== undefined && (!counted.isOwn || (await hasColumn(io, path, counted.id)));
      const valueAt = hasCounted ? columns.push(counted.id) - 1 : -1;
      const count = counted === undefined ? undefined : counterOf(counted, valueAt);
      await readColumns(io, path, columns, (chunk) => this.take(chunk, name, kind, idAt, count));
    }
  }

  private take(
    chunk: RowChunk,
    name: string,
    kind: 'rows' | 'quarantined',
    idAt: number,
    count: CountRow | undefined,
  ): void {
    const [topics, partitions, offsets] = chunk.vectors;
    if (topics.kind !== 'strings' || partitions.kind !== 'int32' || offsets.kind !== 'int64')
      throw new SluiceError(
        'NOT_VERIFIABLE',
        `table ${name}: topic, kafka_partition and kafka_offset should be string, int and long`,
      );
    const ids = idAt < 0 ? undefined : chunk.vectors[idAt];
    const idValues = ids?.kind === 'strings' ? ids.values : undefined;
    const someNull = topics.nullCount + partitions.nullCount + offsets.nullCount > 0;
    let topic: string | null = null;
    let partition = -1;
    let id: string | null = null;
    let runs: OffsetRuns | undefined;
    let found: FoundPartition | undefined;
    for (let row = 0; row < chunk.rowCount; row++) {
      if (someNull && (topics.values[row] === null || partitions.isNull(row) || offsets.isNull(row))) {
        this.unplaced++;
        continue;
      }
      const rowId = idValues === undefined ? null : idValues[row];
      if (
        runs === undefined ||
        topics.values[row] !== topic ||
        partitions.values[row] !== partition ||
        rowId !== id
      ) {
        topic = topics.values[row];
        partition = partitions.values[row];
        id = rowId;
        found = this.partition(topic!, partition);
        runs = runsOf(found[kind], id);
      }
      runs.add(offsets.getNumber(row));
      if (count !== undefined && found!.counter !== undefined) count(found!.counter, chunk, row);
    }
  }
}

function runsOf(byId: Map<string | null, OffsetRuns>, id: string | null): OffsetRuns {
  let runs = byId.get(id);
  if (runs === undefined) {
    runs = new OffsetRuns();
    byId.set(id, runs);
  }
  return runs;
}

/** A file that is older than the column has none; its rows do not tell their incarnation. */
async function hasColumn(io: FileIO, path: string, fieldId: number): Promise<boolean> {
  const { columns } = await readFileMetadata(io, path);
  return columns.some((column) => column.fieldId === fieldId);
}

function columnOf(table: LoadedTable, name: string, types: readonly string[]): { id: number } | undefined {
  const field = currentSchema(table.metadata).fields.find((f) => f.name === name);
  return field !== undefined && typeof field.type === 'string' && types.includes(field.type)
    ? field
    : undefined;
}

function coordinateColumns(table: LoadedTable, name: string): number[] {
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

/** What rows are counted by: a column of their own, or the JSON in the column `value`. */
interface CountedColumn {
  id: number;
  isOwn: boolean;
}

type CountRow = (counter: FieldCounter, chunk: RowChunk, row: number) => void;

const COUNTABLE = ['string', 'int', 'long', 'boolean'];

function countedColumn(table: LoadedTable, name: string, countBy: string): CountedColumn {
  const own = columnOf(table, countBy, COUNTABLE);
  if (own !== undefined) return { id: own.id, isOwn: true };
  const value = columnOf(table, 'value', ['string', 'binary']);
  if (value !== undefined) return { id: value.id, isOwn: false };
  throw new SluiceError(
    'UNSUPPORTED',
    `table ${name} has no column ${countBy} of text, whole numbers or truth values, and no column value with JSON that could have such a field: leave --count-by out, or name a column`,
    { context: { table: name } },
  );
}

/** `at`: the column's place in a chunk, -1 for a file that is older than the column and has only nulls for it. */
function counterOf({ isOwn }: CountedColumn, at: number): CountRow {
  if (at < 0) return (counter) => counter.addValue(null);
  if (isOwn) return (counter, chunk, row) => counter.addValue(plainAt(chunk.vectors[at], row));
  return (counter, chunk, row) => counter.add(textAt(chunk.vectors[at], row));
}

function plainAt(vector: ReadVector, row: number): string | number | bigint | boolean | null {
  if (vector.kind === 'strings') return vector.values[row];
  if (vector.isNull(row)) return null;
  if (vector.kind === 'int64') return vector.getBigInt(row);
  if (vector.kind === 'boolean') return vector.values[row] === 1;
  return vector.kind === 'int32' ? vector.values[row] : null;
}

function textAt(values: ReadVector, row: number): string | null {
  if (values.kind === 'strings') return values.values[row];
  const bytes = values.kind === 'bytes' ? values.get(row) : null;
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
