import type { DataFile } from '../../core/data-file.ts';
import type { PrimitiveType } from '../../core/schema.ts';
import { singleValueToBytes } from '../../core/single-value.ts';
import { SluiceError } from '../../errors.ts';
import type { Catalog, LoadedTable } from '../../iceberg/catalog.ts';
import { currentSchema, snapshotOfRef } from '../../iceberg/metadata.ts';
import { liveFiles } from '../../iceberg/scan.ts';
import { readColumns, readFileMetadata } from '../../parquet/reader.ts';
import type { FileIO } from '../../storage/file-io.ts';
import { quarantineFaults } from '../bind-quarantine.ts';
import { parseTableName } from '../target-tables.ts';
import type { QuarantineColumn } from './quarantine-columns.ts';
import { StoredRecords } from './stored-records.ts';

/** Offsets [from, until) of a partition. */
export interface OffsetChoice {
  topic: string;
  partition: number;
  from: bigint;
  until: bigint;
}

/** Which records of a quarantine are meant; what is left out chooses nothing. */
export interface RecordFilter {
  reason?: string;
  topic?: string;
  /** Set aside at or after it, ms since 1970. */
  sinceMs?: number;
  /** Set aside before it. */
  untilMs?: number;
  /** In one of these. */
  offsets?: readonly OffsetChoice[];
}

/** What a visitor returns to have no more. */
export const STOP = Symbol('stop');

/** Values, keys and headers of a chunk, about: a record of any size is a chunk of its own. */
const CHUNK_BYTES = 4 * 1024 * 1024;

/** A quarantine as it is at one snapshot. */
export class QuarantineTable {
  readonly name: string;
  readonly loaded: LoadedTable;
  private readonly io: FileIO;
  /** By name; those that the table lacks are absent. */
  private readonly ids: Map<string, number>;

  /** Throws TABLE_NOT_FOUND, and TABLE_INCOMPATIBLE for a table that is no quarantine. */
  static async open(catalog: Catalog, io: FileIO, name: string): Promise<QuarantineTable> {
    const loaded = await catalog.loadTable(parseTableName(name));
    if (loaded === undefined)
      throw new SluiceError(
        'TABLE_NOT_FOUND',
        `table ${name} is not in the catalog ${catalog.name}: nothing was ever set aside there`,
        { context: { table: name } },
      );
    const faults = quarantineFaults(currentSchema(loaded.metadata));
    if (faults.length > 0)
      throw new SluiceError('TABLE_INCOMPATIBLE', `table ${name} is no quarantine: ${faults.join('; ')}`, {
        context: { table: name, faults },
      });
    return new QuarantineTable(name, loaded, io);
  }

  private constructor(name: string, loaded: LoadedTable, io: FileIO) {
    this.name = name;
    this.loaded = loaded;
    this.io = io;
    this.ids = new Map(currentSchema(loaded.metadata).fields.map((f) => [f.name, f.id]));
  }

  /** The live data files that may hold a record of the filter. Throws UNSUPPORTED for a table with delete files. */
  async *files(filter: RecordFilter): AsyncGenerator<DataFile> {
    const { metadata } = this.loaded;
    const snapshot = snapshotOfRef(metadata, 'main');
    if (snapshot === undefined) return;
    for await (const { file } of liveFiles(this.io, metadata, snapshot)) {
      if (file.content !== 0)
        throw new SluiceError(
          'UNSUPPORTED',
          `table ${this.name} has delete files, which a quarantine is not read with; rewrite it without them`,
          { context: { table: this.name } },
        );
      if (this.mayHold(file, filter)) yield file;
    }
  }

  /** The lowest and the highest value of a column in a file as their bytes; undefined where the file does not say. */
  bounds(file: DataFile, column: QuarantineColumn): { lower: Uint8Array; upper: Uint8Array } | undefined {
    const id = this.ids.get(column);
    const lower = id === undefined ? undefined : file.lowerBounds.get(id);
    const upper = id === undefined ? undefined : file.upperBounds.get(id);
    return lower === undefined || upper === undefined ? undefined : { lower, upper };
  }

  nullCount(file: DataFile, column: QuarantineColumn): bigint | undefined {
    return file.nullValueCounts.get(this.ids.get(column) ?? -1);
  }

  /**
   * Visits the records of the filter in chunks, with the columns asked for and those that the filter needs; one that the
   * table or the file lacks is null everywhere. `rows` are those of the chunk that are meant. Returns false where the
   * visitor stopped. Throws what the storage throws, and DATA_FILE_INVALID.
   */
  async scan(
    columns: readonly QuarantineColumn[],
    filter: RecordFilter,
    visit: (records: StoredRecords, rows: readonly number[]) => Promise<typeof STOP | undefined>,
  ): Promise<boolean> {
    const wanted = [...new Set([...columns, ...columnsOf(filter)])];
    for await (const file of this.files(filter))
      if (!(await this.scanFile(file, wanted, filter, visit))) return false;
    return true;
  }

  async scanFile(
    file: DataFile,
    columns: readonly QuarantineColumn[],
    filter: RecordFilter,
    visit: (records: StoredRecords, rows: readonly number[]) => Promise<typeof STOP | undefined>,
  ): Promise<boolean> {
    const { fields } = await readFileMetadata(this.io, file.filePath);
    const there = new Set(fields.map((f) => f.fieldId));
    const read = columns.filter((column) => there.has(this.ids.get(column)));
    const ids = read.map((column) => this.ids.get(column)!);
    try {
      await readColumns(
        this.io,
        file.filePath,
        ids,
        async ({ vectors, rowCount }) => {
          const records = new StoredRecords(new Map(read.map((column, i) => [column, vectors[i]])), rowCount);
          const rows: number[] = [];
          for (let row = 0; row < rowCount; row++) if (matches(records, row, filter)) rows.push(row);
          if (rows.length > 0 && (await visit(records, rows)) === STOP) throw STOP;
        },
        { chunkBytes: CHUNK_BYTES },
      );
      return true;
    } catch (thrown) {
      if (thrown === STOP) return false;
      throw thrown;
    }
  }

  private mayHold(file: DataFile, { reason, topic, sinceMs, untilMs, offsets }: RecordFilter): boolean {
    const within = (
      column: QuarantineColumn,
      type: PrimitiveType,
      from: string | bigint | number | undefined,
      to: string | bigint | number | undefined,
    ): boolean => {
      const bounds = this.bounds(file, column);
      if (bounds === undefined) return true;
      const compare = type === 'string' ? compareBytes : compareIntegers;
      if (from !== undefined && compare(singleValueToBytes(type, from), bounds.upper) > 0) return false;
      return to === undefined || compare(singleValueToBytes(type, to), bounds.lower) >= 0;
    };
    if (!within('reason', 'string', reason, reason) || !within('topic', 'string', topic, topic)) return false;
    const micros = (ms: number | undefined): bigint | undefined =>
      ms === undefined ? undefined : BigInt(ms) * 1000n;
    if (!within('quarantined_at', 'timestamptz', micros(sinceMs), micros(untilMs))) return false;
    return (
      offsets === undefined ||
      offsets.some(
        (o) =>
          within('topic', 'string', o.topic, o.topic) &&
          within('kafka_partition', 'int', o.partition, o.partition) &&
          within('kafka_offset', 'long', o.from, o.until - 1n),
      )
    );
  }
}

function columnsOf({ reason, topic, sinceMs, untilMs, offsets }: RecordFilter): QuarantineColumn[] {
  const columns: QuarantineColumn[] = [];
  if (reason !== undefined) columns.push('reason');
  if (topic !== undefined) columns.push('topic');
  if (sinceMs !== undefined || untilMs !== undefined) columns.push('quarantined_at');
  if (offsets !== undefined) columns.push('topic', 'kafka_partition', 'kafka_offset');
  return columns;
}

function matches(records: StoredRecords, row: number, filter: RecordFilter): boolean {
  const { reason, topic, sinceMs, untilMs, offsets } = filter;
  if (reason !== undefined && records.text('reason', row) !== reason) return false;
  if (topic !== undefined && records.text('topic', row) !== topic) return false;
  if (sinceMs !== undefined || untilMs !== undefined) {
    const at = records.long('quarantined_at', row);
    if (at === null) return false;
    if (sinceMs !== undefined && at < BigInt(sinceMs) * 1000n) return false;
    if (untilMs !== undefined && at >= BigInt(untilMs) * 1000n) return false;
  }
  if (offsets === undefined) return true;
  const offset = records.long('kafka_offset', row);
  return offsets.some(
    (o) =>
      offset !== null &&
      offset >= o.from &&
      offset < o.until &&
      records.integer('kafka_partition', row) === o.partition &&
      records.text('topic', row) === o.topic,
  );
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Integers of 4 or 8 bytes, little-endian. */
function compareIntegers(a: Uint8Array, b: Uint8Array): number {
  const [x, y] = [integerOf(a), integerOf(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** A bound of an integer column. */
export function integerOf(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return bytes.length === 4 ? BigInt(view.getInt32(0, true)) : view.getBigInt64(0, true);
}
