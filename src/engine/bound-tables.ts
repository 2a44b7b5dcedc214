import type { BatchPlan } from '../checkpoint/records.ts';
import { SluiceError } from '../errors.ts';
import type { Catalog, LoadedTable } from '../iceberg/catalog.ts';
import { checkTable } from '../iceberg/commit.ts';
import { commitContext } from './commit-context.ts';
import type { WantedRoutes } from './local/batch-task.ts';
import type { BatchPlannerContext } from './planner-context.ts';
import {
  isKeptName,
  isQuarantine,
  parseRoutingText,
  quarantineOf,
  quarantineOfRoute,
  routeTopics,
  routingText,
  tableOfRoute,
} from './routing.ts';
import { sha256Hex } from './sha256.ts';
import type { SourceState } from './source-state.ts';
import {
  droppedTable,
  openTargetTables,
  parseTableName,
  ROUTE_VALUE,
  type TableOpening,
  type TargetTables,
} from './target-tables.ts';

/** Refused destinations that are told of: names from data are many. */
const MAX_WARNINGS = 100;

/** The target tables of a run: loaded and bound once, and again when topics, routing or the tables themselves change. */
export class BoundTables {
  private readonly context: BatchPlannerContext;
  private bound: { key: string; tables: TargetTables } | undefined;
  /** Tables that records led to in this process, by group and value. */
  private readonly made = new Map<string, Map<string, string>>();

  constructor(context: BatchPlannerContext) {
    this.context = context;
  }

  /** The part of today's configuration that decides where rows go, as text, and its SHA-256. */
  routing(): { hash: string; text: string } {
    const { config } = this.context;
    const text = routingText(config.tables, config.source.includeHeaders);
    return { hash: sha256Hex(text), text };
  }

  /** The tables under today's configuration; at first sight each is checked against the checkpoint. */
  async current(state: SourceState): Promise<TargetTables> {
    const { config, checkpoint } = this.context;
    const topics = [...state.topicIds.keys()].sort();
    const key = tablesKey(this.routing().hash, topics);
    if (this.bound?.key === key && !(await this.isEvolved(this.bound.tables))) return this.bound.tables;
    const tables = await openTargetTables(
      {
        ...this.opening(),
        topicIds: state.topicIds,
        includeHeaders: config.source.includeHeaders,
        known: async (name) => (await checkpoint.lastRecorded(name))?.uuid ?? null,
      },
      routeTopics(topics, config.tables),
    );
    for (const [name, loaded] of tables.loaded) await this.checkAgainstCheckpoint(name, loaded);
    this.bound = { key, tables };
    return tables;
  }

  /**
   * For a run that finds nothing to read: are the tables of today's routing that the checkpoint has written still there,
   * with what it has written? None is created. Throws as `current` does; nothing where they are bound.
   */
  async checkWritten(state: SourceState): Promise<void> {
    const { config, checkpoint, catalog } = this.context;
    if (this.bound !== undefined) return;
    const routed = new Set<string>();
    for (const route of routeTopics([...state.topicIds.keys()], config.tables))
      for (const name of [route.table, quarantineOfRoute(route, config.name)]) routed.add(name);
    for (const { table, uuid, route } of await checkpoint.tableRecords()) {
      if (!routed.has(table) && (route === undefined || !routed.has(route.group))) continue;
      const loaded = await catalog.loadTable(parseTableName(table));
      if (loaded === undefined) throw droppedTable(table, uuid, catalog.name);
      await this.checkAgainstCheckpoint(table, loaded);
    }
  }

  private async checkAgainstCheckpoint(name: string, loaded: LoadedTable): Promise<void> {
    const { config, checkpoint } = this.context;
    const lastRecorded = await checkpoint.lastRecorded(name);
    await checkTable(commitContext(this.context), {
      identifier: parseTableName(name),
      ref: 'main',
      // A table that never took a row may be made anew by anyone; only a batch of ours binds us to its uuid.
      expectedUuid: lastRecorded?.uuid ?? loaded.metadata.tableUuid,
      pipelineId: checkpoint.id,
      pipelineName: config.name,
      recorded: (batchId) => checkpoint.doneRecord(name, batchId),
      lastRecorded,
    });
  }

  /** The tables of a planned batch, by the routing that was planned, not by today's (spec 30). `again`: they have changed since. */
  async ofPlan(plan: BatchPlan, again: boolean): Promise<TargetTables> {
    const topics = [...new Set(plan.ranges.map((r) => r.topic))];
    const key = tablesKey(plan.config.hash, topics);
    if (!again && this.bound?.key === key) return this.bound.tables;
    const { rules, includeHeaders } = parseRoutingText(plan.config.text);
    const ids = new Map(plan.topics.map((t) => [t.topic, t.topicId]));
    const tables = await openTargetTables(
      {
        ...this.opening(),
        topicIds: ids,
        includeHeaders,
        known: async (name) => plan.tables.find((t) => t.table === name)?.uuid ?? null,
      },
      routeTopics(topics, rules),
    );
    for (const planned of plan.tables) {
      const found = tables.loaded.get(planned.table);
      if (found?.metadata.tableUuid === planned.uuid) continue;
      throw new SluiceError(
        'TABLE_REWOUND',
        `table ${planned.table}: batch ${plan.batchId} was planned for the table with uuid ${planned.uuid}, found ${found?.metadata.tableUuid ?? 'no such table'}; it was dropped or recreated. Nothing was written`,
        { context: { table: planned.table, expected: planned.uuid, found: found?.metadata.tableUuid } },
      );
    }
    if (this.bound?.key === key) this.bound = { key, tables };
    return tables;
  }

  /**
   * Takes destinations that records of a planned batch ask for, as far as the rule allows. True where any is new: then the
   * batch is to be read again. Records of those that are not taken are quarantined.
   */
  async takeRoutes(plan: BatchPlan, wanted: readonly WantedRoutes[]): Promise<boolean> {
    const { rules } = parseRoutingText(plan.config.text);
    const { catalog, host } = this.context;
    let taken = false;
    for (const { topic, values } of wanted) {
      const [{ table: group, rule }] = routeTopics([topic], rules);
      const known = new Map([...(await this.destinations(group)), ...Object.entries(rule.route!.tables)]);
      const made = this.made.get(group) ?? new Map<string, string>();
      this.made.set(group, made);
      const owners = await this.owners(plan);
      for (const value of values) {
        if (known.has(value)) continue;
        const table = tableOfRoute(group, value);
        const owner = owners.get(table);
        const refusal =
          owner !== undefined && owner !== group
            ? `its table would be ${table}, which takes the records of ${owner}`
            : await refusedRoute(catalog, value, table, known, rule.route!.maxTables);
        if (refusal !== null) {
          this.warnOnce(
            `records with ${rule.route!.by} ${JSON.stringify(value)} are quarantined: ${refusal}`,
          );
          continue;
        }
        host.log.info(`table ${table} takes the records with ${rule.route!.by} ${JSON.stringify(value)}`, {
          table,
        });
        known.set(value, table);
        made.set(value, table);
        taken = true;
      }
    }
    return taken;
  }

  private readonly warned = new Set<string>();

  private warnOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size > MAX_WARNINGS) return;
    this.warned.add(message);
    this.context.host.log.warn(message);
  }

  /** The tables that records of a group went to before, in this process or another. */
  private async destinations(group: string): Promise<Map<string, string>> {
    const { checkpoint } = this.context;
    const known = new Map<string, string>();
    for (const { table, route } of await checkpoint.tableRecords())
      if (route?.group === group && route.value !== null && !isQuarantine(table))
        known.set(route.value, table);
    for (const [value, table] of this.made.get(group) ?? []) known.set(value, table);
    return known;
  }

  /** By table of this pipeline, the table or group under which its records are accounted for: each has one such account. */
  private async owners(plan: BatchPlan): Promise<Map<string, string>> {
    const owners = new Map<string, string>();
    for (const { table, route } of [...(await this.context.checkpoint.tableRecords()), ...plan.tables])
      owners.set(table, route?.group ?? table);
    for (const [group, tables] of this.made) for (const table of tables.values()) owners.set(table, group);
    return owners;
  }

  private opening(): Pick<TableOpening, 'catalog' | 'registry' | 'log' | 'pipeline' | 'destinations'> {
    const { catalog, registry, host, config } = this.context;
    return {
      catalog,
      registry,
      log: host.log,
      pipeline: config.name,
      destinations: (group) => this.destinations(group),
    };
  }

  /** Has anyone given a table another schema or partition spec since it was bound? */
  private async isEvolved(tables: TargetTables): Promise<boolean> {
    for (const [name, bound] of tables.loaded) {
      const now = (await this.context.catalog.loadTable(parseTableName(name)))?.metadata;
      const { tableUuid, currentSchemaId, defaultSpecId } = bound.metadata;
      if (
        now?.tableUuid !== tableUuid ||
        now.currentSchemaId !== currentSchemaId ||
        now.defaultSpecId !== defaultSpecId
      )
        return true;
    }
    return false;
  }
}

/** Characters of a directory's name, where a character is a byte: more can be stored nowhere. */
const MAX_NAME = 255;

/** Why a value that records have cannot have a table; null where it can. */
async function refusedRoute(
  catalog: Catalog,
  value: string,
  table: string,
  known: ReadonlyMap<string, string>,
  maxTables: number,
): Promise<string | null> {
  if (new Set(known.values()).size >= maxTables)
    return `the rule has ${maxTables} tables already (route.maxTables)`;
  const other = [...known].find(([, name]) => name === table);
  if (other !== undefined) return `its table would be ${table}, which is that of ${JSON.stringify(other[0])}`;
  const length = quarantineOf(parseTableName(table).name).length;
  if (length > MAX_NAME)
    return `the name of its quarantine would have ${length} characters, and a directory takes ${MAX_NAME}`;
  if (isKeptName(table)) return `its table would be ${table}, a name for what is set aside`;
  const there = await catalog.loadTable(parseTableName(table));
  if (there === undefined) return null;
  // What stands in a record must not choose a table that someone made for something else.
  const owner = there.metadata.properties[ROUTE_VALUE];
  if (owner === undefined)
    return `its table would be ${table}, which is there and was not made for it; name it under route.tables`;
  return owner === value ? null : `its table would be ${table}, which was made for ${JSON.stringify(owner)}`;
}

function tablesKey(configHash: string, topics: readonly string[]): string {
  return `${configHash}:${[...topics].sort().join(',')}`;
}
