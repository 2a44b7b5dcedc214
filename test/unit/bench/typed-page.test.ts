import { describe, expect, it } from 'vitest';
import type { DrainResult } from '../../../bench/drain.ts';
import { parseBenchOptions } from '../../../bench/options.ts';
import { parseRaceOptions } from '../../../bench/spark/options.ts';
import { withRace } from '../../../bench/spark/page.ts';
import { keepSections, type TypedPageResult, withTyped } from '../../../bench/typed/page.ts';
import { type CpuProfile, sharesOf } from '../../../bench/typed/profile.ts';
import { typedRule } from '../../../bench/typed/typed-rule.ts';

const RUN: DrainResult = {
  seconds: 2,
  cpuSeconds: 4,
  recordsPerSecond: 500,
  megabytesPerSecond: 1,
  recordsPerCpuSecond: 250,
  peakRssBytes: 200 * 1048576,
  secondsToFirstCommit: 1.5,
  batches: 1,
  dataFiles: 2,
  dataFileBytes: 1e6,
};
const reader = (recordsPerCpuSecond: number) => ({ cpuSeconds: 1, recordsPerCpuSecond, peakRssBytes: 1 });
const JSON_RESULT: TypedPageResult = {
  scenario: 'typed-json',
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
  records: 1000,
  partitions: 6,
  valueBytes: 250,
  codec: 'zstd',
  memory: '512MB',
  workers: 2,
  batchRecords: 0,
  ...RUN,
  runs: [RUN],
  small: { memory: '128MB', peakRssBytes: 150 * 1048576, recordsPerCpuSecond: 240 },
  readers: {
    duckdbVersion: 'v1',
    records: 1000,
    decoder: reader(1000),
    duckdb: { read: reader(500), parquet: reader(200), partitioned: reader(125) },
  },
  duckdbRatios: { decoder: 2, partitioned: 2, parquet: 1.25 },
  profile: [{ part: 'zstd of the pages', share: 0.25 }],
  loadAverage: 3.5,
};
const { readers: _, duckdbRatios: __, small: ___, ...AVRO } = JSON_RESULT;
const AVRO_RESULT: TypedPageResult = { ...AVRO, scenario: 'typed-avro' };

describe('the sections of the typed scenarios', () => {
  const raw = '# Benchmarks\n\n## raw: x\n\nfigures\n\n## commits: y\n\nfigures\n';
  const headings = (page: string) => page.match(/^#+ .*/gm);

  it('tell the figures, the readers, the memory and where the time goes', () => {
    const page = withTyped(raw, JSON_RESULT);
    expect(page).toContain('1,000 JSON documents of 12 fields and 250 bytes in 6 partitions');
    expect(page).toContain('load average of the 15 minutes before the end was 3.5');
    expect(page).toContain('| with `memory: 128MB`: peak, records per CPU second | 150 MiB, 240 |');
    expect(page).toContain('| the reader alone: every column read, nothing kept | 1,000 | 500 | **2.00** |');
    expect(page).toContain(
      '| the drain; DuckDB from plain text into one Parquet file (zstd) | 250 | 200 | **1.25** |',
    );
    expect(page).toContain('| zstd of the pages | 25.0 % |');
    expect(page).not.toMatch(/undefined|NaN/);
  });

  it('stand between the other benchmarks and the race, and are replaced by their next result', () => {
    const avroFirst = withTyped(withTyped(raw, AVRO_RESULT), JSON_RESULT);
    expect(headings(avroFirst)).toEqual([
      '# Benchmarks',
      '## raw: x',
      '## commits: y',
      '## typed-json: JSON into columns',
      '## typed-avro: Avro into columns',
    ]);
    expect(withTyped(avroFirst, JSON_RESULT)).toBe(avroFirst);
    const again = withTyped(avroFirst, { ...JSON_RESULT, codec: 'lz4' });
    expect(again).toContain('record batches in lz4');
    expect(again.match(/## typed-json/g)).toHaveLength(1);
    const avroSection = again.slice(again.indexOf('## typed-avro'));
    expect(avroSection).toContain("Avro records of 12 fields in the registry's frame");
    expect(avroSection).not.toContain('DuckDB');
  });

  it('and the race are kept when the other benchmarks are written anew, in whatever order they came', () => {
    const run = {
      ...RUN,
      steadySeconds: 1,
      recordsPerSecondSteady: 1,
      checksum: '1',
    };
    const ratios = {
      recordsPerSecond: 4,
      recordsPerSecondSteady: 4,
      recordsPerCpuSecond: 4,
      peakRss: 0.5,
      firstCommit: 0.5,
      dataFileBytes: 1,
    };
    const race = {
      ...{ scenario: 'typed-json' as const, vs: 'spark' as const, machine: JSON_RESULT.machine },
      versions: { pyspark: '4', icebergRuntime: 'runtime-1', kafkaSource: 'source-1', avro: 'avro-1' },
      ...{ records: 1000, valueBytes: 250, partitions: 6, codec: 'zstd', memory: '512MB', workers: 2 },
      ...{ loadAverage: 1, runs: [{ sluice: run, spark: run }], ratios },
    };
    const one = withRace(withTyped(raw, JSON_RESULT), race);
    const other = withTyped(withRace(raw, race), JSON_RESULT);
    expect(other).toBe(one);
    expect(one).toContain('JSON documents of 250 bytes in 6 partitions (codec zstd), 1 pair of runs');
    expect(one).not.toContain('avro-1');
    expect(withRace(one, { ...race, scenario: 'typed-avro' })).toContain('source-1, avro-1; seed 7');
    expect(withTyped(one, JSON_RESULT)).toBe(one);
    const anew = keepSections('# Benchmarks\n\n## raw: new\n', one);
    expect(headings(anew)).toEqual([
      '# Benchmarks',
      '## raw: new',
      '## typed-json: JSON into columns',
      '## The race: Sluice against Spark',
      '### Race: typed-json, 1,000 records',
    ]);
    expect(keepSections('# New\n', '# Old\n')).toBe('# New\n');
  });
});

describe('the profile of a run', () => {
  const profile = (functions: [string, string][], samples: number[], timeDeltas: number[]): CpuProfile => ({
    nodes: functions.map(([functionName, url], i) => ({ id: i + 1, callFrame: { functionName, url } })),
    samples,
    timeDeltas,
  });

  it('adds up own time by the place of the code over all threads, idle ones left out', () => {
    const shares = sharesOf([
      profile(
        [
          ['(idle)', ''],
          ['write', 'file:///x/src/kafka/codecs/zstd-stream.ts'],
          ['tryReused', 'file:///x/src/parquet/zstd-compressor.ts'],
          ['append', 'file:///x/src/parquet/page-buffer.ts'],
        ],
        [1, 2, 3, 4],
        [1000, 20, 30, 10],
      ),
      profile(
        [
          ['(garbage collector)', ''],
          ['main', 'file:///x/src/cli/main.ts'],
        ],
        [1, 2],
        [15, 25],
      ),
    ]);
    const of = (part: string) => shares.find((s) => s.part.startsWith(part))?.share;
    expect(of('zstd of the record batches')).toBe(0.2);
    expect(of('zstd of the pages')).toBe(0.3);
    expect(of('Parquet')).toBe(0.1);
    expect(of('garbage')).toBe(0.15);
    expect(of('start')).toBe(0.25);
    expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it('is refused where nothing was at work', () => {
    expect(() => sharesOf([profile([['(idle)', '']], [1], [5])])).toThrow('no sample');
  });
});

describe('the options of the typed scenarios', () => {
  const parse = (...args: string[]) => parseBenchOptions(['--bootstrap', 'localhost:1', ...args]);

  it('have zstd topics and DuckDB beside them, unless told otherwise', () => {
    expect(parse('--scenario', 'typed-json')).toMatchObject({ codec: 'zstd', duckdb: true, profile: false });
    expect(parse('--scenario', 'typed-avro', '--codec', 'lz4', '--profile', '--no-duckdb')).toMatchObject({
      ...{ codec: 'lz4', duckdb: false, profile: true },
    });
    expect(parse()).toMatchObject({ scenario: 'raw', codec: 'none' });
    expect(parse('--value-bytes', '220').valueBytes).toBe(220);
    expect(() => parse('--scenario', 'typed-json', '--value-bytes', '220')).toThrow('at least 235');
  });

  it('of the race give the same topic', () => {
    const race = (...args: string[]) =>
      parseRaceOptions(['--bootstrap', 'localhost:1', '--vs', 'spark', ...args]);
    for (const scenario of ['typed-json', 'typed-avro'])
      expect(race('--scenario', scenario)).toMatchObject({ codec: 'zstd', partitions: 6, valueBytes: 250 });
    expect(() => race('--scenario', 'typed-avro', '--value-bytes', '100')).toThrow('at least 235');
  });

  it('make a typed table of the format', () => {
    expect(typedRule('typed-avro')).toMatchObject({
      layout: 'typed',
      value: { format: 'avro' },
      partitionBy: ['days(ts)'],
    });
    expect(typedRule('typed-json')).toMatchObject({ value: { format: 'json' } });
  });
});
