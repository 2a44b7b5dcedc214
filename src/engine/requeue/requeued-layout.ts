import { isPrimitive, type NestedField, type Schema } from '../../core/schema.ts';
import { SluiceError } from '../../errors.ts';
import type { CreateTableRequest } from '../../iceberg/catalog.ts';
import { UNPARTITIONED } from '../../iceberg/partition.ts';

const QUARANTINE_SUFFIX = '__quarantine';
const REQUEUED_SUFFIX = '__requeued';

/** `a.b__quarantine` of `a.b` or of itself. */
export function quarantineNameOf(table: string): string {
  return isQuarantineName(table) ? table : `${table}${QUARANTINE_SUFFIX}`;
}

export function isQuarantineName(table: string): boolean {
  return table.endsWith(QUARANTINE_SUFFIX);
}

/** The record of what has gone back from a quarantine: a table beside it. */
export function requeuedNameOf(quarantine: string): string {
  return `${quarantine.slice(0, -QUARANTINE_SUFFIX.length)}${REQUEUED_SUFFIX}`;
}

const field = (id: number, name: string, type: NestedField['type'], doc: string): NestedField => ({
  id,
  name,
  required: false,
  type,
  doc,
});

/** One row for each record that has gone back into its table. */
export function requeuedSchema(): Schema {
  return {
    type: 'struct',
    schemaId: 0,
    fields: [
      field(1, 'topic', 'string', 'The topic.'),
      field(2, 'kafka_partition', 'int', 'The partition of the topic.'),
      field(3, 'kafka_offset', 'long', 'The offset in the partition.'),
      field(4, 'pipeline', 'string', 'The pipeline that had set the record aside.'),
      field(5, 'batch_id', 'long', 'The batch that had set it aside.'),
      field(6, 'requeue_id', 'string', 'The requeue that brought it back.'),
      field(7, 'target_table', 'string', 'The table that it is a row of now.'),
      field(8, 'target_snapshot_id', 'long', 'The snapshot of that table that brought the row.'),
      field(9, 'requeued_at', 'timestamptz', 'When the requeue began: ingested_at of the row.'),
    ],
  };
}

export function requeuedRequest(): CreateTableRequest {
  return {
    schema: requeuedSchema(),
    partitionSpec: UNPARTITIONED,
    formatVersion: 2,
    properties: {
      'write.format.default': 'parquet',
      'write.metadata.delete-after-commit.enabled': 'true',
      'write.metadata.previous-versions-max': '100',
    },
  };
}

/** Throws TABLE_INCOMPATIBLE for a table of that name that is no such record. */
export function assertRequeued(name: string, schema: Schema): void {
  const faults = requeuedSchema().fields.flatMap(({ name: column, type }) => {
    const found = schema.fields.find((f) => f.name === column);
    if (found === undefined) return [`there is no column \`${column}\``];
    if (found.type === type) return [];
    return [
      `column ${column}: expected ${String(type)}, found ${isPrimitive(found.type) ? found.type : found.type.type}`,
    ];
  });
  if (faults.length === 0) return;
  throw new SluiceError(
    'TABLE_INCOMPATIBLE',
    `table ${name} should keep what was requeued: ${faults.join('; ')}. Rename that table`,
    { context: { table: name, faults } },
  );
}
