import type { TableRule } from '../config/pipeline-config.ts';
import {
  type IcebergType,
  type NestedField,
  type Schema,
  type StructType,
  walkFields,
} from '../core/schema.ts';
import type { ValueFormat } from '../core/value-format.ts';
import { SluiceError } from '../errors.ts';
import { BRONZE_COLUMNS, bronzeSchema } from './bronze-layout.ts';

/** The columns that the value and the key of a topic are to become; null: what the table has, or nothing yet. */
export interface TypedColumns {
  value: StructType | null;
  key: StructType | null;
}

/** Columns that a decoder fills beside those of the schema: the rest of a document, the text of a record at fault. */
export function extraColumns(format: ValueFormat): string[] {
  const names: string[] = [];
  if (
    (format.format === 'json' || format.format === 'json-schema') &&
    typeof format.unknownFields === 'object'
  )
    names.push(format.unknownFields.restColumn);
  if (format.corruptRecordColumn !== null) names.push(format.corruptRecordColumn);
  return names;
}

/**
 * The schema of a typed table that Sluice creates: the columns of the value, those of the key behind their prefix, then
 * the provenance columns asked for. Throws CONFIG_INVALID where two columns have one name.
 */
export function typedSchema(rule: TableRule, columns: TypedColumns, table: string): Schema {
  const fields: NestedField[] = [
    ...partFields(rule, columns, 'value'),
    ...partFields(rule, columns, 'key'),
    ...provenanceFields(rule),
  ];
  const seen = new Map<string, string>();
  for (const { name } of fields) {
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `table ${table}: two columns have the name ${name}${other === name ? '' : ` (the other is ${other}; readers do not tell them apart)`}; leave the name out of \`provenance\`, or give the key another \`prefix\``,
        { context: { table, column: name } },
      );
    }
    seen.set(name.toLowerCase(), name);
  }
  return { type: 'struct', schemaId: 0, fields: withFreshIds(fields) };
}

/** The fields of one part by their names in the table. */
export function partFields(rule: TableRule, columns: TypedColumns, part: 'value' | 'key'): NestedField[] {
  const options = rule[part];
  if (options === null) return [];
  const text = (name: string): NestedField => ({ id: 0, name, required: false, type: 'string' });
  const given = columns[part]?.fields ?? [];
  const extra = extraColumns(options.format).filter((name) => given.every((f) => f.name !== name));
  return [...given, ...extra.map(text)].map((f) => ({ ...f, name: `${options.prefix}${f.name}` }));
}

/** In the order of the bronze layout, payload bytes as binary. */
function provenanceFields(rule: TableRule): NestedField[] {
  const bronze = bronzeSchema({ valueType: 'binary', keyType: 'binary', includeHeaders: true });
  return bronze.fields.filter((f) => rule.provenance.includes(f.name));
}

/** Is this column of a typed table one that says where a row came from? */
export function isProvenance(rule: TableRule, name: string): boolean {
  return rule.provenance.includes(name) && Object.hasOwn(BRONZE_COLUMNS, name);
}

/** Ids from 1: the top-level fields first, then what lies in them, as Iceberg's own writers number them. */
export function withFreshIds(fields: readonly NestedField[]): NestedField[] {
  let last = fields.length;
  const fresh = (type: IcebergType): IcebergType => {
    if (typeof type === 'string') return type;
    if (type.type === 'struct') {
      const first = last + 1;
      last += type.fields.length;
      return {
        type: 'struct',
        fields: type.fields.map((f, i) => ({ ...f, id: first + i, type: fresh(f.type) })),
      };
    }
    if (type.type === 'list') {
      const elementId = ++last;
      return { ...type, elementId, element: fresh(type.element) };
    }
    const keyId = ++last;
    const valueId = ++last;
    return { ...type, keyId, valueId, key: fresh(type.key), value: fresh(type.value) };
  };
  return fields.map((f, i) => ({ ...f, id: i + 1, type: fresh(f.type) }));
}

/** Does any level of the type need table format v3? */
export function needsV3(schema: StructType): boolean {
  for (const { type } of walkFields(schema))
    if (type === 'timestamp_ns' || type === 'timestamptz_ns' || type === 'unknown') return true;
  return false;
}
