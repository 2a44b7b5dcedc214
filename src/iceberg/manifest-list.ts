/** Manifest lists: the manifests of a snapshot (Iceberg spec, "Manifest Lists"). */
import { SluiceError } from '../errors.ts';
import type { AvroRecord } from './avro-decode.ts';
import { readAvroFile } from './avro-file.ts';
import { AvroFileWriter, type AvroWriter } from './avro-writer.ts';
import { manifestListSchema } from './manifest-schema.ts';

export interface FieldSummary {
  readonly containsNull: boolean;
  /** Null where the writer did not say. */
  readonly containsNan: boolean | null;
  readonly lowerBound: Uint8Array | null;
  readonly upperBound: Uint8Array | null;
}

export interface ManifestFile {
  readonly manifestPath: string;
  readonly manifestLength: bigint;
  readonly partitionSpecId: number;
  /** 0 data, 1 deletes. */
  readonly content: 0 | 1;
  /** -1: not committed yet. 0 in v1. */
  readonly sequenceNumber: bigint;
  readonly minSequenceNumber: bigint;
  readonly addedSnapshotId: bigint;
  /** Null where a v1 writer did not count; see `withCounts`. */
  readonly addedFilesCount: number | null;
  readonly existingFilesCount: number | null;
  readonly deletedFilesCount: number | null;
  readonly addedRowsCount: bigint | null;
  readonly existingRowsCount: bigint | null;
  readonly deletedRowsCount: bigint | null;
  readonly partitions: readonly FieldSummary[] | null;
  readonly keyMetadata: Uint8Array | null;
  /** v3: the first row id that its files inherit. */
  readonly firstRowId: bigint | null;
}

/** Reads a manifest list of any version. Throws METADATA_INVALID. */
export function readManifestList(bytes: Uint8Array, location: string): ManifestFile[] {
  return readAvroFile(bytes, `manifest list ${location}`).records.map((record) =>
    readManifestFile(record, location),
  );
}

function readManifestFile(record: AvroRecord, location: string): ManifestFile {
  const fail = (id: number, message: string): SluiceError =>
    new SluiceError('METADATA_INVALID', `manifest list ${location}, field ${id}: ${message}`, {
      context: { path: location, fieldId: id },
    });
  const long = (id: number): bigint | null => {
    const value = record[id];
    if (value === undefined || value === null) return null;
    if (typeof value === 'number') return BigInt(value);
    if (typeof value !== 'bigint') throw fail(id, `expected a long, found ${typeof value}`);
    return value;
  };
  const int = (id: number): number | null => {
    const value = long(id);
    return value === null ? null : Number(value);
  };
  const required = <T>(id: number, value: T | null): T => {
    if (value === null) throw fail(id, 'a required field is missing');
    return value;
  };
  const path = record[500];
  if (typeof path !== 'string') throw fail(500, 'the path is missing');
  const content = int(517) ?? 0;
  if (content !== 0 && content !== 1) throw fail(517, `content ${content}`);
  const partitions = record[507];
  return {
    manifestPath: path,
    manifestLength: required(501, long(501)),
    partitionSpecId: required(502, int(502)),
    content,
    sequenceNumber: long(515) ?? 0n,
    minSequenceNumber: long(516) ?? 0n,
    addedSnapshotId: required(503, long(503)),
    addedFilesCount: int(504),
    existingFilesCount: int(505),
    deletedFilesCount: int(506),
    addedRowsCount: long(512),
    existingRowsCount: long(513),
    deletedRowsCount: long(514),
    partitions: Array.isArray(partitions) ? (partitions as AvroRecord[]).map(readFieldSummary) : null,
    keyMetadata: asBytes(record[519]),
    firstRowId: long(520),
  };
}

function readFieldSummary(record: AvroRecord): FieldSummary {
  const nan = record[518];
  return {
    containsNull: record[509] === true,
    containsNan: typeof nan === 'boolean' ? nan : null,
    lowerBound: asBytes(record[510]),
    upperBound: asBytes(record[511]),
  };
}

function asBytes(value: unknown): Uint8Array | null {
  return value instanceof Uint8Array ? value : null;
}

export interface ManifestListRequest {
  location: string;
  formatVersion: 2 | 3;
  snapshotId: bigint;
  parentSnapshotId: bigint | null;
  sequenceNumber: bigint;
  /** v3: the table's next row id. */
  firstRowId: bigint;
  manifests: readonly ManifestFile[];
}

/**
 * The bytes of a manifest list, the manifests as they stand in it (sequence numbers and first row ids assigned), and
 * the next row id after it. Row ids are given to data manifests without one by their added and existing rows, an upper
 * bound, as the spec suggests and Java does.
 */
export function writeManifestList(request: ManifestListRequest): {
  bytes: Uint8Array;
  manifests: ManifestFile[];
  nextRowId: bigint;
} {
  const writer = new AvroFileWriter(request.location, manifestListSchema(request.formatVersion), {
    'snapshot-id': String(request.snapshotId),
    'parent-snapshot-id': String(request.parentSnapshotId),
    'sequence-number': String(request.sequenceNumber),
    ...(request.formatVersion === 3 ? { 'first-row-id': String(request.firstRowId) } : {}),
    'format-version': String(request.formatVersion),
  });
  let nextRowId = request.firstRowId;
  const manifests: ManifestFile[] = [];
  for (const manifest of request.manifests) {
    let assigned = withSequenceNumber(manifest, request);
    if (request.formatVersion === 3 && assigned.content === 0 && assigned.firstRowId === null) {
      assigned = { ...assigned, firstRowId: nextRowId };
      nextRowId += (assigned.addedRowsCount ?? 0n) + (assigned.existingRowsCount ?? 0n);
    }
    manifests.push(assigned);
    writer.record((w) => writeManifestFile(w, assigned, request.formatVersion));
  }
  return { bytes: writer.finish().rest, manifests, nextRowId };
}

function withSequenceNumber(manifest: ManifestFile, request: ManifestListRequest): ManifestFile {
  if (manifest.sequenceNumber >= 0n) return manifest;
  if (manifest.addedSnapshotId !== request.snapshotId) {
    throw new SluiceError(
      'INTERNAL',
      `manifest ${manifest.manifestPath} of snapshot ${manifest.addedSnapshotId} has no sequence number`,
    );
  }
  const minSequenceNumber =
    manifest.minSequenceNumber < 0n ? request.sequenceNumber : manifest.minSequenceNumber;
  return { ...manifest, sequenceNumber: request.sequenceNumber, minSequenceNumber };
}

function writeManifestFile(w: AvroWriter, m: ManifestFile, formatVersion: 2 | 3): void {
  const count = (value: number | bigint | null): bigint => {
    if (value === null)
      throw new SluiceError('INTERNAL', `manifest ${m.manifestPath} is to be listed without its counts`);
    return BigInt(value);
  };
  w.string(m.manifestPath);
  w.long(m.manifestLength);
  w.int(m.partitionSpecId);
  w.int(m.content);
  w.long(m.sequenceNumber);
  w.long(m.minSequenceNumber);
  w.long(m.addedSnapshotId);
  for (const value of [m.addedFilesCount, m.existingFilesCount, m.deletedFilesCount]) w.long(count(value));
  for (const value of [m.addedRowsCount, m.existingRowsCount, m.deletedRowsCount]) w.long(count(value));
  w.optional(m.partitions, (summaries) => {
    w.int(summaries.length);
    for (const summary of summaries) writeFieldSummary(w, summary);
    if (summaries.length > 0) w.int(0);
  });
  w.optional(m.keyMetadata, (bytes) => w.bytes(bytes));
  if (formatVersion === 3) w.optional(m.firstRowId, (id) => w.long(id));
}

function writeFieldSummary(w: AvroWriter, summary: FieldSummary): void {
  w.boolean(summary.containsNull);
  w.optional(summary.containsNan, (value) => w.boolean(value));
  w.optional(summary.lowerBound, (bytes) => w.bytes(bytes));
  w.optional(summary.upperBound, (bytes) => w.bytes(bytes));
}
