import { Command, InvalidArgumentError, Option } from 'commander';
import { stringifyJson64 } from '../../core/json64.ts';
import { parseTimestampMs } from '../../core/timestamp.ts';
import type { OffsetChoice, RecordFilter } from '../../engine/requeue/quarantine-table.ts';
import type { RequeueReport } from '../../engine/requeue/requeue-report.ts';
import type { ShownRecord } from '../../engine/requeue/shown-record.ts';
import { SluiceError } from '../../errors.ts';
import { count } from '../../monitor/progress-line.ts';
import type { CatalogView } from '../catalog-view.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadQuietly, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
import { tableArguments } from '../table-argument.ts';

interface FilterFlags extends PipelineFlags {
  reason?: string;
  topic?: string;
  since?: string;
  until?: string;
  output: OutputFormat;
}

interface ShowFlags extends FilterFlags {
  limit: number;
  raw?: true;
}

interface RequeueFlags extends FilterFlags {
  offsets: string[];
  execute?: true;
}

interface ListFlags extends FilterFlags {
  limit: number;
}

export function command(context: CliContext): Command {
  return new Command()
    .description('Look at the records that were set aside, and bring them back once they can be rows.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(requeueCommand(context))
    .addHelpText('after', '\nThe reasons, and what to do about each: docs/quarantine.md.');
}

function listCommand(context: CliContext): Command {
  return withFilter(new Command('list'))
    .description('Count what was set aside, by reason and field, and what of it has gone back.')
    .argument(
      '[table...]',
      'namespace.name, of the table or its quarantine; all of the pipeline when left out',
      tableArguments,
    )
    .addOption(limitOption('how many reasons to list for each table', 50))
    .addHelpText(
      'after',
      '\nExamples:\n  sluice quarantine list\n  sluice quarantine list bronze.ad_clicks --since 2026-11-01T00:00:00Z -o json',
    )
    .action((tables: string[], flags: ListFlags) => list(context, tables, flags));
}

function showCommand(context: CliContext): Command {
  return withFilter(new Command('show'))
    .description(
      'Show records that were set aside: their bytes, where they came from, and what is wrong with them.',
    )
    .argument('[place...]', 'topic/partition/offset, or topic/partition/from-until for offsets below until')
    .addOption(limitOption('how many records to show at most', 10))
    .addOption(
      new Option('--raw', 'write the value of one record to stdout, byte for byte, and nothing else'),
    )
    .addHelpText(
      'after',
      `
Examples:
  sluice quarantine show ad-clicks/0/4711
  sluice quarantine show ad-clicks/0/4711 --raw > value.bin
  sluice quarantine show --reason INVALID_JSON --limit 3
  sluice quarantine show ad-clicks/0/0-5000 -o json | jq -r .value

With -o json, one record a line; key, value and the values of headers are base64.`,
    )
    .action((places: string[], flags: ShowFlags) => show(context, places, flags));
}

function requeueCommand(context: CliContext): Command {
  return withFilter(new Command('requeue'))
    .description(
      'Decode the stored bytes again by the pipeline file as it is now, and bring the good records back into their tables: preview it, or do it with --execute.',
    )
    .argument(
      '[table...]',
      'namespace.name, of the table or its quarantine; all of the pipeline when left out',
      tableArguments,
    )
    .addOption(
      new Option(
        '--offsets <range>',
        'topic/partition/from-until, or topic/partition/offset; may be repeated',
      )
        .argParser((value: string, before: string[]) => [...before, value])
        .default([], 'all'),
    )
    .addOption(new Option('--execute', 'do it; without it nothing is written'))
    .addHelpText(
      'after',
      `
Examples:
  sluice quarantine requeue bronze.ad_clicks                       what would become of them
  sluice quarantine requeue bronze.ad_clicks --reason TYPE_MISMATCH --execute
  sluice quarantine requeue --topic ad-clicks --offsets ad-clicks/0/100-200 --execute

Each record goes back once, whoever else requeues at the same time and wherever this is cut off: the next one finishes it.
Rows bear topic, partition, offset, time, key and headers of the record; ingested_at is the time of the requeue. Records
that still cannot be rows stay where they are. What went back is on record in the table <table>__requeued. The pipeline
may be running. A value that was cut because it was TOO_LARGE cannot go back.`,
    )
    .action((tables: string[], flags: RequeueFlags) => requeue(context, tables, flags));
}

function withFilter(command: Command): Command {
  return withPipelineOptions(command)
    .addOption(new Option('--reason <code>', 'records of this reason alone'))
    .addOption(new Option('--topic <topic>', 'records of this topic alone'))
    .addOption(new Option('--since <time>', 'set aside at or after it (ISO 8601 with zone)'))
    .addOption(new Option('--until <time>', 'set aside before it'));
}

function limitOption(description: string, byDefault: number): Option {
  return new Option('--limit <number>', description)
    .argParser((text: string) => {
      if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a number of 1 or more.');
      return Number(text);
    })
    .default(byDefault);
}

function filterOf(flags: FilterFlags, offsets: readonly OffsetChoice[]): RecordFilter {
  const time = (name: 'since' | 'until'): number | undefined => {
    const text = flags[name];
    if (text === undefined) return undefined;
    const ms = parseTimestampMs(text);
    if (ms === undefined)
      throw new SluiceError(
        'USAGE',
        `--${name} ${text}: expected a time with its zone, such as 2026-11-01T00:00:00Z`,
      );
    return Number(ms);
  };
  const { reason, topic } = flags;
  const [sinceMs, untilMs] = [time('since'), time('until')];
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(topic === undefined ? {} : { topic }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(offsets.length === 0 ? {} : { offsets }),
  };
}

/** The quarantines that are meant, with what it takes to read them. */
async function withQuarantines(
  context: CliContext,
  flags: PipelineFlags,
  asked: readonly string[],
  work: (names: string[], host: import('../../engine/requeue/requeue-host.ts').RequeueHost) => Promise<void>,
): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const [{ openCheckpointReadOnly }, { withCatalog }, { quarantinesOf, requeueHost }] = await Promise.all([
    import('../checkpoint-view.ts'),
    import('../catalog-view.ts'),
    import('../quarantine-host.ts'),
  ]);
  const checkpoint = await openCheckpointReadOnly(config, context);
  await withCatalog(config, async (view: CatalogView) => {
    const host = requeueHost(context, config, checkpoint, view);
    try {
      await work(await quarantinesOf(asked, checkpoint, view), host);
    } finally {
      await host.close();
    }
  });
}

async function list(context: CliContext, tables: string[], flags: ListFlags): Promise<void> {
  const filter = filterOf(flags, []);
  const [{ QuarantineTable }, { RequeuedTable }, { requeuedNameOf }, { summariseQuarantine }, text] =
    await Promise.all([
      import('../../engine/requeue/quarantine-table.ts'),
      import('../../engine/requeue/requeued-table.ts'),
      import('../../engine/requeue/requeued-layout.ts'),
      import('../../engine/requeue/quarantine-summary.ts'),
      import('../quarantine-text.ts'),
    ]);
  await withQuarantines(context, flags, tables, async (names, { catalog, io }) => {
    const summaries = [];
    for (const name of names) {
      const quarantine = await QuarantineTable.open(catalog, io, name);
      const requeued = new RequeuedTable(catalog, io, requeuedNameOf(name));
      await requeued.refresh();
      summaries.push(await summariseQuarantine(quarantine, requeued, filter));
    }
    context.stdout.write(
      flags.output === 'json'
        ? text.summariesJson(summaries, flags.limit)
        : text.summariesText(summaries, flags.limit),
    );
  });
}

async function show(context: CliContext, places: string[], flags: ShowFlags): Promise<void> {
  const [{ parseOffsetChoice }, { QuarantineTable }, { RequeuedTable }, { requeuedNameOf }, shown, text] =
    await Promise.all([
      import('../../engine/requeue/offset-choice.ts'),
      import('../../engine/requeue/quarantine-table.ts'),
      import('../../engine/requeue/requeued-table.ts'),
      import('../../engine/requeue/requeued-layout.ts'),
      import('../../engine/requeue/shown-record.ts'),
      import('../quarantine-text.ts'),
    ]);
  const filter = filterOf(flags, places.map(parseOffsetChoice));
  // A second one would leave it open where the first one ends.
  const limit = flags.raw === true ? 2 : flags.limit;
  await withQuarantines(context, flags, [], async (names, { catalog, io }) => {
    let left = limit;
    let more = false;
    const raw: ShownRecord[] = [];
    const print = (record: ShownRecord): void => {
      // The one beyond the limit tells only that there are more.
      if (left === 0) {
        more = true;
        return;
      }
      if (flags.raw === true) raw.push(record);
      else
        context.stdout.write(
          flags.output === 'json' ? text.recordJson(record) : text.recordText(record, left === limit),
        );
      left--;
    };
    for (const name of names) {
      if (more) break;
      const quarantine = await QuarantineTable.open(catalog, io, name);
      const requeued = new RequeuedTable(catalog, io, requeuedNameOf(name));
      await requeued.refresh();
      await shown.showRecords(quarantine, requeued, filter, left + 1, print);
    }
    if (flags.raw === true) writeRaw(context, raw);
    else if (left === limit) context.stderr.write(`${NONE_IS_MEANT}\n`);
    else if (more) context.stderr.write(`${count(limit)} are shown and there are more; --limit shows them\n`);
  });
}

const NONE_IS_MEANT = 'no such record is in the quarantine; sluice quarantine list shows what is';

function writeRaw(context: CliContext, records: readonly ShownRecord[]): void {
  const [record] = records;
  if (record === undefined) throw new SluiceError('USAGE', `--raw: ${NONE_IS_MEANT}`);
  if (records.length > 1)
    throw new SluiceError(
      'USAGE',
      `--raw writes the value of one record, and several are meant: ${records.map((r) => `${r.topic}/${r.partition}/${r.offset} of batch ${r.batchId ?? 'unknown'}`).join(', ')}, ...; name one as TOPIC/PARTITION/OFFSET (or choose its batch by --since and --until)`,
    );
  if (record.value === null)
    throw new SluiceError(
      'USAGE',
      `--raw: ${record.topic}/${record.partition}/${record.offset} has no value: it is a tombstone`,
    );
  if (!record.whole)
    context.stderr.write(
      `warning the quarantine kept only the first ${record.value.length} bytes: ${record.message}\n`,
    );
  context.writeBytes(record.value);
}

async function requeue(context: CliContext, tables: string[], flags: RequeueFlags): Promise<void> {
  const [{ parseOffsetChoice }, { executeRequeue, previewRequeue }, text] = await Promise.all([
    import('../../engine/requeue/offset-choice.ts'),
    import('../../engine/requeue/requeue.ts'),
    import('../quarantine-text.ts'),
  ]);
  const filter = filterOf(flags, flags.offsets.map(parseOffsetChoice));
  await withQuarantines(context, flags, tables, async (names, host) => {
    const reports: RequeueReport[] = [];
    const print = (): void =>
      context.stdout.write(
        flags.output === 'json'
          ? `${stringifyJson64({ executed: flags.execute === true, quarantines: reports })}\n`
          : text.reportsText(reports, flags.execute === true),
      );
    try {
      for (const name of names)
        reports.push(
          flags.execute === true
            ? await executeRequeue(host, name, filter)
            : await previewRequeue(host, name, filter),
        );
    } catch (error) {
      // What was done before it is done.
      if (reports.length > 0) print();
      throw error;
    }
    print();
  });
}
