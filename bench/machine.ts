import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { SEED } from './events.ts';

/** Where and with what a benchmark ran. */
export interface Machine {
  date: string;
  processor: string;
  cores: number;
  memoryGiB: number;
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
    node: process.versions.node,
    zstd: process.versions['zstd'] ?? 'unknown',
    sluice: version,
    seed: SEED,
  };
}
