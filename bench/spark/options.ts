import { parseArgs } from 'node:util';
import { parseByteSize } from '../../src/core/byte-size.ts';
import { integer, leastBytes, oneOf, TOPIC_CODECS, type TopicCodec } from '../options.ts';

/** The topic of a scenario; the job is the same in all of the raw ones. */
export interface RaceScenario {
  valueBytes: number;
  partitions: number;
  codec: TopicCodec;
}

export const RACE_SCENARIOS = {
  raw: { valueBytes: 250, partitions: 6, codec: 'none' },
  'raw-lz4': { valueBytes: 250, partitions: 6, codec: 'lz4' },
  'raw-1k': { valueBytes: 1000, partitions: 6, codec: 'none' },
  'raw-1p': { valueBytes: 250, partitions: 1, codec: 'none' },
  'typed-json': { valueBytes: 250, partitions: 6, codec: 'zstd' },
  'typed-avro': { valueBytes: 250, partitions: 6, codec: 'zstd' },
} as const satisfies Record<string, RaceScenario>;
export type RaceScenarioName = keyof typeof RACE_SCENARIOS;

/** What `npm run bench -- --vs spark ARGS` was asked for. */
export interface RaceOptions extends RaceScenario {
  bootstrap: string;
  scenario: RaceScenarioName;
  records: number;
  memory: string;
  workers: number;
  runs: number;
  out: string | undefined;
  write: boolean;
  keepTopic: boolean;
}

const NAMES = Object.keys(RACE_SCENARIOS) as RaceScenarioName[];

export const RACE_USAGE = `npm run bench -- --vs spark [options]: the same job by Sluice and by Spark in turn (Linux)
  --scenario raw           ${NAMES.join(', ')}
  --records 1000000        records in the topic
  --value-bytes, --partitions, --codec   other than the scenario's
  --memory 512MB           Sluice's memory; Spark's driver has 2g
  --workers 2              Sluice's worker threads; Spark's master is local[2]
  --runs 3                 pairs of runs; the medians of the ratios are reported
  --out FILE               write the result as JSON
  --write                  write the scenario's section of bench/README.md
  --keep-topic             leave the topic for the next run`;

/** Was the race asked for? */
export function isRace(args: readonly string[]): boolean {
  return args.some((arg) => arg === '--vs' || arg.startsWith('--vs='));
}

/** Throws an Error with a sentence for the user. */
export function parseRaceOptions(args: readonly string[]): RaceOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bootstrap: { type: 'string' },
      vs: { type: 'string' },
      scenario: { type: 'string', default: 'raw' },
      records: { type: 'string', default: '1000000' },
      'value-bytes': { type: 'string' },
      partitions: { type: 'string' },
      codec: { type: 'string' },
      memory: { type: 'string', default: '512MB' },
      workers: { type: 'string', default: '2' },
      runs: { type: 'string', default: '3' },
      out: { type: 'string' },
      write: { type: 'boolean', default: false },
      'keep-topic': { type: 'boolean', default: false },
    },
  });
  if (values.bootstrap === undefined) throw new Error('--bootstrap HOST:PORT is missing');
  parseByteSize(values.memory);
  oneOf('vs', values.vs ?? '', ['spark']);
  const scenario = oneOf('scenario', values.scenario, NAMES);
  const topic = RACE_SCENARIOS[scenario];
  return {
    bootstrap: values.bootstrap,
    scenario,
    records: integer('records', values.records, 1),
    valueBytes: integer(
      'value-bytes',
      values['value-bytes'] ?? String(topic.valueBytes),
      leastBytes(scenario),
    ),
    partitions: integer('partitions', values.partitions ?? String(topic.partitions), 1),
    codec: oneOf('codec', values.codec ?? topic.codec, TOPIC_CODECS),
    memory: values.memory,
    workers: integer('workers', values.workers, 1),
    runs: integer('runs', values.runs, 1),
    out: values.out,
    write: values.write,
    keepTopic: values['keep-topic'],
  };
}
