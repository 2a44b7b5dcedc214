import { SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { FileIO } from '../storage/file-io.ts';

/** Which catalog, and where. The same shape as `catalog` of a pipeline. */
export interface CatalogOptions {
  type: 'sqlite';
  /** `catalog_name` in the SQL catalog's tables. */
  name: string;
  /** The database file: a path, or `sqlite:///path`, or `file:///path`. */
  uri: string;
  /** Where new tables are put: a path or a location. */
  warehouse: string;
}

export interface CatalogServices {
  io: FileIO;
  now(): number;
  randomUuid(): string;
  sleep(ms: number): Promise<void>;
}

/** Opens the catalog. Close it when done. Throws CATALOG_UNREACHABLE, CATALOG_SCHEMA. */
export async function openCatalog(_options: CatalogOptions, _services: CatalogServices): Promise<Catalog> {
  throw new SluiceError('INTERNAL', 'openCatalog is being written');
}
