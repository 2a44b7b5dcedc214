import type { Schema } from '../core/schema.ts';
import type { PartitionSpec, SortOrder, TableMetadata } from './metadata.ts';
import type { TableRequirement, TableUpdate } from './updates.ts';

/** `bronze.ad_clicks`: namespace levels, then the name. */
export interface TableIdentifier {
  readonly namespace: readonly string[];
  readonly name: string;
}

export interface LoadedTable {
  readonly identifier: TableIdentifier;
  readonly metadata: TableMetadata;
  readonly metadataLocation: string;
}

export interface CreateTableRequest {
  schema: Schema;
  partitionSpec: PartitionSpec;
  sortOrder?: SortOrder;
  properties: Record<string, string>;
  /** Left out: the catalog's warehouse decides. */
  location?: string;
  formatVersion: 2 | 3;
}

/**
 * A catalog of Iceberg tables. One suite in `test/contract/catalog.ts` runs over every implementation.
 *
 * Errors: TABLE_NOT_FOUND, TABLE_EXISTS, CATALOG_UNREACHABLE, CATALOG_ERROR, CATALOG_SCHEMA; and from `commitTable`
 * COMMIT_CONFLICT (outcome 'not-applied': a requirement did not hold or another writer was first) and COMMIT_UNKNOWN
 * (outcome 'unknown': it may or may not have been applied, reload before anything else).
 */
export interface Catalog {
  readonly name: string;
  createNamespace(namespace: readonly string[]): Promise<void>;
  listNamespaces(): Promise<string[][]>;
  listTables(namespace: readonly string[]): Promise<TableIdentifier[]>;
  /** Undefined where there is no such table (a view of that name is none). */
  loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined>;
  /** Creates the namespace too where it is missing. Throws TABLE_EXISTS. */
  createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable>;
  /** Takes the table out of the catalog; its files stay. */
  dropTable(identifier: TableIdentifier): Promise<void>;
  /** Compare-and-set: all requirements hold and all updates are applied, or nothing is. `base` is what the caller loaded. */
  commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable>;
  close(): Promise<void>;
}
