import { assignFieldIds } from '../../core/field-ids.ts';
import type { IcebergType, NestedField, PrimitiveType, StructType } from '../../core/schema.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import {
  type AvroRecord,
  type AvroSchema,
  AvroSchemaFault,
  describe,
  type LogicalType,
  nonNullBranches,
  type TimeUnit,
} from './avro-schema.ts';
import { isRecordish } from './plan-compiler.ts';
import { parseAvroSchema } from './schema-parser.ts';
import { commonBranch, memberName } from './union-members.ts';

export interface AvroTypeOptions {
  /** The table is of format version 3 or later: nanos are kept; else they are cut to micros. */
  readonly nanos?: boolean;
  /** Every column optional, whatever the schema says; members of unions always are. */
  readonly optional?: boolean;
  /** The column of a datum that is no record. */
  readonly rootName?: string;
}

/** Columns of a schema: a schema that names one record in many places may be far larger than its text. */
const MAX_COLUMNS = 10_000;
/** Iceberg's most digits of a decimal. */
const MAX_PRECISION = 38;

/**
 * The columns that hold the values of an Avro schema, with fresh ids from 1. A field that is a union with null is optional,
 * any other is required. Unions of several types are structs of `member0`, `member1`..., as Spark's SchemaConverters has
 * them; an enum is a string, a fixed is fixed (a duration too: twelve bytes, as Avro writes them). Fields that can only be
 * null have no column. Throws REGISTRY_SCHEMA for a schema that cannot be parsed, UNSUPPORTED for one that has no columns: it
 * holds itself (with the path), or no table can hold its types.
 */
export function avroToIceberg(
  schemaText: string,
  references: RegisteredSchema['references'] = [],
  options: AvroTypeOptions = {},
): StructType {
  const schema = attempt('REGISTRY_SCHEMA', 'the Avro schema is not usable', () =>
    parseAvroSchema(schemaText, references),
  );
  return attempt('UNSUPPORTED', 'the Avro schema has no columns', () =>
    assignFieldIds(new TypeMaker(options).root(schema)),
  );
}

function attempt<T>(code: 'REGISTRY_SCHEMA' | 'UNSUPPORTED', what: string, make: () => T): T {
  try {
    return make();
  } catch (e) {
    if (!(e instanceof AvroSchemaFault)) throw e;
    throw new SluiceError(code, `${what}: ${e.message}`, { cause: e });
  }
}

class TypeMaker {
  private readonly options: AvroTypeOptions;
  private readonly open = new Set<AvroRecord>();
  private columns = 0;

  constructor(options: AvroTypeOptions) {
    this.options = options;
  }

  root(schema: AvroSchema): StructType {
    if (isRecordish(schema)) {
      const type = this.type(schema, '');
      if (type !== null) return type as StructType;
    } else {
      const name = this.options.rootName ?? 'value';
      const field = this.field(name, schema, name);
      if (field !== null) return { type: 'struct', fields: [field] };
    }
    throw new AvroSchemaFault('', 'it has no field that is more than null');
  }

  private field(name: string, schema: AvroSchema, path: string): NestedField | null {
    if (++this.columns > MAX_COLUMNS) throw new AvroSchemaFault(path, `more than ${MAX_COLUMNS} columns`);
    const type = this.type(schema, path);
    if (type === null) return null;
    return { id: 0, name, required: this.isRequired(schema), type };
  }

  private isRequired(schema: AvroSchema): boolean {
    if (this.options.optional === true) return false;
    return !(schema.kind === 'union' && schema.branches.some((branch) => branch.kind === 'null'));
  }

  /** Null where a value can only be null. */
  private type(schema: AvroSchema, path: string): IcebergType | null {
    switch (schema.kind) {
      case 'record':
        return this.struct(schema, path);
      case 'union':
        return this.union(schema, path);
      case 'array': {
        const element = this.type(schema.items, `${path}.element`);
        if (element === null) return null;
        return { type: 'list', elementId: 0, element, elementRequired: this.isRequired(schema.items) };
      }
      case 'map': {
        const value = this.type(schema.values, `${path}.value`);
        if (value === null) return null;
        const valueRequired = this.isRequired(schema.values);
        return { type: 'map', keyId: 0, key: 'string', valueId: 0, value, valueRequired };
      }
      case 'null':
        return null;
      case 'enum':
        return 'string';
      default:
        return this.leaf(schema, path);
    }
  }

  private struct(record: AvroRecord, path: string): StructType | null {
    if (this.open.has(record))
      throw new AvroSchemaFault(path, `${describe(record)} holds itself; a table has no type for it`);
    this.open.add(record);
    const fields: NestedField[] = [];
    for (const { name, schema } of record.fields) {
      const field = this.field(name, schema, path === '' ? name : `${path}.${name}`);
      if (field !== null) fields.push(field);
    }
    this.open.delete(record);
    return fields.length === 0 ? null : { type: 'struct', fields };
  }

  private union(union: Extract<AvroSchema, { kind: 'union' }>, path: string): IcebergType | null {
    const common = commonBranch(union);
    if (common !== undefined) return this.type(common, path);
    const fields: NestedField[] = [];
    nonNullBranches(union).forEach((branch, i) => {
      const name = memberName(i);
      const field = this.field(name, branch, path === '' ? name : `${path}.${name}`);
      if (field !== null) fields.push({ ...field, required: false });
    });
    return fields.length === 0 ? null : { type: 'struct', fields };
  }

  private leaf(schema: Extract<AvroSchema, { logical: unknown }>, path: string): PrimitiveType {
    const { logical } = schema;
    if (logical !== null) {
      const type = this.logicalType(logical, path);
      if (type !== null) return type;
    }
    if (schema.kind === 'fixed') {
      if (schema.size === 0) throw new AvroSchemaFault(path, `${describe(schema)} has no bytes`);
      return `fixed[${schema.size}]`;
    }
    return schema.kind === 'bytes' ? 'binary' : (schema.kind as PrimitiveType);
  }

  /** Null where the raw type counts. */
  private logicalType(logical: LogicalType, path: string): PrimitiveType | null {
    switch (logical.name) {
      case 'decimal':
        if (logical.precision > MAX_PRECISION)
          throw new AvroSchemaFault(
            path,
            `a decimal of ${logical.precision} digits is more than the ${MAX_PRECISION} of a table; give the column a type by hand`,
          );
        return `decimal(${logical.precision}, ${logical.scale})`;
      case 'date':
      case 'time':
      case 'uuid':
        return logical.name;
      case 'timestamp':
        return this.isNanos(logical.unit) ? 'timestamptz_ns' : 'timestamptz';
      case 'local-timestamp':
        return this.isNanos(logical.unit) ? 'timestamp_ns' : 'timestamp';
      case 'duration':
        return null;
    }
  }

  private isNanos(unit: TimeUnit): boolean {
    return unit === 'nanos' && this.options.nanos === true;
  }
}
