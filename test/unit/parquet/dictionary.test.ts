import { type FileMetaData, parquetMetadata, readColumnIndex } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { ColumnVector, ListVector } from '../../../src/columns/vector.ts';
import { BufferPool } from '../../../src/parquet/byte-chain.ts';
import { ColumnDictionary } from '../../../src/parquet/column-dictionary.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../../src/parquet/options.ts';
import { readColumns, type StringsVector } from '../../../src/parquet/reader.ts';
import { ParquetWriter } from '../../../src/parquet/writer.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { toArrayBuffer } from '../../support/parquet-model.ts';
import {
  bytesVector,
  field,
  tableSchema,
  type WriteTableOptions,
  writeTable,
} from '../../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';
const SCHEMA = tableSchema([field(1, 's', 'string')]);
const PLAIN = 'PLAIN';
const DICTIONARY = 'RLE_DICTIONARY';

async function metadataOf(io: MemoryFileIO): Promise<FileMetaData> {
  return parquetMetadata(toArrayBuffer(await io.read(PATH)));
}

/** Writes texts, reads them back, and returns the data pages by encoding in each row group. */
async function pagesOf(
  texts: Array<string | null>,
  options: WriteTableOptions = {},
): Promise<{ pages: Record<string, number>[]; io: MemoryFileIO; bytes: number }> {
  const io = new MemoryFileIO();
  await writeTable(io, PATH, SCHEMA, [bytesVector(texts)], texts.length, options);
  const all: Array<string | null> = [];
  await readColumns(io, PATH, [1], ({ vectors }) => {
    all.push(...(vectors[0] as StringsVector).values);
  });
  expect(all).toEqual(texts);
  const pages = (await metadataOf(io)).row_groups.map((group) => {
    const stats = group.columns[0].meta_data!.encoding_stats!.filter(
      (s) => s.page_type !== 'DICTIONARY_PAGE',
    );
    return Object.fromEntries(stats.map((s) => [s.encoding, s.count]));
  });
  return { pages, io, bytes: (await io.read(PATH)).length };
}

const rows = (count: number, text: (i: number) => string | null): Array<string | null> =>
  Array.from({ length: count }, (_, i) => text(i));
/** Numbers that look random and are the same in every run. */
const mixed = (i: number): number => (Math.imul(i + 1, 0x9e3779b1) ^ (i << 7)) >>> 0;
const countries = ['DE', 'FR', 'US', 'GB', 'NL', '', 'a country with a long name'];

describe('byte strings that repeat', () => {
  it('are stored once each, nulls among them', async () => {
    const texts = rows(50_000, (i) => (i % 10 === 3 ? null : countries[mixed(i) % 7]));
    const { pages, bytes } = await pagesOf(texts);
    expect(pages).toEqual([{ [DICTIONARY]: 3 }]);
    const without = await pagesOf(texts, { dictionaryBytes: 0 });
    expect(without.pages).toEqual([{ [PLAIN]: 3 }]);
    expect(bytes).toBeLessThan(without.bytes / 2);
  });

  it('of which there are few rows stay as they are, unless it saves something', async () => {
    expect((await pagesOf(['a', 'a', 'b', null])).pages).toEqual([{ [PLAIN]: 1 }]);
    expect((await pagesOf(rows(60, (i) => countries[i % 3]))).pages).toEqual([{ [DICTIONARY]: 1 }]);
    expect((await pagesOf(rows(60, () => null))).pages).toEqual([{ [PLAIN]: 1 }]);
    expect((await pagesOf([])).pages).toEqual([]);
  });

  it('go on as they are where they turn out to be different: all of it in PLAIN pages', async () => {
    const unique = rows(30_000, (i) => `user-${mixed(i)}`);
    const { pages, io } = await pagesOf(unique, { flushEvery: 20_000 });
    expect(pages).toEqual([{ [PLAIN]: 1 }, { [PLAIN]: 1 }]);
    expect((await metadataOf(io)).row_groups[0].columns[0].meta_data!.dictionary_page_offset).toBeUndefined();
    // long values are given up earlier
    const long = rows(600, (i) => `${mixed(i)} `.repeat(100));
    expect((await pagesOf(long, { pageBytes: 16 * 1024 * 1024 })).pages).toEqual([{ [PLAIN]: 1 }]);
  });

  it('have pages of both kinds where the dictionary is full in the middle of one', async () => {
    const texts = rows(60_000, (i) => (i < 30_000 ? countries[mixed(i) % 7] : `session ${mixed(i)} ${i}`));
    const { pages } = await pagesOf(texts, { dictionaryBytes: 64 * 1024, pageRows: 20_000 });
    // the second page begins with countries and ends with sessions
    expect(pages).toEqual([{ [DICTIONARY]: 1, [PLAIN]: 2 }]);
  });

  it('have pages of both kinds where it is of no more use', async () => {
    const texts = rows(60_000, (i) => (i < 5000 ? countries[mixed(i) % 7] : `s${i}`));
    expect((await pagesOf(texts, { pageRows: 5000 })).pages).toEqual([{ [DICTIONARY]: 2, [PLAIN]: 10 }]);
  });

  it('of which there are more than 65,536 in a page go on as they are', async () => {
    const few = rows(300_000, (i) => `${i % 10}`);
    const options = { dictionaryBytes: 16 * 1024 * 1024, pageRows: 300_000 };
    expect((await pagesOf(few, options)).pages).toEqual([{ [DICTIONARY]: 1 }]);
    const many = few.map((text, i) => (i < 150_000 ? text : `${i}`));
    expect(Object.keys((await pagesOf(many, options)).pages[0])).toEqual([PLAIN]);
  });

  it('begin anew in every row group', async () => {
    const texts = rows(3000, (i) => `${Math.floor(i / 1000)}-${i % 5}`);
    const { pages, io } = await pagesOf(texts, { flushEvery: 1000 });
    expect(pages).toEqual([{ [DICTIONARY]: 1 }, { [DICTIONARY]: 1 }, { [DICTIONARY]: 1 }]);
    const statistics = (await metadataOf(io)).row_groups.map((g) => g.columns[0].meta_data!.statistics!);
    expect(statistics.map((s) => [s.min_value, s.max_value])).toEqual([
      ['0-0', '0-4'],
      ['1-0', '1-4'],
      ['2-0', '2-4'],
    ]);
  });

  it('end their pages where these would be four in PLAIN form', async () => {
    const texts = rows(400, (i) => `${i % 2}`.repeat(96));
    expect((await pagesOf(texts, { pageBytes: 2000 })).pages).toEqual([{ [DICTIONARY]: 5 }]);
  });

  it('share the dictionary with constants', async () => {
    const io = new MemoryFileIO();
    const writer = new ParquetWriter(await io.create(PATH), SCHEMA, DEFAULT_PARQUET_OPTIONS);
    const expected: Array<string | null> = [];
    const append = (vector: ColumnVector, values: Array<string | null>) => {
      writer.append([vector], 0, values.length);
      expected.push(...values);
    };
    const few = rows(300, (i) => countries[i % 3]);
    for (let i = 0; i < 3; i++) {
      append(bytesVector(few), few);
      append({ kind: 'constant', value: i === 1 ? 'DE' : 'other' }, Array(5).fill(i === 1 ? 'DE' : 'other'));
      append({ kind: 'constant', value: null }, [null, null]);
      append(bytesVector(['x']), ['x']);
    }
    await writer.close();
    const all: Array<string | null> = [];
    await readColumns(io, PATH, [1], ({ vectors }) => {
      all.push(...(vectors[0] as StringsVector).values);
    });
    expect(all).toEqual(expected);
  });

  it('that go back to PLAIN pages leave no index behind for the constant that follows', async () => {
    const io = new MemoryFileIO();
    const writer = new ParquetWriter(await io.create(PATH), SCHEMA, DEFAULT_PARQUET_OPTIONS);
    for (const text of ['a', 'b']) {
      writer.append([bytesVector([text, 'c'])], 0, 2);
      writer.append([{ kind: 'constant', value: 'c' }], 0, 3);
    }
    await writer.close();
    const all: Array<string | null> = [];
    await readColumns(io, PATH, [1], ({ vectors }) => {
      all.push(...(vectors[0] as StringsVector).values);
    });
    expect(all).toEqual(['a', 'c', 'c', 'c', 'c', 'b', 'c', 'c', 'c', 'c']);
  });

  it('have the same bounds of pages and the same bloom filter as without a dictionary', async () => {
    const texts = rows(8000, (i) => (i % 9 === 0 ? null : `${i < 4000 ? 'k' : 'm'}${mixed(i) % 90}`));
    const found = [];
    for (const dictionaryBytes of [0, 1 << 20]) {
      const { io, pages } = await pagesOf(texts, {
        dictionaryBytes,
        pageRows: 1000,
        bloomFilterFieldIds: [1],
      });
      expect(pages).toEqual([{ [dictionaryBytes === 0 ? PLAIN : DICTIONARY]: 8 }]);
      const metadata = await metadataOf(io);
      const [column] = metadata.row_groups[0].columns;
      const file = toArrayBuffer(await io.read(PATH));
      const at = { view: new DataView(file), offset: Number(column.column_index_offset) };
      const { bloom_filter_offset: from, bloom_filter_length: length } = column.meta_data!;
      const bloom = Buffer.from(file, Number(from), length).toString('hex');
      found.push({
        index: readColumnIndex(at, metadata.schema[1]),
        statistics: column.meta_data!.statistics,
        bloom,
      });
    }
    expect(found[1]).toEqual(found[0]);
    expect(found[0].index.min_values[4]).toMatch(/^m/);
  });

  it('inside lists are stored once each', async () => {
    const io = new MemoryFileIO();
    const element = bytesVector(rows(9000, (i) => (i % 4 === 0 ? null : countries[i % 7])));
    const starts = Uint32Array.from({ length: 3001 }, (_, i) => i * 3);
    const vector: ListVector = {
      kind: 'list',
      length: 3000,
      nullCount: 0,
      nulls: new Uint8Array(3000),
      starts,
      element,
    };
    const type = { type: 'list' as const, elementId: 2, element: 'string' as const, elementRequired: false };
    await writeTable(io, PATH, tableSchema([field(1, 'l', type)]), [vector], 3000, { pageRows: 700 });
    const [column] = (await metadataOf(io)).row_groups[0].columns;
    expect(column.meta_data!.encodings).toContain(DICTIONARY);
    const texts: Array<string | null> = [];
    await readColumns(io, PATH, [1], ({ vectors: [list] }) => {
      if (list.kind !== 'list' || list.element.kind !== 'strings') throw new TypeError(list.kind);
      texts.push(...list.element.values);
    });
    expect(texts).toEqual(rows(9000, (i) => (i % 4 === 0 ? null : countries[i % 7])));
  });

  it('give the memory of their dictionary back with the row group', async () => {
    const pool = new BufferPool(8 * 1024 * 1024);
    const io = new MemoryFileIO();
    const writer = new ParquetWriter(await io.create(PATH), SCHEMA, DEFAULT_PARQUET_OPTIONS, pool);
    const idle = writer.bufferedBytes;
    const texts = bytesVector(rows(20_000, (i) => `value ${mixed(i) % 5000}`));
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 5; i++) writer.append([texts], 0, 20_000);
      // entries, their places and the indices of a page
      expect(writer.bufferedBytes).toBeGreaterThan(idle + 150_000);
      await writer.flush();
      expect(writer.bufferedBytes).toBeLessThan(idle + 3000 * (round + 1));
    }
    expect(pool.idleBytes).toBeGreaterThan(50_000);
    await writer.close();
  });
});

describe('ColumnDictionary', () => {
  const add = (dictionary: ColumnDictionary, text: string): number => {
    const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
    bytes.writeUInt32LE(bytes.length - 4);
    bytes.write(text, 4);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return dictionary.add(bytes, view, 0, bytes.length);
  };

  it('finds values of every length again, whatever they share', () => {
    const dictionary = new ColumnDictionary(new BufferPool(0), 1 << 20);
    const texts = Array.from({ length: 40 }, (_, length) =>
      ['a', 'b'].flatMap((end) => [`${'a'.repeat(length)}${end}`, `${end}${'a'.repeat(length)}`]),
    ).flat();
    const distinct = [...new Set(['', ...texts])];
    expect(distinct.map((text) => add(dictionary, text))).toEqual(distinct.map((_, i) => i));
    expect([...distinct].reverse().map((text) => add(dictionary, text))).toEqual(
      distinct.map((_, i) => i).reverse(),
    );
    expect(dictionary.size).toBe(distinct.length);
    const plain = Buffer.from(dictionary.plainEntries());
    expect(plain.subarray(dictionary.startOf(2) + 4, dictionary.endOf(2)).toString()).toBe(distinct[2]);
  });

  it('is full at its bytes, and takes what it has then', () => {
    const dictionary = new ColumnDictionary(new BufferPool(0), 30);
    expect([
      add(dictionary, 'ten bytes.'),
      add(dictionary, 'another te'),
      add(dictionary, 'no'),
      add(dictionary, 'ten bytes.'),
    ]).toEqual([0, 1, -1, 0]);
    dictionary.clear();
    expect([dictionary.size, dictionary.plainBytes, dictionary.heldBytes]).toEqual([0, 0, 0]);
    expect(add(dictionary, 'no')).toBe(0);
  });

  it('is full where values are made to hash alike, instead of slow', () => {
    // the hash after two words is undone by the third: all of these end in the same one
    const step = (hash: number, word: number): number => {
      const product = Math.imul(hash ^ word, 0x9e3779b1);
      return product ^ (product >>> 15);
    };
    const dictionary = new ColumnDictionary(new BufferPool(0), 1 << 20);
    const indices = Array.from({ length: 60 }, (_, i) => {
      const bytes = Buffer.alloc(16);
      bytes.writeUInt32LE(12);
      bytes.writeInt32BE(i, 4);
      const afterTwo = step(step(16, bytes.readInt32BE(0)), i);
      bytes.writeInt32BE(afterTwo ^ 0x1234567, 8);
      bytes.write('same', 12);
      return dictionary.add(bytes, new DataView(bytes.buffer, bytes.byteOffset, 16), 0, 16);
    });
    expect(indices.slice(0, 48)).toEqual(Array.from({ length: 48 }, (_, i) => i));
    expect(new Set(indices.slice(48))).toEqual(new Set([-1]));
  });
});
