/** Bytes that the 8-byte copy loops may write beyond the end of what they copy. */
export const SLACK = 32;
/** Buffers up to this size are kept for good. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** The reused output of a codec: `bytes` has room for at least `SLACK` bytes more than was asked for. */
export class OutputBuffer {
  bytes: Uint8Array = new Uint8Array(64 * 1024 + SLACK);
  view: DataView = new DataView(this.bytes.buffer);

  /** Bytes that may be filled. */
  get capacity(): number {
    return this.bytes.length - SLACK;
  }

  /** Begins a new output of `size` bytes, more or less; gives back a buffer that is far too large for it. */
  begin(size: number): void {
    if (size > this.capacity || (this.capacity > KEPT_BYTES && size < this.capacity / 4)) this.allocate(size);
  }

  /** Makes room for `size` bytes in all, no more than `maxSize` but for growing by doubling; keeps the first `used`. */
  grow(used: number, size: number, maxSize: number): void {
    if (size <= this.capacity) return;
    const old = this.bytes;
    this.allocate(Math.max(size, Math.min(this.capacity * 2, maxSize)));
    this.bytes.set(old.subarray(0, used));
  }

  private allocate(size: number): void {
    this.bytes = new Uint8Array(size + SLACK);
    this.view = new DataView(this.bytes.buffer);
  }
}

/**
 * Appends the `length` bytes that lie at `at` of `source` to `output` at `to`. Bounds are the caller's; `output` may be
 * written up to 7 bytes beyond, which `SLACK` allows.
 *
 * @param sourceView a view of exactly the bytes of `source`
 */
export function copyLiteral(
  output: OutputBuffer,
  to: number,
  source: Uint8Array,
  sourceView: DataView,
  at: number,
  length: number,
): void {
  if (length <= 128 && at + length + 8 <= source.length) {
    const { view } = output;
    for (let i = 0; i < length; i += 8) view.setBigInt64(to + i, sourceView.getBigInt64(at + i, true), true);
  } else output.bytes.set(source.subarray(at, at + length), to);
}

/** Repeats the `length` bytes that begin `distance` bytes back, at `to`: where they overlap the pattern repeats (LZ77). */
export function copyMatch(output: OutputBuffer, to: number, distance: number, length: number): void {
  const { bytes, view } = output;
  const from = to - distance;
  if (distance >= 8) {
    if (length > 256 && distance >= length) bytes.copyWithin(to, from, from + length);
    else for (let i = 0; i < length; i += 8) view.setBigInt64(to + i, view.getBigInt64(from + i, true), true);
  } else if (distance === 1) {
    bytes.fill(bytes[from], to, to + length);
  } else for (let i = 0; i < length; i++) bytes[to + i] = bytes[from + i];
}
