import { Command, Option } from 'commander';
import { formatByteSize } from '../../core/byte-size.ts';
import { formatDuration } from '../../core/duration.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import type { BatchReport, EngineHost, RunSummary } from '../../engine/host.ts';
import { SluiceError } from '../../errors.ts';
import { count, ProgressLine } from '../../monitor/progress-line.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { processHost } from '../host.ts';
import { createLog, type Log, type LogFormat, type LogLevel } from '../log.ts';
import { loadFor, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
import { onShutdown } from '../shutdown.ts';

interface RunFlags extends PipelineFlags {
  once?: true;
  availableNow?: true;
  acceptQuarantine?: true;
  logFormat?: LogFormat;
  logLevel: LogLevel;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description('Run a pipeline: read from Kafka, write Iceberg tables, commit exactly once.')
    .addOption(new Option('--once', 'one batch, then end').conflicts('availableNow'))
    .addOption(new Option('--available-now', 'read what is there at the start, then end'))
    .addOption(new Option('--accept-quarantine', 'go on although quarantine.maxRatio is passed'))
    .addOption(
      new Option(
        '--log-format <format>',
        'of the log on stderr (default: text on a terminal, else json)',
      ).choices(['text', 'json']),
    )
    .addOption(
      new Option('--log-level <level>', 'what is logged')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .addHelpText(
      'after',
      `
Examples:
  sluice run                                   by the trigger of ./sluice.yaml, until SIGTERM
  sluice run -c clicks.yaml --available-now
  sluice run --set source.maxOffsetsPerTrigger=500000 --log-format json

SIGTERM or SIGINT ends the run after the running batch; a second one stops at once. Whatever happens, the next
run goes on from the checkpoint.`,
    )
    .action((flags: RunFlags) => run(context, flags));
}

async function run(context: CliContext, flags: RunFlags): Promise<void> {
  // The engine loads while the file is read and checked.
  const engine = import('../../engine/run-pipeline.ts');
  const monitor = Promise.all([
    import('../../monitor/progress.ts'),
    import('../../monitor/progress-log.ts'),
    import('../../storage/resolve-file-io.ts'),
  ]);
  for (const loading of [engine, monitor]) loading.catch(() => undefined);
  const trigger = flags.once
    ? ['trigger.once=true']
    : flags.availableNow
      ? ['trigger.availableNow=true']
      : [];
  const { config } = await loadFor(context, flags, trigger);
  const format = flags.logFormat ?? (context.stderr.terminal ? 'text' : 'json');
  const { stderr } = context;
  const line = new ProgressLine({
    write: stderr.write,
    terminal: stderr.terminal,
    columns: stderr.columns,
    now: Date.now,
  });
  const log = createLog({ out: stderr, format, level: flags.logLevel, beforeLine: () => line.clear() });

  const [{ buildProgress, sourceDescription }, { ProgressLog }, { resolveFileIO }] = await monitor;
  const progressLog = await ProgressLog.open({
    files: resolveFileIO(config.checkpointLocation),
    checkpointLocation: config.checkpointLocation,
    keep: config.progress.keep,
    now: Date.now,
    warn: log.warn,
  });
  const description = sourceDescription(config.source.selection);
  let previousStartedAtMs: number | undefined;
  const onBatch = async (report: BatchReport): Promise<void> => {
    line.clear();
    const progress = buildProgress(report, {
      pipelineName: config.name,
      description,
      memoryBytes: config.memoryBytes,
      previousStartedAtMs,
    });
    previousStartedAtMs = report.startedAtMs;
    logBatch(log, report);
    await progressLog.append(progress);
  };

  const shutdown = onShutdown(log, config.shutdownTimeoutMs, (code) => process.exit(code));
  const host: EngineHost = {
    ...processHost(context, log),
    stop: shutdown.signal,
    acceptQuarantine: flags.acceptQuarantine === true,
    ...(format === 'text' && flags.logLevel !== 'silent'
      ? { onActivity: (activity) => line.update(activity) }
      : {}),
    onBatch,
  };
  let summary: RunSummary;
  try {
    summary = await (await engine).runPipeline(config, host);
  } finally {
    line.clear();
    shutdown.release();
    await progressLog.flush();
  }
  print(context, flags.output, summary);
  if (summary.stopped === 'abandoned') {
    throw new SluiceError(
      'SHUTDOWN_TIMEOUT',
      'the running batch was abandoned because it would not have ended within shutdown.timeout',
    );
  }
}

function logBatch(log: Log, report: BatchReport): void {
  const ms = report.durations.triggerExecution;
  const rate = ms > 0 ? `, ${count(Math.round((report.records * 1000) / ms))}/s` : '';
  const again = report.recovered === 'no' ? '' : ` (${report.recovered})`;
  log.info(
    `batch ${report.batchId}${again}: ${count(report.records)} records, ${formatByteSize(report.bytes)} in ${formatDuration(ms)}${rate}`,
    {
      batchId: report.batchId,
      records: report.records,
      quarantined: report.quarantined,
      bytes: report.bytes,
      ms: Math.round(ms),
      tables: report.tables.length,
      files: report.tables.reduce((sum, table) => sum + table.files, 0),
    },
  );
}

function print(context: CliContext, output: OutputFormat, summary: RunSummary): void {
  if (output === 'json') {
    context.stdout.write(`${stringifyJson64(summary)}\n`);
    return;
  }
  const { batches, records, quarantined, bytes, seconds, stopped } = summary;
  const how = {
    finished: 'finished',
    asked: 'stopped as asked',
    abandoned: 'stopped, the last batch abandoned',
  }[stopped];
  const odd = quarantined > 0 ? `, ${count(quarantined)} of them quarantined` : '';
  context.stdout.write(
    `${how}: ${count(batches)} batches, ${count(records)} records${odd}, ${formatByteSize(bytes)} in ${formatDuration(seconds * 1000)}\n`,
  );
}
