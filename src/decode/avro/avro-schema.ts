/** Avro schemas as they are compiled from: parsed, names resolved, every reference the definition itself. */

export type AvroPrimitiveKind = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string';

export type TimeUnit = 'millis' | 'micros' | 'nanos';

/** A logical type that Sluice knows and that is valid where it stands; any other is null (Avro spec, "Logical Types"). */
export type LogicalType =
  | { readonly name: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly name: 'date' }
  | { readonly name: 'time'; readonly unit: TimeUnit }
  /** On the time line, UTC. */
  | { readonly name: 'timestamp'; readonly unit: TimeUnit }
  | { readonly name: 'local-timestamp'; readonly unit: TimeUnit }
  | { readonly name: 'uuid' }
  | { readonly name: 'duration' };

export interface AvroPrimitive {
  readonly kind: AvroPrimitiveKind;
  readonly logical: LogicalType | null;
}

interface AvroNamed {
  /** With its namespace. */
  readonly fullName: string;
  /** Full names. */
  readonly aliases: readonly string[];
}

export interface AvroFixed extends AvroNamed {
  readonly kind: 'fixed';
  readonly size: number;
  readonly logical: LogicalType | null;
}

export interface AvroEnum extends AvroNamed {
  readonly kind: 'enum';
  readonly symbols: readonly string[];
  readonly default: string | null;
}

export interface AvroField {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly schema: AvroSchema;
  /** The JSON of the default, not checked against the type; undefined where there is none. */
  readonly default: unknown;
}

export interface AvroRecord extends AvroNamed {
  readonly kind: 'record';
  readonly fields: readonly AvroField[];
}

export interface AvroArray {
  readonly kind: 'array';
  readonly items: AvroSchema;
}

export interface AvroMap {
  readonly kind: 'map';
  readonly values: AvroSchema;
}

export interface AvroUnion {
  readonly kind: 'union';
  readonly branches: readonly AvroSchema[];
}

export type AvroSchema = AvroPrimitive | AvroFixed | AvroEnum | AvroRecord | AvroArray | AvroMap | AvroUnion;

/** A schema that cannot be used; the message names the place. */
export class AvroSchemaFault extends Error {
  constructor(path: string, message: string) {
    super(path === '' ? message : `${path}: ${message}`);
    this.name = 'AvroSchemaFault';
  }
}

/** The name without its namespace. */
export function unqualified(fullName: string): string {
  return fullName.slice(fullName.lastIndexOf('.') + 1);
}

/** The branches of a union other than null; of any other schema the schema itself, or nothing where it is null. */
export function nonNullBranches(schema: AvroSchema): readonly AvroSchema[] {
  const branches = schema.kind === 'union' ? schema.branches : [schema];
  return branches.filter((branch) => branch.kind !== 'null');
}

/** How a schema is called in messages: the full name of a named type, else its kind, with the logical type. */
export function describe(schema: AvroSchema): string {
  if ('fullName' in schema) return `${schema.kind} ${schema.fullName}`;
  if (schema.kind === 'union') return `[${schema.branches.map(describe).join(', ')}]`.slice(0, 200);
  if (!('logical' in schema) || schema.logical === null) return schema.kind;
  return `${schema.kind} (${schema.logical.name}${'unit' in schema.logical ? `-${schema.logical.unit}` : ''})`;
}

const FIXED_SIZES: Partial<Record<AvroSchema['kind'], number>> = { null: 0, float: 4, double: 8 };

/** The least bytes that a value of a schema takes; never more than the truth, also for recursive schemas. */
export class LeastBytes {
  private readonly known = new Map<AvroSchema, number>();

  of(schema: AvroSchema): number {
    switch (schema.kind) {
      case 'fixed':
        return schema.size;
      case 'union':
        return 1 + Math.min(...schema.branches.map((branch) => this.of(branch)));
      case 'record':
        return this.ofRecord(schema);
      default:
        return FIXED_SIZES[schema.kind] ?? 1;
    }
  }

  private ofRecord(record: AvroRecord): number {
    const known = this.known.get(record);
    if (known !== undefined) return known;
    // What a record under way holds of itself counts as nothing.
    this.known.set(record, 0);
    const least = record.fields.reduce((sum, field) => sum + this.of(field.schema), 0);
    this.known.set(record, least);
    return least;
  }
}

/** Whether every value of a schema takes no bytes at all: null, fixed of size 0, records of such. */
export class Bodiless {
  private readonly known = new Map<AvroSchema, boolean>();

  is(schema: AvroSchema): boolean {
    if (schema.kind === 'null') return true;
    if (schema.kind === 'fixed') return schema.size === 0;
    if (schema.kind !== 'record') return false;
    const known = this.known.get(schema);
    if (known !== undefined) return known;
    // A record within itself has no finite value.
    this.known.set(schema, false);
    const all = schema.fields.every((field) => this.is(field.schema));
    this.known.set(schema, all);
    return all;
  }
}
