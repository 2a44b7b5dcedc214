import type { BooleanColumn } from './boolean-column.ts';
import type { BytesColumn } from './bytes-column.ts';
import { copyRow } from './copy-row.ts';
import type { TypedColumn } from './create-column.ts';
import type { FixedColumn } from './fixed-column.ts';
import type { Float32Column } from './float32-column.ts';
import type { Float64Column } from './float64-column.ts';
import type { Int32Column } from './int32-column.ts';
import type { Int64Column } from './int64-column.ts';

/** Bytes that stand together are moved by a loop up to this long, longer ones by `set`, whose view costs more. */
const LOOP_MAX_BYTES = 48;

/**
 * Appends rows `rows[from, until)`, row numbers in ascending order, of a column to another of the same type: what
 * `copyRow` does row by row, but a column at a time, so that hardly more than the values is touched.
 */
export function copyRows(
  source: TypedColumn,
  rows: Int32Array,
  from: number,
  until: number,
  to: TypedColumn,
): void {
  switch (source.kind) {
    case 'int64':
      copyWords(source, rows, from, until, to as Int64Column);
      break;
    case 'bytes':
      copyBytes(source, rows, from, until, to as BytesColumn);
      break;
    case 'int32':
    case 'float32':
    case 'float64':
    case 'boolean':
      copyNumbers(source, rows, from, until, to as NumberColumn);
      break;
    default:
      for (let i = from; i < until; i++) copyRow(source, rows[i], to);
  }
}

function copyWords(
  source: Int64Column,
  rows: Int32Array,
  from: number,
  until: number,
  to: Int64Column,
): void {
  to.reserve(until - from);
  const { words } = source;
  const target = to.words;
  for (let i = from, at = to.length * 2; i < until; i++, at += 2) {
    const row = rows[i] * 2;
    target[at] = words[row];
    target[at + 1] = words[row + 1];
  }
  copyNulls(source, rows, from, until, to);
  to.length += until - from;
}

/** A column with one element of `values` to a row. */
type NumberColumn = Int32Column | Float32Column | Float64Column | BooleanColumn;

function copyNumbers(
  source: NumberColumn,
  rows: Int32Array,
  from: number,
  until: number,
  to: NumberColumn,
): void {
  to.reserve(until - from);
  const { values } = source;
  const target = to.values;
  for (let i = from, at = to.length; i < until; i++, at++) target[at] = values[rows[i]];
  copyNulls(source, rows, from, until, to);
  to.length += until - from;
}

type NullableColumn = Pick<FixedColumn, 'length' | 'nulls' | 'nullCount'>;

/** The marks of rows that are about to be appended. */
function copyNulls(
  source: NullableColumn,
  rows: Int32Array,
  from: number,
  until: number,
  to: NullableColumn,
): void {
  if (source.nullCount === 0) return;
  const { nulls } = source;
  let count = 0;
  for (let i = from, at = to.length; i < until; i++, at++) {
    const isNull = nulls[rows[i]];
    to.nulls[at] = isNull;
    count += isNull;
  }
  to.nullCount += count;
}

function copyBytes(
  source: BytesColumn,
  rows: Int32Array,
  from: number,
  until: number,
  to: BytesColumn,
): void {
  const { starts } = source;
  let bytes = 0;
  for (let i = from; i < until; i++) bytes += starts[rows[i] + 1] - starts[rows[i]];
  to.reserve(until - from, bytes);
  const ends = to.starts;
  let end = to.end;
  let next = to.length;
  let nulls = 0;
  for (let i = from; i < until; ) {
    const first = rows[i];
    const shift = end - starts[first];
    let row = first;
    do {
      ends[++next] = starts[row + 1] + shift;
      if (starts[row + 1] === starts[row]) nulls++;
      row++;
      i++;
    } while (i < until && rows[i] === row);
    moveBytes(source.data, starts[first], starts[row], to.data, end);
    end = ends[next];
  }
  to.length = next;
  to.nullCount += nulls;
}

function moveBytes(source: Uint8Array, from: number, until: number, to: Uint8Array, at: number): void {
  if (until - from > LOOP_MAX_BYTES) to.set(source.subarray(from, until), at);
  else for (let i = from, j = at; i < until; i++, j++) to[j] = source[i];
}
