import type { BytesVector, FixedVector, FlatVector } from '../columns/vector.ts';
import type { BloomFilterBuilder } from './bloom-filter.ts';
import type { BufferPool } from './byte-chain.ts';
import type { BytesRange } from './bytes-range.ts';
import type { DictionaryPage } from './dictionary-page.ts';
import type { FixedRange } from './fixed-range.ts';
import type { FloatRange } from './float-range.ts';
import type { Int32Range, Int64Range } from './integer-range.ts';
import { PageBuffer } from './page-buffer.ts';
import type { ValueRange } from './value-range.ts';

type NumericVector = Exclude<FlatVector, BytesVector | FixedVector>;

/** Rows that are noted, or put together, at a time. */
export const BLOCK_ROWS = 4096;

// shared by all columns of a thread: nothing in them outlives a call
const gathered = new ArrayBuffer(BLOCK_ROWS * 8);
const gatheredBytes = new Uint8Array(gathered);
const gatheredInt32 = new Int32Array(gathered);
const gatheredFloat32 = new Float32Array(gathered);
const gatheredFloat64 = new Float64Array(gathered);

/** How the values of a page are held: as they are, as runs of constants, or as indices of a dictionary. */
export type PageMode = 'plain' | 'runs' | 'indices';

/** A page of indices ends where its values would fill so many in PLAIN form. */
const PLAIN_PAGES = 4;

/** The values of the open page of a column, with their range; notes them in the chunk's bloom filter. */
export class PageValues {
  private readonly page: PageBuffer;
  private readonly pageBytes: number;
  private readonly bloom: BloomFilterBuilder | undefined;
  /** Undefined for columns that never have a dictionary. */
  readonly dictionary: DictionaryPage | undefined;
  mode: PageMode = 'plain';
  /** Whether pages of this chunk have used the dictionary. */
  private hasDictionary = false;
  /** That of the open page; undefined where ranges are not kept. */
  range: ValueRange | undefined;

  constructor(
    pool: BufferPool,
    pageBytes: number,
    bloom: BloomFilterBuilder | undefined,
    dictionary: DictionaryPage | undefined,
  ) {
    this.page = new PageBuffer(pool, pageBytes);
    this.pageBytes = pageBytes;
    this.bloom = bloom;
    this.dictionary = dictionary;
  }

  get heldBytes(): number {
    return this.page.capacityBytes + (this.dictionary?.heldBytes ?? 0);
  }

  /** About what the open page takes, before compression. */
  get openBytes(): number {
    return this.page.length + (this.dictionary?.encodedBytes ?? 0);
  }

  /** PLAIN bytes until the page is full; negative where one value was longer than a page. */
  get room(): number {
    return this.mode === 'indices'
      ? PLAIN_PAGES * this.pageBytes - this.dictionary!.pageBytes
      : this.page.room;
  }

  /** The mode in which rows of a vector are appended. */
  modeOf(vector: FlatVector): PageMode {
    return vector.kind === 'bytes' && this.dictionary?.wantsStrings === true ? 'indices' : 'plain';
  }

  /** The whole page: `levels` one behind the other, then the values; afterwards `mode` says how these are encoded. */
  finish(levels: readonly Uint8Array[], isBoolean: boolean): Uint8Array {
    const { dictionary } = this;
    if (this.mode === 'indices') {
      if (dictionary!.isEmpty) this.mode = 'plain';
      else if (dictionary!.shouldMove()) this.moveToPlain();
    }
    if (this.mode === 'plain') {
      if (isBoolean) this.page.packBooleans();
      return this.page.withLevels(levels);
    }
    this.hasDictionary = true;
    return Buffer.concat([...levels, ...dictionary!.finish()]);
  }

  private moveToPlain(): void {
    this.dictionary!.moveTo(this.page, this.hasDictionary);
    this.mode = 'plain';
  }

  /** The next page of the chunk begins. */
  nextPage(): void {
    this.page.clear();
    this.dictionary?.nextPage();
    if (this.mode === 'indices' && !this.dictionary!.wantsStrings) this.mode = 'plain';
  }

  /** The next chunk begins; the memory is given back. */
  release(): void {
    this.page.release();
    this.dictionary?.release();
    this.range?.clear();
    this.mode = 'plain';
    this.hasDictionary = false;
  }

  /** Rows [from, until), none of them null; of byte strings also null ones: they take no room. */
  append(vector: FlatVector, from: number, until: number): void {
    if (vector.kind === 'bytes') this.appendBytes(vector, from, until);
    else if (vector.kind === 'fixed') this.appendFixed(vector, from, until);
    else {
      const values = vector.kind === 'int64' ? vector.words : vector.values;
      const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      this.appendNumbers(vector.kind, values, bytes, from, until);
    }
  }

  /** The values of `rows[from, until)`, row numbers in ascending order, none of a null row. */
  appendRows(vector: FlatVector, rows: Int32Array, from: number, until: number): void {
    if (until === from) return;
    const first = rows[from];
    if (rows[until - 1] - first === until - 1 - from) {
      this.append(vector, first, first + until - from);
    } else if (vector.kind === 'bytes' || vector.kind === 'fixed') {
      this.appendRuns(vector, rows, from, until);
    } else {
      for (let i = from; i < until; i += BLOCK_ROWS)
        this.gather(vector, rows, i, Math.min(until, i + BLOCK_ROWS));
    }
  }

  private appendRuns(vector: BytesVector | FixedVector, rows: Int32Array, from: number, until: number): void {
    for (let i = from; i < until; ) {
      const first = rows[i];
      let last = first;
      i++;
      // rows between that are null take no room among byte strings
      while (i < until && adjoins(vector, last, rows[i])) last = rows[i++];
      if (vector.kind === 'bytes') this.appendBytes(vector, first, last + 1);
      else this.appendFixed(vector, first, last + 1);
    }
  }

  private appendBytes(vector: BytesVector, first: number, until: number): void {
    let from = first;
    if (this.mode === 'indices') {
      from = this.dictionary!.appendStrings(vector, first, until, this.range, this.bloom);
      if (this.dictionary!.wantsStrings) return;
      this.moveToPlain();
    }
    const { data, starts } = vector;
    this.page.append(data, starts[from], starts[until]);
    if (this.range !== undefined) (this.range as BytesRange).update(data, starts, from, until);
    if (this.bloom === undefined) return;
    for (let row = from; row < until; row++) {
      if (starts[row] !== starts[row + 1]) this.bloom.add(data, starts[row] + 4, starts[row + 1]);
    }
  }

  private appendFixed(vector: FixedVector, from: number, until: number): void {
    const { data, width } = vector;
    this.page.append(data, from * width, until * width);
    if (this.range !== undefined) (this.range as FixedRange).update(data, from, until);
    if (this.bloom === undefined) return;
    for (let row = from; row < until; row++) this.bloom.add(data, row * width, (row + 1) * width);
  }

  /** At most BLOCK_ROWS numbers from their rows, one behind the other. */
  private gather(vector: NumericVector, rows: Int32Array, from: number, until: number): void {
    const count = until - from;
    switch (vector.kind) {
      case 'int64': {
        const { words } = vector;
        for (let i = 0; i < count; i++) {
          const at = rows[from + i] * 2;
          gatheredInt32[2 * i] = words[at];
          gatheredInt32[2 * i + 1] = words[at + 1];
        }
        this.appendNumbers('int64', gatheredInt32, gatheredBytes, 0, count);
        break;
      }
      case 'int32': {
        const { values } = vector;
        for (let i = 0; i < count; i++) gatheredInt32[i] = values[rows[from + i]];
        this.appendNumbers('int32', gatheredInt32, gatheredBytes, 0, count);
        break;
      }
      case 'float32': {
        const { values } = vector;
        for (let i = 0; i < count; i++) gatheredFloat32[i] = values[rows[from + i]];
        this.appendNumbers('float32', gatheredFloat32, gatheredBytes, 0, count);
        break;
      }
      case 'float64': {
        const { values } = vector;
        for (let i = 0; i < count; i++) gatheredFloat64[i] = values[rows[from + i]];
        this.appendNumbers('float64', gatheredFloat64, gatheredBytes, 0, count);
        break;
      }
      default: {
        const { values } = vector;
        for (let i = 0; i < count; i++) gatheredBytes[i] = values[rows[from + i]];
        this.appendNumbers('boolean', gatheredBytes, gatheredBytes, 0, count);
      }
    }
  }

  /** Values [from, until) of an array and of its bytes, little-endian as the machine is. */
  private appendNumbers(
    kind: NumericVector['kind'],
    values: Int32Array | Float32Array | Float64Array | Uint8Array,
    bytes: Uint8Array,
    from: number,
    until: number,
  ): void {
    const width = WIDTH_OF_KIND[kind];
    this.page.append(bytes, from * width, until * width);
    const { range } = this;
    if (range !== undefined) {
      if (kind === 'int64') (range as Int64Range).update(values as Int32Array, from, until);
      else if (kind === 'int32' || kind === 'boolean')
        (range as Int32Range).update(values as Int32Array | Uint8Array, from, until);
      else (range as FloatRange).update(values as Float32Array | Float64Array, from, until);
    }
    if (this.bloom === undefined) return;
    for (let i = from; i < until; i++) this.bloom.add(bytes, i * width, (i + 1) * width);
  }

  /** Appends `count` times one value in PLAIN form, whose index is `index` in a page of runs; `prefix` bytes are its length. */
  appendRepeated(plain: Uint8Array, index: number, count: number, prefix: number): void {
    if (this.mode === 'runs') this.dictionary!.appendRun(index, count);
    else this.page.appendRepeated(plain, count);
    this.range?.takePlain(plain, count);
    this.bloom?.add(plain, prefix, plain.length);
  }
}

const WIDTH_OF_KIND: Record<NumericVector['kind'], number> = {
  int64: 8,
  int32: 4,
  float64: 8,
  float32: 4,
  boolean: 1,
};

/** Whether the value of `next` stands right behind that of `row`. */
function adjoins(vector: BytesVector | FixedVector, row: number, next: number): boolean {
  return vector.kind === 'bytes' ? vector.starts[row + 1] === vector.starts[next] : next === row + 1;
}
