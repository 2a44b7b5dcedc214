import { isUtf8 } from 'node:buffer';
import type { BytesVector } from './vector.ts';

/**
 * A growing column of byte strings in Parquet's PLAIN layout.
 *
 * A decoder may leave the length prefixes zero while it appends (`appendUnsealed`) and call `seal` afterwards: zero
 * bytes are valid UTF-8 and separate the values, so that one native check over the whole stretch proves every value.
 */
export class BytesColumn implements BytesVector {
  readonly kind = 'bytes';
  length = 0;
  nullCount = 0;
  data: Uint8Array;
  starts: Uint32Array;

  constructor(capacityBytes = 16_384, capacityRows = 1024) {
    this.data = new Uint8Array(capacityBytes);
    this.starts = new Uint32Array(capacityRows + 1);
  }

  /** Bytes in use. */
  get end(): number {
    return this.starts[this.length];
  }

  clear(): void {
    this.length = 0;
    this.nullCount = 0;
    this.starts[0] = 0;
  }

  /** Makes room for `rows` more rows and `bytes` more bytes (length prefixes included). */
  reserve(rows: number, bytes: number): void {
    const needRows = this.length + rows + 1;
    if (needRows > this.starts.length) {
      const starts = new Uint32Array(Math.max(needRows, this.starts.length * 2));
      starts.set(this.starts.subarray(0, this.length + 1));
      this.starts = starts;
    }
    const needBytes = this.end + bytes;
    if (needBytes > this.data.length) {
      const data = new Uint8Array(Math.max(needBytes, this.data.length * 2));
      data.set(this.data.subarray(0, this.end));
      this.data = data;
    }
  }

  appendNull(): void {
    this.reserve(1, 0);
    this.starts[this.length + 1] = this.starts[this.length];
    this.length++;
    this.nullCount++;
  }

  appendBytes(bytes: Uint8Array): void {
    this.reserve(1, bytes.length + 4);
    const at = this.end;
    writeLength(this.data, at, bytes.length);
    this.data.set(bytes, at + 4);
    this.length++;
    this.starts[this.length] = at + 4 + bytes.length;
  }

  isNull(row: number): boolean {
    return this.starts[row] === this.starts[row + 1];
  }

  /** A view of the value of a row, without its length prefix; null where the row is null. */
  get(row: number): Uint8Array | null {
    const start = this.starts[row];
    const end = this.starts[row + 1];
    return start === end ? null : this.data.subarray(start + 4, end);
  }

  /** Writes the length prefixes of rows [from, length). */
  seal(from: number): void {
    const { data, starts } = this;
    for (let row = from; row < this.length; row++) {
      const start = starts[row];
      const length = starts[row + 1] - start;
      if (length > 0) writeLength(data, start, length - 4);
    }
  }

  /**
   * Rows of [from, length) that are not valid UTF-8, for rows that are not sealed yet (their prefixes are zero).
   * One native pass where all are valid.
   */
  invalidUtf8Rows(from: number): number[] {
    const { data, starts } = this;
    if (isUtf8(data.subarray(starts[from], this.end))) return [];
    const rows: number[] = [];
    for (let row = from; row < this.length; row++) {
      if (starts[row] !== starts[row + 1] && !isUtf8(data.subarray(starts[row] + 4, starts[row + 1]))) rows.push(row);
    }
    return rows;
  }
}

function writeLength(data: Uint8Array, at: number, length: number): void {
  data[at] = length & 0xff;
  data[at + 1] = (length >>> 8) & 0xff;
  data[at + 2] = (length >>> 16) & 0xff;
  data[at + 3] = length >>> 24;
}
