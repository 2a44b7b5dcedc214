import type { TypedColumn } from '../../columns/create-column.ts';
import type { RecordColumns } from '../../columns/record-columns.ts';
import type { BytesVector } from '../../columns/vector.ts';
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

type ByPart = Record<'value' | 'key', ValueDecoder | null>;

/** The decoders of one topic: of its values, its keys, or both. */
export class RowDecoders {
  readonly plan: DecodePlan;
  readonly value: ValueDecoder | null;
  readonly key: ValueDecoder | null;
  /** Tell what the modes `permissive` and `dropmalformed` pass over, where the table could be given what is missing. */
  private readonly probes: ByPart;

  private constructor(plan: DecodePlan, { value, key }: ByPart, probes: ByPart) {
    this.plan = plan;
    this.value = value;
    this.key = key;
    this.probes = probes;
  }

  static async create(plan: DecodePlan): Promise<RowDecoders> {
    const of = async (part: DecodePart | null): Promise<ValueDecoder | null> =>
      part === null ? null : createDecoder(part.columns, part.format);
    const probe = async (part: DecodePart | null): Promise<ValueDecoder | null> =>
      part === null || part.discover === null || !passesOver(part)
        ? null
        : createDecoder(part.columns, { ...part.format, mode: 'quarantine' });
    return new RowDecoders(
      plan,
      { value: await of(plan.value), key: await of(plan.key) },
      { value: await probe(plan.value), key: await probe(plan.key) },
    );
  }

  /** The decoder that tells every fault of the last block in a part, which is there. */
  faultsOf(part: 'value' | 'key', bytes: BytesVector): ValueDecoder {
    const decoder = this[part]!;
    const probe = this.probes[part];
    if (probe === null || (this.plan[part]!.format.mode === 'dropmalformed' && decoder.dropped.length === 0))
      return decoder;
    probe.decode(bytes);
    return probe;
  }

  get decoded(): DecodedColumns {
    return { value: this.value?.columns ?? [], key: this.key?.columns ?? [] };
  }

  /** Do the records need schemas that were not looked up yet? */
  misses(columns: RecordColumns): boolean {
    return this.withBytes(columns).some(([decoder, bytes]) => decoder.missingSchemas(bytes).length > 0);
  }

  /** Looks up every schema that the records need. Throws what the registry throws: no record pays for its faults. */
  async lookUp(columns: RecordColumns, lookup: SchemaLookup): Promise<void> {
    for (const [decoder, bytes] of this.withBytes(columns)) {
      if (!takesSchemas(decoder)) continue;
      for (const id of [...decoder.missingSchemas(bytes)]) {
        const schema = await lookup(id);
        if (schema === null) decoder.markUnknown(id);
        else decoder.addSchema(schema);
      }
    }
  }

  private withBytes({ values, keys }: RecordColumns): [ValueDecoder, BytesVector][] {
    const { value, key, probes } = this;
    const all: [ValueDecoder | null, BytesVector][] = [
      [value, values],
      [key, keys],
      [probes.value, values],
      [probes.key, keys],
    ];
    return all.filter((pair): pair is [ValueDecoder, BytesVector] => pair[0] !== null);
  }

  decode(columns: RecordColumns): void {
    this.value?.decode(columns.values);
    this.key?.decode(columns.keys);
  }
}

/** Does the mode keep silent of what a record lacks? */
function passesOver({ format: { mode } }: DecodePart): boolean {
  return mode === 'permissive' || mode === 'dropmalformed';
}

export function decodedColumn(decoded: DecodedColumns, source: DecodedSource): TypedColumn {
  return decoded[source.part][source.index];
}
