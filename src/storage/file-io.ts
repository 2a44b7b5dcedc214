/**
 * Where bytes are kept. Paths are full locations: `file:///a/b`, `/a/b`, `s3://bucket/key`, `memory://x`. The text of
 * a location is never rewritten: manifests hold it as it was given.
 *
 * Every implementation passes the suite in `test/contract/file-io.test.ts`. Errors: FILE_NOT_FOUND, STORAGE_FULL,
 * STORAGE_ERROR, STORAGE_UNREACHABLE.
 */
export interface FileIO {
  /** Bytes [start, end) of a file, cut at its end; the whole file when left out. Throws FILE_NOT_FOUND. */
  read(path: string, range?: { start: number; end: number }): Promise<Uint8Array>;
  /** Size in bytes and time of the last change in ms since 1970, or undefined where there is no such file. */
  stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined>;
  /**
   * A new file that is written front to back. It appears under its name, whole and durable (file and directory
   * fsynced), when `close` resolves; an `abort` or a crash leaves nothing under that name that anyone refers to.
   * An existing file of that name is an error (STORAGE_ERROR): names of data files are fresh.
   */
  create(path: string): Promise<OutputFile>;
  /**
   * Creation without overwrite, durable when it resolves: true, or false where a file of that name was there already
   * (which is left as it is). Of several callers at once exactly one gets true.
   */
  createNew(path: string, bytes: Uint8Array): Promise<boolean>;
  /** Replaces or creates a small file, atomically and durably. */
  replace(path: string, bytes: Uint8Array): Promise<void>;
  /** All files whose location begins with `directory/`, in no order; an absent directory is empty. Not the temporary files of this class. */
  list(directory: string): AsyncIterable<FileEntry>;
  /** What is directly below a directory, in no order; an absent directory holds nothing. Not the temporary files of this class. */
  children(directory: string): Promise<DirectoryChild[]>;
  /** Deletes a file; an absent one is no error. */
  delete(path: string): Promise<void>;
}

export interface FileEntry {
  path: string;
  sizeBytes: number;
  modifiedMs: number;
}

export interface DirectoryChild {
  /** The last part of its location. */
  name: string;
  kind: 'file' | 'directory';
}

export interface OutputFile {
  readonly path: string;
  /** Bytes written so far. */
  readonly position: number;
  /** Takes the bytes before it resolves: the caller may reuse the buffer afterwards. */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the file durable under its name. */
  close(): Promise<void>;
  /** Gives the file up; never throws. */
  abort(): Promise<void>;
}

/** `base/part/part` with single slashes between, the scheme's `//` kept. */
export function joinPath(base: string, ...parts: string[]): string {
  let path = base.replace(/\/+$/, '');
  for (const part of parts) path += `/${part.replace(/^\/+|\/+$/g, '')}`;
  return path;
}
