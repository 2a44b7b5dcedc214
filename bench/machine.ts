import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { SEED } from './events.ts';

/** Where and with what a benchmark ran. */
export interface Machine {
  date: string;
  processor: string;
  cores: number;
  memoryGiB: number;
  /** Of the last 15 minutes, the benchmark's own load included. */
  loadAverage: number;
  node: string;
  zstd: string;
  sluice: string;
  seed: number;
}

export function machine(): Machine {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: Number(loadavg()[2].toFixed(1)),
    node: process.versions.node,
    zstd: process.versions['zstd'] ?? 'unknown',
    sluice: version,
    seed: SEED,
  };
}
