import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SetupError } from '../../scripts/lib/process.mjs';
import { pythonWithPackages } from '../../scripts/lib/python.mjs';
import { sparkRuntime } from '../../scripts/lib/spark.mjs';
import { type Machine, machine } from '../machine.ts';
import { payloadOf } from '../options.ts';
import { deleteTopic, ensureTopic } from '../topic.ts';
import { startStaticRegistry } from '../typed/static-registry.ts';
import type { RaceOptions, RaceScenarioName } from './options.ts';
import {
  compareTables,
  type RacePair,
  type RaceRatios,
  type RaceRun,
  ratiosOf,
  type TableContent,
  timesOf,
} from './race-result.ts';
import { checkpointTimes, type Racer, sluiceRacer, sparkRacer } from './racers.ts';
import { pinnedVersions, type SparkVersions } from './versions.ts';

export interface RaceResult {
  scenario: RaceScenarioName;
  vs: 'spark';
  machine: Machine;
  versions: SparkVersions;
  records: number;
  valueBytes: number;
  partitions: number;
  codec: string;
  memory: string;
  workers: number;
  /** Of the machine over the 15 minutes before the end of the last run, the race's own load included. */
  loadAverage: number;
  /** In the order they ran: ours, Spark's, ours, Spark's. */
  runs: RacePair[];
  ratios: RaceRatios;
}

const CHECKSUM = fileURLToPath(new URL('./checksum.py', import.meta.url));

/**
 * Installs what is missing, loads the topic, lets the two drain it in turn into fresh tables, and compares the tables.
 * Throws a SetupError where a prerequisite is missing, an Error where the tables are not the same.
 */
export async function race(options: RaceOptions, say: (line: string) => void): Promise<RaceResult> {
  if (process.platform !== 'linux')
    throw new SetupError(
      `The race against Spark measures by /proc, so it runs on Linux; this is ${process.platform}.`,
    );
  const runtime = await sparkRuntime({ log: say });
  const reader = await pythonWithPackages({ log: say });
  const payload = payloadOf(options.scenario);
  const source = await ensureTopic(options.bootstrap, { ...options, payload }, say);
  const registry = payload === 'typed-avro' ? await startStaticRegistry() : undefined;
  const racers = { sluice: sluiceRacer(options, registry?.url), spark: sparkRacer(options, runtime) };
  const runs: RacePair[] = [];
  try {
    for (let i = 1; i <= options.runs; i++) {
      const sluice = await raceOne(racers.sluice, source.topic, source.records, reader);
      say(`${i} of ${options.runs}, Sluice: ${describeRun(sluice.run)}`);
      const spark = await raceOne(racers.spark, source.topic, source.records, reader);
      say(`${i} of ${options.runs}, Spark:  ${describeRun(spark.run)}`);
      compareTables(source.records, sluice.content, spark.content);
      runs.push({ sluice: sluice.run, spark: spark.run });
    }
  } finally {
    await registry?.close();
    if (!options.keepTopic) await deleteTopic(options.bootstrap, source.topic);
  }
  const { scenario, records, valueBytes, partitions, codec, memory, workers } = options;
  const head = { scenario, vs: 'spark' as const, machine: machine(), versions: pinnedVersions() };
  return {
    ...head,
    ...{ records, valueBytes, partitions, codec, memory, workers },
    loadAverage: loadavg()[2],
    runs,
    ratios: ratiosOf(runs),
  };
}

async function raceOne(
  racer: Racer,
  topic: string,
  records: number,
  reader: string,
): Promise<{ run: RaceRun; content: TableContent }> {
  const home = mkdtempSync(join(tmpdir(), `sluice-race-${racer.name}-`));
  try {
    const usage = await racer.drain(topic, home);
    const { stdout } = await promisify(execFile)(reader, [CHECKSUM, racer.currentMetadata(home)]);
    const content = JSON.parse(stdout) as TableContent;
    const { seconds, cpuSeconds, peakRssBytes } = usage;
    const { dataFiles, dataFileBytes, checksum } = content;
    const times = timesOf(records, usage, checkpointTimes(home, usage.startedAtMs));
    return {
      run: { seconds, cpuSeconds, peakRssBytes, ...times, dataFiles, dataFileBytes, checksum },
      content,
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export function describeRun(run: RaceRun): string {
  return (
    `${run.seconds.toFixed(2)} s (${run.steadySeconds.toFixed(2)} s without start-up), ` +
    `${Math.round(run.recordsPerSecond)} records/s (${Math.round(run.recordsPerSecondSteady)}), ` +
    `${run.cpuSeconds.toFixed(2)} CPU s, peak ${(run.peakRssBytes / 1048576).toFixed(0)} MiB, ` +
    `first commit after ${run.secondsToFirstCommit.toFixed(2)} s, ` +
    `${run.dataFiles} files of ${(run.dataFileBytes / 1e6).toFixed(0)} MB`
  );
}
