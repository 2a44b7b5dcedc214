/**
 * Parquet's hybrid of run-length encoding and bit-packing (Encodings.md, RLE = 3), for levels and dictionary indices.
 * Values come as runs; runs of 8 and more are stored as such, shorter ones in bit-packed groups of 8.
 */
export class RunLengthEncoder {
  private buffer = new Uint8Array(32);
  private end = 0;
  private readonly bitWidth: number;
  private runValue = 0;
  private runLength = 0;
  /** Values of the open bit-packed group; it is written when it holds 8. */
  private readonly group = new Uint32Array(8);
  private groupSize = 0;
  /** Position of the header byte of the open bit-packed run, or -1. */
  private packedAt = -1;
  private packedGroups = 0;

  /** `bitWidth` of 1 to 24. */
  constructor(bitWidth: number) {
    this.bitWidth = bitWidth;
  }

  clear(): void {
    this.end = 0;
    this.runLength = 0;
    this.groupSize = 0;
    this.packedAt = -1;
    this.packedGroups = 0;
  }

  get capacityBytes(): number {
    return this.buffer.length;
  }

  /** Appends `count` times `value`. */
  append(value: number, count: number): void {
    if (this.runLength > 0 && value === this.runValue) {
      this.runLength += count;
      return;
    }
    this.endRun();
    this.runValue = value;
    this.runLength = count;
  }

  /** Appends values[from, until). */
  appendAll(values: Uint8Array | Uint16Array, from: number, until: number): void {
    const { group } = this;
    for (let i = from; i < until; ) {
      if (this.runLength > 0) {
        const start = i;
        while (i < until && values[i] === this.runValue) i++;
        this.runLength += i - start;
        if (i === until) return;
        this.endRun();
      }
      while (this.groupSize > 0 && i < until) this.pack(values[i++]);
      if (i + 8 > until) {
        for (; i < until; i++) this.append(values[i], 1);
        return;
      }
      const first = values[i];
      let same = true;
      for (let j = 0; j < 8; j++) {
        group[j] = values[i + j];
        same &&= group[j] === first;
      }
      i += 8;
      if (same) {
        this.runValue = first;
        this.runLength = 8;
      } else {
        this.groupSize = 8;
        this.writeGroup();
      }
    }
  }

  /** Ends the encoding; the view is good until the next call of `append` or `clear`. */
  finish(): Uint8Array {
    this.endRun();
    if (this.groupSize > 0) {
      this.group.fill(0, this.groupSize);
      this.writeGroup();
    }
    this.packedAt = -1;
    return this.buffer.subarray(0, this.end);
  }

  private endRun(): void {
    let { runLength } = this;
    if (runLength === 0) return;
    // an open group is filled up first: groups hold 8 values, but for the last one of the data
    while (this.groupSize > 0 && runLength > 0) {
      this.pack(this.runValue);
      runLength--;
    }
    if (runLength >= 8) {
      this.packedAt = -1;
      this.writeRun(runLength);
    } else {
      for (; runLength > 0; runLength--) this.pack(this.runValue);
    }
    this.runLength = 0;
  }

  private pack(value: number): void {
    this.group[this.groupSize++] = value;
    if (this.groupSize === 8) this.writeGroup();
  }

  private writeRun(length: number): void {
    this.reserve(10);
    this.varint(length * 2);
    let value = this.runValue;
    for (let bits = this.bitWidth; bits > 0; bits -= 8) {
      this.buffer[this.end++] = value & 0xff;
      value >>>= 8;
    }
  }

  private writeGroup(): void {
    this.reserve(1 + this.bitWidth);
    // 63 groups keep the header in one byte
    if (this.packedAt < 0 || this.packedGroups === 63) {
      this.packedAt = this.end++;
      this.packedGroups = 0;
    }
    this.packedGroups++;
    this.buffer[this.packedAt] = (this.packedGroups << 1) | 1;
    const { group, buffer, bitWidth } = this;
    this.groupSize = 0;
    if (bitWidth <= 4) {
      let packed = 0;
      for (let i = 7; i >= 0; i--) packed = (packed << bitWidth) | group[i];
      for (let i = 0; i < bitWidth; i++, packed >>>= 8) buffer[this.end++] = packed & 0xff;
      return;
    }
    let bits = 0;
    let held = 0;
    for (let i = 0; i < 8; i++) {
      bits |= group[i] << held;
      held += bitWidth;
      for (; held >= 8; held -= 8, bits >>>= 8) buffer[this.end++] = bits & 0xff;
    }
  }

  private varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.buffer[this.end++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.end++] = rest;
  }

  private reserve(bytes: number): void {
    const need = this.end + bytes;
    if (need <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(need, this.buffer.length * 2));
    grown.set(this.buffer.subarray(0, this.end));
    this.buffer = grown;
  }
}

/** Bits that hold values of 0 to `max`. */
export function bitWidthOf(max: number): number {
  return 32 - Math.clz32(max);
}
