import type { GrowingColumn } from '../../columns/growing-column.ts';

/** Up to so many entries each key is compared with each; beyond, their forms are put into a set. */
const PAIRS_UP_TO = 12;

/**
 * Of the keys in rows [from, length) of a column, those that come again later, by their numbers from 0; null where none
 * does. Small maps allocate nothing.
 */
export function repeatedKeys(keys: GrowingColumn, from: number): ReadonlySet<number> | null {
  const count = keys.length - from;
  if (count < 2) return null;
  return count <= PAIRS_UP_TO ? amongFew(keys, from) : amongMany(keys, from);
}

function amongFew(keys: GrowingColumn, from: number): Set<number> | null {
  let repeated: Set<number> | null = null;
  for (let row = from; row < keys.length; row++) {
    for (let later = row + 1; later < keys.length; later++) {
      if (!isSame(keys, row, later)) continue;
      repeated ??= new Set();
      repeated.add(row - from);
      break;
    }
  }
  return repeated;
}

function amongMany(keys: GrowingColumn, from: number): Set<number> | null {
  let repeated: Set<number> | null = null;
  const seen = new Set<string | number>();
  for (let row = keys.length - 1; row >= from; row--) {
    const form = formOf(keys, row);
    if (seen.has(form)) {
      repeated ??= new Set();
      repeated.add(row - from);
    } else seen.add(form);
  }
  return repeated;
}

function isSame(keys: GrowingColumn, a: number, b: number): boolean {
  switch (keys.kind) {
    case 'int64':
      return keys.words[2 * a] === keys.words[2 * b] && keys.words[2 * a + 1] === keys.words[2 * b + 1];
    case 'bytes':
      return isSameBytes(
        keys.data,
        keys.starts[a] + 4,
        keys.starts[a + 1],
        keys.starts[b] + 4,
        keys.starts[b + 1],
      );
    case 'fixed': {
      const { data, width } = keys;
      return isSameBytes(data, a * width, (a + 1) * width, b * width, (b + 1) * width);
    }
    case 'int32':
    case 'boolean':
    case 'float32':
    case 'float64':
      return keys.values[a] === keys.values[b];
    default:
      return false;
  }
}

function isSameBytes(data: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): boolean {
  if (aEnd - a !== bEnd - b) return false;
  for (let i = a, j = b; i < aEnd; i++, j++) if (data[i] !== data[j]) return false;
  return true;
}

function formOf(keys: GrowingColumn, row: number): string | number {
  switch (keys.kind) {
    case 'int64':
      return `${keys.words[2 * row]} ${keys.words[2 * row + 1]}`;
    case 'bytes':
      return latin1(keys.data, keys.starts[row] + 4, keys.starts[row + 1]);
    case 'fixed':
      return latin1(keys.data, row * keys.width, (row + 1) * keys.width);
    case 'int32':
    case 'boolean':
    case 'float32':
    case 'float64':
      return keys.values[row];
    default:
      return row;
  }
}

function latin1(data: Uint8Array, from: number, until: number): string {
  return Buffer.from(data.buffer, data.byteOffset + from, until - from).toString('latin1');
}
