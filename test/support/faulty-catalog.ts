import { SluiceError } from '../../src/errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../../src/iceberg/catalog.ts';
import type { TableRequirement, TableUpdate } from '../../src/iceberg/updates.ts';

/**
 * What a commit call does instead of what it should (case C21).
 * - `apply, then 504` / `504`: the gateway gives up after, or before, the catalog applied it
 * - `apply, then reset` / `reset`: the socket closes
 * - `state unknown` / `apply, then state unknown`: a 400 whose body says CommitStateUnknownException
 * - `late`: no reply; the request is applied right before the next commit call
 * - `conflict`: 409 although nothing was wrong
 * - `refused`: 403
 * - `unreachable`: the connection is refused, nothing was sent
 * - `none`: it works, so that a later call can be named
 */
export type CommitFault =
  | 'apply, then 504'
  | '504'
  | 'apply, then reset'
  | 'reset'
  | 'state unknown'
  | 'apply, then state unknown'
  | 'late'
  | 'conflict'
  | 'refused'
  | 'unreachable'
  | 'none';

const unknown = (message: string): SluiceError =>
  new SluiceError('COMMIT_UNKNOWN', `${message} (an injected fault)`, { outcome: 'unknown' });

/** Another catalog whose commits fail as told, one fault per call, then work. Loads can be made to fail too. */
export class FaultyCatalog implements Catalog {
  readonly name: string;
  /** Commit calls so far. */
  commits = 0;
  /** Loads that fail from now on. */
  failingLoads = 0;
  /** Called before each commit reaches the catalog: a place for another writer to step in. */
  beforeCommit: (() => Promise<void>) | undefined;
  readonly #inner: Catalog;
  readonly #faults: CommitFault[];
  #late: (() => Promise<unknown>) | undefined;

  constructor(inner: Catalog, faults: CommitFault[] = []) {
    this.name = inner.name;
    this.#inner = inner;
    this.#faults = [...faults];
  }

  fail(...faults: CommitFault[]): void {
    this.#faults.push(...faults);
  }

  createNamespace(namespace: readonly string[]): Promise<void> {
    return this.#inner.createNamespace(namespace);
  }

  listNamespaces(): Promise<string[][]> {
    return this.#inner.listNamespaces();
  }

  listTables(namespace: readonly string[]): Promise<TableIdentifier[]> {
    return this.#inner.listTables(namespace);
  }

  async loadTable(identifier: TableIdentifier): Promise<LoadedTable | undefined> {
    if (this.failingLoads > 0) {
      this.failingLoads--;
      throw new SluiceError('CATALOG_UNREACHABLE', 'the connection was refused (an injected fault)');
    }
    return this.#inner.loadTable(identifier);
  }

  createTable(identifier: TableIdentifier, request: CreateTableRequest): Promise<LoadedTable> {
    return this.#inner.createTable(identifier, request);
  }

  dropTable(identifier: TableIdentifier): Promise<void> {
    return this.#inner.dropTable(identifier);
  }

  async commitTable(
    base: LoadedTable,
    requirements: TableRequirement[],
    updates: TableUpdate[],
  ): Promise<LoadedTable> {
    this.commits++;
    const step = this.beforeCommit;
    this.beforeCommit = undefined;
    await step?.();
    const late = this.#late;
    this.#late = undefined;
    await late?.();
    const apply = (): Promise<LoadedTable> => this.#inner.commitTable(base, requirements, updates);
    switch (this.#faults.shift()) {
      case undefined:
      case 'none':
        return apply();
      case 'apply, then 504':
        await apply();
        throw unknown('504 Gateway Timeout');
      case '504':
        throw unknown('504 Gateway Timeout');
      case 'apply, then reset':
        await apply();
        throw unknown('ECONNRESET');
      case 'reset':
        throw unknown('ECONNRESET');
      case 'apply, then state unknown':
        await apply();
        throw unknown('CommitStateUnknownException');
      case 'state unknown':
        throw unknown('CommitStateUnknownException');
      case 'late':
        this.#late = apply;
        throw unknown('timeout');
      case 'conflict':
        throw new SluiceError('COMMIT_CONFLICT', '409 (an injected fault)', { outcome: 'not-applied' });
      case 'refused':
        throw new SluiceError('CATALOG_ERROR', '403 Forbidden (an injected fault)', {
          outcome: 'not-applied',
        });
      case 'unreachable':
        throw new SluiceError('CATALOG_UNREACHABLE', 'ECONNREFUSED (an injected fault)', {
          outcome: 'not-applied',
        });
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
