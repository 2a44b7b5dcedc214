import { Command, Option } from 'commander';
import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { formatDuration } from '../../core/duration.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import type { OffsetMap } from '../../core/offset-range.ts';
import type { SourceState } from '../../engine/source-state.ts';
import { isSluiceError, type SluiceError } from '../../errors.ts';
import type { BatchProgress } from '../../monitor/progress.ts';
import { count } from '../../monitor/progress-line.ts';
import { type BrokersStatus, buildStatus, type PipelineStatus } from '../../monitor/status.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadQuietly, type PipelineFlags, timeoutOption, withPipelineOptions } from '../pipeline-option.ts';
import { textTable } from '../text-table.ts';

interface StatusFlags extends PipelineFlags {
  broker: boolean;
  timeout: string;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description(
      'Show how far a pipeline is: batches, offsets, lag, who runs it, and how it stands in a word.',
    )
    .addOption(new Option('--no-broker', 'do not ask the brokers: no lag is shown'))
    .addOption(timeoutOption('10s'))
    .addHelpText(
      'after',
      `
Examples:
  sluice status
  sluice status -o json | jq .committedLag

read lag = newest offset - planned; committed lag = newest offset - committed to the tables. Records that were
deleted before they were read are no lag: they are shown as lost. Exit code 3 where something is lost or the log
was rewound, 69 where the brokers cannot be reached: what the checkpoint says is shown all the same, lag and loss as
unknown, and the word is STALL or worse.`,
    )
    .action((flags: StatusFlags) => status(context, flags));
}

async function status(context: CliContext, flags: StatusFlags): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const { parseDurationMs } = await import('../../core/duration.ts');
  const deadlineMs = parseDurationMs(flags.timeout);
  const [{ liveLease, openCheckpointReadOnly, positionOf }, { readProgress }, { resolveFileIO }] =
    await Promise.all([
      import('../checkpoint-view.ts'),
      import('../../monitor/progress-log.ts'),
      import('../../storage/resolve-file-io.ts'),
    ]);
  // The checkpoint first: an end that is asked for after it can only be newer, so a lag below zero is a rewind.
  const checkpoint = await openCheckpointReadOnly(config, context);
  const lastPlanned = await positionOf(checkpoint, checkpoint.latestPlanned);
  const lastCommitted = await positionOf(checkpoint, checkpoint.latestCommitted);
  const progress = await readProgress(resolveFileIO(config.checkpointLocation), config.checkpointLocation);
  const lease = await liveLease(checkpoint);
  const began = await checkpoint.initialOffsets();
  const isNew = began === null && lastPlanned === null;
  const asked = flags.broker ? await ask(config, deadlineMs, lastPlanned?.offsets.keys() ?? [], isNew) : {};
  const view =
    asked.state === undefined ? null : (await import('../source-view.ts')).latestOffsets(asked.state);
  const result = buildStatus({
    name: config.name,
    id: checkpoint.exists ? checkpoint.id : null,
    checkpointLocation: config.checkpointLocation,
    trigger: config.trigger,
    ...(config.source.minOffsetsPerTrigger === null
      ? {}
      : { maxTriggerDelayMs: config.source.maxTriggerDelayMs }),
    nowMs: Date.now(),
    brokers: {
      servers: config.source.bootstrapServers,
      asked: flags.broker,
      error: asked.error === undefined ? null : { code: asked.error.code, message: asked.error.message },
    },
    initial: began ?? asked.begins ?? null,
    lastPlanned,
    lastCommitted,
    latest: view,
    lease,
    lastProgress: progress.at(-1) ?? null,
    replaced: asked.state === undefined ? [] : await replaced(checkpoint, asked.state),
  });
  context.stdout.write(flags.output === 'json' ? `${stringifyJson64(result)}\n` : statusText(result));
  if (result.state === 'LOSS' || result.state === 'REWIND') context.exitCode = 3;
  if (asked.error !== undefined) throw asked.error;
}

/** What the brokers say, or why they do not: then the checkpoint's part is shown all the same. */
async function ask(
  config: PipelineConfig,
  deadlineMs: number,
  knownTopics: Iterable<string>,
  isNew: boolean,
): Promise<{ state?: SourceState; begins?: OffsetMap; error?: SluiceError }> {
  try {
    const [{ withBrokers }, { observeSource }, { findStartingPositions }] = await Promise.all([
      import('../source-view.ts'),
      import('../../engine/source-state.ts'),
      import('../../engine/starting-positions.ts'),
    ]);
    return await withBrokers(config, deadlineMs, async (cluster) => {
      const state = await observeSource(cluster, config.source, knownTopics);
      // Where a query that never ran would begin; `run` and `explain` say what is wrong with it.
      const begins = isNew
        ? await findStartingPositions(cluster, config.source, state).catch(unlessInvalid)
        : undefined;
      return begins === undefined ? { state } : { state, begins };
    });
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return { error };
  }
}

function unlessInvalid(error: unknown): undefined {
  if (!isSluiceError(error, 'CONFIG_INVALID')) throw error;
}

/** Cluster and topics that are not those the last planned batch was read from. */
async function replaced(checkpoint: Checkpoint, state: SourceState): Promise<string[]> {
  const plan = checkpoint.latestPlanned === null ? null : await checkpoint.plan(checkpoint.latestPlanned);
  if (plan === null) return [];
  const reasons = state.missing.map((topic) => `topic ${topic}, which subscribePattern takes, is no more`);
  if (plan.clusterId !== null && state.clusterId !== null && plan.clusterId !== state.clusterId) {
    reasons.push(`the checkpoint is of cluster ${plan.clusterId}, the brokers are of ${state.clusterId}`);
  }
  for (const { topic, topicId } of plan.topics) {
    const found = state.topicIds.get(topic);
    if (topicId !== null && found !== undefined && found !== null && found !== topicId) {
      reasons.push(`topic ${topic} was created anew: its id is ${found}, the checkpoint's is ${topicId}`);
    }
  }
  return reasons;
}

/** The limit of the next batch, as the last one leaves it. */
function limitText(progress: BatchProgress | null): string | null {
  const limit = progress?.sluice.limit;
  if (limit === undefined) return null;
  const change = progress?.sluice.limitChange;
  const reason = change?.reason ?? limit.reason;
  return `${count(change?.to ?? limit.maxOffsets)} offsets by ${limit.by}${reason === null ? '' : `, ${reason}`}`;
}

function brokersText({ asked, error }: BrokersStatus): string {
  if (!asked) return 'not asked';
  if (error === null) return 'asked';
  return error.code === 'BROKER_UNREACHABLE' ? 'not reached' : `not told: ${error.code}`;
}

function statusText(status: PipelineStatus): string {
  const number = (value: bigint | number | null): string => (value === null ? 'unknown' : count(value));
  const { brokers, checkpoint, runningBy, lastProgress } = status;
  const facts = [
    ['pipeline', `${status.name}${status.id === null ? ' (never run)' : ` (${status.id})`}`],
    ['checkpoint', checkpoint.location],
    [
      'batches',
      `planned ${checkpoint.lastPlanned ?? 'none'}, committed ${checkpoint.lastCommitted ?? 'none'}`,
    ],
    ['brokers', `${brokers.servers} (${brokersText(brokers)})`],
    ['running', runningBy === null ? 'no' : `process ${runningBy.pid} on ${runningBy.host}`],
    ['read lag', number(status.readLag)],
    ['committed lag', number(status.committedLag)],
    ['lost', number(status.lost)],
  ];
  if (lastProgress !== null) {
    const ago =
      status.sinceLastBatchMs === null ? '' : `, ended ${formatDuration(status.sinceLastBatchMs)} ago`;
    facts.push([
      'last batch',
      `${lastProgress.batchId}: ${count(lastProgress.numInputRows)} records in ${formatDuration(lastProgress.batchDuration)}${ago}`,
    ]);
  }
  const limit = limitText(lastProgress);
  if (limit !== null) facts.push(['batch limit', limit]);
  const lines = [
    `${status.state}${status.reasons.map((reason) => `\n  ${reason}`).join('')}`,
    ...facts.map(([name, value]) => `${name.padEnd(14)} ${value}`),
  ];
  const dash = (value: bigint | null): string => (value === null ? '-' : String(value));
  const rows = status.partitions.map((p) => [
    p.topic,
    String(p.partition),
    dash(p.planned),
    dash(p.committed),
    dash(p.latest),
    dash(p.readLag),
    dash(p.committedLag),
    dash(p.lost),
    p.state ?? '-',
  ]);
  const table = textTable(
    ['topic', 'partition', 'planned', 'committed', 'latest', 'read lag', 'committed lag', 'lost', 'state'],
    rows,
  );
  return `${lines.join('\n')}\n${rows.length === 0 ? '' : `\n${table}`}`;
}
