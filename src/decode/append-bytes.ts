import type { BytesColumn } from '../columns/bytes-column.ts';
import type { FixedColumn } from '../columns/fixed-column.ts';

/** Up to so many bytes a loop is quicker than the native copy with the view that it needs. */
const LOOP_BYTES = 48;

/**
 * Appends source[at, at + size) to a column of texts, its length prefix left zero until the column is sealed at the end of
 * the block: so that one native look over the column proves every text (see BytesColumn).
 */
export function appendText(column: BytesColumn, source: Uint8Array, at: number, size: number): void {
  const start = placeBytes(column, size);
  const { data } = column;
  data[start] = 0;
  data[start + 1] = 0;
  data[start + 2] = 0;
  data[start + 3] = 0;
  copy(source, at, size, data, start + 4);
}

/** Appends source[at, at + size) with its length prefix. */
export function appendBinary(column: BytesColumn, source: Uint8Array, at: number, size: number): void {
  const start = placeBytes(column, size);
  const { data } = column;
  data[start] = size & 0xff;
  data[start + 1] = (size >>> 8) & 0xff;
  data[start + 2] = (size >>> 16) & 0xff;
  data[start + 3] = size >>> 24;
  copy(source, at, size, data, start + 4);
}

/** Appends source[at, at + the column's width). */
export function appendFixed(column: FixedColumn, source: Uint8Array, at: number): void {
  const { width, length } = column;
  if (length === column.nulls.length) column.reserve(1);
  copy(source, at, width, column.data, length * width);
  column.length = length + 1;
}

/** Makes a row of `size` bytes and returns where its prefix begins. */
export function placeBytes(column: BytesColumn, size: number): number {
  const { length } = column;
  if (length + 2 > column.starts.length) column.reserve(1, 0);
  const start = column.starts[length];
  const end = start + 4 + size;
  if (end > column.data.length) column.growData(start, end);
  column.length = length + 1;
  column.starts[length + 1] = end;
  return start;
}

function copy(source: Uint8Array, at: number, size: number, target: Uint8Array, to: number): void {
  if (size > LOOP_BYTES) target.set(source.subarray(at, at + size), to);
  else for (let i = 0; i < size; i++) target[to + i] = source[at + i];
}
