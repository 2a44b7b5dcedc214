import { Command, Option } from 'commander';
import { formatByteSize } from '../../core/byte-size.ts';
import { formatDuration } from '../../core/duration.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import type { RunSummary } from '../../engine/host.ts';
import { shellWord } from '../../engine/reset/reset-request.ts';
import { counted } from '../../monitor/progress-line.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import type { LogFormat, LogLevel } from '../log.ts';
import { loadFor, type PipelineFlags, pipelineFile, withPipelineOptions } from '../pipeline-option.ts';
import { loadRunModules, quarantinedText, refuseAbandoned, runHere } from '../pipeline-run.ts';
import { parseRunEnd } from '../run-end.ts';
import { beginsHere } from '../working-directory.ts';

interface RunFlags extends PipelineFlags {
  once?: true;
  availableNow?: true;
  until?: string;
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
    .addOption(
      new Option(
        '--until <end>',
        'read up to latest, a time, or offsets as {"topic":{"0":500}}, then end',
      ).conflicts(['once', 'availableNow']),
    )
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
  sluice run --until 2026-11-01T00:00:00Z      what was produced before, as far as it is there now
  sluice run --set source.maxOffsetsPerTrigger=500000 --log-format json

SIGTERM or SIGINT ends the run after the running batch; a second one stops at once. Whatever happens, the next
run goes on from the checkpoint.`,
    )
    .action((flags: RunFlags) => run(context, flags));
}

async function run(context: CliContext, flags: RunFlags): Promise<void> {
  // The engine loads while the file is read and checked.
  const modules = loadRunModules();
  const until = flags.until === undefined ? undefined : parseRunEnd(flags.until);
  const trigger = flags.once
    ? ['trigger.once=true']
    : flags.availableNow || until !== undefined
      ? ['trigger.availableNow=true']
      : [];
  const loaded = await loadFor(context, flags, trigger);
  const { config } = loaded;
  const begins = beginsHere(loaded, pipelineFile(flags, context), context.cwd);
  if (begins !== undefined) context.stderr.write(`warning ${begins}\n`);
  if (until !== undefined) config.trigger = { kind: 'availableNow', until };
  const logFormat = flags.logFormat ?? (context.stderr.terminal ? 'text' : 'json');
  const options = {
    logFormat,
    logLevel: flags.logLevel,
    acceptQuarantine: flags.acceptQuarantine === true,
    progressLine: logFormat === 'text' && flags.logLevel !== 'silent',
  };
  const summary = await runHere(context, config, options, modules);
  print(context, flags, summary);
  refuseAbandoned(summary);
}

function print(context: CliContext, { output, config }: RunFlags, summary: RunSummary): void {
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
  const odd = quarantinedText(quarantined);
  const same = config === undefined ? '' : ` -c ${shellWord(config)}`;
  const why = quarantined > 0 ? `what was set aside, and why: sluice quarantine list${same}\n` : '';
  context.stdout.write(
    `${how}: ${counted(batches, 'batch', 'batches')}, ${counted(records, 'record')}${odd}, ${formatByteSize(bytes)} in ${formatDuration(seconds * 1000)}\n${why}`,
  );
}
