import { parseArgs } from 'node:util';
import { parseByteSize } from '../src/core/byte-size.ts';
import type { Payload } from './topic.ts';
import { LEAST_DOCUMENT_BYTES } from './typed/typed-events.ts';

export const SCENARIOS = ['raw', 'commits', 'typed-json', 'typed-avro'] as const;
export type Scenario = (typeof SCENARIOS)[number];
export const TOPIC_CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
export type TopicCodec = (typeof TOPIC_CODECS)[number];

/** What `npm run bench -- ARGS` was asked for. */
export interface BenchOptions {
  bootstrap: string;
  scenario: Scenario;
  records: number;
  partitions: number;
  valueBytes: number;
  /** Of the record batches in the topic; data files are zstd always. */
  codec: TopicCodec;
  /** As in a pipeline file, for example `512MB`. */
  memory: string;
  workers: number;
  /** Records of one batch (maxOffsetsPerTrigger); 0: all in one. */
  batchRecords: number;
  runs: number;
  /** Measure also what one thread could do at best. */
  limit: boolean;
  /** Show where the time of one more drain goes (typed scenarios). */
  profile: boolean;
  /** Measure also DuckDB's JSON reader over the same documents (`typed-json`). */
  duckdb: boolean;
  /** Commits of the scenario `commits`. */
  commits: number;
  /** Batches that the scenario `commits` takes through the engine's loop. */
  batches: number;
  out: string | undefined;
  write: boolean;
  keepTopic: boolean;
}

export const USAGE = `npm run bench -- [options]
  --scenario raw           what is measured: ${SCENARIOS.join(', ')}
  --records 4000000        records in the topic
  --partitions 6           partitions of the topic
  --value-bytes 250        bytes of a value (at least 220, of a typed document ${LEAST_DOCUMENT_BYTES})
  --codec none             of the topic: ${TOPIC_CODECS.join(', ')}; the typed scenarios have zstd
  --memory 512MB           the pipeline's memory
  --workers 2              worker threads
  --batch-records 1000000  records of one batch (maxOffsetsPerTrigger), 0 for all in one
  --runs 3                 drains; the median by records per CPU second is reported
  --limit                  measure also how fast one thread checks, compresses and writes the same bytes
  --profile                show where the time of one more drain goes (typed scenarios)
  --no-duckdb              leave out DuckDB's JSON reader (typed-json)
  --commits 10000          commits of the scenario commits
  --batches 2000           batches through the engine in the scenario commits, 0 for none
  --out FILE               write the result as JSON
  --write                  raw, commits: measure both with their defaults and write bench/README.md;
                           typed scenarios: write the scenario's section of it, profile included
  --keep-topic             leave the topic for the next run
  --bootstrap HOST:PORT    the broker; given by npm run bench`;

/** Throws an Error with a sentence for the user. */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bootstrap: { type: 'string' },
      scenario: { type: 'string', default: 'raw' },
      records: { type: 'string', default: '4000000' },
      partitions: { type: 'string', default: '6' },
      'value-bytes': { type: 'string', default: '250' },
      codec: { type: 'string' },
      memory: { type: 'string', default: '512MB' },
      workers: { type: 'string', default: '2' },
      'batch-records': { type: 'string', default: '1000000' },
      runs: { type: 'string', default: '3' },
      limit: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      'no-duckdb': { type: 'boolean', default: false },
      commits: { type: 'string', default: '10000' },
      batches: { type: 'string', default: '2000' },
      out: { type: 'string' },
      write: { type: 'boolean', default: false },
      'keep-topic': { type: 'boolean', default: false },
    },
  });
  if (values.bootstrap === undefined) throw new Error('--bootstrap HOST:PORT is missing');
  parseByteSize(values.memory);
  const scenario = oneOf('scenario', values.scenario, SCENARIOS);
  return {
    bootstrap: values.bootstrap,
    scenario,
    records: integer('records', values.records, 1),
    partitions: integer('partitions', values.partitions, 1),
    valueBytes: integer('value-bytes', values['value-bytes'], leastBytes(scenario)),
    codec: oneOf('codec', values.codec ?? (isTyped(scenario) ? 'zstd' : 'none'), TOPIC_CODECS),
    memory: values.memory,
    workers: integer('workers', values.workers, 1),
    batchRecords: integer('batch-records', values['batch-records'], 0),
    runs: integer('runs', values.runs, 1),
    limit: values.limit,
    profile: values.profile,
    duckdb: !values['no-duckdb'],
    commits: integer('commits', values.commits, 1),
    batches: integer('batches', values.batches, 0),
    out: values.out,
    write: values.write,
    keepTopic: values['keep-topic'],
  };
}

export type TypedScenario = 'typed-json' | 'typed-avro';

export function isTyped(scenario: string): scenario is TypedScenario {
  return scenario === 'typed-json' || scenario === 'typed-avro';
}

/** What the topic of a scenario, of this kind or of a race, holds. */
export function payloadOf(scenario: string): Payload {
  return isTyped(scenario) ? scenario : 'raw';
}

/** The shortest values of a scenario's topic. */
export function leastBytes(scenario: string): number {
  return isTyped(scenario) ? LEAST_DOCUMENT_BYTES : 220;
}

export function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((a) => a === value);
  if (found === undefined) throw new Error(`--${name} ${value}: expected one of ${allowed.join(', ')}`);
  return found;
}

export function integer(name: string, text: string, least: number): number {
  const value = Number(text.replaceAll('_', ''));
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} ${text}: expected a whole number of at least ${least}`);
}
