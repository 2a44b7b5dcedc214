import {
  decimalWidth,
  type IcebergType,
  type ListType,
  type MapType,
  type NestedField,
  type PrimitiveType,
  parseDecimal,
  parseFixed,
  type Schema,
} from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import { CONVERTED_TYPE, PHYSICAL_TYPE, type PhysicalType, REPETITION } from './format.ts';
import type { ThriftWriter } from './thrift-writer.ts';

/** A leaf of a Parquet schema: what is stored as one column chunk per row group. */
export interface LeafColumn {
  readonly fieldId: number;
  readonly name: string;
  /** Names from the top-level field down, with the groups `list`, `key_value` that Parquet puts between. */
  readonly path: readonly string[];
  readonly type: PrimitiveType;
  /** Whether the leaf itself may not be null where what it stands in is there. */
  readonly required: boolean;
  readonly physicalType: PhysicalType;
  /** Width in bytes of a value: 4 and 8 of numbers, the length of fixed; 0 where it varies and for booleans. */
  readonly width: number;
  readonly maxDefinitionLevel: number;
  readonly maxRepetitionLevel: number;
}

/** One entry of the flattened schema tree of a footer, depth first. */
export interface SchemaNode {
  readonly name: string;
  /** Undefined for the root only. */
  readonly repetition: number | undefined;
  readonly fieldId: number | undefined;
  readonly childCount: number | undefined;
  readonly leaf: LeafColumn | undefined;
  readonly group: 'list' | 'map' | undefined;
}

export interface ParquetSchema {
  readonly nodes: readonly SchemaNode[];
  readonly leaves: readonly LeafColumn[];
  /** For every top-level field of the Iceberg schema, in order: its leaves. Empty for the type `unknown`, which is not stored. */
  readonly fieldLeaves: ReadonlyArray<readonly LeafColumn[]>;
}

/**
 * The Parquet form of an Iceberg schema (Iceberg spec, appendix A "Parquet"): field ids at every level, lists and maps in
 * their three-level form. Throws SluiceError UNSUPPORTED for a type that Parquet files cannot hold.
 */
export function toParquetSchema(schema: Schema): ParquetSchema {
  const builder = new SchemaBuilder();
  const stored = schema.fields.filter(isStored);
  builder.nodes.push(node('table', undefined, undefined, stored.length));
  const fieldLeaves = schema.fields.map((field) => {
    const before = builder.leaves.length;
    if (isStored(field)) builder.field(field, [], 0, 0);
    return builder.leaves.slice(before);
  });
  return { nodes: builder.nodes, leaves: builder.leaves, fieldLeaves };
}

function node(
  name: string,
  repetition: number | undefined,
  fieldId: number | undefined,
  childCount: number,
  group?: 'list' | 'map',
): SchemaNode {
  return { name, repetition, fieldId, childCount, leaf: undefined, group };
}

/** Fields of the type `unknown` are in no file: they are null in every row. */
export function isStored(field: NestedField): boolean {
  return field.type !== 'unknown';
}

/** Groups in groups: what anyone can read, and what the levels of a page can count. */
const MAX_DEPTH = 100;

type FieldLike = Pick<NestedField, 'id' | 'name' | 'required' | 'type'>;

class SchemaBuilder {
  readonly nodes: SchemaNode[] = [];
  readonly leaves: LeafColumn[] = [];

  field(
    field: FieldLike,
    parents: readonly string[],
    parentDefinition: number,
    repetitionLevel: number,
  ): void {
    const path = [...parents, field.name];
    if (path.length > MAX_DEPTH) throw unsupported(path, 'a type nested this deeply');
    const repetition = field.required ? REPETITION.REQUIRED : REPETITION.OPTIONAL;
    const definition = parentDefinition + (field.required ? 0 : 1);
    const { type } = field;
    if (typeof type === 'string') {
      const leaf: LeafColumn = {
        fieldId: field.id,
        name: field.name,
        path,
        type,
        required: field.required,
        ...physicalTypeOf(type, path),
        maxDefinitionLevel: definition,
        maxRepetitionLevel: repetitionLevel,
      };
      this.leaves.push(leaf);
      this.nodes.push({
        name: field.name,
        repetition,
        fieldId: field.id,
        childCount: undefined,
        leaf,
        group: undefined,
      });
    } else if (type.type === 'struct') {
      const stored = type.fields.filter(isStored);
      // a group of nothing is no valid schema, and its nulls could not be told from its values
      if (stored.length === 0) throw unsupported(path, 'a struct without a field that is stored');
      this.nodes.push(node(field.name, repetition, field.id, stored.length));
      for (const child of stored) this.field(child, path, definition, repetitionLevel);
    } else if (type.type === 'list') {
      this.list(field, type, path, repetition, definition, repetitionLevel);
    } else {
      this.map(field, type, path, repetition, definition, repetitionLevel);
    }
  }

  private list(
    field: FieldLike,
    type: ListType,
    path: string[],
    repetition: number,
    definition: number,
    level: number,
  ): void {
    this.nodes.push(
      node(field.name, repetition, field.id, 1, 'list'),
      node('list', REPETITION.REPEATED, undefined, 1),
    );
    const element = {
      id: type.elementId,
      name: 'element',
      required: type.elementRequired,
      type: type.element,
    };
    this.field(element, [...path, 'list'], definition + 1, level + 1);
  }

  private map(
    field: FieldLike,
    type: MapType,
    path: string[],
    repetition: number,
    definition: number,
    level: number,
  ): void {
    this.nodes.push(
      node(field.name, repetition, field.id, 1, 'map'),
      node('key_value', REPETITION.REPEATED, undefined, 2),
    );
    const inner = [...path, 'key_value'];
    this.field(
      { id: type.keyId, name: 'key', required: true, type: type.key },
      inner,
      definition + 1,
      level + 1,
    );
    const value = { id: type.valueId, name: 'value', required: type.valueRequired, type: type.value };
    this.field(value, inner, definition + 1, level + 1);
  }
}

/** Physical type and width (case C26: decimals by precision: INT32 to 9 digits, INT64 to 18, else the least bytes that hold them). */
function physicalTypeOf(
  type: PrimitiveType,
  path: readonly string[],
): { physicalType: PhysicalType; width: number } {
  switch (type) {
    case 'boolean':
      return { physicalType: PHYSICAL_TYPE.BOOLEAN, width: 0 };
    case 'int':
    case 'date':
      return { physicalType: PHYSICAL_TYPE.INT32, width: 4 };
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return { physicalType: PHYSICAL_TYPE.INT64, width: 8 };
    case 'float':
      return { physicalType: PHYSICAL_TYPE.FLOAT, width: 4 };
    case 'double':
      return { physicalType: PHYSICAL_TYPE.DOUBLE, width: 8 };
    case 'string':
    case 'binary':
      return { physicalType: PHYSICAL_TYPE.BYTE_ARRAY, width: 0 };
    case 'uuid':
      return { physicalType: PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY, width: 16 };
    default:
      return parameterisedType(type, path);
  }
}

function parameterisedType(
  type: IcebergType,
  path: readonly string[],
): { physicalType: PhysicalType; width: number } {
  const decimal = parseDecimal(type);
  if (
    decimal !== undefined &&
    decimal.precision >= 1 &&
    decimal.precision <= 38 &&
    decimal.scale <= decimal.precision
  ) {
    if (decimal.precision <= 9) return { physicalType: PHYSICAL_TYPE.INT32, width: 4 };
    if (decimal.precision <= 18) return { physicalType: PHYSICAL_TYPE.INT64, width: 8 };
    return { physicalType: PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY, width: decimalWidth(decimal.precision) };
  }
  const length = parseFixed(type);
  if (length !== undefined && length >= 1 && length <= 0x7fff_ffff) {
    return { physicalType: PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY, width: length };
  }
  throw unsupported(path, `the type ${String(type)}`);
}

function unsupported(path: readonly string[], what: string): SluiceError {
  const column = path.slice(0, MAX_DEPTH).join('.');
  return new SluiceError(
    'UNSUPPORTED',
    `column ${column}: Parquet files cannot hold ${what}; use another type`,
    { context: { column, what } },
  );
}

/** Writes the flattened schema as field 2 of FileMetaData. */
export function writeSchemaElements(thrift: ThriftWriter, schema: ParquetSchema): void {
  thrift.listField(2, 'struct', schema.nodes.length);
  for (const n of schema.nodes) {
    thrift.beginStruct();
    const { leaf } = n;
    if (leaf !== undefined) {
      thrift.i32Field(1, leaf.physicalType);
      if (leaf.physicalType === PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY) thrift.i32Field(2, leaf.width);
    }
    if (n.repetition !== undefined) thrift.i32Field(3, n.repetition);
    thrift.stringField(4, n.name);
    if (n.childCount !== undefined) thrift.i32Field(5, n.childCount);
    const converted = leaf === undefined ? groupConvertedType(n) : convertedType(leaf.type);
    if (converted !== undefined) thrift.i32Field(6, converted);
    const decimal = leaf === undefined ? undefined : parseDecimal(leaf.type);
    if (decimal !== undefined) {
      thrift.i32Field(7, decimal.scale);
      thrift.i32Field(8, decimal.precision);
    }
    if (n.fieldId !== undefined) thrift.i32Field(9, n.fieldId);
    if (leaf !== undefined) writeLogicalType(thrift, leaf.type);
    else if (n.group !== undefined) writeUnion(thrift, n.group === 'map' ? 2 : 3);
    thrift.endStruct();
  }
}

function groupConvertedType(n: SchemaNode): number | undefined {
  if (n.group === undefined) return undefined;
  return n.group === 'map' ? CONVERTED_TYPE.MAP : CONVERTED_TYPE.LIST;
}

function convertedType(type: PrimitiveType): number | undefined {
  switch (type) {
    case 'string':
      return CONVERTED_TYPE.UTF8;
    case 'date':
      return CONVERTED_TYPE.DATE;
    case 'time':
      return CONVERTED_TYPE.TIME_MICROS;
    case 'timestamp':
    case 'timestamptz':
      return CONVERTED_TYPE.TIMESTAMP_MICROS;
    default:
      return parseDecimal(type) === undefined ? undefined : CONVERTED_TYPE.DECIMAL;
  }
}

/** The union LogicalType as field 10 of SchemaElement, with a variant that has no content. */
function writeUnion(thrift: ThriftWriter, variant: number): void {
  thrift.structField(10);
  thrift.emptyField(variant);
  thrift.endStruct();
}

function writeLogicalType(thrift: ThriftWriter, type: PrimitiveType): void {
  if (type === 'string') writeUnion(thrift, 1);
  else if (type === 'date') writeUnion(thrift, 6);
  else if (type === 'uuid') writeUnion(thrift, 14);
  else if (type === 'time') writeTimeType(thrift, 7, false, 2);
  else if (type === 'timestamp' || type === 'timestamptz')
    writeTimeType(thrift, 8, type === 'timestamptz', 2);
  else if (type === 'timestamp_ns' || type === 'timestamptz_ns')
    writeTimeType(thrift, 8, type === 'timestamptz_ns', 3);
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    thrift.structField(10);
    thrift.structField(5);
    thrift.i32Field(1, decimal.scale);
    thrift.i32Field(2, decimal.precision);
    thrift.endStruct();
    thrift.endStruct();
  }
}

/** TimeType (variant 7) or TimestampType (8); unit 2 is microseconds, 3 nanoseconds. */
function writeTimeType(thrift: ThriftWriter, variant: number, isAdjustedToUtc: boolean, unit: number): void {
  thrift.structField(10);
  thrift.structField(variant);
  thrift.boolField(1, isAdjustedToUtc);
  thrift.structField(2);
  thrift.emptyField(unit);
  thrift.endStruct();
  thrift.endStruct();
  thrift.endStruct();
}
