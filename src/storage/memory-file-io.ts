import { SluiceError } from '../errors.ts';
import type { DirectoryChild, FileEntry, FileIO, OutputFile } from './file-io.ts';

interface MemoryFile {
  bytes: Uint8Array;
  modifiedMs: number;
}

/** Files that live as long as this object: for tests and trials. Any text is a location, `memory://x/y` by habit. */
export class MemoryFileIO implements FileIO {
  readonly #files = new Map<string, MemoryFile>();
  readonly #now: () => number;

  constructor(options: { now?: () => number } = {}) {
    this.#now = options.now ?? Date.now;
  }

  async read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    const file = this.#files.get(path);
    if (file === undefined)
      throw new SluiceError('FILE_NOT_FOUND', `${path} does not exist`, { context: { path } });
    return file.bytes.slice(
      range?.start ?? 0,
      range === undefined ? undefined : Math.max(range.start, range.end),
    );
  }

  async stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined> {
    const file = this.#files.get(path);
    return file === undefined ? undefined : { sizeBytes: file.bytes.length, modifiedMs: file.modifiedMs };
  }

  async create(path: string): Promise<OutputFile> {
    this.#refuseDirectory(path);
    if (this.#files.has(path)) throw alreadyThere(path);
    return new MemoryOutputFile(path, (bytes) => {
      if (!this.#put(path, bytes, false)) throw alreadyThere(path);
    });
  }

  async createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    this.#refuseDirectory(path);
    return this.#put(path, new Uint8Array(bytes), false);
  }

  async replace(path: string, bytes: Uint8Array): Promise<void> {
    this.#refuseDirectory(path);
    this.#put(path, new Uint8Array(bytes), true);
  }

  async *list(directory: string): AsyncIterable<FileEntry> {
    const prefix = directory === '/' ? '/' : `${directory.replace(/(?<=[^/])\/+$/, '')}/`;
    for (const [path, file] of [...this.#files]) {
      if (path.startsWith(prefix)) yield { path, sizeBytes: file.bytes.length, modifiedMs: file.modifiedMs };
    }
  }

  async children(directory: string): Promise<DirectoryChild[]> {
    const kinds = new Map<string, DirectoryChild['kind']>();
    const start = directory.replace(/\/+$/, '').length + 1;
    for await (const { path } of this.list(directory)) {
      const slash = path.indexOf('/', start);
      if (slash === -1) kinds.set(path.slice(start), 'file');
      else kinds.set(path.slice(start, slash), 'directory');
    }
    return [...kinds].map(([name, kind]) => ({ name, kind }));
  }

  async delete(path: string): Promise<void> {
    this.#files.delete(path);
  }

  #put(path: string, bytes: Uint8Array, overwrite: boolean): boolean {
    if (!overwrite && this.#files.has(path)) return false;
    this.#files.set(path, { bytes, modifiedMs: this.#now() });
    return true;
  }

  #refuseDirectory(path: string): void {
    if (!/(?:^|\/)\.{0,2}$/.test(path)) return;
    throw new SluiceError('STORAGE_ERROR', `${path} names a directory, not a file`, {
      outcome: 'not-applied',
      context: { path },
    });
  }
}

class MemoryOutputFile implements OutputFile {
  readonly path: string;
  readonly #publish: (bytes: Uint8Array) => void;
  #pieces: Uint8Array[] | undefined = [];
  #position = 0;

  constructor(path: string, publish: (bytes: Uint8Array) => void) {
    this.path = path;
    this.#publish = publish;
  }

  get position(): number {
    return this.#position;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#pieces === undefined) throw this.#closed('write');
    this.#pieces.push(new Uint8Array(bytes));
    this.#position += bytes.length;
  }

  async close(): Promise<void> {
    if (this.#pieces === undefined) throw this.#closed('close');
    const bytes = new Uint8Array(this.#position);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    this.#pieces = undefined;
    this.#publish(bytes);
  }

  async abort(): Promise<void> {
    this.#pieces = undefined;
  }

  #closed(doing: string): SluiceError {
    return new SluiceError('STORAGE_ERROR', `could not ${doing} ${this.path}: the file was closed already`, {
      outcome: 'not-applied',
      context: { path: this.path },
    });
  }
}

function alreadyThere(path: string): SluiceError {
  return new SluiceError(
    'STORAGE_ERROR',
    `could not create ${path}: a file of that name exists; names of data files are fresh, so nothing was overwritten`,
    {
      outcome: 'not-applied',
      context: { path, errno: 'EEXIST' },
    },
  );
}
