import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan, LostRange, PlannedTable, RangeFunnel } from '../checkpoint/records.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetMap, OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { PlannedBatch } from './batch-runner.ts';
import { BoundTables, plannedTables } from './bound-tables.ts';
import type { Failpoints } from './failpoint.ts';
import type { EngineHost } from './host.ts';
import { incarnations, type KnownSource, mergeIncarnations } from './known-source.ts';
import { LeaderEpochs } from './leader-epochs.ts';
import { checkCluster, checkIdentity, deletedError, findLostRanges } from './loss-check.ts';
import { addNewPartitions, planRanges, positionsAfter, startingPositions } from './plan-batch.ts';
import { recoverSource } from './recover-batch.ts';
import { observeSourceSettled, type SourceState } from './source-state.ts';
import type { TargetTables } from './target-tables.ts';

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
  private readonly epochs = new LeaderEpochs();
  private readonly tables: BoundTables;
  private known: KnownSource | undefined;
  private nextBatchId = 0;
  private pendingLost: LostRange[] = [];

  constructor(context: BatchPlannerContext) {
    this.context = context;
    this.tables = new BoundTables(context);
  }

  /** The batch that an earlier process planned and did not commit, or null. */
  async recover(): Promise<PlannedBatch | null> {
    const { checkpoint, host } = this.context;
    const { known, nextBatchId, unfinished } = await recoverSource(checkpoint, this.epochs, host.log);
    if (known === null) return null;
    this.warnOfStart();
    this.known = known;
    this.nextBatchId = nextBatchId;
    if (unfinished === null) return null;
    const { plan, prepared } = unfinished;
    if (!prepared) checkIdentity({ ...known, positions: new Map() }, await this.observe());
    host.log.info(`batch ${plan.batchId} was planned and not committed: it is taken up again`, {
      batchId: plan.batchId,
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
    const tables = await this.tables.current(state);
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
    this.epochs.learn(funnel);
  }

  /** The tables of a planned batch, by the routing that was planned, not by today's (spec 30). */
  tablesOf(plan: BatchPlan): Promise<TargetTables> {
    return this.tables.ofPlan(plan);
  }

  private async observe(): Promise<SourceState> {
    const { cluster, config, sleep } = this.context;
    // Topics that another cluster does not have are not missing: they were never there.
    checkCluster(this.known?.clusterId ?? null, cluster.clusterId);
    return observeSourceSettled(cluster, config.source, this.known, sleep);
  }

  /** Brings what is known and what the brokers say together: identity, losses, new partitions. */
  private async adopt(state: SourceState): Promise<KnownSource> {
    const { host, config, cluster } = this.context;
    if (this.known === undefined) {
      this.known = await this.begin(state);
      return this.known;
    }
    const { known } = this;
    checkIdentity(known, state);
    await this.epochs.checkTruncation(cluster, known, state, host.log);
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
      topics: mergeIncarnations(known.topics, incarnations(state.topicIds)),
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
    return { clusterId: state.clusterId, topics: incarnations(state.topicIds), positions };
  }

  private async oldestRecords(lost: readonly LostRange[]): Promise<Map<string, number>> {
    const answers = await this.context.cluster.listOffsets(lost, { timestampMs: 0n });
    return new Map(
      answers
        .filter((a) => a.timestampMs >= 0n)
        .map((a) => [topicPartitionKey(a.topic, a.partition), Number(a.timestampMs)]),
    );
  }

  private makePlan(state: SourceState, ranges: OffsetRange[], tables: PlannedTable[]): BatchPlan {
    return {
      batchId: this.nextBatchId,
      batchTimestampMs: this.context.host.now(),
      clusterId: state.clusterId,
      topics: mergeIncarnations(this.known?.topics ?? [], incarnations(state.topicIds)),
      ranges,
      leaderEpochs: this.epochs.before(ranges),
      tables,
      config: this.tables.routing(),
      lost: this.pendingLost,
    };
  }
}
