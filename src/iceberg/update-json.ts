/** Updates and requirements as the body of a REST commit has them (Iceberg REST OpenAPI, `CommitTableRequest`). */
import { highestFieldId } from '../core/schema.ts';
import type { JsonObject } from './json-reader.ts';
import type { FormatVersion } from './metadata.ts';
import { partitionSpecToJson, refToJson, snapshotToJson, sortOrderToJson } from './metadata-json.ts';
import { schemaToJson } from './schema-json.ts';
import { type TableRequirement, type TableUpdate, unknownKind } from './updates.ts';

/** A requirement as the body of a REST commit has it; write it with `stringifyJson64`, ids are bigint (case C22). */
export function requirementToJson(requirement: TableRequirement): JsonObject {
  switch (requirement.type) {
    case 'assert-create':
      return { type: requirement.type };
    case 'assert-table-uuid':
      return { type: requirement.type, uuid: requirement.uuid };
    case 'assert-ref-snapshot-id':
      return { type: requirement.type, ref: requirement.ref, 'snapshot-id': requirement.snapshotId };
    case 'assert-last-assigned-field-id':
      return { type: requirement.type, 'last-assigned-field-id': requirement.lastAssignedFieldId };
    case 'assert-current-schema-id':
      return { type: requirement.type, 'current-schema-id': requirement.currentSchemaId };
    case 'assert-last-assigned-partition-id':
      return { type: requirement.type, 'last-assigned-partition-id': requirement.lastAssignedPartitionId };
    case 'assert-default-spec-id':
      return { type: requirement.type, 'default-spec-id': requirement.defaultSpecId };
    case 'assert-default-sort-order-id':
      return { type: requirement.type, 'default-sort-order-id': requirement.defaultSortOrderId };
    default:
      return unknownKind('requirement', requirement satisfies never);
  }
}

/** An update as the body of a REST commit has it. */
export function updateToJson(update: TableUpdate, formatVersion: FormatVersion): JsonObject {
  const { action } = update;
  switch (update.action) {
    case 'assign-uuid':
      return { action, uuid: update.uuid };
    case 'upgrade-format-version':
      return { action, 'format-version': update.formatVersion };
    case 'add-schema':
      return { action, schema: schemaToJson(update.schema), 'last-column-id': highestFieldId(update.schema) };
    case 'set-current-schema':
      return { action, 'schema-id': update.schemaId };
    case 'add-spec':
      return { action, spec: partitionSpecToJson(update.spec) };
    case 'set-default-spec':
      return { action, 'spec-id': update.specId };
    case 'add-sort-order':
      return { action, 'sort-order': sortOrderToJson(update.sortOrder) };
    case 'set-default-sort-order':
      return { action, 'sort-order-id': update.sortOrderId };
    case 'add-snapshot':
      return { action, snapshot: snapshotToJson(update.snapshot, formatVersion) };
    case 'set-snapshot-ref':
      return { action, 'ref-name': update.refName, ...refToJson(update.ref) };
    case 'remove-snapshots':
      return { action, 'snapshot-ids': update.snapshotIds };
    case 'remove-snapshot-ref':
      return { action, 'ref-name': update.refName };
    case 'set-location':
      return { action, location: update.location };
    case 'set-properties':
      return { action, updates: update.updates };
    case 'remove-properties':
      return { action, removals: update.removals };
    case 'set-statistics':
      return { action, statistics: update.statistics };
    case 'set-partition-statistics':
      return { action, 'partition-statistics': update.partitionStatistics };
    case 'remove-statistics':
    case 'remove-partition-statistics':
      return { action, 'snapshot-id': update.snapshotId };
    case 'remove-partition-specs':
      return { action, 'spec-ids': update.specIds };
    case 'remove-schemas':
      return { action, 'schema-ids': update.schemaIds };
    case 'add-encryption-key':
      return { action, 'encryption-key': update.encryptionKey };
    case 'remove-encryption-key':
      return { action, 'key-id': update.keyId };
    default:
      return unknownKind('update', update satisfies never);
  }
}
