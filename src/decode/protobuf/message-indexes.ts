import type { FrameFault } from '../frame.ts';

/** Messages nested in messages that the indexes may go down. */
const MAX_INDEXES = 100;

/**
 * The message indexes behind the five bytes of the registry's frame: a count, then each index, zigzag varints; the one byte
 * 0 stands for the first message (Confluent wire format). Reused from value to value.
 */
export class MessageIndexes {
  readonly path = new Int32Array(MAX_INDEXES);
  length = 0;
  /** Behind the indexes, where the message begins. */
  end = 0;

  /** Reads the indexes at bytes[at, end); a fault where they are none. */
  read(bytes: Uint8Array, at: number, end: number): FrameFault | undefined {
    if (at === end)
      return { reason: 'EMPTY_BODY', message: 'the frame has no message indexes and no message' };
    if (bytes[at] === 0) {
      this.path[0] = 0;
      this.length = 1;
      this.end = at + 1;
      return undefined;
    }
    this.end = at;
    const count = this.zigzag(bytes, end);
    if (count === undefined) return { reason: 'SHORT_FRAME', message: 'the message indexes are cut off' };
    if (count < 1 || count > MAX_INDEXES)
      return {
        reason: 'PROTOBUF_DECODE',
        message: `the frame has ${count} message indexes; 1 to ${MAX_INDEXES} are possible`,
      };
    this.length = count;
    for (let i = 0; i < count; i++) {
      const index = this.zigzag(bytes, end);
      if (index === undefined) return { reason: 'SHORT_FRAME', message: 'the message indexes are cut off' };
      this.path[i] = index;
    }
    return undefined;
  }

  /** Are these the indexes of the last value? */
  equals(path: ArrayLike<number>): boolean {
    if (path.length !== this.length) return false;
    for (let i = 0; i < path.length; i++) if (path[i] !== this.path[i]) return false;
    return true;
  }

  /** A number of 32 bits; undefined where it has no end within them. */
  private zigzag(bytes: Uint8Array, end: number): number | undefined {
    let raw = 0;
    for (let shift = 0; shift < 35 && this.end < end; shift += 7) {
      const byte = bytes[this.end++];
      raw |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1);
    }
    return undefined;
  }
}
