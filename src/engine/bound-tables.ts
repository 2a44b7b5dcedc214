import type { BatchPlan, PlannedTable } from '../checkpoint/records.ts';
import { SluiceError } from '../errors.ts';
import { checkTable } from '../iceberg/commit.ts';
import { commitContext } from './commit-context.ts';
import type { BatchPlannerContext } from './planner-context.ts';
import { parseRoutingText, routeTopics, routingText } from './routing.ts';
import { sha256Hex } from './sha256.ts';
import type { SourceState } from './source-state.ts';
import { openTargetTables, parseTableName, type TableOpening, type TargetTables } from './target-tables.ts';

/** The target tables of a run: loaded and bound once, and again when topics, routing or the tables themselves change. */
export class BoundTables {
  private readonly context: BatchPlannerContext;
  private bound: { key: string; tables: TargetTables } | undefined;

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
    for (const [name, loaded] of tables.loaded) {
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
    this.bound = { key, tables };
    return tables;
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

  private opening(): Pick<TableOpening, 'catalog' | 'registry' | 'log'> {
    const { catalog, registry, host } = this.context;
    return { catalog, registry, log: host.log };
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

/** As a plan names them: the quarantine of each data table before it. */
export function plannedTables(tables: TargetTables): PlannedTable[] {
  const planned: PlannedTable[] = [];
  for (const { data, quarantine } of tables.byTopic.values()) {
    for (const t of [quarantine, data]) {
      if (!planned.some((p) => p.table === t.table))
        planned.push({ table: t.table, uuid: t.uuid, ref: 'main', role: t.role });
    }
  }
  return planned;
}

function tablesKey(configHash: string, topics: readonly string[]): string {
  return `${configHash}:${[...topics].sort().join(',')}`;
}
