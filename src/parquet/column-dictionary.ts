import type { BufferPool } from './byte-chain.ts';

/** Indices have 16 bits; readers hold a dictionary whole. */
const MAX_ENTRIES = 65_536;
/** Values that hash alike are looked through so far: made-up ones must not make this slow. */
const MAX_PROBES = 48;
const FIRST_ENTRIES = 64;
/** Of the lists that are held beside its bytes: hash, page, place in `data`, two places of the table. */
const ENTRY_BYTES = 20;

const NO_NUMBERS = new Int32Array(0);
const NO_PAGES = new Uint32Array(0);
const NO_STARTS = new Uint32Array(1);

/**
 * The distinct values of a column chunk in PLAIN form, in the order in which they came, found by their bytes. Nothing is
 * allocated per value.
 */
export class ColumnDictionary {
  private readonly pool: BufferPool;
  private readonly maxBytes: number;
  private data: Uint8Array | undefined;
  private view: DataView = new DataView(new ArrayBuffer(0));
  /** Holds the four lists. */
  private lists: Uint8Array | undefined;
  /** Entry i is bytes [starts[i], starts[i + 1]) of `data`. */
  private starts: Uint32Array = NO_STARTS;
  private hashes: Int32Array = NO_NUMBERS;
  /** The page that had the entry last. */
  private pages: Uint32Array = NO_PAGES;
  /** Open addressing: an entry's index and one, 0 where free. */
  private table: Int32Array = NO_NUMBERS;
  private page = 1;
  size = 0;

  /** Holds up to `maxBytes` of values. */
  constructor(pool: BufferPool, maxBytes: number) {
    this.pool = pool;
    this.maxBytes = maxBytes;
  }

  /** Bytes of the entries. */
  get plainBytes(): number {
    return this.starts[this.size];
  }

  get heldBytes(): number {
    return (this.data?.length ?? 0) + (this.lists?.length ?? 0);
  }

  /**
   * The index of the value `source[from, until)`, 4 bytes at least, of which `view` is a view; it is taken in when it is
   * new. -1 where the dictionary is full.
   */
  add(source: Uint8Array, view: DataView, from: number, until: number): number {
    if (this.table.length === 0) this.grow();
    const hash = hashOf(view, from, until);
    const mask = this.table.length - 1;
    let at = hash & mask;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const index = this.table[at] - 1;
      if (index < 0) return this.insert(source, from, until, hash, at);
      if (this.hashes[index] === hash && this.equals(index, view, from, until)) return index;
      at = (at + 1) & mask;
    }
    return -1;
  }

  /**
   * The index of a value that `add` would find at its first place, which is where most values of most columns are; else -1,
   * and `add` knows. Short, so that its caller takes it in.
   */
  peek(view: DataView, from: number, until: number): number {
    const { table, starts } = this;
    if (table.length === 0) return -1;
    const hash = hashOf(view, from, until);
    const index = table[hash & (table.length - 1)] - 1;
    if (index < 0 || this.hashes[index] !== hash) return -1;
    const start = starts[index];
    const length = until - from;
    if (starts[index + 1] - start !== length) return -1;
    const own = this.view;
    for (let i = 0; i + 4 <= length; i += 4)
      if (own.getInt32(start + i) !== view.getInt32(from + i)) return -1;
    return own.getInt32(start + length - 4) === view.getInt32(until - 4) ? index : -1;
  }

  private equals(index: number, view: DataView, from: number, until: number): boolean {
    const start = this.starts[index];
    const length = until - from;
    if (this.starts[index + 1] - start !== length) return false;
    const own = this.view;
    // the last word may overlap the one before
    for (let i = 0; i + 4 <= length; i += 4)
      if (own.getInt32(start + i) !== view.getInt32(from + i)) return false;
    return own.getInt32(start + length - 4) === view.getInt32(until - 4);
  }

  private insert(source: Uint8Array, from: number, until: number, hash: number, at: number): number {
    const index = this.size;
    const start = this.starts[index];
    const end = start + until - from;
    if (index === MAX_ENTRIES || end > this.maxBytes) return -1;
    const data = this.reserve(start, end);
    for (let i = from, to = start; i < until; i++, to++) data[to] = source[i];
    this.hashes[index] = hash;
    this.starts[index + 1] = end;
    this.table[at] = index + 1;
    this.size++;
    if (this.size === this.hashes.length) this.grow();
    return index;
  }

  private reserve(used: number, need: number): Uint8Array {
    if (this.data !== undefined && need <= this.data.length) return this.data;
    const grown = this.pool.take(Math.max(need, used * 2));
    if (this.data !== undefined) {
      grown.set(this.data.subarray(0, used));
      this.pool.give(this.data);
    }
    this.data = grown;
    this.view = new DataView(grown.buffer, grown.byteOffset, grown.length);
    return grown;
  }

  /** All four lists are in one buffer: thousands of small ones would cost more than what is in them. */
  private grow(): void {
    const entries = Math.max(FIRST_ENTRIES, this.hashes.length * 2);
    const lists = this.pool.take(entries * ENTRY_BYTES + 4);
    const { buffer, byteOffset } = lists;
    const hashes = new Int32Array(buffer, byteOffset, entries);
    hashes.set(this.hashes);
    const pages = new Uint32Array(buffer, byteOffset + entries * 4, entries).fill(0);
    pages.set(this.pages);
    const table = new Int32Array(buffer, byteOffset + entries * 8, entries * 2).fill(0);
    const starts = new Uint32Array(buffer, byteOffset + entries * 16, entries + 1);
    starts.set(this.starts);
    if (this.lists !== undefined) this.pool.give(this.lists);
    this.lists = lists;
    this.hashes = hashes;
    this.pages = pages;
    this.starts = starts;
    this.table = table;
    const mask = table.length - 1;
    for (let index = 0; index < this.size; index++) {
      let at = hashes[index] & mask;
      while (table[at] !== 0) at = (at + 1) & mask;
      table[at] = index + 1;
    }
  }

  /** Whether this is the first time on the open page that the entry is asked for. */
  isNewOnPage(index: number): boolean {
    if (this.pages[index] === this.page) return false;
    this.pages[index] = this.page;
    return true;
  }

  nextPage(): void {
    this.page++;
  }

  /** The bytes of the entries one behind the other: the content of a dictionary page. A view, good until the next call. */
  plainEntries(): Uint8Array {
    return this.data === undefined ? new Uint8Array(0) : this.data.subarray(0, this.plainBytes);
  }

  startOf(index: number): number {
    return this.starts[index];
  }

  endOf(index: number): number {
    return this.starts[index + 1];
  }

  /** Forgets all entries and gives the memory back. */
  clear(): void {
    for (const buffer of [this.data, this.lists]) if (buffer !== undefined) this.pool.give(buffer);
    this.data = undefined;
    this.lists = undefined;
    this.hashes = NO_NUMBERS;
    this.pages = NO_PAGES;
    this.starts = NO_STARTS;
    this.table = NO_NUMBERS;
    this.size = 0;
  }
}

/** Of the length and of all bytes: by words, the last of which may overlap the one before, or the bytes in front. */
function hashOf(view: DataView, from: number, until: number): number {
  let hash = until - from;
  for (let at = from; at + 4 <= until; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ view.getInt32(until - 4), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
