import { DuckDBListValue, DuckDBMapValue, DuckDBStructValue } from '@duckdb/node-api';
import fc from 'fast-check';
import type { ColumnVector } from '../../src/columns/vector.ts';
import type { IcebergType, NestedField, PrimitiveType } from '../../src/core/schema.ts';
import type { ReadVector } from '../../src/parquet/reader.ts';
import { plainDuckDb, show, vectorValue } from './parquet-model.ts';
import { ALL_TYPES, arbitraryValue, type TableValue, toVector } from './parquet-table.ts';

/** Structs by the names of their fields, lists as arrays, maps as their entries. */
export type NestedValue = TableValue | NestedValue[] | StructValue | MapValue;
export interface StructValue {
  readonly struct: Readonly<Record<string, NestedValue>>;
}
export interface MapValue {
  readonly entries: ReadonlyArray<readonly [NestedValue, NestedValue]>;
}

/** Types without ids yet. */
type Shape =
  | PrimitiveType
  | { list: Shape; required: boolean }
  | { key: PrimitiveType; value: Shape; required: boolean }
  | { fields: Array<{ shape: Shape; required: boolean }> };

/** Keys that every reader tells apart from each other. */
const KEY_TYPES: readonly PrimitiveType[] = ['string', 'int', 'long', 'date', 'boolean', 'uuid'];

function arbitraryShape(depth: number, types: readonly PrimitiveType[]): fc.Arbitrary<Shape> {
  const leaf: fc.Arbitrary<Shape> = fc.constantFrom(...types);
  if (depth === 0) return leaf;
  const inner = arbitraryShape(depth - 1, types);
  return fc.oneof(
    { weight: 1, arbitrary: leaf },
    { weight: 2, arbitrary: fc.record({ list: inner, required: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({ key: fc.constantFrom(...KEY_TYPES), value: inner, required: fc.boolean() }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        fields: fc.array(fc.record({ shape: inner, required: fc.boolean() }), { minLength: 1, maxLength: 3 }),
      }),
    },
  );
}

/** Fields of nested types, with ids from 1 up, depth first, and names that are unique in the table. */
export function arbitraryFields(
  depth: number,
  types: readonly PrimitiveType[] = ALL_TYPES,
): fc.Arbitrary<NestedField[]> {
  const shapes = fc.array(fc.record({ shape: arbitraryShape(depth, types), required: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  });
  return shapes.map((list) => {
    let id = 0;
    const fieldOf = ({ shape, required }: { shape: Shape; required: boolean }): NestedField => {
      id++;
      return { id, name: `f${id}`, required, type: typeOf(shape) };
    };
    const typeOf = (shape: Shape): IcebergType => {
      if (typeof shape === 'string') return shape;
      if ('fields' in shape) return { type: 'struct', fields: shape.fields.map(fieldOf) };
      if ('list' in shape) {
        const elementId = ++id;
        return { type: 'list', elementId, elementRequired: shape.required, element: typeOf(shape.list) };
      }
      const keyId = ++id;
      const valueId = ++id;
      const value = typeOf(shape.value);
      return { type: 'map', keyId, key: shape.key, valueId, valueRequired: shape.required, value };
    };
    return list.map(fieldOf);
  });
}

/** Values of a type, null and empty ones among them. */
export function arbitraryNested(type: IcebergType, required: boolean): fc.Arbitrary<NestedValue> {
  const value = arbitraryPresent(type);
  return required ? value : fc.option(value, { freq: 4 });
}

function arbitraryPresent(type: IcebergType): fc.Arbitrary<NestedValue> {
  if (typeof type === 'string') return arbitraryValue(type);
  if (type.type === 'struct') {
    const fields = Object.fromEntries(type.fields.map((f) => [f.name, arbitraryNested(f.type, f.required)]));
    return fc.record(fields, { noNullPrototype: true }).map((struct) => ({ struct }));
  }
  if (type.type === 'list') {
    return fc.array(arbitraryNested(type.element, type.elementRequired), { maxLength: 4, size: 'max' });
  }
  const entry = fc.tuple(arbitraryPresent(type.key), arbitraryNested(type.value, type.valueRequired));
  return fc
    .uniqueArray(entry, { maxLength: 3, size: 'max', selector: ([key]) => showNested(key) })
    .map((entries) => ({ entries }));
}

/**
 * A vector of the values. Where a struct is null its fields hold something or other: nulls, values, lists of either, as
 * what decoders leave there has no meaning.
 */
export function toNestedVector(type: IcebergType, values: readonly NestedValue[]): ColumnVector {
  if (typeof type === 'string') return toVector(type, values as TableValue[]);
  const nulls = Uint8Array.from(values, (value) => (value === null ? 1 : 0));
  const nullCount = nulls.reduce((sum, isNull) => sum + isNull, 0);
  const marks = { length: values.length, nullCount, nulls: nullCount === 0 ? new Uint8Array(0) : nulls };
  if (type.type === 'struct') {
    const fields = type.fields.map((f) => {
      const of = values.map((v, row) =>
        v === null ? leftover(f.type, row) : (v as StructValue).struct[f.name],
      );
      return toNestedVector(f.type, of);
    });
    return { kind: 'struct', ...marks, fields };
  }
  const starts = new Uint32Array(values.length + 1);
  const entries = values.map((value) => {
    if (value === null) return [];
    return type.type === 'list' ? (value as NestedValue[]) : (value as MapValue).entries;
  });
  entries.forEach((list, row) => {
    starts[row + 1] = starts[row] + list.length;
  });
  if (type.type === 'list') {
    const element = toNestedVector(type.element, entries.flat() as NestedValue[]);
    return { kind: 'list', ...marks, starts, element };
  }
  const all = entries.flat() as Array<readonly [NestedValue, NestedValue]>;
  const key = toNestedVector(
    type.key,
    all.map(([k]) => k),
  );
  const value = toNestedVector(
    type.value,
    all.map(([, v]) => v),
  );
  return { kind: 'map', ...marks, starts, key, value };
}

/** What stands where the struct around it is null. */
function leftover(type: IcebergType, row: number): NestedValue {
  if (row % 3 === 0) return null;
  if (typeof type === 'string') return anyValue(type);
  if (type.type === 'list')
    return row % 3 === 1 ? [leftover(type.element, 1), leftover(type.element, 0)] : [];
  if (type.type === 'map') return { entries: [[leftover(type.key, 1), leftover(type.value, row)]] };
  return { struct: Object.fromEntries(type.fields.map((f) => [f.name, leftover(f.type, row)])) };
}

function anyValue(type: PrimitiveType): TableValue {
  switch (type) {
    case 'boolean':
      return true;
    case 'int':
    case 'date':
    case 'float':
    case 'double':
      return 7;
    case 'string':
      return 'left over';
    case 'binary':
      return Uint8Array.of(7, 7);
    case 'uuid':
      return new Uint8Array(16).fill(7);
    default:
      return type.startsWith('fixed') ? new Uint8Array(Number(type.slice(6, -1))).fill(7) : 7n;
  }
}

/** A text that is the same for values that are the same; the entries of maps in their order. */
export function showNested(value: NestedValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(showNested).join(', ')}]`;
  if (value !== null && typeof value === 'object' && 'struct' in value) {
    const fields = Object.entries(value.struct).map(([name, field]) => `${name}: ${showNested(field)}`);
    return `{${fields.sort().join(', ')}}`;
  }
  if (value !== null && typeof value === 'object' && 'entries' in value && !(value instanceof Uint8Array))
    return `<${(value as MapValue).entries.map(([k, v]) => `${showNested(k)} = ${showNested(v)}`).join(', ')}>`;
  return show(value);
}

/** The value of a row that this reader has read. */
export function readValue(vector: ReadVector, row: number, type: IcebergType): NestedValue {
  if (typeof type === 'string') {
    if (vector.kind === 'struct' || vector.kind === 'list' || vector.kind === 'map')
      throw new TypeError(`a vector of kind ${vector.kind} for ${type}`);
    return vectorValue(vector, row, type);
  }
  if (vector.kind !== type.type) throw new TypeError(`a vector of kind ${vector.kind} for ${type.type}`);
  if (vector.isNull(row)) return null;
  if (type.type === 'struct') {
    if (vector.kind !== 'struct') throw new TypeError('no struct');
    const { names, fields } = vector;
    const values = type.fields.map((f) => {
      const i = names.indexOf(f.name);
      return [f.name, readValue(fields[i], row, f.type)];
    });
    return { struct: Object.fromEntries(values) };
  }
  if (vector.kind === 'struct') throw new TypeError('a struct');
  const rows = Array.from(
    { length: vector.starts[row + 1] - vector.starts[row] },
    (_, i) => vector.starts[row] + i,
  );
  if (type.type === 'list') {
    if (vector.kind !== 'list') throw new TypeError('no list');
    return rows.map((r) => readValue(vector.element, r, type.element));
  }
  if (vector.kind !== 'map') throw new TypeError('no map');
  return {
    entries: rows.map((r) => [readValue(vector.key, r, type.key), readValue(vector.value, r, type.value)]),
  };
}

/** A value of DuckDB. */
export function nestedDuckDb(value: unknown): NestedValue {
  if (value instanceof DuckDBListValue) return value.items.map(nestedDuckDb);
  if (value instanceof DuckDBMapValue)
    return { entries: value.entries.map((e) => [nestedDuckDb(e.key), nestedDuckDb(e.value)] as const) };
  if (value instanceof DuckDBStructValue) {
    const fields = Object.entries(value.entries).map(([name, field]) => [name, nestedDuckDb(field)]);
    return { struct: Object.fromEntries(fields) };
  }
  return plainDuckDb(value) as TableValue;
}

/** The values of a leaf that nothing repeats, null where something above it is; undefined for one inside lists. */
export function structLeaves(
  fields: readonly NestedField[],
  rows: ReadonlyArray<readonly NestedValue[]>,
): Map<number, { type: PrimitiveType; values: TableValue[] }> {
  const leaves = new Map<number, { type: PrimitiveType; values: TableValue[] }>();
  const visit = (field: NestedField, values: readonly NestedValue[]): void => {
    if (typeof field.type === 'string') {
      leaves.set(field.id, { type: field.type, values: values as TableValue[] });
    } else if (field.type.type === 'struct') {
      for (const child of field.type.fields)
        visit(
          child,
          values.map((v) => (v === null ? null : (v as StructValue).struct[child.name])),
        );
    }
  };
  fields.forEach((field, i) => {
    visit(
      field,
      rows.map((row) => row[i]),
    );
  });
  return leaves;
}
