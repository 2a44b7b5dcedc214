/**
 * Starting and stopping of other programs. What is started here is stopped again: on normal exit, on SIGINT and SIGTERM,
 * and, through a small guard process, even when this process is killed with SIGKILL.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A fault of the set-up that a person can mend: shown as one line, without a stack. */
export class SetupError extends Error {
  /** @param {string} message what is missing and what to do  @param {number} exitCode the process's exit code */
  constructor(message, exitCode = 69) {
    super(message);
    this.name = 'SetupError';
    this.exitCode = exitCode;
  }
}

/** The path of a program in PATH, or undefined. @param {string} name */
export function which(name, env = process.env) {
  for (const directory of (env.PATH ?? '').split(delimiter)) {
    if (directory === '') continue;
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // not there, or not ours to run: the next directory
    }
  }
  return undefined;
}

/**
 * Runs a program to its end. Never throws for an exit code; `code` is 127 where the program could not be started.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, inherit?: boolean, timeoutMs?: number }} options `inherit` shows the
 *   program's output on this process's stderr (stdout is data) instead of collecting it
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const stdio = options.inherit ? ['ignore', process.stderr, process.stderr] : ['ignore', 'pipe', 'pipe'];
    const child = spawn(command, args, { cwd: options.cwd, env: options.env ?? process.env, stdio });
    const forget = atExit(() => child.kill('SIGTERM'));
    const timer = options.timeoutMs ? setTimeout(() => child.kill('SIGKILL'), options.timeoutMs) : undefined;
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    const finish = (code) => {
      clearTimeout(timer);
      forget();
      resolve({ code, stdout, stderr });
    };
    child.on('error', (error) => {
      stderr += error.message;
      finish(127);
    });
    child.on('close', (code, signal) => finish(code ?? 128 + (SIGNALS[signal] ?? 9)));
  });
}

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/** @type {Set<() => unknown>} */
const cleanups = new Set();
let hooked = false;
let stopping = false;

/**
 * Registers what must be stopped when this process ends. The cleanups run, newest first and awaited, on SIGINT, SIGTERM and
 * SIGHUP, after which the process exits with 128 plus the signal; on a plain exit their synchronous part runs.
 * @param {() => unknown} cleanup
 * @returns {() => void} forgets the cleanup
 */
export function atExit(cleanup) {
  if (!hooked) {
    hooked = true;
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
      process.on(signal, () => stopAll(128 + SIGNALS[signal]));
    }
    process.on('exit', () => {
      for (const each of [...cleanups].reverse()) each();
    });
  }
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

/** Runs all cleanups, then ends the process. A second call while the first runs ends it at once. @param {number} exitCode */
async function stopAll(exitCode) {
  if (stopping) process.exit(exitCode);
  stopping = true;
  for (const cleanup of [...cleanups].reverse()) {
    cleanups.delete(cleanup);
    try {
      await cleanup();
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    }
  }
  process.exit(exitCode);
}

/** Does a process of this id run? One that has ended and waits to be collected does not. @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  try {
    // `pid (name) state ...`; the name may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    // No /proc here: the signal's word is all there is.
    return true;
  }
}

/**
 * A shell that waits on a pipe from this process. A line means "all is well, go"; the end of the pipe without a line means that
 * this process died without cleaning up, and the guard then runs its script.
 * @param {string} script POSIX shell  @param {string[]} args its "$1", "$2", ...
 * @returns {() => void} releases the guard
 */
export function guard(script, args) {
  const child = spawn('/bin/sh', ['-c', `read -r line && exit 0\n${script}`, 'guard', ...args], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.unref();
  /** @type {import('node:net').Socket} */ (child.stdin).unref();
  return () => child.stdin.end('done\n');
}

/** A guard that stops one process: SIGTERM, then SIGKILL after five seconds. @param {number} pid */
export function guardProcess(pid) {
  const script = [
    'kill -TERM "$1" 2>/dev/null',
    'n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done',
    'kill -KILL "$1" 2>/dev/null',
  ].join('\n');
  return guard(script, [String(pid)]);
}

/**
 * Ends a child: SIGTERM, SIGKILL when it has not ended after `graceMs`. Resolves when it is gone.
 * @param {import('node:child_process').ChildProcess} child
 */
export function stopChild(child, graceMs = 20_000) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    child.kill('SIGTERM');
  });
}

/**
 * Ends a process that is not our child, as `stopChild` does.
 * @param {number} pid
 */
export async function stopPid(pid, graceMs = 20_000) {
  if (!isAlive(pid)) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + graceMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) {
      process.kill(pid, 'SIGKILL');
      return;
    }
    await pause(50);
  }
}

/** For polling of another process, which has no event for us to wait for. @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs a script's main function: a SetupError becomes one line and its exit code. @param {() => Promise<number>} main */
export async function runMain(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = error.exitCode;
  }
}
