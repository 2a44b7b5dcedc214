import { type IcebergType, type NestedField, parseDecimal } from '../core/schema.ts';
import { typedPart } from './formats.ts';
import { BRONZE_COLUMN_CLASSES, type ColumnClass, type KnownColumns } from './partition-field.ts';
import type { Values } from './values.ts';

/** The columns that the table of a rule will have, as far as the file says; those of a bronze rule are always known. */
export function knownColumns(values: Values, index: number): KnownColumns {
  if (values.get<string>('tables[]', 'layout', index) !== 'typed')
    return { layout: 'the bronze layout', columns: BRONZE_COLUMN_CLASSES };
  const columns: Record<string, ColumnClass> = {};
  for (const part of ['value', 'key'] as const) {
    const options = partOf(values, index, part);
    if (options === 'wrong') return { layout: 'the table', columns: null };
    if (options === null) continue;
    // Columns of the registry, of the table or of the records are known later.
    if (options.columns.from !== 'given') return { layout: 'the table', columns: null };
    addFields(columns, options.columns.struct.fields, options.prefix);
  }
  for (const name of values.get<string[]>('tables[]', 'provenance', index) ?? [])
    if (Object.hasOwn(BRONZE_COLUMN_CLASSES, name)) columns[name] = BRONZE_COLUMN_CLASSES[name];
  return { layout: 'the table', columns };
}

function partOf(
  values: Values,
  index: number,
  part: 'value' | 'key',
): ReturnType<typeof typedPart> | 'wrong' {
  try {
    return typedPart(values, index, part);
  } catch {
    // A schema that is wrong is a fault of its own.
    return 'wrong';
  }
}

/** Fields of structs too, by their names with dots. */
function addFields(
  columns: Record<string, ColumnClass>,
  fields: readonly NestedField[],
  prefix: string,
): void {
  for (const { name, type } of fields) {
    if (typeof type === 'string') columns[`${prefix}${name}`] = classOf(type);
    else if (type.type === 'struct') addFields(columns, type.fields, `${prefix}${name}.`);
  }
}

function classOf(type: IcebergType): ColumnClass {
  if (type === 'string' || type === 'binary') return 'text';
  if (type === 'int' || type === 'long' || parseDecimal(type) !== undefined) return 'number';
  if (type === 'date') return 'date';
  return typeof type === 'string' && type.startsWith('timestamp') ? 'time' : 'other';
}
