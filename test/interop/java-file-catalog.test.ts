/** The file catalog and Iceberg Java's HadoopCatalog over the same directories, turn by turn; PyIceberg and others read on. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FileCatalog } from '../../src/catalog/file-catalog.ts';
import { warehouseLocation } from '../../src/catalog/open-catalog.ts';
import type { DataFile } from '../../src/core/data-file.ts';
import type { LoadedTable, TableIdentifier } from '../../src/iceberg/catalog.ts';
import { commitBatch } from '../../src/iceberg/commit.ts';
import { currentSchema, defaultSpec, snapshotOfRef } from '../../src/iceberg/metadata.ts';
import { bindPartitionSpec, buildPartitionSpec, partitionPath } from '../../src/iceberg/partition.ts';
import { listLiveFiles } from '../../src/iceberg/scan.ts';
import { dataDirectory } from '../../src/iceberg/table-files.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../src/parquet/options.ts';
import { ParquetWriter } from '../../src/parquet/writer.ts';
import { joinPath } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { toLocalPath } from '../../src/storage/local-path.ts';
import { catalogServices, commitContext, TestCheckpoint, TestClock } from '../support/iceberg-fixture.ts';
import { type JavaTable, javaMissing, runIcebergJava } from '../support/iceberg-java.ts';
import { field, tableSchema, toVector } from '../support/parquet-table.ts';
import { readForeign } from '../support/python.ts';

const missing = await javaMissing();
const directory = mkdtempSync(join(tmpdir(), 'sluice-hadoop-'));
const warehouse = join(directory, 'ware house');
const io = new LocalFileIO();
const clock = new TestClock();
clock.nowMs = Date.now();
const open = (seed: string) =>
  new FileCatalog(
    { name: 'sluice', warehouse: warehouseLocation(warehouse) },
    catalogServices(io, clock, seed),
  );
const catalog = open('ours');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const java = (...args: string[]): Promise<unknown> =>
  runIcebergJava(['hadoop', warehouse, 'sluice', ...args]);
const named = (name: string): TableIdentifier => ({ namespace: ['bronze', 'raw'], name });
const metadata = (name: string) => join(warehouse, 'bronze', 'raw', name, 'metadata');
const versions = (name: string) =>
  readdirSync(metadata(name))
    .filter((file) => /^v.*\.metadata\.json/.test(file))
    .sort();
const hint = (name: string) => readFileSync(join(metadata(name), 'version-hint.text'), 'utf8');

const SCHEMA = tableSchema([field(1, 'id', 'long', true), field(2, 'dt', 'string')]);

const create = (name: string, properties: Record<string, string> = {}): Promise<LoadedTable> =>
  catalog.createTable(named(name), {
    schema: SCHEMA,
    partitionSpec: buildPartitionSpec(['dt'], SCHEMA),
    properties,
    formatVersion: 2,
  });

let fileNumber = 0;
async function append(name: string, checkpoint: TestCheckpoint, batchId: number, id: bigint): Promise<void> {
  clock.nowMs = Date.now();
  const table = (await catalog.loadTable(named(name)))!;
  const schema = currentSchema(table.metadata);
  const spec = defaultSpec(table.metadata);
  const partition = spec.fields.map(() => '2026-01-01');
  const path = partitionPath(bindPartitionSpec(spec, [schema]), partition);
  const output = await io.create(
    joinPath(dataDirectory(table.metadata), path, `file-${fileNumber++}.parquet`),
  );
  const writer = new ParquetWriter(output, schema, DEFAULT_PARQUET_OPTIONS);
  writer.append([toVector('long', [id]), toVector('string', ['2026-01-01'])], 0, 1);
  const file: DataFile = {
    ...(await writer.close()),
    content: 0,
    filePath: output.path,
    fileFormat: 'PARQUET',
    partition,
    specId: spec.specId,
  };
  const batch = checkpoint.batch(batchId, table.metadata.tableUuid, {
    identifier: named(name),
    files: [file],
  });
  checkpoint.record(batch, await commitBatch(commitContext(catalog, io, clock), batch));
}

async function liveFiles(name: string): Promise<string[]> {
  const table = (await open('fresh').loadTable(named(name)))!;
  const { dataFiles } = await listLiveFiles(io, table.metadata, snapshotOfRef(table.metadata, 'main')!);
  return dataFiles.map((f) => f.file.filePath);
}

/** Java adds a copy of one of the table's files. */
async function javaAppends(name: string): Promise<JavaTable> {
  const own = (await liveFiles(name))[0];
  const copy = own.replace('.parquet', `-copy-${fileNumber++}.parquet`);
  copyFileSync(toLocalPath(own), toLocalPath(copy));
  return (await java('append', `bronze.raw.${name}`, copy)) as JavaTable;
}

describe('readers that need no Java', () => {
  it.each(['pyiceberg', 'duckdb', 'pyarrow'] as const)('%s reads what the hint points at', async (engine) => {
    const name = `read_by_${engine}`;
    await create(name);
    const checkpoint = new TestCheckpoint('p1');
    await append(name, checkpoint, 0, 1n);
    await append(name, checkpoint, 1, 2n);
    const reading = await readForeign(
      { catalog: warehouse, warehouse, table: `bronze.raw.${name}` },
      { engine },
    );
    expect(reading.rows.map((row) => row['id']).sort()).toEqual([1, 2]);
    expect(reading.snapshots.map((s) => s.summary['sluice.batch-id'])).toEqual(['0', '1']);
  });
});

describe.skipIf(missing !== undefined)(
  `HadoopCatalog of Iceberg's Java library${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    it('reads our table, appends in between, and we go on', async () => {
      await create('shared');
      const checkpoint = new TestCheckpoint('p1');
      await append('shared', checkpoint, 0, 1n);
      const theirs = (await java('read', 'bronze.raw.shared')) as JavaTable;
      expect(theirs.rows).toEqual(['1']);
      expect(theirs.properties['sluice.p1.main']).toContain('"batch-id":0');
      await javaAppends('shared');
      expect([versions('shared').at(-1), hint('shared')]).toEqual(['v3.metadata.json', '3']);
      await append('shared', checkpoint, 1, 2n);
      expect([versions('shared').at(-1), hint('shared')]).toEqual(['v4.metadata.json', '4']);
      const after = await javaAppends('shared');
      expect([...new Set(after.rows)].sort()).toEqual(['1', '2']);
      expect(after.rows).toHaveLength(4);
      expect(after.snapshots.map((s) => s.sequenceNumber)).toEqual([1, 2, 3, 4]);
      expect((await liveFiles('shared')).length).toBe(4);
    });

    it('made a table that we append to, and reads it again', async () => {
      await create('like');
      await java('create', 'bronze.raw.theirs', 'bronze.raw.like');
      const loaded = (await catalog.loadTable(named('theirs')))!;
      expect(currentSchema(loaded.metadata).fields.map((f) => f.name)).toEqual(['id', 'dt']);
      expect(loaded.metadata.currentSnapshotId).toBeNull();
      const checkpoint = new TestCheckpoint('p2');
      await append('theirs', checkpoint, 0, 7n);
      await append('theirs', checkpoint, 1, 8n);
      expect((await javaAppends('theirs')).rows.length).toBe(3);
      await append('theirs', checkpoint, 2, 9n);
      const { rows } = (await java('read', 'bronze.raw.theirs')) as JavaTable;
      expect([...new Set(rows)].sort()).toEqual(['7', '8', '9']);
      expect(rows).toHaveLength(4);
      expect((await liveFiles('theirs')).length).toBe(4);
    });

    it('writes gzipped metadata, which we read and go on writing', async () => {
      await create('zipped');
      const checkpoint = new TestCheckpoint('p1');
      await append('zipped', checkpoint, 0, 1n);
      await java('set', 'bronze.raw.zipped', 'write.metadata.compression-codec=gzip');
      expect(versions('zipped')).toEqual(['v1.metadata.json', 'v2.metadata.json', 'v3.gz.metadata.json']);
      await append('zipped', checkpoint, 1, 2n);
      expect(versions('zipped').at(-1)).toBe('v4.gz.metadata.json');
      expect((await javaAppends('zipped')).rows.sort()).toHaveLength(3);
      await java('set', 'bronze.raw.zipped', 'write.metadata.compression-codec=none');
      await append('zipped', checkpoint, 2, 3n);
      expect(versions('zipped').slice(-3)).toEqual([
        'v5.gz.metadata.json',
        'v6.metadata.json',
        'v7.metadata.json',
      ]);
      expect(((await java('read', 'bronze.raw.zipped')) as JavaTable).rows).toHaveLength(4);
    });

    it('finds the newest version with us, whatever the hint says', async () => {
      await create('hints');
      const checkpoint = new TestCheckpoint('p1');
      for (const id of [1n, 2n, 3n]) await append('hints', checkpoint, Number(id) - 1, id);
      const path = join(metadata('hints'), 'version-hint.text');
      for (const write of [
        () => writeFileSync(path, '2'),
        () => rmSync(path),
        () => writeFileSync(path, 'x'),
      ]) {
        write();
        const [theirs, ours] = [
          (await java('read', 'bronze.raw.hints')) as JavaTable,
          await open('fresh').loadTable(named('hints')),
        ];
        expect(theirs.rows.sort()).toEqual(['1', '2', '3']);
        expect(ours!.metadataLocation).toMatch(/\/v4\.metadata\.json$/);
      }
      await append('hints', checkpoint, 3, 4n);
      expect(hint('hints')).toBe('5');
    });

    it('cleans old versions with us, and both go on', async () => {
      await create('cleaned', { 'write.metadata.previous-versions-max': '2' });
      const checkpoint = new TestCheckpoint('p1');
      for (const id of [1n, 2n, 3n]) await append('cleaned', checkpoint, Number(id) - 1, id);
      expect(versions('cleaned')).toEqual(['v2.metadata.json', 'v3.metadata.json', 'v4.metadata.json']);
      await javaAppends('cleaned');
      await append('cleaned', checkpoint, 3, 4n);
      expect(versions('cleaned')).toEqual(['v4.metadata.json', 'v5.metadata.json', 'v6.metadata.json']);
      // Java's own checksums go with the files, and never outlive one that another file of the name could follow.
      for (const id of [5n, 6n, 7n]) await append('cleaned', checkpoint, Number(id) - 1, id);
      expect(readdirSync(metadata('cleaned')).filter((file) => file.endsWith('json.crc'))).toEqual([]);
      expect(((await java('read', 'bronze.raw.cleaned')) as JavaTable).rows).toHaveLength(8);
    });

    it('lists what we list, and sees no table that either dropped', async () => {
      await create('gone');
      await create('gone_too');
      expect((await java('list', 'bronze.raw')) as { tables: string[] }).toEqual({
        tables: expect.arrayContaining(['bronze.raw.gone', 'bronze.raw.gone_too']),
      });
      expect(await java('namespaces')).toEqual({ namespaces: ['bronze'] });
      expect(await catalog.listNamespaces()).toEqual([['bronze', 'raw']]);
      await catalog.dropTable(named('gone'));
      await java('drop', 'bronze.raw.gone_too');
      const { tables } = (await java('list', 'bronze.raw')) as { tables: string[] };
      const ours = (await catalog.listTables(['bronze', 'raw'])).map((t) => `bronze.raw.${t.name}`);
      expect(tables.sort()).toEqual(ours.sort());
      expect(ours).not.toContain('bronze.raw.gone');
      expect(ours).not.toContain('bronze.raw.gone_too');
      await expect(java('read', 'bronze.raw.gone')).rejects.toThrow('NoSuchTableException');
      await create('gone');
      expect(((await java('read', 'bronze.raw.gone')) as JavaTable).rows).toEqual([]);
      await java('set', 'bronze.raw.gone', 'by=java');
      await catalog.dropTable(named('gone'));
      const again = await create('gone');
      await catalog.commitTable(again, [], [{ action: 'set-properties', updates: { by: 'us' } }]);
      expect(((await java('read', 'bronze.raw.gone')) as JavaTable).properties['by']).toBe('us');
    });
  },
);
