import { Command, Option } from 'commander';
import { stringifyJson64 } from '../../core/json64.ts';
import type { VerifyReport } from '../../proof/verify-table.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadFor, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
import { refuseDifferences, verifyText } from '../verify-text.ts';

interface VerifyFlags extends PipelineFlags {
  countBy?: string;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description(
      'Prove that each offset that was read is in its table, in the quarantine or a known gap, exactly once.',
    )
    .argument('[table...]', 'namespace.name; all tables of the pipeline when left out')
    .addOption(
      new Option('--count-by <field>', 'also count the rows by a field of the JSON in the column value'),
    )
    .addHelpText(
      'after',
      `
Examples:
  sluice verify                          every table of ./sluice.yaml
  sluice verify bronze.ad_clicks -o json
  sluice verify bronze.ad_clicks --count-by source

Reads the checkpoint's ledger and the offset columns of the tables. Exit code 4 where offsets are missing, doubled or
unknown; they are listed as [from, until). With --count-by the column value is read too.`,
    )
    .action((tables: string[], flags: VerifyFlags) => verify(context, tables, flags));
}

async function verify(context: CliContext, asked: string[], flags: VerifyFlags): Promise<void> {
  const { config } = await loadFor(context, flags);
  const [{ dataTables, openCheckpointReadOnly }, { withCatalog }, { verifyTable }] = await Promise.all([
    import('../checkpoint-view.ts'),
    import('../catalog-view.ts'),
    import('../../proof/verify-table.ts'),
  ]);
  const checkpoint = await openCheckpointReadOnly(config, context);
  const tables = asked.length > 0 ? asked : await dataTables(checkpoint);
  const reports = await withCatalog(config, async ({ catalog, io }) => {
    const found: VerifyReport[] = [];
    const { countBy } = flags;
    for (const table of tables)
      found.push(await verifyTable({ checkpoint, catalog, io }, table, { countBy }));
    return found;
  });
  const ok = reports.every((report) => report.ok);
  context.stdout.write(
    flags.output === 'json'
      ? `${stringifyJson64({ ok, tables: reports })}\n`
      : reports.map(verifyText).join('\n'),
  );
  refuseDifferences(reports);
}
