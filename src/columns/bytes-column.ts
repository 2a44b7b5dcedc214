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

  constructor(capacityBytes = 1024, capacityRows = 64) {
    this.data = new Uint8Array(capacityBytes);
    this.starts = new Uint32Array(capacityRows + 1);
  }

  private dataView: DataView | undefined;

  /** A view of exactly the bytes of `data`, made anew when `data` has been replaced. */
  get view(): DataView {
    if (this.dataView === undefined || this.dataView.buffer !== this.data.buffer) {
      this.dataView = new DataView(this.data.buffer, this.data.byteOffset, this.data.length);
    }
    return this.dataView;
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

  /** Drops rows [rows, length). */
  truncate(rows: number): void {
    for (let row = rows; this.nullCount > 0 && row < this.length; row++)
      if (this.starts[row] === this.starts[row + 1]) this.nullCount--;
    this.length = rows;
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
    if (needBytes > this.data.length) this.growData(this.end, needBytes);
  }

  /** Gives `data` at least `needBytes` bytes, twice what it had at least; keeps the first `usedBytes`. */
  growData(usedBytes: number, needBytes: number): void {
    const data = new Uint8Array(Math.max(needBytes, this.data.length * 2));
    data.set(this.data.subarray(0, usedBytes));
    this.data = data;
  }

  /** Gives back the memory of `data` where it has grown beyond `maxBytes`; only for an empty column. */
  trim(maxBytes: number): void {
    if (this.length === 0 && this.data.length > maxBytes) this.data = new Uint8Array(maxBytes);
  }

  appendNull(): void {
    this.reserve(1, 0);
    this.starts[this.length + 1] = this.starts[this.length];
    this.length++;
    this.nullCount++;
  }

  appendBytes(bytes: Uint8Array): void {
    this.appendFrom(bytes, 0, bytes.length, true);
  }

  /** Appends bytes[at, at + length); where `sealed` is false the length prefix is left zero until `seal`. */
  appendFrom(bytes: Uint8Array, at: number, length: number, sealed: boolean): void {
    this.reserve(1, length + 4);
    const start = this.end;
    writeLength(this.data, start, sealed ? length : 0);
    this.data.set(at === 0 && length === bytes.length ? bytes : bytes.subarray(at, at + length), start + 4);
    this.length++;
    this.starts[this.length] = start + 4 + length;
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
      if (starts[row] !== starts[row + 1] && !isUtf8(data.subarray(starts[row] + 4, starts[row + 1])))
        rows.push(row);
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
