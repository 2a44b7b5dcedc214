import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { deleteFiles } from '../iceberg/expire.ts';
import { newTableMetadata, type TableMetadata } from '../iceberg/metadata.ts';
import { readMetadataFile } from '../iceberg/metadata-file.ts';
import { assertUniqueFieldIds } from '../iceberg/schema-json.ts';
import { DEFAULT_TABLE_PROPERTIES } from '../iceberg/table-defaults.ts';
import {
  applyUpdates,
  checkRequirements,
  type TableRequirement,
  type TableUpdate,
} from '../iceberg/updates.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';
import {
  deletesOldMetadata,
  newMetadataLocation,
  withPreviousFile,
  writeMetadataFile,
} from './metadata-file.ts';

export interface CatalogServices {
  io: FileIO;
  now(): number;
  randomUuid(): string;
  sleep(ms: number): Promise<void>;
}

/** Tables whose parsed metadata is kept, so that a commit does not read back what the last one wrote. */
const CACHED_TABLES = 256;

/**
 * A catalog that keeps one pointer per table and swaps it (SQL, Glue, files). The subclass reads and swaps the pointer;
 * writing, applying, checking and cleaning metadata files are here.
 *
 * A new metadata file is deleted only where the swap is proven not to have happened.
 */
export abstract class CatalogBase implements Catalog {
  abstract readonly name: string;
  protected readonly services: CatalogServices;
  readonly #warehouse: string;
  readonly #cache = new Map<string, TableMetadata>();

  constructor(warehouse: string, services: CatalogServices) {
    this.services = services;
    this.#warehouse = warehouse.replace(/(?<=[^/])\/+$/, '');
  }

  abstract createNamespace(namespace: readonly string[]): Promise<void>;
  abstract listNamespaces(): Promise<string[][]>;
  abstract listTables(namespace: readonly string[]): Promise<TableIdentifier[]>;
  abstract dropTable(identifier: TableIdentifier): Promise<void>;
  abstract close(): Promise<void>;

  /** Where the table's newest metadata file is; undefined where there is no such table. */
  protected abstract pointer(identifier: TableIdentifier): Promise<string | undefined>;
  /** Enters a new table. False where one of the name is there already. */
  protected abstract insertPointer(identifier: TableIdentifier, location: string): Promise<boolean>;
  /** Compare-and-set. False where the pointer was no longer `expected`: proof that nothing was changed. */
  protected abstract swapPointer(
    identifier: TableIdentifier,
    expected: string,
    next: string,
  ): Promise<boolean>;
  /** The `location` property of a namespace, where it has one. */
  protected abstract namespaceLocation(namespace: readonly string[]): Promise<string | undefined>;

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    let gone: string | undefined;
    for (;;) {
      const location = await this.pointer(identifier);
      if (location === undefined) return undefined;
      try {
        return { identifier, metadata: await this.#metadata(location), metadataLocation: location };
      } catch (e) {
        // Another writer may have committed and cleaned up between the two steps; the same pointer twice is a loss.
        if (!isSluiceError(e, 'FILE_NOT_FOUND') || location === gone) throw e;
        gone = location;
      }
    }
  }

  async #metadata(location: string): Promise<TableMetadata> {
    const metadata = this.#cache.get(location) ?? (await readMetadataFile(this.services.io, location));
    this.#remember(location, metadata);
    return metadata;
  }

  /** Metadata files are immutable, so the location is enough to know one by. */
  #remember(location: string, metadata: TableMetadata): void {
    this.#cache.delete(location);
    this.#cache.set(location, metadata);
    if (this.#cache.size > CACHED_TABLES) this.#cache.delete(this.#cache.keys().next().value!);
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    assertIdentifier(identifier);
    assertUniqueFieldIds(request.schema, `schema of table ${nameOf(identifier)}`);
    if ((await this.pointer(identifier)) !== undefined) throw tableExists(identifier);
    await this.createNamespace(identifier.namespace);
    const { io, now, randomUuid } = this.services;
    const metadata = newTableMetadata({
      tableUuid: randomUuid(),
      location: request.location ?? (await this.#defaultLocation(identifier)),
      schema: request.schema,
      partitionSpec: request.partitionSpec,
      sortOrder: request.sortOrder,
      properties: { ...DEFAULT_TABLE_PROPERTIES, ...request.properties },
      formatVersion: request.formatVersion,
      nowMs: now(),
    });
    const location = newMetadataLocation(metadata, undefined, randomUuid());
    await writeMetadataFile(io, location, metadata);
    if (!(await this.insertPointer(identifier, location))) {
      await deleteFiles(io, [location]);
      throw tableExists(identifier);
    }
    this.#remember(location, metadata);
    return { identifier, metadata, metadataLocation: location };
  }

  /** `<warehouse>/<namespace>/<table>`, or under the namespace's own location, as PyIceberg's SqlCatalog has it. */
  async #defaultLocation(identifier: TableIdentifier): Promise<string> {
    const own = await this.namespaceLocation(identifier.namespace);
    if (own !== undefined) return joinPath(own, identifier.name);
    return joinPath(this.#warehouse, identifier.namespace.join('.'), identifier.name);
  }

  async commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable> {
    const { io, now, randomUuid } = this.services;
    const { identifier } = base;
    checkRequirements(base.metadata, requirements, nameOf(identifier));
    if (updates.length === 0) return base;
    const updated = applyUpdates(base.metadata, updates, now());
    const { metadata, dropped } = withPreviousFile(updated, base.metadata, base.metadataLocation);
    const location = newMetadataLocation(metadata, base.metadataLocation, randomUuid());
    await notApplied(writeMetadataFile(io, location, metadata));
    let swapped: boolean;
    try {
      swapped = await this.swapPointer(identifier, base.metadataLocation, location);
    } catch (e) {
      if (isSluiceError(e) && e.outcome === 'not-applied') await deleteFiles(io, [location]);
      throw e;
    }
    if (!swapped) {
      await deleteFiles(io, [location]);
      throw await this.#conflict(base);
    }
    this.#remember(location, metadata);
    this.#cache.delete(base.metadataLocation);
    // A file that stays behind costs space and nothing else: the next commits do not look at it.
    if (deletesOldMetadata(metadata))
      await deleteFiles(
        io,
        dropped.map((entry) => entry.metadataFile),
      );
    return { identifier, metadata, metadataLocation: location };
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

/** Whatever failed before the pointer was touched has not been applied. */
async function notApplied<T>(step: Promise<T>): Promise<T> {
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
