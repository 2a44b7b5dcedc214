import type { BatchPlan, LostRange, PlannedTable, RangeFunnel } from '../checkpoint/records.ts';
import type { OffsetMap, OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import type { RunEnd } from '../core/trigger.ts';
import { isSluiceError } from '../errors.ts';
import { BoundTables } from './bound-tables.ts';
import { findEndPositions } from './end-positions.ts';
import { incarnations, type KnownSource, mergeIncarnations } from './known-source.ts';
import { LeaderEpochs } from './leader-epochs.ts';
import type { WantedRoutes } from './local/batch-task.ts';
import { checkCluster, checkIdentity, deletedError, findLostRanges } from './loss-check.ts';
import { addNewPartitions, planRanges, positionsAfter } from './plan-batch.ts';
import type { PlannedBatch } from './planned-batch.ts';
import { plannedTables } from './planned-tables.ts';
import type { BatchPlannerContext } from './planner-context.ts';
import { recoverSource } from './recover-batch.ts';
import { observeSourceSettled, type SourceState } from './source-state.ts';
import { findStartingPositions } from './starting-positions.ts';
import type { TargetTables } from './target-tables.ts';
import { namesOf } from './topic-selection.ts';
import type { TriggerLimits } from './trigger-limits.ts';

/** Plans batches: positions from the checkpoint, ends from the brokers, checks that the log is still the same, tables. */
export class BatchPlanner {
  private readonly context: BatchPlannerContext;
  private readonly epochs = new LeaderEpochs();
  private readonly tables: BoundTables;
  private known: KnownSource | undefined;
  private nextBatchId = 0;
  private pendingLost: LostRange[] = [];
  /** Topics that were said not to be read. */
  private readonly toldOf = new Set<string>();

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
      limit: null,
      leftOffsets: 0n,
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

  /** The ends of all partitions now, or those that were asked for: the frame of a bounded run. */
  async freezeEnds(until: RunEnd): Promise<OffsetMap> {
    return findEndPositions(this.context.cluster, await this.observe(), until);
  }

  /** Plans the next batch and writes `plan/N` and `offsets/N`; null where there is nothing to read, or too little. */
  async next(frozen: OffsetMap | null, limits: TriggerLimits): Promise<PlannedBatch | null> {
    const { checkpoint, failpoints, host } = this.context;
    const startedAtMs = host.now();
    const state = await this.observe();
    const known = await this.adopt(state);
    const limit = limits.next();
    const planned = planRanges(known.positions, state, limit?.maxOffsets ?? null, frozen);
    const { ranges, latest, totalOffsets, waitingOffsets } = planned;
    const latestOffsetMs = host.now() - startedAtMs;
    const held = limits.holds(waitingOffsets, startedAtMs);
    // What is lost is put on record at once.
    if (this.pendingLost.length === 0 && (held || totalOffsets === 0n)) {
      await this.checkWritten(state);
      return null;
    }
    const tables = await this.checkedTables(state);
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
    return {
      plan,
      latest,
      limit,
      leftOffsets: waitingOffsets - totalOffsets,
      recovered: 'no',
      startedAtMs,
      latestOffsetMs,
      walCommitMs: host.now() - walFrom,
    };
  }

  private writtenChecked = false;

  /** Once a run: "nothing to do" must not be said of tables that are gone. */
  private async checkWritten(state: SourceState): Promise<void> {
    if (this.writtenChecked) return;
    await this.orOvertaken(this.tables.checkWritten(state));
    this.writtenChecked = true;
  }

  private checkedTables(state: SourceState): Promise<TargetTables> {
    return this.orOvertaken(this.tables.current(state));
  }

  /** Where the tables know more than this checkpoint, another process may have gone on with it meanwhile: then that is said. */
  private async orOvertaken<T>(checked: Promise<T>): Promise<T> {
    try {
      return await checked;
    } catch (error) {
      if (isSluiceError(error, 'CHECKPOINT_LOST') || isSluiceError(error, 'STALE_WRITER'))
        await this.context.checkpoint.assertNotOvertaken(this.nextBatchId);
      throw error;
    }
  }

  /** Takes over what a committed batch taught: the leader epochs up to which the log was read. */
  committed(funnel: readonly RangeFunnel[]): void {
    this.epochs.learn(funnel);
  }

  /** The tables of a planned batch, by the routing that was planned, not by today's (spec 30). `again`: they have changed since. */
  tablesOf(plan: BatchPlan, again = false): Promise<TargetTables> {
    return this.tables.ofPlan(plan, again);
  }

  /** See `BoundTables.takeRoutes`. */
  takeRoutes(plan: BatchPlan, wanted: readonly WantedRoutes[]): Promise<boolean> {
    return this.tables.takeRoutes(plan, wanted);
  }

  private async observe(): Promise<SourceState> {
    const { cluster, config, sleep } = this.context;
    // Topics that another cluster does not have are not missing: they were never there.
    checkCluster(this.known?.clusterId ?? null, cluster.clusterId);
    const state = await observeSourceSettled(cluster, config.source, this.known, sleep);
    this.warnOfPartMatches(state.matchedInPart);
    return state;
  }

  /** Spark's newer versions would read these topics: whoever comes from there should hear of it, once for each. */
  private warnOfPartMatches(topics: readonly string[]): void {
    const unheard = topics.filter((topic) => !this.toldOf.has(topic));
    for (const topic of unheard) this.toldOf.add(topic);
    if (unheard.length === 0) return;
    this.context.host.log.warn(
      `subscribePattern matches only a part of the names of ${namesOf(unheard)}, which are not read: a name has to match as a whole`,
      { topics: unheard },
    );
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
    const { checkpoint, cluster, config, failpoints } = this.context;
    const positions = await findStartingPositions(cluster, config.source, state);
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
