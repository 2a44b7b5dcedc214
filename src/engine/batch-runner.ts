import { createHash } from 'node:crypto';
import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type {
  BatchPlan,
  DoneBatch,
  LostRange,
  PreparedBatch,
  PreparedTable,
  RangeFunnel,
} from '../checkpoint/records.ts';
import { kafkaClientOptions } from '../config/client-options.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { FileIO } from '../storage/file-io.ts';
import { commitContext } from './commit-context.ts';
import { commitTables } from './commit-tables.ts';
import type { Failpoints } from './failpoint.ts';
import { Freshness } from './freshness.ts';
import type { BatchLimit, BatchReport, EngineHost, TableReport } from './host.ts';
import type {
  BatchTask,
  BatchTaskResult,
  RangeResult,
  TopicTargets,
  WrittenFile,
} from './local/batch-task.ts';
import type { WorkerPool } from './local/worker-pool.ts';
import { mergeRangeResults } from './merge-ranges.ts';
import { QuarantineGuard } from './quarantine-guard.ts';
import { parseRoutingText, routeTopics } from './routing.ts';
import { splitTasks } from './split-tasks.ts';
import type { TargetTables } from './target-tables.ts';

/** Memory of the coordinator itself (metadata, manifests, the checkpoint), taken from the pipeline's number first. */
const COORDINATOR_SHARE = 0.1;

export interface BatchRunnerContext {
  config: PipelineConfig;
  host: EngineHost;
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
  pool: WorkerPool;
  failpoints: Failpoints;
  runId: string;
  writerId: string;
  sleep(ms: number): Promise<void>;
}

/** A batch whose `offsets/N` is written. */
export interface PlannedBatch {
  plan: BatchPlan;
  latest: (bigint | null)[];
  limit: BatchLimit | null;
  /** Offsets that could be read and that the limit left to later batches. */
  leftOffsets: bigint;
  recovered: BatchReport['recovered'];
  startedAtMs: number;
  latestOffsetMs: number;
  walCommitMs: number;
}

/** A batch that is committed, checkpoint and all. */
export interface FinishedBatch {
  report: BatchReport;
  funnel: RangeFunnel[];
}

/**
 * Takes one planned batch to its end: read and write, `prepared/N`, the tables' commits, `done/N`, `commits/N`. Each
 * step finds what an earlier process has done of it and goes on from there.
 */
export class BatchRunner {
  private readonly context: BatchRunnerContext;
  private readonly guard: QuarantineGuard;
  private readonly freshness = new Freshness();

  constructor(context: BatchRunnerContext) {
    this.context = context;
    this.guard = new QuarantineGuard(context.config.quarantine);
  }

  /** `tablesOf` binds the tables where the batch has to be read. `abandon` gives up reading: the files of the batch are deleted and the signal's reason is thrown. */
  async run(
    batch: PlannedBatch,
    tablesOf: (plan: BatchPlan) => Promise<TargetTables>,
    abandon: AbortSignal,
  ): Promise<FinishedBatch> {
    const { checkpoint, failpoints, host } = this.context;
    const { plan } = batch;
    const found = await checkpoint.prepared(plan.batchId);
    const readFrom = host.now();
    // A batch that is prepared needs its tables' markers only, whatever became of their columns since.
    const prepared = found ?? (await this.prepare(plan, await tablesOf(plan), abandon));
    const commitFrom = host.now();
    const validThrough = this.freshness.after(
      plan.ranges,
      prepared.funnel,
      batch.latest,
      dataTables(plan),
      plan.batchTimestampMs,
    );
    const doneTables = await commitTables(
      {
        checkpoint,
        commit: commitContext(this.context),
        failpoints,
        pipelineName: this.context.config.name,
        writerId: this.context.writerId,
      },
      plan,
      prepared,
      validThrough,
    );
    const doneFrom = host.now();
    const done: DoneBatch = {
      batchId: plan.batchId,
      clusterId: plan.clusterId,
      topics: plan.topics,
      tables: doneTables,
      funnel: prepared.funnel,
      lost: [...plan.lost, ...prepared.lost],
    };
    failpoints.hit('before-done');
    await checkpoint.writeDone(done);
    failpoints.hit('after-done');
    await checkpoint.writeCommit(plan.batchId);
    failpoints.hit('after-commit');
    const report = this.report(
      { ...batch, recovered: found === null ? batch.recovered : 'finished' },
      prepared,
      done,
    );
    report.durations.read = found === null ? commitFrom - readFrom : 0;
    report.durations.commitTables = doneFrom - commitFrom;
    report.durations.addBatch = doneFrom - readFrom;
    report.durations.commitOffsets = host.now() - doneFrom;
    report.durations.triggerExecution = host.now() - batch.startedAtMs;
    this.guard.add(plan.batchId, { records: report.records, quarantined: report.quarantined });
    return { report, funnel: prepared.funnel };
  }

  /** Reads the ranges, writes the files, and makes the list that finishes the batch after any crash. */
  private async prepare(plan: BatchPlan, tables: TargetTables, abandon: AbortSignal): Promise<PreparedBatch> {
    const { checkpoint, failpoints, host, io } = this.context;
    const { outcome, ranges, lost } = await this.read(plan, tables, abandon);
    const files = outcome.flatMap((r) => r.files);
    try {
      const funnel = mergeRangeResults(
        ranges,
        outcome.flatMap((r) => r.ranges),
        plan.batchId,
        (topic) => tables.byTopic.get(topic)!.data.table,
      );
      assertRowsWritten(plan.batchId, funnel, files, tables);
      if (!host.acceptQuarantine) await this.checkQuarantine(plan.batchId, countsOf(funnel));
      const prepared: PreparedBatch = {
        batchId: plan.batchId,
        writerId: this.context.writerId,
        tables: preparedTables(plan, files, host),
        funnel,
        lost,
      };
      failpoints.hit('before-prepared');
      await checkpoint.writePrepared(prepared);
      failpoints.hit('after-prepared');
      return prepared;
    } catch (error) {
      // Once the list may stand in the checkpoint, now or by a request that is still on its way, the files belong to it.
      const unknown = isSluiceError(error) && error.outcome === 'unknown';
      if (!unknown && !(await this.isPrepared(plan.batchId))) await deleteFiles(io, files);
      throw error;
    }
  }

  /**
   * Reads the planned ranges. Where retention deletes records under the reader and `failOnDataLoss` is false, the range
   * is read again from where the log now starts, and what is gone is returned.
   */
  private async read(plan: BatchPlan, tables: TargetTables, abandon: AbortSignal): Promise<ReadOutcome> {
    const { config, host, io, pool } = this.context;
    const lost: LostRange[] = [];
    for (let attempt = 0; ; attempt++) {
      const ranges = withoutLost(plan.ranges, lost);
      const totalOffsets = Number(ranges.reduce((sum, r) => sum + (r.until - r.from), 0n));
      let records = 0;
      let bytes = 0;
      const tasks = this.tasksOf(plan, ranges, tables.byTopic, attempt);
      const { results, error } = await pool.run(tasks, abandon, (moreRecords, moreBytes) => {
        records += moreRecords;
        bytes += moreBytes;
        host.onActivity?.({ batchId: plan.batchId, totalOffsets, records, bytes });
      });
      if (error === undefined) return { outcome: results, ranges, lost };
      // Nobody refers to the files of the tasks that ended well: the batch is read again, now or by a later run.
      await deleteFiles(
        io,
        results.flatMap((r) => r.files),
      );
      const gone = config.source.failOnDataLoss ? undefined : lostWhileReading(error, ranges, plan);
      if (gone === undefined) throw error;
      host.log.warn(
        `${gone.topic}-${gone.partition}: offsets [${gone.from}, ${gone.until}) were deleted while batch ${plan.batchId} was read; the run goes on because failOnDataLoss is false`,
        { ...gone },
      );
      lost.push(gone);
    }
  }

  /** The window reaches back over earlier runs: what they quarantined stands in their done records. */
  private async checkQuarantine(
    batchId: number,
    batch: { records: number; quarantined: number },
  ): Promise<void> {
    if (batch.quarantined === 0) return;
    for (let earlier = this.guard.oldest ?? batchId; !this.guard.isFull && earlier > 0; earlier--) {
      const done = await this.context.checkpoint.done(earlier - 1);
      if (done === null) break;
      this.guard.addEarlier(earlier - 1, countsOf(done.funnel));
    }
    this.guard.check(batchId, batch);
  }

  /** Also true where it cannot be told: then nothing may be deleted. */
  private async isPrepared(batchId: number): Promise<boolean> {
    try {
      return (await this.context.checkpoint.prepared(batchId)) !== null;
    } catch {
      return true;
    }
  }

  private tasksOf(
    plan: BatchPlan,
    ranges: readonly OffsetRange[],
    topics: ReadonlyMap<string, TopicTargets>,
    attempt: number,
  ): BatchTask[] {
    const { config, pool, writerId } = this.context;
    const { minPartitions, maxRecordsPerPartition } = config.source;
    const parts = splitTasks(ranges, pool.size, minPartitions, maxRecordsPerPartition);
    const atOnce = Math.max(1, Math.min(parts.length, pool.size));
    const budgetBytes = Math.floor((config.memoryBytes * (1 - COORDINATOR_SHARE)) / atOnce);
    const topicIds = new Map(plan.topics.map((t) => [t.topic, t.topicId]));
    return parts.map((part, taskIndex) => ({
      batchId: plan.batchId,
      batchTimestampMs: plan.batchTimestampMs,
      pipelineName: config.name,
      writerId,
      taskIndex,
      attempt,
      ranges: part.map((r) => ({
        ...r,
        topicId: topicIds.get(r.topic) ?? null,
        ...epochBefore(plan, r),
      })),
      topics: [...new Set(part.map((r) => r.topic))].map((topic) => topics.get(topic)!),
      reader: {
        bootstrapServers: config.source.bootstrapServers,
        clientId: config.source.kafka['client.id'] ?? `sluice-${config.name}`,
        kafka: kafkaClientOptions(config.source),
        requestDeadlineMs: config.source.requestDeadlineMs,
        isolationLevel: config.source.isolationLevel,
      },
      budgetBytes,
      quarantineKeepBytes: config.quarantine.keepBytes,
    }));
  }

  private report(batch: PlannedBatch, prepared: PreparedBatch, done: DoneBatch): BatchReport {
    const { plan } = batch;
    const sum = (of: (r: PreparedBatch['funnel'][number]) => number): number =>
      prepared.funnel.reduce((total, r) => total + of(r), 0);
    const rows = sum((r) => r.rows);
    const quarantined = sum((r) => r.quarantined);
    const dropped = sum((r) => r.dropped);
    return {
      batchId: plan.batchId,
      pipelineId: this.context.checkpoint.id,
      runId: this.context.runId,
      startedAtMs: batch.startedAtMs,
      recovered: batch.recovered,
      ranges: plan.ranges,
      latest: batch.latest,
      records: rows + quarantined + dropped,
      quarantined,
      dropped,
      control: sum((r) => r.control),
      aborted: sum((r) => r.aborted),
      holes: sum((r) => r.holes),
      bytes: sum((r) => r.bytes),
      tables: tableReports(prepared, done),
      durations: {
        triggerExecution: 0,
        latestOffset: batch.latestOffsetMs,
        walCommit: batch.walCommitMs,
        addBatch: 0,
        read: 0,
        commitTables: 0,
        commitOffsets: 0,
      },
      limit: batch.limit,
      limitChange: null,
      lost: done.lost.map(({ topic, partition, from, until, reason }) => ({
        topic,
        partition,
        from,
        until,
        reason,
      })),
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
    };
  }
}

/** The epoch of the last batch read before a range; undefined where the range begins inside its planned one. */
function epochBefore(
  plan: BatchPlan,
  range: OffsetRange,
): { leaderEpoch: number; leaderEpochEnd: bigint } | undefined {
  const same = (at: { topic: string; partition: number }): boolean =>
    at.topic === range.topic && at.partition === range.partition;
  const begins = plan.ranges.some((planned) => same(planned) && planned.from === range.from);
  const known = begins ? plan.leaderEpochs.find(same) : undefined;
  return known === undefined ? undefined : { leaderEpoch: known.epoch, leaderEpochEnd: known.endOffset };
}

/** The data table of each topic of a plan. */
function dataTables(plan: BatchPlan): Map<string, string> {
  const topics = [...new Set(plan.ranges.map((r) => r.topic))];
  const routes = routeTopics(topics, parseRoutingText(plan.config.text).rules);
  return new Map(routes.map((route) => [route.topic, route.table]));
}

interface ReadOutcome {
  outcome: BatchTaskResult[];
  /** What was read in the end. */
  ranges: OffsetRange[];
  lost: LostRange[];
}

/** The ranges, each begun after what is lost of it. */
function withoutLost(ranges: readonly OffsetRange[], lost: readonly LostRange[]): OffsetRange[] {
  return ranges.map((range) => {
    let { from } = range;
    for (const l of lost)
      if (l.topic === range.topic && l.partition === range.partition && l.until > from) from = l.until;
    return { ...range, from: from < range.until ? from : range.until };
  });
}

/** The beginning of a range that a DATA_LOSS of the reader says is deleted; undefined for any other error. */
function lostWhileReading(
  error: unknown,
  ranges: readonly OffsetRange[],
  plan: BatchPlan,
): LostRange | undefined {
  if (!isSluiceError(error, 'DATA_LOSS')) return undefined;
  const { topic, partition, logStart } = error.context;
  const range = ranges.find((r) => r.topic === topic && r.partition === partition);
  if (range === undefined || typeof logStart !== 'bigint' || logStart <= range.from) return undefined;
  return {
    topic: range.topic,
    partition: range.partition,
    from: range.from,
    until: logStart < range.until ? logStart : range.until,
    topicId: plan.topics.find((t) => t.topic === topic)?.topicId ?? null,
    reason: 'retention deleted the records before they were read',
    acceptedBy: 'failOnDataLoss=false',
  };
}

function countsOf(funnel: readonly RangeResult[]): { records: number; quarantined: number } {
  let records = 0;
  let quarantined = 0;
  for (const range of funnel) {
    records += range.rows + range.quarantined + range.dropped;
    quarantined += range.quarantined;
  }
  return { records, quarantined };
}

/** The funnel closes at the files too: every row counted while reading stands in a file of its table. */
function assertRowsWritten(
  batchId: number,
  funnel: readonly RangeResult[],
  files: readonly WrittenFile[],
  tables: TargetTables,
): void {
  const expected = new Map<string, number>();
  const add = (table: string, rows: number): void =>
    void expected.set(table, (expected.get(table) ?? 0) + rows);
  for (const range of funnel) {
    const targets = tables.byTopic.get(range.topic)!;
    add(targets.data.table, range.rows);
    add(targets.quarantine.table, range.quarantined);
  }
  for (const { table, file } of files) add(table, -Number(file.recordCount));
  for (const [table, difference] of expected) {
    if (difference === 0) continue;
    throw new SluiceError(
      'FUNNEL_MISMATCH',
      `batch ${batchId}, table ${table}: ${Math.abs(difference)} rows ${difference > 0 ? 'are missing from' : 'too many in'} the files; nothing was committed`,
    );
  }
}

/** In commit order: quarantine tables first (spec 50.5). Tables without files are left out. */
function preparedTables(plan: BatchPlan, files: readonly WrittenFile[], host: EngineHost): PreparedTable[] {
  const ordered = [
    ...plan.tables.filter((t) => t.role === 'quarantine'),
    ...plan.tables.filter((t) => t.role === 'data'),
  ];
  return ordered
    .map((t) => {
      const mine = files.filter((f) => f.table === t.table).map((f) => f.file);
      return {
        ...t,
        commitId: host.randomUuid(),
        snapshotId: snapshotIdFrom(host.randomUuid()),
        rows: mine.reduce((sum, f) => sum + Number(f.recordCount), 0),
        files: mine,
      };
    })
    .filter((t) => t.files.length > 0);
}

/** 1 to 2^63-1 (case C22), from the bits of a random uuid. */
function snapshotIdFrom(uuid: string): bigint {
  const digest = createHash('sha256').update(uuid).digest();
  const id = digest.readBigUInt64BE(0) & 0x7fff_ffff_ffff_ffffn;
  return id === 0n ? 1n : id;
}

function tableReports(prepared: PreparedBatch, done: DoneBatch): TableReport[] {
  return prepared.tables.map((t) => ({
    table: t.table,
    role: t.role,
    rows: t.rows,
    files: t.files.length,
    bytes: t.files.reduce((sum, f) => sum + Number(f.fileSizeInBytes), 0),
    snapshotId: done.tables.find((d) => d.table === t.table)?.snapshotId ?? null,
  }));
}

async function deleteFiles(io: FileIO, files: readonly WrittenFile[]): Promise<void> {
  for (const { file } of files) await io.delete(file.filePath).catch(() => undefined);
}
