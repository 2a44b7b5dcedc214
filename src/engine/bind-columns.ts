import { type IcebergType, isPrimitive, type Schema } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { BRONZE_COLUMNS, type BronzeSource } from './bronze-layout.ts';

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

/**
 * What each top-level column of a table is filled with, in the schema's order. Columns that Sluice does not know are
 * left null. Throws TABLE_INCOMPATIBLE with every fault: a column of another type, a required column that may be or
 * always is null, a table without the `value` column.
 */
export function bindColumns(table: string, schema: Schema): BronzeSource[] {
  const faults: string[] = [];
  const sources = schema.fields.map((column): BronzeSource => {
    const source = BRONZE_COLUMNS[column.name] as Exclude<BronzeSource, 'null'> | undefined;
    if (source === undefined) {
      if (column.required)
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
  if (faults.length > 0) {
    throw new SluiceError(
      'TABLE_INCOMPATIBLE',
      `table ${table} cannot take bronze rows: ${faults.join('; ')}. Mend the table, or write to another one`,
      {
        context: { table, faults },
      },
    );
  }
  return sources;
}

function typeFault(source: Exclude<BronzeSource, 'null'>, type: IcebergType): string | undefined {
  if (source === 'headers')
    return isHeadersType(type) ? undefined : 'expected list<struct<key: string, value: binary>>';
  const accepted = ACCEPTED[source];
  if (isPrimitive(type) && accepted.includes(type)) return undefined;
  return `expected ${accepted.join(' or ')}, found ${isPrimitive(type) ? type : type.type}`;
}

function isHeadersType(type: IcebergType): boolean {
  if (
    isPrimitive(type) ||
    type.type !== 'list' ||
    isPrimitive(type.element) ||
    type.element.type !== 'struct'
  )
    return false;
  const [key, value] = type.element.fields;
  return (
    type.element.fields.length === 2 &&
    key.name === 'key' &&
    key.type === 'string' &&
    value.name === 'value' &&
    value.type === 'binary'
  );
}

/** True where the table's column of that source is text, so that bytes which are not UTF-8 cannot go there. */
export function isText(schema: Schema, sources: readonly BronzeSource[], source: 'value' | 'key'): boolean {
  const index = sources.indexOf(source);
  return index >= 0 && schema.fields[index].type === 'string';
}
