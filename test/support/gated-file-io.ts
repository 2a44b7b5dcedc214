import type { DirectoryChild, FileEntry, FileIO, OutputFile } from '../../src/storage/file-io.ts';
import type { FileCallKind } from './faulty-file-io.ts';

/** Where one call is held back: before it is done, until the gate is opened. */
export interface Gate {
  /** Resolves when the call has come. */
  reached: Promise<void>;
  open(): void;
}

/**
 * Another FileIO in which a call can be held back for as long as a test likes: a process that stands still, so that its
 * other calls wait too; those that have begun are done before the gate is said to be reached.
 */
export class GatedFileIO implements FileIO {
  readonly #inner: FileIO;
  /** While a call is held back. */
  #standing: Promise<void> | undefined;
  #running = new Set<Promise<unknown>>();
  #gate: { kind: FileCallKind; path: RegExp; come: () => void; opened: Promise<void> } | undefined;

  constructor(inner: FileIO) {
    this.#inner = inner;
  }

  /** The next call of that kind on a path that matches. */
  gate(kind: FileCallKind, path: RegExp): Gate {
    const reached = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    this.#gate = { kind, path, come: reached.resolve, opened: opened.promise };
    return { reached: reached.promise, open: opened.resolve };
  }

  async read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    await this.#pass('read', path);
    return this.#run(this.#inner.read(path, range));
  }

  async stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined> {
    await this.#pass('stat', path);
    return this.#run(this.#inner.stat(path));
  }

  async create(path: string): Promise<OutputFile> {
    await this.#pass('create', path);
    return this.#run(this.#inner.create(path));
  }

  async createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    await this.#pass('createNew', path);
    return this.#run(this.#inner.createNew(path, bytes));
  }

  async replace(path: string, bytes: Uint8Array): Promise<void> {
    await this.#pass('replace', path);
    return this.#run(this.#inner.replace(path, bytes));
  }

  async *list(directory: string): AsyncIterable<FileEntry> {
    await this.#pass('list', directory);
    yield* this.#inner.list(directory);
  }

  async children(directory: string): Promise<DirectoryChild[]> {
    await this.#pass('list', directory);
    return this.#run(this.#inner.children(directory));
  }

  async delete(path: string): Promise<void> {
    await this.#pass('delete', path);
    return this.#run(this.#inner.delete(path));
  }

  #run<T>(call: Promise<T>): Promise<T> {
    this.#running.add(call);
    const ended = (): void => void this.#running.delete(call);
    call.then(ended, ended);
    return call;
  }

  async #pass(kind: FileCallKind, path: string): Promise<void> {
    while (this.#standing !== undefined) await this.#standing;
    const gate = this.#gate;
    if (gate === undefined || gate.kind !== kind || !gate.path.test(path)) return;
    this.#gate = undefined;
    this.#standing = gate.opened;
    await Promise.allSettled(this.#running);
    gate.come();
    await gate.opened;
    this.#standing = undefined;
  }
}
