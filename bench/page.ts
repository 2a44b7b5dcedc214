import { fileURLToPath } from 'node:url';
import type { CommitsResult, Growth } from './commits.ts';
import type { DrainResult } from './drain.ts';
import type { Machine } from './machine.ts';
import type { RawResult } from './raw.ts';

/** The file that `npm run bench -- --write` writes. */
export const PAGE = fileURLToPath(new URL('./README.md', import.meta.url));

/** The page of the benchmarks: what one run of all of them measured, and where. */
export function benchPage(machine: Machine, raw: RawResult, commits: CommitsResult): string {
  return `# Benchmarks

Written by \`npm run bench -- --write\`; do not edit. \`npm run bench -- --help\` lists the options.

Measured on ${machine.date} on ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; Node.js ${machine.node},
zstd ${machine.zstd}, Sluice ${machine.sluice}, seed ${machine.seed}. The broker ran on the same cores; the load
average of the last 15 minutes was ${machine.loadAverage}, the benchmark's own load included. Where other work had the cores too,
seconds on the clock say little; the ratios, taken in one run, should hold.

## raw: draining a topic

\`npm run bench -- --limit\`. A topic of ${grouped(raw.records)} JSON ad events of ${raw.valueBytes} bytes in ${raw.partitions} partitions (codec
${raw.codec}) is drained by \`sluice run --available-now\` with ${raw.workers} workers and \`memory: ${raw.memory}\` in batches of
${raw.batchRecords === 0 ? 'all there is' : `${grouped(raw.batchRecords)} records`} into a bronze table by dt and hour, zstd level 1; measured is the whole process
from its start, all threads together. \`sluice verify\` proves every run. The medians by records per CPU second:

| | |
|---|---|
${drainRows(raw)}| peak resident memory of all runs | ${mib(raw.peakRssBytes)} |
${limitRows(raw)}
All runs: ${raw.runs.map((run) => `${grouped(Math.round(run.recordsPerCpuSecond))} records per CPU second, ${grouped(Math.round(run.recordsPerSecond))} a second`).join('; ')}.

The limit is what one thread reaches that does nothing but the CRC-32C of the records, zstd level 1 of pages of 1 MiB with
the context that Sluice's writer uses, and writing the pages to a file.

## commits: does a table grow slow?

\`npm run bench -- --scenario commits\`. Medians around the numbers; sqlite catalog and tables on the local file system.

${growthTable('One commit of one data file', commits.commits)}${commits.batches === undefined ? '' : `\n${growthTable('One whole batch of `sluice run`', commits.batches)}`}`;
}

export function drainRows(run: DrainResult): string {
  const rows: [string, string][] = [
    ['records a second', grouped(Math.round(run.recordsPerSecond))],
    ['MB of keys and values a second', run.megabytesPerSecond.toFixed(0)],
    ['CPU seconds', run.cpuSeconds.toFixed(2)],
    ['records per CPU second', grouped(Math.round(run.recordsPerCpuSecond))],
    ['from the start of the process to the first commit', `${run.secondsToFirstCommit.toFixed(2)} s`],
    ['batches, data files', `${run.batches}, ${run.dataFiles} (${(run.dataFileBytes / 1e6).toFixed(0)} MB)`],
  ];
  return rows.map(([name, value]) => `| ${name} | ${value} |\n`).join('');
}

function limitRows({ limit, ratioToLimit }: RawResult): string {
  if (limit === undefined || ratioToLimit === undefined) return '';
  return (
    `| records per CPU second of the limit | ${grouped(Math.round(limit.recordsPerCpuSecond))} |\n` +
    `| **ratio to the limit** | **${ratioToLimit.toFixed(2)}** |\n`
  );
}

function growthTable(title: string, growth: Growth): string {
  const head = growth.at.map(({ number }) => `number ${grouped(number)}`).join(' | ');
  const row = growth.at.map(({ medianMs }) => `${medianMs.toFixed(1)} ms`).join(' | ');
  return `| | ${head} | ratio |\n|---|${'---|'.repeat(growth.at.length + 1)}\n| ${title} | ${row} | **${growth.ratio.toFixed(2)}** |\n`;
}

export function grouped(n: number): string {
  return n.toLocaleString('en-US');
}

export function mib(bytes: number): string {
  return `${(bytes / 1048576).toFixed(0)} MiB`;
}
