import { randomUUID } from 'node:crypto';
import { warehouseLocation } from '../../catalog/open-catalog.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import type { Log } from '../../engine/host.ts';
import { routeTopics, type TopicRoute } from '../../engine/routing.ts';
import { SchemaRegistry } from '../../engine/schema-registry.ts';
import { openTargetTables } from '../../engine/target-tables.ts';
import { TrialCatalog } from '../../engine/trial-catalog.ts';
import type { Catalog, LoadedTable, TableIdentifier } from '../../iceberg/catalog.ts';
import { dataDirectory } from '../../iceberg/table-files.ts';
import { counted } from '../../monitor/progress-line.ts';
import { joinPath } from '../../storage/file-io.ts';
import { catalogExists, catalogPlace, withCatalog } from '../catalog-view.ts';
import { openCheckpointReadOnly } from '../checkpoint-view.ts';
import type { CliContext } from '../context.ts';
import { CheckResults, type Deadline } from './check-result.ts';
import { impatient } from './registry-check.ts';
import { assertWritable } from './storage-checks.ts';

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Is the catalog there, or can it be made, and may it be written? */
export async function checkCatalog(config: PipelineConfig, deadline: Deadline): Promise<CheckResults> {
  const results = new CheckResults();
  const place = catalogPlace(config);
  await results.try(
    'catalog',
    () =>
      deadline.within('CATALOG_UNREACHABLE', place, async () => {
        const namespaces = catalogExists(config)
          ? await withCatalog(config, ({ catalog }) => catalog.listNamespaces())
          : undefined;
        assertWritable(place);
        return namespaces;
      }),
    (namespaces) =>
      namespaces === undefined
        ? `${place} is made by the first run`
        : `${place} with ${counted(namespaces.length, 'namespace')}`,
  );
  return results;
}

/**
 * Would the tables of the topics be opened: created where they are missing, taken as they are, still those
 * that the checkpoint has written?
 */
export async function checkTables(
  config: PipelineConfig,
  context: CliContext,
  topics: readonly string[],
  deadline: Deadline,
): Promise<CheckResults> {
  const results = new CheckResults();
  if (topics.length === 0) {
    results.skipped('tables', 'the topics are not known');
    return results;
  }
  const controller = new AbortController();
  try {
    await deadline.within('CATALOG_UNREACHABLE', catalogPlace(config), async () => {
      const checkpoint = await openCheckpointReadOnly(config, context).catch(() => null);
      const look = (catalog: Catalog): Promise<void> =>
        tryRoutes(
          {
            config,
            catalog,
            checkpoint,
            results,
            registry: new SchemaRegistry(impatient(config.registry, deadline), controller.signal),
          },
          routeTopics(topics, config.tables),
        );
      if (catalogExists(config)) await withCatalog(config, ({ catalog }) => look(catalog));
      else await look(EMPTY);
    });
  } catch (error) {
    results.failed('tables', error);
  } finally {
    controller.abort();
  }
  return results;
}

interface Trial {
  config: PipelineConfig;
  catalog: Catalog;
  /** Null where it cannot be read, which is told elsewhere. */
  checkpoint: Checkpoint | null;
  results: CheckResults;
  registry: SchemaRegistry;
}

async function tryRoutes(trial: Trial, routes: readonly TopicRoute[]): Promise<void> {
  const { config, catalog, checkpoint, results, registry } = trial;
  // One for all of them: two rules that cannot share a table meet in it as they would in the run.
  const attempt = new TrialCatalog(catalog, {
    now: Date.now,
    randomUuid: randomUUID,
    locationOf: (identifier) => tableLocation(config, identifier),
  });
  const names = new Set<string>();
  let failed = 0;
  try {
    for (const route of routes) {
      try {
        const { loaded } = await openTargetTables(
          {
            catalog: attempt,
            topicIds: new Map(),
            includeHeaders: config.source.includeHeaders,
            registry,
            log: SILENT,
            pipeline: config.name,
            destinations: (group) => destinationsOf(checkpoint, group),
            known: async (name) => (await checkpoint?.lastRecorded(name))?.uuid ?? null,
          },
          [route],
        );
        for (const table of loaded.values()) assertWritable(placeOf(table));
        for (const name of loaded.keys()) names.add(name);
      } catch (error) {
        failed++;
        results.failed(`table ${route.table}`, error);
      }
    }
  } finally {
    await registry.close();
  }
  if (failed > 0) return;
  const toCreate = [...names].filter((name) => attempt.created.has(name)).length;
  results.ok('tables', tablesText(names.size - toCreate, toCreate));
}

function tablesText(there: number, toCreate: number): string {
  const parts = [
    ...(there > 0 ? [`${counted(there, 'table')} there`] : []),
    ...(toCreate > 0 ? [`${counted(toCreate, 'table')} to be created by the first run`] : []),
  ];
  return parts.join(', ');
}

async function destinationsOf(checkpoint: Checkpoint | null, group: string): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  for (const { table, route } of (await checkpoint?.tableRecords()) ?? [])
    if (route?.group === group && route.value !== null && !table.endsWith('__quarantine'))
      known.set(route.value, table);
  return known;
}

function tableLocation({ catalog }: PipelineConfig, { namespace, name }: TableIdentifier): string {
  const levels = catalog.type === 'file' ? namespace : [namespace.join('.')];
  return joinPath(warehouseLocation(catalog.warehouse), ...levels, name);
}

function placeOf({ metadata }: LoadedTable): string {
  return dataDirectory(metadata);
}

/** A catalog that is not there yet. */
const EMPTY: Catalog = {
  name: 'new',
  createNamespace: async () => {},
  listNamespaces: async () => [],
  listTables: async () => [],
  loadTable: async () => undefined,
  createTable: () => Promise.reject(new Error('nothing is created in a trial')),
  dropTable: async () => {},
  commitTable: () => Promise.reject(new Error('nothing is committed in a trial')),
  close: async () => {},
};
