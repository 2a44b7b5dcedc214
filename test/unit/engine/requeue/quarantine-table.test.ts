/** A quarantine that the pipeline's own writer has written, read back: bytes, choice, counts. */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { RecordColumns } from '../../../../src/columns/record-columns.ts';
import type { DataFile } from '../../../../src/core/data-file.ts';
import { quarantineSchema } from '../../../../src/engine/bronze-layout.ts';
import { FileNaming } from '../../../../src/engine/local/data-file-series.ts';
import { QuarantineWriter } from '../../../../src/engine/local/quarantine-writer.ts';
import { RowBlock } from '../../../../src/engine/local/row-block.ts';
import { parseOffsetChoice } from '../../../../src/engine/requeue/offset-choice.ts';
import { summariseQuarantine } from '../../../../src/engine/requeue/quarantine-summary.ts';
import { QuarantineTable, type RecordFilter } from '../../../../src/engine/requeue/quarantine-table.ts';
import { requeuedNameOf } from '../../../../src/engine/requeue/requeued-layout.ts';
import { RequeuedTable } from '../../../../src/engine/requeue/requeued-table.ts';
import { type ShownRecord, showRecords } from '../../../../src/engine/requeue/shown-record.ts';
import { parseTableName } from '../../../../src/engine/target-tables.ts';
import type { Catalog } from '../../../../src/iceberg/catalog.ts';
import { commitBatch } from '../../../../src/iceberg/commit.ts';
import { buildPartitionSpec } from '../../../../src/iceberg/partition.ts';
import { readColumns } from '../../../../src/parquet/reader.ts';
import { MemoryFileIO } from '../../../../src/storage/memory-file-io.ts';
import { bronzeTarget, columnsOf, type TestRecord, topicTargets } from '../../../support/blocks.ts';
import {
  catalogServices,
  commitContext,
  openSqlite,
  TestCheckpoint,
  TestClock,
} from '../../../support/iceberg-fixture.ts';

const NAME = 'bronze.t__quarantine';
const NOW = Date.UTC(2026, 10, 29, 12);
const BAD = Uint8Array.of(0x61, 0xff, 0x00, 0xc3);

let io: MemoryFileIO;
let catalog: Catalog;
let clock: TestClock;
let writer: TestCheckpoint;
let batches: number;

beforeEach(async () => {
  io = new MemoryFileIO();
  clock = new TestClock();
  catalog = await openSqlite(':memory:', 'memory://w', catalogServices(io, clock));
  writer = new TestCheckpoint('pipeline');
  batches = 0;
  const schema = quarantineSchema();
  await catalog.createTable(parseTableName(NAME), {
    schema,
    partitionSpec: buildPartitionSpec(['days(quarantined_at)'], schema),
    properties: {},
    formatVersion: 2,
  });
});

/** Sets records of one partition aside as a batch does. */
async function setAside(
  records: TestRecord[],
  { limit = null as number | null, keepBytes = 1e6, partition = 0, at = NOW } = {},
): Promise<DataFile[]> {
  const targets = topicTargets(bronzeTarget({ maxRecordBytes: limit }), { checkUtf8HeaderKeys: true });
  const batchId = batches++;
  const aside = new QuarantineWriter(
    targets.quarantine,
    io,
    new FileNaming(batchId, 0, 0, 'w'),
    { batchId, batchTimestampMs: at, pipelineName: 'p' },
    { rowGroupBytes: 1e6, keepBytes },
  );
  const block = new RowBlock();
  block.load(targets, partition, columnsOf(records));
  for (const excluded of block.excluded) aside.append(block, excluded);
  const files = await aside.close();
  const loaded = await catalog.loadTable(parseTableName(NAME));
  const commit = writer.batch(batchId, loaded!.metadata.tableUuid, {
    identifier: parseTableName(NAME),
    files,
    recorded: async () => 'purged',
    lastRecorded: null,
  });
  await commitBatch(commitContext(catalog, io, clock), commit);
  return [...files];
}

async function shown(filter: RecordFilter = {}, limit = 100): Promise<ShownRecord[]> {
  const records: ShownRecord[] = [];
  const requeued = new RequeuedTable(catalog, io, requeuedNameOf(NAME));
  await requeued.refresh();
  const table = await QuarantineTable.open(catalog, io, NAME);
  await showRecords(table, requeued, filter, limit, (record) => void records.push(record));
  return records;
}

describe('a quarantine that is read back', () => {
  it('has every byte: null and empty, keys, headers, times before 1970', async () => {
    const headers = [
      ['a', Uint8Array.of(0xff, 0)],
      ['a', null],
      ['', new Uint8Array(0)],
    ] as const;
    await setAside([
      { offset: 1, ms: -5, key: BAD, value: BAD, headers },
      { offset: 2, ms: null, key: null, value: BAD, headers: null },
      { offset: 3, ms: 7, key: new Uint8Array(0), value: BAD },
    ]);
    const [one, two, three] = await shown();
    expect(one).toMatchObject({
      topic: 't',
      partition: 0,
      offset: 1n,
      timestampMicros: -5000n,
      reason: 'INVALID_UTF8',
    });
    expect(one).toMatchObject({
      field: 'value',
      pipeline: 'p',
      batchId: 0n,
      quarantinedAtMicros: BigInt(NOW) * 1000n,
    });
    expect([one.key, one.value]).toEqual([BAD, BAD]);
    expect(one.headers).toEqual(headers.map(([key, value]) => ({ key, value })));
    expect([two.key, two.timestampMicros, two.headers]).toEqual([null, null, null]);
    expect(three.key).toEqual(new Uint8Array(0));
  });

  it('gives records as Kafka brought them: their header blocks are the same bytes', async () => {
    const records: TestRecord[] = [
      {
        offset: 9,
        ms: 1000,
        key: 'k',
        value: BAD,
        headers: [
          ['x'.repeat(300), Uint8Array.of(1)],
          ['y', null],
        ],
      },
      { offset: 10, ms: null, key: null, value: BAD },
    ];
    await setAside(records);
    const expected = columnsOf(records);
    const found = new RecordColumns();
    const table = await QuarantineTable.open(catalog, io, NAME);
    await table.scan(
      ['key', 'value', 'headers', 'kafka_offset', 'kafka_timestamp'],
      {},
      async (stored, rows) => {
        for (const row of rows) stored.appendTo(found, row);
        return undefined;
      },
    );
    for (let row = 0; row < records.length; row++) {
      expect(found.headers.get(row)).toEqual(expected.headers.get(row));
      expect(found.keys.get(row)).toEqual(expected.keys.get(row));
      expect(found.offsets.getBigInt(row)).toBe(expected.offsets.getBigInt(row));
      expect(found.timestampsMs.isNull(row)).toBe(expected.timestampsMs.isNull(row));
    }
    expect(found.timestampsMs.getBigInt(0)).toBe(1000n);
  });

  it('knows a value that was cut from one that is whole', async () => {
    await setAside(
      [
        { offset: 1, ms: 0, value: 'x'.repeat(50) },
        { offset: 2, ms: 0, value: 'x'.repeat(200) },
        { offset: 3, ms: 0, key: 'k'.repeat(50), value: null },
      ],
      { limit: 20, keepBytes: 100 },
    );
    const records = await shown();
    expect(records.map((r) => [r.offset, r.whole, r.value?.length ?? null])).toEqual([
      [1n, true, 50],
      [2n, false, 100],
      [3n, true, null],
    ]);
    expect(records[1].message).toContain(createHash('sha256').update('x'.repeat(200)).digest('hex'));
  });

  it('is chosen from by reason, topic, time and place; files that cannot hold the record are not opened', async () => {
    await setAside([{ offset: 1, ms: 0, value: BAD }]);
    await setAside([{ offset: 500, ms: 0, value: BAD }], { partition: 3, at: NOW + 86_400_000 });
    await setAside([{ offset: 900, ms: 0, value: 'x'.repeat(50) }], { limit: 20 });
    const offsets = async (filter: RecordFilter) => (await shown(filter)).map((r) => r.offset);
    expect(await offsets({})).toHaveLength(3);
    expect(await offsets({ reason: 'TOO_LARGE' })).toEqual([900n]);
    expect(await offsets({ topic: 'u' })).toEqual([]);
    expect(await offsets({ sinceMs: NOW + 1 })).toEqual([500n]);
    expect(await offsets({ sinceMs: NOW, untilMs: NOW + 1, reason: 'INVALID_UTF8' })).toEqual([1n]);
    expect(await offsets({ offsets: [parseOffsetChoice('t/3/500')] })).toEqual([500n]);
    expect(
      await offsets({ offsets: [parseOffsetChoice('t/3/0-500'), parseOffsetChoice('t/0/0-901')] }),
    ).toEqual(expect.arrayContaining([1n, 900n]));
    expect(await shown({}, 2)).toHaveLength(2);
    const table = await QuarantineTable.open(catalog, io, NAME);
    const files: DataFile[] = [];
    for await (const file of table.files({ offsets: [parseOffsetChoice('t/3/500')] })) files.push(file);
    expect(files).toHaveLength(1);
  });

  it('is counted without opening files of which the metadata tells it all', async () => {
    const files = await setAside([
      { offset: 4, ms: 1000, value: BAD },
      { offset: 6, ms: 3000, value: BAD },
    ]);
    await setAside(
      [
        { offset: 7, ms: 500, value: BAD },
        { offset: 8, ms: 2000, value: 'x'.repeat(50) },
      ],
      { limit: 20 },
    );
    const summary = async () => {
      const requeued = new RequeuedTable(catalog, io, requeuedNameOf(NAME));
      await requeued.refresh();
      return summariseQuarantine(await QuarantineTable.open(catalog, io, NAME), requeued, {});
    };
    const read = await summary();
    expect(read.groups).toMatchObject([
      { reason: 'INVALID_UTF8', field: 'value', records: 3, firstMicros: 500_000n, lastMicros: 3_000_000n },
      { reason: 'TOO_LARGE', records: 1, example: { topic: 't', partition: 0, offset: 8n } },
    ]);
    // Gone, and not missed.
    await io.delete(files[0].filePath);
    expect(await summary()).toEqual(read);
  });

  it('hands out large values a few at a time', async () => {
    const value = Buffer.concat([Buffer.alloc(1024 * 1024, 1), BAD]);
    await setAside(Array.from({ length: 12 }, (_, n) => ({ offset: n, ms: 0, value })));
    const table = await QuarantineTable.open(catalog, io, NAME);
    const sizes: number[] = [];
    await table.scan(['value', 'headers'], {}, async (_records, rows) => {
      sizes.push(rows.length);
      return undefined;
    });
    expect(sizes.reduce((a, b) => a + b)).toBe(12);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  });

  it('reads a file of any chunk size to the same rows', async () => {
    const [file] = await setAside(Array.from({ length: 50 }, (_, n) => ({ offset: n, ms: n, value: BAD })));
    for (const chunkBytes of [1, 100, 1000, Number.POSITIVE_INFINITY]) {
      const offsets: number[] = [];
      await readColumns(
        io,
        file.filePath,
        ['kafka_offset', 'headers'],
        ({ vectors: [column], rowCount }) => {
          if (column.kind !== 'int64') throw new Error('unexpected kind');
          for (let row = 0; row < rowCount; row++) offsets.push(column.getNumber(row));
        },
        { chunkBytes },
      );
      expect(offsets).toEqual(Array.from({ length: 50 }, (_, n) => n));
    }
  });

  it('refuses what is no quarantine, and no place', async () => {
    await expect(QuarantineTable.open(catalog, io, 'bronze.none')).rejects.toMatchObject({
      code: 'TABLE_NOT_FOUND',
    });
    const schema = {
      type: 'struct',
      schemaId: 0,
      fields: [{ id: 1, name: 'a', required: false, type: 'int' }],
    } as const;
    await catalog.createTable(parseTableName('bronze.other'), {
      schema: { ...schema, fields: [...schema.fields] },
      partitionSpec: { specId: 0, fields: [] },
      properties: {},
      formatVersion: 2,
    });
    await expect(QuarantineTable.open(catalog, io, 'bronze.other')).rejects.toMatchObject({
      code: 'TABLE_INCOMPATIBLE',
    });
    expect(parseOffsetChoice('a.b-c/0/7')).toEqual({ topic: 'a.b-c', partition: 0, from: 7n, until: 8n });
    expect(parseOffsetChoice('t/2/7-9')).toEqual({ topic: 't', partition: 2, from: 7n, until: 9n });
    for (const text of [
      't',
      't/0',
      't/0/x',
      't/0/9-9',
      't/0/9-3',
      '/0/1',
      't/0/99999999999999999999',
      't/-1/0',
    ])
      expect(() => parseOffsetChoice(text)).toThrow('USAGE');
  });
});
