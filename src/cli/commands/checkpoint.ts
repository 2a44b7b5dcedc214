import { Command } from 'commander';
import type { DoneBatch } from '../../checkpoint/records.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { getOffset, type OffsetMap, offsetEntries } from '../../core/offset-range.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadFor, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
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
  return new Command().description('Look into a checkpoint. Nothing is written.').addCommand(show);
}

async function showCheckpoint(context: CliContext, flags: ShowFlags): Promise<void> {
  const { config } = await loadFor(context, flags);
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
