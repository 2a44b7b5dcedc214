import { parquetMetadata, readOffsetIndex } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { ColumnVector, ListVector, StructVector } from '../../../src/columns/vector.ts';
import type { IcebergType, NestedField } from '../../../src/core/schema.ts';
import { metricsFieldIds } from '../../../src/parquet/metrics-columns.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../../src/parquet/options.ts';
import { readColumns } from '../../../src/parquet/reader.ts';
import { ParquetWriter } from '../../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { type NestedValue, readValue, showNested, toNestedVector } from '../../support/nested-table.ts';
import { toArrayBuffer } from '../../support/parquet-model.ts';
import {
  bytesVector,
  field,
  int64Vector,
  tableSchema,
  toVector,
  type WriteTableOptions,
  writeTable,
} from '../../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';
const NULL: ColumnVector = { kind: 'constant', value: null };

const struct = (...fields: NestedField[]): IcebergType => ({ type: 'struct', fields });
const list = (element: IcebergType, elementRequired = false, elementId = 50): IcebergType => ({
  type: 'list',
  elementId,
  element,
  elementRequired,
});
const map = (value: IcebergType, valueRequired = false): IcebergType => ({
  type: 'map',
  keyId: 60,
  key: 'string',
  valueId: 61,
  value,
  valueRequired,
});
const s = (fields: Record<string, NestedValue>): NestedValue => ({ struct: fields });

async function write(type: IcebergType, rows: NestedValue[], options: WriteTableOptions = {}) {
  const io = new MemoryFileIO();
  const schema = tableSchema([field(1, 'c', type)]);
  const metrics = await writeTable(io, PATH, schema, [toNestedVector(type, rows)], rows.length, options);
  return { io, metrics };
}

async function readAll(io: MemoryFileIO, id: number, type: IcebergType): Promise<string[]> {
  const all: string[] = [];
  await readColumns(io, PATH, [id], ({ vectors: [vector], rowCount }) => {
    for (let row = 0; row < rowCount; row++) all.push(showNested(readValue(vector, row, type)));
  });
  return all;
}

async function appendTo(fields: NestedField[], vectors: ColumnVector[], rows: number): Promise<void> {
  const writer = new ParquetWriter(await new MemoryFileIO().create(PATH), tableSchema(fields), {
    ...DEFAULT_PARQUET_OPTIONS,
  });
  writer.append(vectors, 0, rows);
}

/** First rows of the pages of every column of the first row group. */
async function firstRows(io: MemoryFileIO): Promise<number[][]> {
  const file = toArrayBuffer(await io.read(PATH));
  const view = new DataView(file);
  return parquetMetadata(file).row_groups[0].columns.map((column) => {
    const { page_locations } = readOffsetIndex({ view, offset: Number(column.offset_index_offset) });
    return page_locations.map((page) => Number(page.first_row_index));
  });
}

describe('nested columns', () => {
  it('of lists in lists: what is null, empty or there at each level', async () => {
    const type = list(list('int'), false, 40);
    const rows: NestedValue[] = [null, [], [null], [[]], [[null]], [[1], [], [2, null, 3]], [[4]]];
    const { io } = await write(type, rows);
    expect(await readAll(io, 1, type)).toEqual(rows.map(showNested));
    const [column] = parquetMetadata(toArrayBuffer(await io.read(PATH))).row_groups[0].columns;
    // entries, not rows: 11 with the places of what is null or empty, of which 4 have values
    expect(column.meta_data!.num_values).toBe(11n);
    expect(column.meta_data!.statistics!.null_count).toBe(7n);
  });

  it('of which every level is required', async () => {
    const type = struct(field(2, 'l', list(map('int', true), true), true));
    const io = new MemoryFileIO();
    const rows: NestedValue[] = [
      s({ l: [] }),
      s({ l: [{ entries: [] }, { entries: [['a', 1]] }] }),
      s({
        l: [
          {
            entries: [
              ['b', 2],
              ['c', 3],
            ],
          },
        ],
      }),
    ];
    const schema = tableSchema([field(1, 'c', type, true)]);
    await writeTable(io, PATH, schema, [toNestedVector(type, rows)], rows.length);
    expect(await readAll(io, 1, type)).toEqual(rows.map(showNested));
  });

  it('are written by stretches of rows that begin and end anywhere', async () => {
    const type = list(struct(field(2, 'x', 'string'), field(3, 'y', list('int', false, 51))));
    const rows = Array.from({ length: 60 }, (_, i): NestedValue => {
      if (i % 6 === 0) return null;
      return Array.from({ length: i % 4 }, (_, j) =>
        j === 1 ? null : s({ x: `${i}`, y: j === 2 ? null : [i, j] }),
      );
    });
    for (const step of [1, 7, 60]) {
      const { io } = await write(type, rows, { step, flushEvery: 25 });
      expect(await readAll(io, 1, type)).toEqual(rows.map(showNested));
    }
  });

  it('take a null constant at every level', async () => {
    const inner = struct(
      field(3, 'x', 'int', true),
      field(4, 'l', list('string')),
      field(5, 'm', map('int')),
    );
    const type = struct(field(2, 'i', inner), field(6, 'n', 'long', true));
    const nulls = Uint8Array.of(0, 1, 0);
    const outer: StructVector = {
      kind: 'struct',
      length: 3,
      nullCount: 1,
      nulls,
      fields: [NULL, int64Vector([1n, null, 3n])],
    };
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([field(1, 'c', type)]), [outer], 3);
    expect(await readAll(io, 1, type)).toEqual(['{i: null, n: 1}', 'null', '{i: null, n: 3}']);
    const lists: ListVector = {
      kind: 'list',
      length: 3,
      nullCount: 1,
      nulls,
      starts: Uint32Array.of(0, 2, 2, 3),
      element: NULL,
    };
    for (const element of [inner, 'int', list('int', false, 51), map('int')] as IcebergType[]) {
      const file = new MemoryFileIO();
      await writeTable(file, PATH, tableSchema([field(1, 'c', list(element))]), [lists], 3);
      expect(await readAll(file, 1, list(element))).toEqual(['[null, null]', 'null', '[null]']);
    }
    const deep: ListVector = { ...lists, element: { ...outer, fields: [NULL, int64Vector([1n, null, 3n])] } };
    const file = new MemoryFileIO();
    await writeTable(file, PATH, tableSchema([field(1, 'c', list(type))]), [deep], 3);
    expect(await readAll(file, 1, list(type))).toEqual([
      '[{i: null, n: 1}, null]',
      'null',
      '[{i: null, n: 3}]',
    ]);
  });

  it('take constants in structs, also in those that are null', async () => {
    const type = struct(field(2, 'topic', 'string', true), field(3, 'n', 'int'));
    const vector: StructVector = {
      kind: 'struct',
      length: 4,
      nullCount: 2,
      nulls: Uint8Array.of(0, 1, 1, 0),
      fields: [{ kind: 'constant', value: 'ad-clicks' }, toVector('int', [1, 2, null, null])],
    };
    const io = new MemoryFileIO();
    const metrics = await writeTable(io, PATH, tableSchema([field(1, 'c', type)]), [vector], 4);
    expect(await readAll(io, 1, type)).toEqual([
      '{n: 1, topic: "ad-clicks"}',
      'null',
      'null',
      '{n: null, topic: "ad-clicks"}',
    ]);
    expect([metrics.nullValueCounts.get(2), metrics.nullValueCounts.get(3)]).toEqual([2n, 3n]);
    // the 2 of a null struct is in no bound
    expect([...metrics.upperBounds.get(3)!]).toEqual([1, 0, 0, 0]);
  });

  it('do not look at null marks where nothing is null', async () => {
    const stale = new Uint8Array(2).fill(1);
    const type = list(struct(field(2, 'x', 'int')));
    const vector: ListVector = {
      kind: 'list',
      length: 2,
      nullCount: 0,
      nulls: stale,
      starts: Uint32Array.of(0, 1, 2),
      element: {
        kind: 'struct',
        length: 2,
        nullCount: 0,
        nulls: stale,
        fields: [{ kind: 'int32', length: 2, nullCount: 0, nulls: stale, values: Int32Array.of(5, 6) }],
      },
    };
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([field(1, 'c', type)]), [vector], 2);
    expect(await readAll(io, 1, type)).toEqual(['[{x: 5}]', '[{x: 6}]']);
  });

  it('keep bounds and counts for leaves in structs, none in lists and maps', async () => {
    const type = struct(
      field(2, 'x', 'int'),
      field(3, 'f', 'double'),
      field(4, 'l', list('int')),
      field(5, 'm', map('int')),
    );
    const rows: NestedValue[] = [
      s({ x: 3, f: Number.NaN, l: [1, 2, 3], m: { entries: [['a', 1]] } }),
      null,
      s({ x: null, f: -1.5, l: null, m: { entries: [] } }),
      s({ x: -7, f: 2, l: [], m: null }),
    ];
    const { metrics } = await write(type, rows, { flushEvery: 2 });
    expect(metrics.valueCounts).toEqual(
      new Map([
        [2, 4n],
        [3, 4n],
      ]),
    );
    expect(metrics.nullValueCounts).toEqual(
      new Map([
        [2, 2n],
        [3, 1n],
      ]),
    );
    expect(metrics.nanValueCounts).toEqual(new Map([[3, 1n]]));
    expect([...metrics.lowerBounds.keys()]).toEqual([2, 3]);
    expect(Buffer.from(metrics.lowerBounds.get(2)!).readInt32LE()).toBe(-7);
    expect(Buffer.from(metrics.upperBounds.get(2)!).readInt32LE()).toBe(3);
    expect([...metrics.columnSizes.keys()]).toEqual([2, 3, 50, 60, 61]);
  });
});

describe('the first columns that have metrics', () => {
  it('are counted as Iceberg Java counts them: the leaves of a struct before what stands deeper', () => {
    const schema = tableSchema([
      field(
        1,
        's',
        struct(field(2, 'x', 'int'), field(3, 't', struct(field(4, 'y', 'int'))), field(5, 'z', 'int')),
      ),
      field(6, 'l', list('int', false, 7)),
      field(8, 'm', map(struct(field(9, 'v', 'int')))),
      field(10, 'n', 'long'),
    ]);
    expect([...metricsFieldIds(schema, 100)]).toEqual([10, 2, 5, 4, 7, 60, 9]);
    expect([...metricsFieldIds(schema, 3)]).toEqual([10, 2, 5]);
    expect([...metricsFieldIds(schema, 0)]).toEqual([]);
  });
});

describe('pages of nested columns', () => {
  const long = list(struct(field(2, 'x', 'string'), field(3, 'n', 'long')));
  const rowOf = (elements: number, length: number): NestedValue =>
    Array.from({ length: elements }, (_, i) => s({ x: `${i % 10}`.repeat(length), n: BigInt(i) }));

  it('end by bytes, at rows: a long list is in one page', async () => {
    const rows = [rowOf(2, 10), rowOf(400, 50), rowOf(1, 10), rowOf(1, 10), rowOf(300, 5), [], null];
    const { io } = await write(long, rows, { pageBytes: 2048 });
    expect(await readAll(io, 1, long)).toEqual(rows.map(showNested));
    // x: 28 bytes, 21,600, 14, 14, 2,700; n: 16 bytes, 3,200, 8, 8, 2,400
    expect(await firstRows(io)).toEqual([
      [0, 1, 2, 4, 5],
      [0, 1, 2, 4, 5],
    ]);
  });

  it('end by rows', async () => {
    const rows = Array.from({ length: 25 }, (_, i) => rowOf(i % 3, 3));
    for (const step of [1, 4, 25]) {
      const { io } = await write(long, rows, { pageRows: 10, step });
      expect(await firstRows(io)).toEqual([
        [0, 10, 20],
        [0, 10, 20],
      ]);
      expect(await readAll(io, 1, long)).toEqual(rows.map(showNested));
    }
  });

  it('end by entries, where long lists have no values', async () => {
    const elements = 300_000;
    const starts = Uint32Array.from({ length: 8 }, (_, i) => i * elements);
    const vector: ListVector = {
      kind: 'list',
      length: 7,
      nullCount: 0,
      nulls: new Uint8Array(7),
      starts,
      element: NULL,
    };
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([field(1, 'c', list('int'))]), [vector], 7);
    expect(await firstRows(io)).toEqual([[0, 3, 6]]);
    let rows = 0;
    await readColumns(io, PATH, [1], ({ vectors: [read], rowCount }) => {
      if (read.kind !== 'list') throw new TypeError(read.kind);
      expect([...read.starts.subarray(0, 8)]).toEqual([...starts]);
      expect(read.element).toMatchObject({ length: 7 * elements, nullCount: 7 * elements });
      rows += rowCount;
    });
    expect(rows).toBe(7);
  });

  it('of structs that are null now and then end by bytes', async () => {
    const type = struct(field(2, 'x', 'string'));
    const rows = Array.from({ length: 200 }, (_, i) => (i % 4 === 0 ? null : s({ x: `${i}`.padStart(100) })));
    const { io } = await write(type, rows, { pageBytes: 2048 });
    expect((await firstRows(io))[0].length).toBeGreaterThan(3);
    expect(await readAll(io, 1, type)).toEqual(rows.map(showNested));
  });

  it('make the row group full', async () => {
    const type = list('long');
    const element = int64Vector(Array.from({ length: 1000 }, (_, i) => BigInt(i)));
    const vector: ListVector = {
      kind: 'list',
      length: 1,
      nullCount: 0,
      nulls: new Uint8Array(1),
      starts: Uint32Array.of(0, 1000),
      element,
    };
    const options = {
      ...DEFAULT_PARQUET_OPTIONS,
      codec: 'none' as const,
      rowGroupBytes: 100_000,
      pageBytes: 4096,
    };
    const writer = new ParquetWriter(
      await new MemoryFileIO().create(PATH),
      tableSchema([field(1, 'c', type)]),
      options,
    );
    let rows = 0;
    for (; !writer.wantsFlush; rows++) writer.append([vector], 0, 1);
    expect(rows).toBeGreaterThan(5);
    expect(rows).toBeLessThan(14);
    expect(writer.bufferedBytes).toBeLessThan(140_000);
  });

  it('refuse a row whose values are more than 1 GiB, and one of too many entries', async () => {
    const starts = Uint32Array.of(0, 2 ** 29 + 4, 2 ** 30 + 8);
    const element: ColumnVector = {
      kind: 'bytes',
      length: 2,
      nullCount: 0,
      data: new Uint8Array(16),
      starts,
    };
    const one = { kind: 'list' as const, length: 1, nullCount: 0, nulls: new Uint8Array(1) };
    const two = { ...one, starts: Uint32Array.of(0, 2), element };
    await expect(appendTo([field(1, 'c', list('binary'))], [two], 1)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('1073741832'),
    });
    const many = { ...one, starts: Uint32Array.of(0, 2 ** 27), element: NULL };
    await expect(appendTo([field(1, 'c', list('binary'))], [many], 1)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('c: a row with'),
    });
  });
});

describe('nested vectors that do not fit', () => {
  const type = struct(
    field(2, 'l', list(struct(field(3, 'x', 'int', true)), true)),
    field(4, 'm', map('int', true)),
  );
  const fields = [field(1, 'c', type, true)];

  it.each<[string, NestedValue, string]>([
    ['a required column', null, 'c was'],
    ['a required element', s({ l: [null], m: null }), 'c.l.element was'],
    ['a required leaf', s({ l: [s({ x: null })], m: null }), 'c.l.element.x was'],
    ['a key', s({ l: null, m: { entries: [[null, 1]] } }), 'c.m.key was'],
    ['a required value', s({ l: null, m: { entries: [['k', null]] } }), 'c.m.value was'],
  ])('a null for %s', async (_name, value, message) => {
    const good = s({ l: [s({ x: 1 })], m: { entries: [['k', 1]] } });
    await appendTo(fields, [toNestedVector(type, [good])], 1);
    await expect(appendTo(fields, [toNestedVector(type, [good, value, good])], 3)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining(message),
    });
  });

  it('a null constant for what is required', async () => {
    await expect(appendTo(fields, [NULL], 1)).rejects.toThrow('a null for a required column');
    const flat = [field(1, 'c', struct(field(2, 'x', 'int', true)))];
    const there: StructVector = {
      kind: 'struct',
      length: 2,
      nullCount: 0,
      nulls: new Uint8Array(2),
      fields: [NULL],
    };
    await expect(appendTo(flat, [there], 2)).rejects.toThrow('c.x was given a null');
    const half = { ...there, nullCount: 1, nulls: Uint8Array.of(1, 0) };
    await expect(appendTo(flat, [half], 2)).rejects.toThrow('c.x was given a null');
    await appendTo(flat, [{ ...there, nullCount: 2, nulls: Uint8Array.of(1, 1) }], 2);
    const element: ListVector = { ...there, kind: 'list', starts: Uint32Array.of(0, 1, 1), element: NULL };
    for (const of of ['int', struct(field(2, 'x', 'int')), list('int', false, 51)] as IcebergType[])
      await expect(appendTo([field(1, 'c', list(of, true))], [element], 2)).rejects.toThrow(
        'c.element was given a null',
      );
  });

  it('another kind, another number of fields, too few rows', async () => {
    const ints = toVector('int', [1, 2]);
    const marks = { length: 2, nullCount: 0, nulls: new Uint8Array(2) };
    const starts = Uint32Array.of(0, 1, 3);
    const of = (t: IcebergType) => [field(1, 'c', t)];
    const wrong: Array<[IcebergType, ColumnVector]> = [
      [struct(field(2, 'x', 'int')), ints],
      [struct(field(2, 'x', 'int')), { kind: 'struct', ...marks, fields: [] }],
      [struct(field(2, 'x', 'int')), { kind: 'struct', ...marks, fields: [bytesVector(['a', 'b'])] }],
      [struct(field(2, 'x', 'int')), { kind: 'struct', ...marks, fields: [toVector('int', [1])] }],
      [struct(field(2, 'x', 'int')), { kind: 'struct', ...marks, length: 1, fields: [ints] }],
      [list('int'), { kind: 'struct', ...marks, fields: [ints] }],
      [list('int'), { kind: 'map', ...marks, starts, key: ints, value: ints }],
      [list('int'), { kind: 'list', ...marks, starts, element: ints }],
      [list('int'), { kind: 'list', ...marks, starts: Uint32Array.of(0, 2), element: ints }],
      [list('int'), { kind: 'list', ...marks, starts: Uint32Array.of(2, 1, 0), element: ints }],
      [
        list('int'),
        { kind: 'list', ...marks, starts: Uint32Array.of(0, 1, 2), element: bytesVector(['a', 'b']) },
      ],
      [
        list('int'),
        { kind: 'list', ...marks, starts: Uint32Array.of(0, 1, 2), element: { kind: 'constant', value: 1 } },
      ],
      [map('int'), { kind: 'map', ...marks, starts, key: bytesVector(['a', 'b', 'c']), value: ints }],
    ];
    for (const [t, vector] of wrong) {
      await expect(appendTo(of(t), [vector], 2), JSON.stringify(t)).rejects.toMatchObject({
        code: 'INTERNAL',
        message: expect.stringContaining('column c'),
      });
    }
    await expect(
      appendTo([field(1, 'n', 'int')], [{ kind: 'struct', ...marks, fields: [] }], 2),
    ).rejects.toMatchObject({
      code: 'INTERNAL',
    });
  });
});

describe('fields of the type unknown', () => {
  it('in a struct are not stored', async () => {
    const type = struct(field(2, 'u', 'unknown'), field(3, 'x', 'int'));
    const vector: StructVector = {
      kind: 'struct',
      length: 3,
      nullCount: 1,
      nulls: Uint8Array.of(0, 1, 0),
      fields: [NULL, toVector('int', [1, 2, null])],
    };
    const io = new MemoryFileIO();
    const element: ListVector = {
      ...vector,
      kind: 'list',
      length: 2,
      nullCount: 0,
      starts: Uint32Array.of(0, 1, 3),
      element: vector,
    };
    await writeTable(
      io,
      PATH,
      tableSchema([field(1, 'c', type), field(9, 'l', list(type))]),
      [vector, element],
      2,
    );
    const stored = struct(field(3, 'x', 'int'));
    expect(await readAll(io, 1, stored)).toEqual(['{x: 1}', 'null']);
    expect(await readAll(io, 9, list(stored))).toEqual(['[{x: 1}]', '[null, {x: null}]']);
    expect(parquetMetadata(toArrayBuffer(await io.read(PATH))).schema.map((e) => e.name)).not.toContain('u');
  });

  it('and nothing else in a struct, or in a list or map, are refused: their nulls would be lost', async () => {
    for (const type of [struct(field(2, 'u', 'unknown')), struct(), list('unknown'), map('unknown')])
      await expect(appendTo([field(1, 'c', type)], [NULL], 1)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('types nested without end are refused', async () => {
    let type: IcebergType = 'int';
    for (let i = 0; i < 200; i++) type = struct(field(i + 2, 'f', type));
    await expect(appendTo([field(1, 'c', type)], [NULL], 1)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });
});
