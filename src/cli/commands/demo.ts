import { Command, InvalidArgumentError, Option } from 'commander';
import { type ErrorCode, isSluiceError, SluiceError } from '../../errors.ts';
import type { CliContext, OutputFormat } from '../context.ts';

interface DemoFlags {
  bootstrap?: string;
  directory: string;
  topicPrefix: string;
  records: number;
  output: OutputFormat;
}

const MOST_RECORDS = 100_000_000;

export function command(context: CliContext): Command {
  return new Command()
    .description(
      'Produce ad events into four topics, load them into four Iceberg tables with the pipeline of examples/ad-events-bronze, and prove that each offset arrived once.',
    )
    .addOption(
      new Option('--bootstrap <servers>', 'host:port of the brokers (default: $KAFKA_BOOTSTRAP_SERVERS)'),
    )
    .addOption(
      new Option('--directory <path>', 'where tables, checkpoint and report.json go').default('.sluice/demo'),
    )
    .addOption(
      new Option(
        '--topic-prefix <text>',
        "goes before the topics' names, to keep apart from topics in use",
      ).default('sluice-demo.'),
    )
    .addOption(
      new Option('--records <number>', 'how many events are produced')
        .argParser(recordNumber)
        .default(200_000),
    )
    .addHelpText(
      'after',
      `
Examples:
  npm start                                  in the repository: with a broker of its own
  sluice demo --bootstrap localhost:9092
  sluice demo --records 5000000

Run again, it produces as many events more and reads only those.`,
    )
    .action((flags: DemoFlags) => demo(context, flags));
}

function recordNumber(text: string): number {
  const records = Number(text);
  if (!/^\d+$/.test(text) || records < 1 || records > MOST_RECORDS)
    throw new InvalidArgumentError(`expected a whole number from 1 to ${MOST_RECORDS}`);
  return records;
}

async function demo(context: CliContext, flags: DemoFlags): Promise<void> {
  const { bootstrap, ...options } = flags;
  const bootstrapServers = bootstrap || context.env.KAFKA_BOOTSTRAP_SERVERS;
  if (!bootstrapServers)
    throw new SluiceError(
      'USAGE',
      'demo needs a broker: give --bootstrap host:port or set KAFKA_BOOTSTRAP_SERVERS; `npm start` in the repository brings up one of its own',
    );
  const { runDemo } = await import('../demo/run-demo.ts');
  try {
    await runDemo(context, { ...options, bootstrapServers });
  } catch (error) {
    throw withFreshStart(error, flags.directory);
  }
}

/** Broker, checkpoint and tables do not belong together: in a demo nothing is lost by beginning anew. */
const BEGIN_ANEW: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CATALOG_SCHEMA',
  'CHECKPOINT_CORRUPT',
  'CHECKPOINT_LOST',
  'CHECKPOINT_METADATA_MISSING',
  'CHECKPOINT_VERSION',
  'CLUSTER_REPLACED',
  'DATA_FILE_INVALID',
  'DATA_LOSS',
  'FILE_NOT_FOUND',
  'METADATA_INVALID',
  'PARTITIONS_DELETED',
  'STALE_WRITER',
  'TABLE_INCOMPATIBLE',
  'TABLE_NOT_FOUND',
  'TABLE_REWOUND',
  'TOPIC_REPLACED',
]);

function withFreshStart(error: unknown, directory: string): unknown {
  if (!isSluiceError(error) || !BEGIN_ANEW.has(error.code)) return error;
  const { code, message, retryable, outcome, context } = error;
  const hint = `This is the demo: removing ${directory} starts it afresh.`;
  return new SluiceError(code, message.slice(code.length + 2), {
    retryable,
    outcome,
    context: { ...context, hint },
    cause: error,
  });
}
