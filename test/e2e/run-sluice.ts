import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Resolves when stderr holds the text; rejects when the process ends before. */
  untilStderr(text: string): Promise<void>;
}

export interface SluiceOptions {
  cwd: string;
  env?: Record<string, string>;
}

/** Starts the command line as a person would. Only the variables given (and PATH) are set. */
export function startSluice(argv: readonly string[], options: SluiceOptions): Running {
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  let heard: () => void = () => undefined;
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (chunk: string) => {
      texts[name] += chunk;
      heard();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...texts }));
  });
  const untilStderr = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      heard = () => {
        if (texts.stderr.includes(text)) resolve();
      };
      heard();
      ended.then(
        (end) => reject(new Error(`ended with ${end.code} before it said ${text}:\n${end.stderr}`)),
        reject,
      );
    });
  return { child, ended, untilStderr };
}

export function sluice(argv: readonly string[], options: SluiceOptions): Promise<Ended> {
  return startSluice(argv, options).ended;
}
