import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BytesColumn } from '../../../src/columns/bytes-column.ts';
import type { IcebergType } from '../../../src/core/schema.ts';
import { SluiceError } from '../../../src/errors.ts';
import { COMPRESSION, ENCODING } from '../../../src/parquet/format.ts';
import { NestedSink } from '../../../src/parquet/nested-reader.ts';
import { encodeDataPageHeader } from '../../../src/parquet/page-header.ts';
import {
  NESTED_CHUNK_ROWS,
  type ReadVector,
  readColumns,
  readFileMetadata,
} from '../../../src/parquet/reader.ts';
import { bitWidthOf, RunLengthEncoder } from '../../../src/parquet/run-length-encoder.ts';
import { ThriftWriter } from '../../../src/parquet/thrift-writer.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { type NestedValue, readValue, showNested, toNestedVector } from '../../support/nested-table.ts';
import {
  field,
  HEADERS_FIELD,
  headerBlock,
  int64Vector,
  tableSchema,
  writeTable,
} from '../../support/parquet-table.ts';

const PATH = 'memory://t/data.parquet';

async function readAll(
  io: MemoryFileIO,
  columns: Array<[number | string, IcebergType]>,
): Promise<{ values: string[][]; chunks: Array<[number, number]> }> {
  const values: string[][] = columns.map(() => []);
  const chunks: Array<[number, number]> = [];
  const wanted = columns.map(([column]) => column);
  await readColumns(io, PATH, wanted, ({ vectors, rowCount, firstRow }) => {
    chunks.push([firstRow, rowCount]);
    vectors.forEach((vector, c) => {
      for (let row = 0; row < rowCount; row++)
        values[c].push(showNested(readValue(vector, row, columns[c][1])));
    });
  });
  return { values, chunks };
}

/** list<struct<x int, m map<string, long>>> beside a struct and a flat column. */
const LIST: IcebergType = {
  type: 'list',
  elementId: 2,
  elementRequired: false,
  element: {
    type: 'struct',
    fields: [
      field(3, 'x', 'int'),
      field(4, 'm', {
        type: 'map',
        keyId: 5,
        key: 'string',
        valueId: 6,
        value: 'long',
        valueRequired: false,
      }),
    ],
  },
};
const STRUCT: IcebergType = {
  type: 'struct',
  fields: [field(8, 'a', 'string', true), field(9, 'b', 'binary')],
};

function rowsOf(count: number): Array<[NestedValue, NestedValue]> {
  return Array.from({ length: count }, (_, i) => {
    const elements = Array.from({ length: i % 4 }, (_, j): NestedValue => {
      if (j === 2) return null;
      const entries: Array<[string, bigint | null]> = [
        [`k${i}`, BigInt(i)],
        ['none', null],
      ];
      return {
        struct: { x: j === 1 ? null : i, m: i % 3 === 0 ? null : { entries: entries.slice(0, i % 3) } },
      };
    });
    const struct = { struct: { a: `a${i}`, b: i % 2 === 0 ? null : Uint8Array.of(i & 0xff) } };
    return [i % 5 === 4 ? null : elements, i % 7 === 3 ? null : struct];
  });
}

async function file(count: number): Promise<{ io: MemoryFileIO; rows: Array<[NestedValue, NestedValue]> }> {
  const io = new MemoryFileIO();
  const rows = rowsOf(count);
  const schema = tableSchema([field(1, 'l', LIST), field(7, 's', STRUCT), field(10, 'n', 'long', true)]);
  const vectors = [
    toNestedVector(
      LIST,
      rows.map(([l]) => l),
    ),
    toNestedVector(
      STRUCT,
      rows.map(([, s]) => s),
    ),
    int64Vector(rows.map((_, i) => BigInt(i))),
  ];
  await writeTable(io, PATH, schema, vectors, count, { flushEvery: Math.ceil(count * 0.6), pageRows: 9 });
  return { io, rows };
}

describe('nested columns', () => {
  it('are read by field id and by name, beside others', async () => {
    const { io, rows } = await file(40);
    const { values } = await readAll(io, [
      ['s', STRUCT],
      [10, 'long'],
      [1, LIST],
    ]);
    expect(values).toEqual([
      rows.map(([, s]) => showNested(s)),
      rows.map((_, i) => String(i)),
      rows.map(([l]) => showNested(l)),
    ]);
  });

  it('come in smaller chunks', async () => {
    const { io, rows } = await file(10_000);
    const { values, chunks } = await readAll(io, [
      [7, STRUCT],
      [10, 'long'],
    ]);
    expect(values[0]).toEqual(rows.map(([, s]) => showNested(s)));
    expect(values[1]).toEqual(rows.map((_, i) => String(i)));
    expect(chunks).toEqual([
      [0, NESTED_CHUNK_ROWS],
      [4096, 1904],
      [6000, 4000],
    ]);
  });

  it('of Kafka headers: what was null, empty or without a value', async () => {
    const raw = new BytesColumn();
    raw.appendBytes(
      headerBlock([
        { key: 'trace', value: 'abc' },
        { key: 'trace', value: null },
        { key: '', value: '' },
      ]),
    );
    raw.appendNull();
    raw.appendBytes(headerBlock([]));
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([HEADERS_FIELD]), [{ kind: 'headers', raw }], 3);
    const { values } = await readAll(io, [['headers', HEADERS_FIELD.type]]);
    expect(values[0]).toEqual([
      '[{key: "trace", value: x616263}, {key: "trace", value: null}, {key: "", value: x}]',
      'null',
      '[]',
    ]);
  });

  it('cannot be asked for in part', async () => {
    const { io } = await file(3);
    await expect(readAll(io, [[3, 'int']])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('l.list.element.x is inside another'),
    });
    await expect(readAll(io, [['x', 'int']])).rejects.toMatchObject({ code: 'DATA_FILE_INVALID' });
  });
});

describe('damaged files of nested columns', () => {
  it('with any byte changed give a clear error or other values, never another fault', async () => {
    const whole = await (await file(12)).io.read(PATH);
    let refused = 0;
    for (let at = 0; at < whole.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bytes = new Uint8Array(whole);
        bytes[at] ^= flip;
        const io = new MemoryFileIO();
        await io.createNew(PATH, bytes);
        try {
          await readColumns(io, PATH, [1, 7, 10], () => undefined);
        } catch (error) {
          refused++;
          expect(error).toBeInstanceOf(SluiceError);
          expect((error as SluiceError).code).toMatch(/^(DATA_FILE_INVALID|UNSUPPORTED)$/);
        }
      }
    }
    expect(refused).toBeGreaterThan(whole.length);
  }, 60_000);
});

/** A chunk of one page, with levels that no writer would make; values are the ints 0, 1, 2, ... */
function chunk(max: readonly [number, number], levels: ReadonlyArray<readonly [number, number]>): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const which of [0, 1]) {
    const encoder = new RunLengthEncoder(bitWidthOf(max[which]));
    for (const entry of levels) encoder.append(entry[which], 1);
    const runs = encoder.finish();
    const length = Buffer.alloc(4);
    length.writeUInt32LE(runs.length);
    parts.push(length, runs.slice());
  }
  const values = levels.filter(([, definition]) => definition === max[1]).length;
  parts.push(new Uint8Array(Int32Array.from({ length: values }, (_, i) => i).buffer));
  const page = Buffer.concat(parts);
  const entries = levels.length;
  const encoding = ENCODING.PLAIN;
  return Buffer.concat([
    encodeDataPageHeader(new ThriftWriter(), { rawBytes: page.length, compressed: page, entries, encoding }),
    page,
  ]);
}

describe('levels that contradict each other', () => {
  async function readRows(
    type: IcebergType,
    chunks: readonly Uint8Array[],
    rows: number,
  ): Promise<ReadVector> {
    const io = new MemoryFileIO();
    await writeTable(io, PATH, tableSchema([field(1, 'c', type)]), [{ kind: 'constant', value: null }], 1);
    const { columns, fields } = await readFileMetadata(io, PATH);
    const sink = new NestedSink(fields[0], columns);
    const place = {
      codec: COMPRESSION.none,
      encodings: [],
      valueCount: 0,
      uncompressedBytes: 0,
      start: 0,
      end: 0,
    };
    sink.open(
      chunks.map(() => place),
      chunks,
    );
    sink.read(rows);
    return sink.vector;
  }
  const ints: IcebergType = { type: 'list', elementId: 2, element: 'int', elementRequired: false };
  const read = (levels: ReadonlyArray<readonly [number, number]>, rows: number) =>
    readRows(ints, [chunk([1, 3], levels)], rows);

  it('are refused; sound ones are read', async () => {
    const sound = await read(
      [
        [0, 3],
        [1, 2],
        [0, 0],
        [0, 1],
      ],
      3,
    );
    expect([0, 1, 2].map((row) => showNested(readValue(sound, row, ints)))).toEqual([
      '[0, null]',
      'null',
      '[]',
    ]);
    const wrong: Array<[ReadonlyArray<readonly [number, number]>, number, RegExp]> = [
      [[[1, 3]], 1, /begins within a row/],
      [
        [
          [0, 0],
          [1, 3],
        ],
        1,
        /a list that is null or empty/,
      ],
      [
        [
          [0, 1],
          [1, 3],
        ],
        1,
        /a list that is null or empty/,
      ],
      [
        [
          [0, 3],
          [1, 3],
        ],
        2,
        /end before the rows/,
      ],
    ];
    for (const [levels, rows, message] of wrong) await expect(read(levels, rows)).rejects.toThrow(message);
  });

  it('of the two leaves of a map are refused', async () => {
    const map: IcebergType = {
      type: 'map',
      keyId: 2,
      key: 'int',
      valueId: 3,
      value: 'int',
      valueRequired: true,
    };
    const two = chunk(
      [1, 2],
      [
        [0, 2],
        [1, 2],
      ],
    );
    const read2 = await readRows(map, [two, two], 1);
    expect(showNested(readValue(read2, 0, map))).toBe('<0 = 0, 1 = 1>');
    await expect(readRows(map, [two, chunk([1, 2], [[0, 2]])], 1)).rejects.toThrow(
      /1 places where there are 2/,
    );
    await expect(readRows(map, [two, chunk([1, 2], [[0, 3]])], 1)).rejects.toThrow(/a level of 3/);
  });
});

describe('nested columns of other writers', () => {
  let directory: string;
  let duckdb: DuckDBInstance;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-nested-reader-'));
    duckdb = await DuckDBInstance.create(':memory:');
  });
  afterAll(async () => {
    duckdb.closeSync();
    await rm(directory, { recursive: true, force: true });
  });

  async function write(options: string): Promise<MemoryFileIO> {
    const path = join(directory, 'foreign.parquet');
    const connection = await duckdb.connect();
    const query = `SELECT CASE WHEN i % 5 = 0 THEN NULL ELSE [{'k': 'text ' || j, 'v': j} FOR j IN range(i % 4)] END AS l,
      MAP {'a' || i: i % 2 = 0} AS m FROM range(3000) t(i)`;
    await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048, ${options})`);
    connection.closeSync();
    const io = new MemoryFileIO();
    await io.createNew(PATH, await readFile(path));
    return io;
  }
  const list: IcebergType = {
    type: 'list',
    elementId: 1,
    elementRequired: false,
    element: { type: 'struct', fields: [field(2, 'k', 'string'), field(3, 'v', 'long')] },
  };
  const map: IcebergType = {
    type: 'map',
    keyId: 1,
    key: 'string',
    valueId: 2,
    value: 'boolean',
    valueRequired: false,
  };

  it('are read', async () => {
    const io = await write('PARQUET_VERSION v1, CODEC snappy');
    const { values } = await readAll(io, [
      ['l', list],
      ['m', map],
    ]);
    for (const i of [0, 1, 4, 7, 2999]) {
      const elements = Array.from({ length: i % 4 }, (_, j) => `{k: "text ${j}", v: ${j}}`);
      expect([values[0][i], values[1][i]]).toEqual([
        i % 5 === 0 ? 'null' : `[${elements.join(', ')}]`,
        `<"a${i}" = ${i % 2 === 0}>`,
      ]);
    }
    expect(values.map((column) => column.length)).toEqual([3000, 3000]);
  });

  it('in an encoding that is not read are refused', async () => {
    const io = await write('PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1');
    await expect(readAll(io, [['l', list]])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('column l is nested, in an encoding'),
    });
  });
});
