import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { newTableMetadata } from '../iceberg/metadata.ts';
import {
  applyUpdates,
  checkRequirements,
  type TableRequirement,
  type TableUpdate,
} from '../iceberg/updates.ts';

export interface TrialCatalogOptions {
  now(): number;
  randomUuid(): string;
  /** Where the catalog would put a table. */
  locationOf(identifier: TableIdentifier): string;
}

/**
 * A catalog that is only looked at: what would be created or changed is so in this object and nowhere else. With it the
 * code that opens the tables of a run says beforehand what it would meet.
 */
export class TrialCatalog implements Catalog {
  readonly name: string;
  /** Those that would be created, by `namespace.name`. */
  readonly created = new Map<string, LoadedTable>();
  readonly #inner: Catalog;
  readonly #options: TrialCatalogOptions;
  readonly #changed = new Map<string, LoadedTable>();

  constructor(inner: Catalog, options: TrialCatalogOptions) {
    this.name = inner.name;
    this.#inner = inner;
    this.#options = options;
  }

  async createNamespace(): Promise<void> {}

  listNamespaces(): Promise<string[][]> {
    return this.#inner.listNamespaces();
  }

  listTables(namespace: readonly string[]): Promise<TableIdentifier[]> {
    return this.#inner.listTables(namespace);
  }

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    const name = nameOf(identifier);
    return this.#changed.get(name) ?? this.created.get(name) ?? (await this.#inner.loadTable(identifier));
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    const { now, randomUuid, locationOf } = this.#options;
    const location = request.location ?? locationOf(identifier);
    const metadata = newTableMetadata({ ...request, location, tableUuid: randomUuid(), nowMs: now() });
    const table = { identifier, metadata, metadataLocation: `${location}/metadata` };
    this.created.set(nameOf(identifier), table);
    return table;
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    this.created.delete(nameOf(identifier));
    this.#changed.delete(nameOf(identifier));
  }

  async commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable> {
    const name = nameOf(base.identifier);
    checkRequirements(base.metadata, requirements, name);
    const table = { ...base, metadata: applyUpdates(base.metadata, updates, this.#options.now()) };
    this.#changed.set(name, table);
    return table;
  }

  async close(): Promise<void> {}
}

function nameOf({ namespace, name }: TableIdentifier): string {
  return [...namespace, name].join('.');
}
