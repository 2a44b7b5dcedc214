import type { ThriftWriter } from './thrift-writer.ts';
import { XxHash64 } from './xxhash64.ts';

/** Salts of the split block bloom filter (parquet-format, BloomFilter.md). */
const SALT = Int32Array.of(
  0x47b6137b,
  0x44974d91,
  0x8824ad5b,
  0xa2b7289d,
  0x705495c7,
  0x2df1424b,
  0x9efc4947,
  0x5c6bfb31,
);

const FALSE_POSITIVES = 0.01;
const MIN_FILTER_BYTES = 32;
const MAX_FILTER_BYTES = 1024 * 1024;

/**
 * The distinct hashes of one column over one row group. The filter is made at the end, when their number, and with it
 * its size, is known; past the number that the largest filter serves, further ones are set in that filter directly.
 */
export class BloomFilterBuilder {
  private readonly hasher = new XxHash64();
  /** Open addressing: pairs of words; a free place is (0, 0), and the hash 0 is kept apart. */
  private table = new Int32Array(2 * 64);
  private count = 0;
  private hasZero = false;
  private full: Uint32Array | undefined;

  get heldBytes(): number {
    return (this.table.length + (this.full?.length ?? 0)) * 4;
  }

  /** Takes in a value by its PLAIN bytes without length, `data[from, until)`. */
  add(data: Uint8Array, from: number, until: number): void {
    this.hasher.hash(data, from, until);
    const { low, high } = this.hasher;
    if (this.full !== undefined) insert(this.full, low, high);
    else if ((low | high) === 0) this.hasZero = true;
    else this.addHash(low, high);
  }

  private addHash(low: number, high: number): void {
    const { table } = this;
    const mask = table.length / 2 - 1;
    let at = (low ^ high) & mask;
    for (;;) {
      const held = table[at * 2];
      const heldHigh = table[at * 2 + 1];
      if (held === low && heldHigh === high) return;
      if ((held | heldHigh) === 0) break;
      at = (at + 1) & mask;
    }
    table[at * 2] = low;
    table[at * 2 + 1] = high;
    this.count++;
    if (this.count * 4 > mask * 3) this.grow();
  }

  private grow(): void {
    const old = this.table;
    if (filterBytes(this.count) >= MAX_FILTER_BYTES) {
      this.full = this.fill(new Uint32Array(MAX_FILTER_BYTES / 4));
      this.table = new Int32Array(2 * 64);
      return;
    }
    this.table = new Int32Array(old.length * 2);
    this.count = 0;
    for (let i = 0; i < old.length; i += 2) {
      if ((old[i] | old[i + 1]) !== 0) this.addHash(old[i], old[i + 1]);
    }
  }

  private fill(words: Uint32Array): Uint32Array {
    const { table } = this;
    for (let i = 0; i < table.length; i += 2) {
      if ((table[i] | table[i + 1]) !== 0) insert(words, table[i], table[i + 1]);
    }
    if (this.hasZero) insert(words, 0, 0);
    return words;
  }

  /** The bitset; undefined where no value was taken in. */
  build(): Uint8Array | undefined {
    if (this.full === undefined && this.count === 0 && !this.hasZero) return undefined;
    const words = this.full ?? this.fill(new Uint32Array(filterBytes(this.count + 1) / 4));
    return new Uint8Array(words.buffer);
  }

  clear(): void {
    this.table = new Int32Array(2 * 64);
    this.count = 0;
    this.hasZero = false;
    this.full = undefined;
  }
}

/** Bytes of the filter for `distinct` values at 1 % false positives: a power of two of 32 B to 1 MiB. */
export function filterBytes(distinct: number): number {
  const bits = (-8 * distinct) / Math.log(1 - FALSE_POSITIVES ** (1 / 8));
  let bytes = MIN_FILTER_BYTES;
  while (bytes * 8 < bits && bytes < MAX_FILTER_BYTES) bytes *= 2;
  return bytes;
}

function insert(words: Uint32Array, low: number, high: number): void {
  const blocks = words.length >>> 3;
  // (high as unsigned * blocks) >> 32, exact: blocks is at most 2^15
  const block = Math.floor(((high >>> 0) * blocks) / 4294967296) * 8;
  for (let i = 0; i < 8; i++) words[block + i] |= 1 << (Math.imul(low, SALT[i]) >>> 27);
}

/** The BloomFilterHeader that stands before the bitset. */
export function writeBloomFilterHeader(thrift: ThriftWriter, bytes: number): void {
  thrift.beginStruct();
  thrift.i32Field(1, bytes);
  for (const field of [2, 3, 4]) {
    thrift.structField(field);
    thrift.emptyField(1);
    thrift.endStruct();
  }
  thrift.endStruct();
}
