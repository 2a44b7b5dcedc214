import { isSluiceError, SluiceError } from '../errors.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';
import { Malformed } from './malformed.ts';

/** A kind of file of the checkpoint: what it should hold, how it is repaired, how large it may be. */
export interface FileKind {
  holds: string;
  repair: string;
  maxBytes: number;
}

const MIB = 1024 * 1024;
const RESTORE = 'restore it from a copy';

export const FILE_KINDS = {
  metadata: {
    holds: 'the id of the query, {"id":"<uuid>"}',
    repair: 'restore it from a copy; never invent an id',
    maxBytes: MIB,
  },
  offsets: {
    holds: '"v1", a line of metadata and the offsets that end the batch',
    repair: RESTORE,
    maxBytes: 64 * MIB,
  },
  commits: { holds: '"v1" and {"nextBatchWatermarkMs":0}', repair: RESTORE, maxBytes: MIB },
  initialOffsets: {
    holds: 'a zero byte, "v1" and the offsets that the query began with',
    repair: RESTORE,
    maxBytes: 64 * MIB,
  },
  pipeline: {
    holds: "the pipeline's name",
    repair: 'restore it from a copy, or remove it: it is written anew',
    maxBytes: MIB,
  },
  plan: { holds: 'the plan of the batch', repair: RESTORE, maxBytes: 256 * MIB },
  prepared: {
    holds: 'the data files of the batch, from which it is finished without reading Kafka again',
    repair: RESTORE,
    maxBytes: 480 * MIB,
  },
  done: { holds: 'the snapshots and counts of the finished batch', repair: RESTORE, maxBytes: 256 * MIB },
  ledger: { holds: 'the permanent ledger of the offsets read', repair: RESTORE, maxBytes: 480 * MIB },
  lease: { holds: 'who runs the pipeline now', repair: 'remove it', maxBytes: MIB },
} as const satisfies Record<string, FileKind>;

/** The files under one checkpoint location, by their path relative to it. */
export class CheckpointFiles {
  readonly location: string;
  readonly #io: FileIO;

  constructor(io: FileIO, location: string) {
    this.#io = io;
    this.location = location;
  }

  path(name: string): string {
    return joinPath(this.location, name);
  }

  /** What `parse` makes of a file, or null where there is none. Throws CHECKPOINT_CORRUPT and CHECKPOINT_VERSION, naming it. */
  async read<T>(name: string, kind: FileKind, parse: (bytes: Uint8Array) => T): Promise<T | null> {
    const bytes = await this.readBytes(name, kind.maxBytes);
    if (bytes === null) return null;
    try {
      if (bytes.length > kind.maxBytes) throw new Malformed(`it is larger than ${kind.maxBytes} bytes`);
      return parse(bytes);
    } catch (error) {
      throw this.#fault(error, name, kind);
    }
  }

  /** The file's first `maxBytes + 1` bytes, or null where there is none. */
  async readBytes(name: string, maxBytes: number): Promise<Uint8Array | null> {
    try {
      return await this.#io.read(this.path(name), { start: 0, end: maxBytes + 1 });
    } catch (error) {
      if (isSluiceError(error, 'FILE_NOT_FOUND')) return null;
      throw error;
    }
  }

  missing(name: string, kind: FileKind, why: string): SluiceError {
    const path = this.path(name);
    return new SluiceError(
      'CHECKPOINT_CORRUPT',
      `${path} is missing: ${why}. It should hold ${kind.holds}; ${kind.repair}`,
      {
        context: { path, location: this.location },
      },
    );
  }

  createNew(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#io.createNew(this.path(name), bytes);
  }

  replace(name: string, bytes: Uint8Array): Promise<void> {
    return this.#io.replace(this.path(name), bytes);
  }

  delete(name: string): Promise<void> {
    return this.#io.delete(this.path(name));
  }

  async exists(name: string): Promise<boolean> {
    return (await this.#io.stat(this.path(name))) !== undefined;
  }

  /** The names of the files in a directory of the checkpoint, relative to that directory. */
  async list(directory: string): Promise<string[]> {
    const prefix = `${this.path(directory)}/`;
    const names: string[] = [];
    for await (const entry of this.#io.list(this.path(directory))) {
      if (entry.path.startsWith(prefix)) names.push(entry.path.slice(prefix.length));
    }
    return names;
  }

  #fault(error: unknown, name: string, kind: FileKind): unknown {
    if (!(error instanceof Malformed)) return error;
    const path = this.path(name);
    const context = { path, location: this.location };
    if (error.kind === 'version') {
      return new SluiceError(
        'CHECKPOINT_VERSION',
        `${path}: ${error.message}; use the engine that wrote it. Nothing was read`,
        { context, cause: error },
      );
    }
    return new SluiceError(
      'CHECKPOINT_CORRUPT',
      `${path}: ${error.message}. It should hold ${kind.holds}; ${kind.repair}`,
      {
        context,
        cause: error,
      },
    );
  }
}
