import { SluiceError } from '../errors.ts';
import type { OutputFile } from './file-io.ts';
import { toStorageError } from './local-error.ts';
import type { LocalFileHandle } from './local-fs.ts';

/**
 * Small writes are gathered up to this size; a write of this size or more goes down as it is. Measured: pieces of 4 KiB
 * reach a thirtieth of the speed of the page cache. The writer of data files gathers its pages itself, and hundreds of
 * files may be open at once, so that a buffer must not be larger than it needs to be.
 */
const GATHER_BYTES = 32 * 1024;
const FIRST_BUFFER_BYTES = 8 * 1024;
/** Buffers of ended files, for the next ones; so many of each size. */
const MAX_SPARE = 16;
const spare = { [FIRST_BUFFER_BYTES]: [] as Uint8Array[], [GATHER_BYTES]: [] as Uint8Array[] };

/** What becomes of the temporary file. */
export interface LocalOutputEnd {
  /** The file is whole and fsynced: give it its name. */
  publish(): Promise<void>;
  /** Remove the temporary file; never throws. */
  discard(): Promise<void>;
}

/** A file being written front to back under a temporary name. One call at a time. */
export class LocalOutputFile implements OutputFile {
  readonly path: string;
  readonly #handle: LocalFileHandle;
  readonly #end: LocalOutputEnd;
  #buffer: Uint8Array | undefined;
  #buffered = 0;
  #position = 0;
  #state: 'open' | 'failed' | 'closed' = 'open';

  constructor(path: string, handle: LocalFileHandle, end: LocalOutputEnd) {
    this.path = path;
    this.#handle = handle;
    this.#end = end;
  }

  get position(): number {
    return this.#position;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#expectOpen('write');
    try {
      if (bytes.length >= GATHER_BYTES) {
        await this.#flush();
        await this.#handle.write(bytes);
      } else if (bytes.length > 0) {
        if (this.#buffered + bytes.length > GATHER_BYTES) await this.#flush();
        this.#gather(bytes);
      }
    } catch (error) {
      // A part of the bytes may be in the file: it can only be given up.
      this.#state = 'failed';
      throw toStorageError(error, 'write', this.path, 'not-applied');
    }
    this.#position += bytes.length;
  }

  async close(): Promise<void> {
    this.#expectOpen('close');
    this.#state = 'failed';
    try {
      await this.#flush();
      await this.#handle.sync();
    } catch (error) {
      await this.#giveUp();
      throw toStorageError(error, 'write', this.path, 'not-applied');
    }
    await this.#handle.close().catch(() => undefined);
    this.#state = 'closed';
    this.#release();
    await this.#end.publish();
  }

  async abort(): Promise<void> {
    if (this.#state === 'closed') return;
    await this.#giveUp();
  }

  /** The buffer grows with what is written: thousands of small files must not take a large one each. */
  #gather(bytes: Uint8Array): void {
    const end = this.#buffered + bytes.length;
    if (this.#buffer === undefined || end > this.#buffer.length) {
      const size = end <= FIRST_BUFFER_BYTES ? FIRST_BUFFER_BYTES : GATHER_BYTES;
      const grown = spare[size].pop() ?? new Uint8Array(size);
      if (this.#buffer !== undefined) grown.set(this.#buffer.subarray(0, this.#buffered));
      this.#release();
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered = end;
  }

  /** Gives the buffer, of which nothing is needed any more, to the next file. */
  #release(): void {
    if (this.#buffer === undefined) return;
    const list = spare[this.#buffer.length as keyof typeof spare];
    if (list.length < MAX_SPARE) list.push(this.#buffer);
    this.#buffer = undefined;
  }

  async #flush(): Promise<void> {
    if (this.#buffered === 0) return;
    const piece = this.#buffer!.subarray(0, this.#buffered);
    this.#buffered = 0;
    await this.#handle.write(piece);
  }

  async #giveUp(): Promise<void> {
    this.#state = 'closed';
    // Not for others: a write that failed may still be on its way.
    this.#buffer = undefined;
    this.#buffered = 0;
    await this.#handle.close().catch(() => undefined);
    await this.#end.discard();
  }

  #expectOpen(doing: string): void {
    if (this.#state === 'open') return;
    throw new SluiceError(
      'STORAGE_ERROR',
      `could not ${doing} ${this.path}: the file was ${this.#state === 'failed' ? 'given up after a failed write' : 'closed already'}`,
      {
        outcome: 'not-applied',
        context: { path: this.path },
      },
    );
  }
}
