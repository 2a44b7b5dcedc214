import type { NestedField } from '../core/schema.ts';
import type { RegisteredSchema, ValueFormat } from '../core/value-format.ts';
import type { ValueDecoder } from './value-decoder.ts';

/** A decoder of a format that stands in a registry: it is given the schemas that it misses. */
export interface SchemaDecoder extends ValueDecoder {
  addSchema(schema: RegisteredSchema): void;
  /** The registry does not know this id: its records are UNKNOWN_SCHEMA_ID. */
  markUnknown(id: number): void;
}

export function takesSchemas(decoder: ValueDecoder): decoder is SchemaDecoder {
  return 'addSchema' in decoder;
}

/**
 * The decoder of a format into the given columns, by the names that the records use. Loads only what the format needs.
 * Throws CONFIG_INVALID where the format does not fit the columns.
 */
export async function createDecoder(
  columns: readonly NestedField[],
  format: ValueFormat,
): Promise<ValueDecoder> {
  switch (format.format) {
    case 'json':
      return (await import('./json/json-decoder.ts')).createJsonDecoder(columns, format);
    case 'csv':
      return (await import('./csv/csv-decoder.ts')).createCsvDecoder(columns, format);
    case 'avro':
      return (await import('./avro/avro-decoder.ts')).createAvroDecoder(columns, format);
    case 'protobuf':
      return (await import('./protobuf/protobuf-decoder.ts')).createProtobufDecoder(columns, format);
    case 'json-schema':
      return (await import('./json-schema/json-schema-decoder.ts')).createJsonSchemaDecoder(columns, format);
  }
}
