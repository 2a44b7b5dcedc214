import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warehouseLocation } from '../../src/catalog/open-catalog.ts';
import type { SqliteCatalog } from '../../src/catalog/sqlite-catalog.ts';
import type { DataFile, PartitionValue } from '../../src/core/data-file.ts';
import type { LoadedTable, TableIdentifier } from '../../src/iceberg/catalog.ts';
import { commitBatch } from '../../src/iceberg/commit.ts';
import { currentSchema, defaultSpec, snapshotOfRef } from '../../src/iceberg/metadata.ts';
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
import { toLocalPath } from '../../src/storage/local-path.ts';
import {
  catalogServices,
  commitContext,
  openSqlite,
  TestCheckpoint,
  TestClock,
} from '../support/iceberg-fixture.ts';
import { type JavaTable, javaMissing, runIcebergJava } from '../support/iceberg-java.ts';
import { field, type TableValue, tableSchema, toVector } from '../support/parquet-table.ts';

const missing = await javaMissing();
const directory = mkdtempSync(join(tmpdir(), 'sluice-java-'));
const database = join(directory, 'catalog.db');
const warehouse = warehouseLocation(join(directory, 'ware house'));
const io = new LocalFileIO();
const clock = new TestClock();
let catalog: SqliteCatalog;
let fileNumber = 0;

beforeAll(async () => {
  catalog = await openSqlite(database, warehouse, catalogServices(io, clock, 'java'));
});
afterAll(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

const java = (...args: string[]): Promise<unknown> =>
  runIcebergJava([database, warehouse, 'sluice', ...args]);
const named = (name: string): TableIdentifier => ({ namespace: ['bronze'], name });

const SCHEMA = tableSchema([
  field(1, 'id', 'long', true),
  field(2, 'ts', 'timestamptz'),
  field(3, 'day', 'date'),
  field(4, 'name', 'string'),
  field(5, 'price', 'decimal(9, 2)'),
  field(6, 'raw', 'binary'),
  field(7, 'plain', 'timestamp'),
  field(8, 'flag', 'boolean'),
]);
const SPEC = [
  'hours(ts)',
  'days(plain)',
  'months(day)',
  'years(ts)',
  'day',
  'name',
  'truncate(2, name)',
  'bucket(16, price)',
  'price',
  'raw',
  'truncate(10, id)',
  'ts',
  'plain',
  'flag',
];
const ROWS: TableValue[][] = [
  [1n, -1n, -1, "a/b=c d%é*~!'()", 1420n, Uint8Array.of(0, 1, 255), 0n, true],
  [-7n, 1_700_000_000_100_000n, 20_000, '', -1n, Uint8Array.of(), -62_135_596_800_000_000n, false],
  [3n, null, null, null, null, null, null, null],
  [
    4n,
    253_402_300_799_999_999n,
    -800_000,
    '\u{1f600}\u{1f600}\u{1f600}',
    999_999_999n,
    Uint8Array.of(7),
    1_000_000n,
    null,
  ],
];

async function writeFile(table: LoadedTable, row: readonly TableValue[]): Promise<DataFile> {
  const schema = currentSchema(table.metadata);
  const spec = defaultSpec(table.metadata);
  const bound = bindPartitionSpec(spec, [schema]);
  const functions = partitionFunctions(bound);
  const partition: PartitionValue[] = spec.fields.map((f, i) =>
    functions[i](row[schema.fields.findIndex((c) => c.id === f.sourceId)]),
  );
  const output = await io.create(
    joinPath(dataDirectory(table.metadata), partitionPath(bound, partition), `file-${fileNumber++}.parquet`),
  );
  const writer = new ParquetWriter(output, schema, DEFAULT_PARQUET_OPTIONS);
  writer.append(
    schema.fields.map((f, i) => toVector(f.type as never, [row[i]])),
    0,
    1,
  );
  return {
    ...(await writer.close()),
    content: 0,
    filePath: output.path,
    fileFormat: 'PARQUET',
    partition,
    specId: spec.specId,
  };
}

async function append(
  name: string,
  checkpoint: TestCheckpoint,
  batchId: number,
  rows: readonly (readonly TableValue[])[],
): Promise<void> {
  const table = (await catalog.loadTable(named(name)))!;
  const files: DataFile[] = [];
  for (const row of rows) files.push(await writeFile(table, row));
  const batch = checkpoint.batch(batchId, table.metadata.tableUuid, { identifier: named(name), files });
  checkpoint.record(batch, await commitBatch(commitContext(catalog, io, clock), batch));
}

describe.skipIf(missing !== undefined)(
  `Iceberg's Java library${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it.each([2, 3] as const)('v%i: reads our table, and names partitions as we do', async (formatVersion) => {
      const name = `ours_v${formatVersion}`;
      await catalog.createTable(named(name), {
        schema: SCHEMA,
        partitionSpec: buildPartitionSpec(SPEC, SCHEMA),
        properties: {},
        formatVersion,
      });
      const checkpoint = new TestCheckpoint('p1');
      await append(name, checkpoint, 0, ROWS.slice(0, 2));
      await append(name, checkpoint, 1, ROWS.slice(2));
      const theirs = (await java('read', `bronze.${name}`)) as JavaTable;
      expect(theirs.formatVersion).toBe(formatVersion);
      expect(theirs.rows.sort()).toEqual(['-7', '1', '3', '4']);
      for (const file of theirs.files) expect(file.path).toContain(`/data/${file.partitionPath}/file-`);
      expect(
        theirs.snapshots.map((s) => [s.sequenceNumber, s.operation, s.summary['sluice.batch-id']]),
      ).toEqual([
        [1, 'append', '0'],
        [2, 'append', '1'],
      ]);
      expect(theirs.files.map((f) => f.firstRowId).sort()).toEqual(
        formatVersion === 3 ? [0, 1, 2, 3] : [null, null, null, null],
      );
      expect(theirs.properties['sluice.p1.main']).toContain('"batch-id":1');
    });

    it('appends in between, merges our manifests, and we go on', async () => {
      await catalog.createTable(named('shared'), {
        schema: SCHEMA,
        partitionSpec: buildPartitionSpec(['hours(ts)', 'price'], SCHEMA),
        properties: { 'commit.manifest.min-count-to-merge': '2' },
        formatVersion: 2,
      });
      const checkpoint = new TestCheckpoint('p1');
      clock.nowMs = Date.now();
      await append('shared', checkpoint, 0, [ROWS[0]]);
      const before = (await catalog.loadTable(named('shared')))!.metadata;
      const [own] = (await listLiveFiles(io, before, snapshotOfRef(before, 'main')!)).dataFiles;
      const copy = own.file.filePath.replace('.parquet', '-copy.parquet');
      copyFileSync(toLocalPath(own.file.filePath), toLocalPath(copy));
      await java('append', 'bronze.shared', copy);
      clock.nowMs = Date.now();
      await append('shared', checkpoint, 1, [ROWS[1]]);
      const { metadata } = (await catalog.loadTable(named('shared')))!;
      const { dataFiles } = await listLiveFiles(io, metadata, snapshotOfRef(metadata, 'main')!);
      expect(dataFiles.map((f) => [f.sequenceNumber, f.fileSequenceNumber]).sort()).toEqual([
        [1n, 1n],
        [2n, 2n],
        [3n, 3n],
      ]);
      expect(dataFiles.find((f) => f.file.filePath === copy)?.file.lowerBounds).toEqual(own.file.lowerBounds);
      const theirs = (await java('read', 'bronze.shared')) as JavaTable;
      expect(theirs.rows.sort()).toEqual(['-7', '1', '1']);
      expect(theirs.files.map((f) => f.sequenceNumber).sort()).toEqual([1, 2, 3]);
      expect(theirs.snapshots.at(-1)!.summary['total-data-files']).toBe('3');
    });

    it('reads the defaults of a v3 table whose metadata we rewrote', async () => {
      const doubles = tableSchema([
        field(1, 'id', 'long', true),
        ...['1.0', '1.0E20', '-0.0'].map((_, i) => field(i + 2, `d${i}`, 'double')),
      ]);
      const given = { initialDefault: 0.5, writeDefault: 0.5 };
      const created = await catalog.createTable(named('defaults'), {
        schema: { ...doubles, fields: doubles.fields.map((f) => (f.id === 1 ? f : { ...f, ...given })) },
        partitionSpec: buildPartitionSpec([], doubles),
        properties: {},
        formatVersion: 3,
      });
      // As Java writes doubles; a catalog that has not seen the file before reads it.
      const texts = ['1.0', '1.0E20', '-0.0'].flatMap((text) => [text, text]);
      const path = toLocalPath(created.metadataLocation);
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace(/(?<=-default":)0\.5/g, () => texts.shift()!),
      );
      const fresh = await openSqlite(database, warehouse, catalogServices(io, clock, 'fresh'));
      const checkpoint = new TestCheckpoint('p1');
      const table = (await fresh.loadTable(named('defaults')))!;
      const batch = checkpoint.batch(0, table.metadata.tableUuid, {
        identifier: named('defaults'),
        files: [await writeFile(table, [1n, 2, 3, 4])],
      });
      await commitBatch(commitContext(fresh, io, clock), batch);
      await fresh.close();
      expect(((await java('read', 'bronze.defaults')) as JavaTable).rows).toEqual(['1']);
    });

    it('creates a table in our catalog file, which we load', async () => {
      await java('create', 'bronze.theirs', 'bronze.ours_v2');
      expect(await catalog.listTables(['bronze'])).toContainEqual(named('theirs'));
      const theirs = (await catalog.loadTable(named('theirs')))!;
      expect(currentSchema(theirs.metadata).fields.map((f) => [f.name, f.type])).toEqual(
        SCHEMA.fields.map((f) => [f.name, f.type]),
      );
      expect(theirs.metadata.currentSnapshotId).toBeNull();
      expect((await java('list', 'bronze')) as { tables: string[] }).toEqual({
        tables: expect.arrayContaining(['bronze.ours_v2', 'bronze.theirs']),
      });
      await append('theirs', new TestCheckpoint('p1'), 0, [ROWS[0]]);
      expect(((await java('read', 'bronze.theirs')) as JavaTable).rows).toEqual(['1']);
    });
  },
);
