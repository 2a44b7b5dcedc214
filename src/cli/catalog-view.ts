import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCatalog } from '../catalog/open-catalog.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { FileIO } from '../storage/file-io.ts';
import { toLocalPath } from '../storage/local-path.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';

export interface CatalogView {
  catalog: Catalog;
  io: FileIO;
}

/** Is there a catalog at all? Looking must not make one. */
export function catalogExists(config: PipelineConfig): boolean {
  return existsSync(toLocalPath(catalogPlace(config)));
}

/** What a person calls the catalog's place: its database file, or the directory of a file catalog. */
export function catalogPlace({ catalog }: PipelineConfig): string {
  return catalog.type === 'file' ? catalog.warehouse : catalog.uri;
}

/** Opens the catalog of a pipeline for a look, and closes it again. Throws CATALOG_UNREACHABLE where there is none. */
export async function withCatalog<T>(
  config: PipelineConfig,
  look: (view: CatalogView) => Promise<T>,
): Promise<T> {
  if (!catalogExists(config)) {
    throw new SluiceError(
      'CATALOG_UNREACHABLE',
      `there is no catalog at ${catalogPlace(config)}: nothing was written by this pipeline yet`,
      { retryable: false },
    );
  }
  const io = resolveFileIO(config.catalog.warehouse);
  const catalog = await openCatalog(config.catalog, {
    io,
    now: Date.now,
    randomUuid: randomUUID,
    sleep: (ms) => sleep(ms),
  });
  try {
    return await look({ catalog, io });
  } finally {
    await catalog.close();
  }
}
