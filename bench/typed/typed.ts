import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DrainOptions, type DrainResult, drain } from '../drain.ts';
import { type BenchOptions, isTyped, type TypedScenario } from '../options.ts';
import { describeDrain, median } from '../raw.ts';
import { type BenchTopic, deleteTopic, ensureTopic } from '../topic.ts';
import { type ProfileShare, readProfiles } from './profile.ts';
import { measureReaders, type ReadersResult } from './readers.ts';
import { startStaticRegistry } from './static-registry.ts';

export interface TypedResult extends DrainResult {
  records: number;
  partitions: number;
  /** Of a JSON document; Avro records hold the same fields in fewer. */
  valueBytes: number;
  codec: string;
  memory: string;
  workers: number;
  batchRecords: number;
  /** Every drain, in the order they ran; the fields above are those of the median by records per CPU second. */
  runs: DrainResult[];
  /** The greatest of all runs. */
  peakRssBytes: number;
  /** Of one more drain with less memory. */
  small?: { memory: string; peakRssBytes: number; recordsPerCpuSecond: number };
  readers?: ReadersResult;
  /** Over DuckDB's JSON reader, per CPU second: of the decoder alone, and of the whole drain over each of DuckDB's jobs. */
  duckdbRatios?: { decoder: number; partitioned: number; parquet: number };
  profile?: ProfileShare[];
  /** Of the machine over the 15 minutes before the end, the benchmark's own load included. */
  loadAverage: number;
}

const SMALL_MEMORY = '128MB';

/** Loads the topic where it is not there, drains it into fresh typed tables, and says how fast that was, and beside DuckDB. */
export async function benchTyped(options: BenchOptions, say: (line: string) => void): Promise<TypedResult> {
  const scenario = options.scenario;
  if (!isTyped(scenario)) throw new Error(`${scenario} is no typed scenario`);
  const source = await ensureTopic(options.bootstrap, { ...options, payload: scenario }, say);
  const registry = scenario === 'typed-avro' ? await startStaticRegistry() : undefined;
  try {
    const settings: DrainOptions = { ...options, scenario, registryUrl: registry?.url };
    return await measureAll(options, scenario, settings, source, say);
  } finally {
    await registry?.close();
    if (!options.keepTopic) await deleteTopic(options.bootstrap, source.topic);
  }
}

async function measureAll(
  options: BenchOptions,
  scenario: TypedScenario,
  settings: DrainOptions,
  source: BenchTopic,
  say: (line: string) => void,
): Promise<TypedResult> {
  const runs: DrainResult[] = [];
  for (let i = 1; i <= options.runs; i++) {
    const run = await drain(settings, source);
    say(`run ${i} of ${options.runs}: ${describeDrain(run)}`);
    runs.push(run);
  }
  const { records, partitions, valueBytes, codec, memory, workers, batchRecords } = options;
  const result: TypedResult = {
    ...{ records, partitions, valueBytes, codec, memory, workers, batchRecords },
    ...median(runs, (run) => run.recordsPerCpuSecond),
    peakRssBytes: Math.max(...runs.map((run) => run.peakRssBytes)),
    runs,
    loadAverage: 0,
  };
  if (options.write) {
    const small = await drain({ ...settings, memory: SMALL_MEMORY }, source);
    say(`memory ${SMALL_MEMORY}: ${describeDrain(small)}`);
    const { peakRssBytes, recordsPerCpuSecond } = small;
    result.small = { memory: SMALL_MEMORY, peakRssBytes, recordsPerCpuSecond };
  }
  if (options.profile || options.write) result.profile = await profileOf(settings, source);
  if (options.duckdb && scenario === 'typed-json') {
    const readers = await measureReaders({ records, valueBytes, threads: workers, runs: options.runs }, say);
    result.readers = readers;
    result.duckdbRatios = {
      decoder: readers.decoder.recordsPerCpuSecond / readers.duckdb.read.recordsPerCpuSecond,
      partitioned: result.recordsPerCpuSecond / readers.duckdb.partitioned.recordsPerCpuSecond,
      parquet: result.recordsPerCpuSecond / readers.duckdb.parquet.recordsPerCpuSecond,
    };
  }
  result.loadAverage = Number(loadavg()[2].toFixed(1));
  return result;
}

async function profileOf(settings: DrainOptions, source: BenchTopic): Promise<ProfileShare[]> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-profile-'));
  try {
    await drain({ ...settings, nodeArgs: ['--cpu-prof', `--cpu-prof-dir=${directory}`] }, source);
    return readProfiles(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
