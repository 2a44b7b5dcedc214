import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { SparkRuntime } from '../../scripts/lib/spark.mjs';
import { pipelineOf } from '../drain.ts';
import { payloadOf } from '../options.ts';
import { AVRO_SCHEMA, TYPED_DDL } from '../typed/typed-events.ts';
import type { RaceOptions } from './options.ts';
import { measureTree, type TreeUsage } from './process-tree.ts';
import type { CheckpointTimes } from './race-result.ts';

const SLUICE = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));
const SPARK_DRAIN = fileURLToPath(new URL('./spark-drain.py', import.meta.url));

/** One who drains a topic into the table `bronze.events` of a fresh directory; its checkpoint is `checkpoint` in there. */
export interface Racer {
  name: 'sluice' | 'spark';
  drain(topic: string, home: string): Promise<TreeUsage>;
  /** The path of the table's current metadata, by the catalog's word. */
  currentMetadata(home: string): string;
}

/** `sluice run --available-now`, sqlite catalog. */
export function sluiceRacer(options: RaceOptions, registryUrl?: string): Racer {
  return {
    name: 'sluice',
    drain(topic, home) {
      const pipeline = join(home, 'sluice.json');
      writeFileSync(
        pipeline,
        JSON.stringify(pipelineOf({ ...options, registryUrl, batchRecords: 0 }, topic, home)),
      );
      const args = [SLUICE, 'run', '-c', pipeline, '--available-now', '-o', 'json', '--log-level', 'warn'];
      return measureTree(process.execPath, args, { env: process.env, cwd: home });
    },
    currentMetadata(home) {
      const database = new DatabaseSync(join(home, 'warehouse', 'catalog.db'), { readOnly: true });
      try {
        const rows = database
          .prepare(
            "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = 'bronze' AND table_name = 'events'",
          )
          .all();
        return String(rows[0]?.metadata_location);
      } finally {
        database.close();
      }
    },
  };
}

/** Spark Structured Streaming into Iceberg, by `spark-drain.py`; hadoop catalog. */
export function sparkRacer(options: RaceOptions, runtime: SparkRuntime): Racer {
  const { SPARK_HOME, SPARK_CONF_DIR, JAVA_HOME, PYSPARK_SUBMIT_ARGS, ...rest } = process.env;
  const env = {
    ...rest,
    PATH: `${runtime.bin}${delimiter}${rest.PATH ?? ''}`,
    PYSPARK_PYTHON: runtime.python,
  };
  const format = payloadOf(options.scenario);
  const typed = format === 'raw' ? null : { format, columns: TYPED_DDL, avroSchema: AVRO_SCHEMA };
  return {
    name: 'spark',
    drain(topic, home) {
      const job = { bootstrap: options.bootstrap, topic, jars: runtime.jars, home, typed };
      return measureTree(runtime.python, [SPARK_DRAIN, JSON.stringify(job)], { env, cwd: home });
    },
    currentMetadata(home) {
      const metadata = join(home, 'warehouse', 'bronze', 'events', 'metadata');
      const version = readFileSync(join(metadata, 'version-hint.text'), 'utf8').trim();
      return join(metadata, `v${version}.metadata.json`);
    },
  };
}

/**
 * When the files of a checkpoint got their names. The layout is Spark's, which Sluice's is too: `offsets/N` is durable
 * before the first record of batch N is read, `commits/N` after its table commit.
 */
export function checkpointTimes(home: string, startedAtMs: number): CheckpointTimes {
  const at = (...path: string[]): number => statSync(join(home, 'checkpoint', ...path)).ctimeMs;
  const batches = readdirSync(join(home, 'checkpoint', 'commits')).filter((name) => /^\d+$/.test(name));
  const last = Math.max(...batches.map(Number));
  return {
    startedAtMs,
    firstPlanMs: at('offsets', '0'),
    firstCommitMs: at('commits', '0'),
    lastCommitMs: at('commits', String(last)),
    batches: batches.length,
  };
}
