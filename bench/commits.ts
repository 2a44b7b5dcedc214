import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openCatalog } from '../src/catalog/open-catalog.ts';
import type { DataFile } from '../src/core/data-file.ts';
import { bronzeSchema } from '../src/engine/bronze-layout.ts';
import { commitBatch, type RecordedBatch } from '../src/iceberg/commit.ts';
import { buildPartitionSpec } from '../src/iceberg/partition.ts';
import { newSnapshotId } from '../src/iceberg/snapshot-id.ts';
import { LocalFileIO } from '../src/storage/local-file-io.ts';
import { pipelineOf } from './drain.ts';
import { runSluice } from './measured-process.ts';
import type { BenchOptions } from './options.ts';
import { deleteTopic, ensureTopic } from './topic.ts';

/** Milliseconds of the median commit or batch around some of their numbers. */
export interface Growth {
  count: number;
  at: { number: number; medianMs: number }[];
  /** The last of `at` by the first. */
  ratio: number;
}

export interface CommitsResult {
  /** `commitBatch` alone: one data file a commit into one table, sqlite catalog, local storage. */
  commits: Growth;
  /** Whole batches of `sluice run`: plan, read, write, commit, checkpoint, purge, progress. */
  batches?: Growth;
}

export async function benchCommits(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<CommitsResult> {
  const series = await timeCommits(options.commits, say);
  // A new table once more at the end, since what else the machine does may have changed.
  const commits = growthOf(series, await timeCommits(Math.min(options.commits, 20), say));
  say(`commits: ${describeGrowth(commits)}`);
  if (options.batches === 0) return { commits };
  const batches = growthOf(await timeBatches(options, say));
  say(`batches: ${describeGrowth(batches)}`);
  return { commits, batches };
}

export function describeGrowth(growth: Growth): string {
  const at = growth.at.map(({ number, medianMs }) => `number ${number}: ${medianMs.toFixed(1)} ms`);
  return `${at.join(', ')}; ratio ${growth.ratio.toFixed(2)}`;
}

/** Medians around the numbers 10, 100, 1000 ... and before the last. `again`: the beginning of a second series. */
export function growthOf(ms: readonly number[], again: readonly number[] = []): Growth {
  const numbers = [10, 100, 1000, 10_000].filter((n) => n < ms.length);
  if (numbers.length === 0 || numbers[numbers.length - 1] * 1.5 <= ms.length) numbers.push(ms.length);
  const at = numbers.map((number) => {
    const half = Math.max(5, Math.min(50, number >> 2));
    const windows = [ms, again].flatMap((list) => list.slice(Math.max(0, number - half), number + half));
    windows.sort((a, b) => a - b);
    return { number, medianMs: windows[(windows.length - 1) >> 1] };
  });
  return { count: ms.length, at, ratio: at[at.length - 1].medianMs / at[0].medianMs };
}

/** Milliseconds of each commit, by the code that the engine commits with, with its expiry of snapshots. */
async function timeCommits(count: number, say: (line: string) => void): Promise<number[]> {
  const home = mkdtempSync(join(tmpdir(), 'sluice-bench-commits-'));
  const io = new LocalFileIO();
  const sleep = (ms: number): Promise<void> => delay(ms);
  const services = { io, now: Date.now, randomUuid: randomUUID, sleep };
  const catalog = await openCatalog(
    { type: 'sqlite', name: 'bench', uri: join(home, 'catalog.db'), warehouse: home },
    services,
  );
  try {
    const schema = bronzeSchema({ valueType: 'string', keyType: 'binary', includeHeaders: false });
    const identifier = { namespace: ['bronze'], name: 'events' };
    const table = await catalog.createTable(identifier, {
      schema,
      partitionSpec: buildPartitionSpec(['dt', 'hour'], schema),
      formatVersion: 2,
      properties: CLEANING,
    });
    const context = {
      ...services,
      catalog,
      random: Math.random,
      deadlineMs: 60_000,
      maxAttempts: 5,
      log: () => undefined,
      expireSnapshots: { minSnapshotsToKeep: 100, maxAgeMs: 5 * 24 * 3_600_000 },
    };
    const ms: number[] = [];
    const done = new Map<number, RecordedBatch>();
    for (let batchId = 0; batchId < count; batchId++) {
      const commit = {
        identifier,
        ref: 'main',
        expectedUuid: table.metadata.tableUuid,
        pipelineId: 'bench',
        pipelineName: 'bench',
        batchId,
        commitId: randomUUID(),
        snapshotId: newSnapshotId(randomUUID()),
        writerId: 'bench',
        files: [dataFile(`${table.metadata.location}/data/${batchId}.parquet`, batchId)],
        offsets: JSON.stringify({ events: { 0: batchId * 1000 } }),
        recorded: async (id: number) => done.get(id) ?? null,
        lastRecorded: done.get(batchId - 1) ?? null,
      };
      const from = performance.now();
      const { snapshotId } = await commitBatch(context, commit);
      ms.push(performance.now() - from);
      done.set(batchId, { batchId, snapshotId, commitId: commit.commitId });
      if ((batchId + 1) % 1000 === 0) say(`${batchId + 1} of ${count} commits`);
    }
    return ms;
  } finally {
    await catalog.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** As the engine makes its tables. */
const CLEANING = {
  'write.metadata.delete-after-commit.enabled': 'true',
  'write.metadata.previous-versions-max': '100',
};

/** A file that nobody reads, with the metrics of a bronze table's eleven columns; a new hour after 60 of them. */
function dataFile(path: string, n: number): DataFile {
  const hour = Math.floor(n / 60);
  const ids = Array.from({ length: 9 }, (_, i) => i + 1);
  const counts = (value: bigint) => new Map(ids.map((id) => [id, value]));
  const bounds = () => new Map(ids.map((id) => [id, Uint8Array.of(0, 0, 0, 0, n >>> 16, n >>> 8, n, id)]));
  return {
    content: 0,
    filePath: path,
    fileFormat: 'PARQUET',
    partition: [new Date(Date.UTC(2026, 0, 1, hour)).toISOString().slice(0, 10), hour % 24],
    specId: 0,
    recordCount: 1000n,
    fileSizeInBytes: 70_000n,
    columnSizes: counts(7000n),
    valueCounts: counts(1000n),
    nullValueCounts: counts(0n),
    nanValueCounts: new Map(),
    lowerBounds: bounds(),
    upperBounds: bounds(),
    splitOffsets: [4n],
    sortOrderId: 0,
  };
}

const RECORDS_A_BATCH = 6;

/** Milliseconds from the end of one batch of a real run to the end of the next, by the times in its log. */
async function timeBatches(options: BenchOptions, say: (line: string) => void): Promise<number[]> {
  const request = {
    payload: 'raw' as const,
    records: options.batches * RECORDS_A_BATCH,
    partitions: 1,
    valueBytes: 250,
    codec: 'none' as const,
  };
  const source = await ensureTopic(options.bootstrap, request, say);
  const home = mkdtempSync(join(tmpdir(), 'sluice-bench-batches-'));
  try {
    const pipeline = join(home, 'sluice.json');
    const settings = { ...options, batchRecords: RECORDS_A_BATCH };
    writeFileSync(pipeline, JSON.stringify(pipelineOf(settings, source.topic, home)));
    const ends: number[] = [];
    const onLine = (line: string): void => {
      if (!line.startsWith('{')) return;
      const entry = JSON.parse(line) as { time: string; batchId?: number; ms?: number };
      if (entry.batchId !== undefined && entry.ms !== undefined) ends.push(Date.parse(entry.time));
    };
    const args = ['run', '-c', pipeline, '--available-now', '--log-format', 'json', '-o', 'json'];
    await runSluice(args, home, { onLine });
    if (ends.length !== options.batches)
      throw new Error(`expected ${options.batches} batches, the log tells of ${ends.length}`);
    return ends.slice(1).map((end, i) => end - ends[i]);
  } finally {
    rmSync(home, { recursive: true, force: true });
    if (!options.keepTopic) await deleteTopic(options.bootstrap, source.topic);
  }
}
