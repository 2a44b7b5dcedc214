/**
 * Named points at which a run can be killed, so that "a crash at any point" is a thing that tests and people can try.
 * A specification is a comma list of `name[@n]=action`: at the n-th passing (1 by default) of the point. Actions: `kill`
 * (SIGKILL to the own process: nothing is cleaned up), `stop` (SIGSTOP: it stands still until SIGCONT), `throw` (an
 * INTERNAL error).
 */
import { SluiceError } from '../errors.ts';

export const FAILPOINTS = [
  'after-initial-offsets',
  'before-plan',
  'after-plan',
  'after-offsets',
  'read',
  'write',
  'after-write',
  'before-evolve',
  'after-evolve',
  'before-prepared',
  'after-prepared',
  'before-catalog-commit',
  'after-catalog-commit',
  'between-tables',
  'before-done',
  'after-done',
  'after-commit',
  'before-purge',
  'after-purge',
] as const;

/** Points of a requeue; it passes those at the catalog too, twice: for the table, and for the record of what was requeued. */
export const REQUEUE_FAILPOINTS = [
  'requeue-write',
  'requeue-after-write',
  'requeue-after-intent',
  'requeue-after-data',
  'requeue-after-record',
  'requeue-after-end',
] as const;

const NAMES: readonly string[] = [...FAILPOINTS, ...REQUEUE_FAILPOINTS];

export type FailpointName = (typeof FAILPOINTS)[number] | (typeof REQUEUE_FAILPOINTS)[number];

type Action = 'kill' | 'stop' | 'throw';

interface Armed {
  name: string;
  at: number;
  action: Action;
  seen: number;
}

export class Failpoints {
  private readonly armed: Armed[];
  private readonly signal: (signal: 'SIGKILL' | 'SIGSTOP') => void;

  /** Throws USAGE for a name or an action that does not exist. */
  constructor(
    specification: string,
    signal: (signal: 'SIGKILL' | 'SIGSTOP') => void = (name) => void process.kill(process.pid, name),
  ) {
    this.signal = signal;
    this.armed = specification
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => {
        const match = /^\s*([a-z-]+)(?:@(\d+))?=(kill|stop|throw)\s*$/.exec(part);
        if (match === null || !NAMES.includes(match[1])) {
          throw new SluiceError(
            'USAGE',
            `failpoint "${part.trim()}": expected NAME[@N]=kill|stop|throw with NAME one of ${NAMES.join(', ')}`,
          );
        }
        return { name: match[1], at: Number(match[2] ?? 1), action: match[3] as Action, seen: 0 };
      });
  }

  /** Called where the point lies. Free when nothing is armed. */
  hit(name: FailpointName): void {
    if (this.armed.length === 0) return;
    for (const point of this.armed) {
      if (point.name !== name || ++point.seen !== point.at) continue;
      if (point.action === 'throw') throw new SluiceError('INTERNAL', `failpoint ${name} reached`);
      this.signal(point.action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    }
  }
}
