import { isSluiceError } from '../errors.ts';
import type { LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { deleteFiles } from '../iceberg/expire.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import { readMetadataFile } from '../iceberg/metadata-file.ts';
import { joinPath } from '../storage/file-io.ts';
import { CatalogBase, notApplied } from './catalog-base.ts';
import { newMetadataLocation, writeMetadataFile } from './metadata-file.ts';

/** Tables whose parsed metadata is kept, so that a commit does not read back what the last one wrote. */
const CACHED_TABLES = 256;

/**
 * A catalog that keeps one pointer per table and swaps it (SQL, Glue). The subclass reads and swaps the pointer; writing
 * metadata files is here. A new one is deleted only where the swap is proven not to have happened.
 */
export abstract class PointerCatalog extends CatalogBase {
  readonly #cache = new Map<string, TableMetadata>();

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

  protected async metadataAt(location: string): Promise<TableMetadata> {
    const metadata = this.#cache.get(location) ?? (await readMetadataFile(this.services.io, location));
    this.#remember(location, metadata);
    return metadata;
  }

  /** Metadata files are immutable and their names fresh, so the location is enough to know one by. */
  #remember(location: string, metadata: TableMetadata): void {
    this.#cache.delete(location);
    this.#cache.set(location, metadata);
    if (this.#cache.size > CACHED_TABLES) this.#cache.delete(this.#cache.keys().next().value!);
  }

  /** `<warehouse>/<namespace>/<table>`, or under the namespace's own location, as PyIceberg's SqlCatalog has it. */
  protected async locationOf(identifier: TableIdentifier, asked: string | undefined): Promise<string> {
    if (asked !== undefined) return asked;
    const own = await this.namespaceLocation(identifier.namespace);
    if (own !== undefined) return joinPath(own, identifier.name);
    return joinPath(this.warehouse, identifier.namespace.join('.'), identifier.name);
  }

  protected async publishFirst(
    identifier: TableIdentifier,
    metadata: TableMetadata,
  ): Promise<string | undefined> {
    const { io, randomUuid } = this.services;
    const location = newMetadataLocation(metadata, undefined, randomUuid());
    await writeMetadataFile(io, location, metadata);
    if (!(await this.insertPointer(identifier, location))) {
      await deleteFiles(io, [location]);
      return undefined;
    }
    this.#remember(location, metadata);
    return location;
  }

  protected async publishNext(base: LoadedTable, metadata: TableMetadata): Promise<string | undefined> {
    const { io, randomUuid } = this.services;
    const location = newMetadataLocation(metadata, base.metadataLocation, randomUuid());
    await notApplied(writeMetadataFile(io, location, metadata));
    let swapped: boolean;
    try {
      swapped = await this.swapPointer(base.identifier, base.metadataLocation, location);
    } catch (e) {
      if (isSluiceError(e) && e.outcome === 'not-applied') await deleteFiles(io, [location]);
      throw e;
    }
    if (!swapped) {
      await deleteFiles(io, [location]);
      return undefined;
    }
    this.#remember(location, metadata);
    this.#cache.delete(base.metadataLocation);
    return location;
  }
}
