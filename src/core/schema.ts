/** The one internal schema: Iceberg's types with field ids (Iceberg spec, "Schemas and Data Types"). */

export type PrimitiveType =
  | 'boolean'
  | 'int'
  | 'long'
  | 'float'
  | 'double'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'timestamptz'
  | 'timestamp_ns'
  | 'timestamptz_ns'
  | 'string'
  | 'uuid'
  | 'binary'
  | 'unknown'
  | `fixed[${number}]`
  | `decimal(${number}, ${number})`;

export interface StructType {
  readonly type: 'struct';
  readonly fields: readonly NestedField[];
}
export interface ListType {
  readonly type: 'list';
  readonly elementId: number;
  readonly element: IcebergType;
  readonly elementRequired: boolean;
}
export interface MapType {
  readonly type: 'map';
  readonly keyId: number;
  readonly key: IcebergType;
  readonly valueId: number;
  readonly value: IcebergType;
  readonly valueRequired: boolean;
}
export type IcebergType = PrimitiveType | StructType | ListType | MapType;

export interface NestedField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: IcebergType;
  readonly doc?: string;
  /** Single-value JSON form (Iceberg spec appendix D). */
  readonly initialDefault?: unknown;
  readonly writeDefault?: unknown;
}

export interface Schema extends StructType {
  readonly schemaId: number;
  readonly identifierFieldIds?: readonly number[];
}

export function isPrimitive(type: IcebergType): type is PrimitiveType {
  return typeof type === 'string';
}

/** Precision and scale of `decimal(p, s)`, or undefined for any other type. */
export function parseDecimal(type: IcebergType): { precision: number; scale: number } | undefined {
  if (typeof type !== 'string') return undefined;
  const m = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(type);
  return m === null ? undefined : { precision: Number(m[1]), scale: Number(m[2]) };
}

/** Length in bytes of `fixed[L]`, or undefined for any other type. */
export function parseFixed(type: IcebergType): number | undefined {
  if (typeof type !== 'string') return undefined;
  const m = /^fixed\[\s*(\d+)\s*\]$/.exec(type);
  return m === null ? undefined : Number(m[1]);
}

/** Every field at every level, list elements and map keys and values included, depth first. */
export function* walkFields(
  type: IcebergType,
): Generator<{ id: number; name: string; type: IcebergType; required: boolean }> {
  if (typeof type === 'string') return;
  if (type.type === 'struct') {
    for (const f of type.fields) {
      yield f;
      yield* walkFields(f.type);
    }
  } else if (type.type === 'list') {
    yield { id: type.elementId, name: 'element', type: type.element, required: type.elementRequired };
    yield* walkFields(type.element);
  } else {
    yield { id: type.keyId, name: 'key', type: type.key, required: true };
    yield* walkFields(type.key);
    yield { id: type.valueId, name: 'value', type: type.value, required: type.valueRequired };
    yield* walkFields(type.value);
  }
}

export function highestFieldId(schema: StructType): number {
  let highest = 0;
  for (const f of walkFields(schema)) highest = Math.max(highest, f.id);
  return highest;
}

/** The least bytes whose two's complement holds every number of `precision` digits: 9 for 19, 16 for 38. */
export function decimalWidth(precision: number): number {
  const most = 10n ** BigInt(precision) - 1n;
  let bytes = 1;
  while (most >= 1n << BigInt(8 * bytes - 1)) bytes++;
  return bytes;
}
