import { assignFieldIds } from '../../core/field-ids.ts';
import type { IcebergType, NestedField, PrimitiveType, StructType } from '../../core/schema.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { parseProto } from './proto-parser.ts';
import {
  type ProtoField,
  type ProtoMessage,
  ProtoSchemaFault,
  type ProtoType,
  type Scalar,
} from './proto-schema.ts';
import { WRAPPERS } from './well-known.ts';

/** Columns of a message: one that names another in many places may be far larger than its text. */
const MAX_COLUMNS = 10_000;

const SCALAR_TYPES: Readonly<Record<Scalar, PrimitiveType>> = {
  double: 'double',
  float: 'float',
  int32: 'int',
  sint32: 'int',
  sfixed32: 'int',
  uint32: 'long',
  fixed32: 'long',
  int64: 'long',
  sint64: 'long',
  sfixed64: 'long',
  uint64: 'decimal(20, 0)',
  fixed64: 'decimal(20, 0)',
  bool: 'boolean',
  string: 'string',
  bytes: 'binary',
};

/**
 * The columns that hold the values of a message, with fresh ids from 1: `message` by its full name, or the first of the
 * schema where it is null. Only `required` fields of proto2 are required, as in Spark's from_protobuf; elements of lists and
 * values of maps always are there. uint32 is long, uint64 decimal(20, 0), an enum string, Timestamp timestamptz, wrappers
 * their values; Duration stays a struct of seconds and nanos. Groups and messages without fields have no column. Throws
 * REGISTRY_SCHEMA for a schema that cannot be parsed, without the message, or that holds itself (with the path).
 */
export function protobufToIceberg(registered: RegisteredSchema, message: string | null): StructType {
  try {
    const file = parseProto(registered.schema, registered.references);
    const root = message === null ? file.messages.at(0) : file.messageNamed(message);
    if (root === undefined)
      throw new ProtoSchemaFault(message === null ? 'it has no message' : `it has no message ${message}`);
    const struct = new TypeMaker().struct(root, '');
    if (struct === null)
      throw new ProtoSchemaFault(`message ${root.fullName} has no field that a table can hold`);
    return assignFieldIds(struct);
  } catch (e) {
    if (!(e instanceof ProtoSchemaFault)) throw e;
    throw new SluiceError(
      'REGISTRY_SCHEMA',
      `schema ${registered.id}, Protobuf, makes no table: ${e.message}`,
      {
        cause: e,
        context: { schemaId: registered.id },
      },
    );
  }
}

class TypeMaker {
  private readonly open = new Set<ProtoMessage>();
  private columns = 0;

  /** Null for a message without fields. */
  struct(message: ProtoMessage, path: string): StructType | null {
    if (this.open.has(message))
      throw new ProtoSchemaFault(
        `message ${message.fullName} holds itself at ${path}; a table has no type for it`,
      );
    this.open.add(message);
    const fields = message.fields.flatMap((field) =>
      this.field(field, path === '' ? field.name : `${path}.${field.name}`),
    );
    this.open.delete(message);
    return fields.length === 0 ? null : { type: 'struct', fields };
  }

  private field(field: ProtoField, path: string): NestedField[] {
    if (++this.columns > MAX_COLUMNS)
      throw new ProtoSchemaFault(`it has more than ${MAX_COLUMNS} columns, at ${path}`);
    const value = this.value(field.type(), path);
    if (value === null) return [];
    return [{ id: 0, name: field.name, required: field.isRequired, type: labelled(field, value) }];
  }

  private value(type: ProtoType, path: string): IcebergType | null {
    switch (type.kind) {
      case 'scalar':
        return SCALAR_TYPES[type.scalar];
      case 'enum':
        return 'string';
      case 'group':
        return null;
      case 'message':
        if (type.fullName === 'google.protobuf.Timestamp') return 'timestamptz';
        if (WRAPPERS.has(type.fullName)) return this.value(type.fields[0].type(), path);
        return this.struct(type, path);
    }
  }
}

function labelled(field: ProtoField, value: IcebergType): IcebergType {
  if (field.label === 'repeated')
    return { type: 'list', elementId: 0, element: value, elementRequired: true };
  if (field.label === 'singular') return value;
  const key = SCALAR_TYPES[field.key as Scalar];
  return { type: 'map', keyId: 0, key, valueId: 0, value, valueRequired: true };
}
