import type { TableRule } from '../config/pipeline-config.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog, CreateTableRequest, LoadedTable, TableIdentifier } from '../iceberg/catalog.ts';
import { currentSchema, defaultSpec } from '../iceberg/metadata.ts';
import { buildPartitionSpec } from '../iceberg/partition.ts';
import { dataDirectory } from '../iceberg/table-files.ts';
import { bindColumns, isText, writeDefault } from './bind-columns.ts';
import { quarantineFaults } from './bind-quarantine.ts';
import { bronzeSchema, quarantineSchema } from './bronze-layout.ts';
import type { TargetTable, TopicTargets } from './local/batch-task.ts';
import type { TopicRoute } from './routing.ts';
import { tableFaults } from './table-faults.ts';

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
  byTopic: Map<string, TopicTargets>;
  /** By `namespace.name`. */
  loaded: Map<string, LoadedTable>;
}

/**
 * Loads the tables of all routes and creates those that are missing, data and quarantine alike. An existing table of
 * any writer is used as it is. `known` gives the uuid of a table that the checkpoint has written or planned to write:
 * such a table is never made anew. Throws TABLE_REWOUND where it is gone, TABLE_INCOMPATIBLE with every fault of a table, and what the catalog throws.
 */
export async function openTargetTables(
  catalog: Catalog,
  routes: readonly TopicRoute[],
  topicIds: ReadonlyMap<string, string | null>,
  includeHeaders: boolean,
  known: (table: string) => Promise<string | null>,
): Promise<TargetTables> {
  const tables: TargetTables = { byTopic: new Map(), loaded: new Map() };
  const load = (name: string, request: () => CreateTableRequest): Promise<LoadedTable> =>
    loadOrCreate(catalog, tables, name, known, request);
  for (const route of routes) {
    const { rule } = route;
    const data = await load(route.table, () => bronzeRequest(rule, includeHeaders));
    const target = describeTable(route.table, data, 'data', rule, includeHeaders);
    const quarantine = await load(route.quarantineTable, () => quarantineRequest(rule));
    tables.byTopic.set(route.topic, {
      topic: route.topic,
      topicId: topicIds.get(route.topic) ?? null,
      data: target,
      quarantine: describeTable(route.quarantineTable, quarantine, 'quarantine', rule, includeHeaders),
      checkUtf8Values: isText(target.schema, target.sources, 'value'),
      checkUtf8Keys: isText(target.schema, target.sources, 'key'),
      checkUtf8HeaderKeys: target.sources.includes('headers'),
    });
  }
  return tables;
}

async function loadOrCreate(
  catalog: Catalog,
  tables: TargetTables,
  name: string,
  knownUuid: (table: string) => Promise<string | null>,
  request: () => CreateTableRequest,
): Promise<LoadedTable> {
  const open = tables.loaded.get(name);
  if (open !== undefined) return open;
  const identifier = parseTableName(name);
  let table = await catalog.loadTable(identifier);
  if (table === undefined) {
    const uuid = await knownUuid(name);
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

function droppedTable(name: string, uuid: string, catalog: string): SluiceError {
  return new SluiceError(
    'TABLE_REWOUND',
    `table ${name}: the checkpoint has written it with uuid ${uuid}, found no such table in the catalog ${catalog}; it was dropped or moved, or catalog.uri names another file than before. Nothing was written. Register the table again, or start a new checkpoint`,
    { context: { table: name, expected: uuid } },
  );
}

function describeTable(
  name: string,
  table: LoadedTable,
  role: 'data' | 'quarantine',
  rule: TableRule,
  includeHeaders: boolean,
): TargetTable {
  const { metadata } = table;
  const schema = currentSchema(metadata);
  const { sources, faults } =
    role === 'data' ? bindColumns(schema, includeHeaders) : { sources: [], faults: quarantineFaults(schema) };
  const all = [...tableFaults(metadata), ...faults];
  if (all.length > 0) {
    throw new SluiceError(
      'TABLE_INCOMPATIBLE',
      `table ${name} cannot take ${role === 'data' ? 'bronze rows' : 'quarantined records'}: ${all.join('; ')}. Mend the table, or write to another one`,
      { context: { table: name, faults: all } },
    );
  }
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
