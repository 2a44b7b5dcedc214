import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROBE = fileURLToPath(new URL('./usage-probe.mjs', import.meta.url));
const SLUICE = fileURLToPath(new URL('../bin/sluice.js', import.meta.url));

export interface MeasuredProcess {
  /** Milliseconds since 1970 at which the process was started. */
  startedAtMs: number;
  seconds: number;
  /** User and system time of all its threads. */
  cpuSeconds: number;
  peakRssBytes: number;
  stdout: string;
}

export interface RunOptions {
  /** Of Node.js, before the script. */
  nodeArgs?: readonly string[];
  /** Called with each whole line of stderr. */
  onLine?(line: string): void;
}

/** Runs and measures `sluice ARGS`; see `runMeasured`. */
export function runSluice(
  args: readonly string[],
  scratch: string,
  options: RunOptions = {},
): Promise<MeasuredProcess> {
  return runMeasured([SLUICE, ...args], scratch, options);
}

/**
 * Runs a script of Node.js as a process of its own and measures it as a whole, its start included. Throws where it exits
 * with anything but 0, with what it said.
 *
 * @param script its file and its arguments
 * @param scratch a directory for the probe's file
 */
export async function runMeasured(
  script: readonly string[],
  scratch: string,
  { nodeArgs = [], onLine }: RunOptions = {},
): Promise<MeasuredProcess> {
  const usageFile = join(scratch, 'usage.json');
  const startedAtMs = Date.now();
  const from = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, '--import', PROBE, ...script], {
    env: { ...process.env, SLUICE_BENCH_USAGE: usageFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-20_000);
  });
  if (onLine !== undefined) createInterface({ input: child.stderr }).on('line', onLine);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const seconds = (performance.now() - from) / 1000;
  if (code !== 0) throw new Error(`${basename(script[0])} ${script[1]} ended with ${code}:\n${stderr}`);
  const usage = JSON.parse(readFileSync(usageFile, 'utf8')) as NodeJS.ResourceUsage;
  return {
    startedAtMs,
    seconds,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakRssBytes: usage.maxRSS * 1024,
    stdout,
  };
}
