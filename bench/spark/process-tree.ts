import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { atExit } from '../../scripts/lib/process.mjs';

/** What a process and all that it started used, from its start to its end. */
export interface TreeUsage {
  /** Milliseconds since 1970 at which it was started. */
  startedAtMs: number;
  seconds: number;
  /** User and system time of all processes, as last seen: up to one look less than the truth. */
  cpuSeconds: number;
  /** The greatest sum of resident memory of all processes at one look, or the peak of one alone where that is more. */
  peakRssBytes: number;
  stdout: string;
}

export interface TreeOptions {
  env: NodeJS.ProcessEnv;
  cwd: string;
}

const LOOK_MS = 100;
/** Of /proc/PID/stat; Linux has had no other for user space in decades. */
const TICKS_PER_SECOND = 100;

/**
 * Runs a program and measures it with its descendants by /proc (Linux). Throws where it exits with anything but 0, with
 * the end of what it said.
 */
export async function measureTree(
  command: string,
  args: readonly string[],
  { env, cwd }: TreeOptions,
): Promise<TreeUsage> {
  const startedAtMs = Date.now();
  const from = performance.now();
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-20_000);
  });
  const forget = atExit(() => child.kill('SIGTERM'));
  const watch = new TreeWatch(child.pid);
  const timer = setInterval(() => watch.look(), LOOK_MS);
  let seconds = 0;
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => {
      seconds = (performance.now() - from) / 1000;
    });
    child.once('close', resolve);
  }).finally(() => {
    clearInterval(timer);
    forget();
  });
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stderr}`);
  return { startedAtMs, seconds, cpuSeconds: watch.cpuSeconds, peakRssBytes: watch.peakRssBytes, stdout };
}

/** What was seen of a tree of processes so far. */
export class TreeWatch {
  peakRssBytes = 0;
  private readonly root: number | undefined;
  private readonly ticks = new Map<number, number>();

  constructor(root: number | undefined) {
    this.root = root;
  }

  get cpuSeconds(): number {
    return [...this.ticks.values()].reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND;
  }

  look(): void {
    if (this.root === undefined) return;
    let sum = 0;
    for (const { pid, ticks } of treeOf(this.root, readProcesses())) {
      this.ticks.set(pid, ticks);
      const { rssBytes, peakBytes } = memoryOf(pid);
      sum += rssBytes;
      this.peakRssBytes = Math.max(this.peakRssBytes, peakBytes);
    }
    this.peakRssBytes = Math.max(this.peakRssBytes, sum);
  }
}

export interface ProcessRow {
  pid: number;
  parent: number;
  /** User and system time. */
  ticks: number;
}

/** The process `root` and its descendants among `rows`; empty where it is not there. */
export function treeOf(root: number, rows: readonly ProcessRow[]): ProcessRow[] {
  const tree = rows.filter((row) => row.pid === root);
  for (let i = 0; i < tree.length; i++) {
    for (const row of rows) if (row.parent === tree[i].pid && row.pid !== root) tree.push(row);
  }
  return tree;
}

function readProcesses(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => parseStat(Number(name), read(`/proc/${name}/stat`)))
    .filter((row) => row !== undefined);
}

/** A line of /proc/PID/stat: `pid (name) state ppid ...`; the name may hold anything. Undefined where it is none. */
export function parseStat(pid: number, line: string): ProcessRow | undefined {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (fields.length < 13) return undefined;
  return { pid, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

function memoryOf(pid: number): { rssBytes: number; peakBytes: number } {
  const status = read(`/proc/${pid}/status`);
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { rssBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') };
}

/** Empty where the process has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
