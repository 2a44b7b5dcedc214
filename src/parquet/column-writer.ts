import type { BytesVector, ConstantVector, FixedVector, FlatVector } from '../columns/vector.ts';
import { SluiceError } from '../errors.ts';
import { BloomFilterBuilder } from './bloom-filter.ts';
import { type BufferPool, ByteChain } from './byte-chain.ts';
import type { BytesRange } from './bytes-range.ts';
import { ConstantDictionary } from './constant-dictionary.ts';
import { createRange } from './create-range.ts';
import type { FixedRange } from './fixed-range.ts';
import type { FloatRange } from './float-range.ts';
import { ENCODING, PHYSICAL_TYPE } from './format.ts';
import type { Int32Range, Int64Range } from './integer-range.ts';
import type { LeafColumn } from './leaf-column.ts';
import { PageBuffer } from './page-buffer.ts';
import type { CompressPage } from './page-codec.ts';
import { encodeDataPageHeader, encodeDictionaryPageHeader } from './page-header.ts';
import { PageIndexBuilder } from './page-index.ts';
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
  /** Keep minima and maxima: not for leaves inside lists and maps, nor behind the first `metricsColumns`. */
  readonly keepsRange: boolean;
  readonly bloomFilter: boolean;
}

type NumericVector = Exclude<FlatVector, BytesVector | FixedVector>;

/**
 * Writes one leaf column: rows are appended to an open page in PLAIN form; a full page is compressed at once and kept in
 * the chunk until the row group is written. Constants go to a dictionary instead, as runs.
 */
export class ColumnWriter {
  readonly leaf: LeafColumn;
  private readonly settings: ColumnWriterSettings;
  private readonly thrift = new ThriftWriter(64);

  // the open page
  private readonly page: PageBuffer;
  private pageRowCount = 0;
  /** Entries: values and nulls; for leaves inside lists also the places of empty lists. */
  private pageEntries = 0;
  private pageNulls = 0;
  private pageIsDictionary = false;
  private readonly definitions: RunLengthEncoder | undefined;
  private readonly repetitions: RunLengthEncoder | undefined;
  private pageRange: ValueRange | undefined;
  private previousRange: ValueRange | undefined;
  private hasPreviousRange = false;

  // the chunk of the open row group
  readonly chain: ByteChain;
  readonly index = new PageIndexBuilder();
  readonly bloom: BloomFilterBuilder | undefined;
  readonly chunkRange: ValueRange | undefined;
  private readonly dictionary: ConstantDictionary | undefined;
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
    this.page = new PageBuffer(settings.pool, settings.pageBytes);
    if (leaf.maxDefinitionLevel > 0)
      this.definitions = new RunLengthEncoder(bitWidthOf(leaf.maxDefinitionLevel));
    if (leaf.maxRepetitionLevel > 0)
      this.repetitions = new RunLengthEncoder(bitWidthOf(leaf.maxRepetitionLevel));
    if (settings.keepsRange) {
      this.pageRange = createRange(leaf);
      this.previousRange = createRange(leaf);
      this.chunkRange = createRange(leaf);
    }
    if (settings.bloomFilter) this.bloom = new BloomFilterBuilder();
    // Iceberg's vectorised Spark reader took no dictionaries of fixed before 1.10, and booleans never have one
    const { physicalType } = leaf;
    if (physicalType !== PHYSICAL_TYPE.BOOLEAN && physicalType !== PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY) {
      this.dictionary = new ConstantDictionary();
    }
  }

  /** Everything held in memory. */
  get heldBytes(): number {
    return (
      this.page.capacityBytes +
      this.chain.capacityBytes +
      this.index.heldBytes +
      (this.bloom?.heldBytes ?? 0) +
      (this.dictionary?.heldBytes ?? 0) +
      (this.definitions?.capacityBytes ?? 0)
    );
  }

  /** Bytes of the open page, before compression. */
  get openBytes(): number {
    return this.page.length;
  }

  /** Appends rows [from, until) of a vector of this column's kind. */
  append(vector: FlatVector | ConstantVector, from: number, until: number): void {
    if (vector.kind === 'constant') {
      this.appendConstant(vector.value, until - from);
      return;
    }
    this.checkKind(vector);
    if (from < until) this.enterPage(false);
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
    const { room } = this.page;
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
    const nulls = vector.nullCount === 0 ? 0 : this.appendValidity(vector, from, until);
    if (nulls === 0) this.definitions?.append(this.leaf.maxDefinitionLevel, until - from);
    if (vector.kind === 'bytes') this.copyBytes(vector, from, until);
    else if (nulls === 0) this.copyFixedWidth(vector, from, until);
    else this.copyWithoutNulls(vector, from, until);
    this.countRows(until - from, nulls);
  }

  /** Appends definition levels where any row is null; returns how many are (0: nothing was appended). */
  private appendValidity(vector: FlatVector, from: number, until: number): number {
    const isNull = vector.kind === 'bytes' ? undefined : vector.nulls;
    const starts = vector.kind === 'bytes' ? vector.starts : undefined;
    let nulls = 0;
    for (let row = from; row < until; row++) {
      if (isNull !== undefined ? isNull[row] === 1 : starts![row] === starts![row + 1]) nulls++;
    }
    if (nulls === 0) return 0;
    const { definitions } = this;
    if (definitions === undefined) throw this.fault('a null for a required column');
    const present = this.leaf.maxDefinitionLevel;
    let runStart = from;
    let runIsNull = false;
    for (let row = from; row < until; row++) {
      const rowIsNull = isNull !== undefined ? isNull[row] === 1 : starts![row] === starts![row + 1];
      if (rowIsNull === runIsNull) continue;
      if (row > runStart) definitions.append(runIsNull ? present - 1 : present, row - runStart);
      runStart = row;
      runIsNull = rowIsNull;
    }
    definitions.append(runIsNull ? present - 1 : present, until - runStart);
    return nulls;
  }

  /** Null rows take no room in a bytes vector: the stretch is copied whole. */
  private copyBytes(vector: BytesVector, from: number, until: number): void {
    const { data, starts } = vector;
    this.page.append(data, starts[from], starts[until]);
    if (this.pageRange !== undefined) (this.pageRange as BytesRange).update(data, starts, from, until);
    if (this.bloom !== undefined) {
      for (let row = from; row < until; row++) {
        if (starts[row] !== starts[row + 1]) this.bloom.add(data, starts[row] + 4, starts[row + 1]);
      }
    }
  }

  private copyWithoutNulls(vector: NumericVector | FixedVector, from: number, until: number): void {
    const { nulls } = vector;
    for (let row = from; row < until; ) {
      if (nulls[row] === 1) {
        row++;
        continue;
      }
      let stop = row + 1;
      while (stop < until && nulls[stop] === 0) stop++;
      this.copyFixedWidth(vector, row, stop);
      row = stop;
    }
  }

  /** Rows [from, until), none of them null. */
  private copyFixedWidth(vector: NumericVector | FixedVector, from: number, until: number): void {
    const width = this.leaf.width || 1;
    const bytes = valueBytes(vector);
    this.page.append(bytes, from * width, until * width);
    if (this.pageRange !== undefined) updateRange(this.pageRange, vector, from, until);
    if (this.bloom !== undefined) {
      for (let row = from; row < until; row++) this.bloom.add(bytes, row * width, (row + 1) * width);
    }
  }

  private appendConstant(value: ConstantVector['value'], count: number): void {
    if (count === 0) return;
    const plain = value === null ? undefined : this.constantPlain(value);
    if (plain === undefined && this.definitions === undefined)
      throw this.fault('a null for a required column');
    const index = plain === undefined || this.dictionary === undefined ? -1 : this.dictionary.index(plain);
    // nulls go to the page that is open, whichever it is
    if (plain !== undefined) this.enterPage(index >= 0);
    for (let left = count; left > 0; ) {
      let take = Math.min(left, this.settings.pageRows - this.pageRowCount);
      if (plain !== undefined && index < 0) take = this.fitConstant(plain, take);
      if (take === 0 || (index >= 0 && !this.dictionary!.hasRoomForRun)) {
        this.sealPage();
        if (plain !== undefined) this.enterPage(index >= 0);
        continue;
      }
      // the null of a top-level field, whatever it holds, is definition level 0
      this.definitions?.append(plain === undefined ? 0 : this.leaf.maxDefinitionLevel, take);
      this.repetitions?.append(0, take);
      if (index >= 0) this.dictionary!.appendRun(index, take);
      else if (plain !== undefined) this.page.appendRepeated(plain, take);
      if (plain !== undefined) this.takeConstant(plain, take);
      this.countRows(take, plain === undefined ? take : 0);
      left -= take;
      if (this.pageRowCount >= this.settings.pageRows) {
        this.sealPage();
        if (plain !== undefined && left > 0) this.enterPage(index >= 0);
      }
    }
  }

  /** How many copies of a value that is not in a dictionary fit the open page. */
  private fitConstant(plain: Uint8Array, most: number): number {
    const rows = Math.floor(this.page.room / plain.length);
    return rows < 1 && this.pageRowCount === 0 ? 1 : Math.min(most, rows);
  }

  private takeConstant(plain: Uint8Array, count: number): void {
    this.pageRange?.takePlain(plain, count);
    if (this.bloom !== undefined) {
      this.bloom.add(plain, this.leaf.physicalType === PHYSICAL_TYPE.BYTE_ARRAY ? 4 : 0, plain.length);
    }
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
   * Appends entries of a leaf inside a list or map: `count` levels from `at`, and the values of the dense vector
   * [from, until), one for each entry of the highest definition level. They belong to `rows` whole rows.
   */
  appendNested(
    levels: { repetition: Uint8Array; definition: Uint8Array },
    at: number,
    count: number,
    values: FlatVector,
    from: number,
    until: number,
    rows: number,
  ): void {
    if (count === 0) return;
    this.enterPage(false);
    for (let i = at; i < at + count; i++) {
      this.repetitions?.append(levels.repetition[i], 1);
      this.definitions?.append(levels.definition[i], 1);
    }
    if (values.kind === 'bytes') this.copyBytes(values, from, until);
    else this.copyFixedWidth(values, from, until);
    this.pageRowCount += rows;
    this.pageEntries += count;
    this.pageNulls += count - (until - from);
    if (this.page.room <= 0 || this.pageRowCount >= this.settings.pageRows) this.sealPage();
  }

  private countRows(rows: number, nulls: number): void {
    this.pageRowCount += rows;
    this.pageEntries += rows;
    this.pageNulls += nulls;
  }

  /** Opens a page of the wanted encoding, ending one of the other that holds values. */
  private enterPage(isDictionary: boolean): void {
    if (this.pageIsDictionary === isDictionary) return;
    if (this.pageEntries > this.pageNulls) this.sealPage();
    this.pageIsDictionary = isDictionary;
  }

  /** Ends the open page, if it has any entry: levels in front, compressed, kept in the chunk. */
  sealPage(): void {
    if (this.pageEntries === 0) return;
    const raw = this.rawPage();
    const compressed = this.settings.compress(raw);
    const header = encodeDataPageHeader(this.thrift, {
      rawBytes: raw.length,
      compressed,
      entries: this.pageEntries,
      encoding: this.pageIsDictionary ? ENCODING.RLE_DICTIONARY : ENCODING.PLAIN,
    });
    const offset = this.chain.length;
    this.chain.append(header);
    this.chain.append(compressed);
    this.uncompressedBytes += header.length + raw.length;
    if (this.pageIsDictionary) this.dictionaryPages++;
    else this.plainPages++;
    const valueCount = this.pageEntries - this.pageNulls;
    const previous = this.hasPreviousRange ? this.previousRange : undefined;
    this.index.add(
      offset,
      this.chain.length - offset,
      this.chunkRows,
      this.pageNulls,
      valueCount,
      this.pageRange,
      previous,
    );
    this.mergePage();
  }

  private mergePage(): void {
    const { pageRange } = this;
    if (pageRange !== undefined) {
      this.chunkRange!.merge(pageRange);
      if (!pageRange.isEmpty) {
        this.pageRange = this.previousRange;
        this.previousRange = pageRange;
        this.hasPreviousRange = true;
      }
      this.pageRange!.clear();
    }
    this.chunkRows += this.pageRowCount;
    this.chunkEntries += this.pageEntries;
    this.chunkNulls += this.pageNulls;
    this.page.clear();
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

  private rawPage(): Uint8Array {
    if (this.pageIsDictionary) return Buffer.concat([...this.levels(), this.dictionary!.finishPage()]);
    if (this.leaf.physicalType === PHYSICAL_TYPE.BOOLEAN) this.page.packBooleans();
    return this.page.withLevels(this.levels());
  }

  /** The dictionary page with its header, or undefined where no page uses one. Counts it into `uncompressedBytes`. */
  dictionaryPage(): Uint8Array | undefined {
    if (this.dictionaryPages === 0) return undefined;
    const raw = this.dictionary!.plainEntries();
    const compressed = this.settings.compress(raw);
    const header = encodeDictionaryPageHeader(this.thrift, {
      rawBytes: raw.length,
      compressed,
      entries: this.dictionary!.size,
    });
    this.uncompressedBytes += header.length + raw.length;
    return Buffer.concat([header, compressed]);
  }

  /** Forgets the chunk and gives its memory back; the next row group begins. */
  release(): void {
    this.chain.release();
    this.page.release();
    this.index.clear();
    this.bloom?.clear();
    this.dictionary?.clear();
    this.pageRange?.clear();
    this.chunkRange?.clear();
    this.hasPreviousRange = false;
    this.pageIsDictionary = false;
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

/** The values of a vector as bytes, little-endian as the machine is. */
function valueBytes(vector: NumericVector | FixedVector): Uint8Array {
  if (vector.kind === 'fixed') return vector.data;
  const values = vector.kind === 'int64' ? vector.words : vector.values;
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function updateRange(
  range: ValueRange,
  vector: NumericVector | FixedVector,
  from: number,
  until: number,
): void {
  switch (vector.kind) {
    case 'int64':
      (range as Int64Range).update(vector.words, from, until);
      break;
    case 'int32':
    case 'boolean':
      (range as Int32Range).update(vector.values, from, until);
      break;
    case 'fixed':
      (range as FixedRange).update(vector.data, from, until);
      break;
    default:
      (range as FloatRange).update(vector.values, from, until);
  }
}
