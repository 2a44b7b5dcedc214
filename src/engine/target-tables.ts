import type { RouteOfTable } from '../checkpoint/records.ts';
import type { RouteRule, TableRule } from '../config/pipeline-config.ts';
import type { Schema } from '../core/schema.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { currentSchema, defaultSpec, type TableMetadata } from '../iceberg/metadata.ts';
import { buildPartitionSpec } from '../iceberg/partition.ts';
import { dataDirectory } from '../iceberg/table-files.ts';
import { bindColumns, isText, writeDefault } from './bind-columns.ts';
import { quarantineFaults } from './bind-quarantine.ts';
import { bindTyped, firstRequired } from './bind-typed.ts';
import { bronzeSchema, quarantineSchema } from './bronze-layout.ts';
import type { ColumnSource, DecodePlan } from './column-source.ts';
import { type EvolvedTable, evolveTable } from './evolve-table.ts';
import type { Log } from './host.ts';
import type { RoutePlan, TargetTable, TopicPlan, TopicTargets } from './local/batch-task.ts';
import { quarantineOf, quarantineOfRoute, type TopicRoute } from './routing.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { tableFaults } from './table-faults.ts';
import { typedColumns } from './typed-columns.ts';
import { partFields, type TypedColumns, typedSchema } from './typed-layout.ts';

/** `a.b.c` -> namespace [a, b], name c. Throws CONFIG_INVALID for a name without a namespace. */
export function parseTableName(text: string): TableIdentifier {
  const parts = text.split('.');
  if (parts.length < 2 || parts.some((part) => part === '')) {
    throw new SluiceError(
      'CONFIG_INVALID',
      `table "${text}": expected NAMESPACE.NAME, for example bronze.ad_clicks`,
    );
  }
  return { namespace: parts.slice(0, -1), name: parts[parts.length - 1] };
}

/** The tables of a run, made on demand and bound to their columns. */
export interface TargetTables {
  byTopic: Map<string, TopicPlan>;
  /** By `namespace.name`. */
  loaded: Map<string, LoadedTable>;
  /** The tables of groups, by `namespace.name`. */
  routes: Map<string, RouteOfTable>;
}

/** What opening the tables of a run needs beside their routes. */
export interface TableOpening {
  catalog: Catalog;
  topicIds: ReadonlyMap<string, string | null>;
  includeHeaders: boolean;
  registry: SchemaRegistry;
  log: Log;
  pipeline: string;
  /** The destinations of a group that are known beside those that its rule names: table by value. */
  destinations(group: string): Promise<ReadonlyMap<string, string>>;
  /** The uuid of a table that the checkpoint has written or planned to write: such a table is never made anew. */
  known(table: string): Promise<string | null>;
}

/**
 * Loads the tables of all routes and creates those that are missing, data and quarantine alike. An existing table of
 * any writer is used as it is; one with \`evolve\` is given the columns of its rule. Throws TABLE_REWOUND where a known
 * table is gone, TABLE_INCOMPATIBLE with every fault of a table, CONFIG_INVALID where nothing says what the columns of a
 * typed table are, and what the catalog and the registry throw.
 */
export async function openTargetTables(
  opening: TableOpening,
  routes: readonly TopicRoute[],
): Promise<TargetTables> {
  const tables: TargetTables = { byTopic: new Map(), loaded: new Map(), routes: new Map() };
  for (const route of routes) {
    const { topic, rule } = route;
    const quarantine = await openQuarantine(
      opening,
      tables,
      quarantineOfRoute(route, opening.pipeline),
      rule,
    );
    const plan: TopicPlan = { topic, account: route.table, quarantine, targets: null, route: null };
    if (rule.route === null) plan.targets = await bindTargets(opening, tables, route, quarantine);
    else plan.route = await bindDestinations(opening, tables, route, rule.route, quarantine);
    tables.byTopic.set(topic, plan);
  }
  assertOneAccount(tables.byTopic);
  return tables;
}

/** Throws CONFIG_INVALID where a table of a topic is accounted for under the table, or the group, of another. */
function assertOneAccount(byTopic: ReadonlyMap<string, TopicPlan>): void {
  const owners = new Map<string, TopicPlan>();
  for (const plan of byTopic.values()) {
    const { targets, route, topic, account } = plan;
    const all = targets === null ? route!.destinations.map((d) => d.targets) : [targets];
    for (const { table } of all.map((t) => t.data)) {
      const owner = owners.get(table) ?? plan;
      owners.set(table, owner);
      if (owner.account === account) continue;
      throw new SluiceError(
        'CONFIG_INVALID',
        `table ${table}: records of topic ${owner.topic} come to it as ${owner.account}, and of topic ${topic} as ${account}, so that neither could be verified; give both topics one rule, or tables of their own`,
        { context: { table, topics: [owner.topic, topic] } },
      );
    }
  }
}

/** The several tables of one topic: those that the rule names, and those that are known from before. */
async function bindDestinations(
  opening: TableOpening,
  tables: TargetTables,
  route: TopicRoute,
  rule: RouteRule,
  unrouted: TargetTable,
): Promise<RoutePlan> {
  const group = route.table;
  tables.routes.set(unrouted.table, { group, value: null });
  const byValue = new Map([...(await opening.destinations(group)), ...Object.entries(rule.tables)]);
  const destinations: RoutePlan['destinations'] = [];
  for (const [value, table] of [...byValue].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
    const quarantine = await openQuarantine(opening, tables, quarantineOf(table), route.rule);
    const targets = await bindTargets(opening, tables, { ...route, table }, quarantine, value);
    // A table that several values lead to has one place in the account.
    if (!tables.routes.has(table)) tables.routes.set(table, { group, value });
    if (!tables.routes.has(quarantine.table)) tables.routes.set(quarantine.table, { group, value });
    destinations.push({ value, targets });
  }
  const { tombstones, maxRecordBytes, value } = route.rule;
  return {
    by: rule.by,
    format: value!.format,
    unknown: rule.unknown,
    destinations,
    topicId: opening.topicIds.get(route.topic) ?? null,
    tombstones,
    maxRecordBytes,
  };
}

async function openQuarantine(
  opening: TableOpening,
  tables: TargetTables,
  name: string,
  rule: TableRule,
): Promise<TargetTable> {
  const loaded = await loadOrCreate(opening, tables, name, () => quarantineRequest(rule));
  return describeTable(
    name,
    loaded,
    rule,
    'quarantine',
    [],
    quarantineFaults(currentSchema(loaded.metadata)),
  );
}

/** `value`: what leads here, where it is one of several tables. */
async function bindTargets(
  opening: TableOpening,
  tables: TargetTables,
  route: TopicRoute,
  quarantine: TargetTable,
  value?: string,
): Promise<TopicTargets> {
  const { data, decode } =
    route.rule.layout === 'typed'
      ? await bindTypedRoute(opening, tables, route, value)
      : await bindBronzeRoute(opening, tables, route);
  const { sources, schema } = data;
  return {
    topic: route.topic,
    topicId: opening.topicIds.get(route.topic) ?? null,
    data,
    quarantine,
    checkUtf8Values: isText(schema, sources, 'value'),
    checkUtf8Keys: isText(schema, sources, 'key'),
    checkUtf8HeaderKeys: sources.includes('headers'),
    decode,
    requiredColumns: {
      value: firstRequired(decode?.value ?? null),
      key: firstRequired(decode?.key ?? null),
    },
  };
}

interface BoundRoute {
  data: TargetTable;
  decode: DecodePlan | null;
}

async function bindBronzeRoute(
  opening: TableOpening,
  tables: TargetTables,
  { table, rule }: TopicRoute,
): Promise<BoundRoute> {
  const { includeHeaders } = opening;
  const loaded = await loadOrCreate(opening, tables, table, () => bronzeRequest(rule, includeHeaders));
  const { sources, faults } = bindColumns(currentSchema(loaded.metadata), includeHeaders);
  return { data: describeTable(table, loaded, rule, 'data', sources, faults), decode: null };
}

async function bindTypedRoute(
  opening: TableOpening,
  tables: TargetTables,
  { table, topic, rule }: TopicRoute,
  value: string | undefined,
): Promise<BoundRoute> {
  const there = tables.loaded.get(table) ?? (await opening.catalog.loadTable(parseTableName(table)));
  const columns = await typedColumns(rule, topic, table, there !== undefined, opening.registry, value);
  let loaded = await loadOrCreate(opening, tables, table, () => typedRequest(rule, columns, table, value));
  const structs = (['value', 'key'] as const).map((part) => ({
    struct: { type: 'struct' as const, fields: partFields(rule, columns, part) },
    inferred: false,
    caseInsensitive: false,
  }));
  if (there !== undefined && rule.evolve !== 'none') {
    const accept = (schema: Schema, metadata: TableMetadata): void =>
      refuseFaults(table, metadata, `${rule.layout} rows`, bindTyped(schema, rule, columns).faults);
    const wanted = { structs, optional: [] };
    const evolved = await evolveTable(opening.catalog, loaded, wanted, rule.evolve, accept);
    tellOfChanges(opening.log, table, evolved);
    loaded = evolved.table;
    tables.loaded.set(table, loaded);
  }
  const binding = bindTyped(currentSchema(loaded.metadata), rule, columns);
  const data = describeTable(table, loaded, rule, 'data', binding.sources, binding.faults);
  return { data, decode: binding.decode };
}

/** Refused changes that are told of one by one. */
const MAX_TOLD = 20;

/** One line for all columns that a table was given, and one for each other change, made or not allowed. */
export function tellOfChanges(log: Log, table: string, { changes, refused }: EvolvedTable): void {
  const added = changes.filter(({ kind }) => kind === 'add');
  if (added.length === 1)
    log.info(`table ${table}: column ${added[0].path} was added as ${added[0].to}`, { table, added });
  else if (added.length > 1) {
    const list = added.map(({ path, to }) => `${path} ${to}`).join(', ');
    log.info(`table ${table}: ${added.length} columns were added: ${list}`, { table, added });
  }
  for (const { kind, path, from, to } of changes) {
    if (kind === 'add') continue;
    const what = kind === 'widen' ? `widened from ${from} to ${to}` : 'made optional';
    log.info(`table ${table}: column ${path} was ${what}`, { table, kind, path, from, to });
  }
  const told = new Set<string>();
  // Names from data are many.
  for (const { path, from, to, why } of refused) {
    const line = `table ${table}: column ${path} stays ${from ?? 'absent'}, records ask for ${to}: ${why}`;
    if (told.has(line)) continue;
    told.add(line);
    if (told.size <= MAX_TOLD) log.warn(line, { table, path, from, to });
  }
  if (told.size > MAX_TOLD)
    log.warn(`table ${table}: ${told.size - MAX_TOLD} other changes were refused`, { table });
}

async function loadOrCreate(
  { catalog, known }: TableOpening,
  tables: TargetTables,
  name: string,
  request: () => CreateTableRequest,
): Promise<LoadedTable> {
  const open = tables.loaded.get(name);
  if (open !== undefined) return open;
  const identifier = parseTableName(name);
  let table = await catalog.loadTable(identifier);
  if (table === undefined) {
    const uuid = await known(name);
    if (uuid !== null) throw droppedTable(name, uuid, catalog.name);
    try {
      table = await catalog.createTable(identifier, request());
    } catch (error) {
      // Another process was first: its table serves.
      if (!isSluiceError(error, 'TABLE_EXISTS')) throw error;
      table = await catalog.loadTable(identifier);
      if (table === undefined) throw error;
    }
  }
  tables.loaded.set(name, table);
  return table;
}

/** A table that the checkpoint has written is not in the catalog. */
export function droppedTable(name: string, uuid: string, catalog: string): SluiceError {
  return new SluiceError(
    'TABLE_REWOUND',
    `table ${name}: the checkpoint has written it with uuid ${uuid}, found no such table in the catalog ${catalog}; it was dropped or moved, or \`catalog\` names another place than before. Nothing was written. Register the table again, or start a new checkpoint`,
    { context: { table: name, expected: uuid } },
  );
}

/** Throws TABLE_INCOMPATIBLE where there are any: those of the table itself, and `faults`. `what`: what it is to take. */
function refuseFaults(name: string, metadata: TableMetadata, what: string, faults: readonly string[]): void {
  const all = [...tableFaults(metadata), ...faults];
  if (all.length === 0) return;
  throw new SluiceError('TABLE_INCOMPATIBLE', `table ${name} cannot take ${what}: ${all.join('; ')}`, {
    context: { table: name, faults: all },
  });
}

function describeTable(
  name: string,
  table: LoadedTable,
  rule: TableRule,
  role: 'data' | 'quarantine',
  sources: ColumnSource[],
  faults: readonly string[],
): TargetTable {
  const { metadata } = table;
  const schema = currentSchema(metadata);
  refuseFaults(name, metadata, role === 'data' ? `${rule.layout} rows` : 'quarantined records', faults);
  return {
    table: name,
    uuid: metadata.tableUuid,
    role,
    dataLocation: dataDirectory(metadata),
    schema,
    spec: defaultSpec(metadata),
    sortOrderId: 0,
    sources,
    defaults: schema.fields.map(writeDefault),
    timeZone: rule.timeZone,
    tombstones: rule.tombstones,
    maxRecordBytes: rule.maxRecordBytes,
    codec: rule.codec,
    codecLevel: rule.codecLevel,
    targetFileSizeBytes: rule.targetFileSizeBytes,
  };
}

function bronzeRequest(rule: TableRule, includeHeaders: boolean): CreateTableRequest {
  const schema = bronzeSchema({ valueType: rule.valueType, keyType: rule.keyType, includeHeaders });
  return {
    schema,
    partitionSpec: buildPartitionSpec(rule.partitionBy, schema),
    formatVersion: rule.formatVersion,
    properties: tableProperties(rule),
  };
}

/** The property of a table that records are routed to: what they have in the field that leads here. */
export const ROUTE_VALUE = 'sluice.route-value';

function typedRequest(
  rule: TableRule,
  columns: TypedColumns,
  table: string,
  value: string | undefined,
): CreateTableRequest {
  const schema = typedSchema(rule, columns, table);
  return {
    schema,
    partitionSpec: buildPartitionSpec(rule.partitionBy, schema),
    formatVersion: rule.formatVersion,
    properties: { ...tableProperties(rule), ...(value === undefined ? {} : { [ROUTE_VALUE]: value }) },
  };
}

function quarantineRequest(rule: TableRule): CreateTableRequest {
  const schema = quarantineSchema();
  return {
    schema,
    partitionSpec: buildPartitionSpec(['days(quarantined_at)'], schema),
    formatVersion: rule.formatVersion,
    properties: tableProperties(rule),
  };
}

/** Metadata files of old commits are cleaned, so that commit 10,000 costs what commit 10 costs (spec 50). */
function tableProperties(rule: TableRule): Record<string, string> {
  return {
    'write.format.default': 'parquet',
    'write.parquet.compression-codec': rule.codec === 'none' ? 'uncompressed' : rule.codec,
    'write.target-file-size-bytes': String(rule.targetFileSizeBytes),
    'write.metadata.delete-after-commit.enabled': 'true',
    'write.metadata.previous-versions-max': '100',
    ...rule.properties,
  };
}
