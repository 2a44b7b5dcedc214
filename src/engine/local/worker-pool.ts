import { Worker } from 'node:worker_threads';
import type { TokenFunction } from '../../core/oauth-token.ts';
import { SluiceError } from '../../errors.ts';
import type { KafkaLogLine } from '../../kafka/cluster.ts';
import type { FileIO } from '../../storage/file-io.ts';
import { Failpoints } from '../failpoint.ts';
import { isAbandoned } from './abandoned.ts';
import type { BatchTask, BatchTaskResult } from './batch-task.ts';
import type { SchemaLookup } from './row-decoders.ts';
import { runBatchTask } from './run-batch-task.ts';
import {
  asSluiceError,
  type FromWorker,
  fromPlainResult,
  type ToWorker,
  type WorkerSetup,
} from './worker-messages.ts';

/** V8 would take up to 128 MB a thread for new objects, beside the memory that a pipeline was given. */
const YOUNG_GENERATION_MB = 12;
/**
 * V8 lets what it holds grow to a multiple before it looks for what is not used any more, the more so the more it may hold in
 * all. What a pipeline holds is in buffers outside of it; objects take this at the most, or what `memory` says.
 */
const OLD_GENERATION_MB = 256;
const MIB = 1024 * 1024;

/** What workers ask the coordinator for, and what they tell it. */
export interface WorkerSources {
  /** What the workers' connections log in with, where they log in by a token. */
  token: TokenFunction;
  /** Schemas of the registry. */
  schema: SchemaLookup;
  /** What the readers tell of their connections. */
  log(line: KafkaLogLine): void;
}

export type TaskProgress = (records: number, bytes: number) => void;

/** What became of the tasks of a batch. */
export interface PoolOutcome {
  /** Of the tasks that ended well. */
  results: BatchTaskResult[];
  /** Why the batch cannot be used; undefined where every task ended well. */
  error: unknown;
}

/** Runs the tasks of a batch, at most one in each worker at a time. */
export interface WorkerPool {
  readonly size: number;
  /**
   * Tasks beyond `size` wait for a worker. Resolves when all have ended, also where some failed: what the others wrote is
   * then the caller's to delete; those that have not begun do not begin.
   */
  run(tasks: BatchTask[], signal: AbortSignal, onProgress: TaskProgress): Promise<PoolOutcome>;
  close(): Promise<void>;
}

/** Worker threads that live as long as the run. They are started at once, so that they load while the batch is planned. */
export class ThreadPool implements WorkerPool {
  readonly size: number;
  private readonly threads: Thread[];

  constructor(size: number, failpoints: string, sources: WorkerSources, memoryBytes: number) {
    this.size = size;
    const heapMb = Math.max(OLD_GENERATION_MB, Math.ceil(memoryBytes / MIB));
    this.threads = Array.from({ length: size }, () => new Thread(failpoints, sources, heapMb));
  }

  async run(tasks: BatchTask[], signal: AbortSignal, onProgress: TaskProgress): Promise<PoolOutcome> {
    signal.throwIfAborted();
    const abort = (): void => {
      for (const thread of this.threads) thread.abort();
    };
    signal.addEventListener('abort', abort, { once: true });
    const waiting = [...tasks];
    const settled: PromiseSettledResult<BatchTaskResult>[] = [];
    const work = async (thread: Thread): Promise<void> => {
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
        try {
          settled.push({ status: 'fulfilled', value: await thread.run(task, onProgress) });
        } catch (reason) {
          settled.push({ status: 'rejected', reason });
          // The others' work is of no use any more: they give up their files.
          waiting.length = 0;
          abort();
        }
      }
    };
    try {
      await Promise.all(this.threads.map(work));
      return outcomeOf(settled);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }
}

/** Runs the tasks in this thread, one after another, over a given FileIO: for tests that inject faults. */
export class InlinePool implements WorkerPool {
  readonly size: number;
  private readonly io: FileIO;
  private readonly failpoints: Failpoints;
  private readonly sources: WorkerSources;

  constructor(size: number, io: FileIO, failpoints: string, sources: WorkerSources) {
    this.size = size;
    this.io = io;
    this.failpoints = new Failpoints(failpoints);
    this.sources = sources;
  }

  async run(tasks: BatchTask[], signal: AbortSignal, onProgress: TaskProgress): Promise<PoolOutcome> {
    const results: BatchTaskResult[] = [];
    try {
      for (const task of tasks) {
        const { io, failpoints, sources } = this;
        results.push(await runBatchTask(task, { io, signal, failpoints, ...sources, onProgress }));
      }
    } catch (error) {
      return { results, error };
    }
    return { results, error: undefined };
  }

  async close(): Promise<void> {}
}

/** The first real error wins over the aborts that it caused. */
function outcomeOf(settled: PromiseSettledResult<BatchTaskResult>[]): PoolOutcome {
  const errors = settled.filter((s) => s.status === 'rejected').map((s) => s.reason as unknown);
  return {
    results: settled.filter((s) => s.status === 'fulfilled').map((s) => s.value),
    error: errors.find((e) => !isAbandoned(e)) ?? errors[0],
  };
}

class Thread {
  private readonly worker: Worker;
  private pending:
    | { resolve(result: BatchTaskResult): void; reject(error: unknown): void; onProgress: TaskProgress }
    | undefined;
  private failure: unknown;
  private readonly sources: WorkerSources;

  constructor(failpoints: string, sources: WorkerSources, heapMb: number) {
    this.sources = sources;
    const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
    const setup: WorkerSetup = { failpoints };
    this.worker = new Worker(new URL(file, import.meta.url), {
      workerData: setup,
      stderr: false,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB, maxOldGenerationSizeMb: heapMb },
    });
    this.worker.unref();
    this.worker.on('message', (message: FromWorker) => this.onMessage(message));
    this.worker.on('error', (error) =>
      this.fail(new SluiceError('WORKER_DIED', `a worker thread died: ${error.message}`, { cause: error })),
    );
    this.worker.on('exit', (code) =>
      this.fail(new SluiceError('WORKER_DIED', `a worker thread ended with code ${code}`)),
    );
  }

  run(task: BatchTask, onProgress: TaskProgress): Promise<BatchTaskResult> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.worker.ref();
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject, onProgress };
      this.post({ kind: 'run', task });
    });
  }

  abort(): void {
    if (this.pending !== undefined) this.post({ kind: 'abort' });
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private onMessage(message: FromWorker): void {
    if (message.kind === 'ready') return;
    if (message.kind === 'tokenWanted') {
      void this.giveToken(message.id, message.refused);
      return;
    }
    if (message.kind === 'schemaWanted') {
      void this.giveSchema(message.id, message.schemaId);
      return;
    }
    if (message.kind === 'log') {
      this.sources.log(message.line);
      return;
    }
    if (message.kind === 'progress') {
      this.pending?.onProgress(message.records, message.bytes);
      return;
    }
    const pending = this.pending;
    this.pending = undefined;
    this.worker.unref();
    if (message.kind === 'done') pending?.resolve(fromPlainResult(message.result));
    else pending?.reject(SluiceError.fromPlain(message.error));
  }

  /** Tokens are made in this thread only: the function that gives them cannot cross, and one token does for all. */
  private async giveToken(id: number, refused: string | undefined): Promise<void> {
    try {
      this.post({ kind: 'token', id, token: await this.sources.token(refused) });
    } catch (error) {
      this.post({ kind: 'noToken', id, error: asSluiceError(error, 'a token could not be made').toPlain() });
    }
  }

  private async giveSchema(id: number, schemaId: number): Promise<void> {
    try {
      this.post({ kind: 'schema', id, schema: await this.sources.schema(schemaId) });
    } catch (error) {
      this.post({
        kind: 'noSchema',
        id,
        error: asSluiceError(error, 'a schema could not be looked up').toPlain(),
      });
    }
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    const pending = this.pending;
    this.pending = undefined;
    pending?.reject(error);
  }
}
