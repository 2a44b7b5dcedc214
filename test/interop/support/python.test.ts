import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  catalogInfo,
  FOREIGN_ENGINES,
  type ForeignTable,
  readForeign,
  writeForeign,
} from '../../support/python.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-python-'));
const at: ForeignTable = {
  catalog: join(directory, 'catalog.db'),
  warehouse: directory,
  table: 'bronze.of_pyiceberg',
};

beforeAll(async () => {
  await writeForeign(at, { rows: 130, topic: 'orders' });
  await writeForeign(at, { rows: 3, firstOffset: 130, topic: 'orders' });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('foreign readers', () => {
  it.each(FOREIGN_ENGINES)('%s reads what PyIceberg wrote', async (engine) => {
    const reading = await readForeign(at, { engine });
    expect(reading.rowCount).toBe(133);
    expect(reading.rows.map((row) => row['kafka_offset'])).toEqual(
      Array.from({ length: 133 }, (_, offset) => offset),
    );
    expect(reading.rows[0]).toEqual({
      value: '{"n":0}',
      key: null,
      topic: 'orders',
      kafka_partition: 0,
      kafka_offset: 0,
      kafka_timestamp: 1_767_225_600_000_000,
      ingested_at: 1_767_225_600_000_000,
      dt: '2026-01-01',
      hour: 0,
    });
    expect(reading.rows[121]).toMatchObject({ key: Buffer.from('k2').toString('hex'), hour: 2 });
    expect(reading.schema.map(({ id, name, required }) => [id, name, required])).toEqual([
      [1, 'value', false],
      [2, 'key', false],
      [3, 'topic', true],
      [4, 'kafka_partition', true],
      [5, 'kafka_offset', true],
      [6, 'kafka_timestamp', false],
      [7, 'ingested_at', true],
      [8, 'dt', false],
      [9, 'hour', false],
    ]);
    expect(reading.partitions.map(({ partition, records }) => [partition['hour'], records])).toEqual([
      [0, 60],
      [1, 60],
      [2, 13],
    ]);
    expect(reading.snapshots.map(({ summary }) => [summary['operation'], summary['added-records']])).toEqual([
      ['append', '130'],
      ['append', '3'],
    ]);
    expect(reading.currentSnapshotId).toBe(reading.snapshots[1].id);
  });

  it('read a snapshot, a filter, some columns', async () => {
    const { snapshots } = await readForeign(at, { rows: false });
    expect(await readForeign(at, { snapshotId: snapshots[0].id, rows: false })).toMatchObject({
      rowCount: 130,
      rows: [],
    });
    const filtered = await readForeign(at, { filter: 'kafka_offset >= 131', columns: ['kafka_offset'] });
    expect(filtered.rows).toEqual([{ kafka_offset: 131 }, { kafka_offset: 132 }]);
    expect(filtered.files).toHaveLength(1);
  });

  it('see the catalog', async () => {
    const info = await catalogInfo(at);
    expect(info.namespaces).toEqual([{ name: 'bronze', properties: { exists: 'true' } }]);
    expect(info.tables.map(({ name }) => name)).toEqual(['bronze.of_pyiceberg']);
    expect(info.icebergTables[0]).toMatchObject({
      catalog_name: 'sluice',
      table_namespace: 'bronze',
      table_name: 'of_pyiceberg',
    });
    expect(await catalogInfo({ ...at, catalogName: 'another' })).toMatchObject({
      namespaces: [],
      tables: [],
    });
  });

  it('say what went wrong', async () => {
    await expect(readForeign({ ...at, table: 'bronze.absent' })).rejects.toThrow(
      /read_table\.py .*failed: [\s\S]*NoSuchTableError/,
    );
  });
});
