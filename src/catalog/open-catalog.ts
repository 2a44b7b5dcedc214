import { dirname, resolve } from 'node:path';
import { messageOf, SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import { DurableDirectories } from '../storage/durable-directories.ts';
import { nodeLocalFs } from '../storage/local-fs.ts';
import type { CatalogServices } from './catalog-base.ts';
import { FileCatalog } from './file-catalog.ts';
import { SqliteCatalog } from './sqlite-catalog.ts';

export type { CatalogServices } from './catalog-base.ts';

/** Which catalog, and where. The same shape as `catalog` of a pipeline. */
export type CatalogOptions = SqliteOptions | FileOptions;

interface SqliteOptions {
  type: 'sqlite';
  /** `catalog_name` in the SQL catalog's tables. */
  name: string;
  /** The database file: a path, `file:///path`, or `sqlite:///path` as SQLAlchemy and PyIceberg write it. */
  uri: string;
  /** Where new tables are put: a path or a location. */
  warehouse: string;
}

interface FileOptions {
  type: 'file';
  /** For messages. */
  name: string;
  /** Where the tables are: a path or a location. */
  warehouse: string;
}

/**
 * Opens the catalog, making the file of an SQL catalog and its directory where they are missing; a file catalog needs
 * nothing but its warehouse, which its first table makes. Close it when done. Throws CATALOG_UNREACHABLE,
 * CATALOG_SCHEMA, CONFIG_INVALID.
 */
export async function openCatalog(options: CatalogOptions, services: CatalogServices): Promise<Catalog> {
  if (options.type === 'file')
    return new FileCatalog({ name: options.name, warehouse: warehouseLocation(options.warehouse) }, services);
  const path = databasePath(options.uri);
  try {
    // A catalog that a power loss takes away with its new directory would take every table with it.
    await new DurableDirectories(nodeLocalFs).ensure(dirname(path));
  } catch (e) {
    throw new SluiceError(
      'CATALOG_UNREACHABLE',
      `the directory of catalog ${path} cannot be made: ${messageOf(e)}`,
      { retryable: false, cause: e, context: { path } },
    );
  }
  return SqliteCatalog.open(
    { name: options.name, path, warehouse: warehouseLocation(options.warehouse) },
    services,
  );
}

/** The file behind a path or URI. SQLAlchemy: three slashes begin a relative path, four an absolute one. */
export function databasePath(uri: string): string {
  const sqlite = /^(?:jdbc:)?sqlite:(?:\/\/\/)?(.*)$/.exec(uri);
  const path =
    sqlite === null ? uri.replace(/^file:\/\/(?:localhost)?(?=\/)/, '').replace(/^file:/, '') : sqlite[1];
  if (path === '' || path === ':memory:')
    throw new SluiceError('CONFIG_INVALID', `catalog.uri "${uri}": expected the path of a file`);
  return resolve(path);
}

/**
 * A local warehouse as `file:///absolute/path`. Java's Hadoop would look for a bare path in its default file system,
 * which may be HDFS; PyIceberg, DuckDB and Java all read `file://`, and take it literally, without percent-decoding.
 */
export function warehouseLocation(warehouse: string): string {
  if (/^[A-Za-z][A-Za-z0-9+.-]+:\//.test(warehouse)) {
    return warehouse.replace(/^file:\/(?!\/)/, 'file:///');
  }
  return `file://${resolve(warehouse)}`;
}
