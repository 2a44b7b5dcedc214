import { Command, Option } from 'commander';
import type { DoneBatch } from '../../checkpoint/records.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { getOffset, type OffsetMap, offsetEntries } from '../../core/offset-range.ts';
import type { ResetRequest, ResetScope } from '../../engine/reset/reset-request.ts';
import { SluiceError } from '../../errors.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadQuietly, type PipelineFlags, timeoutOption, withPipelineOptions } from '../pipeline-option.ts';
import { textTable } from '../text-table.ts';

interface ShowFlags extends PipelineFlags {
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  const show = withPipelineOptions(new Command('show'))
    .description('Show what a checkpoint holds: its id, batches, offsets, tables, and who runs it.')
    .addHelpText(
      'after',
      '\nExamples:\n  sluice checkpoint show\n  sluice checkpoint show -o json | jq .offsets',
    )
    .action((flags: ShowFlags) => showCheckpoint(context, flags));
  return new Command()
    .description('Look into a checkpoint, check its files, and move it where records were lost or replaced.')
    .addCommand(show)
    .addCommand(verifyCommandLine(context))
    .addCommand(resetCommandLine(context));
}

function verifyCommandLine(context: CliContext): Command {
  return withPipelineOptions(new Command('verify'))
    .description('Read every file of a checkpoint: is each whole, and do they add up? Nothing is written.')
    .addHelpText(
      'after',
      '\nExit code 78 where a file is torn, missing or contradicts another; all are listed.',
    )
    .action((flags: ShowFlags) => verifyCheckpoint(context, flags));
}

async function verifyCheckpoint(context: CliContext, flags: ShowFlags): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const [{ checkCheckpoint }, { resolveFileIO }] = await Promise.all([
    import('../../checkpoint/checkpoint-check.ts'),
    import('../../storage/resolve-file-io.ts'),
  ]);
  const location = config.checkpointLocation;
  const check = await checkCheckpoint(resolveFileIO(location), location);
  const { faults, notes, batches } = check;
  if (flags.output === 'json') {
    context.stdout.write(`${stringifyJson64({ ok: faults.length === 0, ...check })}\n`);
  } else {
    const of = batches === null ? 'no batch' : `batches ${batches.first} to ${batches.last}`;
    const lines = [`checkpoint ${location}: ${check.filesRead} files read, ${of}, ${faults.length} faults`];
    lines.push(...faults.map((fault) => `fault: ${fault}`), ...notes.map((note) => `note: ${note}`));
    context.stdout.write(`${lines.join('\n')}\n`);
  }
  if (faults.length > 0)
    throw new SluiceError(
      'CHECKPOINT_CORRUPT',
      `checkpoint ${location} has ${faults.length} faults; the first: ${faults[0]}`,
      { context: { location, faults: faults.length } },
    );
}

interface ResetFlags extends PipelineFlags {
  topic?: string;
  partition?: string;
  cluster?: true;
  to: string;
  reason: string;
  allowDuplicates?: true;
  giveUpBatch?: true;
  execute?: true;
  timeout: string;
  output: OutputFormat;
}

function resetCommandLine(context: CliContext): Command {
  return withPipelineOptions(new Command('reset'))
    .description(
      'Move the offsets of a topic after a loss: preview it, or do it with --execute. A batch is appended that reads nothing; no file is edited or deleted.',
    )
    .addOption(new Option('--topic <topic>', 'the topic').conflicts('cluster'))
    .addOption(new Option('--partition <number>', 'this partition alone').conflicts('cluster'))
    .addOption(new Option('--cluster', 'acknowledge that the brokers are another cluster: all topics'))
    .addOption(
      new Option(
        '--to <offsets>',
        'earliest, latest, unread (what is still there and was not read), an offset, or {"0":5,...} by partition',
      ).makeOptionMandatory(),
    )
    .addOption(new Option('--reason <text>', 'why; kept on record').default('no reason given'))
    .addOption(
      new Option('--allow-duplicates', 'move back although the tables will hold what comes again twice'),
    )
    .addOption(
      new Option(
        '--give-up-batch',
        'take back a batch that was planned and not read, though it could be read',
      ),
    )
    .addOption(new Option('--execute', 'do it; without it nothing is written'))
    .addOption(timeoutOption('15s'))
    .addHelpText(
      'after',
      `
Examples:
  sluice checkpoint reset --topic clicks --to unread               after DATA_LOSS: preview
  sluice checkpoint reset --topic clicks --to earliest --execute --reason "recreated on Monday"
  sluice checkpoint reset --topic clicks --to '{"0":500,"2":-1}'   two partitions (-2 earliest, -1 latest)
  sluice checkpoint reset --cluster --to earliest                  after CLUSTER_REPLACED

Offsets that are passed over go on record as lost, with who asked and why. A reset that was cut off is finished by the
same command.`,
    )
    .action((flags: ResetFlags) => resetCheckpoint(context, flags));
}

async function resetCheckpoint(context: CliContext, flags: ResetFlags): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const [
    { parseResetTarget, resetCommand, shellWord },
    { runReset, whoAsks },
    { resetJson, resetText },
    { parseDurationMs },
  ] = await Promise.all([
    import('../../engine/reset/reset-request.ts'),
    import('../checkpoint-reset.ts'),
    import('../reset-text.ts'),
    import('../../core/duration.ts'),
  ]);
  const scope = scopeOf(flags);
  const request: ResetRequest = {
    scope,
    target: parseResetTarget(flags.to, scope),
    to: flags.to,
    reason: flags.reason,
    by: whoAsks(),
    allowDuplicates: flags.allowDuplicates === true,
    giveUpBatch: flags.giveUpBatch === true,
  };
  const shown = await runReset(context, config, request, {
    execute: flags.execute === true,
    deadlineMs: parseDurationMs(flags.timeout),
  });
  if (flags.output === 'json') {
    context.stdout.write(`${stringifyJson64(resetJson(shown, request))}\n`);
    return;
  }
  const words = [
    ...(flags.config === undefined ? [] : ['-c', flags.config]),
    ...flags.set.flatMap((set) => ['--set', set]),
  ];
  const command = [resetCommand(request), ...words.map(shellWord)].join(' ');
  context.stdout.write(resetText(shown, command));
}

function scopeOf({ topic, partition, cluster }: ResetFlags): ResetScope {
  if (cluster) return { kind: 'cluster' };
  if (topic === undefined)
    throw new SluiceError('USAGE', 'checkpoint reset: give --topic TOPIC, or --cluster for another cluster');
  if (partition !== undefined && !/^\d{1,9}$/.test(partition))
    throw new SluiceError('USAGE', `--partition ${partition}: expected the number of a partition`);
  return { kind: 'topic', topic, partition: partition === undefined ? null : Number(partition) };
}

async function showCheckpoint(context: CliContext, flags: ShowFlags): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const { liveLease, openCheckpointReadOnly, positionOf } = await import('../checkpoint-view.ts');
  const checkpoint = await openCheckpointReadOnly(config, context);
  const planned = await positionOf(checkpoint, checkpoint.latestPlanned);
  const committed = await positionOf(checkpoint, checkpoint.latestCommitted);
  const done = checkpoint.latestCommitted === null ? null : await checkpoint.done(checkpoint.latestCommitted);
  const lease = await liveLease(checkpoint);
  const next = checkpoint.exists ? checkpoint.restart() : ({ kind: 'fresh' } as const);
  const initial = await checkpoint.initialOffsets();
  if (flags.output === 'json') {
    const view = {
      location: checkpoint.location,
      id: checkpoint.exists ? checkpoint.id : null,
      pipeline: checkpoint.storedPipelineName,
      lastPlanned: planned?.batchId ?? null,
      lastCommitted: committed?.batchId ?? null,
      next,
      initialOffsets: initial === null ? null : offsetsJson(initial),
      plannedOffsets: planned === null ? null : offsetsJson(planned.offsets),
      offsets: committed === null ? null : offsetsJson(committed.offsets),
      tables: done?.tables ?? [],
      runningBy: lease,
    };
    context.stdout.write(`${stringifyJson64(view)}\n`);
    return;
  }
  const nextText = {
    fresh: 'batch 0 is planned',
    next: `batch ${'batchId' in next ? next.batchId : 0} is planned`,
    rerun: `batch ${'batchId' in next ? next.batchId : 0} is finished, or read again`,
  }[next.kind];
  const facts = [
    ['checkpoint', checkpoint.location],
    ['id', checkpoint.exists ? checkpoint.id : 'none: nothing was ever run here'],
    ['pipeline', checkpoint.storedPipelineName ?? '-'],
    ['batches', `planned ${planned?.batchId ?? 'none'}, committed ${committed?.batchId ?? 'none'}`],
    ['next run', nextText],
    ['running', lease === null ? 'no' : `process ${lease.pid} on ${lease.host}`],
  ];
  context.stdout.write(`${facts.map(([name, value]) => `${name.padEnd(12)} ${value}`).join('\n')}\n`);
  if (planned !== null)
    context.stdout.write(`\n${offsetTable(initial, committed?.offsets, planned.offsets)}`);
  if (done !== null) context.stdout.write(tablesText(done));
}

/** Topic -> partition -> offset, digits exact. */
function offsetsJson(offsets: OffsetMap): Record<string, Record<string, bigint>> {
  return Object.fromEntries(
    [...offsets].map(([topic, partitions]) => [
      topic,
      Object.fromEntries([...partitions].map(([p, o]) => [String(p), o])),
    ]),
  );
}

function offsetTable(
  initial: OffsetMap | null,
  committed: OffsetMap | undefined,
  planned: OffsetMap,
): string {
  const cell = (map: OffsetMap | null | undefined, topic: string, partition: number): string =>
    map == null ? '-' : String(getOffset(map, topic, partition) ?? '-');
  const rows = [...offsetEntries(planned)].map(({ topic, partition, offset }) => [
    topic,
    String(partition),
    cell(initial, topic, partition),
    cell(committed, topic, partition),
    String(offset),
  ]);
  return textTable(['topic', 'partition', 'began at', 'committed', 'planned'], rows);
}

function tablesText(done: DoneBatch): string {
  const rows = done.tables.map((t) => [
    t.table,
    t.role,
    String(t.rows),
    t.snapshotId === null ? '-' : String(t.snapshotId),
  ]);
  return rows.length === 0
    ? ''
    : `\ntables of batch ${done.batchId}\n${textTable(['table', 'role', 'rows', 'snapshot'], rows)}`;
}
