import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { LoadedPipeline } from '../config/load-pipeline.ts';
import { parseDurationMs } from '../core/duration.ts';
import type { CliContext } from './context.ts';

/** The options of every command that reads a pipeline file. */
export interface PipelineFlags {
  config?: string;
  set: string[];
}

export function withPipelineOptions(command: Command): Command {
  return command
    .addOption(new Option('-c, --config <file>', 'the pipeline file (default: ./sluice.yaml)'))
    .addOption(
      new Option('--set <path=value>', 'set an option over the file; may be repeated')
        .argParser((value: string, before: string[]) => [...before, value])
        .default([], 'nothing'),
    );
}

/** How long a command waits for the brokers, as text that `parseDurationMs` takes. */
export function timeoutOption(byDefault: string, what = 'how long to wait for the brokers'): Option {
  return new Option('--timeout <time>', what)
    .argParser((text: string) => {
      try {
        parseDurationMs(text);
      } catch {
        throw new InvalidArgumentError('It is a number with a unit, such as 10s or "2 minutes".');
      }
      return text;
    })
    .default(byDefault);
}

/** The file that is meant: the one given, else the first of the usual names that is there, else ./sluice.yaml. */
export function pipelineFile(flags: PipelineFlags, context: CliContext): string {
  if (flags.config !== undefined) return flags.config;
  const usual = ['sluice.yaml', 'sluice.yml', 'sluice.config.ts', 'sluice.config.js', 'sluice.config.mjs'];
  return usual.find((name) => existsSync(resolve(context.cwd, name))) ?? 'sluice.yaml';
}

/** Loads the pipeline for a command that only looks: what could be better in the file is not its matter. */
export async function loadQuietly(
  context: CliContext,
  flags: PipelineFlags,
  overrides: readonly string[] = [],
): Promise<LoadedPipeline> {
  const [{ loadPipeline }, { refuseOtherCheckpoint }] = await Promise.all([
    import('../config/load-pipeline.ts'),
    import('./working-directory.ts'),
  ]);
  const file = pipelineFile(flags, context);
  const overridden = [...overrides, ...flags.set];
  const loaded = await loadPipeline({ file, env: context.env, overrides: overridden, cwd: context.cwd });
  refuseOtherCheckpoint(loaded, file, context.cwd);
  return loaded;
}

/** Loads the pipeline; warnings go to stderr, one a line. Throws CONFIG_NOT_FOUND, CONFIG_INVALID. */
export async function loadFor(
  context: CliContext,
  flags: PipelineFlags,
  overrides: readonly string[] = [],
): Promise<LoadedPipeline> {
  const loaded = await loadQuietly(context, flags, overrides);
  const { formatFault } = await import('../config/fault.ts');
  for (const warning of loaded.warnings) context.stderr.write(`warning ${formatFault(warning)}\n`);
  return loaded;
}
