import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import { placeBytes } from '../append-bytes.ts';
import type { AvroInput } from './avro-input.ts';

/** Up to so many bytes a loop over words is quicker than the native copy with the view that it needs. */
const LOOP_BYTES = 128;

/** Moves bytes from the input into a column; it holds on to a view of the column's buffer as long as that is the same. */
export class BytesMover {
  private readonly column: BytesColumn;
  private data: Uint8Array;
  private view: DataView;

  constructor(column: BytesColumn) {
    this.column = column;
    this.data = column.data;
    this.view = column.view;
  }

  /** Appends the next `size` bytes of the input after a length prefix of `prefix`. */
  move(input: AvroInput, size: number, prefix: number): void {
    const { column } = this;
    const start = placeBytes(column, size);
    if (column.data !== this.data) {
      this.data = column.data;
      this.view = column.view;
    }
    const { data, view } = this;
    const { bytes, at } = input;
    input.at = at + size;
    view.setUint32(start, prefix, true);
    const to = start + 4;
    if (size > LOOP_BYTES) {
      data.set(bytes.subarray(at, at + size), to);
      return;
    }
    const from = input.view;
    let i = 0;
    // No bigint is made: the compiler keeps them as words.
    for (; i + 8 <= size; i += 8) view.setBigUint64(to + i, from.getBigUint64(at + i, true), true);
    for (; i < size; i++) data[to + i] = bytes[at + i];
  }
}

/** Moves as many bytes as the column is wide. */
export function takeFixed(column: FixedColumn, input: AvroInput): void {
  const { width, length } = column;
  const at = input.take(width);
  if (length === column.nulls.length) column.reserve(1);
  const { bytes } = input;
  const { data } = column;
  for (let i = 0; i < width; i++) data[length * width + i] = bytes[at + i];
  column.length = length + 1;
}
