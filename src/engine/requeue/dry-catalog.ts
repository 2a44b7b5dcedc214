import { SluiceError } from '../../errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../../iceberg/catalog.ts';
import { newTableMetadata } from '../../iceberg/metadata.ts';
import {
  applyUpdates,
  checkRequirements,
  type TableRequirement,
  type TableUpdate,
} from '../../iceberg/updates.ts';

/** A catalog whose changes are made in memory alone: a preview sees the tables as they would be, and writes nothing. */
export class DryCatalog implements Catalog {
  readonly name: string;
  private readonly inner: Catalog;
  private readonly now: () => number;
  private readonly randomUuid: () => string;
  private readonly changed = new Map<string, LoadedTable>();

  constructor(inner: Catalog, now: () => number, randomUuid: () => string) {
    this.name = inner.name;
    this.inner = inner;
    this.now = now;
    this.randomUuid = randomUuid;
  }

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    return this.changed.get(keyOf(identifier)) ?? this.inner.loadTable(identifier);
  }

  async createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    const location = `memory://preview/${keyOf(identifier)}`;
    const metadata = newTableMetadata({
      tableUuid: this.randomUuid(),
      location,
      schema: request.schema,
      partitionSpec: request.partitionSpec,
      sortOrder: request.sortOrder,
      properties: request.properties,
      formatVersion: request.formatVersion,
      nowMs: this.now(),
    });
    return this.keep({ identifier, metadata, metadataLocation: `${location}/0` });
  }

  async commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable> {
    const { identifier, metadataLocation } = base;
    checkRequirements(base.metadata, requirements, keyOf(identifier));
    const metadata = applyUpdates(base.metadata, updates, this.now());
    return this.keep({ identifier, metadata, metadataLocation: `${metadataLocation}+` });
  }

  listNamespaces(): Promise<string[][]> {
    return this.inner.listNamespaces();
  }

  listTables(namespace: readonly string[]): Promise<TableIdentifier[]> {
    return this.inner.listTables(namespace);
  }

  async createNamespace(): Promise<void> {}

  dropTable(identifier: TableIdentifier): Promise<void> {
    throw new SluiceError('INTERNAL', `a preview is to drop table ${keyOf(identifier)}`);
  }

  async close(): Promise<void> {}

  private keep(table: LoadedTable): LoadedTable {
    this.changed.set(keyOf(table.identifier), table);
    return table;
  }
}

function keyOf({ namespace, name }: TableIdentifier): string {
  return [...namespace, name].join('.');
}
