/**
 * The last progress objects, beside the checkpoint: one JSON text a line, replaced as a whole, so that there is never
 * half a file. It is for people and dashboards; nothing depends on it, and nothing that happens to it stops a run.
 */
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { isSluiceError } from '../errors.ts';
import type { BatchProgress } from './progress.ts';

/** The part of a FileIO that is used here. */
export interface ProgressFiles {
  read(path: string): Promise<Uint8Array>;
  replace(path: string, bytes: Uint8Array): Promise<void>;
}

export interface ProgressLogOptions {
  files: ProgressFiles;
  /** The location of the checkpoint, without a slash at its end. */
  checkpointLocation: string;
  /** Objects that are kept. */
  keep: number;
  now: () => number;
  /** Told of what could not be written; the run goes on. */
  warn: (message: string, context?: object) => void;
  /** Writes come at most this often; what waits is written by the next `append` or by `flush`. */
  minIntervalMs?: number;
}

/** However many are kept, the file stays below this (a progress of thousands of partitions is long). */
const MAX_BYTES = 4 * 1024 * 1024;

export class ProgressLog {
  readonly #options: Required<ProgressLogOptions>;
  #lines: string[] = [];
  #bytes = 0;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #pending = false;

  private constructor(options: Required<ProgressLogOptions>) {
    this.#options = options;
  }

  /** Takes up what an earlier run left; a file that cannot be read is begun anew. */
  static async open(options: ProgressLogOptions): Promise<ProgressLog> {
    const log = new ProgressLog({ minIntervalMs: 1_000, ...options });
    try {
      for (const line of await readLines(options.files, options.checkpointLocation)) log.#add(line);
    } catch (e) {
      options.warn('the progress of earlier runs cannot be read and is begun anew', { cause: String(e) });
    }
    return log;
  }

  /** Adds the progress of a batch, the oldest fall out. Never throws. */
  async append(progress: BatchProgress): Promise<void> {
    this.#add(stringifyJson64(progress));
    this.#pending = true;
    if (this.#options.now() - this.#writtenAtMs >= this.#options.minIntervalMs) await this.flush();
  }

  /** Writes what waits. Never throws. */
  async flush(): Promise<void> {
    if (!this.#pending) return;
    this.#pending = false;
    this.#writtenAtMs = this.#options.now();
    const bytes = new TextEncoder().encode(this.#lines.join('\n') + '\n');
    try {
      await this.#options.files.replace(progressPath(this.#options.checkpointLocation), bytes);
    } catch (e) {
      this.#options.warn('the progress cannot be written; the batch itself is not concerned', {
        cause: String(e),
      });
    }
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length + 1;
    while (this.#lines.length > this.#options.keep || (this.#bytes > MAX_BYTES && this.#lines.length > 1)) {
      this.#bytes -= this.#lines.shift()!.length + 1;
    }
  }
}

/** The progress objects of a checkpoint, the oldest first; lines that are torn or strange are passed over. */
export async function readProgress(
  files: Pick<ProgressFiles, 'read'>,
  checkpointLocation: string,
): Promise<BatchProgress[]> {
  const lines = await readLines(files, checkpointLocation);
  return lines.map((line) => parseLine(line)!);
}

export function progressPath(checkpointLocation: string): string {
  return `${checkpointLocation.replace(/\/+$/, '')}/_sluice/progress.jsonl`;
}

async function readLines(files: Pick<ProgressFiles, 'read'>, checkpointLocation: string): Promise<string[]> {
  let bytes: Uint8Array;
  try {
    bytes = await files.read(progressPath(checkpointLocation));
  } catch (e) {
    if (isSluiceError(e, 'FILE_NOT_FOUND')) return [];
    throw e;
  }
  return new TextDecoder()
    .decode(bytes)
    .split('\n')
    .filter((line) => parseLine(line) !== undefined);
}

function parseLine(line: string): BatchProgress | undefined {
  if (line === '') return undefined;
  try {
    const value = parseJson64(line) as Partial<BatchProgress> | null;
    return typeof value === 'object' && typeof value?.batchId === 'number' && Array.isArray(value.sources)
      ? (value as BatchProgress)
      : undefined;
  } catch {
    return undefined;
  }
}
