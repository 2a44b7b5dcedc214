import type { BytesVector } from '../../columns/vector.ts';
import { type ColumnSteps, columnOfPath } from '../../core/column-path.ts';
import type { StructType } from '../../core/schema.ts';
import { hasConfluentFrame, schemaIdAt } from '../../decode/frame.ts';
import { SchemaInference } from '../../decode/infer/schema-inference.ts';
import { WiderNumbers } from '../../decode/infer/wider-numbers.ts';
import type { ReasonCode } from '../../decode/reasons.ts';
import type { ValueDecoder } from '../../decode/value-decoder.ts';
import type { DecodePart, DecodePlan } from '../column-source.ts';
import { standsInRegistry } from '../typed-columns.ts';
import type { RowDecoders } from './row-decoders.ts';

/** What the records of one topic ask of a table, beyond what it has. */
export interface WantedColumns {
  topic: string;
  table: string;
  part: 'value' | 'key';
  /** Inferred from documents, to be taken one after the other; empty for formats of a registry. */
  structs: StructType[];
  /** Columns of documents that would have to be wider for their numbers; null: none. */
  wider: StructType | null;
  /** Of the registry: writer schemas with fields that have no column, or that do not fit theirs. */
  schemaIds: number[];
  /** The same of the one writer schema that the rule gives, for values that name none. */
  configured: boolean;
  /** Required columns that a record has no value for. */
  optional: ColumnSteps[];
}

/** Faults that another type of the column, or an optional one, could mend. */
const MENDABLE = new Set<ReasonCode>(['TYPE_MISMATCH', 'OUT_OF_RANGE', 'AVRO_RESOLUTION']);

/** Collects, block by block, what the records of a topic ask of their tables. Costs nothing where every record fits. */
export class Discovery {
  private readonly topic: string;
  private readonly tables = new Map<string, { part: 'value' | 'key'; seeker: PartDiscovery }[]>();

  constructor(topic: string) {
    this.topic = topic;
  }

  /** Looks at the last block that the decoders decoded, on its way to `table`. */
  look(table: string, decoders: RowDecoders, values: BytesVector, keys: BytesVector): void {
    let parts = this.tables.get(table);
    if (parts === undefined) {
      parts = seekers(decoders.plan);
      this.tables.set(table, parts);
    }
    for (const { part, seeker } of parts) {
      const bytes = part === 'value' ? values : keys;
      seeker.look(decoders.faultsOf(part, bytes), bytes);
    }
  }

  wanted(): WantedColumns[] {
    return [...this.tables]
      .flatMap(([table, parts]) =>
        parts.map(({ part, seeker }) => ({ topic: this.topic, table, part, ...seeker.wanted() })),
      )
      .filter(
        (w) =>
          w.structs.length > 0 ||
          w.schemaIds.length > 0 ||
          w.wider !== null ||
          w.configured ||
          w.optional.length > 0,
      );
  }
}

function seekers(plan: DecodePlan): { part: 'value' | 'key'; seeker: PartDiscovery }[] {
  return (['value', 'key'] as const).flatMap((part) => {
    const options = plan[part];
    if (options === null || options.discover === null) return [];
    return [{ part, seeker: new PartDiscovery(options, options.discover.records) }];
  });
}

class PartDiscovery {
  private readonly part: DecodePart;
  /** Of records that fit but for fields without a column; those that do not fit must not blur what these say. */
  private readonly fitting: SchemaInference;
  private readonly others: SchemaInference;
  private readonly wider: WiderNumbers | null;
  private readonly schemaIds = new Set<number>();
  private configured = false;
  /** By their steps as text: there are no more than columns, whatever the keys of maps are. */
  private readonly optional = new Map<string, ColumnSteps>();
  private left: number;

  constructor(part: DecodePart, records: number | null) {
    this.part = part;
    const { format, columns } = part;
    const isSpark = 'compat' in format && format.compat === 'spark';
    const conflicts = isSpark ? 'text' : 'first';
    this.fitting = new SchemaInference({ conflicts, wholeDocuments: true });
    this.others = new SchemaInference({ conflicts, wholeDocuments: true });
    this.wider =
      format.format === 'json' && records === null
        ? new WiderNumbers(columns, {
            rounding: isSpark ? 'halfUp' : format.decimalRounding,
            caseInsensitive: format.caseInsensitive,
          })
        : null;
    this.left = records ?? Number.POSITIVE_INFINITY;
  }

  look(decoder: ValueDecoder, bytes: BytesVector): void {
    const faulty = new Set<number>();
    for (const { row, reason, field } of decoder.faults) {
      faulty.add(row);
      if (reason === 'MISSING_REQUIRED') this.addOptional(field);
      else if (MENDABLE.has(reason)) this.add(bytes, row, this.others);
      if (reason === 'OUT_OF_RANGE')
        this.wider?.addJson(bytes.data.subarray(bytes.starts[row] + 4, bytes.starts[row + 1]));
    }
    for (const row of decoder.rowsWithUnknownFields)
      this.add(bytes, row, faulty.has(row) ? this.others : this.fitting);
  }

  private addOptional(path: string): void {
    const steps = columnOfPath(this.part.columns, path);
    if (steps !== undefined) this.optional.set(JSON.stringify(steps), steps);
  }

  private add(bytes: BytesVector, row: number, inference: SchemaInference): void {
    if (this.left <= 0) return;
    this.left--;
    const at = bytes.starts[row] + 4;
    const { format } = this.part;
    if (format.format === 'json') inference.addJson(bytes.data.subarray(at, bytes.starts[row + 1]));
    else if (format.format === 'csv') return;
    else if (!standsInRegistry(format)) this.configured = true;
    else if (hasConfluentFrame(bytes.data, at, bytes.starts[row + 1]))
      this.schemaIds.add(schemaIdAt(bytes.data, at));
  }

  wanted(): Omit<WantedColumns, 'topic' | 'table' | 'part'> {
    return {
      structs: [this.fitting, this.others]
        .map((inference) => inference.result({ narrowIntegers: true }))
        .filter((struct) => struct !== null),
      wider: this.wider?.result() ?? null,
      schemaIds: [...this.schemaIds],
      configured: this.configured,
      optional: [...this.optional.values()],
    };
  }
}
