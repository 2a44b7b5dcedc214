/** Table metadata as JSON (Iceberg spec, appendix C "Table Metadata and Snapshots"), versions 1 to 3. */
import { parseFaithfulJson64, stringifyJson64 } from '../core/json64.ts';
import type { Schema } from '../core/schema.ts';
import { messageOf, SluiceError } from '../errors.ts';
import { invalid, type JsonObject, JsonReader } from './json-reader.ts';
import {
  currentSchema,
  defaultSpec,
  FIRST_PARTITION_FIELD_ID,
  type FormatVersion,
  type MetadataLogEntry,
  type PartitionField,
  type PartitionSpec,
  type Snapshot,
  type SnapshotLogEntry,
  type SnapshotRef,
  type SortField,
  type SortOrder,
  schemaById,
  specById,
  type TableMetadata,
  UNSORTED,
} from './metadata.ts';
import { schemaFromJson, schemaToJson } from './schema-json.ts';

/** Reads the text of a metadata file. `source` names the file in errors. Throws METADATA_INVALID. */
export function parseTableMetadata(text: string, source: string): TableMetadata {
  let json: unknown;
  try {
    json = parseFaithfulJson64(text);
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
