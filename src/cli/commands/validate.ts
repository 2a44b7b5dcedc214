import { Command, Option } from 'commander';
import { configInvalid } from '../../config/fault.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import type { CheckResults, ConnectCheck } from '../connect/check-result.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import {
  loadFor,
  type PipelineFlags,
  pipelineFile,
  timeoutOption,
  withPipelineOptions,
} from '../pipeline-option.ts';

interface ValidateFlags extends PipelineFlags {
  connect?: true;
  strict?: true;
  timeout: string;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description('Check a pipeline file. All faults are shown at once, with file, line and column.')
    .addOption(new Option('--connect', 'also ask the brokers, the catalog, the storage and the registry'))
    .addOption(timeoutOption('10s', 'how long all of --connect may take'))
    .addOption(new Option('--strict', 'take warnings for faults'))
    .addHelpText(
      'after',
      `
Examples:
  sluice validate
  sluice validate -c clicks.yaml --connect
  sluice validate --connect --timeout 30s
  sluice validate -o json                     faults and warnings, for programs

--connect tries everything at once and tells of each: brokers, topics and the right to read them, warehouse and
checkpoint (a small file is written and deleted), the checkpoint's state, the catalog, the Schema Registry where one is
needed, the tables. The exit code is that of the first that failed.`,
    )
    .action((flags: ValidateFlags) => validate(context, flags));
}

async function validate(context: CliContext, flags: ValidateFlags): Promise<void> {
  const file = pipelineFile(flags, context);
  const { config, warnings } = await loadFor(context, flags);
  if (flags.strict && warnings.length > 0) throw configInvalid(file, warnings);
  const results = flags.connect ? await connect(context, config, flags.timeout) : undefined;
  const checks = results?.checks ?? [];
  if (flags.output === 'json') {
    context.stdout.write(
      `${JSON.stringify({ valid: true, file, pipeline: config.name, warnings, checks })}\n`,
    );
  } else {
    const notes =
      warnings.length === 0 ? '' : ` (${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'})`;
    const lines = [`${file}: pipeline ${config.name} is valid${notes}`, ...checks.flatMap(checkLines)];
    context.stdout.write(`${lines.join('\n')}\n`);
  }
  const failure = results?.summary();
  if (failure !== undefined) throw failure;
}

async function connect(context: CliContext, config: PipelineConfig, timeout: string): Promise<CheckResults> {
  const [{ connectChecks }, { parseDurationMs }] = await Promise.all([
    import('../connect/connect-checks.ts'),
    import('../../core/duration.ts'),
  ]);
  return connectChecks(config, context, parseDurationMs(timeout));
}

function checkLines(check: ConnectCheck): string[] {
  if (check.result === 'ok') return [`  ok    ${check.what}: ${check.found}`];
  if (check.result === 'skipped') return [`  skip  ${check.what}: not tried, ${check.because}`];
  return [`  FAIL  ${check.what}: ${check.code}: ${check.message}`, `        ${check.remedy}`];
}
