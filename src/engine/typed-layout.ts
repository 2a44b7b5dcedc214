import type { TableRule } from '../config/pipeline-config.ts';
import { assignFieldIds } from '../core/field-ids.ts';
import type { IcebergType, NestedField, Schema, StructType } from '../core/schema.ts';
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
        `table ${table}: two columns have the name ${name}${other === name ? '' : ` (the other is ${other}; readers do not tell them apart)`}; leave one of them out of the \`schema\` or of \`provenance\`, or give the key another \`prefix\``,
        { context: { table, column: name } },
      );
    }
    seen.set(name.toLowerCase(), name);
  }
  const kept = rule.formatVersion < 3 ? fields.map(withoutDefaults) : fields;
  return { ...assignFieldIds({ type: 'struct', fields: kept }), schemaId: 0 };
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

/** Tables know defaults from version 3 on; of older ones only the decoder does. */
function withoutDefaults({ initialDefault: _, writeDefault: __, ...field }: NestedField): NestedField {
  return { ...field, type: typeWithoutDefaults(field.type) };
}

function typeWithoutDefaults(type: IcebergType): IcebergType {
  if (typeof type === 'string') return type;
  if (type.type === 'struct') return { ...type, fields: type.fields.map(withoutDefaults) };
  if (type.type === 'list') return { ...type, element: typeWithoutDefaults(type.element) };
  return { ...type, value: typeWithoutDefaults(type.value) };
}
