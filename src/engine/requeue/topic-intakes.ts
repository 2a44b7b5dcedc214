import type { LedgerEntry } from '../../checkpoint/records.ts';
import { isSluiceError, SluiceError } from '../../errors.ts';
import type { Catalog } from '../../iceberg/catalog.ts';
import { evolveTables } from '../evolve-tables.ts';
import type { Log } from '../host.ts';
import type { TargetTable } from '../local/batch-task.ts';
import { quarantineOf, quarantineOfRoute, routeTopics, type TopicRoute } from '../routing.ts';
import { openTargetTables, type TargetTables } from '../target-tables.ts';
import type { RecordKey } from './record-set.ts';
import type { RequeueHost } from './requeue-host.ts';
import { RequeueIntake, STAYS, type Staying } from './requeue-intake.ts';

interface OpenTopic {
  tables: TargetTables;
  intake: RequeueIntake;
}

/** The tables and decoders of the topics whose records are met, by today's rules. */
export class TopicIntakes {
  private readonly host: RequeueHost;
  private readonly quarantine: string;
  private readonly catalog: Catalog;
  private readonly log: Log;
  private readonly topics = new Map<string, OpenTopic | Staying>();
  private ledger: LedgerEntry[] | undefined;

  /** `catalog`: where tables are made and given columns. `log`: what is told of that. */
  constructor(host: RequeueHost, quarantine: string, catalog: Catalog, log: Log) {
    this.host = host;
    this.quarantine = quarantine;
    this.catalog = catalog;
    this.log = log;
  }

  /** What decodes the records of a topic, or why they stay. Throws what `openTargetTables` throws. */
  async of(topic: string): Promise<RequeueIntake | Staying> {
    let open = this.topics.get(topic);
    if (open === undefined) {
      open = await this.open(topic);
      this.topics.set(topic, open);
    }
    return 'intake' in open ? open.intake : open;
  }

  /** The incarnation of the topic that a record is of; null where no table asks, or the ledger does not say. */
  async topicId({ topic, partition, pipeline, batchId }: RecordKey, offset: bigint): Promise<string | null> {
    const open = this.topics.get(topic);
    if (open === undefined || !('intake' in open)) return null;
    if (!open.intake.targets.some(({ data }) => data.sources.includes('topicId'))) return null;
    if (pipeline !== this.host.config.name || batchId === null) return null;
    this.ledger ??= await this.host.checkpoint.ledger();
    const entry = this.ledger.find(
      (e) =>
        e.topic === topic &&
        e.partition === partition &&
        e.from <= offset &&
        offset < e.until &&
        BigInt(e.firstBatch) <= batchId &&
        batchId <= BigInt(e.lastBatch),
    );
    return entry?.topicId ?? null;
  }

  /** Gives tables that follow their records the columns that the records so far ask for; what is open is bound anew. */
  async evolve(): Promise<void> {
    const { registry, config } = this.host;
    for (const [topic, open] of this.topics) {
      if (!('intake' in open)) continue;
      const wanted = open.intake.wanted();
      if (wanted.length > 0)
        await evolveTables(
          { catalog: this.catalog, registry, log: this.log },
          open.tables,
          config.tables,
          wanted,
        );
      // Also where nothing changed: the discovery begins anew.
      this.topics.delete(topic);
    }
  }

  /** As a run refuses it: rows of a table that was made anew would have to be read again first. */
  private async expectSame({ table, uuid }: TargetTable): Promise<void> {
    const recorded = await this.host.checkpoint.lastRecorded(table);
    if (recorded === null || recorded.uuid.toLowerCase() === uuid.toLowerCase()) return;
    throw new SluiceError(
      'TABLE_REWOUND',
      `table ${table}: the checkpoint has written it with uuid ${recorded.uuid}, found ${uuid}: it was dropped and made anew. Nothing goes back into it`,
      { outcome: 'not-applied', context: { table, expected: recorded.uuid, found: uuid } },
    );
  }

  private async open(topic: string): Promise<OpenTopic | Staying> {
    const { config, checkpoint, registry } = this.host;
    let routes: ReturnType<typeof routeTopics>;
    try {
      routes = routeTopics([topic], config.tables);
    } catch (error) {
      if (!isSluiceError(error, 'CONFIG_INVALID')) throw error;
      return { table: null, reason: 'NO_RULE', field: '', message: STAYS.NO_RULE };
    }
    const [route] = routes;
    const destinations = await destinationsOf(this.host, route.table);
    // Asked before any table is made.
    if (!quarantinesOf(route, config.name, destinations).includes(this.quarantine)) {
      const message = `${STAYS.OTHER_TABLE}: ${route.table}`;
      return { table: null, reason: 'OTHER_TABLE', field: '', message };
    }
    const tables = await openTargetTables(
      {
        catalog: this.catalog,
        topicIds: new Map(),
        includeHeaders: config.source.includeHeaders,
        registry,
        log: this.log,
        pipeline: config.name,
        destinations: async () => destinations,
        known: async (name) => (await checkpoint.lastRecorded(name))?.uuid ?? null,
      },
      routes,
    );
    const plan = tables.byTopic.get(topic)!;
    const intake = await RequeueIntake.create(plan);
    for (const { data } of intake.targets) await this.expectSame(data);
    return { tables, intake };
  }
}

/** Where records of a topic are set aside. */
function quarantinesOf(
  route: TopicRoute,
  pipeline: string,
  destinations: ReadonlyMap<string, string>,
): string[] {
  const tables = [...destinations.values(), ...Object.values(route.rule.route?.tables ?? {})];
  return [quarantineOfRoute(route, pipeline), ...tables.map(quarantineOf)];
}

/** The tables of a group that were made on demand. */
async function destinationsOf({ checkpoint }: RequeueHost, group: string): Promise<Map<string, string>> {
  const destinations = new Map<string, string>();
  for (const { table, route } of await checkpoint.tableRecords()) {
    if (route?.group !== group || route.value === null || table.endsWith('__quarantine')) continue;
    destinations.set(route.value, table);
  }
  return destinations;
}
