import { randomUUID } from 'node:crypto';
import { SluiceError } from '../errors.ts';
import { DurableDirectories } from './durable-directories.ts';
import type { DirectoryChild, FileEntry, FileIO, OutputFile } from './file-io.ts';
import { errnoOf, isAbsent, toStorageError } from './local-error.ts';
import { type LocalDirectoryEntry, type LocalFileHandle, type LocalFs, nodeLocalFs } from './local-fs.ts';
import { LocalOutputFile } from './local-output-file.ts';
import { toLocalPath } from './local-path.ts';
import { isTemporaryName, temporaryName } from './temporary-name.ts';

export interface LocalFileIOOptions {
  /** Default: the real file system. */
  fs?: LocalFs;
  /** For the names of temporary files. Default: random UUIDs. */
  randomUuid?: () => string;
}

/**
 * Files of the local file system, by plain path or `file:` location (`toLocalPath` has the rules of names).
 *
 * Every file is written under a temporary name in its own directory, fsynced, then given its name: by link(2) and
 * unlink(2) where nothing may be overwritten (rename(2) would overwrite), by rename(2) for `replace`. Then the
 * directory is fsynced, and the directories above it where they are new. So a name never shows a part of a file, and
 * what has resolved survives a power loss. A crash can leave temporary files, which no listing shows.
 */
export class LocalFileIO implements FileIO {
  readonly #fs: LocalFs;
  readonly #randomUuid: () => string;
  readonly #directories: DurableDirectories;

  constructor(options: LocalFileIOOptions = {}) {
    this.#fs = options.fs ?? nodeLocalFs;
    this.#randomUuid = options.randomUuid ?? randomUUID;
    this.#directories = new DurableDirectories(this.#fs);
  }

  async read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    const local = toLocalPath(path);
    try {
      return await this.#fs.readFile(local, range?.start ?? 0, range?.end ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      if (errnoOf(error) === 'EISDIR') {
        throw new SluiceError('FILE_NOT_FOUND', `${path} is a directory, not a file`, {
          context: { path },
          cause: error,
        });
      }
      throw toStorageError(error, 'read', path);
    }
  }

  async stat(path: string): Promise<{ sizeBytes: number; modifiedMs: number } | undefined> {
    try {
      const s = await this.#fs.stat(toLocalPath(path));
      return s.kind === 'file' ? { sizeBytes: s.sizeBytes, modifiedMs: s.modifiedMs } : undefined;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw toStorageError(error, 'look at', path);
    }
  }

  async create(path: string): Promise<OutputFile> {
    const target = splitPath(toLocalPath(path), path);
    const existing = await this.stat(path);
    if (existing !== undefined) throw alreadyThere(path);
    const { handle, temporary } = await this.#openTemporary(target, path, 'create');
    return new LocalOutputFile(path, handle, {
      publish: async () => {
        if (!(await this.#publishNew(temporary, target, path))) throw alreadyThere(path);
      },
      discard: () => this.#discard(temporary),
    });
  }

  async createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    const target = splitPath(toLocalPath(path), path);
    const temporary = await this.#writeTemporary(target, path, bytes);
    return this.#publishNew(temporary, target, path);
  }

  async replace(path: string, bytes: Uint8Array): Promise<void> {
    const target = splitPath(toLocalPath(path), path);
    const temporary = await this.#writeTemporary(target, path, bytes);
    let renamed = false;
    try {
      await this.#fs.rename(temporary, target.full);
      renamed = true;
      await this.#fs.syncDirectory(target.directory);
    } catch (error) {
      if (!renamed) await this.#discard(temporary);
      throw toStorageError(error, 'replace', path, renamed ? 'unknown' : 'not-applied');
    }
  }

  async *list(directory: string): AsyncIterable<FileEntry> {
    const location = directory === '/' ? '' : directory.replace(/(?<=[^/])\/+$/, '');
    yield* this.#listUnder(toLocalPath(directory), location);
  }

  async children(directory: string): Promise<DirectoryChild[]> {
    const found: DirectoryChild[] = [];
    for (const { name, kind } of await this.#entries(toLocalPath(directory), directory)) {
      if (kind === 'directory') found.push({ name, kind });
      else if (kind !== 'other' && !isTemporaryName(name)) {
        // As in `list`: a linked file is a file, a linked directory may lead back here.
        if (kind === 'file' || (await this.stat(`${directory}/${name}`)) !== undefined)
          found.push({ name, kind: 'file' });
      }
    }
    return found;
  }

  async delete(path: string): Promise<void> {
    try {
      await this.#fs.unlink(toLocalPath(path));
    } catch (error) {
      if (!isAbsent(error)) throw toStorageError(error, 'delete', path, 'not-applied');
    }
  }

  async *#listUnder(local: string, location: string): AsyncGenerator<FileEntry> {
    for (const entry of await this.#entries(local, location)) {
      const path = `${location}/${entry.name}`;
      const inner = local.endsWith('/') ? local + entry.name : `${local}/${entry.name}`;
      if (entry.kind === 'directory') {
        yield* this.#listUnder(inner, path);
      } else if (entry.kind !== 'other' && !isTemporaryName(entry.name)) {
        // Linked files are files; linked directories are not entered, they may lead back here.
        const s = await this.stat(path);
        if (s !== undefined) yield { path, ...s };
      }
    }
  }

  async #entries(local: string, location: string): Promise<LocalDirectoryEntry[]> {
    try {
      return await this.#fs.readDirectory(local);
    } catch (error) {
      if (isAbsent(error)) return [];
      throw toStorageError(error, 'list', location);
    }
  }

  /** Opens a fresh temporary file beside `target`; makes the directories where they are missing. */
  async #openTemporary(
    target: Target,
    path: string,
    doing: string,
  ): Promise<{ handle: LocalFileHandle; temporary: string }> {
    const temporary = `${target.directory === '/' ? '' : target.directory}/${temporaryName(target.name, this.#randomUuid())}`;
    try {
      await this.#directories.ensure(target.directory);
      try {
        return { handle: await this.#fs.createFile(temporary), temporary };
      } catch (error) {
        // Somebody removed a directory that we knew: once more from the beginning.
        if (errnoOf(error) !== 'ENOENT') throw error;
        this.#directories.forget();
        await this.#directories.ensure(target.directory);
        return { handle: await this.#fs.createFile(temporary), temporary };
      }
    } catch (error) {
      throw toStorageError(error, doing, path, 'not-applied');
    }
  }

  async #writeTemporary(target: Target, path: string, bytes: Uint8Array): Promise<string> {
    const { handle, temporary } = await this.#openTemporary(target, path, 'write');
    try {
      try {
        if (bytes.length > 0) await handle.write(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      await this.#discard(temporary);
      throw toStorageError(error, 'write', path, 'not-applied');
    }
    return temporary;
  }

  /** Gives an fsynced temporary file its name: false where the name is taken. The temporary name is gone afterwards. */
  async #publishNew(temporary: string, target: Target, path: string): Promise<boolean> {
    let linked = false;
    let taken = false;
    try {
      try {
        await this.#fs.link(temporary, target.full);
        linked = true;
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
        taken = true;
      }
      await this.#fs.unlink(temporary);
      // Also where the name was taken: it may be our own earlier call, cut off before its fsync.
      await this.#fs.syncDirectory(target.directory);
      return !taken;
    } catch (error) {
      if (!linked) await this.#discard(temporary);
      const errno = errnoOf(error);
      if (
        !linked &&
        !taken &&
        (errno === 'EPERM' || errno === 'ENOTSUP' || errno === 'EOPNOTSUPP' || errno === 'ENOSYS')
      ) {
        throw new SluiceError(
          'STORAGE_ERROR',
          `could not create ${path}: the file system has no hard links (${errno}), and without them a file cannot be created ` +
            'safely beside another process; use a file system that has them',
          { outcome: 'not-applied', context: { path, errno }, cause: error },
        );
      }
      throw toStorageError(error, 'create', path, linked ? 'unknown' : 'not-applied');
    }
  }

  async #discard(temporary: string): Promise<void> {
    // A temporary file that stays is litter, no fault: the error that led here is the one to tell.
    await this.#fs.unlink(temporary).catch(() => undefined);
  }
}

interface Target {
  full: string;
  directory: string;
  name: string;
}

function splitPath(local: string, path: string): Target {
  const slash = local.lastIndexOf('/');
  const name = local.slice(slash + 1);
  if (name === '' || name === '.' || name === '..') {
    throw new SluiceError('STORAGE_ERROR', `${path} names a directory, not a file`, {
      outcome: 'not-applied',
      context: { path },
    });
  }
  const directory = slash === -1 ? '.' : slash === 0 ? '/' : local.slice(0, slash);
  return { full: local, directory, name };
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
