import { SluiceError } from '../errors.ts';

/** Where the body of one response goes. */
export interface FrameTarget {
  /** Holds at least `length` bytes once `reserve(length)` has returned true. */
  readonly bytes: Buffer;
  /**
   * Makes room for a body of `length` bytes. False: not now; the connection stops reading until `resume`. May throw,
   * for a length that will never fit: the connection is closed with that error.
   */
  reserve(length: number): boolean;
}

/** A frame of its own for one small response. */
export class SingleFrame implements FrameTarget {
  bytes: Buffer = Buffer.alloc(0);

  reserve(length: number): boolean {
    this.bytes = Buffer.allocUnsafeSlow(length);
    return true;
  }
}

export interface FrameSink {
  /** The target of the frame that begins now; called once its length is known, before any of its body is kept. */
  targetOf(length: number, head: Uint8Array): FrameTarget;
  /** A whole frame lies in the target's bytes [0, length). */
  onFrame(target: FrameTarget, length: number): void;
}

/** Reads of this size where no big body is awaited: several small responses come with one. */
const SCRATCH_BYTES = 16_384;
/** Bodies with at least this much missing are read straight into their target, without a copy. */
const DIRECT_FROM_BYTES = 16_384;

/**
 * Cuts a byte stream into length-prefixed frames. The socket reads into the buffer that `nextBuffer` names: the middle of
 * a large body lands in its frame at once; the rest passes through a small scratch buffer. How the network splits or
 * merges packets makes no difference.
 */
export class FrameAssembler {
  private readonly scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  private readonly prefix = Buffer.alloc(4);
  private prefixFilled = 0;
  private target: FrameTarget | null = null;
  private length = 0;
  private filled = 0;
  private direct: Buffer | null = null;
  /** Bytes that came behind a length whose target has no room yet. */
  private held: Buffer | null = null;
  private readonly sink: FrameSink;

  constructor(sink: FrameSink) {
    this.sink = sink;
  }

  /** True while a frame waits for room; `resume` tries again. */
  get blocked(): boolean {
    return this.held !== null;
  }

  /** True in the middle of a frame. */
  get inFrame(): boolean {
    return this.target !== null || this.prefixFilled > 0;
  }

  /** How much of the frame at hand has come, in words. */
  get progress(): string {
    return this.target === null ? 'its length is not known' : `${this.filled} of ${this.length} bytes came`;
  }

  /** Where the next bytes of the socket shall go. */
  nextBuffer(): Buffer {
    const target = this.target;
    if (target === null || this.held !== null || this.length - this.filled < DIRECT_FROM_BYTES) {
      this.direct = null;
      return this.scratch;
    }
    this.direct = target.bytes.subarray(this.filled, this.length);
    return this.direct;
  }

  /** `count` bytes have come into the buffer that `nextBuffer` gave last. False: stop reading until `resume`. */
  onBytes(count: number, buffer: Uint8Array): boolean {
    if (this.held !== null) {
      // TLS hands on what it had decrypted already, though reading was to stop.
      this.held = Buffer.concat([this.held, buffer.subarray(0, count)]);
      return false;
    }
    if (buffer === this.direct) {
      this.direct = null;
      this.filled += count;
      if (this.filled === this.length) this.finish();
      return true;
    }
    return this.consume(buffer.subarray(0, count));
  }

  /** Tries again to place the frame that found no room. True: go on reading. */
  resume(): boolean {
    const held = this.held;
    if (held === null) return true;
    if (this.target?.reserve(this.length) !== true) return false;
    this.held = null;
    return this.consume(held);
  }

  private consume(bytes: Uint8Array): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (this.target === null) {
        while (this.prefixFilled < 4 && at < bytes.length) this.prefix[this.prefixFilled++] = bytes[at++];
        if (this.prefixFilled < 4) return true;
        this.prefixFilled = 0;
        this.length = this.prefix.readInt32BE(0);
        this.filled = 0;
        const target = this.sink.targetOf(this.length, this.prefix);
        this.target = target;
        if (!target.reserve(this.length)) {
          this.held = Buffer.from(bytes.subarray(at));
          return false;
        }
      }
      const part = Math.min(this.length - this.filled, bytes.length - at);
      this.target.bytes.set(bytes.subarray(at, at + part), this.filled);
      this.filled += part;
      at += part;
      if (this.filled === this.length) this.finish();
    }
    return true;
  }

  private finish(): void {
    const target = this.target!;
    this.target = null;
    this.sink.onFrame(target, this.length);
  }
}

/** The error for a length prefix that no broker would send; shows what the bytes look like. */
export function hostileLength(length: number, limit: number, head: Uint8Array, broker: string): SluiceError {
  const text = Buffer.from(head).toString('latin1');
  let guess = '';
  if (/^[\x20-\x7e]{4}$/.test(text))
    guess = `; the reply begins with "${text}"${text === 'HTTP' ? ': this is a web server' : ''}`;
  else if (head[0] === 0x15 && head[1] === 0x03) {
    return new SluiceError(
      'KAFKA_TLS',
      `broker ${broker}: this listener answers in TLS, but kafka.security.protocol is one without; set it to SSL or SASL_SSL`,
      { context: { broker } },
    );
  }
  return new SluiceError(
    'PROTOCOL_ERROR',
    `broker ${broker}: the reply announces a frame of ${length} bytes, where 4 to ${limit} are possible${guess}. Is this the listener of a Kafka broker?`,
    { context: { broker, length, limit } },
  );
}
