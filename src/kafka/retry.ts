import { setTimeout as delay } from 'node:timers/promises';
import { SluiceError } from '../errors.ts';
import { deadlineError } from './errors.ts';

/** Waits grow from here... */
const FIRST_WAIT_MS = 50;
/** ...to here. */
const LONGEST_WAIT_MS = 3000;

export interface RetryOptions {
  /** No new try begins after this long, counted from the first. */
  readonly deadlineMs: number;
  /** What a person can change it by; `kafka.request.deadline` where it is left out. */
  readonly deadlineName?: string;
  readonly random: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
  /** Told of each failed try that will be repeated. */
  readonly onRetry?: (error: SluiceError, tries: number, waitMs: number) => void;
}

/** Exponential back-off with jitter: half of the step is sure, half is random, so that clients do not march in step. */
export function backoffMs(failures: number, random: () => number): number {
  const step = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures, 16), LONGEST_WAIT_MS);
  return step / 2 + (step / 2) * random();
}

/** A wait that an abort ends at once with the signal's reason. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (e) {
    throw signal?.aborted ? signal.reason : e;
  }
}

/**
 * Runs `attempt` until it succeeds, fails with an error that is not retryable, or the deadline has passed; then throws
 * BROKER_UNREACHABLE or BROKER_ERROR that says what was being done, for how long, and the last error.
 * `doing` completes the sentence "gave up ...": `asking for the metadata of topic orders`.
 */
export async function retrying<T>(
  doing: string,
  options: RetryOptions,
  attempt: () => Promise<T>,
): Promise<T> {
  const { deadlineMs, random, now, signal } = options;
  const start = now();
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (e) {
      signal?.throwIfAborted();
      if (!(e instanceof SluiceError) || !e.retryable) throw e;
      const waitMs = backoffMs(tries - 1, random);
      const elapsed = now() - start;
      if (elapsed + waitMs > deadlineMs) throw deadlineError(doing, elapsed, tries, e, options.deadlineName);
      options.onRetry?.(e, tries, waitMs);
      await sleep(waitMs, signal);
    }
  }
}
