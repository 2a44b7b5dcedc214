/**
 * A catalog of directories: `<warehouse>/<namespace levels>/<table>/metadata/vN.metadata.json`, as Iceberg Java's
 * HadoopCatalog keeps them. The commit is the creation of the next version without overwriting.
 */
import { createHash } from 'node:crypto';
import { isSluiceError, messageOf, SluiceError } from '../errors.ts';
import type { LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import { parseMetadataFile } from '../iceberg/metadata-file.ts';
import { fileName } from '../iceberg/table-files.ts';
import { joinPath } from '../storage/file-io.ts';
import { assertIdentifier, CatalogBase, type CatalogServices, nameOf, notApplied } from './catalog-base.ts';
import { checksumOf, metadataBytes, VersionedMetadata } from './versioned-metadata.ts';

const CACHED_TABLES = 256;
/** Bounds a walk through a warehouse that holds more than tables. */
const MAX_LEVELS = 16;
const MAX_DIRECTORIES = 20_000;
const MAX_NAME_BYTES = 255;
const METADATA_PATH = 'write.metadata.path';

export interface FileCatalogOptions {
  /** How the catalog is called in messages; nothing on disk bears it. */
  name: string;
  /** The location under which namespaces and tables are directories. */
  warehouse: string;
}

/**
 * Iceberg's spec calls such tables unsafe, because much storage lacks an atomic create and because what was cleaned away
 * can be created again. Here a version is created by link(2), after a look that `base` is the newest of all that are
 * there, and looked at again afterwards: a commit is reported as done only where it is the newest version, or where a
 * later one bears it in its log. All else is COMMIT_UNKNOWN, and nothing is deleted.
 */
export class FileCatalog extends CatalogBase {
  readonly name: string;
  /** By location. A table that was dropped and made anew has other files of the same names, hence the digest. */
  readonly #parsed = new Map<string, { digest: string; metadata: TableMetadata }>();

  constructor(options: FileCatalogOptions, services: CatalogServices) {
    super(options.warehouse, services);
    this.name = options.name;
  }

  async close(): Promise<void> {}

  /** Makes the directory: a file is created in it and deleted. Throws CATALOG_ERROR inside of a table. */
  async createNamespace(namespace: readonly string[]): Promise<void> {
    assertLevels(namespace);
    for (let depth = 1; depth <= namespace.length; depth++) {
      const levels = namespace.slice(0, depth);
      if ((await this.#versionsIn(this.#directory(levels)).newest()) === undefined) continue;
      throw new SluiceError(
        'CATALOG_ERROR',
        `namespace ${namespace.join('.')}: ${levels.join('.')} is a table, and a table holds no namespace`,
        { outcome: 'not-applied' },
      );
    }
    const { io, randomUuid } = this.services;
    const directory = this.#directory(namespace);
    if ((await io.children(directory)).length > 0) return;
    const mark = joinPath(directory, `.sluice-${randomUuid()}`);
    await io.createNew(mark, new Uint8Array(0));
    await io.delete(mark);
  }

  /** Directories that hold a table, and empty ones. Those that only lead there, or hold something else, are none. */
  async listNamespaces(): Promise<string[][]> {
    const found: string[][] = [];
    let seen = 0;
    const walk = async (levels: string[]): Promise<void> => {
      const children = await this.services.io.children(this.#directory(levels));
      let holdsTable = false;
      for (const { name, kind } of children) {
        if (kind !== 'directory' || !isLevel(name)) continue;
        if (++seen > MAX_DIRECTORIES)
          throw new SluiceError(
            'CATALOG_ERROR',
            `more than ${MAX_DIRECTORIES} directories below ${this.warehouse}: give the catalog a directory of its own`,
          );
        if (await this.#isTable([...levels, name])) holdsTable = true;
        else if (levels.length < MAX_LEVELS) await walk([...levels, name]);
      }
      if (levels.length > 0 && (holdsTable || children.length === 0)) found.push(levels);
    };
    await walk([]);
    return found.sort((a, b) => (a.join('.') < b.join('.') ? -1 : 1));
  }

  async listTables(namespace: readonly string[]): Promise<TableIdentifier[]> {
    assertLevels(namespace);
    const tables: TableIdentifier[] = [];
    for (const { name, kind } of await this.services.io.children(this.#directory(namespace))) {
      if (kind === 'directory' && isLevel(name) && (await this.#isTable([...namespace, name])))
        tables.push({ namespace: [...namespace], name });
    }
    return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Deletes the metadata files, which are the table's only entry, the newest last: until then the table is whole. A copy
   * of it stays as `dropped-vN-<uuid>.json` beside the manifests.
   */
  async dropTable(identifier: TableIdentifier): Promise<void> {
    const { io, randomUuid } = this.services;
    const versions = this.#versions(identifier);
    const newest = await versions.newestListed();
    if (newest === undefined)
      throw new SluiceError(
        'TABLE_NOT_FOUND',
        `table ${nameOf(identifier)} does not exist under ${this.warehouse}`,
        { context: { table: nameOf(identifier) } },
      );
    const copy = joinPath(versions.directory, `dropped-v${newest.version}-${randomUuid()}.json`);
    await io.createNew(copy, await io.read(newest.location));
    await versions.deleteHint();
    // Again where another process has committed meanwhile.
    for (let left = await versions.listed(); left.length > 0; left = await versions.listed())
      for (const { location } of left) await versions.delete(location);
  }

  protected async pointer(identifier: TableIdentifier): Promise<string | undefined> {
    return (await this.#versions(identifier).newest())?.location;
  }

  protected async metadataAt(location: string): Promise<TableMetadata> {
    const bytes = await this.services.io.read(location);
    const known = this.#parsed.get(location);
    if (known?.digest === digestOf(bytes)) return known.metadata;
    const metadata = parseMetadataFile(bytes, location);
    this.#remember(location, bytes, metadata);
    return metadata;
  }

  #remember(location: string, bytes: Uint8Array, metadata: TableMetadata): void {
    this.#parsed.delete(location);
    this.#parsed.set(location, { digest: digestOf(bytes), metadata });
    if (this.#parsed.size > CACHED_TABLES) this.#parsed.delete(this.#parsed.keys().next().value!);
  }

  protected async locationOf(identifier: TableIdentifier, asked: string | undefined): Promise<string> {
    const own = this.#directory([...identifier.namespace, identifier.name]);
    if (asked === undefined || asked.replace(/\/+$/, '') === own) return own;
    throw new SluiceError(
      'CATALOG_ERROR',
      `table ${nameOf(identifier)} cannot be put at ${asked}: in a file catalog it lies at ${own}`,
      { outcome: 'not-applied' },
    );
  }

  protected async publishFirst(
    identifier: TableIdentifier,
    metadata: TableMetadata,
  ): Promise<string | undefined> {
    assertKeepsPlace(identifier, metadata, metadata.location);
    const versions = this.#versions(identifier);
    const location = versions.location(1, metadata);
    const bytes = metadataBytes(metadata);
    if (!(await versions.create(location, bytes))) return undefined;
    await this.#confirm(identifier, location, metadata);
    await this.#published(versions, 1, location, bytes, metadata);
    return location;
  }

  protected async publishNext(base: LoadedTable, metadata: TableMetadata): Promise<string | undefined> {
    const { identifier } = base;
    assertKeepsPlace(identifier, metadata, base.metadata.location);
    const versions = this.#versions(identifier);
    const newest = await notApplied(this.#newestIf(base, versions));
    if (newest === undefined) return undefined;
    const location = versions.location(newest + 1, metadata);
    const bytes = metadataBytes(metadata);
    let created: boolean;
    try {
      created = await versions.create(location, bytes);
    } catch (error) {
      if (isSluiceError(error) && error.outcome === 'not-applied') throw error;
      throw unknown(identifier, `${location} may or may not have been created`, error);
    }
    if (!created) return undefined;
    await this.#confirm(identifier, location, metadata, base);
    await this.#published(versions, newest + 1, location, bytes, metadata);
    this.#parsed.delete(base.metadataLocation);
    return location;
  }

  protected override deleteMetadata(locations: readonly string[]): Promise<void> {
    return super.deleteMetadata(locations.flatMap((location) => [location, checksumOf(location)]));
  }

  async #published(
    versions: VersionedMetadata,
    version: number,
    location: string,
    bytes: Uint8Array,
    metadata: TableMetadata,
  ): Promise<void> {
    this.#remember(location, bytes, metadata);
    await versions.hintAt(version);
  }

  /** The version of `base` where it is the newest of all that are there, and of the same table. */
  async #newestIf(base: LoadedTable, versions: VersionedMetadata): Promise<number | undefined> {
    const newest = await versions.newestListed();
    if (newest === undefined) return undefined;
    if (newest.location !== base.metadataLocation) {
      // A hint that leads to an older version would lead there again.
      await versions.hintAt(newest.version);
      return undefined;
    }
    return (await this.#isThere(base)) ? newest.version : undefined;
  }

  /** Is the file of `base` there, and of the same table? */
  async #isThere(base: LoadedTable): Promise<boolean> {
    try {
      const { tableUuid } = await this.metadataAt(base.metadataLocation);
      return tableUuid === base.metadata.tableUuid;
    } catch (error) {
      if (isSluiceError(error, 'FILE_NOT_FOUND')) return false;
      throw error;
    }
  }

  /**
   * Proves that a version which this process has just created is part of the table's history: while it stood still, the
   * others may have gone on and cleaned that very version away, or dropped the table. Throws COMMIT_UNKNOWN.
   */
  async #confirm(
    identifier: TableIdentifier,
    location: string,
    metadata: TableMetadata,
    base?: LoadedTable,
  ): Promise<void> {
    let isPart: boolean;
    try {
      // Versions are cleaned away oldest first: while the one before it is there, this one was not there before.
      const follows = base === undefined || (await this.#isThere(base));
      const newest = await this.#versions(identifier).newestListed();
      isPart =
        newest?.location === location
          ? follows
          : newest !== undefined && holds(await this.metadataAt(newest.location), location, metadata);
    } catch (error) {
      throw unknown(identifier, `${location} was created, and what came of it could not be read`, error);
    }
    if (!isPart)
      throw unknown(
        identifier,
        `${location} was created, but the table has gone on without it; other processes commit to it, or it was dropped`,
      );
  }

  async #isTable(path: readonly string[]): Promise<boolean> {
    return (await this.#versionsIn(this.#directory(path)).newestListed()) !== undefined;
  }

  #versions(identifier: TableIdentifier): VersionedMetadata {
    assertIdentifier(identifier);
    assertLevels([...identifier.namespace, identifier.name]);
    return this.#versionsIn(this.#directory([...identifier.namespace, identifier.name]));
  }

  #versionsIn(directory: string): VersionedMetadata {
    return new VersionedMetadata(joinPath(directory, 'metadata'), this.services);
  }

  #directory(path: readonly string[]): string {
    return path.length === 0 ? this.warehouse : joinPath(this.warehouse, ...path);
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** Does a later version bear the file in its log, as this process wrote it? */
function holds(later: TableMetadata, location: string, metadata: TableMetadata): boolean {
  return (
    later.tableUuid === metadata.tableUuid &&
    later.metadataLog.some(
      (entry) =>
        fileName(entry.metadataFile) === fileName(location) && entry.timestampMs === metadata.lastUpdatedMs,
    )
  );
}

/** A name that is one directory and no way out of the warehouse. */
function isLevel(name: string): boolean {
  return /^[^./\p{Cc}]+$/u.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

function assertLevels(levels: readonly string[]): void {
  if (levels.length > 0 && levels.length <= MAX_LEVELS && levels.every(isLevel)) return;
  throw new SluiceError(
    'CATALOG_ERROR',
    `${JSON.stringify(levels.join('.'))}: in a file catalog each level is a directory: 1 to ${MAX_LEVELS} of them, none empty, longer than ${MAX_NAME_BYTES} bytes, or with a dot, slash or control character`,
    { outcome: 'not-applied' },
  );
}

/** Other clients find the table by its directory alone. */
function assertKeepsPlace(identifier: TableIdentifier, metadata: TableMetadata, location: string): void {
  const { properties } = metadata;
  const fault =
    metadata.location !== location
      ? `it cannot be moved from ${location} to ${metadata.location}`
      : properties[METADATA_PATH] === undefined
        ? undefined
        : `it cannot have the property ${METADATA_PATH}`;
  if (fault === undefined) return;
  throw new SluiceError(
    'CATALOG_ERROR',
    `table ${nameOf(identifier)}: ${fault}: in a file catalog the table is its directory`,
    { outcome: 'not-applied', context: { table: nameOf(identifier) } },
  );
}

function unknown(identifier: TableIdentifier, what: string, cause?: unknown): SluiceError {
  const table = nameOf(identifier);
  const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new SluiceError('COMMIT_UNKNOWN', `table ${table}: ${what}${why}`, {
    outcome: 'unknown',
    context: { table },
    cause,
  });
}
