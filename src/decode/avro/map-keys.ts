import type { BytesColumn } from '../../columns/bytes-column.ts';

/** Up to so many entries each key is compared with each; beyond, their texts are put into a set. */
const PAIRS_UP_TO = 12;

/**
 * Of the keys in rows [from, length) of a column, those that come again later, by their numbers from 0; undefined where
 * none does. Small maps allocate nothing.
 */
export function repeatedKeys(keys: BytesColumn, from: number): Set<number> | undefined {
  const count = keys.length - from;
  return count <= PAIRS_UP_TO ? repeatedAmongFew(keys, from) : repeatedAmongMany(keys, from);
}

function repeatedAmongFew(keys: BytesColumn, from: number): Set<number> | undefined {
  let repeated: Set<number> | undefined;
  for (let row = from; row < keys.length; row++) {
    for (let later = row + 1; later < keys.length; later++) {
      if (!sameKey(keys, row, later)) continue;
      repeated ??= new Set();
      repeated.add(row - from);
      break;
    }
  }
  return repeated;
}

function sameKey(keys: BytesColumn, a: number, b: number): boolean {
  const { data, starts } = keys;
  const length = starts[a + 1] - starts[a];
  if (starts[b + 1] - starts[b] !== length) return false;
  // The prefixes may be zero or the lengths, and are equal either way.
  for (let i = 4; i < length; i++) if (data[starts[a] + i] !== data[starts[b] + i]) return false;
  return true;
}

function repeatedAmongMany(keys: BytesColumn, from: number): Set<number> | undefined {
  let repeated: Set<number> | undefined;
  const seen = new Set<string>();
  for (let row = keys.length - 1; row >= from; row--) {
    const bytes = keys.data;
    const [start, end] = [keys.starts[row] + 4, keys.starts[row + 1]];
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
    if (seen.has(text)) {
      repeated ??= new Set();
      repeated.add(row - from);
    } else seen.add(text);
  }
  return repeated;
}
