import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { LoadedPipeline } from '../../config/load-pipeline.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { SluiceError } from '../../errors.ts';
import { toStorageError } from '../../storage/local-error.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import type { PipelinePlace, SampleFacts } from '../init/pipeline-text.ts';
import { timeoutOption } from '../pipeline-option.ts';

interface InitFlags {
  bootstrap: string;
  topic: string;
  kafka: [key: string, value: string][];
  sample: number;
  out?: string;
  force?: true;
  timeout: string;
  output: OutputFormat;
}

const MAX_RECORDS = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;

export function command(context: CliContext): Command {
  return new Command()
    .description(
      'Look at the records of a topic and print a pipeline file for them: columns where the values are JSON, the bytes as they are otherwise. Nothing is written to Kafka or to tables.',
    )
    .addOption(
      new Option('--bootstrap <host:port>', 'the brokers, with commas between them').makeOptionMandatory(),
    )
    .addOption(new Option('--topic <topic>', 'the topic').makeOptionMandatory())
    .addOption(
      new Option(
        '--kafka <key=value>',
        'an option of the Kafka client, such as security.protocol=SASL_SSL; may be repeated',
      )
        .argParser(kafkaOption)
        .default([], 'nothing'),
    )
    .addOption(
      new Option('--sample <records>', 'how many records to look at').argParser(sampleSize).default(1000),
    )
    .addOption(new Option('--out <file>', 'write the pipeline file there; without it it is printed'))
    .addOption(new Option('--force', 'write over a file that is there'))
    .addOption(timeoutOption('30s'))
    .addHelpText(
      'after',
      `
Examples:
  sluice init --bootstrap localhost:9092 --topic orders
  sluice init --bootstrap localhost:9092 --topic orders --sample 10000 --out sluice.yaml
  sluice init --bootstrap kafka:9093 --topic orders --kafka security.protocol=SASL_SSL \\
    --kafka sasl.mechanism=SCRAM-SHA-512 --kafka sasl.username=me --kafka sasl.password=env:PASSWORD`,
    )
    .action((flags: InitFlags) => init(context, flags));
}

function kafkaOption(text: string, before: [string, string][]): [string, string][] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It is key=value, such as security.protocol=SSL.');
  const key = text.slice(0, at).replace(/^kafka\./, '');
  return [...before, [`kafka.${key}`, text.slice(at + 1)]];
}

function sampleSize(text: string): number {
  const records = Number(text);
  if (!/^\d+$/.test(text) || records < 1 || records > MAX_RECORDS)
    throw new InvalidArgumentError(`It is a whole number from 1 to ${MAX_RECORDS}.`);
  return records;
}

async function init(context: CliContext, flags: InitFlags): Promise<void> {
  const [{ parseDurationMs }, { sourceText, pipelineText }, { ValueSniffer }, { sampleTopic }] =
    await Promise.all([
      import('../../core/duration.ts'),
      import('../init/pipeline-text.ts'),
      import('../init/value-sniffer.ts'),
      import('../init/topic-sample.ts'),
    ]);
  const place: PipelinePlace = { bootstrap: flags.bootstrap, topic: flags.topic, kafka: flags.kafka };
  await refuseSecrets(place);
  const { config, warnings } = await loaded(context, sourceText(place), 'the command line');
  for (const { message, path } of warnings) context.stderr.write(`warning ${path}: ${message}\n`);
  const sniffer = new ValueSniffer();
  let left = flags.sample;
  const sampled = await sampleTopic(
    config,
    { records: flags.sample, maxBytes: MAX_BYTES, timeoutMs: parseDurationMs(flags.timeout) },
    (key, value) => {
      sniffer.add(key, value);
      return --left > 0;
    },
  );
  const facts: SampleFacts = { ...sniffer.result(), ...sampled, cut: sampled.cut && left > 0 };
  const text = pipelineText(place, facts);
  await loaded(context, text, flags.out ?? 'sluice.yaml');
  if (flags.out !== undefined) await write(context, flags.out, text, flags.force === true);
  context.stdout.write(
    flags.output === 'json' ? jsonText(flags, facts, text) : plainText(flags, facts, text),
  );
}

/** A file that anyone may read is no place for a password. */
async function refuseSecrets({ kafka }: PipelinePlace): Promise<void> {
  const [{ findOption }, { isSecretReference }] = await Promise.all([
    import('../../config/options.ts'),
    import('../../config/secrets.ts'),
  ]);
  for (const [key, value] of kafka) {
    if (findOption('source', key)?.secret !== true || isSecretReference(value)) continue;
    throw new SluiceError(
      'USAGE',
      `--kafka ${key}: the value would stand in the file; give env:NAME, file:/path or exec:command`,
    );
  }
}

/** A pipeline file that is not on the disk, read as `sluice validate` reads it. Throws CONFIG_INVALID. */
async function loaded(context: CliContext, text: string, file: string): Promise<LoadedPipeline> {
  const { loadPipeline } = await import('../../config/load-pipeline.ts');
  return loadPipeline({ file, text, env: context.env, overrides: [], cwd: context.cwd });
}

async function write(context: CliContext, file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(resolve(context.cwd, file), text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST')
      throw toStorageError(error, 'write', file, 'not-applied');
    throw new SluiceError(
      'USAGE',
      `--out ${file}: the file is there, and was left as it is; give another name, or --force to write over it`,
    );
  }
}

function plainText({ out }: InitFlags, facts: SampleFacts, text: string): string {
  if (out === undefined) return text;
  const what = facts.schema === null ? 'the values as they are' : `${facts.schema.fields.length} columns`;
  return `${out}: a pipeline with ${what}; look into it, then: sluice validate -c ${out} --connect\n`;
}

function jsonText({ out, topic }: InitFlags, facts: SampleFacts, text: string): string {
  const { inference, ...rest } = facts;
  const report = { ...inference, refused: Object.fromEntries(inference.refused) };
  return `${stringifyJson64({ topic, ...rest, inference: report, file: out ?? null, pipeline: text })}\n`;
}
