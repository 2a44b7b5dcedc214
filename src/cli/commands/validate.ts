import { Command, Option } from 'commander';
import { configInvalid } from '../../config/fault.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadFor, type PipelineFlags, pipelineFile, withPipelineOptions } from '../pipeline-option.ts';

interface ValidateFlags extends PipelineFlags {
  connect?: true;
  strict?: true;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description('Check a pipeline file. All faults are shown at once, with file, line and column.')
    .addOption(new Option('--connect', 'also ask the brokers, the catalog and the storage'))
    .addOption(new Option('--strict', 'take warnings for faults'))
    .addHelpText(
      'after',
      `
Examples:
  sluice validate
  sluice validate -c clicks.yaml --connect
  sluice validate -o json                     faults and warnings, for programs`,
    )
    .action((flags: ValidateFlags) => validate(context, flags));
}

async function validate(context: CliContext, flags: ValidateFlags): Promise<void> {
  const file = pipelineFile(flags, context);
  const { config, warnings } = await loadFor(context, flags);
  if (flags.strict && warnings.length > 0) throw configInvalid(file, warnings);
  const checks = flags.connect ? await (await import('../connect-checks.ts')).connectChecks(config) : [];
  if (flags.output === 'json') {
    context.stdout.write(
      `${JSON.stringify({ valid: true, file, pipeline: config.name, warnings, checks })}\n`,
    );
  } else {
    const notes =
      warnings.length === 0 ? '' : ` (${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'})`;
    const lines = checks.map((check) => `  ok  ${check.what}: ${check.found}`);
    context.stdout.write(`${[`${file}: pipeline ${config.name} is valid${notes}`, ...lines].join('\n')}\n`);
  }
}
