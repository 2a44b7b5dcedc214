/**
 * Reads the hybrid of run-length encoding and bit-packing as runs (Encodings.md, RLE = 3). Throws RangeError where the
 * bytes end early or are no such encoding.
 */
export class RunLengthDecoder {
  /** The value of the run that `takeRun` returned. */
  value = 0;
  private readonly bytes: Uint8Array;
  private at: number;
  private readonly until: number;
  private readonly bitWidth: number;
  /** Values left in the run at hand. */
  private left = 0;
  private isPacked = false;
  /** Position in bits of the next packed value, from `at`. */
  private bit = 0;

  /** Over `bytes[from, until)`; `bitWidth` of 0 to 32. */
  constructor(bytes: Uint8Array, from: number, until: number, bitWidth: number) {
    if (bitWidth > 32) throw new RangeError(`a bit width of ${bitWidth}`);
    if (until > bytes.length || from > until) throw new RangeError('levels or indices end behind their page');
    this.bytes = bytes;
    this.at = from;
    this.until = until;
    this.bitWidth = bitWidth;
  }

  /** The length, 1 to `most`, of a stretch of one value, which is left in `value`. */
  takeRun(most: number): number {
    if (this.left === 0) this.nextRun();
    if (!this.isPacked) {
      const length = Math.min(most, this.left);
      this.left -= length;
      return length;
    }
    const value = this.packed();
    let length = 1;
    this.left--;
    while (length < most && this.left > 0) {
      const before = this.bit;
      if (this.packed() !== value) {
        this.bit = before;
        break;
      }
      this.left--;
      length++;
    }
    this.value = value;
    return length;
  }

  private nextRun(): void {
    if (this.isPacked) {
      this.at += this.bit >>> 3;
      this.isPacked = false;
    }
    const header = this.varint();
    if (header % 2 === 1) {
      const groups = (header - 1) / 2;
      const byteLength = groups * this.bitWidth;
      // the last group of a page may be cut by writers that drop its padding
      if (groups === 0 || byteLength > this.until - this.at + this.bitWidth)
        throw new RangeError('a packed run behind the end');
      this.isPacked = true;
      this.left = groups * 8;
      this.bit = 0;
      return;
    }
    this.left = header / 2;
    if (this.left === 0) throw new RangeError('a run of no values');
    let value = 0;
    for (let shift = 0; shift < this.bitWidth; shift += 8) value += this.byte() * 2 ** shift;
    this.value = value;
  }

  private packed(): number {
    const { bytes, bitWidth } = this;
    let value = 0;
    let got = 0;
    while (got < bitWidth) {
      const position = this.at + (this.bit >>> 3);
      if (position >= this.until) throw new RangeError('a packed run behind the end');
      const offset = this.bit & 7;
      const take = Math.min(8 - offset, bitWidth - got);
      const part = (bytes[position] >>> offset) & ((1 << take) - 1);
      value += got === 0 ? part : part * 2 ** got;
      got += take;
      this.bit += take;
    }
    return value;
  }

  private varint(): number {
    let value = 0;
    for (let i = 0; i < 5; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new RangeError('a run header of more than 5 bytes');
  }

  private byte(): number {
    if (this.at >= this.until) throw new RangeError('levels or indices end early');
    return this.bytes[this.at++];
  }
}
