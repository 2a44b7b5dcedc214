/** Table metadata (Iceberg spec, "Table Metadata", versions 1 to 3), with every 64-bit number exact. */
import type { Schema } from '../core/schema.ts';
import { highestFieldId } from '../core/schema.ts';
import { invalid, type JsonObject } from './json-reader.ts';

export interface PartitionField {
  /** The one source column; undefined for a transform of several columns, whose ids are in `extra`. */
  readonly sourceId: number;
  /** Unique over all specs of a table from v2; from 1000. */
  readonly fieldId: number;
  readonly name: string;
  /** As the spec writes it: `identity`, `bucket[16]`, `hour`, ... Unknown ones are kept. */
  readonly transform: string;
  readonly extra?: JsonObject;
}

export interface PartitionSpec {
  readonly specId: number;
  readonly fields: readonly PartitionField[];
  readonly extra?: JsonObject;
}

export interface SortField {
  readonly sourceId: number;
  readonly transform: string;
  readonly direction: 'asc' | 'desc';
  readonly nullOrder: 'nulls-first' | 'nulls-last';
  readonly extra?: JsonObject;
}

/** Order id 0 is the unsorted order. */
export interface SortOrder {
  readonly orderId: number;
  readonly fields: readonly SortField[];
  readonly extra?: JsonObject;
}

export const UNSORTED: SortOrder = { orderId: 0, fields: [] };

export interface Snapshot {
  readonly snapshotId: bigint;
  /** Null for the first snapshot of a history. The parent may have been expired. */
  readonly parentSnapshotId: bigint | null;
  /** 0 in v1. */
  readonly sequenceNumber: bigint;
  readonly timestampMs: number;
  /** Null only in old v1 snapshots, which list their manifests in `manifests`. */
  readonly manifestList: string | null;
  readonly manifests?: readonly string[];
  /** With `operation`. */
  readonly summary: Readonly<Record<string, string>>;
  readonly schemaId?: number;
  /** v3: the first row id of the snapshot, and how many it may assign. */
  readonly firstRowId?: bigint;
  readonly addedRows?: bigint;
  readonly keyId?: string;
  readonly extra?: JsonObject;
}

export interface SnapshotRef {
  readonly snapshotId: bigint;
  readonly type: 'branch' | 'tag';
  readonly minSnapshotsToKeep?: number;
  readonly maxSnapshotAgeMs?: bigint;
  readonly maxRefAgeMs?: bigint;
  readonly extra?: JsonObject;
}

export interface SnapshotLogEntry {
  readonly timestampMs: number;
  readonly snapshotId: bigint;
}

export interface MetadataLogEntry {
  readonly timestampMs: number;
  readonly metadataFile: string;
}

export type FormatVersion = 1 | 2 | 3;

export interface TableMetadata {
  readonly formatVersion: FormatVersion;
  /** Empty only in v1 metadata that has none. */
  readonly tableUuid: string;
  readonly location: string;
  readonly lastSequenceNumber: bigint;
  readonly lastUpdatedMs: number;
  readonly lastColumnId: number;
  readonly schemas: readonly Schema[];
  readonly currentSchemaId: number;
  readonly partitionSpecs: readonly PartitionSpec[];
  readonly defaultSpecId: number;
  readonly lastPartitionId: number;
  readonly properties: Readonly<Record<string, string>>;
  /** Null: no snapshot. -1 and an absent field in the JSON mean the same (case C22). */
  readonly currentSnapshotId: bigint | null;
  readonly snapshots: readonly Snapshot[];
  readonly snapshotLog: readonly SnapshotLogEntry[];
  readonly metadataLog: readonly MetadataLogEntry[];
  readonly sortOrders: readonly SortOrder[];
  readonly defaultSortOrderId: number;
  readonly refs: ReadonlyMap<string, SnapshotRef>;
  /** As they stand in the JSON. */
  readonly statistics: readonly JsonObject[];
  readonly partitionStatistics: readonly JsonObject[];
  readonly encryptionKeys: readonly JsonObject[];
  /** v3 only; 0 otherwise. */
  readonly nextRowId: bigint;
  /** Fields that this version does not know, written back as they came. */
  readonly extra: JsonObject;
}

/** The first id of a partition field. */
export const FIRST_PARTITION_FIELD_ID = 1000;

export function currentSchema(metadata: TableMetadata): Schema {
  return schemaById(metadata, metadata.currentSchemaId);
}

export function schemaById(metadata: TableMetadata, schemaId: number): Schema {
  const schema = metadata.schemas.find((s) => s.schemaId === schemaId);
  if (schema === undefined) throw invalid('schemas', `schema ${schemaId} is not in the list`);
  return schema;
}

export function defaultSpec(metadata: TableMetadata): PartitionSpec {
  return specById(metadata, metadata.defaultSpecId);
}

export function specById(metadata: TableMetadata, specId: number): PartitionSpec {
  const spec = metadata.partitionSpecs.find((s) => s.specId === specId);
  if (spec === undefined) throw invalid('partition-specs', `partition spec ${specId} is not in the list`);
  return spec;
}

export function snapshotById(metadata: TableMetadata, snapshotId: bigint): Snapshot | undefined {
  return metadata.snapshots.find((s) => s.snapshotId === snapshotId);
}

/** The snapshot that a branch or tag points to; undefined where the ref does not exist. Throws METADATA_INVALID where it dangles. */
export function snapshotOfRef(metadata: TableMetadata, ref: string): Snapshot | undefined {
  const target = metadata.refs.get(ref);
  if (target === undefined) return undefined;
  const snapshot = snapshotById(metadata, target.snapshotId);
  if (snapshot === undefined)
    throw invalid(`refs.${ref}`, `snapshot ${target.snapshotId} is not in the list of snapshots`);
  return snapshot;
}

/** The snapshots from the head of a ref back to the oldest that is still listed, newest first. */
export function ancestorsOf(metadata: TableMetadata, ref: string): Snapshot[] {
  const byId = new Map(metadata.snapshots.map((s) => [s.snapshotId, s]));
  const chain: Snapshot[] = [];
  let next: Snapshot | undefined = snapshotOfRef(metadata, ref);
  while (next !== undefined) {
    chain.push(next);
    // A parent that is listed twice would be a cycle in damaged metadata: each snapshot is taken once.
    byId.delete(next.snapshotId);
    next = next.parentSnapshotId === null ? undefined : byId.get(next.parentSnapshotId);
  }
  return chain;
}

export interface NewTable {
  tableUuid: string;
  location: string;
  schema: Schema;
  partitionSpec: PartitionSpec;
  sortOrder?: SortOrder;
  properties: Record<string, string>;
  formatVersion: 2 | 3;
  nowMs: number;
}

/** The metadata of a new, empty table. Field ids are taken as they are. */
export function newTableMetadata(table: NewTable): TableMetadata {
  const sortOrder = table.sortOrder ?? UNSORTED;
  return {
    formatVersion: table.formatVersion,
    tableUuid: table.tableUuid,
    location: table.location.replace(/\/+$/, ''),
    lastSequenceNumber: 0n,
    lastUpdatedMs: table.nowMs,
    lastColumnId: highestFieldId(table.schema),
    schemas: [table.schema],
    currentSchemaId: table.schema.schemaId,
    partitionSpecs: [table.partitionSpec],
    defaultSpecId: table.partitionSpec.specId,
    lastPartitionId: table.partitionSpec.fields.reduce(
      (max, f) => Math.max(max, f.fieldId),
      FIRST_PARTITION_FIELD_ID - 1,
    ),
    properties: table.properties,
    currentSnapshotId: null,
    snapshots: [],
    snapshotLog: [],
    metadataLog: [],
    sortOrders: [sortOrder],
    defaultSortOrderId: sortOrder.orderId,
    refs: new Map(),
    statistics: [],
    partitionStatistics: [],
    encryptionKeys: [],
    nextRowId: 0n,
    extra: {},
  };
}

/** The long of a decimal text such as a property's value; undefined where it is none. */
export function propertyAsInteger(
  properties: Readonly<Record<string, string>>,
  key: string,
): number | undefined {
  const text = properties[key];
  if (text === undefined || !/^-?\d{1,15}$/.test(text.trim())) return undefined;
  return Number(text);
}
