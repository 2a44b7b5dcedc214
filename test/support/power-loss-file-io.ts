import type { DirectoryChild, FileEntry, FileIO, OutputFile } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { PowerLossFs, type Survives } from './power-loss-fs.ts';

/**
 * Files on a disk in memory that `crash` cuts from its power: what was not fsynced is gone. Paths are absolute. The real
 * LocalFileIO works on it, so that its own fsyncs are what is tried.
 */
export class PowerLossFileIO implements FileIO {
  readonly fs = new PowerLossFs();
  #io = new LocalFileIO({ fs: this.fs });

  /** The power goes and comes back: open files are dead, and a new process would find what was durable. */
  crash(survives?: Survives): void {
    this.fs.crash(survives);
    this.#io = new LocalFileIO({ fs: this.fs });
  }

  read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    return this.#io.read(path, range);
  }
  stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined> {
    return this.#io.stat(path);
  }
  create(path: string): Promise<OutputFile> {
    return this.#io.create(path);
  }
  createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    return this.#io.createNew(path, bytes);
  }
  replace(path: string, bytes: Uint8Array): Promise<void> {
    return this.#io.replace(path, bytes);
  }
  list(directory: string): AsyncIterable<FileEntry> {
    return this.#io.list(directory);
  }
  children(directory: string): Promise<DirectoryChild[]> {
    return this.#io.children(directory);
  }
  delete(path: string): Promise<void> {
    return this.#io.delete(path);
  }
}
