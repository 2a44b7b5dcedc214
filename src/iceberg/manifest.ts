/** Manifests: Avro files that list data files or delete files with their partition and metrics (Iceberg spec, "Manifests"). */
import type { DataFile, PartitionValue } from '../core/data-file.ts';
import { stringifyJson64 } from '../core/json64.ts';
import type { PrimitiveType } from '../core/schema.ts';
import { parseDecimal } from '../core/schema.ts';
import { decimalToFixed } from '../core/single-value.ts';
import { SluiceError } from '../errors.ts';
import { AvroFileWriter, type AvroWriter } from './avro-writer.ts';
import type { FieldSummary, ManifestFile } from './manifest-list.ts';
import { decimalFixedLength, manifestEntrySchema } from './manifest-schema.ts';
import { currentSchema, type PartitionSpec, type TableMetadata } from './metadata.ts';
import { partitionFieldToJson } from './metadata-json.ts';
import { type BoundPartitionField, bindPartitionSpec } from './partition.ts';
import { PartitionSummary } from './partition-summary.ts';
import { schemaToJson } from './schema-json.ts';

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
  /** Null too where an entry that is not new comes from a writer of before the field: Iceberg's Java library up to 1.0. */
  fileSequenceNumber: bigint | null;
  file: DataFile;
}

/** Not known before the commit: the manifest takes the sequence number of the snapshot that adds it. */
export const UNASSIGNED_SEQUENCE_NUMBER = -1n;

/** The spec of a table's manifest with the types of its values. */
export function bindSpec(metadata: TableMetadata, spec: PartitionSpec): BoundPartitionField[] {
  return bindPartitionSpec(spec, [currentSchema(metadata), ...metadata.schemas]);
}

/** Takes the entries of one manifest; `finish` gives its bytes and its entry for the manifest list. */
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

  /** Bytes that `take` would give. */
  get waiting(): number {
    return this.#avro.waiting;
  }

  /** The bytes so far, for a manifest that is not held whole; the view holds until the next entry. */
  take(): Uint8Array {
    return this.#avro.take();
  }

  add(entry: ManifestEntry): void {
    if (entry.file.partition.length !== this.#bound.length) {
      throw new SluiceError(
        'INTERNAL',
        `${entry.file.filePath}: ${entry.file.partition.length} partition values for a spec of ${this.#bound.length} fields`,
      );
    }
    if (entry.status !== ADDED && entry.sequenceNumber === null) {
      throw new SluiceError(
        'INTERNAL',
        `${entry.file.filePath}: an entry that is not new needs its sequence number`,
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

  /** `bytes`: what was not taken yet. */
  finish(): { bytes: Uint8Array; manifest: ManifestFile } {
    const { rest: bytes, size } = this.#avro.finish();
    const partitions: FieldSummary[] = this.#summaries.map((s) => s.finish());
    const manifest: ManifestFile = {
      manifestPath: this.#location,
      manifestLength: BigInt(size),
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
