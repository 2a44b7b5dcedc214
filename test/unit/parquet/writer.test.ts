import {
  type FileMetaData,
  parquetMetadata,
  parquetReadObjects,
  readColumnIndex,
  readOffsetIndex,
} from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { BytesColumn } from '../../../src/columns/bytes-column.ts';
import type { BytesVector, ColumnVector, HeadersVector } from '../../../src/columns/vector.ts';
import { isSluiceError } from '../../../src/errors.ts';
import { BufferPool } from '../../../src/parquet/byte-chain.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../../src/parquet/options.ts';
import { readColumns, type StringsVector } from '../../../src/parquet/reader.ts';
import { ParquetWriter } from '../../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import {
  bytesVector,
  field,
  HEADERS_FIELD,
  headerBlock,
  int64Vector,
  tableSchema,
  toVector,
  writeTable,
} from '../../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';
const constant = (value: null | boolean | number | bigint | string | Uint8Array): ColumnVector => ({
  kind: 'constant',
  value,
});

async function fileOf(io: MemoryFileIO): Promise<ArrayBuffer> {
  const bytes = await io.read(PATH);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}

async function metadataOf(io: MemoryFileIO): Promise<FileMetaData> {
  return parquetMetadata(await fileOf(io));
}

async function stringsOf(io: MemoryFileIO, column: number): Promise<Array<string | null>> {
  const all: Array<string | null> = [];
  await readColumns(io, PATH, [column], ({ vectors }) => {
    all.push(...(vectors[0] as StringsVector).values);
  });
  return all;
}

async function openWriter(
  io: MemoryFileIO | FaultyFileIO,
  fields: ReturnType<typeof field>[],
  options = {},
): Promise<ParquetWriter> {
  return new ParquetWriter(await io.create(PATH), tableSchema(fields), {
    ...DEFAULT_PARQUET_OPTIONS,
    ...options,
  });
}

describe('constants', () => {
  const fields = [field(1, 'topic', 'string', true), field(2, 'n', 'int'), field(3, 'at', 'timestamptz')];

  it('are stored once, whatever the rows', async () => {
    const sizes: bigint[] = [];
    for (const rows of [1_000, 1_000_000]) {
      const io = new MemoryFileIO();
      const vectors = [constant('ad-clicks'), constant(7), constant(1784000106123456n)];
      const metrics = await writeTable(io, PATH, tableSchema(fields), vectors, rows);
      expect(metrics.recordCount).toBe(BigInt(rows));
      sizes.push(metrics.fileSizeInBytes);
      const topics = await stringsOf(io, 1);
      expect(topics.length).toBe(rows);
      expect(new Set(topics)).toEqual(new Set(['ad-clicks']));
    }
    // 50 pages of 20,000 rows in place of one
    expect(Number(sizes[1] - sizes[0])).toBeLessThan(20_000);
  });

  it('may change over a file, be null, and meet vectors of the same column', async () => {
    const io = new MemoryFileIO();
    const writer = await openWriter(io, [field(1, 'topic', 'string')]);
    writer.append([constant('a')], 0, 3);
    writer.append([constant(null)], 0, 2);
    writer.append([constant('b')], 0, 1);
    writer.append([bytesVector(['x', null, 'a'])], 0, 3);
    writer.append([constant(null)], 0, 1);
    writer.append([constant('b')], 10, 12);
    const metrics = await writer.close();
    expect(await stringsOf(io, 1)).toEqual(['a', 'a', 'a', null, null, 'b', 'x', null, 'a', null, 'b', 'b']);
    expect(metrics.nullValueCounts.get(1)).toBe(4n);
    expect(Buffer.from(metrics.lowerBounds.get(1)!).toString()).toBe('a');
    expect(Buffer.from(metrics.upperBounds.get(1)!).toString()).toBe('x');
    const encodings = (await metadataOf(io)).row_groups[0].columns[0].meta_data!.encodings;
    expect(encodings).toEqual(expect.arrayContaining(['PLAIN', 'RLE_DICTIONARY']));
  });

  it('go on as PLAIN pages where the dictionary is full', async () => {
    const io = new MemoryFileIO();
    const writer = await openWriter(io, [field(1, 'topic', 'string', true)]);
    const expected: string[] = [];
    for (let i = 0; i < 6000; i++) {
      writer.append([constant(`topic-${i}`)], 0, 2);
      expected.push(`topic-${i}`, `topic-${i}`);
    }
    await writer.close();
    expect(await stringsOf(io, 1)).toEqual(expected);
  });

  it('of bytes are compared by content: the array may be reused', async () => {
    const io = new MemoryFileIO();
    const writer = await openWriter(io, [field(1, 'u', 'uuid', true)]);
    const bytes = Buffer.alloc(16, 1);
    writer.append([constant(bytes)], 0, 2);
    bytes.fill(2);
    writer.append([constant(bytes)], 0, 1);
    writer.append([constant('f79c3e09-677c-4bbd-a479-3f349cb785e7')], 0, 1);
    await writer.close();
    const rows = (await parquetReadObjects({
      file: await fileOf(io),
      compressors: (await import('hyparquet-compressors')).compressors,
    })) as { u: string }[];
    expect(rows.map((row) => row.u.slice(0, 8))).toEqual(['01010101', '01010101', '02020202', 'f79c3e09']);
  });

  it('that a column cannot hold are refused', async () => {
    for (const [type, value] of [
      ['int', 2 ** 31],
      ['int', 'text'],
      ['long', 1.5],
      ['boolean', 1],
      ['uuid', new Uint8Array(15)],
      ['string', 3],
      ['decimal(38, 2)', 10n ** 40n],
    ] as const) {
      const writer = await openWriter(new MemoryFileIO(), [field(1, 'c', type)]);
      expect(() => writer.append([constant(value)], 0, 1)).toThrow(
        expect.objectContaining({ code: 'INTERNAL' }),
      );
    }
  });
});

describe('faults of the caller', () => {
  it('a null for a required column, as a row or as a constant', async () => {
    for (const vector of [constant(null), bytesVector(['a', null])]) {
      const writer = await openWriter(new MemoryFileIO(), [field(1, 'c', 'string', true)]);
      expect(() => writer.append([vector], 0, 2)).toThrow(/required column/);
      // what was half taken is never written
      await expect(writer.close()).rejects.toThrow(/failed/);
    }
  });

  it('a vector of another kind, or another number of vectors', async () => {
    const fields = [field(1, 'c', 'string')];
    const wrong: ColumnVector[][] = [
      [int64Vector([1n])],
      [],
      [bytesVector(['a']), bytesVector(['a'])],
      [{ kind: 'headers', raw: bytesVector(['']) }],
    ];
    for (const vectors of wrong) {
      const writer = await openWriter(new MemoryFileIO(), fields);
      expect(() => writer.append(vectors, 0, 1)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    }
  });

  it('options outside their ranges, a level that the codec does not have, a type that Parquet cannot hold', async () => {
    for (const options of [
      { pageBytes: 10 },
      { pageRows: 0 },
      { rowGroupBytes: 0.5 },
      { level: 0 },
      { codec: 'gzip', level: 12 },
    ]) {
      await expect(openWriter(new MemoryFileIO(), [field(1, 'c', 'int')], options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    }
    await expect(openWriter(new MemoryFileIO(), [field(1, 'c', 'decimal(39, 0)')])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    });
  });

  it('a value of more than 1 GiB, before anything is copied', async () => {
    const huge: BytesVector = {
      kind: 'bytes',
      length: 1,
      nullCount: 0,
      data: new Uint8Array(16),
      starts: Uint32Array.of(0, 2 ** 30 + 5),
    };
    const writer = await openWriter(new MemoryFileIO(), [field(1, 'c', 'binary')]);
    expect(() => writer.append([huge], 0, 1)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        context: expect.objectContaining({ length: 2 ** 30 + 1 }),
      }),
    );
  });

  it('use after the end', async () => {
    const writer = await openWriter(new MemoryFileIO(), [field(1, 'c', 'int')]);
    await writer.close();
    expect(() => writer.append([constant(1)], 0, 1)).toThrow(/ended/);
    await expect(writer.flush()).rejects.toThrow(/ended/);
  });
});

describe('pages and row groups', () => {
  const fields = [field(1, 'v', 'string'), field(2, 'n', 'long', true)];

  it('takes values longer than a page, one page each', async () => {
    const io = new MemoryFileIO();
    const texts = ['a'.repeat(5000), 'b', 'c'.repeat(3_000_000), '', 'd'.repeat(1020), 'e'];
    await writeTable(io, PATH, tableSchema([field(1, 'v', 'string')]), [bytesVector(texts)], texts.length, {
      pageBytes: 1024,
    });
    expect(await stringsOf(io, 1)).toEqual(texts);
  });

  it('writes a page index that tells where every row is', async () => {
    const io = new MemoryFileIO();
    const texts = [
      ...Array(10).fill('m'),
      ...Array(10).fill(null),
      ...Array(10).fill('n'),
      ...Array(4).fill('z'.repeat(40)),
    ];
    const numbers = texts.map((_, i) => BigInt(-i));
    await writeTable(
      io,
      PATH,
      tableSchema(fields),
      [bytesVector(texts), int64Vector(numbers)],
      texts.length,
      { pageRows: 10 },
    );
    const metadata = await metadataOf(io);
    const [text, number] = metadata.row_groups[0].columns;
    const view = new DataView(await fileOf(io));
    const columnIndex = (c: typeof text) =>
      readColumnIndex(
        { view, offset: Number(c.column_index_offset) },
        metadata.schema[1 + metadata.row_groups[0].columns.indexOf(c)],
      );
    const offsetIndex = (c: typeof text) => readOffsetIndex({ view, offset: Number(c.offset_index_offset) });
    const texts2 = columnIndex(text);
    expect(texts2.null_pages).toEqual([false, true, false, false]);
    expect(texts2.null_counts).toEqual([0n, 10n, 0n, 0n]);
    expect(texts2.min_values).toEqual(['m', '', 'n', 'z'.repeat(16)]);
    expect(texts2.max_values).toEqual(['m', '', 'n', `${'z'.repeat(15)}{`]);
    expect(texts2.boundary_order).toBe('ASCENDING');
    expect(columnIndex(number).boundary_order).toBe('DESCENDING');
    expect(columnIndex(number).max_values).toEqual([0n, -10n, -20n, -30n]);
    for (const column of [text, number]) {
      const pages = offsetIndex(column).page_locations;
      expect(pages.map((p) => Number(p.first_row_index))).toEqual([0, 10, 20, 30]);
      expect(Number(pages[0].offset)).toBe(Number(column.meta_data!.data_page_offset));
      for (let i = 1; i < pages.length; i++)
        expect(Number(pages[i].offset)).toBe(Number(pages[i - 1].offset) + pages[i - 1].compressed_page_size);
    }
  });

  it('leaves the column index out where a bound cannot be written', async () => {
    const io = new MemoryFileIO();
    const schema = tableSchema([field(1, 'd', 'double'), field(2, 'b', 'binary')]);
    const vectors = [
      toVector('double', [Number.NaN, 1]),
      toVector('binary', [new Uint8Array(17).fill(0xff), null]),
    ];
    const metrics = await writeTable(io, PATH, schema, vectors, 2, { pageRows: 1 });
    for (const column of (await metadataOf(io)).row_groups[0].columns) {
      expect(column.column_index_offset).toBeUndefined();
      expect(column.offset_index_offset).toBeDefined();
    }
    expect(metrics.nanValueCounts).toEqual(new Map([[1, 1n]]));
    expect([...metrics.upperBounds.keys()]).toEqual([1]);
    expect([...metrics.lowerBounds.keys()]).toEqual([1, 2]);
  });

  it('says when a row group is full, and gives its memory back when it is written', async () => {
    const pool = new BufferPool(1024 * 1024);
    const io = new MemoryFileIO();
    const options = {
      ...DEFAULT_PARQUET_OPTIONS,
      rowGroupBytes: 300_000,
      dictionaryBytes: 0,
      pageBytes: 64 * 1024,
      codec: 'none' as const,
    };
    const writer = new ParquetWriter(await io.create(PATH), tableSchema(fields), options, pool);
    const texts = Array.from({ length: 100 }, (_, i) => `${i} `.repeat(100));
    const vectors = [bytesVector(texts), int64Vector(texts.map((_, i) => BigInt(i)))];
    const idle = writer.bufferedBytes;
    expect(idle).toBeLessThan(10_000);
    let flushes = 0;
    let most = 0;
    for (let i = 0; i < 100; i++) {
      writer.append(vectors, 0, 100);
      most = Math.max(most, writer.bufferedBytes);
      if (!writer.wantsFlush) continue;
      const before = writer.estimatedFileBytes;
      await writer.flush();
      flushes++;
      expect(writer.bufferedBytes).toBeLessThan(idle + 4000 * flushes);
      expect(Math.abs(writer.estimatedFileBytes - before)).toBeLessThan(before * 0.1);
    }
    expect(flushes).toBeGreaterThan(5);
    expect(most).toBeLessThan(600_000);
    expect(pool.idleBytes).toBeGreaterThan(200_000);
    expect(pool.idleBytes).toBeLessThanOrEqual(1024 * 1024);
    const metrics = await writer.close();
    expect(writer.rowCount).toBe(10_000);
    const metadata = await metadataOf(io);
    expect(metrics.splitOffsets).toEqual(metadata.row_groups.map((g) => g.file_offset));
    expect(metrics.splitOffsets[0]).toBe(4n);
    expect(metrics.splitOffsets.length).toBeGreaterThanOrEqual(flushes);
    expect(metrics.fileSizeInBytes).toBe(BigInt((await io.read(PATH)).length));
  });

  it('writes a file without rows', async () => {
    const io = new MemoryFileIO();
    const metrics = await writeTable(io, PATH, tableSchema(fields), [bytesVector([]), int64Vector([])], 0);
    expect(metrics).toMatchObject({ recordCount: 0n, splitOffsets: [] });
    expect(await readColumns(io, PATH, [1, 2], () => expect.unreachable())).toBe(0);
    expect((await metadataOf(io)).created_by).toBe('Sluice version 0.1.0');
  });

  it('does not store columns of the type unknown', async () => {
    const io = new MemoryFileIO();
    const schema = tableSchema([field(1, 'u', 'unknown'), field(2, 'n', 'long')]);
    await writeTable(io, PATH, schema, [constant(null), int64Vector([5n])], 1);
    expect((await metadataOf(io)).schema.map((e) => e.name)).toEqual(['table', 'n']);
  });

  it('keeps metrics for the first columns only, sizes for all', async () => {
    const metrics = await writeTable(
      new MemoryFileIO(),
      PATH,
      tableSchema(fields),
      [bytesVector(['a']), int64Vector([1n])],
      1,
      { metricsColumns: 1 },
    );
    expect([...metrics.valueCounts.keys()]).toEqual([1]);
    expect([...metrics.lowerBounds.keys()]).toEqual([1]);
    expect([...metrics.columnSizes.keys()]).toEqual([1, 2]);
  });
});

describe('storage that fails', () => {
  it.each(['write', 'close'] as const)(
    'a failed %s leaves a writer that can only be aborted, and no file',
    async (kind) => {
      const memory = new MemoryFileIO();
      const io = new FaultyFileIO(memory, { faults: [{ kind, nth: 1, when: 'before' }] });
      const writer = await openWriter(io, [field(1, 'c', 'int')]);
      writer.append([constant(1)], 0, 10);
      await expect(writer.close()).rejects.toSatisfy(
        (e) => e instanceof Error && !isSluiceError(e, 'INTERNAL'),
      );
      await expect(writer.close()).rejects.toThrow(/failed/);
      await writer.abort();
      expect(await memory.stat(PATH)).toBeUndefined();
      expect(writer.bufferedBytes).toBe(0);
    },
  );
});

describe('Kafka headers', () => {
  const raw = new BytesColumn();
  raw.appendBytes(
    headerBlock([
      { key: 'a', value: '1' },
      { key: 'b', value: null },
      { key: 'a', value: '' },
    ]),
  );
  raw.appendNull();
  raw.appendBytes(headerBlock([]));
  raw.appendBytes(headerBlock([{ key: Uint8Array.of(0x61, 0xff), value: Uint8Array.of(0, 0xff) }]));
  const headers: HeadersVector = { kind: 'headers', raw };

  it('become a list of structs: null list, empty list and null value told apart', async () => {
    const io = new MemoryFileIO();
    const writer = await openWriter(io, [HEADERS_FIELD, field(1, 'n', 'int')], { pageRows: 3 });
    for (let i = 0; i < 3; i++) writer.append([headers, constant(1)], 0, 4);
    writer.append([constant(null), constant(1)], 0, 2);
    writer.append([headers, constant(1)], 1, 2);
    const metrics = await writer.close();
    const rows = await parquetReadObjects({
      file: await fileOf(io),
      utf8: false,
      compressors: (await import('hyparquet-compressors')).compressors,
    });
    const four = [
      [
        { key: 'a', value: Uint8Array.of(0x31) },
        { key: 'b', value: null },
        { key: 'a', value: new Uint8Array(0) },
      ],
      null,
      [],
      [{ key: 'a\ufffd', value: Uint8Array.of(0, 0xff) }],
    ];
    expect(rows.map((row) => row.headers)).toEqual([...four, ...four, ...four, null, null, null]);
    // no counts nor bounds inside lists
    expect([...metrics.valueCounts.keys()]).toEqual([1]);
    expect([...metrics.columnSizes.keys()].sort()).toEqual([1, 22, 23]);
    const ids = (await metadataOf(io)).schema.map((e) => [e.name, e.field_id, e.repetition_type]);
    expect(ids).toEqual([
      ['table', undefined, undefined],
      ['headers', 20, 'OPTIONAL'],
      ['list', undefined, 'REPEATED'],
      ['element', 21, 'REQUIRED'],
      ['key', 22, 'REQUIRED'],
      ['value', 23, 'OPTIONAL'],
      ['n', 1, 'OPTIONAL'],
    ]);
  });

  it.each([
    ['a count that the block cannot hold', [0x80, 0x80, 0x04]],
    ['a key behind the end', [0x02, 0x20, 0x61]],
    ['a negative key length', [0x02, 0x01, 0x00]],
    ['bytes behind the last header', [0x00, 0x00]],
    ['a number without end', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
  ])('refuses %s', async (_name, bytes) => {
    const writer = await openWriter(new MemoryFileIO(), [HEADERS_FIELD]);
    const vector: HeadersVector = { kind: 'headers', raw: bytesVector([Uint8Array.from(bytes)]) };
    expect(() => writer.append([vector], 0, 1)).toThrow(/block of Kafka headers/);
  });
});

describe('codecs', () => {
  it.each(['zstd', 'snappy', 'gzip', 'lz4', 'none'] as const)('%s is read back', async (codec) => {
    const io = new MemoryFileIO();
    const texts = Array.from({ length: 500 }, (_, i) => `value ${i % 50} `.repeat(20));
    const metrics = await writeTable(
      io,
      PATH,
      tableSchema([field(1, 'v', 'string')]),
      [bytesVector(texts)],
      500,
      { codec, level: 1 },
    );
    expect(await stringsOf(io, 1)).toEqual(texts);
    if (codec !== 'none') expect(metrics.fileSizeInBytes).toBeLessThan(20_000n);
  });
});

describe('bloom filters', () => {
  it('are written for the fields named, and find what is there', async () => {
    const io = new MemoryFileIO();
    const schema = tableSchema([
      field(1, 'k', 'string'),
      field(2, 'n', 'long', true),
      field(3, 'o', 'string'),
    ]);
    const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
    const vectors = [bytesVector(keys), int64Vector(keys.map((_, i) => BigInt(i) << 33n)), bytesVector(keys)];
    await writeTable(io, PATH, schema, vectors, 1000, { bloomFilterFieldIds: [1, 2], flushEvery: 500 });
    const { readBloomFilter, sbbfContains, hashParquetValue } = await import('hyparquet/src/bloom.js');
    const metadata = await metadataOf(io);
    const view = new DataView(await fileOf(io));
    expect(metadata.row_groups.length).toBe(2);
    metadata.row_groups.forEach((group, g) => {
      const [k, n, o] = group.columns.map((c) => c.meta_data!);
      expect(o.bloom_filter_offset).toBeUndefined();
      for (const [column, value, other] of [
        [k, `k${g * 500 + 7}`, 'none'],
        [n, BigInt(g * 500 + 7) << 33n, 12345n],
      ] as const) {
        const reader = { view, offset: Number(column.bloom_filter_offset) };
        const filter = readBloomFilter(reader)!;
        expect(reader.offset - Number(column.bloom_filter_offset)).toBe(column.bloom_filter_length);
        const element = { name: '', type: column.type };
        expect(sbbfContains(filter.blocks, hashParquetValue(value, element)!)).toBe(true);
        expect(sbbfContains(filter.blocks, hashParquetValue(other, element)!)).toBe(false);
      }
    });
  });
});
