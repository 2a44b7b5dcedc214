import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SqliteCatalog } from '../../../src/catalog/sqlite-catalog.ts';
import type { LoadedTable } from '../../../src/iceberg/catalog.ts';
import { commitBatch, type SnapshotExpiry } from '../../../src/iceberg/commit.ts';
import { selectExpired } from '../../../src/iceberg/expire.ts';
import { readManifestList, writeManifestList } from '../../../src/iceberg/manifest-list.ts';
import { ancestorsOf, type TableMetadata } from '../../../src/iceberg/metadata.ts';
import { listLiveFiles } from '../../../src/iceberg/scan.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import {
  catalogServices,
  commitContext,
  ORDERS,
  openSqlite,
  ordersRequest,
  TestCheckpoint,
  TestClock,
} from '../../support/iceberg-fixture.ts';

let directory: string;
let clock: TestClock;
let io: FaultyFileIO;
let catalog: SqliteCatalog;
let checkpoint: TestCheckpoint;
let batchId: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-expire-'));
  clock = new TestClock();
  io = new FaultyFileIO(new MemoryFileIO());
  catalog = await openSqlite(join(directory, 'catalog.db'), 'memory://w', catalogServices(io, clock));
  checkpoint = new TestCheckpoint('p1');
  batchId = 0;
});
afterEach(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

const table = async (): Promise<LoadedTable> => (await catalog.loadTable(ORDERS))!;
const MERGE_AT_4 = { 'commit.manifest.min-count-to-merge': '4' };

async function commit(
  count: number,
  expireSnapshots: SnapshotExpiry | undefined,
  of = checkpoint,
): Promise<void> {
  const { metadata } = await table();
  for (let n = 0; n < count; n++) {
    clock.nowMs += 60_000;
    const batch = of.batch(batchId++, metadata.tableUuid);
    of.record(batch, await commitBatch(commitContext(catalog, io, clock, { expireSnapshots }), batch));
  }
}

async function storedFiles(kind: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of io.list('memory://w/bronze/orders/metadata'))
    if (kind.test(entry.path)) found.push(entry.path);
  return found.sort();
}

/** The lists and manifests that the snapshots name: what must be there, and, of our own, nothing else. */
async function reachable(metadata: TableMetadata): Promise<{ lists: string[]; manifests: string[] }> {
  const lists = metadata.snapshots.map((s) => s.manifestList!).sort();
  const manifests = new Set<string>();
  for (const list of lists)
    for (const m of readManifestList(await io.read(list), list)) manifests.add(m.manifestPath);
  return { lists, manifests: [...manifests].sort() };
}

async function expectTidy(): Promise<TableMetadata> {
  const { metadata } = await table();
  const { lists, manifests } = await reachable(metadata);
  expect(await storedFiles(/\/snap-/)).toEqual(lists);
  expect(await storedFiles(/-m\d+\.avro$/)).toEqual(manifests);
  return metadata;
}

describe('snapshots are expired with the commit', () => {
  it('the newest are kept, every reachable file is there, and every other is gone', async () => {
    await catalog.createTable(ORDERS, ordersRequest(MERGE_AT_4));
    await commit(23, { minSnapshotsToKeep: 5, maxAgeMs: 0 });
    const metadata = await expectTidy();
    expect(metadata.snapshots).toHaveLength(5);
    expect(metadata.snapshotLog).toHaveLength(5);
    const { dataFiles } = await listLiveFiles(io, metadata, ancestorsOf(metadata, 'main')[0]);
    expect(dataFiles).toHaveLength(23);
    expect(io.calls.filter((c) => c.kind === 'delete' && c.path.includes('/data/'))).toEqual([]);
  });

  it('with the head alone kept, what the new one lists stays', async () => {
    await catalog.createTable(ORDERS, ordersRequest(MERGE_AT_4));
    await commit(9, { minSnapshotsToKeep: 1, maxAgeMs: 0 });
    const metadata = await expectTidy();
    expect(metadata.snapshots).toHaveLength(1);
    expect((await listLiveFiles(io, metadata, metadata.snapshots[0])).dataFiles).toHaveLength(9);
  });

  it('young ones are kept beyond the count, but not more than the cap', async () => {
    await catalog.createTable(ORDERS, ordersRequest());
    await commit(12, { minSnapshotsToKeep: 2, maxAgeMs: 7 * 60_000, maxSnapshotsToKeep: 100 });
    expect((await table()).metadata.snapshots).toHaveLength(8);
    await commit(12, { minSnapshotsToKeep: 2, maxAgeMs: 1e12, maxSnapshotsToKeep: 10 });
    expect((await table()).metadata.snapshots).toHaveLength(10);
    await expectTidy();
  });

  it("the table's own retention goes before, without a cap", async () => {
    await catalog.createTable(
      ORDERS,
      ordersRequest({
        'history.expire.min-snapshots-to-keep': '3',
        'history.expire.max-snapshot-age-ms': '1000000000',
      }),
    );
    await commit(8, { minSnapshotsToKeep: 1, maxAgeMs: 0, maxSnapshotsToKeep: 4 });
    expect((await table()).metadata.snapshots).toHaveLength(8);
    await catalog.commitTable(
      await table(),
      [],
      [{ action: 'set-properties', updates: { 'history.expire.max-snapshot-age-ms': '0' } }],
    );
    await commit(1, { minSnapshotsToKeep: 100, maxAgeMs: 1e12 });
    expect((await table()).metadata.snapshots).toHaveLength(3);
    await catalog.commitTable(
      await table(),
      [],
      [{ action: 'set-properties', updates: { 'gc.enabled': 'false' } }],
    );
    await commit(3, { minSnapshotsToKeep: 1, maxAgeMs: 0 });
    expect((await table()).metadata.snapshots).toHaveLength(6);
  });

  it('what a tag names and what another branch retains stays readable', async () => {
    await catalog.createTable(ORDERS, ordersRequest({ 'commit.manifest.min-count-to-merge': '3' }));
    await commit(4, undefined);
    const [head, , tagged] = ancestorsOf((await table()).metadata, 'main');
    await catalog.commitTable(
      await table(),
      [],
      [
        { action: 'set-snapshot-ref', refName: 'keep', ref: { type: 'tag', snapshotId: tagged.snapshotId } },
        {
          action: 'set-snapshot-ref',
          refName: 'audit',
          ref: { type: 'branch', snapshotId: head.snapshotId, minSnapshotsToKeep: 2, maxSnapshotAgeMs: 1n },
        },
      ],
    );
    await commit(12, { minSnapshotsToKeep: 2, maxAgeMs: 0 });
    const metadata = await expectTidy();
    expect(metadata.snapshots).toHaveLength(5);
    const at = async (ref: string): Promise<number> =>
      (await listLiveFiles(io, metadata, ancestorsOf(metadata, ref)[0])).dataFiles.length;
    expect([await at('keep'), await at('audit'), await at('main')]).toEqual([2, 4, 16]);
  });

  it('snapshots of other writers are never expired, and stay readable', async () => {
    await catalog.createTable(ORDERS, ordersRequest({ 'commit.manifest.min-count-to-merge': '3' }));
    await commit(3, undefined);
    await overwriteForeign(77n);
    await commit(9, { minSnapshotsToKeep: 2, maxAgeMs: 0 });
    await overwriteForeign(78n);
    await commit(9, { minSnapshotsToKeep: 2, maxAgeMs: 0 });
    const { metadata } = await table();
    const ids = metadata.snapshots.map((s) => s.snapshotId);
    expect(ids.slice(0, 2)).toEqual([77n, 78n]);
    const filesOf = async (id: bigint): Promise<number> =>
      (await listLiveFiles(io, metadata, metadata.snapshots.find((s) => s.snapshotId === id)!)).dataFiles
        .length;
    expect(await Promise.all(ids.map(filesOf))).toEqual([3, 12, 20, 21]);
  });

  it('the history of another writer is whole after our first commit', async () => {
    await catalog.createTable(ORDERS, ordersRequest());
    for (let id = 1n; id <= 30n; id++) await overwriteForeign(id);
    await commit(1, { minSnapshotsToKeep: 2, maxAgeMs: 0, maxSnapshotsToKeep: 2 });
    const { metadata } = await table();
    expect(ancestorsOf(metadata, 'main')).toHaveLength(31);
  });

  /** A snapshot without our marker on top, with what the head lists. */
  async function overwriteForeign(snapshotId: bigint): Promise<void> {
    const loaded = await table();
    const head = ancestorsOf(loaded.metadata, 'main').at(0);
    const manifestList = `memory://w/bronze/orders/metadata/snap-${snapshotId}.avro`;
    const sequenceNumber = loaded.metadata.lastSequenceNumber + 1n;
    const { bytes } = writeManifestList({
      location: manifestList,
      formatVersion: 2,
      snapshotId,
      parentSnapshotId: head?.snapshotId ?? null,
      sequenceNumber,
      firstRowId: 0n,
      manifests: head === undefined ? [] : readManifestList(await io.read(head.manifestList!), ''),
    });
    await io.createNew(manifestList, bytes);
    const snapshot = {
      snapshotId,
      parentSnapshotId: head?.snapshotId ?? null,
      sequenceNumber,
      timestampMs: clock.nowMs,
      manifestList,
      summary: { operation: 'overwrite' },
    };
    await catalog.commitTable(
      loaded,
      [],
      [
        { action: 'add-snapshot', snapshot },
        { action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId } },
      ],
    );
  }

  it('files that cannot be deleted are left and told, and the commit stands', async () => {
    await catalog.createTable(ORDERS, ordersRequest());
    await commit(3, undefined);
    const context = commitContext(catalog, io, clock, {
      expireSnapshots: { minSnapshotsToKeep: 1, maxAgeMs: 0 },
    });
    clock.nowMs += 60_000;
    for (let nth = 1; nth <= 3; nth++) io.fail({ kind: 'delete', nth, when: 'before' });
    const batch = checkpoint.batch(batchId, (await table()).metadata.tableUuid);
    expect(await commitBatch(context, batch)).toMatchObject({ attempts: 1 });
    expect(context.lines.map((l) => l.message).join()).toContain('files could not be deleted');
    expect((await table()).metadata.snapshots).toHaveLength(1);
  });

  it('only the history below the branch is looked at', async () => {
    await catalog.createTable(ORDERS, ordersRequest());
    await commit(5, undefined);
    const loaded = await table();
    const third = ancestorsOf(loaded.metadata, 'main')[2];
    const rolledBack = await catalog.commitTable(
      loaded,
      [],
      [
        {
          action: 'set-snapshot-ref',
          refName: 'main',
          ref: { type: 'branch', snapshotId: third.snapshotId },
        },
      ],
    );
    expect(
      selectExpired(
        rolledBack.metadata,
        'main',
        { minSnapshotsToKeep: 1, maxAgeMs: 0 },
        clock.nowMs + 1e9,
      ).map((s) => s.sequenceNumber),
    ).toEqual([1n, 2n, 3n]);
    expect(
      selectExpired(rolledBack.metadata, 'absent', { minSnapshotsToKeep: 1, maxAgeMs: 0 }, clock.nowMs),
    ).toEqual([]);
  });
});

describe('the cost of a commit', () => {
  it('late commits read and write as much as early ones', async () => {
    await catalog.createTable(
      ORDERS,
      ordersRequest({ ...MERGE_AT_4, 'write.metadata.previous-versions-max': '5' }),
    );
    const policy = { minSnapshotsToKeep: 6, maxAgeMs: 0 };
    await commit(20, policy);
    const cost = async (): Promise<string> => {
      const from = io.calls.length;
      await commit(12, policy);
      const counts = new Map<string, number>();
      for (const call of io.calls.slice(from)) counts.set(call.kind, (counts.get(call.kind) ?? 0) + 1);
      return JSON.stringify([...counts].sort());
    };
    const early = await cost();
    await commit(60, policy);
    expect(await cost()).toBe(early);
    // A commit writes a manifest, a list and a metadata file, every third or so a merged manifest more; it reads one list.
    expect(Object.fromEntries(JSON.parse(early) as [string, number][])['createNew']).toBeLessThanOrEqual(
      12 * 4,
    );
    expect(Object.fromEntries(JSON.parse(early) as [string, number][])['read']).toBeLessThanOrEqual(12 * 3);
  });
});
