import { messageOf } from '../errors.ts';
import { currentSchema, defaultSpec, type TableMetadata } from '../iceberg/metadata.ts';
import { bindPartitionSpec, partitionFunctions } from '../iceberg/partition.ts';
import { toParquetSchema } from '../parquet/leaf-column.ts';

/** Everything about a table but its columns' names that keeps Sluice from appending to it, in words. */
export function tableFaults(metadata: TableMetadata): string[] {
  const faults: string[] = [];
  if (metadata.formatVersion === 1) {
    faults.push(
      'it has format version 1, whose snapshots have no sequence numbers to prove a commit by; upgrade it ("format-version" = "2")',
    );
  }
  if (metadata.properties['encryption.key-id'] !== undefined)
    faults.push('its files are to be encrypted (encryption.key-id), which this version does not do');
  const schema = currentSchema(metadata);
  const attempts: (() => unknown)[] = [
    () => toParquetSchema(schema),
    () => partitionFunctions(bindPartitionSpec(defaultSpec(metadata), [schema])),
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch (error) {
      faults.push(messageOf(error));
    }
  }
  return faults;
}
