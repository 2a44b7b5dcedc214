import { isSluiceError, SluiceError } from '../../errors.ts';

/** The reason with which a task is given up: because the run is to end, or because another task of the batch failed. */
export function abandoned(): SluiceError {
  return new SluiceError(
    'SHUTDOWN_TIMEOUT',
    'the batch was abandoned while it was read; nothing of it was committed, the next run reads it again',
    {
      outcome: 'not-applied',
      context: { aborted: true },
    },
  );
}

export function isAbandoned(error: unknown): boolean {
  return isSluiceError(error) && error.context['aborted'] === true;
}
