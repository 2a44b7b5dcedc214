import type { IcebergType, NestedField, StructType } from '../schema.ts';
import { literalOfDefault, quoteText } from './default-literal.ts';
import { ddlTypeName } from './type-names.ts';

/**
 * The columns as DDL that `parseSchemaText` reads back to the same schema with fresh ids: name, type, NOT NULL, DEFAULT,
 * COMMENT. Of two defaults the one for new rows is printed. Required elements and map values are printed as
 * `ARRAY<INT NOT NULL>`, which Spark does not read.
 */
export function formatDdl(schema: StructType, separator = ', '): string {
  return schema.fields.map((field) => formatColumn(field, ' ')).join(separator);
}

/** A type as DDL has it: `ARRAY<STRUCT<sku: STRING, qty: INT>>`. */
export function formatDdlType(type: IcebergType): string {
  if (typeof type === 'string') return ddlTypeName(type);
  const notNull = (required: boolean): string => (required ? ' NOT NULL' : '');
  if (type.type === 'list') return `ARRAY<${formatDdlType(type.element)}${notNull(type.elementRequired)}>`;
  if (type.type === 'map')
    return `MAP<${formatDdlType(type.key)}, ${formatDdlType(type.value)}${notNull(type.valueRequired)}>`;
  return `STRUCT<${type.fields.map((field) => formatColumn(field, ': ')).join(', ')}>`;
}

function formatColumn(field: NestedField, between: ' ' | ': '): string {
  const given = field.writeDefault ?? field.initialDefault;
  const defaults =
    given === undefined || given === null || typeof field.type !== 'string'
      ? ''
      : ` DEFAULT ${literalOfDefault(field.type, given)}`;
  const comment = field.doc === undefined ? '' : ` COMMENT ${quoteText(field.doc)}`;
  return `${quoteName(field.name)}${between}${formatDdlType(field.type)}${field.required ? ' NOT NULL' : ''}${defaults}${comment}`;
}

/** A name in backquotes where DDL needs them. */
export function quoteName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}
