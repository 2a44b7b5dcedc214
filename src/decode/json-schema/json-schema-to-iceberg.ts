import { assignFieldIds } from '../../core/field-ids.ts';
import type { IcebergType, NestedField, StructType } from '../../core/schema.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { type Located, SchemaDocuments, type SchemaNode, unusable } from './schema-documents.ts';

/** One schema may name another in many places: columns, not text, are counted. */
const MAX_COLUMNS = 10_000;
const MAX_DEPTH = 100;
/** Schemas that are looked at, each as often as something leads to it. */
const MAX_VISITS = 100_000;

/** A type, whether null may stand for it, or why there is none for a value. */
interface Typed {
  /** Null: only null, or nothing, fits the schema. */
  readonly type: IcebergType | null;
  readonly isNullable: boolean;
}

/**
 * The columns that hold the documents of a JSON Schema, with fresh ids from 1. A property that is required and takes no null
 * is required. integer is long, number double, string by its `format`: date-time timestamptz, date date, uuid uuid; an
 * object without properties is a map of what `additionalProperties` says. `allOf`, and `oneOf` and `anyOf` of objects, are
 * one struct of all their properties. `$ref` leads within the schema and to references of the registry. A property that can
 * only be null, or that nothing fits, has no column. Throws REGISTRY_SCHEMA, with the path, for a schema that holds itself,
 * leads elsewhere, or does not say one type: the columns must then be given by hand.
 */
export function jsonSchemaToIceberg(
  text: string,
  references: RegisteredSchema['references'] = [],
): StructType {
  const documents = new SchemaDocuments(text, references);
  const maker = new TypeMaker(documents);
  const { type } = maker.typed({ node: documents.main.root, document: documents.main }, '');
  if (type === null || typeof type === 'string' || type.type !== 'struct')
    throw unusable('', 'an object with properties is expected at its root');
  return assignFieldIds(type);
}

class TypeMaker {
  private readonly documents: SchemaDocuments;
  private readonly open: SchemaNode[] = [];
  private columns = 0;
  private visits = 0;

  constructor(documents: SchemaDocuments) {
    this.documents = documents;
  }

  typed(located: Located, path: string): Typed {
    const { node } = located;
    if (node === false) return { type: null, isNullable: false };
    if (++this.visits > MAX_VISITS)
      throw unusable(path, `more than ${MAX_VISITS} schemas lead to one another`);
    if (node === true) throw unusable(path, 'any value fits it, which is no type of a column');
    if (this.open.includes(node)) throw unusable(path, 'it holds itself; a table has no type for it');
    if (this.open.length === MAX_DEPTH) throw unusable(path, `it is nested deeper than ${MAX_DEPTH}`);
    this.open.push(node);
    const typed = this.typedNode(node, located, path);
    this.open.pop();
    return typed;
  }

  private typedNode(node: Exclude<SchemaNode, boolean>, located: Located, path: string): Typed {
    const parts = this.parts(node, located, path);
    if (parts.length === 0) throw unusable(path, 'it does not say a type');
    // A value must fit every part: null only where all take it.
    const isNullable = parts.every((part) => part.isNullable) || node.nullable === true;
    return {
      type: merged(
        parts.map((part) => part.type),
        path,
        'allOf',
      ),
      isNullable,
    };
  }

  /** What the keywords say side by side, each by itself. */
  private parts(node: Exclude<SchemaNode, boolean>, { document }: Located, path: string): Typed[] {
    const parts: Typed[] = [];
    const at = (child: SchemaNode): Located => ({ node: child, document });
    if (typeof node.$ref === 'string')
      parts.push(this.typed(this.documents.follow(node.$ref, document, path), path));
    for (const child of nodes(node.allOf)) if (saysType(child)) parts.push(this.typed(at(child), path));
    for (const keyword of ['oneOf', 'anyOf'] as const) {
      const branches = nodes(node[keyword]).filter(saysType);
      if (branches.length > 0) parts.push(this.either(branches.map(at), path, keyword));
    }
    const own = this.own(node, at, path, parts.length > 0);
    if (own !== null) parts.push(own);
    return parts;
  }

  /** Of several schemas one: what fits all of them, null left out. */
  private either(branches: readonly Located[], path: string, keyword: string): Typed {
    const typed = branches.map((branch) => this.typed(branch, path));
    const types = typed.map((each) => each.type).filter((type) => type !== null);
    const isNullable = typed.some((each) => each.isNullable);
    return { type: merged(types, path, keyword), isNullable };
  }

  /**
   * What `type`, `properties`, `items`, `enum` and `const` of the node itself say; null where nothing. `hasMore`: the other
   * keywords say what an object or an array holds.
   */
  private own(
    node: Exclude<SchemaNode, boolean>,
    at: (child: SchemaNode) => Located,
    path: string,
    hasMore: boolean,
  ): Typed | null {
    const names = typeNames(node);
    if (names === null) return null;
    const said = names.filter((name) => name !== 'null' && !(hasMore && isBare(name, node)));
    const types = said.map((name) => this.ofName(name, node, at, path));
    return { type: merged(types, path, 'type'), isNullable: names.includes('null') };
  }

  private ofName(
    name: string,
    node: Exclude<SchemaNode, boolean>,
    at: (child: SchemaNode) => Located,
    path: string,
  ): IcebergType | null {
    switch (name) {
      case 'boolean':
        return 'boolean';
      case 'integer':
        return 'long';
      case 'number':
        return 'double';
      case 'string':
        return stringType(node.format);
      case 'array':
        return this.list(node, at, path);
      case 'object':
        return this.object(node, at, path);
      default:
        throw unusable(path, `there is no type ${JSON.stringify(name)}`);
    }
  }

  private list(
    node: Exclude<SchemaNode, boolean>,
    at: (child: SchemaNode) => Located,
    path: string,
  ): IcebergType | null {
    const [items] = nodes([node.items]);
    if (items === undefined || node.prefixItems !== undefined)
      throw unusable(path, 'its array has no one schema in items for all elements');
    const { type, isNullable } = this.typed(at(items), `${path}.element`);
    if (type === null) return null;
    return { type: 'list', elementId: 0, element: type, elementRequired: !isNullable };
  }

  private object(
    node: Exclude<SchemaNode, boolean>,
    at: (child: SchemaNode) => Located,
    path: string,
  ): IcebergType | null {
    const properties = Object.entries((node.properties ?? {}) as Record<string, unknown>);
    if (properties.length > 0) return this.struct(properties, node.required, at, path);
    const [values] = nodes([node.additionalProperties]);
    if (values === false) return null;
    if (values === undefined || values === true)
      throw unusable(path, 'its object has neither properties nor a schema in additionalProperties');
    const { type, isNullable } = this.typed(at(values), `${path}.value`);
    if (type === null) return null;
    return { type: 'map', keyId: 0, key: 'string', valueId: 0, value: type, valueRequired: !isNullable };
  }

  private struct(
    properties: readonly [string, unknown][],
    required: unknown,
    at: (child: SchemaNode) => Located,
    path: string,
  ): IcebergType | null {
    const must = new Set(Array.isArray(required) ? required : []);
    const fields: NestedField[] = [];
    for (const [name, child] of properties) {
      const inner = path === '' ? name : `${path}.${name}`;
      if (++this.columns > MAX_COLUMNS) throw unusable(inner, `it has more than ${MAX_COLUMNS} columns`);
      const [schema] = nodes([child]);
      if (schema === undefined) throw unusable(inner, 'its schema is neither an object nor true or false');
      const { type, isNullable } = this.typed(at(schema), inner);
      if (type !== null) fields.push({ id: 0, name, required: must.has(name) && !isNullable, type });
    }
    return fields.length === 0 ? null : { type: 'struct', fields };
  }
}

function nodes(value: unknown): SchemaNode[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (each) =>
      typeof each === 'boolean' || (typeof each === 'object' && each !== null && !Array.isArray(each)),
  );
}

const TYPE_KEYWORDS = [
  '$ref',
  'allOf',
  'oneOf',
  'anyOf',
  'type',
  'properties',
  'items',
  'enum',
  'const',
  'additionalProperties',
];

/** Branches that only constrain (`required`, `minimum`) say nothing of the type. */
function saysType(node: SchemaNode): boolean {
  return typeof node !== 'boolean' && TYPE_KEYWORDS.some((keyword) => node[keyword] !== undefined);
}

/** The names of `type`, or what else the node says of it; null where nothing does. */
function typeNames(node: Exclude<SchemaNode, boolean>): string[] | null {
  const { type } = node;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return [...new Set(type.map(String))];
  if (node.properties !== undefined) return ['object'];
  if (node.items !== undefined) return ['array'];
  const values = node.const !== undefined ? [node.const] : Array.isArray(node.enum) ? node.enum : [];
  if (values.length > 0) return [...new Set(values.map(nameOf))];
  return isMapOnly(node) ? ['object'] : null;
}

/** An object or an array of which the node says no more. */
function isBare(name: string, node: Exclude<SchemaNode, boolean>): boolean {
  if (name === 'array') return node.items === undefined;
  return name === 'object' && node.properties === undefined && !isMapOnly(node);
}

function isMapOnly(node: Exclude<SchemaNode, boolean>): boolean {
  return typeof node.additionalProperties === 'object' && node.additionalProperties !== null;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function stringType(format: unknown): IcebergType {
  if (format === 'date-time') return 'timestamptz';
  return format === 'date' || format === 'uuid' ? format : 'string';
}

/** One type for all of them; null where there is none. Structs are put together, a property that one lacks is optional there. */
function merged(types: readonly (IcebergType | null)[], path: string, keyword: string): IcebergType | null {
  let result: IcebergType | null = null;
  for (const type of types) {
    if (type === null) continue;
    result = result === null ? type : mergedPair(result, type, path, keyword);
  }
  return result;
}

function mergedPair(a: IcebergType, b: IcebergType, path: string, keyword: string): IcebergType {
  if (a === b) return a;
  if ((a === 'long' && b === 'double') || (a === 'double' && b === 'long')) return 'double';
  if (typeof a !== 'string' && typeof b !== 'string') {
    if (a.type === 'struct' && b.type === 'struct') return mergedStructs(a, b, path, keyword);
    if (JSON.stringify(a) === JSON.stringify(b)) return a;
  }
  // Texts of several formats are texts.
  if (isText(a) && isText(b)) return 'string';
  throw unusable(path, `${keyword} takes values of several types (${nameOfType(a)} and ${nameOfType(b)})`);
}

/** Of `allOf` both hold, of the others one: only there what one of them lacks may be missing. */
function mergedStructs(a: StructType, b: StructType, path: string, keyword: string): StructType {
  const both = keyword === 'allOf';
  const fields: NestedField[] = [];
  for (const field of a.fields) {
    const other = b.fields.find((each) => each.name === field.name);
    if (other === undefined) {
      fields.push({ ...field, required: both && field.required });
      continue;
    }
    const type = mergedPair(
      field.type,
      other.type,
      path === '' ? field.name : `${path}.${field.name}`,
      keyword,
    );
    const required = both ? field.required || other.required : field.required && other.required;
    fields.push({ ...field, type, required });
  }
  for (const field of b.fields)
    if (!a.fields.some((each) => each.name === field.name))
      fields.push({ ...field, required: both && field.required });
  return { type: 'struct', fields };
}

function isText(type: IcebergType): boolean {
  return type === 'string' || type === 'timestamptz' || type === 'date' || type === 'uuid';
}

function nameOfType(type: IcebergType): string {
  return typeof type === 'string' ? type : type.type;
}
