import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type DrainResult, drain } from './drain.ts';
import type { LimitResult } from './limit.ts';
import type { BenchOptions } from './options.ts';
import { deleteTopic, ensureTopic } from './topic.ts';

export interface RawResult extends DrainResult {
  records: number;
  partitions: number;
  valueBytes: number;
  codec: string;
  memory: string;
  workers: number;
  batchRecords: number;
  /** Every drain, in the order they ran; the fields above are those of the median by records per CPU second. */
  runs: DrainResult[];
  /** The greatest of all runs. */
  peakRssBytes: number;
  limit?: LimitResult;
  /** Our records per CPU second, of all threads and the start of the process, by those of the limit. */
  ratioToLimit?: number;
}

const LIMIT_FILE = fileURLToPath(new URL('./limit.ts', import.meta.url));
/** Enough for steady figures without gigabytes in memory. */
const MAX_LIMIT_BYTES = 512 * 1024 * 1024;

/** Loads the topic where it is not there, drains it `runs` times into fresh tables, and says how fast that was. */
export async function benchRaw(options: BenchOptions, say: (line: string) => void): Promise<RawResult> {
  const source = await ensureTopic(options.bootstrap, { ...options, payload: 'raw' }, say);
  const runs: DrainResult[] = [];
  try {
    for (let i = 0; i < options.runs; i++) {
      const result = await drain(options, source);
      say(`run ${i + 1} of ${options.runs}: ${describeDrain(result)}`);
      runs.push(result);
    }
  } finally {
    if (!options.keepTopic) await deleteTopic(options.bootstrap, source.topic);
  }
  const { records, partitions, valueBytes, codec, memory, workers, batchRecords } = options;
  const result: RawResult = {
    records,
    partitions,
    valueBytes,
    codec,
    memory,
    workers,
    batchRecords,
    ...median(runs, (run) => run.recordsPerCpuSecond),
    peakRssBytes: Math.max(...runs.map((run) => run.peakRssBytes)),
    runs,
  };
  if (!options.limit) return result;
  const limit = await measureLimit(options);
  return { ...result, limit, ratioToLimit: result.recordsPerCpuSecond / limit.recordsPerCpuSecond };
}

export function describeDrain(run: DrainResult): string {
  return (
    `${Math.round(run.recordsPerSecond)} records/s, ${run.megabytesPerSecond.toFixed(0)} MB/s, ` +
    `${run.cpuSeconds.toFixed(2)} CPU s (${Math.round(run.recordsPerCpuSecond)} records per CPU s), ` +
    `peak ${(run.peakRssBytes / 1048576).toFixed(0)} MiB, first commit after ${run.secondsToFirstCommit.toFixed(2)} s`
  );
}

async function measureLimit(options: BenchOptions): Promise<LimitResult> {
  const records = Math.min(
    options.records,
    Math.max(1, Math.floor(MAX_LIMIT_BYTES / (options.valueBytes + 4))),
  );
  const { stdout } = await promisify(execFile)(process.execPath, [
    LIMIT_FILE,
    String(records),
    String(options.valueBytes),
  ]);
  return JSON.parse(stdout) as LimitResult;
}

/** The element in the middle of the list sorted by `of`; of two, the lower. */
export function median<T>(list: readonly T[], of: (element: T) => number): T {
  return [...list].sort((a, b) => of(a) - of(b))[(list.length - 1) >> 1];
}
