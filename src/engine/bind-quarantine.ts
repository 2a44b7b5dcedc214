import { type IcebergType, isPrimitive, type Schema } from '../core/schema.ts';
import { headersFault, writeDefault } from './bind-columns.ts';
import { quarantineSchema } from './bronze-layout.ts';

/** Without these a record could not be found again, or not with its bytes. */
const NEEDED = ['topic', 'kafka_partition', 'kafka_offset', 'key', 'value', 'headers', 'reason'];
/** Columns that a quarantined record may have nothing for. */
const NULLABLE = new Set(['kafka_timestamp', 'key', 'value', 'headers', 'schema_id']);

/** Everything that keeps a table which is there already from being a quarantine, in words (spec 40, "Quarantine"). */
export function quarantineFaults(schema: Schema): string[] {
  const faults: string[] = [];
  const expected = new Map(quarantineSchema().fields.map((f) => [f.name, f.type]));
  for (const column of schema.fields) {
    const type = expected.get(column.name);
    if (type === undefined) {
      if (column.required && writeDefault(column) === null)
        faults.push(`column ${column.name} is required, and Sluice has nothing to put there`);
      continue;
    }
    const fault = typeFault(type, column.type);
    if (fault !== undefined) faults.push(`column ${column.name}: ${fault}`);
    if (column.required && NULLABLE.has(column.name))
      faults.push(`column ${column.name} is required, but records may have none`);
  }
  for (const name of NEEDED) {
    if (!schema.fields.some((f) => f.name === name)) faults.push(`there is no column \`${name}\``);
  }
  return faults;
}

function typeFault(expected: IcebergType, found: IcebergType): string | undefined {
  if (!isPrimitive(expected)) return headersFault(found);
  if (found === expected) return undefined;
  return `expected ${expected}, found ${isPrimitive(found) ? found : found.type}`;
}
