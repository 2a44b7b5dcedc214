/**
 * The SQL catalog in an SQLite file: the tables of Java's JdbcCatalog and PyIceberg's SqlCatalog, so that both open the
 * same file (spec 50, "The SQL catalog").
 */
import { SluiceError } from '../errors.ts';
import type { TableIdentifier } from '../iceberg/catalog.ts';
import { assertIdentifier, type CatalogServices, nameOf } from './catalog-base.ts';
import { PointerCatalog } from './pointer-catalog.ts';
import { SqliteDatabase, UniqueViolation } from './sqlite-database.ts';

/**
 * New files get schema V1, with `iceberg_type`: PyIceberg up to 0.11 names the columns it writes, so that its rows have
 * NULL there, which every client takes for a table; PyIceberg 0.12 and Java find the column and have nothing to add.
 * A V0 file would be altered by the newer PyIceberg under a running pipeline.
 */
const CREATE_TABLES = `CREATE TABLE IF NOT EXISTS iceberg_tables (
  catalog_name VARCHAR(255) NOT NULL,
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  metadata_location VARCHAR(1000),
  previous_metadata_location VARCHAR(1000),
  iceberg_type VARCHAR(5),
  PRIMARY KEY (catalog_name, table_namespace, table_name)
)`;
const CREATE_NAMESPACES = `CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
  catalog_name VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255),
  property_value VARCHAR(1000),
  PRIMARY KEY (catalog_name, namespace, property_key)
)`;
const COLUMNS = [
  'catalog_name',
  'table_namespace',
  'table_name',
  'metadata_location',
  'previous_metadata_location',
];
const MAX_NAME = 255;
const MAX_LOCATION = 1000;
const BUSY_LIMIT_MS = 10_000;

export interface SqliteCatalogOptions {
  /** `catalog_name`: every row is scoped by it. */
  name: string;
  /** A path of the file system. */
  path: string;
  /** The location under which new tables are put. */
  warehouse: string;
  /** How long to wait for other processes that hold the file; 10 s when left out. */
  busyLimitMs?: number;
}

export class SqliteCatalog extends PointerCatalog {
  readonly name: string;
  readonly #db: SqliteDatabase;
  /** Has the file the column `iceberg_type`? Files of others are taken as they are and never altered (case C27). */
  readonly #typed: boolean;

  private constructor(
    options: SqliteCatalogOptions,
    db: SqliteDatabase,
    typed: boolean,
    services: CatalogServices,
  ) {
    super(options.warehouse, services);
    this.name = options.name;
    this.#db = db;
    this.#typed = typed;
  }

  /** Opens the file, or makes a new one. Throws CATALOG_UNREACHABLE, CATALOG_SCHEMA, CATALOG_ERROR, STORAGE_FULL. */
  static async open(options: SqliteCatalogOptions, services: CatalogServices): Promise<SqliteCatalog> {
    const db = SqliteDatabase.open(options.path, {
      busyLimitMs: options.busyLimitMs ?? BUSY_LIMIT_MS,
      sleep: services.sleep,
    });
    try {
      return new SqliteCatalog(options, db, await prepareSchema(db), services);
    } catch (e) {
      db.close();
      throw e;
    }
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  get #isTable(): string {
    return this.#typed ? " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)" : '';
  }

  async createNamespace(namespace: readonly string[]): Promise<void> {
    const text = namespaceText(namespace);
    const rows = await this.#db.query(
      'SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ? LIMIT 1',
      this.name,
      text,
    );
    if (rows.length > 0) return;
    // An empty namespace is one row ('exists', 'true'), as both other clients have it.
    await this.#db.execute(
      "INSERT OR IGNORE INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) VALUES (?, ?, 'exists', 'true')",
      this.name,
      text,
    );
  }

  async listNamespaces(): Promise<string[][]> {
    const rows = await this.#db.query(
      `SELECT table_namespace AS namespace FROM iceberg_tables WHERE catalog_name = ?
       UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ? ORDER BY 1`,
      this.name,
      this.name,
    );
    return rows.map((row) => String(row['namespace']).split('.'));
  }

  async listTables(namespace: readonly string[]): Promise<TableIdentifier[]> {
    const rows = await this.#db.query(
      `SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?${this.#isTable} ORDER BY table_name`,
      this.name,
      namespaceText(namespace),
    );
    return rows.map((row) => ({ namespace: [...namespace], name: String(row['table_name']) }));
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    const changed = await this.#db.execute(
      `DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?${this.#isTable}`,
      ...this.#key(identifier),
    );
    if (changed === 0)
      throw new SluiceError(
        'TABLE_NOT_FOUND',
        `table ${nameOf(identifier)} does not exist in catalog ${this.name}`,
        { context: { table: nameOf(identifier) } },
      );
  }

  #key(identifier: TableIdentifier): [string, string, string] {
    return [this.name, namespaceText(identifier.namespace), identifier.name];
  }

  protected async pointer(identifier: TableIdentifier): Promise<string | undefined> {
    const rows = await this.#db.query(
      `SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?${this.#isTable}`,
      ...this.#key(identifier),
    );
    if (rows.length === 0) return undefined;
    const location = rows[0]['metadata_location'];
    if (typeof location === 'string' && location !== '') return location;
    throw new SluiceError(
      'CATALOG_ERROR',
      `table ${nameOf(identifier)} has no metadata_location in catalog ${this.#db.path}`,
      { context: { table: nameOf(identifier) } },
    );
  }

  protected async insertPointer(identifier: TableIdentifier, location: string): Promise<boolean> {
    assertIdentifier(identifier);
    assertLength('table name', identifier.name, MAX_NAME);
    assertLength('metadata location', location, MAX_LOCATION);
    const [column, value] = this.#typed ? [', iceberg_type', ", 'TABLE'"] : ['', ''];
    try {
      await this.#db.execute(
        `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location${column}) VALUES (?, ?, ?, ?, NULL${value})`,
        ...this.#key(identifier),
        location,
      );
      return true;
    } catch (e) {
      if (e instanceof UniqueViolation) return false;
      throw e;
    }
  }

  protected async swapPointer(identifier: TableIdentifier, expected: string, next: string): Promise<boolean> {
    assertLength('metadata location', next, MAX_LOCATION);
    const changed = await this.#db.execute(
      `UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?
       WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?${this.#isTable}`,
      next,
      expected,
      ...this.#key(identifier),
      expected,
    );
    return changed === 1;
  }

  protected async namespaceLocation(namespace: readonly string[]): Promise<string | undefined> {
    const rows = await this.#db.query(
      "SELECT property_value FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ? AND property_key = 'location'",
      this.name,
      namespaceText(namespace),
    );
    const location = rows[0]?.['property_value'];
    return typeof location === 'string' && location !== '' ? location : undefined;
  }
}

/** Makes the tables of a new file; checks those of an existing one. True where tables have a type (V1). */
async function prepareSchema(db: SqliteDatabase): Promise<boolean> {
  let columns = await columnsOf(db, 'iceberg_tables');
  if (columns.length === 0) {
    const others = await db.query(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'iceberg_%' LIMIT 1",
    );
    if (others.length > 0) {
      throw new SluiceError(
        'CATALOG_SCHEMA',
        `${db.path} is a database with the table "${others[0]['name']}" and without iceberg_tables: it is not an Iceberg catalog; give another file`,
        { context: { path: db.path } },
      );
    }
    await db.execute(CREATE_TABLES);
    columns = await columnsOf(db, 'iceberg_tables');
  }
  const missing = COLUMNS.filter((c) => !columns.includes(c));
  if (missing.length > 0) {
    throw new SluiceError(
      'CATALOG_SCHEMA',
      `${db.path}: table iceberg_tables lacks ${missing.join(', ')}; found ${columns.join(', ')}`,
      { context: { path: db.path, missing } },
    );
  }
  // Java and PyIceberg make both tables; a file with the first alone was made by hand.
  if ((await columnsOf(db, 'iceberg_namespace_properties')).length === 0) await db.execute(CREATE_NAMESPACES);
  return columns.includes('iceberg_type');
}

async function columnsOf(db: SqliteDatabase, table: string): Promise<string[]> {
  const rows = await db.query('SELECT name FROM pragma_table_info(?)', table);
  return rows.map((row) => String(row['name']).toLowerCase());
}

function namespaceText(namespace: readonly string[]): string {
  const text = namespace.join('.');
  if (text === '' || namespace.some((level) => level === '' || level.includes('.'))) {
    throw new SluiceError(
      'CATALOG_ERROR',
      `namespace ${JSON.stringify(namespace)}: levels may not be empty or hold a dot`,
    );
  }
  assertLength('namespace', text, MAX_NAME);
  return text;
}

/** SQLite does not enforce a VARCHAR's length, but the catalog may be moved to a database that does. */
function assertLength(what: string, text: string, max: number): void {
  if (text.length <= max) return;
  throw new SluiceError(
    'CATALOG_ERROR',
    `${what} of ${text.length} characters: the SQL catalog holds ${max}: ${text.slice(0, 80)}...`,
    { outcome: 'not-applied' },
  );
}
