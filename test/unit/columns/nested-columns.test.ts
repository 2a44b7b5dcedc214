import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BooleanColumn } from '../../../src/columns/boolean-column.ts';
import { BytesColumn } from '../../../src/columns/bytes-column.ts';
import { createColumn, type TypedColumn } from '../../../src/columns/create-column.ts';
import { FixedColumn } from '../../../src/columns/fixed-column.ts';
import { Float32Column } from '../../../src/columns/float32-column.ts';
import { Float64Column } from '../../../src/columns/float64-column.ts';
import { Int32Column } from '../../../src/columns/int32-column.ts';
import { Int64Column } from '../../../src/columns/int64-column.ts';
import { ListColumn } from '../../../src/columns/list-column.ts';
import { MapColumn } from '../../../src/columns/map-column.ts';
import { StructColumn } from '../../../src/columns/struct-column.ts';
import type { IcebergType } from '../../../src/core/schema.ts';

type Value = null | number | string | Value[] | { a: Value; b: Value } | Map<string, Value>;

/** What a decoder does: it appends a value to its column. */
function append(column: TypedColumn, value: Value): void {
  if (value === null) column.appendNull();
  else if (column instanceof StructColumn) {
    const { a, b } = value as { a: Value; b: Value };
    append(column.fields[0] as TypedColumn, a);
    append(column.fields[1] as TypedColumn, b);
    column.endRow();
  } else if (column instanceof ListColumn) {
    for (const element of value as Value[]) append(column.element as TypedColumn, element);
    column.endRow();
  } else if (column instanceof MapColumn) {
    for (const [key, v] of value as Map<string, Value>) {
      append(column.key as TypedColumn, key);
      append(column.value as TypedColumn, v);
    }
    column.endRow();
  } else if (column instanceof Int32Column) column.append(value as number);
  else (column as BytesColumn).appendBytes(Buffer.from(value as string));
}

function read(column: TypedColumn, row: number): Value {
  if (column.isNull(row)) return null;
  if (column instanceof StructColumn) {
    const [a, b] = column.fields as TypedColumn[];
    return { a: read(a, row), b: read(b, row) };
  }
  const range = (starts: Uint32Array) =>
    Array.from({ length: starts[row + 1] - starts[row] }, (_, i) => starts[row] + i);
  if (column instanceof ListColumn)
    return range(column.starts).map((r) => read(column.element as TypedColumn, r));
  if (column instanceof MapColumn) {
    const { key, value } = column;
    return new Map(
      range(column.starts).map((r) => [read(key as TypedColumn, r) as string, read(value as TypedColumn, r)]),
    );
  }
  if (column instanceof Int32Column) return column.values[row];
  return Buffer.from((column as BytesColumn).get(row)!).toString();
}

const all = (column: TypedColumn): Value[] =>
  Array.from({ length: column.length }, (_, row) => read(column, row));
const nullsOf = (values: Value[]): number => values.filter((value) => value === null).length;

const PAIR: IcebergType = {
  type: 'struct',
  fields: [
    { id: 1, name: 'a', required: false, type: 'int' },
    { id: 2, name: 'b', required: false, type: 'string' },
  ],
};
const list = (element: IcebergType): IcebergType => ({
  type: 'list',
  elementId: 3,
  element,
  elementRequired: false,
});
const map = (value: IcebergType): IcebergType => ({
  type: 'map',
  keyId: 4,
  key: 'string',
  valueId: 5,
  value,
  valueRequired: false,
});

describe('StructColumn', () => {
  it('keeps rows, null structs and null fields apart', () => {
    const column = createColumn(PAIR) as StructColumn;
    const rows: Value[] = [{ a: 1, b: 'x' }, null, { a: null, b: null }, { a: 2, b: '' }];
    for (const row of rows) append(column, row);
    expect(all(column)).toEqual(rows);
    expect([column.length, column.nullCount]).toEqual([4, 1]);
    // the fields keep pace
    expect(column.fields.map((f) => f.length)).toEqual([4, 4]);
  });

  it('gives up a row that was begun and not ended', () => {
    const column = createColumn(PAIR) as StructColumn;
    append(column, { a: 1, b: 'x' });
    (column.fields[0] as Int32Column).append(9);
    column.truncate(1);
    append(column, null);
    append(column, { a: 2, b: null });
    expect(all(column)).toEqual([{ a: 1, b: 'x' }, null, { a: 2, b: null }]);
  });

  it('forgets the nulls of rows that are dropped', () => {
    const column = createColumn(PAIR) as StructColumn;
    append(column, { a: 1, b: 'x' });
    append(column, null);
    append(column, null);
    column.truncate(1);
    expect(column.nullCount).toBe(0);
    append(column, { a: 5, b: 'y' });
    append(column, null);
    expect(all(column)).toEqual([{ a: 1, b: 'x' }, { a: 5, b: 'y' }, null]);
    expect(column.nullCount).toBe(1);
  });
});

describe('ListColumn', () => {
  it('keeps null, empty and lists of null apart', () => {
    const column = createColumn(list('int')) as ListColumn;
    const rows: Value[] = [[], null, [null], [1, 2], null, []];
    for (const row of rows) append(column, row);
    expect(all(column)).toEqual(rows);
    expect([...column.starts.subarray(0, 7)]).toEqual([0, 0, 0, 1, 3, 3, 3]);
  });

  it('gives up the elements of a row that was not ended, also of the first', () => {
    const column = createColumn(list('string')) as ListColumn;
    append(column.element as TypedColumn, 'half');
    column.truncate(0);
    append(column, ['a']);
    append(column.element as TypedColumn, 'half');
    append(column.element as TypedColumn, 'more');
    column.truncate(1);
    append(column, []);
    expect(all(column)).toEqual([['a'], []]);
    expect(column.element.length).toBe(1);
  });

  it('gives up half of a struct in a list', () => {
    const column = createColumn(list(PAIR)) as ListColumn;
    append(column, [{ a: 1, b: 'x' }]);
    append(column.element as TypedColumn, { a: 2, b: 'y' });
    (column.element as StructColumn).fields[0].appendNull();
    column.truncate(1);
    append(column, [null, { a: 3, b: null }]);
    expect(all(column)).toEqual([[{ a: 1, b: 'x' }], [null, { a: 3, b: null }]]);
  });
});

describe('MapColumn', () => {
  it('keeps null, empty and null values apart', () => {
    const column = createColumn(map('int')) as MapColumn;
    const rows: Value[] = [
      new Map(),
      null,
      new Map([['k', null]]),
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    ];
    for (const row of rows) append(column, row);
    expect(all(column)).toEqual(rows);
    expect(column.nullCount).toBe(1);
  });

  it('gives up an entry of which only the key is there', () => {
    const column = createColumn(map('int')) as MapColumn;
    append(column, new Map([['a', 1]]));
    append(column.key as TypedColumn, 'half');
    column.truncate(1);
    append(column, new Map([['b', 2]]));
    expect(all(column)).toEqual([new Map([['a', 1]]), new Map([['b', 2]])]);
    expect([column.key.length, column.value.length]).toEqual([2, 2]);
  });
});

describe('nested columns', () => {
  it('grow far beyond their first buffers, and are used again when cleared', () => {
    const column = createColumn(list(map(PAIR))) as ListColumn;
    const rows = (round: number): Value[] =>
      Array.from({ length: 5000 }, (_, i): Value => {
        if ((i + round) % 7 === 0) return null;
        const inner = new Map<string, Value>([[`k${i}`, i % 3 === 0 ? null : { a: i, b: `v${round}` }]]);
        return i % 5 === 0 ? [] : [inner, null, new Map()];
      });
    for (const round of [0, 1]) {
      const wanted = rows(round);
      for (const row of wanted) append(column, row);
      expect(all(column)).toEqual(wanted);
      expect(column.nullCount).toBe(nullsOf(wanted));
      column.clear();
      expect([column.length, column.nullCount, column.element.length]).toEqual([0, 0, 0]);
    }
  });

  it('are what was appended, whatever was given up in between', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), value: deep }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('half' as const), value: deep }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('truncate' as const), share: fc.nat(100) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const column = createColumn(DEEP) as StructColumn;
        let model: Value[] = [];
        for (const s of steps) {
          if (s.kind === 'append') {
            append(column, s.value);
            model.push(s.value);
          } else if (s.kind === 'half') {
            // only the first field of the struct, then the row is given up
            append(column.fields[0] as TypedColumn, (s.value as { a: Value } | null)?.a ?? null);
            column.truncate(model.length);
          } else if (s.kind === 'truncate') {
            model = model.slice(0, Math.floor((model.length * s.share) / 100));
            column.truncate(model.length);
          } else {
            column.clear();
            model = [];
          }
          expect(column.length).toBe(model.length);
          expect(column.nullCount).toBe(nullsOf(model));
        }
        expect(all(column)).toEqual(model);
      }),
    );
  });
});

/** struct<a: list<map<string, struct<a, b>>>, b: string> */
const DEEP: IcebergType = {
  type: 'struct',
  fields: [
    { id: 10, name: 'a', required: false, type: list(map(PAIR)) },
    { id: 11, name: 'b', required: false, type: 'string' },
  ],
};
const nullable = (of: fc.Arbitrary<Value>): fc.Arbitrary<Value> => fc.option(of, { freq: 3 });
const text: fc.Arbitrary<Value> = fc.string({ maxLength: 5 });
const pair: fc.Arbitrary<Value> = fc.record(
  { a: nullable(fc.integer()), b: nullable(text) },
  { noNullPrototype: true },
) as fc.Arbitrary<Value>;
const entries: fc.Arbitrary<Value> = fc
  .array(fc.tuple(fc.string({ maxLength: 3 }), nullable(pair)), { maxLength: 3 })
  .map((list) => new Map(list));
const deep: fc.Arbitrary<Value> = nullable(
  fc.record(
    { a: nullable(fc.array(nullable(entries), { maxLength: 3 })), b: nullable(text) },
    { noNullPrototype: true },
  ) as fc.Arbitrary<Value>,
);

describe('flat columns', () => {
  const fresh = {
    boolean: () => new BooleanColumn(1),
    int32: () => new Int32Column(1),
    int64: () => new Int64Column(1),
    float32: () => new Float32Column(1),
    float64: () => new Float64Column(1),
    fixed: () => new FixedColumn(3, 1),
  };
  it.each(Object.entries(fresh))(
    '%s: makes room for rows at once, keeps the nulls it has, drops those it gives up',
    (_, make) => {
      const column = make();
      const value = (i: number) => {
        if (column.kind === 'boolean') column.append(i % 2 === 0);
        else if (column.kind === 'int64') column.appendNumber(i);
        else if (column.kind === 'fixed') column.append(Uint8Array.of(i, i, i));
        else column.append(i);
      };
      column.appendNull();
      value(1);
      column.reserve(5000);
      const { nulls } = column;
      for (let i = 2; i < 5002; i++) value(i % 200);
      expect(column.nulls).toBe(nulls);
      column.appendNull();
      expect([column.length, column.nullCount]).toEqual([5003, 2]);
      expect([0, 1, 5001, 5002].map((row) => column.isNull(row))).toEqual([true, false, false, true]);
      column.truncate(5002);
      value(3);
      expect([column.nullCount, column.isNull(5002)]).toEqual([1, false]);
      column.truncate(0);
      expect([column.length, column.nullCount]).toEqual([0, 0]);
      value(1);
      expect(column.isNull(0)).toBe(false);
    },
  );

  it('of bytes: counts the nulls of rows that are dropped', () => {
    const column = new BytesColumn();
    for (const value of [null, 'a', null, null, ''] as Value[]) append(column, value);
    column.truncate(3);
    expect(column.nullCount).toBe(2);
    append(column, 'b');
    expect(all(column)).toEqual([null, 'a', null, 'b']);
  });
});

describe('createColumn', () => {
  it('makes the column of every type', () => {
    const kinds: Array<[IcebergType, string]> = [
      ['boolean', 'boolean'],
      ['int', 'int32'],
      ['date', 'int32'],
      ['long', 'int64'],
      ['time', 'int64'],
      ['timestamp', 'int64'],
      ['timestamptz', 'int64'],
      ['timestamp_ns', 'int64'],
      ['timestamptz_ns', 'int64'],
      ['float', 'float32'],
      ['double', 'float64'],
      ['string', 'bytes'],
      ['binary', 'bytes'],
      ['uuid', 'fixed'],
      ['fixed[7]', 'fixed'],
      ['decimal(9, 2)', 'int32'],
      ['decimal(10, 2)', 'int64'],
      ['decimal(18, 0)', 'int64'],
      ['decimal(19, 0)', 'fixed'],
      [PAIR, 'struct'],
      [list('int'), 'list'],
      [map('int'), 'map'],
    ];
    expect(kinds.map(([type]) => createColumn(type).kind)).toEqual(kinds.map(([, kind]) => kind));
    const widths = (['uuid', 'fixed[7]', 'decimal(19, 0)', 'decimal(38, 0)'] as const).map(
      (type) => (createColumn(type) as FixedColumn).width,
    );
    expect(widths).toEqual([16, 7, 9, 16]);
  });

  it('refuses what no decoder fills', () => {
    for (const type of ['unknown', list('unknown')] as IcebergType[])
      expect(() => createColumn(type)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });
});
