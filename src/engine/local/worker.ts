/** A worker thread: takes one task after another, hands back data files, never rows. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, type PlainSluiceError, SluiceError } from '../../errors.ts';
import { resolveFileIO } from '../../storage/resolve-file-io.ts';
import { Failpoints } from '../failpoint.ts';
import { abandoned } from './abandoned.ts';
import type { BatchTask, BatchTaskResult } from './batch-task.ts';
import { runBatchTask } from './run-batch-task.ts';

export interface WorkerSetup {
  failpoints: string;
}

export type ToWorker = { kind: 'run'; task: BatchTask } | { kind: 'abort' };

export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'progress'; records: number; bytes: number }
  | { kind: 'done'; result: BatchTaskResult }
  | { kind: 'failed'; error: PlainSluiceError };

/** Progress is told at most this often. */
const PROGRESS_INTERVAL_MS = 100;

const port = parentPort!;
const failpoints = new Failpoints((workerData as WorkerSetup).failpoints);
let running: AbortController | undefined;

const send = (message: FromWorker): void => port.postMessage(message);

port.on('message', (message: ToWorker) => {
  if (message.kind === 'abort') running?.abort(abandoned());
  else void run(message.task);
});

async function run(task: BatchTask): Promise<void> {
  running = new AbortController();
  let records = 0;
  let bytes = 0;
  let toldAt = 0;
  try {
    const result = await runBatchTask(task, {
      io: resolveFileIO(task.topics[0]?.data.dataLocation ?? ''),
      signal: running.signal,
      failpoints,
      onProgress: (moreRecords, moreBytes) => {
        records += moreRecords;
        bytes += moreBytes;
        const now = performance.now();
        if (now - toldAt < PROGRESS_INTERVAL_MS) return;
        toldAt = now;
        send({ kind: 'progress', records, bytes });
        records = 0;
        bytes = 0;
      },
    });
    send({ kind: 'progress', records, bytes });
    send({ kind: 'done', result });
  } catch (error) {
    send({ kind: 'failed', error: asSluiceError(error).toPlain() });
  } finally {
    running = undefined;
  }
}

function asSluiceError(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const stack = error instanceof Error ? error.stack : undefined;
  return new SluiceError('INTERNAL', `a worker failed: ${messageOf(error)}`, {
    cause: error,
    context: { stack },
  });
}

send({ kind: 'ready' });
