import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Int32Column } from '../../../src/columns/int32-column.ts';
import type { Int64Column } from '../../../src/columns/int64-column.ts';
import { SluiceError } from '../../../src/errors.ts';
import { CHUNK_ROWS, type ReadVector, readColumns, readFileMetadata } from '../../../src/parquet/reader.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import {
  bytesVector,
  field,
  HEADERS_FIELD,
  int64Vector,
  tableSchema,
  toVector,
  writeTable,
} from '../../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';

/** The values of a vector, as tests compare them. */
function valuesOf(vector: ReadVector): unknown[] {
  if (vector.kind === 'struct' || vector.kind === 'list' || vector.kind === 'map')
    throw new TypeError(`a vector of kind ${vector.kind}`);
  return Array.from({ length: vector.length }, (_, row) => {
    if (vector.kind === 'strings') return vector.values[row];
    if (vector.isNull(row)) return null;
    if (vector.kind === 'int64') return vector.getBigInt(row);
    if (vector.kind === 'bytes') return Buffer.from(vector.get(row)!).toString('hex');
    if (vector.kind === 'fixed')
      return Buffer.from(vector.data.subarray(row * vector.width, (row + 1) * vector.width)).toString('hex');
    return vector.kind === 'boolean' ? vector.values[row] === 1 : vector.values[row];
  });
}

async function readAll(io: MemoryFileIO, columns: Array<number | string>): Promise<unknown[][]> {
  const all: unknown[][] = columns.map(() => []);
  await readColumns(io, PATH, columns, ({ vectors, rowCount }) => {
    vectors.forEach((vector, i) => {
      expect(vector.length).toBe(rowCount);
      all[i].push(...valuesOf(vector));
    });
  });
  return all;
}

async function small(): Promise<MemoryFileIO> {
  const io = new MemoryFileIO();
  const schema = tableSchema([
    field(1, 'topic', 'string', true),
    field(2, 'p', 'int'),
    field(3, 'o', 'long'),
    field(4, 'b', 'binary'),
  ]);
  const vectors = [
    { kind: 'constant' as const, value: 'topic' },
    toVector('int', [1, null, 3, 4, 5]),
    int64Vector([1n, 2n, null, 4n, 2n ** 60n]),
    bytesVector([Uint8Array.of(0), null, new Uint8Array(0), Uint8Array.of(1, 2), Uint8Array.of(255)]),
  ];
  await writeTable(io, PATH, schema, vectors, 5, { flushEvery: 3, pageRows: 2 });
  return io;
}

describe('readColumns', () => {
  it('delivers columns by field id and by name, in the order asked for', async () => {
    const io = await small();
    expect(await readAll(io, [3, 'topic', 'p', 4])).toEqual([
      [1n, 2n, null, 4n, 2n ** 60n],
      ['topic', 'topic', 'topic', 'topic', 'topic'],
      [1, null, 3, 4, 5],
      ['00', null, '', '0102', 'ff'],
    ]);
  });

  it('hands out chunks of bounded length with the place of their first row', async () => {
    const io = new MemoryFileIO();
    const rows = CHUNK_ROWS * 2 + 10;
    const numbers = Array.from({ length: rows }, (_, i) => BigInt(i));
    await writeTable(io, PATH, tableSchema([field(1, 'o', 'long', true)]), [int64Vector(numbers)], rows, {
      flushEvery: CHUNK_ROWS + 5,
    });
    const chunks: Array<[number, number]> = [];
    let next = 0;
    const count = await readColumns(io, PATH, [1], ({ firstRow, rowCount, vectors }) => {
      chunks.push([firstRow, rowCount]);
      const column = vectors[0] as Int64Column;
      for (let i = 0; i < rowCount; i++) expect(column.getNumber(i)).toBe(next++);
    });
    expect(count).toBe(rows);
    expect(chunks).toEqual([
      [0, CHUNK_ROWS],
      [CHUNK_ROWS, 5],
      [CHUNK_ROWS + 5, CHUNK_ROWS],
      [2 * CHUNK_ROWS + 5, 5],
    ]);
  });

  it('waits for a receiver that is asynchronous, and passes its error on as it is', async () => {
    const io = await small();
    let running = 0;
    await readColumns(io, PATH, [3], async () => {
      expect(++running).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    });
    const own = new TypeError('mine');
    await expect(readColumns(io, PATH, [3], () => Promise.reject(own))).rejects.toBe(own);
  });

  it('never takes a missing column for nulls (case C25)', async () => {
    const io = await small();
    await expect(readAll(io, [99])).rejects.toMatchObject({
      code: 'DATA_FILE_INVALID',
      message: expect.stringContaining('o (3)'),
    });
    await expect(readAll(io, ['none'])).rejects.toMatchObject({ code: 'DATA_FILE_INVALID' });
  });

  it('refuses nested columns', async () => {
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([HEADERS_FIELD]), [{ kind: 'constant', value: null }], 1);
    await expect(readAll(io, [22])).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('tells a file that is not there', async () => {
    await expect(readAll(new MemoryFileIO(), [1])).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  });
});

describe('damaged files', () => {
  async function expectOwnError(bytes: Uint8Array): Promise<boolean> {
    const io = new MemoryFileIO();
    await io.createNew(PATH, bytes);
    try {
      await readAll(io, [1, 2, 3, 4]);
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(SluiceError);
      expect((error as SluiceError).code).toMatch(/^(DATA_FILE_INVALID|UNSUPPORTED)$/);
      expect((error as SluiceError).message).toContain(PATH);
      return true;
    }
  }

  it('cut anywhere are refused', async () => {
    const whole = await (await small()).read(PATH);
    for (let length = 0; length < whole.length; length++)
      expect(await expectOwnError(whole.subarray(0, length))).toBe(true);
  });

  it('with any byte changed give a clear error or other values, never another fault', async () => {
    const whole = await (await small()).read(PATH);
    let refused = 0;
    for (let at = 0; at < whole.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bytes = new Uint8Array(whole);
        bytes[at] ^= flip;
        if (await expectOwnError(bytes)) refused++;
      }
    }
    expect(refused).toBeGreaterThan(whole.length);
  }, 60_000);

  it('with any byte of a page changed are refused: pages have checksums', async () => {
    const io = new MemoryFileIO();
    const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
    const vectors = [bytesVector(texts), int64Vector(texts.map((_, i) => BigInt(i)))];
    await writeTable(io, PATH, tableSchema([field(1, 't', 'string'), field(2, 'n', 'long')]), vectors, 300, {
      codec: 'none',
    });
    const whole = await io.read(PATH);
    for (const { start, end } of (await readFileMetadata(io, PATH)).rowGroups[0].chunks) {
      // the first bytes are the header of the only page
      for (let at = start + 50; at < end; at += 13) {
        const bytes = new Uint8Array(whole);
        bytes[at] ^= 0x10;
        const damaged = new MemoryFileIO();
        await damaged.createNew(PATH, bytes);
        await expect(readAll(damaged, [1, 2])).rejects.toMatchObject({
          code: 'DATA_FILE_INVALID',
          message: expect.stringContaining('checksum'),
        });
      }
    }
  });

  it('that claim an absurd footer, or are encrypted, are refused', async () => {
    const bytes = Buffer.alloc(64, 'PAR1');
    bytes.writeUInt32LE(0xffff_ffff, 56);
    expect(await expectOwnError(bytes)).toBe(true);
    bytes.writeUInt32LE(40, 56);
    expect(await expectOwnError(bytes)).toBe(true);
    bytes.write('PARE', 60);
    expect(await expectOwnError(bytes)).toBe(true);
    expect(await expectOwnError(new Uint8Array(64))).toBe(true);
  });
});

describe('files of other writers', () => {
  let directory: string;
  let duckdb: DuckDBInstance;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-reader-'));
    duckdb = await DuckDBInstance.create(':memory:');
  });
  afterAll(async () => {
    duckdb.closeSync();
    await rm(directory, { recursive: true, force: true });
  });

  const query = `SELECT i::BIGINT AS long, CASE WHEN i % 7 = 0 THEN NULL ELSE (i * i % 1000)::INTEGER END AS int,
    'text ' || i % 10 AS text, ('x' || i)::BLOB AS blob, i % 3 = 0 AS flag, i / 4.0::DOUBLE AS dbl,
    make_timestamp(i * 1000003) AS ts, make_date(2020, 1, 1) + (i % 400)::INTEGER AS day FROM range(5000) t(i)`;

  async function write(options: string): Promise<MemoryFileIO> {
    const file = join(directory, 'foreign.parquet');
    const connection = await duckdb.connect();
    await connection.run(`COPY (${query}) TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 2048, ${options})`);
    connection.closeSync();
    const io = new MemoryFileIO();
    await io.createNew(PATH, await readFile(file));
    return io;
  }

  it.each([
    ['PARQUET_VERSION v1, CODEC zstd'],
    ['PARQUET_VERSION v1, CODEC snappy'],
    ['PARQUET_VERSION v1, CODEC gzip'],
    ['PARQUET_VERSION v1, CODEC lz4_raw'],
    ['PARQUET_VERSION v1, CODEC uncompressed, DICTIONARY_SIZE_LIMIT 1'],
    ['PARQUET_VERSION v2, CODEC zstd, DICTIONARY_SIZE_LIMIT 1'],
    ['PARQUET_VERSION v2, CODEC snappy, FIELD_IDS {long: 3, int: 4}'],
  ])('are read: %s', async (options) => {
    const io = await write(options);
    const metadata = await readFileMetadata(io, PATH);
    expect(metadata.hasFieldIds).toBe(options.includes('FIELD_IDS'));
    const deltas = metadata.rowGroups[0].chunks.some((chunk) => chunk.encodings.includes(5));
    expect(deltas).toBe(options.includes('v2'));
    const columns = ['long', 'int', 'text', 'blob', 'flag', 'dbl', 'ts', 'day'];
    const [long, int, text, blob, flag, dbl, ts, day] = await readAll(io, columns);
    for (let i = 0; i < 5000; i++) {
      if (i % 97 !== 0 && i > 100) continue;
      const row = [long[i], int[i], text[i], blob[i], flag[i], dbl[i], ts[i], day[i]];
      expect(row).toEqual([
        BigInt(i),
        i % 7 === 0 ? null : (i * i) % 1000,
        `text ${i % 10}`,
        Buffer.from(`x${i}`).toString('hex'),
        i % 3 === 0,
        i / 4,
        BigInt(i) * 1000003n,
        18262 + (i % 400),
      ]);
    }
    expect(long.length).toBe(5000);
    if (metadata.hasFieldIds) expect((await readAll(io, [4]))[0]).toEqual(int);
    else
      await expect(readAll(io, [3])).rejects.toMatchObject({
        message: expect.stringContaining('no field ids'),
      });
  });

  it('reads integers of files without nulls as whole columns', async () => {
    const io = await write('PARQUET_VERSION v1, CODEC zstd');
    await readColumns(io, PATH, ['int', 'long'], ({ vectors }) => {
      expect((vectors[0] as Int32Column).nullCount).toBeGreaterThan(0);
      expect((vectors[1] as Int64Column).nullCount).toBe(0);
    });
  });
});
