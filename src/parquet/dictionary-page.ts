import type { BytesVector } from '../columns/vector.ts';
import type { BloomFilterBuilder } from './bloom-filter.ts';
import type { BufferPool } from './byte-chain.ts';
import type { BytesRange } from './bytes-range.ts';
import { ColumnDictionary } from './column-dictionary.ts';
import type { PageBuffer } from './page-buffer.ts';
import { bitWidthOf, RunLengthEncoder } from './run-length-encoder.ts';
import type { ValueRange } from './value-range.ts';

/** Runs of constants of one page; more would make a page of scattered constants longer than PLAIN. */
const MAX_RUNS = 4096;
/** A chunk whose first values are mostly different goes on without a dictionary: so many values, or bytes, are looked at. */
const TRIAL_VALUES = 4096;
const TRIAL_BYTES = 128 * 1024;
/** Values that are looked at before it is asked again whether the trial has ended. */
const STRIDE = 512;
/** A dictionary page and its own compression cost about this much. */
const DICTIONARY_OVERHEAD_BYTES = 64;

/** By bit width; shared by all columns of a thread: what `finish` gives is copied at once. */
const encoders: RunLengthEncoder[] = [];

/**
 * The open page of a column chunk that has a dictionary, and whether it is worth having: constants are stored once, as
 * runs; byte strings are, as long as they are few distinct ones.
 */
export class DictionaryPage {
  readonly dictionary: ColumnDictionary;
  private readonly pool: BufferPool;
  private readonly encodesStrings: boolean;
  /** Whether byte strings go to the dictionary for now. */
  wantsStrings: boolean;
  /** No file of many values gets a second trial. */
  private hasFailed = false;
  private isTrial = true;
  /** PLAIN bytes of the byte strings of this chunk that went to the dictionary. */
  private chunkBytes = 0;
  private lastPlain: Uint8Array | undefined;
  private lastIndex = -1;
  // the open page: runs of constants, or the indices of byte strings
  private readonly runIndices: number[] = [];
  private readonly runLengths: number[] = [];
  private indexBuffer: Uint8Array | undefined;
  private indices: Uint16Array = new Uint16Array(0);
  private count = 0;
  /** What the byte strings of the page take in PLAIN form. */
  pageBytes = 0;
  /** Bytes of the entries that are not of this page. */
  private earlierBytes = 0;

  /** Strings are encoded where the dictionary may have more than 0 bytes; constants always are. */
  constructor(pool: BufferPool, dictionaryBytes: number) {
    this.pool = pool;
    this.encodesStrings = dictionaryBytes > 0;
    this.wantsStrings = this.encodesStrings;
    this.dictionary = new ColumnDictionary(pool, Math.max(dictionaryBytes, 64 * 1024));
  }

  get heldBytes(): number {
    return this.dictionary.heldBytes + this.runIndices.length * 16 + (this.indexBuffer?.length ?? 0);
  }

  /** About what the page and its dictionary take, before compression. */
  get encodedBytes(): number {
    return (
      this.dictionary.plainBytes + Math.ceil((this.count * this.bitWidth) / 8) + 2 * this.runIndices.length
    );
  }

  get hasRoomForRun(): boolean {
    return this.runIndices.length < MAX_RUNS;
  }

  /** The index of a constant; -1 where the dictionary is full. */
  indexOfConstant(plain: Uint8Array): number {
    if (plain === this.lastPlain) return this.lastIndex;
    const view = new DataView(plain.buffer, plain.byteOffset, plain.length);
    const index = this.dictionary.add(plain, view, 0, plain.length);
    if (index >= 0) {
      this.lastPlain = plain;
      this.lastIndex = index;
    }
    return index;
  }

  appendRun(index: number, count: number): void {
    const last = this.runIndices.length - 1;
    if (last >= 0 && this.runIndices[last] === index) this.runLengths[last] += count;
    else {
      this.runIndices.push(index);
      this.runLengths.push(count);
    }
  }

  /**
   * Appends byte strings of rows [from, until), null ones passed over. Returns the row at which it stopped: `until`, or
   * less where the dictionary is full. Where it is full, or of no use, `wantsStrings` is false afterwards, and the page must
   * go on in PLAIN form.
   */
  appendStrings(
    vector: BytesVector,
    from: number,
    until: number,
    range: ValueRange | undefined,
    bloom: BloomFilterBuilder | undefined,
  ): number {
    for (let row = from; row < until; ) {
      const end = this.appendStride(vector, row, Math.min(until, row + STRIDE), range, bloom);
      if (end < Math.min(until, row + STRIDE)) {
        this.wantsStrings = false;
        return end;
      }
      row = end;
      if (this.isTrial && (this.count >= TRIAL_VALUES || this.chunkBytes >= TRIAL_BYTES)) {
        this.isTrial = false;
        if (!this.isWorthIt) {
          this.hasFailed = true;
          this.wantsStrings = false;
          return row;
        }
      }
    }
    return until;
  }

  private appendStride(
    vector: BytesVector,
    from: number,
    until: number,
    range: ValueRange | undefined,
    bloom: BloomFilterBuilder | undefined,
  ): number {
    const { data, starts } = vector;
    const { dictionary } = this;
    this.reserve(this.count + until - from);
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    const { indices } = this;
    let { count } = this;
    let row = from;
    for (; row < until; row++) {
      const start = starts[row];
      const end = starts[row + 1];
      if (start === end) continue;
      const known = dictionary.size;
      let index = dictionary.peek(view, start, end);
      if (index < 0) {
        index = dictionary.add(data, view, start, end);
        if (index < 0) break;
      }
      indices[count++] = index;
      // each distinct value once: per page for its range, per chunk for the filter
      if (dictionary.isNewOnPage(index)) (range as BytesRange | undefined)?.take(data, start + 4, end);
      if (index === known) bloom?.add(data, start + 4, end);
    }
    const bytes = starts[row] - starts[from];
    this.pageBytes += bytes;
    this.chunkBytes += bytes;
    this.count = count;
    return row;
  }

  private reserve(count: number): void {
    if (count <= this.indices.length) return;
    const buffer = this.pool.take(Math.max(count * 2, this.indices.length * 4));
    const indices = new Uint16Array(buffer.buffer, 0, buffer.length >>> 1);
    indices.set(this.indices.subarray(0, this.count));
    if (this.indexBuffer !== undefined) this.pool.give(this.indexBuffer);
    this.indexBuffer = buffer;
    this.indices = indices;
  }

  /** The dictionary should halve the chunk, and the page that was written last too. */
  private get isWorthIt(): boolean {
    const { plainBytes } = this.dictionary;
    return (
      plainBytes * 2 + DICTIONARY_OVERHEAD_BYTES <= this.chunkBytes &&
      (plainBytes - this.earlierBytes) * 2 <= this.pageBytes
    );
  }

  /** Puts the strings of the page into `page` in PLAIN form; this chunk goes on so. */
  moveTo(page: PageBuffer, chunkHasDictionary: boolean): void {
    const { dictionary, indices } = this;
    const entries = dictionary.plainEntries();
    for (let i = 0; i < this.count; i++)
      page.append(entries, dictionary.startOf(indices[i]), dictionary.endOf(indices[i]));
    this.releaseIndices();
    if (!chunkHasDictionary) this.clearDictionary();
  }

  /** Whether the page, which ends, is better in PLAIN form; also asks whether the next ones are. */
  shouldMove(): boolean {
    if (this.isWorthIt) {
      this.isTrial = false;
      return false;
    }
    this.wantsStrings = false;
    return this.isTrial;
  }

  /** Whether the page has no value at all. */
  get isEmpty(): boolean {
    return this.count === 0 && this.runIndices.length === 0;
  }

  /** The values section of the open page, bit width, then runs; the next page begins. Good until the next call of any page. */
  finish(): [Uint8Array, Uint8Array] {
    const { bitWidth } = this;
    encoders[bitWidth] ??= new RunLengthEncoder(bitWidth);
    const encoder = encoders[bitWidth];
    encoder.clear();
    for (let i = 0; i < this.runIndices.length; i++) encoder.append(this.runIndices[i], this.runLengths[i]);
    encoder.appendAll(this.indices, 0, this.count);
    return [Uint8Array.of(bitWidth), encoder.finish()];
  }

  private get bitWidth(): number {
    // readers differ in how they take a width of 0: one bit is understood by all
    return Math.max(1, bitWidthOf(this.dictionary.size - 1));
  }

  /** The next page of the chunk begins. */
  nextPage(): void {
    this.runIndices.length = 0;
    this.runLengths.length = 0;
    this.count = 0;
    this.pageBytes = 0;
    this.earlierBytes = this.dictionary.plainBytes;
    this.dictionary.nextPage();
  }

  /** The next chunk begins; the memory is given back. */
  release(): void {
    this.nextPage();
    this.releaseIndices();
    this.clearDictionary();
    this.wantsStrings = this.encodesStrings && !this.hasFailed;
    this.isTrial = true;
  }

  private releaseIndices(): void {
    if (this.indexBuffer !== undefined) this.pool.give(this.indexBuffer);
    this.indexBuffer = undefined;
    this.indices = new Uint16Array(0);
    this.count = 0;
    this.pageBytes = 0;
  }

  private clearDictionary(): void {
    this.dictionary.clear();
    this.chunkBytes = 0;
    this.earlierBytes = 0;
    this.lastPlain = undefined;
    this.lastIndex = -1;
  }
}
