import { Command } from 'commander';
import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { SluiceError } from '../../errors.ts';
import { count } from '../../monitor/progress-line.ts';
import type { PartitionProof, VerifyReport } from '../../proof/verify-table.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadFor, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
import { textTable } from '../text-table.ts';

interface VerifyFlags extends PipelineFlags {
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description(
      'Prove that each offset that was read is in its table, in the quarantine or a known gap, exactly once.',
    )
    .argument('[table...]', 'namespace.name; all tables of the pipeline when left out')
    .addHelpText(
      'after',
      `
Examples:
  sluice verify                          every table of ./sluice.yaml
  sluice verify bronze.ad_clicks -o json

Reads the checkpoint's ledger and the offset columns of the tables. Exit code 4 where offsets are missing, doubled or
unknown; they are listed as [from, until).`,
    )
    .action((tables: string[], flags: VerifyFlags) => verify(context, tables, flags));
}

async function verify(context: CliContext, asked: string[], flags: VerifyFlags): Promise<void> {
  const { config } = await loadFor(context, flags);
  const [{ openCheckpointReadOnly }, { withCatalog }, { verifyTable }] = await Promise.all([
    import('../checkpoint-view.ts'),
    import('../catalog-view.ts'),
    import('../../proof/verify-table.ts'),
  ]);
  const checkpoint = await openCheckpointReadOnly(config, context);
  const tables = asked.length > 0 ? asked : await tablesOf(checkpoint);
  const reports = await withCatalog(config, async ({ catalog, io }) => {
    const found: VerifyReport[] = [];
    for (const table of tables) found.push(await verifyTable({ checkpoint, catalog, io }, table));
    return found;
  });
  const ok = reports.every((report) => report.ok);
  context.stdout.write(
    flags.output === 'json'
      ? `${stringifyJson64({ ok, tables: reports })}\n`
      : reports.map(reportText).join('\n'),
  );
  if (ok) return;
  const bad = reports.filter((report) => !report.ok);
  throw new SluiceError(
    'VERIFY_DIFFERENCE',
    bad
      .map((r) => `${r.table}: ${r.lost} offsets missing, ${r.duplicated} doubled, ${r.unexpected} unknown`)
      .join('; '),
    { context: { tables: bad.map((r) => r.table) } },
  );
}

/** The data tables of the newest planned batch. */
async function tablesOf(checkpoint: Checkpoint): Promise<string[]> {
  const plan = checkpoint.latestPlanned === null ? null : await checkpoint.plan(checkpoint.latestPlanned);
  const tables = plan?.tables.filter((table) => table.role === 'data').map((table) => table.table) ?? [];
  if (tables.length === 0)
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `the checkpoint ${checkpoint.location} has planned no batch: there is nothing to verify`,
    );
  return [...new Set(tables)].sort();
}

function reportText(report: VerifyReport): string {
  const word = report.ok ? 'ok' : 'DIFFERENT';
  const counts = `${count(report.rows)} rows, ${count(report.quarantined)} quarantined, ${count(report.lost)} lost, ${count(report.duplicated)} doubled, ${count(report.unexpected)} unknown`;
  const rows = report.partitions.map((p) => [
    p.topic,
    String(p.partition),
    p.ranges.map((range) => `[${range.from}, ${range.until})`).join(' '),
    String(p.rows),
    String(p.quarantined),
    String(p.dropped),
    String(p.control + p.aborted + p.holes),
  ]);
  const table = textTable(['topic', 'partition', 'read', 'rows', 'quarantined', 'dropped', 'gaps'], rows);
  return `${report.table}: ${word}: ${counts}\n${table}${report.partitions.flatMap(differences).join('')}`;
}

const MOST = 20;

function differences(p: PartitionProof): string[] {
  return (['missing', 'duplicated', 'unexpected'] as const).flatMap((kind) => {
    const shown = p[kind].slice(0, MOST).map((range) => `[${range.from}, ${range.until})`);
    const more = p[kind].length > MOST ? ` and ${p[kind].length - MOST} more` : '';
    return shown.length === 0 ? [] : [`  ${kind}: ${p.topic}-${p.partition} ${shown.join(', ')}${more}\n`];
  });
}
