import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** Waits until a process stands still (SIGSTOP). Throws where it has ended. */
export async function standsStill(pid: number): Promise<void> {
  for (;;) {
    const state = execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
    if (state.trim().startsWith('T')) return;
    await delay(20);
  }
}
