import { Command } from 'commander';
import { stringifyJson64 } from '../../core/json64.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { type Explanation, explanationText } from '../explanation.ts';
import { loadFor, type PipelineFlags, timeoutOption, withPipelineOptions } from '../pipeline-option.ts';

interface ExplainFlags extends PipelineFlags {
  timeout: string;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description(
      'Plan the next batch for real and write nothing: ranges, bytes, files, the time to drain the backlog.',
    )
    .addOption(timeoutOption('15s'))
    .addHelpText(
      'after',
      '\nExamples:\n  sluice explain\n  sluice explain --set source.maxOffsetsPerTrigger=100000',
    )
    .action((flags: ExplainFlags) => explain(context, flags));
}

async function explain(context: CliContext, flags: ExplainFlags): Promise<void> {
  const { config } = await loadFor(context, flags);
  const { parseDurationMs } = await import('../../core/duration.ts');
  const deadlineMs = parseDurationMs(flags.timeout);
  const [
    { openCheckpointReadOnly },
    { withBrokers },
    { explainNextBatch },
    { checkTruncation },
    { observeSource },
    { findStartingPositions },
    { offsetsByTime, sameTime },
    { readProgress },
    { resolveFileIO },
  ] = await Promise.all([
    import('../checkpoint-view.ts'),
    import('../source-view.ts'),
    import('../explain-batch.ts'),
    import('../explain-log.ts'),
    import('../../engine/source-state.ts'),
    import('../../engine/starting-positions.ts'),
    import('../../engine/offsets-by-time.ts'),
    import('../../monitor/progress-log.ts'),
    import('../../storage/resolve-file-io.ts'),
  ]);
  const checkpoint = await openCheckpointReadOnly(config, context);
  const { latestPlanned } = checkpoint;
  const before =
    latestPlanned === null ? await checkpoint.initialOffsets() : await checkpoint.offsets(latestPlanned);
  const asked = await withBrokers(config, deadlineMs, async (cluster) => {
    const state = await observeSource(cluster, config.source, before?.keys());
    const positions = before ?? (await findStartingPositions(cluster, config.source, state));
    if (checkpoint.exists) await checkTruncation(checkpoint, checkpoint.restart(), cluster, state, positions);
    const hourAgo = await offsetsByTime(cluster, sameTime(state.partitions, BigInt(Date.now() - 3_600_000)));
    return { state, positions, hourAgo };
  });
  const progress = await readProgress(resolveFileIO(config.checkpointLocation), config.checkpointLocation);
  const explanation: Explanation = await explainNextBatch({ config, checkpoint, progress, ...asked });
  context.stdout.write(
    flags.output === 'json' ? `${stringifyJson64(explanation)}\n` : explanationText(explanation),
  );
}
