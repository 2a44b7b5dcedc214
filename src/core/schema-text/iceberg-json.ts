/** Iceberg's schema as JSON (spec, appendix C "Schemas"), as a person gives it: ids may be missing, and are given anew. */
import type { IcebergType, NestedField, PrimitiveType, StructType } from '../schema.ts';
import { parseDecimal, parseFixed } from '../schema.ts';
import { isDefaultOf } from './default-literal.ts';
import type { JsonNode } from './json-node.ts';

/** All field ids 0. Throws CONFIG_INVALID. */
export function icebergStruct(node: JsonNode, depth = 0): StructType {
  const fields = node
    .member('fields')
    .items()
    .map((field) => icebergField(field, depth));
  if (fields.length === 0) throw node.member('fields').fault('a struct without fields: no file can hold it');
  return { type: 'struct', fields };
}

function icebergField(node: JsonNode, depth: number): NestedField {
  const type = icebergType(node.member('type'), depth);
  const doc = node.member('doc');
  return {
    id: 0,
    name: node.member('name').fieldName(),
    required: node.member('required').boolean(),
    type,
    ...(doc.value === undefined ? {} : { doc: doc.string() }),
    ...icebergDefault(node.member('initial-default'), type, 'initialDefault'),
    ...icebergDefault(node.member('write-default'), type, 'writeDefault'),
  };
}

function icebergDefault(
  node: JsonNode,
  type: IcebergType,
  key: 'initialDefault' | 'writeDefault',
): Partial<NestedField> {
  if (node.value === undefined) return {};
  if (typeof type !== 'string' || !isDefaultOf(type, node.value))
    throw node.fault('expected a value of the type of the field in single-value JSON form');
  return { [key]: node.value };
}

function icebergType(node: JsonNode, depth: number): IcebergType {
  node.countType(depth);
  if (typeof node.value === 'string') return icebergPrimitive(node, node.value);
  const kind = node.member('type');
  switch (kind.string()) {
    case 'struct':
      return icebergStruct(node, depth + 1);
    case 'list':
      return {
        type: 'list',
        elementId: 0,
        element: icebergType(node.member('element'), depth + 1),
        elementRequired: node.member('element-required').boolean(),
      };
    case 'map':
      return {
        type: 'map',
        keyId: 0,
        key: icebergType(node.member('key'), depth + 1),
        valueId: 0,
        value: icebergType(node.member('value'), depth + 1),
        valueRequired: node.member('value-required').boolean(),
      };
    default:
      throw kind.fault('expected "struct", "list", "map" or the name of a plain type');
  }
}

const PLAIN: readonly PrimitiveType[] = [
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'uuid',
  'binary',
];

function icebergPrimitive(node: JsonNode, text: string): PrimitiveType {
  if ((PLAIN as readonly string[]).includes(text)) return text as PrimitiveType;
  const decimal = parseDecimal(text as PrimitiveType);
  if (decimal !== undefined) {
    const { precision, scale } = decimal;
    if (precision < 1 || precision > 38 || scale > precision)
      throw node.fault('expected a precision from 1 to 38 and a scale not above it');
    return `decimal(${precision}, ${scale})`;
  }
  const length = parseFixed(text as PrimitiveType);
  if (length !== undefined && length >= 1 && length <= 1 << 20) return `fixed[${length}]`;
  throw node.fault(`expected one of ${PLAIN.join(', ')}, decimal(p,s), fixed[n]`);
}
