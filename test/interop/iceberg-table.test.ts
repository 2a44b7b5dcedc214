import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warehouseLocation } from '../../src/catalog/open-catalog.ts';
import type { SqliteCatalog } from '../../src/catalog/sqlite-catalog.ts';
import type { DataFile, PartitionValue } from '../../src/core/data-file.ts';
import type { Schema } from '../../src/core/schema.ts';
import type { LoadedTable, TableIdentifier } from '../../src/iceberg/catalog.ts';
import { commitBatch } from '../../src/iceberg/commit.ts';
import { ancestorsOf, currentSchema, defaultSpec, snapshotOfRef } from '../../src/iceberg/metadata.ts';
import {
  bindPartitionSpec,
  buildPartitionSpec,
  partitionFunctions,
  partitionPath,
} from '../../src/iceberg/partition.ts';
import { listLiveFiles } from '../../src/iceberg/scan.ts';
import { dataDirectory } from '../../src/iceberg/table-files.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../src/parquet/options.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import { joinPath } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import {
  catalogServices,
  commitContext,
  openSqlite,
  TestCheckpoint,
  TestClock,
} from '../support/iceberg-fixture.ts';
import { type TableValue, toVector } from '../support/parquet-table.ts';
import { catalogInfo, type ForeignTable, readForeign, writeForeign } from '../support/python.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-tables-'));
const io = new LocalFileIO();
const clock = new TestClock();
const place = { catalog: join(directory, 'catalog.db'), warehouse: join(directory, 'ware house') };
let catalog: SqliteCatalog;
let fileNumber = 0;

beforeAll(async () => {
  catalog = await openSqlite(
    place.catalog,
    warehouseLocation(place.warehouse),
    catalogServices(io, clock, 'interop'),
  );
});
afterAll(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

const at = (table: string): ForeignTable => ({ ...place, table });
const named = (name: string): TableIdentifier => ({ namespace: ['bronze'], name });
const load = async (name: string): Promise<LoadedTable> => (await catalog.loadTable(named(name)))!;

/** Writes one Parquet file per partition of the rows, which are in the order of the schema's columns. */
async function writeFiles(table: LoadedTable, rows: readonly (readonly TableValue[])[]): Promise<DataFile[]> {
  const { metadata } = table;
  const schema = currentSchema(metadata);
  const spec = defaultSpec(metadata);
  const bound = bindPartitionSpec(spec, [schema]);
  const functions = partitionFunctions(bound);
  const groups = new Map<string, { partition: PartitionValue[]; rows: (readonly TableValue[])[] }>();
  for (const row of rows) {
    const partition = spec.fields.map((f, i) =>
      functions[i](row[schema.fields.findIndex((c) => c.id === f.sourceId)]),
    );
    const path = partitionPath(bound, partition);
    if (!groups.has(path)) groups.set(path, { partition, rows: [] });
    groups.get(path)!.rows.push(row);
  }
  const files: DataFile[] = [];
  for (const [path, group] of groups) {
    const output = await io.create(joinPath(dataDirectory(metadata), path, `file-${fileNumber++}.parquet`));
    const writer = new ParquetWriter(output, schema, DEFAULT_PARQUET_OPTIONS);
    const vectors = schema.fields.map((f, i) =>
      toVector(
        f.type as never,
        group.rows.map((r) => r[i]),
      ),
    );
    writer.append(vectors, 0, group.rows.length);
    const metrics = await writer.close();
    files.push({
      ...metrics,
      content: 0,
      filePath: output.path,
      fileFormat: 'PARQUET',
      partition: group.partition,
      specId: spec.specId,
    });
  }
  return files;
}

async function append(
  name: string,
  checkpoint: TestCheckpoint,
  batchId: number,
  rows: readonly (readonly TableValue[])[],
): Promise<bigint> {
  const table = await load(name);
  const batch = checkpoint.batch(batchId, table.metadata.tableUuid, {
    identifier: named(name),
    files: await writeFiles(table, rows),
  });
  const result = await commitBatch(commitContext(catalog, io, clock), batch);
  checkpoint.record(batch, result);
  return result.snapshotId;
}

const field = (
  id: number,
  name: string,
  type: Schema['fields'][number]['type'],
  required = false,
): Schema['fields'][number] => ({ id, name, required, type });

const BRONZE: Schema = {
  type: 'struct',
  schemaId: 0,
  fields: [
    field(1, 'value', 'string'),
    field(2, 'key', 'binary'),
    field(3, 'topic', 'string', true),
    field(4, 'kafka_partition', 'int', true),
    field(5, 'kafka_offset', 'long', true),
    field(6, 'kafka_timestamp', 'timestamptz'),
    field(7, 'ingested_at', 'timestamptz', true),
    field(8, 'dt', 'string'),
    field(9, 'hour', 'int'),
  ],
};
const row = (offset: number, hour: number | null, key: Uint8Array | null = null): TableValue[] => {
  const time = 1_767_225_600_000_000n + BigInt(hour ?? 0) * 3_600_000_000n;
  return [
    `{"n":${offset}} é`,
    key,
    'orders',
    0,
    BigInt(offset),
    hour === null ? null : time,
    time,
    hour === null ? null : '2026-01-01',
    hour,
  ];
};

describe('a table of ours, read by PyIceberg', () => {
  it('v2: rows, schema, partitions, snapshots, summaries, metrics', async () => {
    await catalog.createTable(named('plain'), {
      schema: BRONZE,
      partitionSpec: buildPartitionSpec(['dt', 'hour'], BRONZE),
      properties: {},
      formatVersion: 2,
    });
    expect((await readForeign(at('bronze.plain'))).rowCount).toBe(0);
    const checkpoint = new TestCheckpoint('p1');
    const first = await append('plain', checkpoint, 0, [
      row(0, 0),
      row(1, 1, Uint8Array.of(0, 255)),
      row(2, null),
    ]);
    const second = await append('plain', checkpoint, 1, [row(3, 1)]);
    const reading = await readForeign(at('bronze.plain'));
    expect(reading.rows.map((r) => r['kafka_offset'])).toEqual([0, 1, 2, 3]);
    expect(reading.rows[1]).toMatchObject({
      value: '{"n":1} é',
      key: '00ff',
      dt: '2026-01-01',
      hour: 1,
      kafka_timestamp: 1_767_229_200_000_000,
    });
    expect(reading.rows[2]).toMatchObject({ key: null, kafka_timestamp: null, dt: null, hour: null });
    expect(reading.formatVersion).toBe(2);
    expect(reading.schema.map((c) => [c.id, c.name, c.type, c.required])).toEqual(
      BRONZE.fields.map((f) => [f.id, f.name, f.type, f.required]),
    );
    expect(reading.partitionSpec).toEqual([
      { fieldId: 1000, sourceId: 8, name: 'dt', transform: 'identity' },
      { fieldId: 1001, sourceId: 9, name: 'hour', transform: 'identity' },
    ]);
    expect(BigInt(reading.currentSnapshotId!)).toBe(second);
    expect(reading.snapshots.map((s) => [BigInt(s.id), s.sequenceNumber])).toEqual([
      [first, 1],
      [second, 2],
    ]);
    expect(reading.snapshots[1].summary).toMatchObject({
      operation: 'append',
      'added-records': '1',
      'total-records': '4',
      'total-data-files': '4',
      'changed-partition-count': '1',
      'sluice.batch-id': '1',
    });
    expect(reading.files).toHaveLength(4);
    const withKey = reading.files.find((f) => f.lowerBounds['2'] === '00ff')!;
    expect(withKey).toMatchObject({
      records: 1,
      nullCounts: { '2': 0 },
      partition: { dt: '2026-01-01', hour: 1 },
    });
    // PyIceberg prunes by our partition summaries and bounds.
    const pruned = await readForeign(at('bronze.plain'), { filter: "dt == '2026-01-01' and hour == 1" });
    expect(pruned.files).toHaveLength(2);
    expect((await readForeign(at('bronze.plain'), { filter: 'kafka_offset == 3' })).files).toHaveLength(1);
    const old = await readForeign(at('bronze.plain'), { snapshotId: first });
    expect(old.rows.map((r) => r['kafka_offset'])).toEqual([0, 1, 2]);
    for (const engine of ['duckdb', 'pyarrow'] as const) {
      expect((await readForeign(at('bronze.plain'), { engine })).rows.map((r) => r['value'])).toEqual(
        reading.rows.map((r) => r['value']),
      );
    }
  });

  it('the catalog file: tables, namespaces, the same rows for both', async () => {
    const info = await catalogInfo(place);
    expect(info.namespaces.map((n) => n.name)).toContain('bronze');
    expect(info.tables.find((t) => t.name === 'bronze.plain')?.metadataLocation).toMatch(
      /^file:\/\/\/.*ware house\/bronze\/plain\/metadata\/00002-[0-9a-f-]{36}\.metadata\.json$/,
    );
    expect(info.icebergTables.find((t) => t['table_name'] === 'plain')).toMatchObject({
      catalog_name: 'sluice',
      table_namespace: 'bronze',
    });
    expect(info.icebergNamespaceProperties).toContainEqual(
      expect.objectContaining({ namespace: 'bronze', property_key: 'exists', property_value: 'true' }),
    );
  });

  it('every transform and every partition type, with nulls and values that paths must escape', async () => {
    const schema: Schema = {
      type: 'struct',
      schemaId: 0,
      fields: [
        field(1, 'id', 'long', true),
        field(2, 'ts', 'timestamptz'),
        field(3, 'plain_ts', 'timestamp'),
        field(4, 'day', 'date'),
        field(5, 'name', 'string'),
        field(6, 'raw', 'binary'),
        field(7, 'price', 'decimal(9, 2)'),
        field(8, 'flag', 'boolean'),
        field(9, 'ratio', 'double'),
        field(10, 'uid', 'uuid'),
      ],
    };
    const spec = buildPartitionSpec(
      [
        'hours(ts)',
        'days(plain_ts)',
        'months(day)',
        'years(ts)',
        'day',
        'name',
        'truncate(2, name)',
        'bucket(16, price)',
        'price',
        'flag',
        'bucket(8, uid)',
        'bucket(4, raw)',
        'truncate(10, id)',
        'ts',
        'ratio',
      ],
      schema,
    );
    await catalog.createTable(named('parts'), {
      schema,
      partitionSpec: spec,
      properties: {},
      formatVersion: 2,
    });
    const rows: TableValue[][] = [
      [
        1n,
        -1n,
        -1n,
        -1,
        'a/b=c d%é',
        Uint8Array.of(0, 1, 2, 3),
        1420n,
        true,
        0.5,
        new Uint8Array(16).fill(0xf7),
      ],
      [-7n, 1_700_000_000_000_001n, 0n, 20_000, '', Uint8Array.of(), -1n, false, -0, new Uint8Array(16)],
      [99n, null, null, null, null, null, null, null, null, null],
      [
        2n ** 62n,
        0n,
        -86_400_000_000n,
        0,
        '\u{1f600}\u{1f600}\u{1f600}',
        Uint8Array.of(255),
        -128n,
        null,
        1e300,
        null,
      ],
    ];
    await append('parts', new TestCheckpoint('p1'), 0, rows);
    const reading = await readForeign(at('bronze.parts'));
    expect(reading.rowCount).toBe(4);
    const byId = new Map(reading.rows.map((r) => [BigInt(r['id'] as number), r]));
    expect(byId.get(1n)).toMatchObject({ name: 'a/b=c d%é', raw: '00010203' });
    expect(byId.get(99n)).toMatchObject({ ts: null, name: null, price: null });
    const file = (id: bigint): Record<string, unknown> =>
      reading.files.find(
        (f) => f.lowerBounds['1'] === Buffer.from(BigInt64Array.of(id).buffer).toString('hex'),
      )!.partition;
    expect(file(1n)).toMatchObject({
      ts_hour: -1,
      plain_ts_day: -1,
      day_month: -1,
      ts_year: -1,
      day: -1,
      name: 'a/b=c d%é',
      name_trunc: 'a/',
      price_bucket: 3,
      flag: true,
      id_trunc: 0,
    });
    expect(file(-7n)).toMatchObject({ id_trunc: -10, price_bucket: 13, name: '', name_trunc: '' });
    expect(Object.values(file(99n)).filter((v) => v !== null)).toEqual([90]);
    expect(file(2n ** 62n)).toMatchObject({ name_trunc: '\u{1f600}\u{1f600}', plain_ts_day: -1, ts_hour: 0 });
    // PyIceberg computes the partitions of its filters itself: where it and we disagreed, the row would be pruned away.
    for (const filter of [
      "name == 'a/b=c d%é'",
      'id == -7',
      "price == '14.20'",
      "ts == '1969-12-31T23:59:59.999999+00:00'",
      "day == '1969-12-31'",
      'flag == false',
      'ratio == 0.5',
    ]) {
      expect((await readForeign(at('bronze.parts'), { filter })).rowCount, filter).toBe(1);
    }
    const { metadata } = await load('parts');
    const ours = await listLiveFiles(io, metadata, snapshotOfRef(metadata, 'main')!);
    expect(ours.dataFiles.map((f) => f.file.partition.length)).toEqual([15, 15, 15, 15]);
  });

  it('v3: read by another engine where it can, and row ids that do not overlap', async () => {
    await catalog.createTable(named('third'), {
      schema: BRONZE,
      partitionSpec: buildPartitionSpec(['dt'], BRONZE),
      properties: {},
      formatVersion: 3,
    });
    const checkpoint = new TestCheckpoint('p1');
    for (let n = 0; n < 3; n++) await append('third', checkpoint, n, [row(n * 2, 0), row(n * 2 + 1, 0)]);
    const { metadata } = await load('third');
    expect(metadata.nextRowId).toBe(6n);
    const live = await listLiveFiles(io, metadata, snapshotOfRef(metadata, 'main')!);
    expect(live.dataFiles.map((f) => f.file.firstRowId).sort()).toEqual([0n, 2n, 4n]);
    const reading = await readForeign(at('bronze.third'));
    expect(reading.rows.map((r) => r['kafka_offset'])).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('after manifests were merged and snapshots expired', async () => {
    await catalog.createTable(named('merged'), {
      schema: BRONZE,
      partitionSpec: buildPartitionSpec(['dt', 'hour'], BRONZE),
      properties: { 'commit.manifest.min-count-to-merge': '3', 'write.metadata.previous-versions-max': '2' },
      formatVersion: 2,
    });
    const checkpoint = new TestCheckpoint('p1');
    const context = commitContext(catalog, io, clock, {
      expireSnapshots: { minSnapshotsToKeep: 2, maxAgeMs: 0 },
    });
    for (let n = 0; n < 8; n++) {
      const table = await load('merged');
      clock.nowMs += 60_000;
      const batch = checkpoint.batch(n, table.metadata.tableUuid, {
        identifier: named('merged'),
        files: await writeFiles(table, [row(n, n % 3)]),
      });
      checkpoint.record(batch, await commitBatch(context, batch));
    }
    const reading = await readForeign(at('bronze.merged'));
    expect(reading.rows.map((r) => r['kafka_offset'])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(reading.snapshots).toHaveLength(2);
    const files: string[] = [];
    for await (const entry of io.list(joinPath(warehouseLocation(place.warehouse), 'bronze/merged/metadata')))
      files.push(entry.path);
    // Two lists, three metadata files, and no manifest that nothing names.
    expect(files.filter((f) => f.includes('/snap-'))).toHaveLength(2);
    expect(files.filter((f) => f.endsWith('.metadata.json'))).toHaveLength(3);
    expect(files.length).toBeLessThanOrEqual(2 + 3 + 4);
  });
});

describe('a table of PyIceberg', () => {
  it.each([1, 2] as const)('format version %i: loaded and listed by us', async (formatVersion) => {
    const name = `theirs_v${formatVersion}`;
    await writeForeign(at(`bronze.${name}`), { rows: 130, formatVersion });
    await writeForeign(at(`bronze.${name}`), { rows: 5, firstOffset: 130 });
    const { metadata } = await load(name);
    expect(metadata.formatVersion).toBe(formatVersion);
    const live = await listLiveFiles(io, metadata, snapshotOfRef(metadata, 'main')!);
    const theirs = await readForeign(at(`bronze.${name}`));
    expect(live.dataFiles.map((f) => f.file.filePath).sort()).toEqual(theirs.files.map((f) => f.path).sort());
    for (const { file } of live.dataFiles) {
      const same = theirs.files.find((f) => f.path === file.filePath)!;
      expect(file.recordCount).toBe(BigInt(same.records));
      expect(file.partition).toEqual([same.partition['dt'], same.partition['hour']]);
      expect(
        Object.fromEntries([...file.lowerBounds].map(([id, b]) => [id, Buffer.from(b).toString('hex')])),
      ).toEqual(same.lowerBounds);
      expect(Object.fromEntries([...file.valueCounts].map(([id, c]) => [id, Number(c)]))).toEqual(
        same.valueCounts,
      );
    }
    expect(
      live.dataFiles.every((f) => f.sequenceNumber === (formatVersion === 1 ? 0n : f.fileSequenceNumber)),
    ).toBe(true);
  });

  it('appended to by us and by PyIceberg in turn, manifests merged over both', async () => {
    await writeForeign(at('bronze.shared'), {
      rows: 10,
      topic: 'orders',
      properties: { 'commit.manifest.min-count-to-merge': '4' },
    });
    const checkpoint = new TestCheckpoint('p1');
    for (let n = 0; n < 4; n++) {
      await append('shared', checkpoint, n, [row(100 + n, 0)]);
      clock.nowMs = Date.now();
      await writeForeign(at('bronze.shared'), { rows: 1, firstOffset: 10 + n, topic: 'orders' });
    }
    const reading = await readForeign(at('bronze.shared'));
    expect(reading.rows.map((r) => r['kafka_offset'])).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 100, 101, 102, 103,
    ]);
    expect(reading.snapshots.map((s) => s.sequenceNumber)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(reading.snapshots.at(-1)!.summary['total-records']).toBe('18');
    // What PyIceberg wrote on top has kept our marker.
    const { metadata } = await load('shared');
    expect(metadata.properties['sluice.p1.main']).toContain('"batch-id":3');
    expect(ancestorsOf(metadata, 'main')).toHaveLength(9);
  });

  it('format version 1 is refused for appends, with the way out', async () => {
    await writeForeign(at('bronze.old'), { rows: 1, formatVersion: 1 });
    await expect(append('old', new TestCheckpoint('p1'), 0, [row(5, 0)])).rejects.toMatchObject({
      code: 'TABLE_INCOMPATIBLE',
      message: expect.stringContaining('upgrade it to 2'),
    });
  });
});

describe('the catalog file of PyIceberg', () => {
  it('is opened without a change to its tables, and goes on working for both', async () => {
    const other = {
      catalog: join(directory, 'theirs.db'),
      warehouse: place.warehouse,
      catalogName: 'default',
    };
    await writeForeign({ ...other, table: 'raw.events' }, { rows: 2 });
    const opened = await openSqlite(
      other.catalog,
      warehouseLocation(place.warehouse),
      catalogServices(io, clock, 'theirs'),
      'default',
    );
    expect(await opened.listTables(['raw'])).toEqual([{ namespace: ['raw'], name: 'events' }]);
    await opened.createTable(
      { namespace: ['raw'], name: 'ours' },
      { schema: BRONZE, partitionSpec: buildPartitionSpec([], BRONZE), properties: {}, formatVersion: 2 },
    );
    await opened.close();
    const info = await catalogInfo(other);
    expect(info.tables.map((t) => t.name).sort()).toEqual(['raw.events', 'raw.ours']);
    expect(Object.keys(info.icebergTables[0])).not.toContain('iceberg_type');
    await writeForeign({ ...other, table: 'raw.events' }, { rows: 2, firstOffset: 2 });
    expect((await readForeign({ ...other, table: 'raw.events' })).rowCount).toBe(4);
  });
});
