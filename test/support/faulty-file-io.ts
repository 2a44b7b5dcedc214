import { SluiceError } from '../../src/errors.ts';
import type { DirectoryChild, FileEntry, FileIO, OutputFile } from '../../src/storage/file-io.ts';

/** `write` and `close` are those of output files. */
export type FileCallKind =
  | 'read'
  | 'stat'
  | 'create'
  | 'write'
  | 'close'
  | 'createNew'
  | 'replace'
  | 'list'
  | 'delete';

export interface FileCall {
  kind: FileCallKind;
  path: string;
}

export interface FileFault {
  /** Left out: calls of every kind count. */
  kind?: FileCallKind;
  /** Left out: calls on every path count. */
  path?: RegExp;
  /** Which of the counting calls fails, from 1. */
  nth: number;
  /** `before`: nothing was done. `after`: it was done, and the reply is lost. The caller cannot tell which. */
  when: 'before' | 'after';
  /** Every later call fails too, as for a process that is dead. */
  dead?: boolean;
  error?: () => Error;
}

/** Another FileIO whose calls fail as told. It keeps a list of all calls. */
export class FaultyFileIO implements FileIO {
  readonly calls: FileCall[] = [];
  /** Bytes that may still be written before the disk is full. */
  freeBytes: number;
  readonly #inner: FileIO;
  readonly #faults: { fault: FileFault; seen: number }[] = [];
  #dead = false;

  constructor(inner: FileIO, options: { faults?: FileFault[]; freeBytes?: number } = {}) {
    this.#inner = inner;
    this.freeBytes = options.freeBytes ?? Number.POSITIVE_INFINITY;
    for (const fault of options.faults ?? []) this.fail(fault);
  }

  /** Adds a fault; its calls are counted from now on. */
  fail(fault: FileFault): void {
    this.#faults.push({ fault, seen: 0 });
  }

  read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    return this.#call('read', path, () => this.#inner.read(path, range));
  }

  stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined> {
    return this.#call('stat', path, () => this.#inner.stat(path));
  }

  async create(path: string): Promise<OutputFile> {
    const open = () => this.#inner.create(path);
    const inner = await this.#call('create', path, open, (file) => file.abort());
    return {
      path,
      get position() {
        return inner.position;
      },
      write: (bytes) =>
        this.#call('write', path, () => {
          this.#take(path, bytes.length);
          return inner.write(bytes);
        }),
      close: () => this.#call('close', path, () => inner.close()),
      abort: () => inner.abort(),
    };
  }

  createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    return this.#call('createNew', path, () => {
      this.#take(path, bytes.length);
      return this.#inner.createNew(path, bytes);
    });
  }

  replace(path: string, bytes: Uint8Array): Promise<void> {
    return this.#call('replace', path, () => {
      this.#take(path, bytes.length);
      return this.#inner.replace(path, bytes);
    });
  }

  async *list(directory: string): AsyncIterable<FileEntry> {
    const entries = await this.#call('list', directory, async () => {
      const found: FileEntry[] = [];
      for await (const entry of this.#inner.list(directory)) found.push(entry);
      return found;
    });
    yield* entries;
  }

  children(directory: string): Promise<DirectoryChild[]> {
    return this.#call('list', directory, () => this.#inner.children(directory));
  }

  delete(path: string): Promise<void> {
    return this.#call('delete', path, () => this.#inner.delete(path));
  }

  /** `drop` lets go of a result that the caller will never see. */
  async #call<T>(
    kind: FileCallKind,
    path: string,
    run: () => Promise<T>,
    drop?: (result: T) => Promise<void>,
  ): Promise<T> {
    this.calls.push({ kind, path });
    if (this.#dead) throw lost(kind, path);
    const due = this.#due(kind, path);
    if (due?.when === 'before') throw this.#strike(due, kind, path);
    if (due === undefined) return run();
    // Whatever it came to, a refusal too, the caller does not learn of it.
    await run()
      .then(drop)
      .catch(() => undefined);
    throw this.#strike(due, kind, path);
  }

  #due(kind: FileCallKind, path: string): FileFault | undefined {
    let due: FileFault | undefined;
    for (const entry of this.#faults) {
      const { fault } = entry;
      if (fault.kind !== undefined && fault.kind !== kind) continue;
      if (fault.path !== undefined && !fault.path.test(path)) continue;
      if (++entry.seen === fault.nth) due ??= fault;
    }
    return due;
  }

  #strike(fault: FileFault, kind: FileCallKind, path: string): Error {
    if (fault.dead === true) this.#dead = true;
    return fault.error?.() ?? lost(kind, path);
  }

  #take(path: string, bytes: number): void {
    if (bytes > this.freeBytes) {
      throw new SluiceError('STORAGE_FULL', `could not write ${path}: no space is left (an injected fault)`, {
        outcome: 'not-applied',
        context: { path },
      });
    }
    this.freeBytes -= bytes;
  }
}

function lost(kind: FileCallKind, path: string): SluiceError {
  return new SluiceError('STORAGE_UNREACHABLE', `no reply to ${kind} ${path} (an injected fault)`, {
    outcome: 'unknown',
    context: { path },
  });
}
