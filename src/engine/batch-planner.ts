import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type {
  BatchPlan,
  LostRange,
  PlannedTable,
  RangeFunnel,
  TopicIncarnation,
} from '../checkpoint/records.ts';
import { finishReset, isResetPlan, resetUnfinished } from '../checkpoint/reset-batch.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, type OffsetRange, offsetEntries } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import { checkTable } from '../iceberg/commit.ts';
import type { EpochEndOffset, KafkaCluster } from '../kafka/cluster.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { PlannedBatch } from './batch-runner.ts';
import { commitContext } from './commit-context.ts';
import type { Failpoints } from './failpoint.ts';
import type { EngineHost } from './host.ts';
import type { KnownSource } from './known-source.ts';
import { checkCluster, checkIdentity, deletedError, findLostRanges } from './loss-check.ts';
import { addNewPartitions, planRanges, positionsAfter, startingPositions } from './plan-batch.ts';
import { parseRoutingText, routeTopics, routingText } from './routing.ts';
import { sha256Hex } from './sha256.ts';
import { observeSourceSettled, type SourceState } from './source-state.ts';
import { openTargetTables, parseTableName, type TargetTables } from './target-tables.ts';

export interface BatchPlannerContext {
  config: PipelineConfig;
  host: EngineHost;
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
  cluster: KafkaCluster;
  failpoints: Failpoints;
  writerId: string;
  sleep(ms: number): Promise<void>;
}

/** Plans batches: positions from the checkpoint, ends from the brokers, checks that the log is still the same, tables. */
export class BatchPlanner {
  private readonly context: BatchPlannerContext;
  private known: KnownSource | undefined;
  private nextBatchId = 0;
  /** Leader epoch of the last record batch read, and the offset after that batch, per partition. */
  private readonly epochs = new Map<string, { epoch: number; endOffset: bigint }>();
  private tables: { key: string; tables: TargetTables } | undefined;
  private pendingLost: LostRange[] = [];

  constructor(context: BatchPlannerContext) {
    this.context = context;
  }

  /** The batch that an earlier process planned and did not commit, or null. */
  async recover(): Promise<PlannedBatch | null> {
    const { checkpoint, host } = this.context;
    const point = checkpoint.restart();
    if (point.kind === 'fresh') {
      await this.resumeStart();
      return null;
    }
    this.warnOfStart();
    const lastPlanned = point.kind === 'next' ? point.batchId - 1 : point.batchId;
    const identity = await this.knownIdentity(lastPlanned);
    this.known = { ...identity, positions: await checkpoint.offsets(lastPlanned) };
    this.nextBatchId = lastPlanned + 1;
    if (point.kind === 'next') return null;
    const plan = await checkpoint.plan(point.batchId);
    if (plan === null) throw plannedElsewhere(point.batchId);
    if (isResetPlan(plan)) {
      await finishReset(checkpoint, plan);
      host.log.info(`batch ${point.batchId}, a reset that was cut off, is finished`, { ...plan.reset });
      return null;
    }
    const prepared = await checkpoint.prepared(point.batchId);
    if (prepared?.givenUp !== undefined) throw resetUnfinished(checkpoint, prepared.givenUp);
    await this.assertFollows(plan);
    if (prepared === null) checkIdentity({ ...this.known, positions: new Map() }, await this.observe());
    host.log.info(`batch ${point.batchId} was planned and not committed: it is taken up again`, {
      batchId: point.batchId,
    });
    return {
      plan,
      latest: plan.ranges.map(() => null),
      recovered: 'read again',
      startedAtMs: host.now(),
      latestOffsetMs: 0,
      walCommitMs: 0,
    };
  }

  /** A planned range begins where the batch before ended, or where what lies between was given up on record. */
  private async assertFollows(plan: BatchPlan): Promise<void> {
    const { checkpoint } = this.context;
    const before =
      plan.batchId === 0 ? await checkpoint.initialOffsets() : await checkpoint.offsets(plan.batchId - 1);
    for (const range of plan.ranges) {
      let from =
        (before === null ? undefined : getOffset(before, range.topic, range.partition)) ?? range.from;
      for (const lost of plan.lost)
        if (lost.topic === range.topic && lost.partition === range.partition && lost.from === from)
          from = lost.until;
      if (from === range.from) continue;
      throw new SluiceError(
        'CHECKPOINT_CORRUPT',
        `plan ${plan.batchId}: ${range.topic}-${range.partition} is planned from ${range.from}, but the batch before ended at ${from}; restore the checkpoint's files from one copy`,
        { context: { topic: range.topic, partition: range.partition, expected: from, found: range.from } },
      );
    }
  }

  /**
   * A query that began and planned no batch yet: it begins where it first said it would, not where `startingOffsets`
   * leads today (as Spark, which reads `sources/0/0`). Else what came while it was down would be passed over.
   */
  private async resumeStart(): Promise<void> {
    const { checkpoint } = this.context;
    const positions = await checkpoint.initialOffsets();
    if (positions === null) return;
    this.warnOfStart();
    const plan = await checkpoint.plan(0);
    if (isResetPlan(plan)) throw resetUnfinished(checkpoint, plan.reset);
    this.known = { clusterId: plan?.clusterId ?? null, topics: plan?.topics ?? [], positions };
  }

  private warnOfStart(): void {
    const { host, config } = this.context;
    if (config.source.startingOffsets.kind === 'latest') return;
    host.log.info(
      'startingOffsets applies to a new checkpoint only: this run goes on where the checkpoint stands',
    );
  }

  /** The ends of all partitions now: the frame of an availableNow run. */
  async freezeEnds(): Promise<OffsetMap> {
    return (await this.observe()).latest;
  }

  /** Plans the next batch and writes `plan/N` and `offsets/N`; null where there is nothing to read. */
  async next(bounds: { frozen: OffsetMap | null; limit: bigint | null }): Promise<PlannedBatch | null> {
    const { checkpoint, failpoints, host } = this.context;
    const startedAtMs = host.now();
    const state = await this.observe();
    const known = await this.adopt(state);
    const { ranges, latest, totalOffsets } = planRanges(known.positions, state, bounds.limit, bounds.frozen);
    const latestOffsetMs = host.now() - startedAtMs;
    if (totalOffsets === 0n && this.pendingLost.length === 0) return null;
    const tables = await this.currentTables(state);
    const walFrom = host.now();
    const plan = this.makePlan(state, ranges, plannedTables(tables));
    failpoints.hit('before-plan');
    await checkpoint.writePlan(plan);
    failpoints.hit('after-plan');
    const ends = positionsAfter(known.positions, ranges);
    await checkpoint.writeOffsets(plan.batchId, ends, plan.batchTimestampMs);
    failpoints.hit('after-offsets');
    this.nextBatchId = plan.batchId + 1;
    this.known = { ...known, positions: ends };
    this.pendingLost = [];
    return { plan, latest, recovered: 'no', startedAtMs, latestOffsetMs, walCommitMs: host.now() - walFrom };
  }

  /** Takes over what a committed batch taught: the leader epochs up to which the log was read. */
  committed(funnel: readonly RangeFunnel[]): void {
    for (const range of funnel) this.rememberEpoch(range);
  }

  /** The tables of a planned batch, by the routing that was planned, not by today's (spec 30). */
  async tablesOf(plan: BatchPlan): Promise<TargetTables> {
    const topics = [...new Set(plan.ranges.map((r) => r.topic))];
    if (this.tables?.key === tablesKey(plan.config.hash, topics)) return this.tables.tables;
    const { rules, includeHeaders } = parseRoutingText(plan.config.text);
    const ids = new Map(plan.topics.map((t) => [t.topic, t.topicId]));
    const tables = await openTargetTables(
      this.context.catalog,
      routeTopics(topics, rules),
      ids,
      includeHeaders,
      async (name) => plan.tables.find((t) => t.table === name)?.uuid ?? null,
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
    return tables;
  }

  private async observe(): Promise<SourceState> {
    const { cluster, config, sleep } = this.context;
    // Topics that another cluster does not have are not missing: they were never there.
    checkCluster(this.known?.clusterId ?? null, cluster.clusterId);
    return observeSourceSettled(cluster, config.source, this.known, sleep);
  }

  /** Brings what is known and what the brokers say together: identity, losses, new partitions. */
  private async adopt(state: SourceState): Promise<KnownSource> {
    const { host, config } = this.context;
    if (this.known === undefined) {
      this.known = await this.begin(state);
      return this.known;
    }
    const { known } = this;
    checkIdentity(known, state);
    await this.checkTruncation(known, state);
    const lost = findLostRanges(known, state);
    if (lost.length > 0 && config.source.failOnDataLoss)
      throw deletedError(lost, await this.oldestRecords(lost));
    for (const range of lost) {
      host.log.warn(
        `${range.topic}-${range.partition}: offsets [${range.from}, ${range.until}) are lost; the run goes on at ${range.until} because failOnDataLoss is false`,
        {
          ...range,
        },
      );
    }
    this.pendingLost.push(...lost);
    for (const { topic, partition } of addNewPartitions(known.positions, state)) {
      host.log.info(`partition ${topic}-${partition} is new: it is read from its earliest offset`);
    }
    this.known = {
      ...known,
      clusterId: known.clusterId ?? state.clusterId,
      topics: mergeIncarnations(known.topics, incarnations(state)),
    };
    return this.known;
  }

  /**
   * The start of a query, kept before anything else: the log that it came from in a plan without ranges, which the first
   * batch replaces, and `sources/0/0`.
   */
  private async begin(state: SourceState): Promise<KnownSource> {
    const { checkpoint, config, failpoints } = this.context;
    const positions = startingPositions(config.source, state);
    await checkpoint.writePlan(this.makePlan(state, [], []));
    await checkpoint.writeInitialOffsets(positions);
    failpoints.hit('after-initial-offsets');
    return { clusterId: state.clusterId, topics: incarnations(state), positions };
  }

  /** Truncation inside one incarnation: the log ends, in the epoch of the last batch read, below our position (KIP-320). */
  private async checkTruncation(known: KnownSource, state: SourceState): Promise<void> {
    const asked = [...offsetEntries(known.positions)]
      .filter(
        ({ topic, partition }) => state.topicIds.has(topic) && this.epochOf(topic, partition) !== undefined,
      )
      .map(({ topic, partition }) => ({ topic, partition, epoch: this.epochOf(topic, partition)!.epoch }));
    for (const answer of await this.epochEnds(asked)) {
      const position = getOffset(known.positions, answer.topic, answer.partition)!;
      const { epoch, endOffset } = this.epochOf(answer.topic, answer.partition)!;
      // Not with the position: between the last batch and it there may be compacted offsets of later epochs.
      if (answer.epoch >= 0 && answer.endOffset >= endOffset) continue;
      throw new SluiceError(
        'DATA_LOSS',
        `${answer.topic}-${answer.partition}: the log was truncated below the checkpoint: epoch ${epoch} was read up to offset ${endOffset} and now ends at ${answer.endOffset}, the checkpoint stands at ${position}; nothing was read. \`sluice checkpoint reset --topic ${answer.topic} --to unread\` previews how to go on where the logs part`,
        {
          context: {
            topic: answer.topic,
            partition: answer.partition,
            endOffset: answer.endOffset.toString(),
            position: position.toString(),
          },
        },
      );
    }
  }

  /** Brokers before 2.0 cannot be asked by epoch: there the offsets alone must tell. */
  private async epochEnds(
    asked: { topic: string; partition: number; epoch: number }[],
  ): Promise<EpochEndOffset[]> {
    if (asked.length === 0) return [];
    try {
      return await this.context.cluster.epochEndOffsets(asked);
    } catch (error) {
      if (!isSluiceError(error, 'UNSUPPORTED')) throw error;
      this.context.host.log.debug('the brokers do not tell the ends of leader epochs', {
        error: error.message,
      });
      return [];
    }
  }

  private async oldestRecords(lost: readonly LostRange[]): Promise<Map<string, number>> {
    const answers = await this.context.cluster.listOffsets(lost, { timestampMs: 0n });
    return new Map(
      answers
        .filter((a) => a.timestampMs >= 0n)
        .map((a) => [topicPartitionKey(a.topic, a.partition), Number(a.timestampMs)]),
    );
  }

  /** The tables under today's configuration; at first sight each is checked against the checkpoint. */
  private async currentTables(state: SourceState): Promise<TargetTables> {
    const { config, catalog, checkpoint } = this.context;
    const topics = [...state.topicIds.keys()].sort();
    const key = tablesKey(this.routing().hash, topics);
    if (this.tables?.key === key && !(await this.isEvolved(this.tables.tables))) return this.tables.tables;
    const tables = await openTargetTables(
      catalog,
      routeTopics(topics, config.tables),
      state.topicIds,
      config.source.includeHeaders,
      async (name) => (await checkpoint.lastRecorded(name))?.uuid ?? null,
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
    this.tables = { key, tables };
    return tables;
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

  private makePlan(state: SourceState, ranges: OffsetRange[], tables: PlannedTable[]): BatchPlan {
    return {
      batchId: this.nextBatchId,
      batchTimestampMs: this.context.host.now(),
      clusterId: state.clusterId,
      topics: mergeIncarnations(this.known?.topics ?? [], incarnations(state)),
      ranges,
      leaderEpochs: ranges.flatMap(({ topic, partition }) => {
        const known = this.epochOf(topic, partition);
        return known === undefined ? [] : [{ topic, partition, ...known }];
      }),
      tables,
      config: this.routing(),
      lost: this.pendingLost,
    };
  }

  private routing(): { hash: string; text: string } {
    const { config } = this.context;
    const text = routingText(config.tables, config.source.includeHeaders);
    return { hash: sha256Hex(text), text };
  }

  private async knownIdentity(
    batchId: number,
  ): Promise<{ clusterId: string | null; topics: TopicIncarnation[] }> {
    const { checkpoint } = this.context;
    const done = await checkpoint.done(batchId);
    for (const range of done?.funnel ?? []) this.rememberEpoch(range);
    const plan = await checkpoint.plan(batchId);
    for (const { topic, partition, epoch, endOffset } of plan?.leaderEpochs ?? []) {
      if (this.epochOf(topic, partition) === undefined)
        this.epochs.set(topicPartitionKey(topic, partition), { epoch, endOffset });
    }
    const source = plan ?? done;
    return { clusterId: source?.clusterId ?? null, topics: source?.topics ?? [] };
  }

  private rememberEpoch(range: RangeFunnel): void {
    if (range.leaderEpoch < 0) return;
    const known = { epoch: range.leaderEpoch, endOffset: range.leaderEpochEnd };
    this.epochs.set(topicPartitionKey(range.topic, range.partition), known);
  }

  private epochOf(topic: string, partition: number): { epoch: number; endOffset: bigint } | undefined {
    return this.epochs.get(topicPartitionKey(topic, partition));
  }
}

/** A batch that Spark planned has no `plan/N`; whether its sink took it is not known here. */
function plannedElsewhere(batchId: number): SluiceError {
  return new SluiceError(
    'UNSUPPORTED',
    `batch ${batchId} was planned by another engine and is not committed; let that engine finish it, then run again`,
    { context: { batchId } },
  );
}

function plannedTables(tables: TargetTables): PlannedTable[] {
  const planned: PlannedTable[] = [];
  for (const { data, quarantine } of tables.byTopic.values()) {
    for (const t of [quarantine, data]) {
      if (!planned.some((p) => p.table === t.table))
        planned.push({ table: t.table, uuid: t.uuid, ref: 'main', role: t.role });
    }
  }
  return planned;
}

function incarnations(state: SourceState): TopicIncarnation[] {
  return [...state.topicIds]
    .map(([topic, topicId]) => ({ topic, topicId }))
    .sort((a, b) => (a.topic < b.topic ? -1 : 1));
}

function mergeIncarnations(
  known: readonly TopicIncarnation[],
  now: readonly TopicIncarnation[],
): TopicIncarnation[] {
  const byTopic = new Map([...known, ...now].map((t) => [t.topic, t]));
  return [...byTopic.values()].sort((a, b) => (a.topic < b.topic ? -1 : 1));
}

function tablesKey(configHash: string, topics: readonly string[]): string {
  return `${configHash}:${[...topics].sort().join(',')}`;
}
