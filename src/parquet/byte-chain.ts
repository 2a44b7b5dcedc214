/**
 * Buffers that many open files share. A file that is written takes segments from the pool and gives them back when its
 * row group is on disk, so that hundreds of open writers hold what they use and not what they once used. What is given
 * back is kept for the next row group: memory outside V8's heap is collected late, and would be held twice.
 */
export class BufferPool {
  private readonly idle = new Map<number, Uint8Array[]>();
  private idleTotal = 0;
  private usedTotal = 0;
  private reserved = 0;
  private maxBytes: number;
  private readonly minIdleBytes: number;

  /**
   * No more than `maxBytes` are held for later, and none where what is in use takes that much already; but `minIdleBytes`
   * also then, so that files which are written one after the other have the same buffers.
   */
  constructor(maxBytes: number, minIdleBytes = 0) {
    this.maxBytes = maxBytes;
    this.minIdleBytes = minIdleBytes;
  }

  get idleBytes(): number {
    return this.idleTotal;
  }

  /** Begins anew with another bound: what was taken before and not given back is forgotten. */
  resize(maxBytes: number): void {
    this.maxBytes = maxBytes;
    this.usedTotal = 0;
    this.reserved = 0;
    this.dropIdle(this.idleTotal - maxBytes);
  }

  /** Of the bound, what somebody else holds for now: so much less is kept for later. */
  reserve(bytes: number): void {
    this.reserved = bytes;
    this.dropIdle(this.total - this.maxBytes);
  }

  private get total(): number {
    return this.reserved + this.usedTotal + this.idleTotal;
  }

  /** A buffer of at least `bytes`, its content of no meaning. Sizes are powers of two up to 64 MiB, exact above. */
  take(bytes: number): Uint8Array {
    const size = sizeClass(bytes);
    this.usedTotal += size;
    const buffer = this.idle.get(size)?.pop();
    if (buffer !== undefined) {
      this.idleTotal -= size;
      return buffer;
    }
    this.dropIdle(this.total - this.maxBytes);
    // no Buffer, whose `slice` is a view: receivers that copy by `slice` would keep what is used again
    return new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
  }

  /** Gives back a buffer that came from `take`; the caller must not use it any more. */
  give(buffer: Uint8Array): void {
    const size = buffer.length;
    this.usedTotal = Math.max(0, this.usedTotal - size);
    if (size !== sizeClass(size) || size > MAX_POOLED) return;
    if (this.total + size > this.maxBytes && this.idleTotal + size > this.minIdleBytes) return;
    const list = this.idle.get(size);
    if (list === undefined) this.idle.set(size, [buffer]);
    else list.push(buffer);
    this.idleTotal += size;
  }

  /** Forgets idle buffers of at least `bytes` together, the largest first. */
  private dropIdle(bytes: number): void {
    let left = Math.min(bytes, this.idleTotal - this.minIdleBytes);
    if (left <= 0) return;
    for (const size of [...this.idle.keys()].sort((x, y) => y - x)) {
      const list = this.idle.get(size)!;
      while (left > 0 && list.length > 0) {
        list.pop();
        this.idleTotal -= size;
        left -= size;
      }
    }
  }
}

const MIN_BUFFER = 1024;
const MAX_POOLED = 4 * 1024 * 1024;
const MAX_CLASS = 64 * 1024 * 1024;

function sizeClass(bytes: number): number {
  if (bytes <= MIN_BUFFER) return MIN_BUFFER;
  if (bytes > MAX_CLASS) return bytes;
  return 2 ** (32 - Math.clz32(bytes - 1));
}

const MAX_SEGMENT = 256 * 1024;

/** A growing byte string in segments of the pool: 1 KiB first, doubling to 256 KiB. */
export class ByteChain {
  private readonly pool: BufferPool;
  private readonly segments: Uint8Array[] = [];
  private readonly ends: number[] = [];
  length = 0;
  /** Bytes held in memory, used or not. */
  capacityBytes = 0;

  constructor(pool: BufferPool) {
    this.pool = pool;
  }

  append(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      const last = this.segments.length - 1;
      const room = last < 0 ? 0 : this.segments[last].length - this.ends[last];
      if (room === 0) {
        this.addSegment(bytes.length - from);
        continue;
      }
      const take = Math.min(room, bytes.length - from);
      this.segments[last].set(bytes.subarray(from, from + take), this.ends[last]);
      this.ends[last] += take;
      from += take;
    }
    this.length += bytes.length;
  }

  private addSegment(need: number): void {
    const size = Math.min(MAX_SEGMENT, Math.max(need, this.capacityBytes));
    const segment = this.pool.take(size);
    this.segments.push(segment);
    this.ends.push(0);
    this.capacityBytes += segment.length;
  }

  /** The stretches that make up the whole, in order, as views. */
  *stretches(): Generator<Uint8Array> {
    for (let i = 0; i < this.segments.length; i++) yield this.segments[i].subarray(0, this.ends[i]);
  }

  /** Empties the chain and gives its segments back. */
  release(): void {
    for (const segment of this.segments) this.pool.give(segment);
    this.segments.length = 0;
    this.ends.length = 0;
    this.length = 0;
    this.capacityBytes = 0;
  }
}
