/** Manifests: Avro files that list data files or delete files with their partition and metrics (Iceberg spec, "Manifests"). */
import type { DataFile, PartitionValue } from '../core/data-file.ts';
import { stringifyJson64 } from '../core/json64.ts';
import type { PrimitiveType } from '../core/schema.ts';
import { parseDecimal } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { type AvroRecord, readAvroFile } from './avro-reader.ts';
import { AvroFileWriter, type AvroWriter } from './avro-writer.ts';
import type { FieldSummary, ManifestFile } from './manifest-list.ts';
import { decimalFixedLength, manifestEntrySchema } from './manifest-schema.ts';
import { currentSchema, type PartitionSpec, specById, type TableMetadata } from './metadata.ts';
import { partitionFieldToJson } from './metadata-json.ts';
import { type BoundPartitionField, bindPartitionSpec } from './partition.ts';
import { PartitionSummary } from './partition-summary.ts';
import { schemaToJson } from './schema-json.ts';
import { decimalFromBytes, decimalToFixed } from './single-value.ts';

export const EXISTING = 0;
export const ADDED = 1;
export const DELETED = 2;

export interface ManifestEntry {
  /** 0 existing, 1 added, 2 deleted. */
  status: 0 | 1 | 2;
  /** Where the file was added, or deleted for status 2. */
  snapshotId: bigint;
  /** Data sequence number; null in an entry to be written that takes the number of its commit. */
  sequenceNumber: bigint | null;
  fileSequenceNumber: bigint | null;
  file: DataFile;
}

/** Not known before the commit: the manifest takes the sequence number of the snapshot that adds it. */
export const UNASSIGNED_SEQUENCE_NUMBER = -1n;

/** The spec of a table's manifest with the types of its values. */
export function bindSpec(metadata: TableMetadata, spec: PartitionSpec): BoundPartitionField[] {
  return bindPartitionSpec(spec, [currentSchema(metadata), ...metadata.schemas]);
}

/** Collects the entries of one manifest; `finish` gives its bytes and its entry for the manifest list. */
export class ManifestWriter {
  readonly #location: string;
  readonly #formatVersion: 2 | 3;
  readonly #content: 0 | 1;
  readonly #spec: PartitionSpec;
  readonly #bound: BoundPartitionField[];
  readonly #avro: AvroFileWriter;
  readonly #summaries: PartitionSummary[];
  readonly #snapshotId: bigint;
  readonly #files = [0, 0, 0];
  readonly #rows = [0n, 0n, 0n];
  #minSequenceNumber: bigint | undefined;

  constructor(
    metadata: TableMetadata,
    spec: PartitionSpec,
    content: 0 | 1,
    snapshotId: bigint,
    location: string,
  ) {
    if (metadata.formatVersion === 1)
      throw new SluiceError('UNSUPPORTED', 'manifests of format version 1 are read, not written');
    const schema = currentSchema(metadata);
    this.#location = location;
    this.#formatVersion = metadata.formatVersion;
    this.#content = content;
    this.#spec = spec;
    this.#snapshotId = snapshotId;
    this.#bound = bindSpec(metadata, spec);
    this.#summaries = this.#bound.map((b) => new PartitionSummary(b.resultType));
    this.#avro = new AvroFileWriter(location, manifestEntrySchema(this.#formatVersion, this.#bound), {
      schema: stringifyJson64(schemaToJson(schema)),
      'schema-id': String(schema.schemaId),
      'partition-spec': stringifyJson64(spec.fields.map(partitionFieldToJson)),
      'partition-spec-id': String(spec.specId),
      'format-version': String(this.#formatVersion),
      content: content === 0 ? 'data' : 'deletes',
    });
  }

  get sizeGuess(): number {
    return this.#avro.sizeGuess;
  }

  add(entry: ManifestEntry): void {
    if (entry.file.partition.length !== this.#bound.length) {
      throw new SluiceError(
        'INTERNAL',
        `${entry.file.filePath}: ${entry.file.partition.length} partition values for a spec of ${this.#bound.length} fields`,
      );
    }
    if (entry.status !== ADDED && (entry.sequenceNumber === null || entry.fileSequenceNumber === null)) {
      throw new SluiceError(
        'INTERNAL',
        `${entry.file.filePath}: an entry that is not new needs its sequence numbers`,
      );
    }
    this.#files[entry.status]++;
    this.#rows[entry.status] += entry.file.recordCount;
    const sequence = entry.sequenceNumber;
    if (
      entry.status !== DELETED &&
      sequence !== null &&
      (this.#minSequenceNumber === undefined || sequence < this.#minSequenceNumber)
    ) {
      this.#minSequenceNumber = sequence;
    }
    for (const [i, summary] of this.#summaries.entries()) summary.add(entry.file.partition[i]);
    this.#avro.record((w) => writeEntry(w, entry, this.#bound, this.#formatVersion));
  }

  finish(): { bytes: Uint8Array; manifest: ManifestFile } {
    const bytes = this.#avro.finish();
    const partitions: FieldSummary[] = this.#summaries.map((s) => s.finish());
    const manifest: ManifestFile = {
      manifestPath: this.#location,
      manifestLength: BigInt(bytes.length),
      partitionSpecId: this.#spec.specId,
      content: this.#content,
      sequenceNumber: UNASSIGNED_SEQUENCE_NUMBER,
      minSequenceNumber: this.#minSequenceNumber ?? UNASSIGNED_SEQUENCE_NUMBER,
      addedSnapshotId: this.#snapshotId,
      addedFilesCount: this.#files[ADDED],
      existingFilesCount: this.#files[EXISTING],
      deletedFilesCount: this.#files[DELETED],
      addedRowsCount: this.#rows[ADDED],
      existingRowsCount: this.#rows[EXISTING],
      deletedRowsCount: this.#rows[DELETED],
      partitions,
      keyMetadata: null,
      firstRowId: null,
    };
    return { bytes, manifest };
  }
}

function writeEntry(
  w: AvroWriter,
  entry: ManifestEntry,
  partition: readonly BoundPartitionField[],
  formatVersion: 2 | 3,
): void {
  const long = (value: bigint): void => w.long(value);
  const file = entry.file;
  w.int(entry.status);
  w.optional(entry.snapshotId, long);
  w.optional(entry.sequenceNumber, long);
  w.optional(entry.fileSequenceNumber, long);
  w.int(file.content);
  w.string(file.filePath);
  w.string(file.fileFormat);
  for (const [i, field] of partition.entries())
    w.optional(file.partition[i], (value) => writePartitionValue(w, field.resultType, value));
  w.long(file.recordCount);
  w.long(file.fileSizeInBytes);
  for (const counts of [file.columnSizes, file.valueCounts, file.nullValueCounts, file.nanValueCounts])
    writeIntMap(w, counts, long);
  for (const bounds of [file.lowerBounds, file.upperBounds])
    writeIntMap(w, bounds, (value) => w.bytes(value));
  w.optional(file.keyMetadata, (value) => w.bytes(value));
  w.optional(emptyAsNull(file.splitOffsets), (offsets) => writeArray(w, offsets, long));
  w.optional(emptyAsNull(file.equalityIds), (ids) => writeArray(w, ids, (id) => w.int(id)));
  w.optional(file.sortOrderId, (id) => w.int(id));
  if (formatVersion === 3) w.optional(file.firstRowId, long);
  w.optional(file.referencedDataFile, (path) => w.string(path));
  if (formatVersion === 3) {
    w.optional(file.contentOffset, long);
    w.optional(file.contentSizeInBytes, long);
  }
}

function emptyAsNull<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

function writeArray<T>(w: AvroWriter, items: readonly T[], write: (item: T) => void): void {
  w.int(items.length);
  for (const item of items) write(item);
  if (items.length > 0) w.int(0);
}

function writeIntMap<V>(w: AvroWriter, map: ReadonlyMap<number, V>, write: (value: V) => void): void {
  w.optional(map.size === 0 ? null : map, (entries) => {
    w.int(entries.size);
    for (const [key, value] of entries) {
      w.int(key);
      write(value);
    }
    w.int(0);
  });
}

function writePartitionValue(w: AvroWriter, type: PrimitiveType, value: Exclude<PartitionValue, null>): void {
  if (typeof value === 'string') w.string(value);
  else if (typeof value === 'boolean') w.boolean(value);
  else if (typeof value === 'bigint') {
    const decimal = parseDecimal(type);
    if (decimal === undefined) w.long(value);
    else w.raw(decimalToFixed(value, decimalFixedLength(decimal.precision)));
  } else if (typeof value === 'number') {
    if (type === 'float') w.float(value);
    else if (type === 'double') w.double(value);
    else w.int(value);
  } else if (type === 'binary') w.bytes(value);
  else w.raw(value);
}

/**
 * The entries of a manifest of any version and writer, with what they inherit: snapshot id, sequence numbers and (v3)
 * first row ids. Deleted entries are among them. Throws METADATA_INVALID.
 */
export function readManifest(
  bytes: Uint8Array,
  manifest: ManifestFile,
  metadata: TableMetadata,
): ManifestEntry[] {
  const { records } = readAvroFile(bytes, `manifest ${manifest.manifestPath}`);
  const bound = bindSpec(metadata, specById(metadata, manifest.partitionSpecId));
  let nextRowId = manifest.content === 0 ? manifest.firstRowId : null;
  return records.map((record) => {
    const entry = readEntry(record, manifest, bound);
    if (entry.status !== DELETED && nextRowId !== null && entry.file.firstRowId === undefined) {
      entry.file.firstRowId = nextRowId;
      nextRowId += entry.file.recordCount;
    }
    return entry;
  });
}

function readEntry(
  record: AvroRecord,
  manifest: ManifestFile,
  partition: readonly BoundPartitionField[],
): ManifestEntry {
  const fields = new EntryFields(record, manifest.manifestPath);
  const status = fields.required<number>(0, 'number');
  if (status !== EXISTING && status !== ADDED && status !== DELETED) throw fields.bad(0, `status ${status}`);
  const inherits = status === ADDED || manifest.sequenceNumber === 0n;
  const inherit = (id: number): bigint => {
    const own = fields.optional<bigint>(id, 'bigint');
    if (own !== undefined) return own;
    if (!inherits) throw fields.bad(id, 'an entry that is not new has no sequence number');
    return manifest.sequenceNumber;
  };
  const dataFile = record[2];
  if (typeof dataFile !== 'object' || dataFile === null) throw fields.bad(2, 'the data file is missing');
  return {
    status,
    snapshotId: fields.optional<bigint>(1, 'bigint') ?? manifest.addedSnapshotId,
    sequenceNumber: inherit(3),
    fileSequenceNumber: inherit(4),
    file: readDataFile(new EntryFields(dataFile as AvroRecord, manifest.manifestPath), manifest, partition),
  };
}

/** Typed access to a decoded record by field id. */
class EntryFields {
  readonly #record: AvroRecord;
  readonly #path: string;

  constructor(record: AvroRecord, path: string) {
    this.#record = record;
    this.#path = path;
  }

  bad(id: number, message: string): SluiceError {
    return new SluiceError('METADATA_INVALID', `manifest ${this.#path}, field ${id}: ${message}`, {
      context: { path: this.#path, fieldId: id },
    });
  }

  optional<T>(id: number, type: 'number' | 'bigint' | 'string'): T | undefined {
    const value = this.#record[id];
    if (value === undefined || value === null) return undefined;
    // A field that was an int in an older writer is read as the long it became.
    if (type === 'bigint' && typeof value === 'number') return BigInt(value) as T;
    if (typeof value !== type) throw this.bad(id, `expected ${type}, found ${typeof value}`);
    return value as T;
  }

  required<T>(id: number, type: 'number' | 'bigint' | 'string'): T {
    const value = this.optional<T>(id, type);
    if (value === undefined) throw this.bad(id, 'a required field is missing');
    return value;
  }

  bytes(id: number): Uint8Array | undefined {
    const value = this.#record[id];
    return value instanceof Uint8Array ? value : undefined;
  }

  map<V>(id: number): Map<number, V> {
    const value = this.#record[id];
    return value instanceof Map ? (value as Map<number, V>) : new Map<number, V>();
  }

  list<T>(id: number): T[] | undefined {
    const value = this.#record[id];
    return Array.isArray(value) ? (value as T[]) : undefined;
  }

  record(id: number): AvroRecord {
    const value = this.#record[id];
    return typeof value === 'object' && value !== null ? (value as AvroRecord) : {};
  }
}

const FORMATS = ['PARQUET', 'AVRO', 'ORC', 'PUFFIN'] as const;

function readDataFile(
  fields: EntryFields,
  manifest: ManifestFile,
  partition: readonly BoundPartitionField[],
): DataFile {
  const content = fields.optional<number>(134, 'number') ?? 0;
  if (content !== 0 && content !== 1 && content !== 2) throw fields.bad(134, `content ${content}`);
  const format = fields.required<string>(101, 'string').toUpperCase();
  const fileFormat = FORMATS.find((f) => f === format);
  if (fileFormat === undefined) throw fields.bad(101, `file format "${format}"`);
  const tuple = fields.record(102);
  const file: DataFile = {
    content,
    filePath: fields.required(100, 'string'),
    fileFormat,
    partition: partition.map((p) =>
      partitionValue(tuple[p.field.fieldId] ?? tuple[`name:${p.field.name}`], p),
    ),
    specId: manifest.partitionSpecId,
    recordCount: fields.required(103, 'bigint'),
    fileSizeInBytes: fields.required(104, 'bigint'),
    columnSizes: fields.map(108),
    valueCounts: fields.map(109),
    nullValueCounts: fields.map(110),
    nanValueCounts: fields.map(137),
    lowerBounds: fields.map(125),
    upperBounds: fields.map(128),
    splitOffsets: fields.list(132) ?? [],
  };
  const set = <K extends keyof DataFile>(key: K, value: DataFile[K] | undefined): void => {
    if (value !== undefined) file[key] = value;
  };
  set('keyMetadata', fields.bytes(131));
  // Java and PyIceberg have written these ids as int and as long.
  set('equalityIds', fields.list<number | bigint>(135)?.map(Number));
  set('sortOrderId', fields.optional(140, 'number'));
  set('firstRowId', fields.optional(142, 'bigint'));
  set('referencedDataFile', fields.optional(143, 'string'));
  set('contentOffset', fields.optional(144, 'bigint'));
  set('contentSizeInBytes', fields.optional(145, 'bigint'));
  return file;
}

const WIDE = new Set<PrimitiveType>([
  'long',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
]);

/** Brings a value to the form of its column's type now: the file may be older than a widening of the column. */
function partitionValue(value: unknown, { resultType }: BoundPartitionField): PartitionValue {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array && parseDecimal(resultType) !== undefined) return decimalFromBytes(value);
  if (typeof value === 'number' && WIDE.has(resultType)) return BigInt(value);
  return value as PartitionValue;
}
