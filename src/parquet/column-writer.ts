import type { ConstantVector, FlatVector } from '../columns/vector.ts';
import { SluiceError } from '../errors.ts';
import { BloomFilterBuilder } from './bloom-filter.ts';
import { type BufferPool, ByteChain } from './byte-chain.ts';
import { createRange } from './create-range.ts';
import { DictionaryPage } from './dictionary-page.ts';
import { EntryFit, type PageRoom } from './entry-fit.ts';
import { ENCODING, PHYSICAL_TYPE } from './format.ts';
import type { LeafColumn } from './leaf-column.ts';
import type { Levels } from './levels.ts';
import type { CompressPage } from './page-codec.ts';
import { encodeDataPageHeader, encodeDictionaryPageHeader } from './page-header.ts';
import { PageIndexBuilder } from './page-index.ts';
import { BLOCK_ROWS, type PageMode, PageValues } from './page-values.ts';
import { checkValueLength, plainValue } from './plain-value.ts';
import { bitWidthOf, RunLengthEncoder } from './run-length-encoder.ts';
import { ThriftWriter } from './thrift-writer.ts';
import type { ValueRange } from './value-range.ts';

/** What a leaf column needs beside its own schema. */
export interface ColumnWriterSettings {
  readonly pool: BufferPool;
  readonly compress: CompressPage;
  readonly pageBytes: number;
  readonly pageRows: number;
  /** The most a dictionary of byte strings may hold; 0: there is none. */
  readonly dictionaryBytes: number;
  /** Keep minima and maxima: not for leaves inside lists and maps, nor behind the first `metricsColumns`. */
  readonly keepsRange: boolean;
  readonly bloomFilter: boolean;
}

/** Entries of a page of long lists of nothing: their number in a page's header must not pass 2^31. */
const MAX_PAGE_ENTRIES = 1024 * 1024;

// shared by all columns of a thread: nothing in them outlives a call
const blockLevels = new Uint8Array(BLOCK_ROWS);
const blockRows = new Int32Array(BLOCK_ROWS);
const thrift = new ThriftWriter(64);

/**
 * Writes one leaf column: rows are appended to an open page in PLAIN form; a full page is compressed at once and kept in
 * the chunk until the row group is written. Constants, and byte strings that repeat, go to a dictionary instead.
 */
export class ColumnWriter {
  readonly leaf: LeafColumn;
  private readonly settings: ColumnWriterSettings;

  // the open page
  private pageRowCount = 0;
  /** Entries: values and nulls; for leaves inside lists also the places of empty lists. */
  private pageEntries = 0;
  private pageNulls = 0;
  private readonly definitions: RunLengthEncoder | undefined;
  private readonly repetitions: RunLengthEncoder | undefined;
  private readonly values: PageValues;
  private entryFit: EntryFit | undefined;
  private previousRange: ValueRange | undefined;
  private hasPreviousRange = false;

  // the chunk of the open row group
  readonly chain: ByteChain;
  readonly index = new PageIndexBuilder();
  readonly bloom: BloomFilterBuilder | undefined;
  readonly chunkRange: ValueRange | undefined;
  private lastConstant: ConstantVector['value'] | undefined;
  private lastPlain: Uint8Array | undefined;
  chunkRows = 0;
  chunkEntries = 0;
  chunkNulls = 0;
  /** Pages with their headers, before compression. */
  uncompressedBytes = 0;
  plainPages = 0;
  dictionaryPages = 0;

  constructor(leaf: LeafColumn, settings: ColumnWriterSettings) {
    this.leaf = leaf;
    this.settings = settings;
    this.chain = new ByteChain(settings.pool);
    if (settings.bloomFilter) this.bloom = new BloomFilterBuilder();
    // Iceberg's vectorised Spark reader took no dictionaries of fixed before 1.10, and booleans never have one
    const { physicalType } = leaf;
    const hasDictionary =
      physicalType !== PHYSICAL_TYPE.BOOLEAN && physicalType !== PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY;
    const { pool, dictionaryBytes } = settings;
    const dictionary = hasDictionary ? new DictionaryPage(pool, dictionaryBytes) : undefined;
    this.values = new PageValues(pool, settings.pageBytes, this.bloom, dictionary);
    if (leaf.maxDefinitionLevel > 0)
      this.definitions = new RunLengthEncoder(bitWidthOf(leaf.maxDefinitionLevel));
    if (leaf.maxRepetitionLevel > 0)
      this.repetitions = new RunLengthEncoder(bitWidthOf(leaf.maxRepetitionLevel));
    if (settings.keepsRange) {
      this.values.range = createRange(leaf);
      this.previousRange = createRange(leaf);
      this.chunkRange = createRange(leaf);
    }
  }

  /** Everything held in memory. */
  get heldBytes(): number {
    return (
      this.values.heldBytes +
      this.chain.capacityBytes +
      this.index.heldBytes +
      (this.bloom?.heldBytes ?? 0) +
      (this.definitions?.capacityBytes ?? 0) +
      (this.repetitions?.capacityBytes ?? 0)
    );
  }

  /** Bytes of the open page, before compression. */
  get openBytes(): number {
    return this.values.openBytes;
  }

  /** Appends rows [from, until) of a vector of this column's kind. */
  append(vector: FlatVector | ConstantVector, from: number, until: number): void {
    if (vector.kind === 'constant') {
      this.appendConstant(vector.value, until - from);
      return;
    }
    this.checkKind(vector);
    if (from < until) this.enterPage(this.values.modeOf(vector));
    for (let row = from; row < until; ) {
      const stop = this.fit(vector, row, until);
      if (stop === row) {
        this.sealPage();
        continue;
      }
      this.appendStretch(vector, row, stop);
      row = stop;
      if (this.pageRowCount >= this.settings.pageRows) this.sealPage();
    }
  }

  /** How far the rows from `row` fit into the open page; `row` itself where the page must end first. */
  private fit(vector: FlatVector, row: number, until: number): number {
    const stop = Math.min(until, row + this.settings.pageRows - this.pageRowCount);
    const { room } = this.values;
    const isEmpty = this.pageRowCount === 0;
    if (vector.kind !== 'bytes') {
      const width = this.leaf.width || 1;
      const rows = Math.floor(room / width);
      if (rows < 1) return isEmpty ? row + 1 : row;
      return Math.min(stop, row + rows);
    }
    const { starts } = vector;
    const most = starts[row] + room;
    if (starts[stop] <= most) return stop;
    let low = row;
    let high = stop;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (starts[middle] <= most) low = middle;
      else high = middle - 1;
    }
    if (low > row || !isEmpty) return low;
    checkValueLength(this.leaf, starts[row + 1] - starts[row] - 4);
    return row + 1;
  }

  private appendStretch(vector: FlatVector, from: number, until: number): void {
    if (vector.nullCount === 0 || !hasNulls(vector, from, until)) {
      this.definitions?.append(this.leaf.maxDefinitionLevel, until - from);
      this.values.append(vector, from, until);
      this.countRows(until - from, 0);
      return;
    }
    if (this.leaf.required || this.definitions === undefined)
      throw this.fault('a null for a required column');
    for (let row = from; row < until; row += BLOCK_ROWS)
      this.appendNullable(vector, row, Math.min(until, row + BLOCK_ROWS));
  }

  /** At most BLOCK_ROWS rows, of which some may be null. */
  private appendNullable(vector: FlatVector, from: number, until: number): void {
    const present = this.leaf.maxDefinitionLevel;
    let count = 0;
    if (vector.kind === 'bytes') {
      const { starts } = vector;
      for (let row = from; row < until; row++) {
        const isPresent = starts[row] === starts[row + 1] ? 0 : 1;
        blockLevels[row - from] = present - 1 + isPresent;
        count += isPresent;
      }
      this.values.append(vector, from, until);
    } else {
      const { nulls } = vector;
      for (let row = from; row < until; row++) {
        const isPresent = nulls[row] ^ 1;
        blockLevels[row - from] = present - 1 + isPresent;
        blockRows[count] = row;
        count += isPresent;
      }
      this.values.appendRows(vector, blockRows, 0, count);
    }
    this.definitions!.appendAll(blockLevels, 0, until - from);
    this.countRows(until - from, until - from - count);
  }

  /**
   * Appends rows [from, until), at most BLOCK_ROWS, whose definition levels are `levels[0, until - from)`: the rows of the
   * highest level have a value; what the vector holds in the others has no meaning. For leaves in structs that may be null.
   */
  appendLevelled(vector: FlatVector, levels: Uint8Array, from: number, until: number): void {
    this.checkKind(vector);
    if (from < until) this.enterPage(this.values.modeOf(vector));
    const present = this.leaf.maxDefinitionLevel;
    for (let row = from; row < until; ) {
      const stop = this.fit(vector, row, until);
      let count = 0;
      for (let r = row; r < stop; r++) {
        blockRows[count] = r;
        count += levels[r - from] === present ? 1 : 0;
      }
      if (stop > row) {
        this.definitions!.appendAll(levels, row - from, stop - from);
        this.values.appendRows(vector, blockRows, 0, count);
        this.countRows(stop - row, stop - row - count);
      }
      if (stop === row || this.pageRowCount >= this.settings.pageRows) this.sealPage();
      row = stop;
    }
  }

  /** Appends rows that are null here, or above: their definition level says where. */
  appendNulls(level: number, rows: number): void {
    if (this.definitions === undefined) throw this.fault('a null for a required column');
    for (let left = rows; left > 0; ) {
      const take = Math.min(left, this.settings.pageRows - this.pageRowCount);
      this.definitions.append(level, take);
      this.repetitions?.append(0, take);
      this.countRows(take, take);
      left -= take;
      if (this.pageRowCount >= this.settings.pageRows) this.sealPage();
    }
  }

  private appendConstant(value: ConstantVector['value'], count: number): void {
    if (count === 0) return;
    if (value === null) {
      if (this.leaf.required) throw this.fault('a null for a required column');
      this.appendNulls(this.leaf.maxDefinitionLevel - 1, count);
      return;
    }
    const plain = this.constantPlain(value);
    const { dictionary } = this.values;
    // a page of indices may take its dictionary with it when it ends
    if (this.values.mode === 'indices') this.enterPage('runs');
    const index = dictionary === undefined ? -1 : dictionary.indexOfConstant(plain);
    const mode = index < 0 ? 'plain' : 'runs';
    this.enterPage(mode);
    for (let left = count; left > 0; ) {
      let take = Math.min(left, this.settings.pageRows - this.pageRowCount);
      if (index < 0) take = this.fitConstant(plain, take);
      if (take === 0 || (index >= 0 && !dictionary!.hasRoomForRun)) {
        this.sealPage();
        this.enterPage(mode);
        continue;
      }
      this.definitions?.append(this.leaf.maxDefinitionLevel, take);
      const prefix = this.leaf.physicalType === PHYSICAL_TYPE.BYTE_ARRAY ? 4 : 0;
      this.values.appendRepeated(plain, index, take, prefix);
      this.countRows(take, 0);
      left -= take;
      if (this.pageRowCount >= this.settings.pageRows) this.sealPage();
    }
  }

  /** How many copies of a value that is not in a dictionary fit the open page. */
  private fitConstant(plain: Uint8Array, most: number): number {
    const rows = Math.floor(this.values.room / plain.length);
    return rows < 1 && this.pageRowCount === 0 ? 1 : Math.min(most, rows);
  }

  private constantPlain(value: NonNullable<ConstantVector['value']>): Uint8Array {
    // by Object.is: 0 and -0 are two values
    if (typeof value !== 'object' && Object.is(value, this.lastConstant)) return this.lastPlain!;
    const plain = plainValue(this.leaf, value);
    if (typeof value !== 'object') {
      this.lastConstant = value;
      this.lastPlain = plain;
    }
    return plain;
  }

  /**
   * Appends whole rows of a leaf inside lists or maps: `levels` of their entries, and `rows[0, valueCount)`, the rows of
   * the vector, ascending, that hold the values of the entries of the highest definition level. No vector: no values.
   */
  appendEntries(levels: Levels, vector: FlatVector | undefined, rows: Int32Array, valueCount: number): void {
    if (vector !== undefined) this.checkKind(vector);
    if (vector !== undefined && valueCount > 0) this.enterPage(this.values.modeOf(vector));
    this.entryFit ??= new EntryFit(this.leaf);
    const fit = this.entryFit;
    for (let entry = 0, value = 0; entry < levels.length; ) {
      fit.measure(this.room, levels, entry, vector, rows, value, valueCount);
      if (fit.rows > 0) {
        this.repetitions!.appendAll(levels.repetition, entry, fit.entry);
        this.definitions!.appendAll(levels.definition, entry, fit.entry);
        if (vector !== undefined) this.values.appendRows(vector, rows, value, fit.value);
        this.pageRowCount += fit.rows;
        this.pageEntries += fit.entry - entry;
        this.pageNulls += fit.entry - entry - (fit.value - value);
        entry = fit.entry;
        value = fit.value;
      }
      if (fit.rows === 0 || this.isFull) this.sealPage();
    }
  }

  private get room(): PageRoom {
    return {
      bytes: this.values.room,
      rows: this.settings.pageRows - this.pageRowCount,
      entries: MAX_PAGE_ENTRIES - this.pageEntries,
      isEmpty: this.pageEntries === 0,
    };
  }

  private get isFull(): boolean {
    return (
      this.values.room <= 0 ||
      this.pageRowCount >= this.settings.pageRows ||
      this.pageEntries >= MAX_PAGE_ENTRIES
    );
  }

  private countRows(rows: number, nulls: number): void {
    this.pageRowCount += rows;
    this.pageEntries += rows;
    this.pageNulls += nulls;
  }

  /** Opens a page of the wanted mode, ending one of another that holds values. */
  private enterPage(mode: PageMode): void {
    if (this.values.mode === mode) return;
    if (this.pageEntries > this.pageNulls) this.sealPage();
    this.values.mode = mode;
  }

  /** Ends the open page, if it has any entry: levels in front, compressed, kept in the chunk. */
  sealPage(): void {
    if (this.pageEntries === 0) return;
    const { values } = this;
    const raw = values.finish(this.levels(), this.leaf.physicalType === PHYSICAL_TYPE.BOOLEAN);
    const isDictionary = values.mode !== 'plain';
    const compressed = this.settings.compress(raw);
    const header = encodeDataPageHeader(thrift, {
      rawBytes: raw.length,
      compressed,
      entries: this.pageEntries,
      encoding: isDictionary ? ENCODING.RLE_DICTIONARY : ENCODING.PLAIN,
    });
    const offset = this.chain.length;
    this.chain.append(header);
    this.chain.append(compressed);
    this.uncompressedBytes += header.length + raw.length;
    if (isDictionary) this.dictionaryPages++;
    else this.plainPages++;
    const valueCount = this.pageEntries - this.pageNulls;
    const previous = this.hasPreviousRange ? this.previousRange : undefined;
    this.index.add(
      offset,
      this.chain.length - offset,
      this.chunkRows,
      this.pageNulls,
      valueCount,
      values.range,
      previous,
    );
    this.mergePage();
  }

  private mergePage(): void {
    const { range } = this.values;
    if (range !== undefined) {
      this.chunkRange!.merge(range);
      if (!range.isEmpty) {
        this.values.range = this.previousRange;
        this.previousRange = range;
        this.hasPreviousRange = true;
      }
      this.values.range!.clear();
    }
    this.chunkRows += this.pageRowCount;
    this.chunkEntries += this.pageEntries;
    this.chunkNulls += this.pageNulls;
    this.values.nextPage();
    this.pageRowCount = 0;
    this.pageEntries = 0;
    this.pageNulls = 0;
    this.definitions?.clear();
    this.repetitions?.clear();
  }

  /** Both kinds of levels as data pages of version 1 hold them: each with a 4-byte length in front. */
  private levels(): Uint8Array[] {
    const parts: Uint8Array[] = [];
    for (const encoder of [this.repetitions, this.definitions]) {
      if (encoder === undefined) continue;
      const runs = encoder.finish();
      const length = new Uint8Array(4);
      new DataView(length.buffer).setUint32(0, runs.length, true);
      parts.push(length, runs);
    }
    return parts;
  }

  /** Of the entries of the dictionary page, if there will be one. */
  get dictionaryBytes(): number {
    return this.dictionaryPages === 0 ? 0 : this.values.dictionary!.dictionary.plainBytes;
  }

  /** The dictionary page with its header, or undefined where no page uses one. Counts it into `uncompressedBytes`. */
  dictionaryPage(): Uint8Array | undefined {
    if (this.dictionaryPages === 0) return undefined;
    const { dictionary } = this.values.dictionary!;
    const raw = dictionary.plainEntries();
    const compressed = this.settings.compress(raw);
    const header = encodeDictionaryPageHeader(thrift, {
      rawBytes: raw.length,
      compressed,
      entries: dictionary.size,
    });
    this.uncompressedBytes += header.length + raw.length;
    return Buffer.concat([header, compressed]);
  }

  /** Forgets the chunk and gives its memory back; the next row group begins. */
  release(): void {
    this.chain.release();
    this.values.release();
    this.index.clear();
    this.bloom?.clear();
    this.chunkRange?.clear();
    this.hasPreviousRange = false;
    this.chunkRows = 0;
    this.chunkEntries = 0;
    this.chunkNulls = 0;
    this.uncompressedBytes = 0;
    this.plainPages = 0;
    this.dictionaryPages = 0;
  }

  private checkKind(vector: FlatVector): void {
    const fits =
      KIND_OF_TYPE[this.leaf.physicalType] === vector.kind &&
      (vector.kind !== 'fixed' || vector.width === this.leaf.width);
    if (!fits) throw this.fault(`a vector of kind ${vector.kind}`);
  }

  private fault(what: string): SluiceError {
    const { path, type } = this.leaf;
    return new SluiceError('INTERNAL', `column ${path.join('.')} of type ${type} was given ${what}`, {
      context: { column: path.join('.'), type },
    });
  }
}

const KIND_OF_TYPE: Record<number, FlatVector['kind']> = {
  [PHYSICAL_TYPE.BOOLEAN]: 'boolean',
  [PHYSICAL_TYPE.INT32]: 'int32',
  [PHYSICAL_TYPE.INT64]: 'int64',
  [PHYSICAL_TYPE.FLOAT]: 'float32',
  [PHYSICAL_TYPE.DOUBLE]: 'float64',
  [PHYSICAL_TYPE.BYTE_ARRAY]: 'bytes',
  [PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY]: 'fixed',
};

function hasNulls(vector: FlatVector, from: number, until: number): boolean {
  if (vector.kind !== 'bytes') return vector.nulls.subarray(from, until).includes(1);
  const { starts } = vector;
  for (let row = from; row < until; row++) if (starts[row] === starts[row + 1]) return true;
  return false;
}
