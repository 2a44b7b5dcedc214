/** A worker thread: takes one task after another, hands back data files, never rows. */
import { parentPort, workerData } from 'node:worker_threads';
import type { OAuthToken } from '../../core/oauth-token.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { resolveFileIO } from '../../storage/resolve-file-io.ts';
import { Failpoints } from '../failpoint.ts';
import { abandoned } from './abandoned.ts';
import type { BatchTask } from './batch-task.ts';
import { collectIdle } from './garbage.ts';
import { runBatchTask } from './run-batch-task.ts';
import {
  asSluiceError,
  type FromWorker,
  type ToWorker,
  toPlainResult,
  type WorkerSetup,
} from './worker-messages.ts';

/** Progress is told at most this often. */
const PROGRESS_INTERVAL_MS = 100;

const port = parentPort!;
const failpoints = new Failpoints((workerData as WorkerSetup).failpoints);
let running: AbortController | undefined;
let lastQuestion = 0;
/** What the coordinator was asked and has not answered yet. */
const questions = new Map<number, { resolve(answer: never): void; reject(error: SluiceError): void }>();

const send = (message: FromWorker, buffers: ArrayBuffer[] = []): void => port.postMessage(message, buffers);

port.on('message', (message: ToWorker) => {
  if (message.kind === 'abort') running?.abort(abandoned());
  else if (message.kind === 'run') void run(message.task);
  else {
    const question = questions.get(message.id);
    questions.delete(message.id);
    if (message.kind === 'token') question?.resolve(message.token as never);
    else if (message.kind === 'schema') question?.resolve(message.schema as never);
    else question?.reject(SluiceError.fromPlain(message.error));
  }
});

async function run(task: BatchTask): Promise<void> {
  running = new AbortController();
  let records = 0;
  let bytes = 0;
  let toldAt = 0;
  try {
    const result = await runBatchTask(task, {
      io: resolveFileIO(task.topics[0]?.quarantine.dataLocation ?? ''),
      signal: running.signal,
      failpoints,
      token: askForToken,
      schema: askForSchema,
      log: (line) => send({ kind: 'log', line }),
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
    const { plain, buffers } = toPlainResult(result);
    send({ kind: 'done', result: plain }, buffers);
  } catch (error) {
    send({ kind: 'failed', error: asSluiceError(error, 'a worker failed').toPlain() });
  } finally {
    running = undefined;
    setImmediate(() => running === undefined && collectIdle());
  }
}

function askForToken(refused?: string): Promise<OAuthToken> {
  return ask((id) => send({ kind: 'tokenWanted', id, refused }));
}

function askForSchema(schemaId: number): Promise<RegisteredSchema | null> {
  return ask((id) => send({ kind: 'schemaWanted', id, schemaId }));
}

/** Asks the coordinator, which alone knows secrets and what others were told before. */
function ask<T>(put: (id: number) => void): Promise<T> {
  const id = ++lastQuestion;
  return new Promise<T>((resolve, reject) => {
    questions.set(id, { resolve, reject });
    put(id);
  });
}

send({ kind: 'ready' });
