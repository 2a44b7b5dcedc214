import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileCatalog } from '../../src/catalog/file-catalog.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import { FaultyCatalog } from '../support/faulty-catalog.ts';
import { catalogServices, openSqlite, TestClock } from '../support/iceberg-fixture.ts';
import { type CatalogUnderTest, describeCatalog } from './catalog.ts';

async function sqlite(local: boolean, wrap: boolean): Promise<CatalogUnderTest> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-catalog-'));
  const clock = new TestClock();
  const io = local ? new LocalFileIO() : new MemoryFileIO();
  const warehouse = local ? `file://${directory}/warehouse` : 'memory://warehouse';
  const own = await openSqlite(join(directory, 'catalog.db'), warehouse, catalogServices(io, clock, 'one'));
  const other = await openSqlite(join(directory, 'catalog.db'), warehouse, catalogServices(io, clock, 'two'));
  return {
    catalog: wrap ? new FaultyCatalog(own) : own,
    other,
    io,
    dispose: async () => {
      await own.close();
      await other.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function files(wrap: boolean): Promise<CatalogUnderTest> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-catalog-'));
  const clock = new TestClock();
  const io = new LocalFileIO();
  const open = (seed: string) =>
    new FileCatalog(
      { name: 'sluice', warehouse: `file://${directory}/warehouse` },
      catalogServices(io, clock, seed),
    );
  const own = open('one');
  return {
    catalog: wrap ? new FaultyCatalog(own) : own,
    other: open('two'),
    io,
    dropsMetadata: true,
    dispose: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

describeCatalog('file, local files', () => files(false));
describeCatalog('file behind a catalog that fails when told, and is not told', () => files(true));
describeCatalog('sqlite, local files', () => sqlite(true, false));
describeCatalog('sqlite, memory', () => sqlite(false, false));
describeCatalog('sqlite behind a catalog that fails when told, and is not told', () => sqlite(false, true));
