import type { PipelineConfig } from '../config/pipeline-config.ts';
import { formatByteSize } from '../core/byte-size.ts';
import { formatDuration } from '../core/duration.ts';
import type { BatchReport, EngineHost, RunSummary } from '../engine/host.ts';
import { SluiceError } from '../errors.ts';
import { count, counted, ProgressLine } from '../monitor/progress-line.ts';
import type { CliContext } from './context.ts';
import { processHost } from './host.ts';
import { createLog, type Log, type LogFormat, type LogLevel } from './log.ts';
import { onShutdown } from './shutdown.ts';
import { keepYoungGenerationSmall } from './young-generation.ts';

export interface PipelineRunOptions {
  logFormat: LogFormat;
  logLevel: LogLevel;
  acceptQuarantine: boolean;
  /** Is a line drawn that says how far the running batch is? */
  progressLine: boolean;
  /** Called after each batch, beside the log. */
  onBatch?(report: BatchReport): void;
}

/** What a run loads before it begins. */
export interface RunModules {
  engine: typeof import('../engine/run-pipeline.ts');
  progress: typeof import('../monitor/progress.ts');
  progressLog: typeof import('../monitor/progress-log.ts');
  storage: typeof import('../storage/resolve-file-io.ts');
}

/** Begins to load what a run needs, while the pipeline file is read. A failure comes out where the promise is awaited. */
export function loadRunModules(): Promise<RunModules> {
  const loading = Promise.all([
    import('../engine/run-pipeline.ts'),
    import('../monitor/progress.ts'),
    import('../monitor/progress-log.ts'),
    import('../storage/resolve-file-io.ts'),
  ]).then(([engine, progress, progressLog, storage]) => ({ engine, progress, progressLog, storage }));
  loading.catch(() => undefined);
  return loading;
}

/**
 * Runs a pipeline in this process as `sluice run` does: log and progress line on stderr, a progress object kept for each
 * batch, SIGTERM and SIGINT heard. Throws what `runPipeline` throws.
 */
export async function runHere(
  context: CliContext,
  config: PipelineConfig,
  options: PipelineRunOptions,
  modules: Promise<RunModules> = loadRunModules(),
): Promise<RunSummary> {
  const { stderr } = context;
  const line = new ProgressLine({
    write: stderr.write,
    terminal: stderr.terminal,
    columns: stderr.columns,
    now: Date.now,
  });
  const clear = (): void => line.clear();
  const log = createLog({
    out: stderr,
    format: options.logFormat,
    level: options.logLevel,
    beforeLine: clear,
  });
  const { engine, progress, progressLog, storage } = await modules;
  keepYoungGenerationSmall();
  const kept = await progressLog.ProgressLog.open({
    files: storage.resolveFileIO(config.checkpointLocation),
    checkpointLocation: config.checkpointLocation,
    keep: config.progress.keep,
    now: Date.now,
    warn: log.warn,
  });
  const facts = {
    pipelineName: config.name,
    description: progress.sourceDescription(config.source.selection),
    memoryBytes: config.memoryBytes,
  };
  let previousStartedAtMs: number | undefined;
  const shutdown = onShutdown(log, config.shutdownTimeoutMs, (code) => process.exit(code));
  const host: EngineHost = {
    ...processHost(context, log),
    stop: shutdown.signal,
    acceptQuarantine: options.acceptQuarantine,
    ...(options.progressLine ? { onActivity: (activity) => line.update(activity) } : {}),
    onBatch: async (report) => {
      line.clear();
      const built = progress.buildProgress(report, { ...facts, previousStartedAtMs });
      previousStartedAtMs = report.startedAtMs;
      logBatch(log, report);
      options.onBatch?.(report);
      await kept.append(built);
    },
  };
  const { trigger } = config;
  // Where nothing comes in nothing else would be seen for hours.
  if (trigger.kind === 'processingTime')
    log.info(
      `pipeline ${config.name} looks for records ${trigger.intervalMs === 0 ? 'without a pause' : `every ${formatDuration(trigger.intervalMs)}`}, until SIGTERM or SIGINT`,
    );
  try {
    return await engine.runPipeline(config, host);
  } finally {
    line.clear();
    shutdown.release();
    await kept.flush();
  }
}

/** Throws SHUTDOWN_TIMEOUT where the run ended without its last batch. */
export function refuseAbandoned(summary: RunSummary): void {
  if (summary.stopped !== 'abandoned') return;
  throw new SluiceError(
    'SHUTDOWN_TIMEOUT',
    'the running batch was abandoned because it would not have ended within shutdown.timeout',
  );
}

/** `batch 1: 50,000 records, 3 of them quarantined, 28 MB in 420 ms, 119,047/s`. */
export function batchText(report: BatchReport): string {
  const ms = report.durations.triggerExecution;
  const rate = ms > 0 ? `, ${count(Math.round((report.records * 1000) / ms))}/s` : '';
  const again = report.recovered === 'no' ? '' : ` (${report.recovered})`;
  return `batch ${report.batchId}${again}: ${counted(report.records, 'record')}${quarantinedText(report.quarantined)}, ${formatByteSize(report.bytes)} in ${formatDuration(ms)}${rate}`;
}

/** `, 3 of them quarantined`, or nothing. */
export function quarantinedText(records: number): string {
  return records > 0 ? `, ${count(records)} of them quarantined` : '';
}

function logBatch(log: Log, report: BatchReport): void {
  log.info(batchText(report), {
    batchId: report.batchId,
    records: report.records,
    quarantined: report.quarantined,
    bytes: report.bytes,
    ms: Math.round(report.durations.triggerExecution),
    tables: report.tables.length,
    files: report.tables.reduce((sum, table) => sum + table.files, 0),
  });
}
