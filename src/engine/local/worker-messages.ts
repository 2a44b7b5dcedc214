/** What the coordinator and its worker threads say to each other. Plain values only. */
import type { OAuthToken } from '../../core/oauth-token.ts';
import { PackedDataFiles, type PlainDataFiles } from '../../core/packed-data-files.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { messageOf, type PlainSluiceError, SluiceError } from '../../errors.ts';
import type { KafkaLogLine } from '../../kafka/cluster.ts';
import type { BatchTask, BatchTaskResult } from './batch-task.ts';

export interface WorkerSetup {
  failpoints: string;
}

export type ToWorker =
  | { kind: 'run'; task: BatchTask }
  | { kind: 'abort' }
  | { kind: 'token'; id: number; token: OAuthToken }
  | { kind: 'noToken'; id: number; error: PlainSluiceError }
  | { kind: 'schema'; id: number; schema: RegisteredSchema | null }
  | { kind: 'noSchema'; id: number; error: PlainSluiceError };

export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'progress'; records: number; bytes: number }
  /** Why nothing moves, for whoever watches. */
  | { kind: 'log'; line: KafkaLogLine }
  /** A connection logs in by a token; `refused` is one that a broker has just refused. */
  | { kind: 'tokenWanted'; id: number; refused: string | undefined }
  /** Records were written with this schema of the registry. */
  | { kind: 'schemaWanted'; id: number; schemaId: number }
  | { kind: 'done'; result: PlainTaskResult }
  | { kind: 'failed'; error: PlainSluiceError };

/** A result with its files as bytes, which are handed over and not copied. */
export interface PlainTaskResult extends Omit<BatchTaskResult, 'files'> {
  files: { table: string; files: PlainDataFiles }[];
}

/** The result as it crosses, and the buffers that go with it: the result given is of no use any more. */
export function toPlainResult(result: BatchTaskResult): { plain: PlainTaskResult; buffers: ArrayBuffer[] } {
  const files = result.files.map((written) => ({ table: written.table, files: written.files.toPlain() }));
  const buffers = files.flatMap((written) => written.files.blocks.map(({ buffer }) => buffer as ArrayBuffer));
  return { plain: { ...result, files }, buffers };
}

export function fromPlainResult(plain: PlainTaskResult): BatchTaskResult {
  const files = plain.files.map(({ table, files }) => ({ table, files: new PackedDataFiles(files) }));
  return { ...plain, files };
}

/** Anything that was thrown as an error that can cross. */
export function asSluiceError(error: unknown, what: string): SluiceError {
  if (error instanceof SluiceError) return error;
  const stack = error instanceof Error ? error.stack : undefined;
  return new SluiceError('INTERNAL', `${what}: ${messageOf(error)}`, { cause: error, context: { stack } });
}
