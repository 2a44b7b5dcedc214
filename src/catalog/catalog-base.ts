import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { deleteFiles } from '../iceberg/expire.ts';
import { newTableMetadata, type TableMetadata } from '../iceberg/metadata.ts';
import { assertUniqueFieldIds } from '../iceberg/schema-json.ts';
import { DEFAULT_TABLE_PROPERTIES } from '../iceberg/table-defaults.ts';
import {
  applyUpdates,
  checkRequirements,
  type TableRequirement,
  type TableUpdate,
} from '../iceberg/updates.ts';
import type { FileIO } from '../storage/file-io.ts';
import { deletesOldMetadata, withPreviousFile } from './metadata-file.ts';

export interface CatalogServices {
  io: FileIO;
  now(): number;
  randomUuid(): string;
  sleep(ms: number): Promise<void>;
  /** Told of what went wrong and harms no commit. */
  warn?(message: string, context?: object): void;
}

/**
 * What every catalog of metadata files does alike: applying and checking updates, the log of metadata files and its
 * cleaning. The subclass finds the newest file of a table and puts the next one in its place.
 */
export abstract class CatalogBase implements Catalog {
  abstract readonly name: string;
  protected readonly services: CatalogServices;
  /** Without a slash at its end. */
  protected readonly warehouse: string;

  constructor(warehouse: string, services: CatalogServices) {
    this.services = services;
    this.warehouse = warehouse.replace(/(?<=[^/])\/+$/, '');
  }

  abstract createNamespace(namespace: readonly string[]): Promise<void>;
  abstract listNamespaces(): Promise<string[][]>;
  abstract listTables(namespace: readonly string[]): Promise<TableIdentifier[]>;
  abstract dropTable(identifier: TableIdentifier): Promise<void>;
  abstract close(): Promise<void>;

  /** Where the table's newest metadata file is; undefined where there is no such table. */
  protected abstract pointer(identifier: TableIdentifier): Promise<string | undefined>;
  /** The content of a metadata file. */
  protected abstract metadataAt(location: string): Promise<TableMetadata>;
  /** Where a new table is put. Throws for a location that the catalog cannot give. */
  protected abstract locationOf(identifier: TableIdentifier, asked: string | undefined): Promise<string>;
  /** Writes the first metadata file and enters the table: its location, or undefined where the name is taken and nothing stayed behind. */
  protected abstract publishFirst(
    identifier: TableIdentifier,
    metadata: TableMetadata,
  ): Promise<string | undefined>;
  /**
   * Compare-and-set: writes `metadata` as the file after that of `base` and makes it the newest. Its location, or
   * undefined where `base` is no longer the newest: proof that nothing was changed. Throws with an outcome else.
   */
  protected abstract publishNext(base: LoadedTable, metadata: TableMetadata): Promise<string | undefined>;

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    let gone: string | undefined;
    for (;;) {
      const location = await this.pointer(identifier);
      if (location === undefined) return undefined;
      try {
        return { identifier, metadata: await this.metadataAt(location), metadataLocation: location };
      } catch (e) {
        // Another writer may have committed and cleaned up between the two steps; the same pointer twice is a loss.
        if (!isSluiceError(e, 'FILE_NOT_FOUND') || location === gone) throw e;
        gone = location;
      }
    }
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    assertIdentifier(identifier);
    assertUniqueFieldIds(request.schema, `schema of table ${nameOf(identifier)}`);
    if ((await this.pointer(identifier)) !== undefined) throw tableExists(identifier);
    await this.createNamespace(identifier.namespace);
    const { now, randomUuid } = this.services;
    const metadata = newTableMetadata({
      tableUuid: randomUuid(),
      location: await this.locationOf(identifier, request.location),
      schema: request.schema,
      partitionSpec: request.partitionSpec,
      sortOrder: request.sortOrder,
      properties: { ...DEFAULT_TABLE_PROPERTIES, ...request.properties },
      formatVersion: request.formatVersion,
      nowMs: now(),
    });
    const location = await this.publishFirst(identifier, metadata);
    if (location === undefined) throw tableExists(identifier);
    return { identifier, metadata, metadataLocation: location };
  }

  async commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable> {
    const { now } = this.services;
    const { identifier } = base;
    checkRequirements(base.metadata, requirements, nameOf(identifier));
    if (updates.length === 0) return base;
    const updated = applyUpdates(base.metadata, updates, now());
    const { metadata, dropped } = withPreviousFile(updated, base.metadata, base.metadataLocation);
    const location = await this.publishNext(base, metadata);
    if (location === undefined) throw await this.#conflict(base);
    // A file that stays behind costs space and nothing else: the next commits do not look at it.
    if (deletesOldMetadata(metadata)) await this.deleteMetadata(dropped.map((entry) => entry.metadataFile));
    return { identifier, metadata, metadataLocation: location };
  }

  /** Metadata files that no log names any more; never throws. */
  protected async deleteMetadata(locations: readonly string[]): Promise<void> {
    await deleteFiles(this.services.io, locations);
  }

  async #conflict(base: LoadedTable): Promise<SluiceError> {
    const table = nameOf(base.identifier);
    const found = await this.pointer(base.identifier).catch(() => 'unknown');
    return new SluiceError(
      'COMMIT_CONFLICT',
      `table ${table}: expected metadata ${base.metadataLocation}, found ${found ?? 'no such table'}`,
      {
        outcome: 'not-applied',
        context: { table, expected: base.metadataLocation, found },
      },
    );
  }
}

/** For what comes before the one step that commits: whatever fails in it, nothing has been applied. */
export async function notApplied<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (e) {
    if (!isSluiceError(e)) throw e;
    throw new SluiceError(e.code, e.message.slice(e.code.length + 2), {
      retryable: e.retryable,
      outcome: 'not-applied',
      context: e.context,
      cause: e,
    });
  }
}

export function nameOf(identifier: TableIdentifier): string {
  return [...identifier.namespace, identifier.name].join('.');
}

/** Throws CATALOG_ERROR for a name that the catalog could not tell from another. */
export function assertIdentifier(identifier: TableIdentifier): void {
  const bad =
    identifier.namespace.length === 0 ||
    [...identifier.namespace, identifier.name].some(
      (part) => part === '' || part.includes('.') || part.includes('/'),
    );
  if (!bad) return;
  throw new SluiceError(
    'CATALOG_ERROR',
    `table ${JSON.stringify(nameOf(identifier))}: a table needs a namespace and a name, neither empty nor with a dot or slash within a level`,
  );
}

function tableExists(identifier: TableIdentifier): SluiceError {
  return new SluiceError('TABLE_EXISTS', `table ${nameOf(identifier)} exists already`, {
    context: { table: nameOf(identifier) },
  });
}
