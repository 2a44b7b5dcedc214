/** Snapshots that PyIceberg expires: it takes the parent away from the survivors, so that they look like beginnings. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warehouseLocation } from '../../src/catalog/open-catalog.ts';
import type { SqliteCatalog } from '../../src/catalog/sqlite-catalog.ts';
import type { LoadedTable, TableIdentifier } from '../../src/iceberg/catalog.ts';
import { checkTable, commitBatch, type SnapshotExpiry } from '../../src/iceberg/commit.ts';
import { snapshotById, snapshotOfRef } from '../../src/iceberg/metadata.ts';
import { listLiveFiles } from '../../src/iceberg/scan.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import {
  catalogServices,
  commitContext,
  dataFile,
  openSqlite,
  TestCheckpoint,
  TestClock,
} from '../support/iceberg-fixture.ts';
import { runPython, writeForeign } from '../support/python.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-foreign-expiry-'));
const io = new LocalFileIO();
const clock = new TestClock();
const place = { catalog: join(directory, 'catalog.db'), warehouse: join(directory, 'warehouse') };
let catalog: SqliteCatalog;

beforeAll(async () => {
  clock.nowMs = Date.now();
  catalog = await openSqlite(
    place.catalog,
    warehouseLocation(place.warehouse),
    catalogServices(io, clock, 'expiry'),
  );
});
afterAll(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

/** One table, written by us and by PyIceberg. */
class SharedTable {
  readonly name: string;
  readonly identifier: TableIdentifier;
  readonly checkpoint = new TestCheckpoint('p1');

  constructor(name: string) {
    this.name = `bronze.${name}`;
    this.identifier = { namespace: ['bronze'], name };
  }

  static async create(name: string, properties: Record<string, string> = {}): Promise<SharedTable> {
    const table = new SharedTable(name);
    await writeForeign({ ...place, table: table.name }, { rows: 0, properties });
    return table;
  }

  async load(): Promise<LoadedTable> {
    return (await catalog.loadTable(this.identifier))!;
  }

  /** A batch of one file. */
  async batch(batchId: number, ref = 'main', checkpoint = this.checkpoint) {
    return checkpoint.batch(batchId, (await this.load()).metadata.tableUuid, {
      identifier: this.identifier,
      ref,
      files: [dataFile(`file://${directory}/${this.name}/${ref}-${batchId}.parquet`)],
    });
  }

  async commit(
    batchId: number,
    expireSnapshots?: SnapshotExpiry,
    ref = 'main',
    checkpoint = this.checkpoint,
  ): Promise<bigint> {
    clock.nowMs = Date.now();
    const batch = await this.batch(batchId, ref, checkpoint);
    const result = await commitBatch(commitContext(catalog, io, clock, { expireSnapshots }), batch);
    checkpoint.record(batch, result);
    return result.snapshotId;
  }

  async appendForeign(): Promise<bigint> {
    return BigInt((await writeForeign({ ...place, table: this.name }, { rows: 1 })).snapshotId!);
  }

  /** Through PyIceberg; what is left, by id, with parents. */
  async change(...action: (string | bigint)[]): Promise<Map<bigint, bigint | null>> {
    const args = [place.catalog, place.warehouse, this.name, ...action.map(String)];
    const left = (await runPython('change_history.py', args)) as { id: bigint; parentId: bigint | null }[];
    return new Map(left.map((s) => [BigInt(s.id), s.parentId === null ? null : BigInt(s.parentId)]));
  }

  /** As somebody does who cleans by hand, or a catalog that keeps no log. */
  async deleteOlderMetadata(): Promise<void> {
    for (const { metadataFile } of (await this.load()).metadata.metadataLog) await io.delete(metadataFile);
  }

  check(of = this.checkpoint): Promise<unknown> {
    return this.batch(0, 'main', of).then((batch) =>
      checkTable(commitContext(catalog, io, clock), batch).catch((e) => e),
    );
  }

  attempt(batchId: number, of = this.checkpoint): Promise<unknown> {
    return this.batch(batchId, 'main', of).then((batch) =>
      commitBatch(commitContext(catalog, io, clock), batch).catch((e) => e),
    );
  }
}

describe.each([
  { evidence: 'with the older metadata files', suffix: 'log' },
  { evidence: 'by the manifests alone', suffix: 'alone' },
])('batches whose snapshots PyIceberg expired, $evidence', ({ suffix }) => {
  const deleteOlder = suffix === 'alone';

  it('are still held: no alarm, the next batch goes on', async () => {
    const table = await SharedTable.create(`held_${suffix}`);
    const ours = [await table.commit(0), await table.commit(1), await table.commit(2)];
    const foreign = await table.appendForeign();
    expect(await table.change('expire', ...ours)).toEqual(new Map([[foreign, null]]));
    if (deleteOlder) await table.deleteOlderMetadata();
    expect(await table.check()).toMatchObject({ committed: null });
    expect(await table.attempt(3)).toMatchObject({ alreadyCommitted: false });
  });

  it('the batch in flight is found, and not written twice', async () => {
    const table = await SharedTable.create(`flight_${suffix}`);
    await table.commit(0);
    const batch = await table.batch(1);
    const first = await commitBatch(commitContext(catalog, io, clock), batch);
    const foreign = await table.appendForeign();
    const { metadata } = await table.load();
    await table.change(
      'expire',
      ...metadata.snapshots.map((s) => s.snapshotId).filter((id) => id !== foreign),
    );
    if (deleteOlder) await table.deleteOlderMetadata();
    expect(await commitBatch(commitContext(catalog, io, clock), batch)).toEqual({
      ...first,
      alreadyCommitted: true,
      attempts: 0,
    });
  });

  it('a fresh checkpoint of the same name does not begin again', async () => {
    const table = await SharedTable.create(`fresh_${suffix}`);
    const ours = [await table.commit(0), await table.commit(1)];
    await table.appendForeign();
    await table.change('expire', ...ours);
    if (deleteOlder) await table.deleteOlderMetadata();
    const fresh = new TestCheckpoint('p2');
    expect(await table.check(fresh)).toMatchObject({ code: 'CHECKPOINT_LOST', context: { batchId: 1 } });
    expect(await table.attempt(0, fresh)).toMatchObject({ code: 'CHECKPOINT_LOST' });
  });

  it('a batch that was rolled back before it was expired is missed', async () => {
    const table = await SharedTable.create(`rewound_${suffix}`);
    const ours = [await table.commit(0), await table.commit(1), await table.commit(2)];
    await table.change('rollback', ours[1]);
    const foreign = await table.appendForeign();
    expect(await table.change('expire', ...ours)).toEqual(new Map([[foreign, null]]));
    if (deleteOlder) await table.deleteOlderMetadata();
    expect(await table.check()).toMatchObject({ code: 'TABLE_REWOUND', context: { lastBatch: 2 } });
    expect(await table.attempt(3)).toMatchObject({ code: 'TABLE_REWOUND' });
    // A fresh checkpoint of that name would double batches 0 and 1, so the doubt counts against it.
    if (deleteOlder)
      expect(await table.check(new TestCheckpoint('p2'))).toMatchObject({ code: 'CHECKPOINT_LOST' });
  });
});

describe('a manifest that a branch lists', () => {
  it('is kept when the snapshot below the branch was expired by PyIceberg and main has merged it away', async () => {
    const table = await SharedTable.create('branched', { 'commit.manifest.min-count-to-merge': '4' });
    const base = await table.commit(0);
    await table.change('branch', 'audit', base);
    const onMain = await table.commit(1);
    await table.commit(0, undefined, 'audit', new TestCheckpoint('p2', 'audits'));
    expect((await table.change('expire', base)).get(onMain)).toBeNull();
    const keepOne = { minSnapshotsToKeep: 1, maxAgeMs: 0 };
    for (let batchId = 2; batchId < 8; batchId++) await table.commit(batchId, keepOne);
    const { metadata } = await table.load();
    expect(snapshotById(metadata, onMain)).toBeUndefined();
    const filesOf = async (ref: string): Promise<number> =>
      (await listLiveFiles(io, metadata, snapshotOfRef(metadata, ref)!)).dataFiles.length;
    expect([await filesOf('main'), await filesOf('audit')]).toEqual([8, 2]);
  });
});
