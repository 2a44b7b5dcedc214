import { describe, expect, it } from 'vitest';
import { parseRaceOptions } from '../../../bench/spark/options.ts';
import { keepRace, withRace } from '../../../bench/spark/page.ts';
import { parseStat, treeOf } from '../../../bench/spark/process-tree.ts';
import type { RaceResult } from '../../../bench/spark/race.ts';
import {
  compareTables,
  medianOf,
  type RaceRun,
  ratiosOf,
  type TableContent,
  timesOf,
} from '../../../bench/spark/race-result.ts';

/** A run of 1000 records in `seconds`, of which `startUp` are over before the first batch. */
function runOf(seconds: number, startUp: number, peakRssBytes: number): RaceRun {
  const times = {
    startedAtMs: 5000,
    firstPlanMs: 5000 + startUp * 1000,
    firstCommitMs: 5000 + seconds * 1000,
    lastCommitMs: 5000 + seconds * 1000,
    batches: 1,
  };
  return {
    seconds,
    cpuSeconds: seconds * 2,
    peakRssBytes,
    ...timesOf(1000, { seconds, cpuSeconds: seconds * 2 }, times),
    dataFiles: 1,
    dataFileBytes: 100,
    checksum: '1',
  };
}

describe('the arithmetic of a race', () => {
  it('counts the start-up in one rate and leaves it out of the other', () => {
    const times = {
      startedAtMs: 10_000,
      firstPlanMs: 12_000,
      firstCommitMs: 13_500,
      lastCommitMs: 16_000,
      batches: 3,
    };
    expect(timesOf(8000, { seconds: 8, cpuSeconds: 5 }, times)).toEqual({
      steadySeconds: 4,
      secondsToFirstCommit: 3.5,
      recordsPerSecond: 1000,
      recordsPerSecondSteady: 2000,
      recordsPerCpuSecond: 1600,
      batches: 3,
    });
  });

  it('takes the median of the ratios of pairs, not the ratio of medians: a slow minute slows both of a pair', () => {
    const runs = [
      { sluice: runOf(2, 1, 100), spark: runOf(20, 10, 1000) },
      { sluice: runOf(4, 2, 200), spark: runOf(16, 12, 1000) },
      { sluice: runOf(1, 0.5, 300), spark: runOf(6, 3, 1000) },
    ];
    const ratios = ratiosOf(runs);
    expect(ratios.recordsPerSecond).toBeCloseTo(6, 10); // of 10, 4, 6
    expect(ratios.recordsPerSecondSteady).toBeCloseTo(6, 10); // of 10, 2, 6
    expect(ratios.recordsPerCpuSecond).toBeCloseTo(6, 10);
    expect(ratios.peakRss).toBeCloseTo(0.2, 10);
    expect(ratios.firstCommit).toBeCloseTo(1 / 6, 10);
    expect(ratios.dataFileBytes).toBe(1);
  });

  it('has the mean of the two in the middle as the median of an even count, and none of nothing', () => {
    expect(medianOf([9, 1, 3])).toBe(3);
    expect(medianOf([10, 1, 2, 4])).toBe(3);
    expect(() => medianOf([])).toThrow('no number');
  });
});

describe('the comparison of the tables', () => {
  const table: TableContent = {
    rows: 10,
    checksum: '123',
    columns: ['value string'],
    partitionedBy: ['identity(dt)'],
    dataFiles: 1,
    dataFileBytes: 5,
  };

  it('passes the same rows in other files', () => {
    expect(() => compareTables(10, table, { ...table, dataFiles: 6, dataFileBytes: 9 })).not.toThrow();
  });

  it.each([
    [{ rows: 9 }, "Spark's table: expected 10 rows, found 9"],
    [{ checksum: '124' }, 'The tables differ in the checksum of their rows: Sluice has 123, Spark 124'],
    [{ columns: ['value binary'] }, 'differ in columns'],
    [{ partitionedBy: [] }, 'differ in partitions'],
  ])('refuses %o', (difference, message) => {
    expect(() => compareTables(10, table, { ...table, ...difference })).toThrow(message);
  });
});

describe('a tree of processes', () => {
  it('reads a line of /proc, whatever the name of the process', () => {
    const line = '42 (a) b (c)) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1';
    expect(parseStat(42, line)).toEqual({ pid: 42, parent: 7, ticks: 200 });
    expect(parseStat(42, '')).toBeUndefined();
  });

  it('holds the root and its descendants only', () => {
    const row = (pid: number, parent: number) => ({ pid, parent, ticks: 0 });
    const rows = [row(9, 5), row(1, 0), row(4, 1), row(5, 4), row(6, 1), row(7, 6)];
    expect(treeOf(4, rows).map(({ pid }) => pid)).toEqual([4, 5, 9]);
    expect(treeOf(8, rows)).toEqual([]);
  });
});

describe('the page', () => {
  const result: RaceResult = {
    scenario: 'raw',
    vs: 'spark',
    machine: {
      date: '2026-11-01',
      processor: 'a processor',
      cores: 2,
      memoryGiB: 8,
      loadAverage: 2.5,
      node: '24.0.0',
      zstd: '1.5.7',
      sluice: '1.0.0',
      seed: 7,
    },
    versions: { pyspark: '4', icebergRuntime: 'runtime-1', kafkaSource: 'source-1', avro: 'avro-1' },
    records: 1000,
    valueBytes: 250,
    partitions: 6,
    codec: 'none',
    memory: '512MB',
    workers: 2,
    loadAverage: 2.5,
    runs: [{ sluice: runOf(2, 1, 100), spark: runOf(20, 10, 1000) }],
    ratios: ratiosOf([{ sluice: runOf(2, 1, 100), spark: runOf(20, 10, 1000) }]),
  };
  const other: RaceResult = { ...result, scenario: 'raw-1p', partitions: 1 };

  it('has a section for each scenario and number of records, replaced by its next result, and keeps the other benchmarks', () => {
    const first = withRace('# Benchmarks\n\n## raw\n\nfigures\n', other);
    const both = withRace(first, result);
    expect(both).toMatch(/^# Benchmarks\n\n## raw\n\nfigures\n\n## The race/);
    expect(both.indexOf('### Race: raw, 1,000 ')).toBeLessThan(both.indexOf('### Race: raw-1p, 1,000 '));
    expect(both).toContain('| records a second, start-up counted | 500 | 50 | **10.00** |');
    expect(both).toContain('| peak resident memory, MiB | 0 | 0 | **0.10** |');
    expect(both).not.toMatch(/undefined|NaN/);

    const again = withRace(both, { ...result, codec: 'gzip' });
    expect(again).toContain('in 6 partitions (codec gzip)');
    expect(again).not.toContain('in 6 partitions (codec none)');
    expect(again.match(/## The race/g)).toHaveLength(1);
    const more = withRace(withRace('', { ...result, records: 2000 }), result);
    expect(more.match(/### Race: .*/g)).toEqual([
      '### Race: raw, 1,000 records',
      '### Race: raw, 2,000 records',
    ]);
    expect(withRace(both, result)).toBe(both);
  });

  it('is kept when the other benchmarks are written anew', () => {
    const page = withRace('', result);
    expect(page).toMatch(/^# Benchmarks\n/);
    expect(keepRace('# New\n', page)).toMatch(/^# New\n\n## The race[\s\S]+### Race: raw, 1,000 records\n/);
    expect(keepRace('# New\n', '# Old\n')).toBe('# New\n');
  });
});

describe('the options of a race', () => {
  const parse = (...args: string[]) => parseRaceOptions(['--bootstrap', 'localhost:1', ...args]);

  it('take the topic from the scenario', () => {
    expect(parse('--vs', 'spark', '--scenario', 'raw-lz4')).toMatchObject({ codec: 'lz4', partitions: 6 });
    expect(parse('--vs=spark', '--scenario', 'raw-1k')).toMatchObject({ codec: 'none', valueBytes: 1000 });
    expect(parse('--vs=spark', '--scenario', 'raw-1p')).toMatchObject({ partitions: 1, valueBytes: 250 });
    expect(parse('--vs=spark', '--scenario', 'raw-1p', '--codec', 'zstd')).toMatchObject({ codec: 'zstd' });
  });

  it('say what is wrong with them', () => {
    expect(() => parse('--vs', 'flink')).toThrow('--vs flink: expected one of spark');
    expect(() => parse('--vs', 'spark', '--scenario', 'commits')).toThrow('expected one of raw, raw-lz4');
  });
});
