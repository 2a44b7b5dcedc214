/** Table metadata (Iceberg spec, "Table Metadata", versions 1 to 3), with every 64-bit number exact. */
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import type { Schema } from '../core/schema.ts';
import { highestFieldId } from '../core/schema.ts';
import { messageOf, SluiceError } from '../errors.ts';
import { invalid, type JsonObject, JsonReader, toLong } from './json-reader.ts';
import { schemaFromJson, schemaToJson } from './schema-json.ts';

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

/** Reads the text of a metadata file. `source` names the file in errors. Throws METADATA_INVALID. */
export function parseTableMetadata(text: string, source: string): TableMetadata {
  let json: unknown;
  try {
    json = parseJson64(text);
  } catch (e) {
    throw new SluiceError('METADATA_INVALID', `${source} is not JSON: ${messageOf(e)}`, {
      cause: e,
      context: { path: source },
    });
  }
  try {
    return tableMetadataFromJson(json);
  } catch (e) {
    if (!(e instanceof SluiceError)) throw e;
    const text = e.message.slice(e.code.length + 2);
    throw new SluiceError(e.code, `${source}: ${text}`, {
      cause: e,
      context: { ...e.context, path: source },
    });
  }
}

export function tableMetadataFromJson(json: unknown): TableMetadata {
  const reader = new JsonReader(json, '');
  const formatVersion = reader.int('format-version');
  if (formatVersion !== 1 && formatVersion !== 2 && formatVersion !== 3) {
    throw new SluiceError(
      'UNSUPPORTED',
      `format-version ${formatVersion}: Sluice reads Iceberg tables of version 1, 2 and 3`,
    );
  }
  const schemas = readSchemas(reader);
  const specs = readSpecs(reader);
  const sortOrders = reader
    .optionalArray('sort-orders')
    ?.map((o, i) => sortOrderFromJson(o, `sort-orders[${i}]`)) ?? [UNSORTED];
  const current = noSnapshot(reader.optionalLong('current-snapshot-id'));
  const snapshots = (reader.optionalArray('snapshots') ?? []).map((s, i) =>
    snapshotFromJson(s, `snapshots[${i}]`),
  );
  const highestPartitionId = specs.specs
    .flatMap((s) => s.fields)
    .reduce((max, f) => Math.max(max, f.fieldId), FIRST_PARTITION_FIELD_ID - 1);
  const objects = (key: string): JsonObject[] => (reader.optionalArray(key) ?? []) as JsonObject[];
  const metadata: TableMetadata = {
    formatVersion,
    tableUuid:
      (formatVersion === 1 ? reader.optionalString('table-uuid') : reader.string('table-uuid')) ?? '',
    location: reader.string('location').replace(/(?<=.)\/+$/, ''),
    lastSequenceNumber:
      formatVersion === 1
        ? (reader.optionalLong('last-sequence-number') ?? 0n)
        : reader.long('last-sequence-number'),
    lastUpdatedMs: reader.millis('last-updated-ms'),
    lastColumnId: reader.int('last-column-id'),
    schemas: schemas.schemas,
    currentSchemaId: schemas.currentId,
    partitionSpecs: specs.specs,
    defaultSpecId: specs.defaultId,
    lastPartitionId: reader.optionalInt('last-partition-id') ?? highestPartitionId,
    properties: reader.optionalStringMap('properties') ?? {},
    currentSnapshotId: current,
    snapshots,
    snapshotLog: (reader.optionalArray('snapshot-log') ?? []).map((e, i) =>
      snapshotLogEntry(e, `snapshot-log[${i}]`),
    ),
    metadataLog: (reader.optionalArray('metadata-log') ?? []).map((e, i) =>
      metadataLogEntry(e, `metadata-log[${i}]`),
    ),
    sortOrders,
    defaultSortOrderId: reader.optionalInt('default-sort-order-id') ?? 0,
    refs: readRefs(reader, current),
    statistics: objects('statistics'),
    partitionStatistics: objects('partition-statistics'),
    encryptionKeys: objects('encryption-keys'),
    nextRowId: formatVersion < 3 ? (reader.optionalLong('next-row-id') ?? 0n) : reader.long('next-row-id'),
    extra: reader.rest(),
  };
  assertConsistent(metadata);
  return metadata;
}

function assertConsistent(metadata: TableMetadata): void {
  schemaById(metadata, metadata.currentSchemaId);
  specById(metadata, metadata.defaultSpecId);
  const ids = new Set<bigint>();
  for (const snapshot of metadata.snapshots) {
    if (ids.has(snapshot.snapshotId))
      throw invalid('snapshots', `snapshot ${snapshot.snapshotId} is listed twice`);
    ids.add(snapshot.snapshotId);
  }
  if (metadata.currentSnapshotId !== null && !ids.has(metadata.currentSnapshotId)) {
    throw invalid(
      'current-snapshot-id',
      `snapshot ${metadata.currentSnapshotId} is not in the list of snapshots`,
    );
  }
}

/** -1 and absent both say that there is no snapshot. */
function noSnapshot(id: bigint | undefined): bigint | null {
  return id === undefined || id === -1n ? null : id;
}

function readSchemas(reader: JsonReader): { schemas: Schema[]; currentId: number } {
  const list = reader.optionalArray('schemas');
  const deprecated = reader.raw('schema');
  if (list !== undefined) {
    const schemas = list.map((s, i) => schemaFromJson(s, `schemas[${i}]`));
    return { schemas, currentId: reader.int('current-schema-id') };
  }
  reader.optionalInt('current-schema-id');
  const schema = schemaFromJson(reader.required('schemas', deprecated), 'schema');
  return { schemas: [schema], currentId: schema.schemaId };
}

function readSpecs(reader: JsonReader): { specs: PartitionSpec[]; defaultId: number } {
  const list = reader.optionalArray('partition-specs');
  const deprecated = reader.raw('partition-spec');
  if (list !== undefined) {
    return {
      specs: list.map((s, i) => partitionSpecFromJson(s, `partition-specs[${i}]`)),
      defaultId: reader.int('default-spec-id'),
    };
  }
  reader.optionalInt('default-spec-id');
  const fields = partitionFieldsFromJson(reader.required('partition-specs', deprecated), 'partition-spec');
  return { specs: [{ specId: 0, fields }], defaultId: 0 };
}

export function partitionSpecFromJson(json: unknown, where: string): PartitionSpec {
  const reader = new JsonReader(json, where);
  const specId = reader.optionalInt('spec-id') ?? 0;
  const fields = partitionFieldsFromJson(
    reader.required('fields', reader.raw('fields')),
    reader.path('fields'),
  );
  return withExtra({ specId, fields }, reader);
}

/** The fields alone, as the deprecated `partition-spec` and the header of a manifest have them. */
export function partitionFieldsFromJson(json: unknown, where: string): PartitionField[] {
  if (!Array.isArray(json)) throw invalid(where, 'expected a JSON array', json);
  return json.map((field, i) => {
    const reader = new JsonReader(field, `${where}[${i}]`);
    const result = {
      sourceId: sourceIdOf(reader),
      // v1 did not write ids: they count from 1000 in the order of the fields.
      fieldId: reader.optionalInt('field-id') ?? FIRST_PARTITION_FIELD_ID + i,
      name: reader.string('name'),
      transform: reader.string('transform'),
    };
    return withExtra(result, reader);
  });
}

/** `source-id`, or the one of `source-ids`; -1 where a transform has several, which are then kept in `extra`. */
function sourceIdOf(reader: JsonReader): number {
  const single = reader.optionalInt('source-id');
  return single ?? -1;
}

export function sortOrderFromJson(json: unknown, where: string): SortOrder {
  const reader = new JsonReader(json, where);
  const fields = reader.array('fields').map((field, i) => {
    const f = new JsonReader(field, `${where}.fields[${i}]`);
    const direction = f.string('direction');
    const nullOrder = f.string('null-order');
    if (direction !== 'asc' && direction !== 'desc')
      throw invalid(f.path('direction'), 'expected "asc" or "desc"', direction);
    if (nullOrder !== 'nulls-first' && nullOrder !== 'nulls-last') {
      throw invalid(f.path('null-order'), 'expected "nulls-first" or "nulls-last"', nullOrder);
    }
    const result: SortField = {
      sourceId: sourceIdOf(f),
      transform: f.string('transform'),
      direction,
      nullOrder,
    };
    return withExtra(result, f);
  });
  return withExtra({ orderId: reader.int('order-id'), fields }, reader);
}

function withExtra<T extends object>(value: T, reader: JsonReader): T {
  const extra = reader.rest();
  return Object.keys(extra).length === 0 ? value : { ...value, extra };
}

export function snapshotFromJson(json: unknown, where: string): Snapshot {
  const reader = new JsonReader(json, where);
  const manifests = reader.optionalArray('manifests');
  const firstRowId = reader.optionalLong('first-row-id');
  const addedRows = reader.optionalLong('added-rows');
  const schemaId = reader.optionalInt('schema-id');
  const keyId = reader.optionalString('key-id');
  const snapshot: Snapshot = {
    snapshotId: reader.long('snapshot-id'),
    parentSnapshotId: noSnapshot(reader.optionalLong('parent-snapshot-id')),
    sequenceNumber: reader.optionalLong('sequence-number') ?? 0n,
    timestampMs: reader.millis('timestamp-ms'),
    manifestList: reader.optionalString('manifest-list') ?? null,
    ...(manifests === undefined ? {} : { manifests: manifests.map(String) }),
    summary: reader.optionalStringMap('summary') ?? {},
    ...(schemaId === undefined ? {} : { schemaId }),
    ...(firstRowId === undefined ? {} : { firstRowId }),
    ...(addedRows === undefined ? {} : { addedRows }),
    ...(keyId === undefined ? {} : { keyId }),
  };
  return withExtra(snapshot, reader);
}

function snapshotLogEntry(json: unknown, where: string): SnapshotLogEntry {
  const reader = new JsonReader(json, where);
  return { timestampMs: reader.millis('timestamp-ms'), snapshotId: reader.long('snapshot-id') };
}

function metadataLogEntry(json: unknown, where: string): MetadataLogEntry {
  const reader = new JsonReader(json, where);
  return { timestampMs: reader.millis('timestamp-ms'), metadataFile: reader.string('metadata-file') };
}

function readRefs(reader: JsonReader, current: bigint | null): Map<string, SnapshotRef> {
  const refs = new Map<string, SnapshotRef>();
  const json = reader.raw('refs');
  if (json !== undefined) {
    const map = new JsonReader(json, 'refs');
    for (const name of Object.keys(json as object))
      refs.set(name, refFromJson(map.raw(name), `refs.${name}`));
  }
  // "There is always a main branch reference pointing to the current-snapshot-id even if the refs map is null."
  if (current === null) {
    if (refs.get('main')?.snapshotId === -1n) refs.delete('main');
  } else if (!refs.has('main')) refs.set('main', { snapshotId: current, type: 'branch' });
  const main = refs.get('main');
  if (main !== undefined && main.snapshotId !== current) {
    throw invalid('refs.main', `expected the current snapshot ${current}`, main.snapshotId);
  }
  return refs;
}

export function refFromJson(json: unknown, where: string): SnapshotRef {
  const reader = new JsonReader(json, where);
  const type = reader.string('type');
  if (type !== 'branch' && type !== 'tag')
    throw invalid(reader.path('type'), 'expected "branch" or "tag"', type);
  const minSnapshotsToKeep = reader.optionalInt('min-snapshots-to-keep');
  const maxSnapshotAgeMs = reader.optionalLong('max-snapshot-age-ms');
  const maxRefAgeMs = reader.optionalLong('max-ref-age-ms');
  const ref: SnapshotRef = {
    snapshotId: reader.long('snapshot-id'),
    type,
    ...(minSnapshotsToKeep === undefined ? {} : { minSnapshotsToKeep }),
    ...(maxSnapshotAgeMs === undefined ? {} : { maxSnapshotAgeMs }),
    ...(maxRefAgeMs === undefined ? {} : { maxRefAgeMs }),
  };
  return withExtra(ref, reader);
}

/** The text of a snapshot, kept: nearly all snapshots of a metadata file were in the file before it. */
const snapshotTexts = new WeakMap<Snapshot, string>();

function snapshotText(snapshot: Snapshot, formatVersion: FormatVersion): string {
  if (formatVersion === 1) return stringifyJson64(snapshotToJson(snapshot, formatVersion));
  let text = snapshotTexts.get(snapshot);
  if (text === undefined) {
    text = stringifyJson64(snapshotToJson(snapshot, formatVersion));
    snapshotTexts.set(snapshot, text);
  }
  return text;
}

/** The text of a metadata file. */
export function serializeTableMetadata(metadata: TableMetadata): string {
  const { snapshots: _written, ...rest } = tableMetadataToJson({ ...metadata, snapshots: [] });
  const snapshots = metadata.snapshots.map((s) => snapshotText(s, metadata.formatVersion)).join(',');
  return `${stringifyJson64(rest).slice(0, -1)},"snapshots":[${snapshots}]}`;
}

export function tableMetadataToJson(metadata: TableMetadata): JsonObject {
  const v = metadata.formatVersion;
  const optionalList = (key: string, list: readonly unknown[]): JsonObject =>
    list.length === 0 ? {} : { [key]: list };
  return {
    'format-version': v,
    ...(metadata.tableUuid === '' ? {} : { 'table-uuid': metadata.tableUuid }),
    location: metadata.location,
    ...(v === 1 ? {} : { 'last-sequence-number': metadata.lastSequenceNumber }),
    'last-updated-ms': metadata.lastUpdatedMs,
    'last-column-id': metadata.lastColumnId,
    ...(v === 1 ? { schema: schemaToJson(currentSchema(metadata)) } : {}),
    'current-schema-id': metadata.currentSchemaId,
    schemas: metadata.schemas.map(schemaToJson),
    ...(v === 1 ? { 'partition-spec': defaultSpec(metadata).fields.map(partitionFieldToJson) } : {}),
    'default-spec-id': metadata.defaultSpecId,
    'partition-specs': metadata.partitionSpecs.map(partitionSpecToJson),
    'last-partition-id': metadata.lastPartitionId,
    'default-sort-order-id': metadata.defaultSortOrderId,
    'sort-orders': metadata.sortOrders.map(sortOrderToJson),
    properties: metadata.properties,
    ...currentSnapshotToJson(metadata),
    refs: Object.fromEntries([...metadata.refs].map(([name, ref]) => [name, refToJson(ref)])),
    snapshots: metadata.snapshots.map((s) => snapshotToJson(s, v)),
    ...optionalList('statistics', metadata.statistics),
    ...optionalList('partition-statistics', metadata.partitionStatistics),
    ...optionalList('encryption-keys', metadata.encryptionKeys),
    'snapshot-log': metadata.snapshotLog.map((e) => ({
      'timestamp-ms': e.timestampMs,
      'snapshot-id': e.snapshotId,
    })),
    'metadata-log': metadata.metadataLog.map((e) => ({
      'timestamp-ms': e.timestampMs,
      'metadata-file': e.metadataFile,
    })),
    ...(v === 3 ? { 'next-row-id': metadata.nextRowId } : {}),
    ...metadata.extra,
  };
}

/** "No snapshot" is -1 in v1 and v2, as Java writes it and every reader takes it, and null from v3 (spec, appendix F). */
function currentSnapshotToJson(metadata: TableMetadata): JsonObject {
  if (metadata.currentSnapshotId !== null) return { 'current-snapshot-id': metadata.currentSnapshotId };
  return { 'current-snapshot-id': metadata.formatVersion === 3 ? null : -1 };
}

export function partitionSpecToJson(spec: PartitionSpec): JsonObject {
  return { 'spec-id': spec.specId, fields: spec.fields.map(partitionFieldToJson), ...spec.extra };
}

export function partitionFieldToJson(field: PartitionField): JsonObject {
  return {
    ...(field.sourceId === -1 ? {} : { 'source-id': field.sourceId }),
    'field-id': field.fieldId,
    name: field.name,
    transform: field.transform,
    ...field.extra,
  };
}

export function sortOrderToJson(order: SortOrder): JsonObject {
  const fields = order.fields.map((f) => ({
    transform: f.transform,
    ...(f.sourceId === -1 ? {} : { 'source-id': f.sourceId }),
    direction: f.direction,
    'null-order': f.nullOrder,
    ...f.extra,
  }));
  return { 'order-id': order.orderId, fields, ...order.extra };
}

export function snapshotToJson(snapshot: Snapshot, formatVersion: FormatVersion): JsonObject {
  return {
    ...(formatVersion === 1 && snapshot.sequenceNumber === 0n
      ? {}
      : { 'sequence-number': snapshot.sequenceNumber }),
    'snapshot-id': snapshot.snapshotId,
    ...(snapshot.parentSnapshotId === null ? {} : { 'parent-snapshot-id': snapshot.parentSnapshotId }),
    'timestamp-ms': snapshot.timestampMs,
    // Java writes `operation` first within the summary and readers take any order.
    summary: snapshot.summary,
    ...(snapshot.manifestList === null ? {} : { 'manifest-list': snapshot.manifestList }),
    ...(snapshot.manifests === undefined ? {} : { manifests: snapshot.manifests }),
    ...(snapshot.schemaId === undefined ? {} : { 'schema-id': snapshot.schemaId }),
    ...(snapshot.firstRowId === undefined ? {} : { 'first-row-id': snapshot.firstRowId }),
    ...(snapshot.addedRows === undefined ? {} : { 'added-rows': snapshot.addedRows }),
    ...(snapshot.keyId === undefined ? {} : { 'key-id': snapshot.keyId }),
    ...snapshot.extra,
  };
}

export function refToJson(ref: SnapshotRef): JsonObject {
  return {
    'snapshot-id': ref.snapshotId,
    type: ref.type,
    ...(ref.minSnapshotsToKeep === undefined ? {} : { 'min-snapshots-to-keep': ref.minSnapshotsToKeep }),
    ...(ref.maxSnapshotAgeMs === undefined ? {} : { 'max-snapshot-age-ms': ref.maxSnapshotAgeMs }),
    ...(ref.maxRefAgeMs === undefined ? {} : { 'max-ref-age-ms': ref.maxRefAgeMs }),
    ...ref.extra,
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

export { toLong };
