import type { PartitionValue } from '../core/data-file.ts';
import { type IcebergType, isPrimitive, type NestedField, type Schema } from '../core/schema.ts';
import { singleValueFromJson } from '../core/single-value.ts';
import { BRONZE_COLUMNS, type BronzeSource } from './bronze-layout.ts';
import type { ColumnSource } from './column-source.ts';

/** The types that a column of each source may have in a table that is there already. */
const ACCEPTED: Record<Exclude<BronzeSource, 'null' | 'headers'>, readonly string[]> = {
  value: ['string', 'binary'],
  key: ['string', 'binary'],
  topic: ['string'],
  partition: ['int'],
  offset: ['long'],
  timestamp: ['timestamptz'],
  ingestedAt: ['timestamptz'],
  dt: ['string'],
  hour: ['int'],
  topicId: ['string'],
};

/** Sources that can be null in a record, so that their column must not be required. */
const NULLABLE = new Set<BronzeSource>(['value', 'key', 'timestamp', 'dt', 'hour', 'headers', 'topicId']);

/** What the columns of a table are filled with, and what stands against it. */
export interface ColumnBinding {
  /** One per top-level column, in the schema's order. */
  sources: BronzeSource[];
  /** In words; empty where the table can take bronze rows. */
  faults: string[];
}

/**
 * What each top-level column of a table is filled with, in the schema's order. Columns that Sluice does not know are
 * left to their write default, or null. The faults are all of them: a column of another type, a required column that may be or always is
 * null, a table without the `value` column, or without `headers` where the pipeline includes them.
 */
export function bindColumns(schema: Schema, includeHeaders: boolean): ColumnBinding {
  const faults: string[] = [];
  const sources = schema.fields.map((column): BronzeSource => {
    const source = Object.hasOwn(BRONZE_COLUMNS, column.name) ? BRONZE_COLUMNS[column.name] : undefined;
    if (source === undefined) {
      if (column.required && writeDefault(column) === null)
        faults.push(`column ${column.name} is required, and Sluice has nothing to put there`);
      return 'null';
    }
    const fault = typeFault(source, column.type);
    if (fault !== undefined) faults.push(`column ${column.name}: ${fault}`);
    if (column.required && NULLABLE.has(source))
      faults.push(`column ${column.name} is required, but records may have none`);
    return source;
  });
  if (!sources.includes('value')) faults.push('there is no column `value` for the value of a record');
  if (includeHeaders && !sources.includes('headers')) {
    faults.push(
      'there is no column `headers`, and the pipeline has includeHeaders: true; add it to the table as list<struct<key: string, value: binary>>',
    );
  }
  return { sources, faults };
}

/** The source of a provenance column of a typed table, and what is wrong with its type. */
export function provenanceSource(column: NestedField): { source: BronzeSource; fault?: string } {
  const source = BRONZE_COLUMNS[column.name];
  const fault = typeFault(source, column.type);
  if (fault !== undefined) return { source, fault: `column ${column.name}: ${fault}` };
  return column.required && NULLABLE.has(source)
    ? { source, fault: `column ${column.name} is required, but records may have none` }
    : { source };
}

/**
 * What a writer that knows nothing of a column puts there: its write default, else null (Iceberg spec, "Default
 * values"). Null for nested types. Throws METADATA_INVALID for a default that is no value of the type.
 */
export function writeDefault(column: NestedField): PartitionValue {
  return isPrimitive(column.type) ? singleValueFromJson(column.type, column.writeDefault) : null;
}

function typeFault(source: Exclude<BronzeSource, 'null'>, type: IcebergType): string | undefined {
  if (source === 'headers') return headersFault(type);
  const accepted = ACCEPTED[source];
  if (isPrimitive(type) && accepted.includes(type)) return undefined;
  return `expected ${accepted.join(' or ')}, found ${isPrimitive(type) ? type : type.type}`;
}

/** What is wrong with a type for headers, or undefined. */
export function headersFault(type: IcebergType): string | undefined {
  const expected = 'expected list<struct<key: string, value: binary>>';
  if (
    isPrimitive(type) ||
    type.type !== 'list' ||
    isPrimitive(type.element) ||
    type.element.type !== 'struct'
  )
    return `${expected}, found ${isPrimitive(type) ? type : type.type}`;
  const { fields } = type.element;
  const [key, value] = fields;
  if (
    fields.length !== 2 ||
    key.name !== 'key' ||
    key.type !== 'string' ||
    value.name !== 'value' ||
    value.type !== 'binary'
  )
    return `${expected}, found a list of structs of other fields`;
  return value.required ? 'the value of a header is required, but headers may have none' : undefined;
}

/** True where the table's column of that source is text, so that bytes which are not UTF-8 cannot go there. */
export function isText(schema: Schema, sources: readonly ColumnSource[], source: 'value' | 'key'): boolean {
  const index = sources.indexOf(source);
  return index >= 0 && schema.fields[index].type === 'string';
}
