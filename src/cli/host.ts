import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineHost } from '../engine/host.ts';
import type { CliContext } from './context.ts';
import type { Log } from './log.ts';

/** What the engine takes from the process it runs in. */
export function processHost(
  context: CliContext,
  log: Log,
): Pick<
  EngineHost,
  'now' | 'random' | 'randomUuid' | 'hostname' | 'pid' | 'isProcessAlive' | 'log' | 'failpoints'
> {
  return {
    now: Date.now,
    random: Math.random,
    randomUuid: randomUUID,
    hostname: hostname(),
    pid: process.pid,
    isProcessAlive,
    log,
    failpoints: context.env.SLUICE_FAILPOINTS ?? '',
  };
}

/** Signal 0 asks whether a process is there; one that is not ours to signal is there too. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
