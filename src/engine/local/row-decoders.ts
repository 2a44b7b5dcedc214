import type { TypedColumn } from '../../columns/create-column.ts';
import type { RecordColumns } from '../../columns/record-columns.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { createDecoder, takesSchemas } from '../../decode/create-decoder.ts';
import type { ValueDecoder } from '../../decode/value-decoder.ts';
import type { DecodedSource, DecodePart, DecodePlan } from '../column-source.ts';

/** Looks a schema of the registry up; null where the registry does not know the id. */
export type SchemaLookup = (id: number) => Promise<RegisteredSchema | null>;

/** The columns of a typed table's value and key for one block of records. */
export interface DecodedColumns {
  value: readonly TypedColumn[];
  key: readonly TypedColumn[];
}

/** The decoders of one topic: of its values, its keys, or both. */
export class RowDecoders {
  readonly plan: DecodePlan;
  readonly value: ValueDecoder | null;
  readonly key: ValueDecoder | null;

  private constructor(plan: DecodePlan, value: ValueDecoder | null, key: ValueDecoder | null) {
    this.plan = plan;
    this.value = value;
    this.key = key;
  }

  static async create(plan: DecodePlan): Promise<RowDecoders> {
    const of = async (part: DecodePart | null): Promise<ValueDecoder | null> =>
      part === null ? null : createDecoder(part.columns, part.format);
    return new RowDecoders(plan, await of(plan.value), await of(plan.key));
  }

  get decoded(): DecodedColumns {
    return { value: this.value?.columns ?? [], key: this.key?.columns ?? [] };
  }

  /** Do the records need schemas that were not looked up yet? */
  misses(columns: RecordColumns): boolean {
    return (
      (this.value?.missingSchemas(columns.values).length ?? 0) > 0 ||
      (this.key?.missingSchemas(columns.keys).length ?? 0) > 0
    );
  }

  /** Looks up every schema that the records need. Throws what the registry throws: no record pays for its faults. */
  async lookUp(columns: RecordColumns, lookup: SchemaLookup): Promise<void> {
    for (const [decoder, bytes] of [
      [this.value, columns.values],
      [this.key, columns.keys],
    ] as const) {
      if (decoder === null || !takesSchemas(decoder)) continue;
      for (const id of [...decoder.missingSchemas(bytes)]) {
        const schema = await lookup(id);
        if (schema === null) decoder.markUnknown(id);
        else decoder.addSchema(schema);
      }
    }
  }

  decode(columns: RecordColumns): void {
    this.value?.decode(columns.values);
    this.key?.decode(columns.keys);
  }
}

export function decodedColumn(decoded: DecodedColumns, source: DecodedSource): TypedColumn {
  return decoded[source.part][source.index];
}
