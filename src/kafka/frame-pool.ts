import { SluiceError } from '../errors.ts';
import type { FrameTarget } from './frame-assembler.ts';

/**
 * The receive buffers of a range reader, which share one bound. Each frame has a base size that is always there; a
 * response that is larger (one record batch above its share, KIP-74) borrows from what is left, and waits with its socket
 * paused while another large one has it.
 */
export class FramePool {
  readonly limitBytes: number;
  private usedBytes = 0;
  /** Of those, bytes lent out above the base sizes. */
  private lentBytes = 0;
  private readonly waiting: ReusedFrame[] = [];

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get used(): number {
    return this.usedBytes;
  }

  /** A frame of a base size. `onRoom` is called when a frame that had to wait may try again. */
  create(baseBytes: number, onRoom: () => void): ReusedFrame {
    this.usedBytes += baseBytes;
    return new ReusedFrame(this, baseBytes, onRoom);
  }

  /** Lends `extra` bytes. False: later. Throws MEMORY_LIMIT where they will never be free. */
  borrow(frame: ReusedFrame, extra: number, length: number): boolean {
    const baseBytes = this.usedBytes - this.lentBytes;
    if (baseBytes + extra > this.limitBytes) {
      throw new SluiceError(
        'MEMORY_LIMIT',
        `a fetch response of ${length} bytes, a single record batch, does not fit the ${this.limitBytes} bytes of the receive ` +
          'buffers. Raise `memory`, or lower the batch size of the producer',
        { context: { length, limit: this.limitBytes } },
      );
    }
    if (this.usedBytes + extra > this.limitBytes) {
      if (!this.waiting.includes(frame)) this.waiting.push(frame);
      return false;
    }
    this.usedBytes += extra;
    this.lentBytes += extra;
    return true;
  }

  giveBack(extra: number): void {
    this.usedBytes -= extra;
    this.lentBytes -= extra;
    for (const frame of this.waiting.splice(0)) frame.onRoom();
  }

  /** The frame of a closed connection: its bytes are free again. */
  remove(frame: ReusedFrame): void {
    frame.release();
    this.usedBytes -= frame.baseBytes;
    const at = this.waiting.indexOf(frame);
    if (at >= 0) this.waiting.splice(at, 1);
  }
}

/** One of the frames of a connection; holds one response at a time. */
export class ReusedFrame implements FrameTarget {
  readonly baseBytes: number;
  readonly onRoom: () => void;
  bytes: Buffer;
  private readonly pool: FramePool;
  private borrowed = 0;

  constructor(pool: FramePool, baseBytes: number, onRoom: () => void) {
    this.pool = pool;
    this.baseBytes = baseBytes;
    this.onRoom = onRoom;
    this.bytes = Buffer.allocUnsafeSlow(baseBytes);
  }

  reserve(length: number): boolean {
    if (length <= this.bytes.length) return true;
    const extra = length - this.bytes.length;
    if (!this.pool.borrow(this, extra, length)) return false;
    this.borrowed += extra;
    this.bytes = Buffer.allocUnsafeSlow(length);
    return true;
  }

  /** The response has been taken: a borrowed buffer is given back. */
  release(): void {
    if (this.borrowed === 0) return;
    const extra = this.borrowed;
    this.borrowed = 0;
    this.bytes = Buffer.allocUnsafeSlow(this.baseBytes);
    this.pool.giveBack(extra);
  }
}
