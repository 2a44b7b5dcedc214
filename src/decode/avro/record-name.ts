import type { RegisteredSchema } from '../../core/value-format.ts';
import { AvroSchemaFault } from './avro-schema.ts';
import { parseAvroSchema } from './schema-parser.ts';

/**
 * The full name of the record that a schema of the registry is; empty where it is another type. `unusable`: why it is no
 * Avro schema at all. Never throws for what a schema holds.
 */
export function recordName(registered: RegisteredSchema): { fullName: string } | { unusable: string } {
  const { id, type, schema, references } = registered;
  if (type !== 'AVRO') return { unusable: `schema ${id} of the registry is of type ${type}, not AVRO` };
  try {
    const parsed = parseAvroSchema(schema, references);
    return { fullName: parsed.kind === 'record' ? parsed.fullName : '' };
  } catch (e) {
    // Schemas that hold one another in a long row may ask for more stack than there is.
    if (!(e instanceof AvroSchemaFault) && !(e instanceof RangeError)) throw e;
    return { unusable: `schema ${id} of the registry cannot be used: ${e.message}` };
  }
}
