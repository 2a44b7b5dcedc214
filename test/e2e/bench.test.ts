/** The benchmarks run and tell what they should, on few records; no figure is judged here. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { benchPage } from '../../bench/page.ts';
import { withTyped } from '../../bench/typed/page.ts';
import { useKafka } from '../support/kafka.ts';
import { withCluster } from '../support/kafka-topics.ts';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));
const kafka = useKafka();
const home = mkdtempSync(join(tmpdir(), 'sluice-e2e-bench-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The command behind `npm run bench -- ARGS`. */
async function bench(...args: string[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [RUN, '--bootstrap', kafka.bootstrap, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stderr };
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON is looked at as it comes
async function resultOf(...args: string[]): Promise<any> {
  const out = join(home, 'result.json');
  const { code, stderr } = await bench(...args, '--out', out);
  expect(code, stderr).toBe(0);
  return JSON.parse(readFileSync(out, 'utf8'));
}

const positive = expect.toSatisfy((n) => typeof n === 'number' && Number.isFinite(n) && n > 0);
const DRAIN = {
  seconds: positive,
  cpuSeconds: positive,
  recordsPerSecond: positive,
  megabytesPerSecond: positive,
  recordsPerCpuSecond: positive,
  peakRssBytes: positive,
  secondsToFirstCommit: positive,
  batches: positive,
  dataFiles: positive,
  dataFileBytes: positive,
};

describe('npm run bench', () => {
  it('drains a topic and writes rates, CPU, memory, first commit and the limit as JSON', async () => {
    const small = ['--records', '3001', '--partitions', '2', '--codec', 'lz4', '--runs', '2'];
    const raw = await resultOf(...small, '--batch-records', '1000', '--limit', '--memory', '128MB');
    expect(raw).toMatchObject({
      scenario: 'raw',
      records: 3001,
      partitions: 2,
      valueBytes: 250,
      codec: 'lz4',
      memory: '128MB',
      workers: 2,
      machine: { node: process.versions.node, cores: positive, seed: positive },
      ...DRAIN,
      runs: [DRAIN, DRAIN],
      limit: { records: 3001, cpuSeconds: positive, recordsPerCpuSecond: positive },
      ratioToLimit: positive,
    });
    expect(raw.batches).toBeGreaterThanOrEqual(3);
    expect(raw.ratioToLimit).toBeCloseTo(raw.recordsPerCpuSecond / raw.limit.recordsPerCpuSecond, 10);
    const { topics } = await withCluster(kafka.bootstrap, (c) => c.metadata(['bench-raw-3001x250-2p-lz4']));
    expect(topics).toEqual([]);

    const commits = await resultOf('--scenario', 'commits', '--commits', '40', '--batches', '15');
    const growth = (count: number) => ({
      count,
      at: [
        { number: 10, medianMs: positive },
        ...(count > 20 ? [{ number: count, medianMs: positive }] : []),
      ],
      ratio: positive,
    });
    expect(commits).toMatchObject({ scenario: 'commits', commits: growth(40), batches: growth(14) });

    const page = benchPage(raw.machine, raw, commits);
    expect(page).toContain('| **ratio to the limit** |');
    expect(page).toContain(`seed ${raw.machine.seed}`);
    expect(page).not.toMatch(/undefined|NaN/);
  });

  it('drains typed topics, beside DuckDB, and shows where the time goes', async () => {
    const small = ['--records', '3001', '--partitions', '2', '--runs', '1', '--profile'];
    const json = await resultOf('--scenario', 'typed-json', ...small);
    const reader = { cpuSeconds: positive, recordsPerCpuSecond: positive, peakRssBytes: positive };
    expect(json).toMatchObject({
      ...{ scenario: 'typed-json', records: 3001, partitions: 2, valueBytes: 250, codec: 'zstd', ...DRAIN },
      runs: [DRAIN],
      readers: {
        records: 3001,
        decoder: reader,
        duckdb: { read: reader, parquet: reader, partitioned: reader },
      },
      duckdbRatios: { decoder: positive, partitioned: positive, parquet: positive },
      profile: expect.arrayContaining([{ part: 'decoding values into columns', share: positive }]),
    });
    const avro = await resultOf('--scenario', 'typed-avro', ...small);
    expect(avro).toMatchObject({ scenario: 'typed-avro', records: 3001, ...DRAIN });
    expect(avro.readers).toBeUndefined();
    const page = withTyped(withTyped('', avro), json);
    expect(page).toContain('## typed-avro');
    expect(page).not.toMatch(/undefined|NaN/);
    const names = ['typed-json', 'typed-avro'].map((payload) => `bench-${payload}-3001x250-2p-zstd`);
    expect((await withCluster(kafka.bootstrap, (c) => c.metadata(names))).topics).toEqual([]);
  });

  it('says what is wrong with its options', async () => {
    const wrong = await bench('--codec', 'brotli');
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain('--codec brotli: expected one of none, gzip, snappy, lz4, zstd');
    const few = await bench('--runs', '0');
    expect(few.code).toBe(64);
    expect(few.stderr).toContain('--runs 0: expected a whole number of at least 1');
  });
});
