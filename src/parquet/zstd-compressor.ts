import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib';

/** Pages up to this size are compressed into a buffer that stays. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * What node:zlib keeps inside its streams and does not document: the native handle, and where it leaves the bytes of
 * output and input that remain. The same since Node 11 for its other codecs and since 22.15 for zstd.
 */
interface ZlibInternals {
  readonly _handle?: {
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
 * Compresses one block after another by zstd, each to a frame of its own with its size in its header, byte for byte what
 * `zstdCompressSync` gives. That function makes a context with its tables and an output buffer outside the heap for each
 * call; here both are made once, which saves a third of the time and the garbage collections that such buffers cause.
 * Where node:zlib is not as expected inside, the documented function does it.
 */
export class ZstdCompressor {
  private readonly params: Record<number, number>;
  private readonly internals: ZlibInternals;
  private output = new Uint8Array(0);
  private reusable: boolean;

  /** @param level 1 to 22 */
  constructor(level: number) {
    this.params = { [constants.ZSTD_c_compressionLevel]: level };
    const stream = createZstdCompress({ params: this.params, chunkSize: 64 });
    // an error of the handle is told to the stream; what it left undone shows in the state that is checked below
    stream.on('error', () => undefined);
    this.internals = stream as unknown as ZlibInternals;
    this.reusable =
      typeof this.internals._handle?.writeSync === 'function' &&
      this.internals._writeState instanceof Uint32Array;
  }

  /** One frame. The result is valid until the next call. */
  compress(bytes: Uint8Array): Uint8Array {
    if (this.reusable && bytes.length > 0 && bytes.length <= MAX_KEPT_BYTES) {
      const frame = this.tryReused(bytes);
      if (frame !== undefined) return frame;
      this.reusable = false;
    }
    return zstdCompressSync(bytes, { params: this.params, pledgedSrcSize: bytes.length });
  }

  /** All of the input in one step into room for the worst case, so that zstd ends the frame in it; undefined where it did not. */
  private tryReused(bytes: Uint8Array): Uint8Array | undefined {
    const most = bytes.length + (bytes.length >>> 7) + 1024;
    if (this.output.length < most) this.output = new Uint8Array(Math.max(most, this.output.length * 2));
    const { _handle: handle, _writeState: state } = this.internals;
    const { output } = this;
    try {
      handle!.writeSync!(constants.ZSTD_e_end, bytes, 0, bytes.length, output, 0, output.length);
    } catch {
      return undefined;
    }
    const [outputLeft, inputLeft] = state!;
    if (inputLeft !== 0 || outputLeft === 0 || outputLeft >= output.length) return undefined;
    return output.subarray(0, output.length - outputLeft);
  }
}
