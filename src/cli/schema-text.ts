import type { IcebergType, NestedField } from '../core/schema.ts';

/** A type as DDL has it: `struct<key: string, value: binary>`, `list<int>`, `map<string, long>`. */
export function typeText(type: IcebergType): string {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return `list<${typeText(type.element)}>`;
  if (type.type === 'map') return `map<${typeText(type.key)}, ${typeText(type.value)}>`;
  return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`;
}

/** Id, name, type, and whether a value is required, for a table for people. */
export function fieldRow(field: NestedField): string[] {
  return [
    String(field.id),
    field.name,
    typeText(field.type),
    field.required ? 'required' : '',
    field.doc ?? '',
  ];
}
