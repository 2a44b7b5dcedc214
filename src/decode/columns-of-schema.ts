import type { StructType } from '../core/schema.ts';
import type { RegisteredSchema, ValueFormat } from '../core/value-format.ts';
import { SluiceError } from '../errors.ts';

const TYPES = { avro: 'AVRO', protobuf: 'PROTOBUF', 'json-schema': 'JSON' } as const;

/**
 * The columns that values of a schema of the registry become, in a table of that version of the format. Throws CONFIG_INVALID for a schema of another kind than the
 * format, and UNSUPPORTED for one that has no columns (a recursive one).
 */
export async function columnsOfSchema(
  registered: RegisteredSchema,
  format: ValueFormat,
  formatVersion: number,
): Promise<StructType> {
  const expected = format.format in TYPES ? TYPES[format.format as keyof typeof TYPES] : undefined;
  if (registered.type !== expected) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `schema ${registered.id} of the registry is of type ${registered.type}, and the format is ${format.format}`,
      { context: { schemaId: registered.id } },
    );
  }
  switch (format.format) {
    case 'avro':
      return (await import('./avro/avro-to-iceberg.ts')).avroToIceberg(
        registered.schema,
        registered.references,
        { nanos: formatVersion >= 3 },
      );
    case 'protobuf':
      return (await import('./protobuf/protobuf-to-iceberg.ts')).protobufToIceberg(
        registered,
        format.message,
      );
    default:
      return (await import('./json-schema/json-schema-to-iceberg.ts')).jsonSchemaToIceberg(
        registered.schema,
        registered.references,
      );
  }
}
