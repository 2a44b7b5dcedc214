import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { databasePath, openCatalog, warehouseLocation } from '../../../src/catalog/open-catalog.ts';
import { SqliteCatalog } from '../../../src/catalog/sqlite-catalog.ts';
import { SqliteDatabase } from '../../../src/catalog/sqlite-database.ts';
import type { TableIdentifier } from '../../../src/iceberg/catalog.ts';
import { nodeLocalFs } from '../../../src/storage/local-fs.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import {
  catalogServices,
  ORDERS,
  openSqlite,
  ordersRequest,
  TestClock,
} from '../../support/iceberg-fixture.ts';

let directory: string;
let path: string;
let io: MemoryFileIO;
let clock: TestClock;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
  path = join(directory, 'catalog.db');
  io = new MemoryFileIO();
  clock = new TestClock();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (name = 'sluice'): Promise<SqliteCatalog> =>
  openSqlite(path, 'memory://w', catalogServices(io, clock, name), name);
const sql = (text: string, ...parameters: string[]): Record<string, unknown>[] => {
  const db = new DatabaseSync(path);
  const rows = db.prepare(text).all(...parameters) as Record<string, unknown>[];
  db.close();
  return rows;
};
const KEY = 'PRIMARY KEY (catalog_name, table_namespace, table_name)';
const COLUMNS =
  'catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000)';
const columnNames = (): unknown[] =>
  sql("SELECT name FROM pragma_table_info('iceberg_tables')").map((r) => r['name']);

/** Makes the file as another client does, with one table of ours in it. */
async function fileOf(version: 'V0' | 'V1'): Promise<string> {
  const catalog = await open();
  const table = await catalog.createTable(ORDERS, ordersRequest());
  await catalog.close();
  sql('DROP TABLE iceberg_tables');
  sql(
    `CREATE TABLE iceberg_tables (${COLUMNS}, ${version === 'V1' ? 'iceberg_type VARCHAR(5), ' : ''}${KEY})`,
  );
  sql(
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('sluice', 'bronze', 'orders', ?)",
    table.metadataLocation,
  );
  return table.metadataLocation;
}

describe('files of other clients (C27)', () => {
  it.each(['V0', 'V1'] as const)(
    '%s, the row without a type: list, load, commit, create, drop, and no ALTER',
    async (version) => {
      const location = await fileOf(version);
      const before = columnNames();
      const catalog = await open();
      expect(await catalog.listTables(['bronze'])).toEqual([ORDERS]);
      const loaded = (await catalog.loadTable(ORDERS))!;
      expect(loaded.metadataLocation).toBe(location);
      const committed = await catalog.commitTable(
        loaded,
        [],
        [{ action: 'set-properties', updates: { a: 'b' } }],
      );
      expect(sql('SELECT metadata_location, previous_metadata_location FROM iceberg_tables')).toEqual([
        expect.objectContaining({
          metadata_location: committed.metadataLocation,
          previous_metadata_location: location,
        }),
      ]);
      const second: TableIdentifier = { namespace: ['bronze'], name: 'second' };
      await catalog.createTable(second, ordersRequest());
      expect((await catalog.listTables(['bronze'])).map((t) => t.name)).toEqual(['orders', 'second']);
      await catalog.dropTable(ORDERS);
      expect(await catalog.loadTable(ORDERS)).toBeUndefined();
      await catalog.close();
      expect(columnNames()).toEqual(before);
    },
  );

  it('V1 with a table and a view: the view is not offered as a table, nor overwritten, nor dropped as one', async () => {
    const location = await fileOf('V1');
    sql("UPDATE iceberg_tables SET iceberg_type = 'TABLE'");
    sql("INSERT INTO iceberg_tables VALUES ('sluice', 'bronze', 'a_view', ?, NULL, 'VIEW')", location);
    const catalog = await open();
    const view: TableIdentifier = { namespace: ['bronze'], name: 'a_view' };
    expect(await catalog.listTables(['bronze'])).toEqual([ORDERS]);
    expect(await catalog.loadTable(view)).toBeUndefined();
    await expect(catalog.createTable(view, ordersRequest())).rejects.toMatchObject({ code: 'TABLE_EXISTS' });
    await expect(catalog.dropTable(view)).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' });
    await expect(
      catalog.commitTable(
        { ...(await catalog.loadTable(ORDERS))!, identifier: view },
        [],
        [{ action: 'set-properties', updates: {} }],
      ),
    ).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' });
    await catalog.close();
    expect(sql("SELECT metadata_location FROM iceberg_tables WHERE table_name = 'a_view'")).toEqual([
      expect.objectContaining({ metadata_location: location }),
    ]);
  });

  it('a pointer that moved is a conflict, not a success', async () => {
    await fileOf('V0');
    const catalog = await open();
    const loaded = (await catalog.loadTable(ORDERS))!;
    sql("UPDATE iceberg_tables SET metadata_location = 'memory://elsewhere'");
    await expect(
      catalog.commitTable(loaded, [], [{ action: 'set-properties', updates: { a: 'b' } }]),
    ).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' });
    await catalog.close();
    expect(sql('SELECT metadata_location FROM iceberg_tables')[0]['metadata_location']).toBe(
      'memory://elsewhere',
    );
  });

  it('new files have the type column, and every row is scoped by the catalog', async () => {
    const one = await open('one');
    await one.createTable(ORDERS, ordersRequest());
    const two = await open('two');
    expect(await two.loadTable(ORDERS)).toBeUndefined();
    expect(await two.listNamespaces()).toEqual([]);
    await two.createTable(ORDERS, ordersRequest({}, 3));
    expect((await one.loadTable(ORDERS))!.metadata.formatVersion).toBe(2);
    await one.dropTable(ORDERS);
    expect(await two.loadTable(ORDERS)).toBeDefined();
    await one.close();
    await two.close();
    expect(columnNames()).toContain('iceberg_type');
    expect(sql('SELECT catalog_name, iceberg_type FROM iceberg_tables')).toEqual([
      expect.objectContaining({ catalog_name: 'two', iceberg_type: 'TABLE' }),
    ]);
  });

  it('a namespace with a location of its own puts its tables there', async () => {
    const catalog = await open();
    await catalog.createNamespace(['bronze']);
    sql(
      "INSERT INTO iceberg_namespace_properties VALUES ('sluice', 'bronze', 'location', 'memory://its/own/')",
    );
    expect((await catalog.createTable(ORDERS, ordersRequest())).metadata.location).toBe(
      'memory://its/own/orders',
    );
    await catalog.close();
  });
});

describe('faults', () => {
  it('a file that is no database, a database of something else, a catalog without a column', async () => {
    writeFileSync(path, 'this is not a database, however long it may be'.repeat(100));
    await expect(open()).rejects.toMatchObject({ code: 'CATALOG_SCHEMA' });
    rmSync(path);
    sql('CREATE TABLE customers (id INTEGER)');
    await expect(open()).rejects.toMatchObject({
      code: 'CATALOG_SCHEMA',
      message: expect.stringContaining('customers'),
    });
    expect(sql("SELECT name FROM sqlite_master WHERE type = 'table'")).toHaveLength(1);
    rmSync(path);
    sql('CREATE TABLE iceberg_tables (catalog_name TEXT, table_name TEXT)');
    await expect(open()).rejects.toMatchObject({
      code: 'CATALOG_SCHEMA',
      context: { missing: ['table_namespace', 'metadata_location', 'previous_metadata_location'] },
    });
  });

  it('locked by another process: waits for it, then CATALOG_UNREACHABLE with nothing changed', async () => {
    const catalog = await SqliteCatalog.open(
      { name: 'sluice', path, warehouse: 'memory://w', busyLimitMs: 300 },
      catalogServices(io, clock),
    );
    const table = await catalog.createTable(ORDERS, ordersRequest());
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const commit = (): Promise<unknown> =>
      catalog.commitTable(table, [], [{ action: 'set-properties', updates: { a: 'b' } }]);
    await expect(commit()).rejects.toMatchObject({
      code: 'CATALOG_UNREACHABLE',
      outcome: 'not-applied',
      retryable: true,
    });
    expect(clock.waits).toBeGreaterThan(1);
    // The metadata file of the failed commit is gone: it was proven that it did not land.
    const files: string[] = [];
    for await (const entry of io.list('memory://w')) files.push(entry.path);
    expect(files).toEqual([table.metadataLocation]);
    const release = clock.sleep;
    Object.assign(clock, {
      sleep: async (ms: number) => {
        if (other.isTransaction) other.exec('ROLLBACK');
        await release(ms);
      },
    });
    const patient = await SqliteCatalog.open(
      { name: 'sluice', path, warehouse: 'memory://w' },
      catalogServices(io, clock, 'patient'),
    );
    await patient.commitTable(
      (await patient.loadTable(ORDERS))!,
      [],
      [{ action: 'set-properties', updates: { a: 'b' } }],
    );
    expect((await catalog.loadTable(ORDERS))!.metadata.properties['a']).toBe('b');
    other.close();
    await patient.close();
    await catalog.close();
  });

  it('a refusal within the database is an error and changes nothing', async () => {
    const catalog = await open();
    const table = await catalog.createTable(ORDERS, ordersRequest());
    sql(
      "CREATE TRIGGER full BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END",
    );
    await expect(
      catalog.commitTable(table, [], [{ action: 'set-properties', updates: { a: 'b' } }]),
    ).rejects.toThrow('refused by a trigger');
    expect((await catalog.loadTable(ORDERS))!.metadataLocation).toBe(table.metadataLocation);
    await catalog.close();
  });

  it('names that the catalog has no room for are refused before anything is written', async () => {
    const catalog = await open();
    await expect(
      catalog.createTable({ namespace: ['x'.repeat(300)], name: 't' }, ordersRequest()),
    ).rejects.toMatchObject({
      code: 'CATALOG_ERROR',
      message: expect.stringContaining('300 characters'),
    });
    await catalog.close();
  });
});

describe('a database file', () => {
  it('a full disk (a limit of pages): STORAGE_FULL, not applied', async () => {
    const db = SqliteDatabase.open(path, { busyLimitMs: 0, sleep: clock.sleep });
    await db.execute('CREATE TABLE t (text)');
    await db.query('PRAGMA max_page_count = 3');
    await expect(db.execute('INSERT INTO t VALUES (?)', 'x'.repeat(100_000))).rejects.toMatchObject({
      code: 'STORAGE_FULL',
      outcome: 'not-applied',
    });
    expect(await db.query('SELECT count(*) AS n FROM t')).toEqual([expect.objectContaining({ n: 0 })]);
    db.close();
  });

  it('read-only: CATALOG_ERROR, not applied', async () => {
    const db = SqliteDatabase.open(path, { busyLimitMs: 0, sleep: clock.sleep });
    await db.execute('CREATE TABLE t (text)');
    await db.query('PRAGMA query_only = 1');
    await expect(db.execute('INSERT INTO t VALUES (1)')).rejects.toMatchObject({
      code: 'CATALOG_ERROR',
      outcome: 'not-applied',
    });
    db.close();
  });

  it('a directory in its place: CATALOG_UNREACHABLE', () => {
    expect(() => SqliteDatabase.open(directory, { busyLimitMs: 0, sleep: clock.sleep })).toThrow(
      'CATALOG_UNREACHABLE',
    );
  });
});

describe('where things are', () => {
  it('paths and URIs of the database', () => {
    expect(databasePath('/a/b.db')).toBe('/a/b.db');
    expect(databasePath('sqlite:////a/b.db')).toBe('/a/b.db');
    expect(databasePath('jdbc:sqlite:/a/b.db')).toBe('/a/b.db');
    expect(databasePath('file:///a/b%20c.db')).toBe('/a/b%20c.db');
    expect(databasePath('sqlite:///b.db')).toBe(join(process.cwd(), 'b.db'));
    expect(() => databasePath('sqlite:///:memory:')).toThrow('CONFIG_INVALID');
    expect(() => databasePath('')).toThrow('CONFIG_INVALID');
  });

  it('a local warehouse becomes a file: location, taken literally', () => {
    expect(warehouseLocation('/data/ware house')).toBe('file:///data/ware house');
    expect(warehouseLocation('file:/data')).toBe('file:///data');
    expect(warehouseLocation('file:///data')).toBe('file:///data');
    expect(warehouseLocation('s3://bucket/x')).toBe('s3://bucket/x');
    expect(warehouseLocation('ware')).toBe(`file://${join(process.cwd(), 'ware')}`);
  });

  it('opens a catalog whose directory is not there yet', async () => {
    const catalog = await openCatalog(
      { type: 'sqlite', name: 'c', uri: join(directory, 'new', 'dir', 'catalog.db'), warehouse: directory },
      catalogServices(io, clock),
    );
    expect((await catalog.createTable(ORDERS, ordersRequest())).metadata.location).toBe(
      `file://${directory}/bronze/orders`,
    );
    await catalog.close();
  });
});

describe('power loss', () => {
  it('a commit syncs the directory after the journal is gone: synchronous is EXTRA', async () => {
    const db = SqliteDatabase.open(path, { busyLimitMs: 0, sleep: clock.sleep });
    expect(await db.query('PRAGMA synchronous')).toEqual([{ synchronous: 3 }]);
    db.close();
  });

  it('every directory that leads to a new catalog is synced in the one above it, the new ones first', async () => {
    const synced = vi.spyOn(nodeLocalFs, 'syncDirectory');
    try {
      const inner = join(directory, 'a', 'b');
      const catalog = await openCatalog(
        { type: 'sqlite', name: 'sluice', uri: join(inner, 'catalog.db'), warehouse: 'memory://w' },
        catalogServices(io, clock),
      );
      await catalog.close();
      expect(synced.mock.calls.slice(0, 2)).toEqual([[join(directory, 'a')], [directory]]);
    } finally {
      synced.mockRestore();
    }
  });
});
