import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeasuredProcess, runSluice } from './measured-process.ts';
import { type BenchOptions, isTyped } from './options.ts';
import type { BenchTopic } from './topic.ts';
import { typedRule } from './typed/typed-rule.ts';

/** One drain of the topic by `sluice run --available-now`, from the start of its process to its end. */
export interface DrainResult {
  seconds: number;
  cpuSeconds: number;
  recordsPerSecond: number;
  /** Megabytes (10^6) of keys and values a second. */
  megabytesPerSecond: number;
  recordsPerCpuSecond: number;
  peakRssBytes: number;
  /** From the start of the process until `commits/0` was durable in the checkpoint. */
  secondsToFirstCommit: number;
  batches: number;
  dataFiles: number;
  dataFileBytes: number;
}

export interface DrainOptions extends PipelineSettings {
  /** Of Node.js, before the script. */
  nodeArgs?: readonly string[];
}

/** Drains into a fresh warehouse, verifies it, deletes it. Throws where a record is missing or doubled. */
export async function drain(options: DrainOptions, source: BenchTopic): Promise<DrainResult> {
  const home = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const pipeline = join(home, 'sluice.json');
    writeFileSync(pipeline, JSON.stringify(pipelineOf(options, source.topic, home)));
    const run = await runSluice(
      ['run', '-c', pipeline, '--available-now', '-o', 'json', '--log-level', 'warn'],
      home,
      { nodeArgs: options.nodeArgs },
    );
    const summary = JSON.parse(run.stdout) as { batches: number; records: number; quarantined: number };
    if (summary.records !== source.records || summary.quarantined !== 0)
      throw new Error(`expected ${source.records} records, the run read ${run.stdout}`);
    const firstCommitMs = statSync(join(home, 'checkpoint', 'commits', '0')).ctimeMs;
    await verify(pipeline, home, source.records);
    const files = dataFilesUnder(join(home, 'warehouse'));
    return {
      ...rates(run, source),
      secondsToFirstCommit: (firstCommitMs - run.startedAtMs) / 1000,
      batches: summary.batches,
      ...files,
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function rates(run: MeasuredProcess, source: BenchTopic) {
  return {
    seconds: run.seconds,
    cpuSeconds: run.cpuSeconds,
    recordsPerSecond: source.records / run.seconds,
    megabytesPerSecond: source.bytes / 1e6 / run.seconds,
    recordsPerCpuSecond: source.records / run.cpuSeconds,
    peakRssBytes: run.peakRssBytes,
  };
}

export interface PipelineSettings
  extends Pick<BenchOptions, 'bootstrap' | 'memory' | 'workers' | 'batchRecords'> {
  /** Of this kind or of a race: says what the table is. Default: raw. */
  scenario?: string;
  /** Where the schemas of framed records are. */
  registryUrl?: string;
}

const BRONZE_RULE = {
  match: '*',
  layout: 'bronze',
  table: 'bronze.events',
  partitionBy: ['dt', 'hour'],
  timeZone: 'UTC',
};

function ruleOf(scenario: string): object {
  return isTyped(scenario) ? typedRule(scenario) : BRONZE_RULE;
}

/** JSON is YAML too. */
export function pipelineOf(options: PipelineSettings, topic: string, home: string): object {
  return {
    name: 'bench',
    engine: 'local',
    memory: options.memory,
    checkpointLocation: join(home, 'checkpoint'),
    catalog: {
      type: 'sqlite',
      uri: join(home, 'warehouse', 'catalog.db'),
      warehouse: join(home, 'warehouse'),
    },
    trigger: { availableNow: true },
    source: {
      'kafka.bootstrap.servers': options.bootstrap,
      subscribe: topic,
      startingOffsets: 'earliest',
      workers: options.workers,
      ...(options.batchRecords === 0 ? {} : { maxOffsetsPerTrigger: options.batchRecords }),
    },
    ...(options.registryUrl === undefined
      ? {}
      : { registry: { 'schema.registry.url': options.registryUrl } }),
    tables: [ruleOf(options.scenario ?? 'raw')],
  };
}

async function verify(pipeline: string, home: string, records: number): Promise<void> {
  const { stdout } = await runSluice(['verify', '-c', pipeline, '-o', 'json'], home);
  const { ok, tables } = JSON.parse(stdout) as { ok: boolean; tables: { rows: number }[] };
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  if (!ok || rows !== records) throw new Error(`sluice verify: expected ${records} rows, found ${stdout}`);
}

function dataFilesUnder(directory: string): { dataFiles: number; dataFileBytes: number } {
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.parquet'),
  );
  const dataFileBytes = paths.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  return { dataFiles: paths.length, dataFileBytes };
}
