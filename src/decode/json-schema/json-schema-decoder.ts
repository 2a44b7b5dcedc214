import type { TypedColumn } from '../../columns/create-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import type { NestedField } from '../../core/schema.ts';
import type { JsonSchemaFormat, RegisteredSchema } from '../../core/value-format.ts';
import { CONFLUENT_FRAME, confluentFault, type FrameFault, hasConfluentFrame, schemaIdAt } from '../frame.ts';
import { createJsonDecoder, type DocumentFrame } from '../json/json-decoder.ts';
import { MissingSchemas } from '../registry/missing-schemas.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';

/** Decodes JSON documents in the frame of a registry; told of the schemas that `missingSchemas` asks for. */
export interface JsonSchemaDecoder extends ValueDecoder {
  addSchema(schema: RegisteredSchema): void;
  /** The registry does not know the id: its records of the next block are UNKNOWN_SCHEMA_ID; then it is asked for again. */
  markUnknown(id: number): void;
}

/** Ids that are remembered from block to block; beyond, all are asked for again. */
const MAX_IDS = 10_000;

/**
 * The decoder of documents in the registry's frame into columns, each read as the JSON decoder reads it. What a document
 * holds is not held against its schema: the columns say what they take. A schema of another type than JSON is
 * UNKNOWN_SCHEMA_ID: the bytes behind the frame are no document. Throws what `createJsonDecoder` throws.
 */
export function createJsonSchemaDecoder(
  columns: readonly NestedField[],
  format: JsonSchemaFormat,
  schemas: Iterable<RegisteredSchema> = [],
): JsonSchemaDecoder {
  const decoder = new FramedJsonDecoder(columns, format);
  for (const schema of schemas) decoder.addSchema(schema);
  return decoder;
}

class FramedJsonDecoder implements JsonSchemaDecoder {
  private readonly frame = new RegistryFrame();
  private readonly documents: ValueDecoder;

  constructor(columns: readonly NestedField[], format: JsonSchemaFormat) {
    this.documents = createJsonDecoder(columns, { ...format, format: 'json' }, this.frame);
  }

  get columns(): readonly TypedColumn[] {
    return this.documents.columns;
  }

  get faults(): readonly DecodeFault[] {
    return this.documents.faults;
  }

  get dropped(): readonly number[] {
    return this.documents.dropped;
  }

  get rowsWithUnknownFields(): readonly number[] {
    return this.documents.rowsWithUnknownFields;
  }

  get counts(): DecodeCounts {
    return this.documents.counts;
  }

  get byteLength(): number {
    return this.documents.byteLength;
  }

  addSchema(schema: RegisteredSchema): void {
    this.frame.missing.known(schema.id);
    this.frame.types.set(schema.id, schema.type);
  }

  markUnknown(id: number): void {
    this.frame.missing.markUnknown(id);
  }

  missingSchemas(values: BytesVector): readonly number[] {
    return this.frame.missing.of(values, this.frame.types);
  }

  decode(values: BytesVector): void {
    this.documents.decode(values);
    this.frame.missing.forget();
    if (this.frame.types.size > MAX_IDS) this.frame.types.clear();
  }
}

/** The magic byte and a schema id that the registry knows as one of JSON. */
class RegistryFrame implements DocumentFrame {
  readonly missing = new MissingSchemas();
  readonly types = new Map<number, RegisteredSchema['type']>();
  schemaId: number | null = null;
  fault: FrameFault = { reason: 'SHORT_FRAME', message: '' };

  open(bytes: Uint8Array, start: number, end: number): number {
    this.schemaId = null;
    if (!hasConfluentFrame(bytes, start, end)) return this.fail(confluentFault(bytes, start, end));
    const id = schemaIdAt(bytes, start);
    this.schemaId = id;
    const type = this.types.get(id);
    if (type === undefined) {
      this.missing.assertUnknown(id);
      return this.fail({
        reason: 'UNKNOWN_SCHEMA_ID',
        message: `the registry does not know the schema id ${id}`,
      });
    }
    if (type !== 'JSON')
      return this.fail({
        reason: 'UNKNOWN_SCHEMA_ID',
        message: `schema ${id} of the registry is of type ${type}, not JSON`,
      });
    const at = start + CONFLUENT_FRAME;
    return at === end
      ? this.fail({ reason: 'EMPTY_BODY', message: 'the frame has no document behind it' })
      : at;
  }

  private fail(fault: FrameFault): number {
    this.fault = fault;
    return -1;
  }
}
