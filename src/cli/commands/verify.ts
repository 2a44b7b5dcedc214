import { Command, Option } from 'commander';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { isSluiceError, type SluiceError } from '../../errors.ts';
import type { BrokerLog } from '../../proof/broker-log.ts';
import type { VerifyReport } from '../../proof/verify-table.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadQuietly, type PipelineFlags, timeoutOption, withPipelineOptions } from '../pipeline-option.ts';
import { tableArguments } from '../table-argument.ts';
import { refuseDifferences, type Unproven, verifyJson, verifyTexts } from '../verify-text.ts';

interface VerifyFlags extends PipelineFlags {
  countBy?: string;
  againstBroker?: boolean;
  timeout: string;
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  return withPipelineOptions(new Command())
    .description(
      'Prove that each offset that was read is in its table, in the quarantine or a known gap, exactly once.',
    )
    .argument(
      '[table...]',
      'namespace.name; all tables that the pipeline writes or ever wrote when left out',
      tableArguments,
    )
    .addOption(
      new Option(
        '--count-by <field>',
        'also count the rows by a column, or by a field of the JSON in the column value',
      ),
    )
    .addOption(
      new Option(
        '--against-broker',
        'also ask the brokers for the offsets that have no row, where they still have them',
      ),
    )
    .addOption(timeoutOption('15s'))
    .addHelpText(
      'after',
      `
Examples:
  sluice verify                          every table of ./sluice.yaml
  sluice verify bronze.ad_clicks -o json
  sluice verify bronze.ad_clicks --count-by source
  sluice verify --against-broker

Reads the checkpoint's ledger and the offset columns of the tables; the pipeline may be running. Exit code 4 where
records are lost, doubled, unknown to the ledger or misplaced (in the quarantine instead of the table, or the other way
round); offsets are listed as [from, until). With --count-by that column, or value, is read too. With --against-broker the
topics are read again around the offsets without a row: a record that is still there and should be a row is lost.`,
    )
    .action((tables: string[], flags: VerifyFlags) => verify(context, tables, flags));
}

async function verify(context: CliContext, asked: string[], flags: VerifyFlags): Promise<void> {
  const { config } = await loadQuietly(context, flags);
  const [{ dataTables, openCheckpointReadOnly }, { withCatalog }, { verifyTable }] = await Promise.all([
    import('../checkpoint-view.ts'),
    import('../catalog-view.ts'),
    import('../../proof/verify-table.ts'),
  ]);
  const broker = flags.againstBroker === true ? await brokerOf(config, flags.timeout) : undefined;
  const checkpoint = await openCheckpointReadOnly(config, context);
  const tables = asked.length > 0 ? asked : await dataTables(checkpoint);
  const reports: VerifyReport[] = [];
  const unproven: Unproven[] = [];
  await withCatalog(config, async ({ catalog, io }) => {
    for (const table of tables) {
      try {
        reports.push(
          await verifyTable({ checkpoint, catalog, io }, table, { countBy: flags.countBy, broker }),
        );
      } catch (error) {
        // The other tables are proven all the same.
        if (!concernsTable(error)) throw error;
        unproven.push({ table, error });
      }
    }
  });
  context.stdout.write(
    flags.output === 'json' ? verifyJson(reports, unproven) : verifyTexts(reports, unproven),
  );
  refuseDifferences(reports);
  if (unproven.length > 0) throw unproven[0].error;
}

async function brokerOf(config: PipelineConfig, timeout: string): Promise<BrokerLog> {
  const [{ openBrokerLog }, { kafkaClient }, { parseDurationMs }] = await Promise.all([
    import('../../proof/broker-log.ts'),
    import('../../engine/kafka-client.ts'),
    import('../../core/duration.ts'),
  ]);
  const client = kafkaClient(config);
  const requestDeadlineMs = Math.min(parseDurationMs(timeout), client.requestDeadlineMs);
  return openBrokerLog({
    client: { ...client, requestDeadlineMs },
    isolationLevel: config.source.isolationLevel,
    budgetBytes: Math.floor(config.memoryBytes / 2),
  });
}

const OF_ONE_TABLE = [
  'NOT_VERIFIABLE',
  'TABLE_NOT_FOUND',
  'METADATA_INVALID',
  'DATA_FILE_INVALID',
  'FILE_NOT_FOUND',
  'UNSUPPORTED',
] as const;

function concernsTable(error: unknown): error is SluiceError {
  return OF_ONE_TABLE.some((code) => isSluiceError(error, code));
}
