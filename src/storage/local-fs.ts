/**
 * The system calls that LocalFileIO makes, one method each, and nothing above them. It is a seam: the power-loss model
 * of the tests stands in for it and keeps apart what was written from what was fsynced. Errors are those of Node's
 * `fs`, with their `code`.
 */
import { constants, fsync, promises, write as writeCallback } from 'node:fs';

export interface LocalFileHandle {
  /** Appends all of `bytes`. */
  write(bytes: Uint8Array): Promise<void>;
  /** fsync(2). */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface LocalFileStat {
  kind: 'file' | 'directory' | 'other';
  sizeBytes: number;
  modifiedMs: number;
}

export interface LocalDirectoryEntry {
  name: string;
  kind: 'file' | 'directory' | 'link' | 'other';
}

export interface LocalFs {
  /** open(2) with O_CREAT | O_EXCL | O_WRONLY. */
  createFile(path: string): Promise<LocalFileHandle>;
  /** Bytes [start, end) as far as the file reaches. */
  readFile(path: string, start: number, end: number): Promise<Uint8Array>;
  /** stat(2), which follows symbolic links. */
  stat(path: string): Promise<LocalFileStat>;
  readDirectory(path: string): Promise<LocalDirectoryEntry[]>;
  /** mkdir(2): one level; EEXIST where it is there. */
  makeDirectory(path: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** fsync(2) on the directory itself: makes its entries durable. */
  syncDirectory(path: string): Promise<void>;
}

/** The real file system. */
export const nodeLocalFs: LocalFs = {
  async createFile(path) {
    // The callback functions on a bare descriptor take half the time of FileHandle.write.
    const handle = await promises.open(
      path,
      constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY,
      0o666,
    );
    return new DescriptorHandle(handle.fd, handle);
  },

  async readFile(path, start, end) {
    const handle = await promises.open(path, constants.O_RDONLY);
    try {
      const size = (await handle.stat()).size;
      const stop = Math.min(end, size);
      if (stop <= start) return new Uint8Array(0);
      const bytes = new Uint8Array(stop - start);
      let done = 0;
      while (done < bytes.length) {
        const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
        if (bytesRead === 0) return bytes.subarray(0, done);
        done += bytesRead;
      }
      return bytes;
    } finally {
      await handle.close();
    }
  },

  async stat(path) {
    const s = await promises.stat(path);
    const kind = s.isFile() ? 'file' : s.isDirectory() ? 'directory' : 'other';
    return { kind, sizeBytes: s.size, modifiedMs: Math.floor(s.mtimeMs) };
  },

  async readDirectory(path) {
    const entries = await promises.readdir(path, { withFileTypes: true });
    return entries.map((e) => ({
      name: e.name,
      kind: e.isFile() ? 'file' : e.isDirectory() ? 'directory' : e.isSymbolicLink() ? 'link' : 'other',
    }));
  },

  makeDirectory: (path) => promises.mkdir(path),
  link: (from, to) => promises.link(from, to),
  rename: (from, to) => promises.rename(from, to),
  unlink: (path) => promises.unlink(path),

  async syncDirectory(path) {
    const handle = await promises.open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

class DescriptorHandle implements LocalFileHandle {
  readonly #fd: number;
  /** Held so that the descriptor is not closed by the garbage collector. */
  readonly #owner: promises.FileHandle;

  constructor(fd: number, owner: promises.FileHandle) {
    this.#fd = fd;
    this.#owner = owner;
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      let done = 0;
      const step = () => {
        writeCallback(this.#fd, bytes, done, bytes.length - done, null, (error, written) => {
          if (error !== null) return reject(error);
          done += written;
          if (done >= bytes.length) return resolve();
          step();
        });
      };
      step();
    });
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) =>
      fsync(this.#fd, (error) => (error === null ? resolve() : reject(error))),
    );
  }

  close(): Promise<void> {
    return this.#owner.close();
  }
}
