import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan, DoneBatch, PreparedBatch, RangeFunnel } from '../checkpoint/records.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { FileIO } from '../storage/file-io.ts';
import { BatchReader, deleteFiles, type ReadOutcome } from './batch-reader.ts';
import { batchReport } from './batch-report.ts';
import { commitContext } from './commit-context.ts';
import { commitTables } from './commit-tables.ts';
import { evolveTables } from './evolve-tables.ts';
import type { Failpoints } from './failpoint.ts';
import { Freshness } from './freshness.ts';
import type { BatchReport, EngineHost } from './host.ts';
import type { RangeResult, WantedRoutes } from './local/batch-task.ts';
import { collectIdle } from './local/garbage.ts';
import type { WorkerPool } from './local/worker-pool.ts';
import { mergeRangeResults } from './merge-ranges.ts';
import type { PlannedBatch } from './planned-batch.ts';
import { assertRowsWritten, preparedTables } from './prepared-tables.ts';
import { QuarantineGuard } from './quarantine-guard.ts';
import { quarantineReasons } from './quarantine-reasons.ts';
import { parseRoutingText, routeTopics } from './routing.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import type { TargetTables } from './target-tables.ts';

export interface BatchRunnerContext {
  config: PipelineConfig;
  host: EngineHost;
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
  pool: WorkerPool;
  registry: SchemaRegistry;
  failpoints: Failpoints;
  runId: string;
  writerId: string;
  sleep(ms: number): Promise<void>;
}

/** Binds the tables of a planned batch. */
export interface TableBinding {
  /** `again`: they have changed since. */
  tablesOf(plan: BatchPlan, again?: boolean): Promise<TargetTables>;
  /** Takes new destinations; true where any is new. */
  takeRoutes(plan: BatchPlan, wanted: readonly WantedRoutes[]): Promise<boolean>;
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
  private readonly reader: BatchReader;

  constructor(context: BatchRunnerContext) {
    this.context = context;
    this.reader = new BatchReader(context);
    this.guard = new QuarantineGuard(context.config.quarantine);
  }

  /** `binding` binds the tables where the batch has to be read. `abandon` gives up reading: the files of the batch are deleted and the signal's reason is thrown. */
  async run(batch: PlannedBatch, binding: TableBinding, abandon: AbortSignal): Promise<FinishedBatch> {
    const { checkpoint, failpoints, host } = this.context;
    const { plan } = batch;
    const found = await checkpoint.prepared(plan.batchId);
    const readFrom = host.now();
    // A batch that is prepared needs its tables' markers only, whatever became of their columns since.
    const prepared = found ?? (await this.prepare(plan, binding, abandon));
    const commitFrom = host.now();
    const validThrough = this.freshness.after(
      plan.ranges,
      prepared.funnel,
      batch.latest,
      dataTables(plan, prepared),
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
    const report = batchReport(
      { pipelineId: checkpoint.id, runId: this.context.runId },
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

  /**
   * Reads the ranges into files. Where records ask for what a typed table may be given, the table is given it first, and
   * the batch is read again: the record that brings a new column keeps its value there.
   */
  private async readFitting(
    plan: BatchPlan,
    binding: TableBinding,
    abandon: AbortSignal,
  ): Promise<ReadOutcome & { tables: TargetTables }> {
    const { failpoints, host, io, catalog, registry } = this.context;
    let tables = await binding.tablesOf(plan);
    for (let attempt = 0; ; ) {
      const read = await this.reader.read(plan, tables, abandon, attempt);
      attempt = read.attempt + 1;
      const wanted = read.outcome.flatMap((r) => r.wanted);
      const wantedRoutes = read.outcome.flatMap((r) => r.wantedRoutes);
      const end = async (): Promise<ReadOutcome & { tables: TargetTables }> => {
        await this.assertDecoded(read);
        return { ...read, tables };
      };
      if (wanted.length === 0 && wantedRoutes.length === 0) return end();
      failpoints.hit('before-evolve');
      const { rules } = parseRoutingText(plan.config.text);
      const evolved = await evolveTables({ catalog, registry, log: host.log }, tables, rules, wanted);
      const routed = await binding.takeRoutes(plan, wantedRoutes);
      if (!evolved && !routed) return end();
      failpoints.hit('after-evolve');
      await deleteFiles(
        io,
        read.outcome.flatMap((r) => r.files),
      );
      host.log.info(`batch ${plan.batchId} is read again, into its tables as they are now`);
      tables = await binding.tablesOf(plan, true);
    }
  }

  /** `mode: failfast`: throws DECODE_ERROR of a record whose table could not be given what it lacks. */
  private async assertDecoded({ outcome }: ReadOutcome): Promise<void> {
    const failed = outcome.find((r) => r.failed !== null)?.failed;
    if (failed === undefined || failed === null) return;
    const files = outcome.flatMap((r) => r.files);
    await deleteFiles(this.context.io, files);
    throw new SluiceError('DECODE_ERROR', failed.message, { context: { ...failed.context } });
  }

  /** Reads the ranges, writes the files, and makes the list that finishes the batch after any crash. */
  private async prepare(
    plan: BatchPlan,
    binding: TableBinding,
    abandon: AbortSignal,
  ): Promise<PreparedBatch> {
    const { checkpoint, failpoints, host, io } = this.context;
    const { outcome, ranges, lost, tables } = await this.readFitting(plan, binding, abandon);
    const files = outcome.flatMap((r) => r.files);
    try {
      const funnel = mergeRangeResults(
        ranges,
        outcome.flatMap((r) => r.ranges),
        plan.batchId,
        (topic) => tables.byTopic.get(topic)!.account,
      );
      assertRowsWritten(plan.batchId, funnel, files, tables);
      if (!host.acceptQuarantine)
        await this.checkQuarantine(plan.batchId, countsOf(funnel), () =>
          quarantineReasons(io, files, tables),
        );
      const prepared: PreparedBatch = {
        batchId: plan.batchId,
        writerId: this.context.writerId,
        tables: preparedTables(plan, files, tables, host),
        funnel,
        lost,
      };
      failpoints.hit('before-prepared');
      await checkpoint.writePrepared(prepared);
      // Its text may be as long as everything else that is held here.
      collectIdle();
      failpoints.hit('after-prepared');
      return prepared;
    } catch (error) {
      // Once the list may stand in the checkpoint, now or by a request that is still on its way, the files belong to it.
      const unknown = isSluiceError(error) && error.outcome === 'unknown';
      if (!unknown && !(await this.isPrepared(plan.batchId))) await deleteFiles(io, files);
      throw error;
    }
  }

  /** The window reaches back over earlier runs: what they quarantined stands in their done records. */
  private async checkQuarantine(
    batchId: number,
    batch: { records: number; quarantined: number },
    reasonsOf: () => Promise<string[]>,
  ): Promise<void> {
    if (batch.quarantined === 0) return;
    for (let earlier = this.guard.oldest ?? batchId; !this.guard.isFull && earlier > 0; earlier--) {
      const done = await this.context.checkpoint.done(earlier - 1);
      if (done === null) break;
      this.guard.addEarlier(earlier - 1, countsOf(done.funnel));
    }
    // Without them it is told all the same.
    await this.guard.check(batchId, batch, () => reasonsOf().catch(() => []));
  }

  /** Also true where it cannot be told: then nothing may be deleted. */
  private async isPrepared(batchId: number): Promise<boolean> {
    try {
      return (await this.context.checkpoint.prepared(batchId)) !== null;
    } catch {
      return true;
    }
  }
}

/** The data tables that the records of each topic may go to. */
function dataTables(plan: BatchPlan, prepared: PreparedBatch): Map<string, string[]> {
  const topics = [...new Set(plan.ranges.map((r) => r.topic))];
  const data = [...plan.tables, ...prepared.tables].filter((t) => t.role === 'data');
  const routes = routeTopics(topics, parseRoutingText(plan.config.text).rules);
  return new Map(
    routes.map(({ topic, table }) => {
      const mine = data.filter((t) => t.table === table || t.route?.group === table).map((t) => t.table);
      return [topic, [...new Set(mine)]];
    }),
  );
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
