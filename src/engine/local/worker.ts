/** A worker thread: takes one task after another, hands back data files, never rows. */
import { parentPort, workerData } from 'node:worker_threads';
import type { OAuthToken } from '../../core/oauth-token.ts';
import { SluiceError } from '../../errors.ts';
import { resolveFileIO } from '../../storage/resolve-file-io.ts';
import { Failpoints } from '../failpoint.ts';
import { abandoned } from './abandoned.ts';
import type { BatchTask } from './batch-task.ts';
import { runBatchTask } from './run-batch-task.ts';
import { asSluiceError, type FromWorker, type ToWorker, type WorkerSetup } from './worker-messages.ts';

/** Progress is told at most this often. */
const PROGRESS_INTERVAL_MS = 100;

const port = parentPort!;
const failpoints = new Failpoints((workerData as WorkerSetup).failpoints);
let running: AbortController | undefined;
let lastTokenId = 0;
const awaitedTokens = new Map<
  number,
  { resolve(token: OAuthToken): void; reject(error: SluiceError): void }
>();

const send = (message: FromWorker): void => port.postMessage(message);

port.on('message', (message: ToWorker) => {
  if (message.kind === 'abort') running?.abort(abandoned());
  else if (message.kind === 'run') void run(message.task);
  else {
    const awaited = awaitedTokens.get(message.id);
    awaitedTokens.delete(message.id);
    if (message.kind === 'token') awaited?.resolve(message.token);
    else awaited?.reject(SluiceError.fromPlain(message.error));
  }
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
      token: askForToken,
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
    send({ kind: 'failed', error: asSluiceError(error, 'a worker failed').toPlain() });
  } finally {
    running = undefined;
  }
}

/** Asks the coordinator for a token. */
function askForToken(refused?: string): Promise<OAuthToken> {
  const id = ++lastTokenId;
  return new Promise((resolve, reject) => {
    awaitedTokens.set(id, { resolve, reject });
    send({ kind: 'tokenWanted', id, refused });
  });
}

send({ kind: 'ready' });
