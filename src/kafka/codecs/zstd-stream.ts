import { constants, createZstdDecompress } from 'node:zlib';

/** What node:zlib keeps inside its streams and does not document; the same since zstd came, in 22.15. */
interface ZlibInternals {
  readonly _handle?: {
    onerror?: unknown;
    writeSync?(
      flush: number,
      input: Uint8Array,
      inputAt: number,
      inputLength: number,
      output: Uint8Array,
      outputAt: number,
      outputLength: number,
    ): void;
  };
  readonly _writeState?: Uint32Array;
}

/**
 * A zstd context that decodes one frame after another into buffers of its user. `zstdDecompressSync` makes a context and
 * an output buffer outside the heap for every call, which the garbage collector finds late: a topic of small batches
 * would hold far more than its share of the memory.
 */
export class ZstdStream {
  private readonly internals: ZlibInternals;
  private error: string | null = null;

  /** Null where node:zlib is not as expected inside. */
  static open(): ZstdStream | null {
    const stream = createZstdDecompress({ chunkSize: 64 });
    stream.on('error', () => undefined);
    const internals = stream as unknown as ZlibInternals;
    const usable =
      typeof internals._handle?.writeSync === 'function' && internals._writeState instanceof Uint32Array;
    return usable ? new ZstdStream(internals) : null;
  }

  private constructor(internals: ZlibInternals) {
    this.internals = internals;
    internals._handle!.onerror = (message: string) => {
      this.error = message;
    };
  }

  /** Bytes of the input that the last `write` left. */
  get inputLeft(): number {
    return this.internals._writeState![1];
  }

  /** Bytes of the output that the last `write` left free. */
  get outputLeft(): number {
    return this.internals._writeState![0];
  }

  /**
   * Decodes from input[at, end) into output[to, length) as far as both reach. Returns what is wrong, or null; after an
   * error the stream is of no more use.
   */
  write(input: Uint8Array, at: number, end: number, output: Uint8Array, to: number): string | null {
    const { _handle: handle } = this.internals;
    handle!.writeSync!(constants.ZSTD_e_continue, input, at, end - at, output, to, output.length - to);
    return this.error;
  }
}
