import type { DataFile, PartitionValue } from '../core/data-file.ts';
import type { PrimitiveType } from '../core/schema.ts';
import { parseDecimal } from '../core/schema.ts';
import { decimalFromBytes } from '../core/single-value.ts';
import { SluiceError } from '../errors.ts';
import type { AvroRecord } from './avro-decode.ts';
import { AvroFileDecoder } from './avro-file.ts';
import { ADDED, bindSpec, DELETED, EXISTING, type ManifestEntry } from './manifest.ts';
import type { ManifestFile } from './manifest-list.ts';
import { specById, type TableMetadata } from './metadata.ts';
import type { BoundPartitionField } from './partition.ts';

/**
 * Reads the entries of a manifest of any version and writer, with what they inherit: snapshot id, sequence numbers and
 * (v3) first row ids. Deleted entries are among them. The file comes in pieces, as for `AvroFileDecoder`, so that a
 * manifest of any size takes no more than a piece and an entry. Errors: METADATA_INVALID.
 */
export class ManifestReader {
  readonly #manifest: ManifestFile;
  readonly #file: AvroFileDecoder;
  readonly #bound: BoundPartitionField[];
  #nextRowId: bigint | null;

  constructor(manifest: ManifestFile, metadata: TableMetadata) {
    this.#manifest = manifest;
    this.#file = new AvroFileDecoder(`manifest ${manifest.manifestPath}`);
    this.#bound = bindSpec(metadata, specById(metadata, manifest.partitionSpecId));
    this.#nextRowId = manifest.content === 0 ? manifest.firstRowId : null;
  }

  push(bytes: Uint8Array): void {
    this.#file.push(bytes);
  }

  *entries(): Generator<ManifestEntry> {
    for (const record of this.#file.records()) {
      const entry = readEntry(record, this.#manifest, this.#bound);
      if (entry.status !== DELETED && this.#nextRowId !== null && entry.file.firstRowId === undefined) {
        entry.file.firstRowId = this.#nextRowId;
        this.#nextRowId += entry.file.recordCount;
      }
      yield entry;
    }
  }

  end(): void {
    this.#file.end();
  }
}

function readEntry(
  record: AvroRecord,
  manifest: ManifestFile,
  partition: readonly BoundPartitionField[],
): ManifestEntry {
  const fields = new EntryFields(record, manifest.manifestPath);
  const status = fields.required<number>(0, 'number');
  if (status !== EXISTING && status !== ADDED && status !== DELETED) throw fields.bad(0, `status ${status}`);
  // Where it is set, both numbers that are missing are the manifest's own.
  const inherited = status === ADDED || manifest.sequenceNumber === 0n ? manifest.sequenceNumber : null;
  const sequenceNumber = fields.optional<bigint>(3, 'bigint') ?? inherited;
  if (sequenceNumber === null) throw fields.bad(3, 'an entry that is not new has no sequence number');
  const dataFile = record[2];
  if (typeof dataFile !== 'object' || dataFile === null) throw fields.bad(2, 'the data file is missing');
  return {
    status,
    snapshotId: fields.optional<bigint>(1, 'bigint') ?? manifest.addedSnapshotId,
    sequenceNumber,
    fileSequenceNumber: fields.optional<bigint>(4, 'bigint') ?? inherited,
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
