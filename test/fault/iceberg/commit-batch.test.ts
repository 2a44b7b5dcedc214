import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SqliteCatalog } from '../../../src/catalog/sqlite-catalog.ts';
import { isSluiceError, SluiceError } from '../../../src/errors.ts';
import type { LoadedTable } from '../../../src/iceberg/catalog.ts';
import { type BatchCommit, type CommitResult, checkTable, commitBatch } from '../../../src/iceberg/commit.ts';
import { readManifestList, writeManifestList } from '../../../src/iceberg/manifest-list.ts';
import { propertyKey } from '../../../src/iceberg/marker.ts';
import { ancestorsOf, type TableMetadata } from '../../../src/iceberg/metadata.ts';
import { listLiveFiles } from '../../../src/iceberg/scan.ts';
import type { TableUpdate } from '../../../src/iceberg/updates.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { type CommitFault, FaultyCatalog } from '../../support/faulty-catalog.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import {
  catalogServices,
  commitContext,
  dataFile,
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
let faulty: FaultyCatalog;
let uuid: string;
let checkpoint: TestCheckpoint;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-commit-'));
  clock = new TestClock();
  io = new FaultyFileIO(new MemoryFileIO());
  catalog = await openSqlite(join(directory, 'catalog.db'), 'memory://w', catalogServices(io, clock));
  faulty = new FaultyCatalog(catalog);
  uuid = (await catalog.createTable(ORDERS, ordersRequest())).metadata.tableUuid;
  checkpoint = new TestCheckpoint('p1');
});

afterEach(async () => {
  await catalog.close();
  rmSync(directory, { recursive: true, force: true });
});

async function table(): Promise<LoadedTable> {
  return (await catalog.loadTable(ORDERS))!;
}

const deletes = (): string[] => io.calls.filter((c) => c.kind === 'delete').map((c) => c.path);

/** Every file that the table's snapshots name is there, and the rows of main are those of the commits. */
async function expectWhole(expectedFiles: string[]): Promise<TableMetadata> {
  const { metadata } = await table();
  for (const snapshot of metadata.snapshots) {
    const { dataFiles } = await listLiveFiles(io, metadata, snapshot);
    expect(dataFiles.length).toBeGreaterThan(0);
  }
  const head = ancestorsOf(metadata, 'main')[0];
  const { dataFiles } = await listLiveFiles(io, metadata, head);
  expect(dataFiles.map((f) => f.file.filePath).sort()).toEqual([...expectedFiles].sort());
  expect(head.summary['total-data-files']).toBe(String(expectedFiles.length));
  expect(head.summary['total-records']).toBe(String(expectedFiles.length * 10));
  return metadata;
}

const pathOf = (batch: BatchCommit): string => [...batch.files][0].filePath;

async function commitAll(count: number, from = 0): Promise<BatchCommit[]> {
  const batches: BatchCommit[] = [];
  for (let n = from; n < from + count; n++) {
    const batch = checkpoint.batch(n, uuid);
    checkpoint.record(batch, await commitBatch(commitContext(catalog, io, clock), batch));
    batches.push(batch);
  }
  return batches;
}

describe('a commit whose reply is lost or wrong (C21)', () => {
  const landsAtOnce: CommitFault[] = ['apply, then 504', 'apply, then reset', 'apply, then state unknown'];
  it.each(landsAtOnce)('%s: finds its own commit, one snapshot, nothing deleted', async (fault) => {
    faulty.fail(fault);
    const batch = checkpoint.batch(0, uuid);
    const result = await commitBatch(commitContext(faulty, io, clock), batch);
    expect(result).toEqual({
      snapshotId: batch.snapshotId,
      sequenceNumber: 1n,
      alreadyCommitted: false,
      attempts: 1,
    });
    expect(faulty.commits).toBe(1);
    expect(deletes()).toEqual([]);
    expect((await expectWhole([pathOf(batch)])).snapshots).toHaveLength(1);
  });

  const doesNotLand: CommitFault[] = ['504', 'reset', 'state unknown'];
  it.each(doesNotLand)('%s without applying: tries again, one snapshot, nothing deleted', async (fault) => {
    faulty.fail(fault, fault);
    const batch = checkpoint.batch(0, uuid);
    const result = await commitBatch(commitContext(faulty, io, clock), batch);
    expect(result).toMatchObject({ snapshotId: batch.snapshotId, alreadyCommitted: false, attempts: 3 });
    expect(deletes()).toEqual([]);
    expect((await expectWhole([pathOf(batch)])).snapshots).toHaveLength(1);
  });

  it('a request that lands after it was given up: the second attempt meets it and does not double it', async () => {
    faulty.fail('late');
    const batch = checkpoint.batch(0, uuid);
    const result = await commitBatch(commitContext(faulty, io, clock), batch);
    expect(result).toMatchObject({ snapshotId: batch.snapshotId, alreadyCommitted: false, attempts: 2 });
    expect(faulty.commits).toBe(2);
    expect((await expectWhole([pathOf(batch)])).snapshots).toHaveLength(1);
  });

  it('409 without applying: rebases, tries again, deletes the list of the lost attempt only', async () => {
    faulty.fail('conflict');
    const batch = checkpoint.batch(0, uuid);
    const context = commitContext(faulty, io, clock);
    expect(await commitBatch(context, batch)).toMatchObject({ attempts: 2 });
    const metadata = await expectWhole([pathOf(batch)]);
    expect(metadata.snapshots).toHaveLength(1);
    expect(deletes()).toHaveLength(1);
    expect(deletes()[0]).toMatch(/\/snap-\d+-1-.*writer-of-p1.*\.avro$/);
    expect(context.lines.map((l) => l.message).join('\n')).toContain(
      'COMMIT_CONFLICT: table bronze.orders, ref main: expected snapshot none, found none; batch 0 not committed; reloading and trying again (2 of 5)',
    );
  });

  it('409 every time: COMMIT_CONFLICT after the last attempt, and only its own manifests are deleted', async () => {
    const [before] = await commitAll(1);
    faulty.fail('conflict', 'conflict', 'conflict', 'conflict', 'conflict');
    const batch = checkpoint.batch(1, uuid);
    const error = await commitBatch(commitContext(faulty, io, clock), batch).catch((e) => e);
    expect(isSluiceError(error, 'COMMIT_CONFLICT')).toBe(true);
    expect(error).toMatchObject({ outcome: 'not-applied', retryable: true });
    expect(faulty.commits).toBe(5);
    // Five lists and one manifest; no data file.
    expect(deletes()).toHaveLength(6);
    expect(deletes().every((path) => path.includes(batch.commitId))).toBe(true);
    await expectWhole([pathOf(before)]);
  });

  it('no answer until the deadline: COMMIT_UNKNOWN, nothing deleted, and the next run finds it by the marker', async () => {
    const batch = checkpoint.batch(0, uuid);
    faulty.fail('apply, then 504');
    const context = commitContext(faulty, io, clock, { deadlineMs: 2000 });
    const loads = faulty.loadTable.bind(faulty);
    let first = true;
    faulty.loadTable = (identifier) => {
      if (!first) faulty.failingLoads = 1;
      first = false;
      return loads(identifier);
    };
    const error = await commitBatch(context, batch).catch((e) => e);
    expect(isSluiceError(error, 'COMMIT_UNKNOWN')).toBe(true);
    expect(error).toMatchObject({ outcome: 'unknown', retryable: true });
    expect(deletes()).toEqual([]);
    expect(await commitBatch(commitContext(catalog, io, clock), batch)).toEqual({
      snapshotId: batch.snapshotId,
      sequenceNumber: 1n,
      alreadyCommitted: true,
      attempts: 0,
    });
    await expectWhole([pathOf(batch)]);
  });

  it('a plain refusal is thrown at once and leaves no file behind', async () => {
    faulty.fail('refused');
    const batch = checkpoint.batch(0, uuid);
    await expect(commitBatch(commitContext(faulty, io, clock), batch)).rejects.toMatchObject({
      code: 'CATALOG_ERROR',
    });
    expect(deletes()).toHaveLength(2);
    const left: string[] = [];
    for await (const entry of io.list('memory://w')) left.push(entry.path);
    expect(left).toHaveLength(1);
    expect(left[0]).toMatch(/00000-.*\.metadata\.json$/);
  });

  it('a catalog that cannot be reached is asked again, without using up the attempts', async () => {
    faulty.failingLoads = 7;
    faulty.fail(
      'unreachable',
      'unreachable',
      'unreachable',
      'unreachable',
      'unreachable',
      'unreachable',
      'unreachable',
    );
    const batch = checkpoint.batch(0, uuid);
    expect(await commitBatch(commitContext(faulty, io, clock), batch)).toMatchObject({ attempts: 8 });
    await expectWhole([pathOf(batch)]);
  });
});

/** Manifests are merged at nearly every commit, and old metadata files deleted. */
const MERGES = {
  'write.metadata.previous-versions-max': '1',
  'commit.manifest.min-count-to-merge': '2',
};

describe('the same call fails at every place, before and after it was done', () => {
  const kinds = ['read', 'create', 'write', 'close', 'createNew', 'delete'] as const;
  it.each(kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ kind, when }))))(
    'storage: $kind, $when',
    async ({ kind, when }) => {
      const store = new MemoryFileIO();
      const committed: string[] = [];
      let struck = 0;
      for (let nth = 1; nth <= 6; nth++) {
        // A new process each time: nothing is known from the commit before, so that everything is read again.
        const disk = new FaultyFileIO(store);
        const fresh = await openSqlite(
          join(directory, 'own.db'),
          'memory://w',
          catalogServices(disk, clock, `${nth}`),
        );
        const loaded =
          (await fresh.loadTable(ORDERS)) ?? (await fresh.createTable(ORDERS, ordersRequest(MERGES)));
        // A commit merges once, into one file.
        disk.fail({ kind, nth: ['create', 'write', 'close'].includes(kind) ? 1 : nth, when });
        const batch = checkpoint.batch(nth, loaded.metadata.tableUuid);
        // A conflict makes it delete the list of the lost attempt.
        const context = commitContext(new FaultyCatalog(fresh, ['conflict']), disk, clock);
        let result = await commitBatch(context, batch).catch((e) => {
          expect(e).toBeInstanceOf(SluiceError);
          struck++;
          return null;
        });
        result ??= await commitBatch(commitContext(fresh, disk, clock), batch);
        checkpoint.record(batch, result);
        committed.push(pathOf(batch));
        const { metadata } = (await fresh.loadTable(ORDERS))!;
        const history = ancestorsOf(metadata, 'main');
        expect(history).toHaveLength(nth);
        const { dataFiles } = await listLiveFiles(store, metadata, history[0]);
        expect(dataFiles.map((f) => f.file.filePath).sort()).toEqual([...committed].sort());
        await fresh.close();
      }
      // A failed clean-up is no failure of the commit; a failed write is.
      if (kind !== 'read' && kind !== 'delete') expect(struck).toBeGreaterThan(0);
      if (kind === 'delete') expect(struck).toBe(0);
    },
  );

  it('the disk is full at every byte: nothing lost, nothing half there, and it goes on when there is room', async () => {
    const batch = checkpoint.batch(0, uuid);
    for (let free = 0; free < 12_000; free += 1500) {
      io.freeBytes = free;
      const error = await commitBatch(commitContext(catalog, io, clock), batch).catch((e) => e);
      if (!isSluiceError(error)) continue;
      expect(error.code).toBe('STORAGE_FULL');
      expect((await table()).metadata.snapshots).toHaveLength(0);
    }
    io.freeBytes = Number.POSITIVE_INFINITY;
    await commitBatch(commitContext(catalog, io, clock), batch);
    expect((await expectWhole([pathOf(batch)])).snapshots).toHaveLength(1);
  });
});

describe('a batch that is committed again', () => {
  it('is found by its commit id and written once', async () => {
    const batch = checkpoint.batch(0, uuid);
    const first = await commitBatch(commitContext(catalog, io, clock), batch);
    const again = await commitBatch(commitContext(catalog, io, clock), {
      ...batch,
      writerId: 'the next process',
    });
    expect(again).toEqual({ ...first, alreadyCommitted: true, attempts: 0 });
    expect((await expectWhole([pathOf(batch)])).snapshots).toHaveLength(1);
  });

  it('takes another snapshot id where its own is taken', async () => {
    const [first] = await commitAll(1);
    const batch = checkpoint.batch(1, uuid, { snapshotId: first.snapshotId });
    const result = await commitBatch(commitContext(catalog, io, clock), batch);
    expect(result.snapshotId).not.toBe(first.snapshotId);
    const { metadata } = await table();
    expect(metadata.currentSnapshotId).toBe(result.snapshotId);
    const { dataFiles } = await listLiveFiles(io, metadata, ancestorsOf(metadata, 'main')[0]);
    expect(dataFiles.find((f) => f.file.filePath === pathOf(batch))?.snapshotId).toBe(result.snapshotId);
  });

  it('writes the marker into the summary and the property in one commit', async () => {
    const [batch] = await commitAll(1);
    const { metadata } = await table();
    expect(metadata.snapshots[0].summary).toMatchObject({
      operation: 'append',
      'sluice.pipeline-id': 'p1',
      'sluice.pipeline-name': 'ad-events',
      'sluice.batch-id': '0',
      'sluice.commit-id': batch.commitId,
      'sluice.offsets': '{"orders":{"0":10}}',
      'added-data-files': '1',
      'added-records': '10',
      'added-files-size': '1000',
      'changed-partition-count': '1',
      'total-data-files': '1',
      'total-records': '10',
      'total-files-size': '1000',
      'total-delete-files': '0',
      'total-position-deletes': '0',
      'total-equality-deletes': '0',
    });
    expect(metadata.properties['sluice.p1.main']).toBe(
      `{"pipeline-name":"ad-events","batch-id":0,"snapshot-id":${batch.snapshotId},"commit-id":"${batch.commitId}","sequence-number":1}`,
    );
  });
});

describe('a table that does not fit the checkpoint', () => {
  async function rollBackTo(snapshotId: bigint): Promise<void> {
    await catalog.commitTable(
      await table(),
      [],
      [{ action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId } }],
    );
  }
  const attempt = (n: number, of = checkpoint): Promise<unknown> =>
    commitBatch(commitContext(catalog, io, clock), of.batch(n, uuid)).catch((e) => e);
  const check = (of = checkpoint): Promise<unknown> =>
    checkTable(commitContext(catalog, io, clock), of.batch(0, uuid)).catch((e) => e);

  it('rolled back: TABLE_REWOUND with the batches, at the start and at the commit, even when others append on top', async () => {
    const batches = await commitAll(4);
    await rollBackTo(batches[1].snapshotId);
    for (const error of [await check(), await attempt(4)]) {
      expect(error).toMatchObject({ code: 'TABLE_REWOUND', context: { firstBatch: 2, lastBatch: 3 } });
      expect((error as Error).message).toContain('batches 2 to 3 would have to be read again');
    }
    const other = new TestCheckpoint('other', 'another pipeline');
    await commitBatch(commitContext(catalog, io, clock), other.batch(0, uuid));
    expect(await attempt(4)).toMatchObject({
      code: 'TABLE_REWOUND',
      context: { firstBatch: 2, lastBatch: 3 },
    });
    expect(deletes()).toEqual([]);
  });

  it('the batch in flight was committed, then rolled back: TABLE_REWOUND, not a second copy and not "done"', async () => {
    const [first] = await commitAll(1);
    const batch = checkpoint.batch(1, uuid);
    await commitBatch(commitContext(catalog, io, clock), batch);
    await rollBackTo(first.snapshotId);
    await expect(commitBatch(commitContext(catalog, io, clock), batch)).rejects.toMatchObject({
      code: 'TABLE_REWOUND',
      context: { firstBatch: 1, lastBatch: 1 },
    });
  });

  it('restored from an older metadata file: TABLE_REWOUND', async () => {
    await commitAll(2);
    const old = await table();
    await commitAll(2, 2);
    // As a person does who points the catalog at an old file: properties go back too.
    await catalog.dropTable(ORDERS);
    const db = new (await import('node:sqlite')).DatabaseSync(join(directory, 'catalog.db'));
    db.prepare(
      "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('sluice', 'bronze', 'orders', ?)",
    ).run(old.metadataLocation);
    db.close();
    expect(await check()).toMatchObject({ code: 'TABLE_REWOUND', context: { firstBatch: 2, lastBatch: 3 } });
    expect(await attempt(4)).toMatchObject({ code: 'TABLE_REWOUND' });
  });

  it('dropped, or recreated under the same name: TABLE_REWOUND', async () => {
    await commitAll(2);
    await catalog.dropTable(ORDERS);
    expect(await check()).toMatchObject({ code: 'TABLE_REWOUND', context: { lastBatch: 1 } });
    await catalog.createTable(ORDERS, ordersRequest());
    expect(await check()).toMatchObject({
      code: 'TABLE_REWOUND',
      context: { firstBatch: 0, lastBatch: 1, expectedUuid: uuid },
    });
    expect(await attempt(2)).toMatchObject({ code: 'TABLE_REWOUND' });
  });

  it('a table that never existed is TABLE_NOT_FOUND', async () => {
    await catalog.dropTable(ORDERS);
    expect(await check()).toMatchObject({ code: 'TABLE_NOT_FOUND' });
  });

  it('an older copy of the checkpoint: STALE_WRITER at the same batch and at an older one', async () => {
    await commitAll(2);
    const copy = new TestCheckpoint('p1', 'ad-events', 'the copy');
    for (const [id, batch] of checkpoint.done) copy.done.set(id, batch);
    await commitAll(1, 2);
    expect(await check(copy)).toMatchObject({ code: 'STALE_WRITER', context: { batchId: 2 } });
    expect(await attempt(2, copy)).toMatchObject({
      code: 'STALE_WRITER',
      outcome: 'not-applied',
      context: { batchId: 2 },
    });
    await commitAll(1, 3);
    expect(await attempt(2, copy)).toMatchObject({ code: 'STALE_WRITER', context: { batchId: 3 } });
    // Only lists and manifests of the copy may have been written, and it leaves nothing.
    expect(deletes().every((path) => path.includes('the_copy'))).toBe(true);
    await expectWhole([0, 1, 2, 3].map((n) => `memory://w/bronze/orders/data/p1-${n}.parquet`));
  });

  it('two processes commit the same batch at the same time: one lands, the other is STALE_WRITER', async () => {
    const copy = new TestCheckpoint('p1', 'ad-events', 'the second');
    const mine = checkpoint.batch(0, uuid);
    faulty.beforeCommit = async () => {
      await commitBatch(
        commitContext(catalog, io, clock),
        copy.batch(0, uuid, { files: [dataFile('memory://w/second.parquet')] }),
      );
    };
    await expect(commitBatch(commitContext(faulty, io, clock), mine)).rejects.toMatchObject({
      code: 'STALE_WRITER',
    });
    await expectWhole(['memory://w/second.parquet']);
    expect(deletes().length).toBeGreaterThan(0);
    expect(deletes().every((path) => path.includes('writer-of-p1') || path.endsWith('.metadata.json'))).toBe(
      true,
    );
  });

  it('a lost checkpoint: CHECKPOINT_LOST by the name of the pipeline, by its snapshots and by its property alone', async () => {
    await commitAll(2);
    const fresh = new TestCheckpoint('p2', 'ad-events');
    expect(await check(fresh)).toMatchObject({
      code: 'CHECKPOINT_LOST',
      context: { pipelineId: 'p1', batchId: 1 },
    });
    expect(await attempt(0, fresh)).toMatchObject({ code: 'CHECKPOINT_LOST' });
    const other = new TestCheckpoint('p3', 'another pipeline');
    const expiring = commitContext(catalog, io, clock, {
      expireSnapshots: { minSnapshotsToKeep: 1, maxAgeMs: 0 },
    });
    for (let n = 0; n < 2; n++) {
      const batch = other.batch(n, uuid);
      clock.nowMs += 1000;
      other.record(batch, await commitBatch(expiring, batch));
    }
    expect((await table()).metadata.snapshots.every((s) => s.summary['sluice.pipeline-id'] === 'p3')).toBe(
      true,
    );
    expect(await check(fresh)).toMatchObject({ code: 'CHECKPOINT_LOST' });
    // The pipeline whose checkpoint is there goes on, though none of its snapshots is left.
    expect(await check()).toMatchObject({ committed: null });
    expect(await attempt(2)).toMatchObject({ alreadyCommitted: false });
  });

  it('an emptied checkpoint of the same id: CHECKPOINT_LOST', async () => {
    await commitAll(2);
    expect(await check(new TestCheckpoint('p1'))).toMatchObject({ code: 'CHECKPOINT_LOST' });
  });

  it('an idle table and a purged record are no alarm', async () => {
    await commitAll(3);
    const purged = checkpoint.batch(9, uuid, { recorded: async () => 'purged' });
    expect(await commitBatch(commitContext(catalog, io, clock), purged)).toMatchObject({
      alreadyCommitted: false,
    });
  });

  it('a property that somebody edited is refused by name', async () => {
    await commitAll(1);
    await catalog.commitTable(
      await table(),
      [],
      [{ action: 'set-properties', updates: { [propertyKey('p1', 'main')]: 'yes' } }],
    );
    expect(await attempt(1)).toMatchObject({
      code: 'METADATA_INVALID',
      message: expect.stringContaining('sluice.p1.main'),
    });
  });

  it('a property that was pruned is no harm while the snapshots are there', async () => {
    await commitAll(2);
    await catalog.commitTable(
      await table(),
      [],
      [{ action: 'remove-properties', removals: [propertyKey('p1', 'main')] }],
    );
    expect(await attempt(2)).toMatchObject({ alreadyCommitted: false });
  });
});

describe('the marker after its snapshot has expired', () => {
  it('the property proves the batch while newer snapshots stand on it', async () => {
    const batch = checkpoint.batch(0, uuid);
    const first = await commitBatch(commitContext(catalog, io, clock), batch);
    const other = new TestCheckpoint('other', 'another pipeline');
    const expiring = commitContext(catalog, io, clock, {
      expireSnapshots: { minSnapshotsToKeep: 2, maxAgeMs: 0 },
    });
    for (let n = 0; n < 4; n++) {
      clock.nowMs += 1000;
      const foreign = other.batch(n, uuid);
      other.record(foreign, await commitBatch(expiring, foreign));
    }
    const { metadata } = await table();
    expect(metadata.snapshots.some((s) => s.snapshotId === batch.snapshotId)).toBe(false);
    expect(metadata.snapshots).toHaveLength(2);
    expect(await commitBatch(commitContext(catalog, io, clock), batch)).toEqual({
      ...first,
      alreadyCommitted: true,
      attempts: 0,
    });
  });

  it('does not prove it when the ref was rolled back below it', async () => {
    const [first] = await commitAll(1);
    const batch = checkpoint.batch(1, uuid);
    await commitBatch(commitContext(catalog, io, clock), batch);
    await catalog.commitTable(
      await table(),
      [],
      [
        {
          action: 'set-snapshot-ref',
          refName: 'main',
          ref: { type: 'branch', snapshotId: first.snapshotId },
        },
        { action: 'remove-snapshots', snapshotIds: [batch.snapshotId] },
      ],
    );
    await expect(commitBatch(commitContext(catalog, io, clock), batch)).rejects.toMatchObject({
      code: 'TABLE_REWOUND',
    });
  });
});

describe('the marker when neither its snapshot nor those around it are listed', () => {
  const setMain = (snapshotId: bigint): TableUpdate => ({
    action: 'set-snapshot-ref',
    refName: 'main',
    ref: { type: 'branch', snapshotId },
  });
  const change = async (...updates: TableUpdate[]): Promise<void> => {
    await catalog.commitTable(await table(), [], updates);
  };
  async function commitForeign(id = 'other'): Promise<void> {
    const other = new TestCheckpoint(id, `pipeline ${id}`);
    await commitBatch(commitContext(catalog, io, clock), other.batch(0, uuid));
  }
  async function deleteOlderMetadata(): Promise<void> {
    for (const { metadataFile } of (await table()).metadata.metadataLog) await io.delete(metadataFile);
  }
  /** The batch in flight, and the start after it was recorded. */
  async function ask(batch: BatchCommit): Promise<unknown[]> {
    const again = await commitBatch(commitContext(catalog, io, clock), batch).catch((e) => e);
    const copy = new TestCheckpoint('p1');
    for (const [id, done] of checkpoint.done) copy.done.set(id, done);
    copy.record(batch, { snapshotId: batch.snapshotId } as CommitResult);
    return [again, await checkTable(commitContext(catalog, io, clock), copy.batch(2, uuid)).catch((e) => e)];
  }
  async function commitTwo(): Promise<BatchCommit[]> {
    const first = await commitAll(1);
    const second = checkpoint.batch(1, uuid);
    await commitBatch(commitContext(catalog, io, clock), second);
    return [...first, second];
  }

  it('rolled back, written over by another, all expired: TABLE_REWOUND, told by older metadata files or without them', async () => {
    const [first, second] = await commitTwo();
    await change(setMain(first.snapshotId));
    await commitForeign();
    await change({ action: 'remove-snapshots', snapshotIds: [first.snapshotId, second.snapshotId] });
    expect((await table()).metadata.snapshots).toHaveLength(1);
    for (const error of await ask(second))
      expect(error).toMatchObject({
        code: 'TABLE_REWOUND',
        context: { lastBatch: 1 },
        message: expect.stringContaining('batch 1 was committed'),
      });
    await deleteOlderMetadata();
    for (const error of await ask(second))
      expect(error).toMatchObject({
        code: 'TABLE_REWOUND',
        message: expect.stringContaining('neither the older metadata files nor the manifests of the head'),
      });
  });

  it('another wrote on top, all below expired: held, told by older metadata files or without them', async () => {
    const [first, second] = await commitTwo();
    await commitForeign();
    await commitForeign('third');
    const head = ancestorsOf((await table()).metadata, 'main')[0].snapshotId;
    const others = (await table()).metadata.snapshots.map((s) => s.snapshotId).filter((id) => id !== head);
    expect(others).toEqual(expect.arrayContaining([first.snapshotId, second.snapshotId]));
    await change({ action: 'remove-snapshots', snapshotIds: others });
    const held = [{ alreadyCommitted: true, snapshotId: second.snapshotId }, { committed: null }];
    expect(await ask(second)).toMatchObject(held);
    await deleteOlderMetadata();
    expect(await ask(second)).toMatchObject(held);
  });

  it('its files were rewritten, all below expired: held by older metadata files', async () => {
    const [, second] = await commitTwo();
    await commitForeign();
    const { metadata } = await table();
    const head = ancestorsOf(metadata, 'main')[0];
    // As a compaction leaves it: nothing that the batch added is listed.
    const manifests = readManifestList(await io.read(head.manifestList!), '').filter(
      (m) => m.addedSnapshotId === head.snapshotId,
    );
    const location = 'memory://w/bronze/orders/metadata/snap-77-replace.avro';
    const list = writeManifestList({
      location,
      formatVersion: 2,
      snapshotId: 77n,
      parentSnapshotId: head.snapshotId,
      sequenceNumber: 4n,
      firstRowId: 0n,
      manifests,
    });
    await io.createNew(location, list.bytes);
    const snapshot = {
      snapshotId: 77n,
      parentSnapshotId: head.snapshotId,
      sequenceNumber: 4n,
      timestampMs: clock.nowMs,
      manifestList: location,
      summary: { ...head.summary, operation: 'replace' },
    };
    await change({ action: 'add-snapshot', snapshot }, setMain(77n));
    await change({ action: 'remove-snapshots', snapshotIds: metadata.snapshots.map((s) => s.snapshotId) });
    expect(await ask(second)).toMatchObject([{ alreadyCommitted: true }, { committed: null }]);
  });

  it('storage that cannot be read decides nothing', async () => {
    const [, second] = await commitTwo();
    await commitForeign();
    const below = (await table()).metadata.snapshots.map((s) => s.snapshotId);
    await commitForeign('third');
    await change({ action: 'remove-snapshots', snapshotIds: below });
    io.fail({ kind: 'read', path: /metadata\.json$/, nth: 1, when: 'before' });
    await expect(commitBatch(commitContext(catalog, io, clock), second)).rejects.toMatchObject({
      code: 'STORAGE_UNREACHABLE',
    });
  });
});

describe('two writers on one table', () => {
  it('race for 50 commits each: all 100 land once, none is lost', async () => {
    const second = new TestCheckpoint('p2', 'second');
    const otherCatalog = await openSqlite(
      join(directory, 'catalog.db'),
      'memory://w',
      catalogServices(io, clock, 'other'),
    );
    let seed = 7;
    const random = (): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed / 2 ** 31;
    };
    let conflicts = 0;
    const run = async (own: TestCheckpoint, through: SqliteCatalog): Promise<void> => {
      const context = commitContext(through, io, clock, {
        random,
        maxAttempts: 1000,
        deadlineMs: Number.POSITIVE_INFINITY,
      });
      for (let n = 0; n < 50; n++) {
        const batch = own.batch(n, uuid);
        const result = await commitBatch(context, batch);
        conflicts += result.attempts - 1;
        own.record(batch, result);
        if (random() < 0.3) await clock.sleep(Math.ceil(random() * 40));
      }
    };
    await Promise.all([run(checkpoint, catalog), run(second, otherCatalog)]);
    await otherCatalog.close();
    expect(conflicts).toBeGreaterThan(0);
    const metadata = await expectWhole(
      ['p1', 'p2'].flatMap((p) =>
        Array.from({ length: 50 }, (_, n) => `memory://w/bronze/orders/data/${p}-${n}.parquet`),
      ),
    );
    expect(ancestorsOf(metadata, 'main')).toHaveLength(100);
    expect(metadata.lastSequenceNumber).toBe(100n);
    // What lost attempts wrote is gone, and nothing else: every list and manifest in storage is one that a snapshot names.
    const named = new Set<string>();
    for (const snapshot of metadata.snapshots) named.add(snapshot.manifestList!);
    const lists: string[] = [];
    for await (const entry of io.list('memory://w/bronze/orders/metadata'))
      if (entry.path.includes('/snap-')) lists.push(entry.path);
    expect(lists.sort()).toEqual([...named].sort());
  });
});
