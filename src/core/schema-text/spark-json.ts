/** Spark's StructType as JSON (`StructType.json`, DataType.scala): struct, array, map, and plain types by name. */

import { isSluiceError } from '../../errors.ts';
import type { IcebergType, NestedField, StructType } from '../schema.ts';
import { parseLiteral } from './ddl-parser.ts';
import { defaultOfLiteral } from './default-literal.ts';
import type { JsonNode } from './json-node.ts';
import { namedType } from './type-names.ts';

/** All field ids 0. Throws CONFIG_INVALID. */
export function sparkStruct(node: JsonNode, depth = 0): StructType {
  const fields = node
    .member('fields')
    .items()
    .map((field) => sparkField(field, depth));
  if (fields.length === 0) throw node.member('fields').fault('a struct without fields: no file can hold it');
  return { type: 'struct', fields };
}

function sparkField(node: JsonNode, depth: number): NestedField {
  const type = sparkType(node.member('type'), depth);
  const metadata = node.member('metadata');
  const doc = metadata.value === undefined ? undefined : metadata.member('comment');
  return {
    id: 0,
    name: node.member('name').fieldName(),
    required: !node.member('nullable').boolean(),
    type,
    ...(doc?.value === undefined ? {} : { doc: doc.string() }),
    ...(metadata.value === undefined ? {} : sparkDefaults(metadata, type)),
  };
}

/** EXISTS_DEFAULT is what old rows read, CURRENT_DEFAULT what new rows get (ResolveDefaultColumns.scala); both are SQL. */
function sparkDefaults(metadata: JsonNode, type: IcebergType): Partial<NestedField> {
  const initialDefault = sparkDefault(metadata.member('EXISTS_DEFAULT'), type);
  const writeDefault = sparkDefault(metadata.member('CURRENT_DEFAULT'), type);
  return {
    ...(initialDefault === undefined ? {} : { initialDefault }),
    ...(writeDefault === undefined ? {} : { writeDefault }),
  };
}

function sparkDefault(node: JsonNode, type: IcebergType): unknown {
  if (node.value === undefined) return undefined;
  const literal = literalOf(node);
  if (literal.kind === 'null') return undefined;
  const value = typeof type === 'string' ? defaultOfLiteral(type, literal) : undefined;
  if (value === undefined) throw node.fault('expected a literal of the type of the field');
  return value;
}

function literalOf(node: JsonNode) {
  try {
    return parseLiteral(node.string());
  } catch (error) {
    throw isSluiceError(error) ? node.fault('expected a literal, not an expression') : error;
  }
}

function sparkType(node: JsonNode, depth: number): IcebergType {
  node.countType(depth);
  if (typeof node.value === 'string') return sparkPrimitive(node, node.value);
  const kind = node.member('type');
  switch (kind.string()) {
    case 'struct':
      return sparkStruct(node, depth + 1);
    case 'array':
      return {
        type: 'list',
        elementId: 0,
        element: sparkType(node.member('elementType'), depth + 1),
        elementRequired: !node.member('containsNull').boolean(),
      };
    case 'map':
      return {
        type: 'map',
        keyId: 0,
        key: sparkType(node.member('keyType'), depth + 1),
        valueId: 0,
        value: sparkType(node.member('valueType'), depth + 1),
        valueRequired: !node.member('valueContainsNull').boolean(),
      };
    default:
      throw kind.fault('expected "struct", "array", "map" or the name of a plain type');
  }
}

const NAMED = /^([a-z_]+)(?:\(([0-9, ]{1,20})\))?$/i;

function sparkPrimitive(node: JsonNode, text: string): IcebergType {
  const name = /^string collate [\w.]+$/i.test(text)
    ? 'string'
    : text.startsWith('interval')
      ? 'interval'
      : text;
  const match = NAMED.exec(name);
  if (match === null) throw node.fault('expected the name of a type');
  const numbers = (match[2] ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(Number);
  const type = namedType(match[1], numbers);
  if (typeof type !== 'string') throw node.fault(type.wrong);
  return type;
}
