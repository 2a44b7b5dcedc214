import type { Log } from './log.ts';

export interface Shutdown {
  /** Aborted by the first SIGTERM or SIGINT. */
  signal: AbortSignal;
  /** Lets go of the signals. */
  release(): void;
}

/**
 * The first SIGTERM or SIGINT asks for the end; a second one stops at once, and so does the time: whatever hangs, the
 * process is gone when `timeoutMs` has passed since the first signal. Nothing is half-committed either way.
 */
export function onShutdown(log: Log, timeoutMs: number, exit: (code: number) => void): Shutdown {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const asked = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      log.warn(`${signal} again: stopped at once; the next run goes on from the checkpoint`);
      exit(signal === 'SIGINT' ? 130 : 143);
      return;
    }
    log.info(
      `${signal}: the running batch is finished, or abandoned after ${timeoutMs} ms at most; again to stop at once`,
    );
    controller.abort();
    timer = setTimeout(() => {
      log.error(
        `the run did not end within shutdown.timeout (${timeoutMs} ms) and is left; the next run goes on from the checkpoint`,
      );
      exit(75);
    }, timeoutMs);
    timer.unref();
  };
  process.on('SIGTERM', asked);
  process.on('SIGINT', asked);
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      process.off('SIGTERM', asked);
      process.off('SIGINT', asked);
    },
  };
}
