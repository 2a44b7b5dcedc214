import { errnoOf } from './local-error.ts';
import type { LocalFs } from './local-fs.ts';

const MAX_KNOWN = 10_000;

/**
 * Makes directories whose own entries survive a power loss. A file in a new directory is only safe when the entry of
 * the directory in its parent is, up to the root; another process or worker may have made a directory a moment ago and
 * not fsynced it yet, so a directory that was there already is not trusted the first time it is seen.
 */
export class DurableDirectories {
  readonly #fs: LocalFs;
  readonly #known = new Set<string>();

  constructor(fs: LocalFs) {
    this.#fs = fs;
  }

  /** After it resolves `directory` exists, and every entry that leads to it is durable. Errors are those of the system calls. */
  async ensure(directory: string): Promise<void> {
    if (this.#known.has(directory)) return;
    await this.#make(directory);
    for (let at = directory; !this.#known.has(at); ) {
      const parent = parentOf(at);
      if (parent === undefined) break;
      await this.#syncEntry(parent);
      at = parent;
    }
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    for (let at: string | undefined = directory; at !== undefined && !this.#known.has(at); at = parentOf(at))
      this.#known.add(at);
  }

  /** A directory went away: look at all of them again. */
  forget(): void {
    this.#known.clear();
  }

  /** `again`: the directory above has just been made or found. */
  async #make(directory: string, again = false): Promise<void> {
    try {
      await this.#fs.makeDirectory(directory);
    } catch (error) {
      const errno = errnoOf(error);
      const parent = parentOf(directory);
      // Once: /proc says of a new directory that it does not exist, however often its parents are made.
      if (errno === 'ENOENT' && parent !== undefined && !again) {
        await this.#make(parent);
        await this.#make(directory, true);
        return;
      }
      if (errno === 'EEXIST') return;
      // Directories that may not be made (a read-only mount, somebody else's /home) may still be there.
      if (errno === 'EACCES' || errno === 'EROFS' || errno === 'EPERM' || errno === 'EISDIR') {
        const there = await this.#fs.stat(directory).catch(() => undefined);
        if (there?.kind === 'directory') return;
      }
      throw error;
    }
  }

  async #syncEntry(parent: string): Promise<void> {
    try {
      await this.#fs.syncDirectory(parent);
    } catch (error) {
      // We may enter but not read it, so we cannot have made anything in it.
      const errno = errnoOf(error);
      if (errno !== 'EACCES' && errno !== 'EPERM' && errno !== 'EROFS' && errno !== 'EINVAL') throw error;
    }
  }
}

/** The directory above, or undefined at `/` and `.`. */
function parentOf(directory: string): string | undefined {
  if (directory === '/' || directory === '.' || directory === '') return undefined;
  const slash = directory.lastIndexOf('/');
  if (slash === -1) return '.';
  const parent = directory.slice(0, slash).replace(/\/+$/, '');
  return parent === '' ? '/' : parent;
}
