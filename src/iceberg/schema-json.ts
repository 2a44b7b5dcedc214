/** Schemas as JSON (Iceberg spec, appendix C "Schemas"). */
import { floatingJson, plainNumber } from '../core/json64.ts';
import type { IcebergType, NestedField, PrimitiveType, Schema, StructType } from '../core/schema.ts';
import { walkFields } from '../core/schema.ts';
import { invalid, type JsonObject, JsonReader } from './json-reader.ts';

const MAX_DEPTH = 100;

/**
 * What a schema was read from. A schema that nobody changed is written back as it came, so that types and attributes
 * which this version does not know (variant, geometry, a newer field attribute) survive a rewrite of the metadata.
 */
const sources = new WeakMap<Schema, JsonObject>();

/** Reads a schema; `where` names the place in errors. Throws METADATA_INVALID. */
export function schemaFromJson(value: unknown, where = 'schema'): Schema {
  const reader = new JsonReader(value, where);
  const schemaId = reader.optionalInt('schema-id') ?? 0;
  const identifiers = reader.optionalArray('identifier-field-ids');
  const struct = structFromJson(reader, 0);
  const schema: Schema = {
    type: 'struct',
    schemaId,
    ...(identifiers === undefined
      ? {}
      : {
          identifierFieldIds: identifiers.map((id, i) => fieldId(id, `${where}.identifier-field-ids[${i}]`)),
        }),
    fields: struct.fields,
  };
  assertUniqueFieldIds(schema, where);
  sources.set(schema, value as JsonObject);
  return schema;
}

/** Throws METADATA_INVALID where two fields share an id. */
export function assertUniqueFieldIds(schema: StructType, where: string): void {
  const seen = new Map<number, string>();
  for (const field of walkFields(schema)) {
    const other = seen.get(field.id);
    if (other !== undefined)
      throw invalid(where, `field id ${field.id} is used by both "${other}" and "${field.name}"`);
    seen.set(field.id, field.name);
  }
}

function fieldId(value: unknown, where: string): number {
  if (typeof value !== 'number' || (value | 0) !== value) throw invalid(where, 'expected a field id', value);
  return value;
}

function structFromJson(reader: JsonReader, depth: number): StructType {
  const type = reader.optionalString('type');
  if (type !== undefined && type !== 'struct') throw invalid(reader.path('type'), 'expected "struct"', type);
  const fields = reader
    .array('fields')
    .map((field, i) => fieldFromJson(field, reader.path(`fields[${i}]`), depth));
  return { type: 'struct', fields };
}

function fieldFromJson(value: unknown, where: string, depth: number): NestedField {
  const reader = new JsonReader(value, where);
  const doc = reader.optionalString('doc');
  const initialDefault = plainNumber(reader.raw('initial-default'));
  const writeDefault = plainNumber(reader.raw('write-default'));
  return {
    id: reader.int('id'),
    name: reader.string('name'),
    required: reader.boolean('required'),
    type: typeFromJson(reader.required('type', reader.raw('type')), reader.path('type'), depth + 1),
    ...(doc === undefined ? {} : { doc }),
    ...(initialDefault === undefined ? {} : { initialDefault }),
    ...(writeDefault === undefined ? {} : { writeDefault }),
  };
}

/** Reads one type. A primitive that is not known here is kept as its text: such a table can be read around. */
export function typeFromJson(value: unknown, where = 'type', depth = 0): IcebergType {
  if (depth > MAX_DEPTH) throw invalid(where, `types are nested more than ${MAX_DEPTH} deep`);
  if (typeof value === 'string') return canonicalPrimitive(value) as PrimitiveType;
  const reader = new JsonReader(value, where);
  const kind = reader.string('type');
  if (kind === 'struct') return structFromJson(reader, depth);
  if (kind === 'list') {
    return {
      type: 'list',
      elementId: reader.int('element-id'),
      element: typeFromJson(
        reader.required('element', reader.raw('element')),
        reader.path('element'),
        depth + 1,
      ),
      elementRequired: reader.boolean('element-required'),
    };
  }
  if (kind === 'map') {
    return {
      type: 'map',
      keyId: reader.int('key-id'),
      key: typeFromJson(reader.required('key', reader.raw('key')), reader.path('key'), depth + 1),
      valueId: reader.int('value-id'),
      value: typeFromJson(reader.required('value', reader.raw('value')), reader.path('value'), depth + 1),
      valueRequired: reader.boolean('value-required'),
    };
  }
  throw invalid(where, 'expected "struct", "list" or "map"', kind);
}

/** `decimal(9,2)` and `decimal( 9, 2 )` are the same type: one text for both. */
function canonicalPrimitive(text: string): string {
  const decimal = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(text);
  if (decimal !== null) return `decimal(${Number(decimal[1])}, ${Number(decimal[2])})`;
  const fixed = /^fixed\[\s*(\d+)\s*\]$/.exec(text);
  return fixed === null ? text : `fixed[${Number(fixed[1])}]`;
}

export function schemaToJson(schema: Schema): JsonObject {
  const source = sources.get(schema);
  if (source !== undefined) return source;
  return {
    type: 'struct',
    'schema-id': schema.schemaId,
    ...(schema.identifierFieldIds === undefined ? {} : { 'identifier-field-ids': schema.identifierFieldIds }),
    fields: schema.fields.map(fieldToJson),
  };
}

export function typeToJson(type: IcebergType): unknown {
  if (typeof type === 'string') return type;
  if (type.type === 'struct') return { type: 'struct', fields: type.fields.map(fieldToJson) };
  if (type.type === 'list') {
    return {
      type: 'list',
      'element-id': type.elementId,
      element: typeToJson(type.element),
      'element-required': type.elementRequired,
    };
  }
  return {
    type: 'map',
    'key-id': type.keyId,
    key: typeToJson(type.key),
    'value-id': type.valueId,
    value: typeToJson(type.value),
    'value-required': type.valueRequired,
  };
}

function fieldToJson(field: NestedField): JsonObject {
  return {
    id: field.id,
    name: field.name,
    required: field.required,
    type: typeToJson(field.type),
    ...(field.doc === undefined ? {} : { doc: field.doc }),
    ...(field.initialDefault === undefined
      ? {}
      : { 'initial-default': defaultToJson(field, field.initialDefault) }),
    ...(field.writeDefault === undefined
      ? {}
      : { 'write-default': defaultToJson(field, field.writeDefault) }),
  };
}

/** Java refuses a double that is written as an integer, and with it the schema. */
function defaultToJson({ type }: NestedField, value: unknown): unknown {
  return typeof value === 'number' && (type === 'float' || type === 'double') ? floatingJson(value) : value;
}
