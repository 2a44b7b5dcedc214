import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { messageOf, type Outcome, SluiceError } from '../errors.ts';

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const SQLITE_PERM = 3;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;
const SQLITE_CORRUPT = 11;

/** A statement waits this long inside SQLite; longer waits are made outside, so that the event loop is not held up. */
const BUSY_TIMEOUT_MS = 50;
const BUSY_RETRY_MS = 50;

export interface SqliteOptions {
  /** How long a statement may wait for other processes in all. */
  busyLimitMs: number;
  sleep(ms: number): Promise<void>;
}

/** A violated primary key. */
export class UniqueViolation extends Error {}

/** One SQLite file, its faults turned into codes. Statements are single and autocommitted: applied whole or not at all. */
export class SqliteDatabase {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #options: SqliteOptions;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(path: string, db: DatabaseSync, options: SqliteOptions) {
    this.path = path;
    this.#db = db;
    this.#options = options;
  }

  /** Opens or creates the file. Throws CATALOG_UNREACHABLE, CATALOG_SCHEMA for a file that is no database. */
  static open(path: string, options: SqliteOptions): SqliteDatabase {
    let db: DatabaseSync;
    try {
      db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    } catch (e) {
      throw translate(e, path, undefined);
    }
    try {
      // A commit that was answered must survive power loss. It is made by deleting the rollback journal, and only EXTRA
      // fsyncs the directory after that (sqlite.org/pragma.html#pragma_synchronous): else the journal may come back and undo it.
      db.exec('PRAGMA synchronous = EXTRA');
    } catch (e) {
      db.close();
      throw translate(e, path, undefined);
    }
    return new SqliteDatabase(path, db, options);
  }

  /** The rows of a query as objects by column. */
  query(sql: string, ...parameters: SQLInputValue[]): Promise<Record<string, unknown>[]> {
    return this.#run(undefined, () => this.#prepare(sql).all(...parameters) as Record<string, unknown>[]);
  }

  /**
   * Runs a statement that changes rows; the count of changed rows. Throws UniqueViolation; and CATALOG_UNREACHABLE,
   * STORAGE_FULL, CATALOG_ERROR with what is known of the outcome.
   */
  execute(sql: string, ...parameters: SQLInputValue[]): Promise<number> {
    return this.#run('not-applied', () => Number(this.#prepare(sql).run(...parameters).changes));
  }

  /** A statement is compiled once; its texts are few. */
  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  async #run<T>(outcome: Outcome | undefined, work: () => T): Promise<T> {
    for (let waited = 0; ; waited += BUSY_TIMEOUT_MS + BUSY_RETRY_MS) {
      try {
        return work();
      } catch (e) {
        if (!isBusy(e) || waited >= this.#options.busyLimitMs) throw translate(e, this.path, outcome);
        await this.#options.sleep(BUSY_RETRY_MS);
      }
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

function primaryCode(e: unknown): number {
  const code = (e as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : -1;
}

function isBusy(e: unknown): boolean {
  const code = primaryCode(e);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** `outcome`: undefined for a read. An I/O error while committing leaves open what is on disk. */
function translate(e: unknown, path: string, outcome: Outcome | undefined): Error {
  const options = { cause: e, context: { path } };
  const text = messageOf(e);
  switch (primaryCode(e)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return new SluiceError(
        'CATALOG_UNREACHABLE',
        `catalog ${path} is locked by another process: ${text}; nothing was changed`,
        { ...options, outcome },
      );
    case SQLITE_CANTOPEN:
      return new SluiceError(
        'CATALOG_UNREACHABLE',
        `catalog ${path} cannot be opened: ${text}; check that its directory exists and may be written`,
        { ...options, retryable: false, outcome },
      );
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return new SluiceError(
        'CATALOG_ERROR',
        `catalog ${path} may not be written: ${text}; check the file's and its directory's permissions`,
        { ...options, outcome },
      );
    case SQLITE_FULL:
      return new SluiceError('STORAGE_FULL', `the disk of catalog ${path} is full; nothing was changed`, {
        ...options,
        outcome,
      });
    case SQLITE_NOTADB:
      return new SluiceError('CATALOG_SCHEMA', `${path} is not an SQLite database: ${text}`, options);
    case SQLITE_CORRUPT:
      return new SluiceError(
        'CATALOG_ERROR',
        `catalog ${path} is damaged: ${text}; restore it from a backup`,
        { ...options, outcome },
      );
    case SQLITE_CONSTRAINT:
      return new UniqueViolation(text, { cause: e });
    default:
      if (outcome === undefined) return new SluiceError('CATALOG_ERROR', `catalog ${path}: ${text}`, options);
      return new SluiceError(
        'COMMIT_UNKNOWN',
        `catalog ${path}: ${text}; it is not known whether the change was applied`,
        { ...options, outcome: 'unknown' },
      );
  }
}
