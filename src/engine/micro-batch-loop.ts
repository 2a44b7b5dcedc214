import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetMap } from '../core/offset-range.ts';
import { nextTriggerTime, type Trigger } from '../core/trigger.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { FileIO } from '../storage/file-io.ts';
import { BatchPlanner } from './batch-planner.ts';
import type { BatchRunner, FinishedBatch } from './batch-runner.ts';
import type { Failpoints } from './failpoint.ts';
import type { BatchReport, EngineHost, RunSummary } from './host.ts';
import { abandoned, isAbandoned } from './local/abandoned.ts';
import type { PlannedBatch } from './planned-batch.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { TriggerLimits } from './trigger-limits.ts';

/** The least pause after a plan that found nothing, as Spark's `spark.sql.streaming.pollingDelay`. */
const IDLE_PAUSE_MS = 10;
/** Batches of earlier runs whose sizes tell what an offset weighs. */
const SIZES_FROM = 5;

type BoundedTrigger = Exclude<Trigger, { kind: 'processingTime' }>;

export interface MicroBatchLoopContext {
  config: PipelineConfig;
  host: EngineHost;
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
  /** Closed when `host.stop` is aborted: what is asked of it then fails with the reason of `host.stop`. */
  cluster: KafkaCluster;
  runner: BatchRunner;
  registry: SchemaRegistry;
  failpoints: Failpoints;
  runId: string;
  writerId: string;
  sleep(ms: number): Promise<void>;
}

export type LoopSummary = Omit<RunSummary, 'pipelineId' | 'runId' | 'seconds'>;

/** Did a request to the brokers fail only because the end of the run was asked for? */
export function isEndAskedFor({ stop }: Pick<EngineHost, 'stop'>, error: unknown): boolean {
  return stop.aborted && error === stop.reason;
}

/**
 * The micro-batch loop: an unfinished batch first, then batch after batch by the trigger. One batch at a time; the
 * next is planned only when `commits/N` of the one before is written.
 */
export class MicroBatchLoop {
  private readonly context: MicroBatchLoopContext;
  private readonly planner: BatchPlanner;
  private readonly limits: TriggerLimits;
  /** The ends of an availableNow run, frozen when its first new batch is planned (spec 20.5). */
  private frozen: OffsetMap | null = null;
  private readonly total = { batches: 0, records: 0, quarantined: 0, bytes: 0 };

  constructor(context: MicroBatchLoopContext) {
    this.context = context;
    this.planner = new BatchPlanner(context);
    this.limits = new TriggerLimits(context.config);
  }

  async run(): Promise<LoopSummary> {
    let stopped: RunSummary['stopped'];
    try {
      stopped = await this.runAll();
    } catch (error) {
      // A plan that waited for the brokers when the end was asked for: nothing of it was written.
      if (!isEndAskedFor(this.context.host, error)) throw error;
      stopped = 'asked';
    }
    if (stopped === 'asked') this.context.host.log.info('stopped as asked');
    return { ...this.total, stopped };
  }

  private async runAll(): Promise<RunSummary['stopped']> {
    const { trigger } = this.context.config;
    const unfinished = await this.planner.recover();
    if (this.limits.asksForSizes) await this.learnSizes();
    if (unfinished !== null && !(await this.runBatch(unfinished))) return 'abandoned';
    return trigger.kind === 'processingTime' ? this.runByTime(trigger.intervalMs) : this.runToEnd(trigger);
  }

  private async runByTime(intervalMs: number): Promise<RunSummary['stopped']> {
    const { host } = this.context;
    while (!host.stop.aborted) {
      const startedAt = host.now();
      const batch = await this.planner.next(null, this.limits);
      if (batch === null) this.sayHeld('debug', 'wait');
      if (batch !== null && !(await this.runBatch(batch))) return 'abandoned';
      const next = nextTriggerTime(startedAt, intervalMs);
      await this.idleUntil(batch === null ? Math.max(next, host.now() + IDLE_PAUSE_MS) : next);
    }
    return 'asked';
  }

  /** availableNow: batch after batch up to the frozen ends. once: one batch with all there is, as Spark without a limit. */
  private async runToEnd(trigger: BoundedTrigger): Promise<RunSummary['stopped']> {
    const { host } = this.context;
    const until = (trigger.kind === 'availableNow' ? trigger.until : undefined) ?? { kind: 'latest' };
    while (!host.stop.aborted) {
      this.frozen ??= await this.planner.freezeEnds(until);
      const batch = await this.planner.next(this.frozen, this.limits);
      if (batch === null) {
        this.sayHeld('info', 'are left to the next run');
        return 'finished';
      }
      if (!(await this.runBatch(batch))) return 'abandoned';
      if (trigger.kind === 'once') return 'finished';
    }
    return 'asked';
  }

  /** False where the batch was abandoned because the end was asked for. */
  private async runBatch(batch: PlannedBatch): Promise<boolean> {
    const { host, config, checkpoint, failpoints, runner } = this.context;
    const abandon = abandonLater(host.stop, config.shutdownTimeoutMs);
    let finished: FinishedBatch;
    try {
      finished = await runner.run(batch, this.planner, abandon.signal);
    } catch (error) {
      if (abandon.signal.aborted && isAbandoned(error)) {
        host.log.warn(`batch ${batch.plan.batchId} was abandoned: it is read again by the next run`);
        return false;
      }
      throw error;
    } finally {
      abandon.release();
    }
    const { report, funnel } = finished;
    this.planner.committed(funnel);
    this.adaptLimit(batch, report);
    this.total.batches++;
    this.total.records += report.records;
    this.total.quarantined += report.quarantined;
    this.total.bytes += report.bytes;
    failpoints.hit('before-purge');
    await checkpoint.purge(config.retention.minBatchesToRetain);
    failpoints.hit('after-purge');
    await host.onBatch?.(report);
    return true;
  }

  /** The bytes per offset of the last batches of earlier runs, from their done records. */
  private async learnSizes(): Promise<void> {
    const { checkpoint } = this.context;
    const last = checkpoint.latestCommitted ?? -1;
    for (let batchId = Math.max(0, last - SIZES_FROM + 1); batchId <= last; batchId++) {
      const done = await checkpoint.done(batchId);
      const funnel = done?.funnel ?? [];
      const offsets = funnel.reduce((sum, r) => sum + (r.until - r.from), 0n);
      this.limits.learnSize(
        Number(offsets),
        funnel.reduce((sum, r) => sum + r.bytes, 0),
      );
    }
  }

  private adaptLimit(batch: PlannedBatch, report: BatchReport): void {
    const change = this.limits.after(report, batch.leftOffsets > 0n);
    if (change === null) return;
    report.limitChange = change;
    this.context.host.log.info(
      `maxOffsetsPerTrigger auto: ${change.from} -> ${change.to}, ${change.reason}`,
      { batchId: report.batchId, ...change },
    );
  }

  private sayHeld(level: 'debug' | 'info', what: string): void {
    const { held } = this.limits;
    if (held === null) return;
    const { offsets, minOffsets } = held;
    this.context.host.log[level](
      `${offsets} offsets ${what}: fewer than minOffsetsPerTrigger, ${minOffsets}`,
      { ...held },
    );
  }

  private async idleUntil(timeMs: number): Promise<void> {
    const { host } = this.context;
    const wait = timeMs - host.now();
    if (wait <= 0 || host.stop.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, wait);
      function done(): void {
        clearTimeout(timer);
        host.stop.removeEventListener('abort', done);
        resolve();
      }
      host.stop.addEventListener('abort', done, { once: true });
    });
  }
}

/** Aborts when `stop` was aborted and the batch has not ended for half of the time that is given for the shutdown. */
function abandonLater(stop: AbortSignal, timeoutMs: number): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    timer = setTimeout(() => controller.abort(abandoned()), timeoutMs / 2);
  };
  if (stop.aborted) arm();
  else stop.addEventListener('abort', arm, { once: true });
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      stop.removeEventListener('abort', arm);
    },
  };
}
