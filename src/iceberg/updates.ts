/**
 * Changes of table metadata and the conditions under which they may be made: `TableUpdate` and `TableRequirement` of
 * the Iceberg REST OpenAPI. Applying is pure; catalogs without a server apply them here, a REST catalog sends them.
 */
import { stringifyJson64 } from '../core/json64.ts';
import type { Schema } from '../core/schema.ts';
import { highestFieldId } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { invalid, type JsonObject, JsonReader } from './json-reader.ts';
import type {
  FormatVersion,
  PartitionSpec,
  Snapshot,
  SnapshotRef,
  SortOrder,
  TableMetadata,
} from './metadata.ts';
import { schemaToJson } from './schema-json.ts';

export type TableUpdate =
  | { action: 'assign-uuid'; uuid: string }
  | { action: 'upgrade-format-version'; formatVersion: FormatVersion }
  | { action: 'add-schema'; schema: Schema }
  /** -1: the schema that was added last in the same list. */
  | { action: 'set-current-schema'; schemaId: number }
  | { action: 'add-spec'; spec: PartitionSpec }
  | { action: 'set-default-spec'; specId: number }
  | { action: 'add-sort-order'; sortOrder: SortOrder }
  | { action: 'set-default-sort-order'; sortOrderId: number }
  | { action: 'add-snapshot'; snapshot: Snapshot }
  | { action: 'set-snapshot-ref'; refName: string; ref: SnapshotRef }
  | { action: 'remove-snapshots'; snapshotIds: bigint[] }
  | { action: 'remove-snapshot-ref'; refName: string }
  | { action: 'set-location'; location: string }
  | { action: 'set-properties'; updates: Record<string, string> }
  | { action: 'remove-properties'; removals: string[] }
  | { action: 'set-statistics'; statistics: JsonObject }
  | { action: 'remove-statistics'; snapshotId: bigint }
  | { action: 'set-partition-statistics'; partitionStatistics: JsonObject }
  | { action: 'remove-partition-statistics'; snapshotId: bigint }
  | { action: 'remove-partition-specs'; specIds: number[] }
  | { action: 'remove-schemas'; schemaIds: number[] }
  | { action: 'add-encryption-key'; encryptionKey: JsonObject }
  | { action: 'remove-encryption-key'; keyId: string };

export type TableRequirement =
  | { type: 'assert-create' }
  | { type: 'assert-table-uuid'; uuid: string }
  /** Null: the ref must not exist. */
  | { type: 'assert-ref-snapshot-id'; ref: string; snapshotId: bigint | null }
  | { type: 'assert-last-assigned-field-id'; lastAssignedFieldId: number }
  | { type: 'assert-current-schema-id'; currentSchemaId: number }
  | { type: 'assert-last-assigned-partition-id'; lastAssignedPartitionId: number }
  | { type: 'assert-default-spec-id'; defaultSpecId: number }
  | { type: 'assert-default-sort-order-id'; defaultSortOrderId: number };

/**
 * Throws COMMIT_CONFLICT (outcome 'not-applied') at the first requirement that does not hold. `metadata` undefined
 * means that the table does not exist. `table` names it in the message.
 */
export function checkRequirements(
  metadata: TableMetadata | undefined,
  requirements: readonly TableRequirement[],
  table: string,
): void {
  for (const requirement of requirements) {
    const failed = failedRequirement(metadata, requirement);
    if (failed === undefined) continue;
    throw new SluiceError('COMMIT_CONFLICT', `table ${table}: ${failed}`, {
      outcome: 'not-applied',
      context: { table, requirement: requirement.type },
    });
  }
}

function failedRequirement(
  metadata: TableMetadata | undefined,
  requirement: TableRequirement,
): string | undefined {
  if (requirement.type === 'assert-create')
    return metadata === undefined ? undefined : 'the table exists already';
  if (metadata === undefined) return 'the table does not exist';
  const differs = (what: string, expected: unknown, found: unknown): string | undefined =>
    expected === found ? undefined : `${what}: expected ${expected ?? 'none'}, found ${found ?? 'none'}`;
  switch (requirement.type) {
    case 'assert-table-uuid':
      return differs('uuid', requirement.uuid.toLowerCase(), metadata.tableUuid.toLowerCase());
    case 'assert-ref-snapshot-id':
      return differs(
        `ref ${requirement.ref}`,
        requirement.snapshotId === null ? null : `snapshot ${requirement.snapshotId}`,
        refText(metadata.refs.get(requirement.ref)),
      );
    case 'assert-last-assigned-field-id':
      return differs('last column id', requirement.lastAssignedFieldId, metadata.lastColumnId);
    case 'assert-current-schema-id':
      return differs('current schema id', requirement.currentSchemaId, metadata.currentSchemaId);
    case 'assert-last-assigned-partition-id':
      return differs('last partition id', requirement.lastAssignedPartitionId, metadata.lastPartitionId);
    case 'assert-default-spec-id':
      return differs('default spec id', requirement.defaultSpecId, metadata.defaultSpecId);
    case 'assert-default-sort-order-id':
      return differs('default sort order id', requirement.defaultSortOrderId, metadata.defaultSortOrderId);
    default:
      return unknownKind('requirement', requirement satisfies never);
  }
}

function refText(ref: SnapshotRef | undefined): string | null {
  return ref === undefined ? null : `snapshot ${ref.snapshotId}`;
}

/** For a switch that has met every kind: a value of another is a bug. */
export function unknownKind(what: string, value: unknown): never {
  throw new SluiceError('INTERNAL', `unknown ${what} ${JSON.stringify(value)}`);
}

/** What a list of updates is in the middle of: ids that -1 refers to, and snapshots that came with the list. */
interface Progress {
  lastSchemaId: number | undefined;
  lastSpecId: number | undefined;
  lastSortOrderId: number | undefined;
  readonly addedSnapshots: Set<bigint>;
}

/**
 * The metadata after the updates, in their order, or the same object where the list is empty. `nowMs` becomes
 * `last-updated-ms` (never earlier than before). Throws METADATA_INVALID where an update does not fit the table.
 */
export function applyUpdates(
  metadata: TableMetadata,
  updates: readonly TableUpdate[],
  nowMs: number,
): TableMetadata {
  if (updates.length === 0) return metadata;
  const progress: Progress = {
    lastSchemaId: undefined,
    lastSpecId: undefined,
    lastSortOrderId: undefined,
    addedSnapshots: new Set(),
  };
  // Java refuses metadata whose times run backwards by more than a minute; another writer's clock may be ahead of ours.
  let next: TableMetadata = { ...metadata, lastUpdatedMs: Math.max(nowMs, metadata.lastUpdatedMs) };
  for (const update of updates) next = applyUpdate(next, update, progress);
  return next;
}

function applyUpdate(m: TableMetadata, update: TableUpdate, progress: Progress): TableMetadata {
  switch (update.action) {
    case 'assign-uuid':
      return { ...m, tableUuid: update.uuid };
    case 'upgrade-format-version':
      return upgradeFormatVersion(m, update.formatVersion);
    case 'add-schema':
      return addSchema(m, update.schema, progress);
    case 'set-current-schema':
      return {
        ...m,
        currentSchemaId: resolveLast(
          update.schemaId,
          progress.lastSchemaId,
          m.schemas.map((s) => s.schemaId),
          'schema',
        ),
      };
    case 'add-spec':
      return addSpec(m, update.spec, progress);
    case 'set-default-spec':
      return {
        ...m,
        defaultSpecId: resolveLast(
          update.specId,
          progress.lastSpecId,
          m.partitionSpecs.map((s) => s.specId),
          'partition spec',
        ),
      };
    case 'add-sort-order':
      return addSortOrder(m, update.sortOrder, progress);
    case 'set-default-sort-order':
      return {
        ...m,
        defaultSortOrderId: resolveLast(
          update.sortOrderId,
          progress.lastSortOrderId,
          m.sortOrders.map((s) => s.orderId),
          'sort order',
        ),
      };
    case 'add-snapshot':
      return addSnapshot(m, update.snapshot, progress);
    case 'set-snapshot-ref':
      return setRef(m, update.refName, update.ref, progress);
    case 'remove-snapshots':
      return removeSnapshots(m, new Set(update.snapshotIds));
    case 'remove-snapshot-ref':
      return removeRef(m, update.refName);
    case 'set-location':
      return { ...m, location: update.location };
    case 'set-properties':
      return { ...m, properties: { ...m.properties, ...update.updates } };
    case 'remove-properties':
      return {
        ...m,
        properties: Object.fromEntries(
          Object.entries(m.properties).filter(([k]) => !update.removals.includes(k)),
        ),
      };
    case 'set-statistics':
      return { ...m, statistics: replaceBySnapshot(m.statistics, update.statistics) };
    case 'remove-statistics':
      return { ...m, statistics: withoutSnapshot(m.statistics, update.snapshotId) };
    case 'set-partition-statistics':
      return {
        ...m,
        partitionStatistics: replaceBySnapshot(m.partitionStatistics, update.partitionStatistics),
      };
    case 'remove-partition-statistics':
      return { ...m, partitionStatistics: withoutSnapshot(m.partitionStatistics, update.snapshotId) };
    case 'remove-partition-specs':
      if (update.specIds.includes(m.defaultSpecId))
        throw invalid('remove-partition-specs', 'the default spec cannot be removed');
      return { ...m, partitionSpecs: m.partitionSpecs.filter((s) => !update.specIds.includes(s.specId)) };
    case 'remove-schemas':
      if (update.schemaIds.includes(m.currentSchemaId))
        throw invalid('remove-schemas', 'the current schema cannot be removed');
      return { ...m, schemas: m.schemas.filter((s) => !update.schemaIds.includes(s.schemaId)) };
    case 'add-encryption-key':
      return { ...m, encryptionKeys: [...m.encryptionKeys, update.encryptionKey] };
    case 'remove-encryption-key':
      return { ...m, encryptionKeys: m.encryptionKeys.filter((k) => k['key-id'] !== update.keyId) };
    default:
      return unknownKind('update', update satisfies never);
  }
}

function resolveLast(id: number, last: number | undefined, known: number[], what: string): number {
  const resolved = id === -1 ? last : id;
  if (resolved === undefined)
    throw invalid('updates', `-1 asks for the ${what} that was added last, but none was added`);
  if (!known.includes(resolved)) throw invalid('updates', `${what} ${resolved} is not in the table`);
  return resolved;
}

function upgradeFormatVersion(m: TableMetadata, to: FormatVersion): TableMetadata {
  if (to < m.formatVersion)
    throw invalid('upgrade-format-version', `version ${m.formatVersion} cannot go back to ${to}`);
  return { ...m, formatVersion: to };
}

function addSchema(m: TableMetadata, schema: Schema, progress: Progress): TableMetadata {
  progress.lastSchemaId = schema.schemaId;
  const lastColumnId = Math.max(m.lastColumnId, highestFieldId(schema));
  const existing = m.schemas.find((s) => s.schemaId === schema.schemaId);
  if (existing !== undefined) {
    if (stringifyJson64(schemaToJson(existing)) !== stringifyJson64(schemaToJson(schema))) {
      throw invalid('add-schema', `another schema has id ${schema.schemaId}`);
    }
    return { ...m, lastColumnId };
  }
  return { ...m, lastColumnId, schemas: [...m.schemas, schema] };
}

function addSpec(m: TableMetadata, spec: PartitionSpec, progress: Progress): TableMetadata {
  progress.lastSpecId = spec.specId;
  if (m.partitionSpecs.some((s) => s.specId === spec.specId))
    throw invalid('add-spec', `a partition spec has id ${spec.specId}`);
  const lastPartitionId = spec.fields.reduce((max, f) => Math.max(max, f.fieldId), m.lastPartitionId);
  return { ...m, lastPartitionId, partitionSpecs: [...m.partitionSpecs, spec] };
}

function addSortOrder(m: TableMetadata, order: SortOrder, progress: Progress): TableMetadata {
  progress.lastSortOrderId = order.orderId;
  if (m.sortOrders.some((s) => s.orderId === order.orderId))
    throw invalid('add-sort-order', `a sort order has id ${order.orderId}`);
  return { ...m, sortOrders: [...m.sortOrders, order] };
}

function addSnapshot(m: TableMetadata, snapshot: Snapshot, progress: Progress): TableMetadata {
  if (m.snapshots.some((s) => s.snapshotId === snapshot.snapshotId)) {
    throw invalid('add-snapshot', `a snapshot has id ${snapshot.snapshotId}`);
  }
  if (
    m.formatVersion > 1 &&
    snapshot.parentSnapshotId !== null &&
    snapshot.sequenceNumber <= m.lastSequenceNumber
  ) {
    throw invalid(
      'add-snapshot',
      `sequence number ${snapshot.sequenceNumber} is not above the table's ${m.lastSequenceNumber}`,
    );
  }
  progress.addedSnapshots.add(snapshot.snapshotId);
  let lastSequenceNumber = m.lastSequenceNumber;
  if (snapshot.sequenceNumber > lastSequenceNumber) lastSequenceNumber = snapshot.sequenceNumber;
  return {
    ...m,
    snapshots: [...m.snapshots, snapshot],
    lastSequenceNumber,
    lastUpdatedMs: Math.max(m.lastUpdatedMs, snapshot.timestampMs),
    nextRowId: nextRowIdAfter(m, snapshot),
  };
}

/** v3: row ids are given out by the table, so a snapshot that begins below the next one would give an id twice. */
function nextRowIdAfter(m: TableMetadata, snapshot: Snapshot): bigint {
  if (m.formatVersion < 3) return m.nextRowId;
  if (snapshot.firstRowId === undefined || snapshot.addedRows === undefined) {
    throw invalid('add-snapshot', 'a v3 snapshot needs first-row-id and added-rows');
  }
  if (snapshot.firstRowId < m.nextRowId) {
    throw invalid(
      'add-snapshot',
      `first-row-id ${snapshot.firstRowId} is below the table's next-row-id ${m.nextRowId}`,
    );
  }
  if (snapshot.addedRows < 0n) throw invalid('add-snapshot', `added-rows ${snapshot.addedRows} is below 0`);
  return snapshot.firstRowId + snapshot.addedRows;
}

function setRef(m: TableMetadata, name: string, ref: SnapshotRef, progress: Progress): TableMetadata {
  const snapshot = m.snapshots.find((s) => s.snapshotId === ref.snapshotId);
  if (snapshot === undefined)
    throw invalid('set-snapshot-ref', `ref ${name}: snapshot ${ref.snapshotId} is not in the table`);
  if (name === 'main' && ref.type !== 'branch') throw invalid('set-snapshot-ref', 'main is a branch');
  const refs = new Map(m.refs).set(name, ref);
  if (name !== 'main') return { ...m, refs };
  if (m.currentSnapshotId === ref.snapshotId) return { ...m, refs };
  const timestampMs = progress.addedSnapshots.has(ref.snapshotId) ? snapshot.timestampMs : m.lastUpdatedMs;
  return {
    ...m,
    refs,
    currentSnapshotId: ref.snapshotId,
    snapshotLog: [...m.snapshotLog, { timestampMs, snapshotId: ref.snapshotId }],
  };
}

function removeRef(m: TableMetadata, name: string): TableMetadata {
  const refs = new Map(m.refs);
  refs.delete(name);
  // Java clears the log together with main: what comes later has no history to hang on.
  return name === 'main' ? { ...m, refs, currentSnapshotId: null, snapshotLog: [] } : { ...m, refs };
}

function removeSnapshots(m: TableMetadata, ids: ReadonlySet<bigint>): TableMetadata {
  let next: TableMetadata = { ...m, snapshots: m.snapshots.filter((s) => !ids.has(s.snapshotId)) };
  for (const [name, ref] of m.refs) if (ids.has(ref.snapshotId)) next = removeRef(next, name);
  return {
    ...next,
    snapshotLog: logWithout(next.snapshotLog, ids),
    statistics: m.statistics.filter((s) => !ids.has(statisticsSnapshotId(s))),
    partitionStatistics: m.partitionStatistics.filter((s) => !ids.has(statisticsSnapshotId(s))),
  };
}

/** "When snapshots are expired, all entries before a snapshot that has expired should be removed." */
function logWithout<T extends { snapshotId: bigint }>(
  log: readonly T[],
  ids: ReadonlySet<bigint>,
): readonly T[] {
  const last = log.findLastIndex((e) => ids.has(e.snapshotId));
  return last === -1 ? log : log.slice(last + 1);
}

function statisticsSnapshotId(statistics: JsonObject): bigint {
  return new JsonReader(statistics, 'statistics').long('snapshot-id');
}

function replaceBySnapshot(list: readonly JsonObject[], statistics: JsonObject): JsonObject[] {
  return [...withoutSnapshot(list, statisticsSnapshotId(statistics)), statistics];
}

function withoutSnapshot(list: readonly JsonObject[], id: bigint): JsonObject[] {
  return list.filter((s) => statisticsSnapshotId(s) !== id);
}
