/** The one suite of catalogs: `describeCatalog` runs it over an implementation. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog, LoadedTable } from '../../src/iceberg/catalog.ts';
import { newSnapshotId } from '../../src/iceberg/snapshot-id.ts';
import type { TableUpdate } from '../../src/iceberg/updates.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { ORDERS, ORDERS_SCHEMA, ordersRequest, uuids } from '../support/iceberg-fixture.ts';

export interface CatalogUnderTest {
  catalog: Catalog;
  /** A second client of the same catalog. */
  other: Catalog;
  io: FileIO;
  /** Is the metadata file the table's only entry, so that it goes with the table? The data files stay in any case. */
  dropsMetadata?: boolean;
  /** Closes both and removes what was made. */
  dispose(): Promise<void>;
}

const setProperty = (key: string, value: string): TableUpdate[] => [
  { action: 'set-properties', updates: { [key]: value } },
];

export function describeCatalog(name: string, open: () => Promise<CatalogUnderTest>): void {
  describe(`catalog: ${name}`, () => {
    let under: CatalogUnderTest;
    let catalog: Catalog;
    const uuid = uuids('contract');

    beforeEach(async () => {
      under = await open();
      catalog = under.catalog;
    });
    afterEach(() => under.dispose());

    const create = (): Promise<LoadedTable> => catalog.createTable(ORDERS, ordersRequest());

    /** Every 64-bit id as it is, over a load by another client. */
    function snapshotUpdates(table: LoadedTable, snapshotId = newSnapshotId(uuid())): TableUpdate[] {
      const { metadata } = table;
      return [
        {
          action: 'add-snapshot',
          snapshot: {
            snapshotId,
            parentSnapshotId: metadata.currentSnapshotId,
            sequenceNumber: metadata.lastSequenceNumber + 1n,
            timestampMs: metadata.lastUpdatedMs + 1,
            manifestList: `${metadata.location}/metadata/snap-${snapshotId}.avro`,
            summary: { operation: 'append' },
            schemaId: metadata.currentSchemaId,
          },
        },
        { action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId } },
      ];
    }

    it('a new catalog is empty', async () => {
      expect(await catalog.listNamespaces()).toEqual([]);
      expect(await catalog.loadTable(ORDERS)).toBeUndefined();
    });

    it('creates a table with its namespace, seen by another client', async () => {
      const created = await create();
      expect(created.metadata.tableUuid).toMatch(/^[0-9a-f-]{36}$/);
      const loaded = (await under.other.loadTable(ORDERS))!;
      expect(loaded.metadata).toEqual(created.metadata);
      expect(loaded.metadataLocation).toBe(created.metadataLocation);
      expect(loaded.metadata.currentSnapshotId).toBeNull();
      expect(loaded.metadata.schemas[0].fields).toEqual(ORDERS_SCHEMA.fields);
      expect(loaded.metadata.properties).toMatchObject({
        'write.metadata.delete-after-commit.enabled': 'true',
      });
      expect(await catalog.listNamespaces()).toEqual([['bronze']]);
      expect(await catalog.listTables(['bronze'])).toEqual([ORDERS]);
      expect(await catalog.listTables(['silver'])).toEqual([]);
    });

    it('TABLE_EXISTS for a name that is taken, also when two create it at once', async () => {
      const results = await Promise.allSettled([
        catalog.createTable(ORDERS, ordersRequest()),
        under.other.createTable(ORDERS, ordersRequest()),
      ]);
      const failed = results.filter((r) => r.status === 'rejected');
      expect(failed).toHaveLength(1);
      expect(failed[0].reason).toMatchObject({ code: 'TABLE_EXISTS' });
      await expect(create()).rejects.toMatchObject({ code: 'TABLE_EXISTS' });
      const winner = (await catalog.loadTable(ORDERS))!;
      expect(winner.metadata.tableUuid).toBe(
        (results.find((r) => r.status === 'fulfilled') as PromiseFulfilledResult<LoadedTable>).value.metadata
          .tableUuid,
      );
    });

    it('namespaces: made once, nested, listed once', async () => {
      await catalog.createNamespace(['a', 'b']);
      await catalog.createNamespace(['a', 'b']);
      await create();
      expect((await catalog.listNamespaces()).sort()).toEqual([['a', 'b'], ['bronze']]);
      const nested = { namespace: ['a', 'b'], name: 't' };
      await catalog.createTable(nested, ordersRequest());
      expect(await catalog.listTables(['a', 'b'])).toEqual([nested]);
    });

    it('drops a table, whose files stay; TABLE_NOT_FOUND for one that is not there', async () => {
      const created = await create();
      const data = `${created.metadata.location}/data/file.parquet`;
      await under.io.createNew(data, new Uint8Array(1));
      await catalog.dropTable(ORDERS);
      expect(await under.other.loadTable(ORDERS)).toBeUndefined();
      expect(await catalog.listTables(['bronze'])).toEqual([]);
      expect(await under.io.stat(data)).toBeDefined();
      if (under.dropsMetadata !== true) expect(await under.io.stat(created.metadataLocation)).toBeDefined();
      await expect(catalog.dropTable(ORDERS)).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' });
    });

    it('commits a list of updates as one, seen by another client', async () => {
      const table = await create();
      const snapshotId = 6917529027641081857n;
      const committed = await catalog.commitTable(
        table,
        [
          { type: 'assert-table-uuid', uuid: table.metadata.tableUuid },
          { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: null },
        ],
        [...snapshotUpdates(table, snapshotId), ...setProperty('owner', 'us')],
      );
      expect(committed.metadata.currentSnapshotId).toBe(snapshotId);
      const loaded = (await under.other.loadTable(ORDERS))!;
      expect(loaded.metadata).toEqual(committed.metadata);
      expect(loaded.metadata.properties['owner']).toBe('us');
      expect(loaded.metadata.snapshotLog).toEqual([
        { snapshotId, timestampMs: loaded.metadata.snapshots[0].timestampMs },
      ]);
      expect(loaded.metadata.lastSequenceNumber).toBe(1n);
      expect(loaded.metadata.metadataLog.map((e) => e.metadataFile)).toEqual([table.metadataLocation]);
    });

    it('COMMIT_CONFLICT where a requirement does not hold, and nothing is changed', async () => {
      const table = await create();
      const requirements = [
        { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: 5n },
        { type: 'assert-table-uuid', uuid: uuid() },
        { type: 'assert-create' },
        { type: 'assert-current-schema-id', currentSchemaId: 7 },
        { type: 'assert-default-spec-id', defaultSpecId: 7 },
        { type: 'assert-last-assigned-field-id', lastAssignedFieldId: 3 },
      ] as const;
      for (const requirement of requirements) {
        await expect(catalog.commitTable(table, [requirement], setProperty('x', 'y'))).rejects.toMatchObject({
          code: 'COMMIT_CONFLICT',
          outcome: 'not-applied',
          retryable: true,
        });
      }
      expect((await under.other.loadTable(ORDERS))!.metadata.properties['x']).toBeUndefined();
    });

    it('COMMIT_CONFLICT on a base that another client has moved; its metadata file does not stay behind', async () => {
      const base = await create();
      await under.other.commitTable((await under.other.loadTable(ORDERS))!, [], setProperty('first', 'yes'));
      await expect(catalog.commitTable(base, [], setProperty('second', 'no'))).rejects.toMatchObject({
        code: 'COMMIT_CONFLICT',
        outcome: 'not-applied',
      });
      const now = (await catalog.loadTable(ORDERS))!;
      expect(now.metadata.properties).toMatchObject({ first: 'yes' });
      expect(now.metadata.properties['second']).toBeUndefined();
      const files: string[] = [];
      for await (const entry of under.io.list(`${now.metadata.location}/metadata`)) files.push(entry.path);
      expect(files.filter((path) => !path.endsWith('/version-hint.text')).sort()).toEqual(
        [base.metadataLocation, now.metadataLocation].sort(),
      );
    });

    it('COMMIT_CONFLICT on a table that was dropped, or dropped and made anew', async () => {
      const base = await create();
      await under.other.dropTable(ORDERS);
      await expect(catalog.commitTable(base, [], setProperty('a', 'b'))).rejects.toMatchObject({
        code: 'COMMIT_CONFLICT',
      });
      await under.other.createTable(ORDERS, ordersRequest());
      await expect(catalog.commitTable(base, [], setProperty('a', 'b'))).rejects.toMatchObject({
        code: 'COMMIT_CONFLICT',
      });
    });

    it('of ten commits at once on one base exactly one lands', async () => {
      const base = await create();
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) =>
          (n % 2 === 0 ? catalog : under.other).commitTable(base, [], setProperty('winner', String(n))),
        ),
      );
      expect(results.filter((r) => r.status === 'fulfilled')).toHaveLength(1);
      for (const r of results)
        if (r.status === 'rejected') expect(r.reason).toMatchObject({ code: 'COMMIT_CONFLICT' });
    });

    it('an update that does not fit is METADATA_INVALID and changes nothing', async () => {
      const base = await create();
      await expect(
        catalog.commitTable(
          base,
          [],
          [{ action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId: 9n } }],
        ),
      ).rejects.toMatchObject({ code: 'METADATA_INVALID' });
      expect((await catalog.loadTable(ORDERS))!.metadataLocation).toBe(base.metadataLocation);
    });

    it('keeps as many old metadata files as the table says', async () => {
      let table = await catalog.createTable(
        ORDERS,
        ordersRequest({ 'write.metadata.previous-versions-max': '3' }),
      );
      const locations = [table.metadataLocation];
      for (let n = 0; n < 6; n++) {
        table = await catalog.commitTable(table, [], setProperty('n', String(n)));
        locations.push(table.metadataLocation);
      }
      expect(table.metadata.metadataLog.map((e) => e.metadataFile)).toEqual(locations.slice(-4, -1));
      const there = await Promise.all(locations.map(async (l) => (await under.io.stat(l)) !== undefined));
      expect(there).toEqual([false, false, false, true, true, true, true]);
    });

    it('keeps them all where cleaning is off', async () => {
      let table = await catalog.createTable(
        ORDERS,
        ordersRequest({
          'write.metadata.delete-after-commit.enabled': 'false',
          'write.metadata.previous-versions-max': '1',
        }),
      );
      const first = table.metadataLocation;
      for (let n = 0; n < 3; n++) table = await catalog.commitTable(table, [], setProperty('n', String(n)));
      expect(await under.io.stat(first)).toBeDefined();
      expect(table.metadata.metadataLog).toHaveLength(1);
    });

    it('refuses names that it could not tell apart', async () => {
      for (const identifier of [
        { namespace: [], name: 't' },
        { namespace: ['a.b'], name: 't' },
        { namespace: ['a'], name: '' },
        { namespace: ['a'], name: 'b.c' },
      ]) {
        await expect(catalog.createTable(identifier, ordersRequest())).rejects.toMatchObject({
          code: 'CATALOG_ERROR',
        });
      }
    });
  });
}
