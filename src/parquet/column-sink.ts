import { BooleanColumn } from '../columns/boolean-column.ts';
import { BytesColumn } from '../columns/bytes-column.ts';
import { FixedColumn } from '../columns/fixed-column.ts';
import { Float32Column } from '../columns/float32-column.ts';
import { Float64Column } from '../columns/float64-column.ts';
import { Int32Column } from '../columns/int32-column.ts';
import { Int64Column } from '../columns/int64-column.ts';
import type { FileColumn } from './file-schema.ts';
import { PHYSICAL_TYPE } from './format.ts';

/** Texts of a string column; the same text is the same object as long as it comes from one dictionary. */
export interface StringsVector {
  readonly kind: 'strings';
  length: number;
  nullCount: number;
  values: Array<string | null>;
}

/** The columns of one value per row that a file is read into. */
export type FlatReadVector =
  | Int64Column
  | Int32Column
  | Float32Column
  | Float64Column
  | BooleanColumn
  | FixedColumn
  | BytesColumn
  | StringsVector;

/** Where the pages of one column are decoded to. Throws RangeError where a page is not what its header says. */
export interface ColumnSink {
  readonly vector: FlatReadVector;
  clear(): void;
  appendNulls(count: number): void;
  /** Appends `count` PLAIN values of `page` from `at`; returns where they end. */
  appendPlain(page: Uint8Array, at: number, count: number): number;
  /** Takes the PLAIN entries of a dictionary; `undefined` forgets the one of the chunk before. */
  setDictionary(page: Uint8Array | undefined, count: number): void;
  /** Appends an entry of the dictionary `count` times. */
  appendEntry(index: number, count: number): void;
}

/** A sink with room for `rows` rows of a column; it grows. Throws RangeError for INT96. */
export function createSink(column: FileColumn, rows: number): ColumnSink {
  switch (column.physicalType) {
    case PHYSICAL_TYPE.BOOLEAN:
      return new BooleanSink(rows);
    case PHYSICAL_TYPE.INT32:
      return new FixedWidthSink(new Int32Column(rows), 4);
    case PHYSICAL_TYPE.INT64:
      return new FixedWidthSink(new Int64Column(rows), 8);
    case PHYSICAL_TYPE.FLOAT:
      return new FixedWidthSink(new Float32Column(rows), 4);
    case PHYSICAL_TYPE.DOUBLE:
      return new FixedWidthSink(new Float64Column(rows), 8);
    case PHYSICAL_TYPE.BYTE_ARRAY:
      return column.isString ? new StringsSink() : new BytesSink();
    case PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY: {
      if (column.width < 1 || column.width > 1024)
        throw new RangeError(`fixed values of ${column.width} bytes`);
      return new FixedWidthSink(new FixedColumn(column.width, rows), column.width);
    }
    default:
      throw new RangeError(`values of the physical type ${column.physicalType}`);
  }
}

type FixedWidthVector = Int64Column | Int32Column | Float32Column | Float64Column | FixedColumn;

/** Values of one width, copied as bytes. */
class FixedWidthSink implements ColumnSink {
  readonly vector: FixedWidthVector;
  private bytes: Uint8Array;
  private readonly width: number;
  private entries: Uint8Array | undefined;
  private entryCount = 0;

  constructor(vector: FixedWidthVector, width: number) {
    this.vector = vector;
    this.bytes = bytesOf(vector);
    this.width = width;
  }

  private reserve(count: number): void {
    const { vector } = this;
    if (vector.length + count <= vector.nulls.length) return;
    vector.reserve(count);
    this.bytes = bytesOf(vector);
  }

  clear(): void {
    this.vector.clear();
  }

  appendNulls(count: number): void {
    this.reserve(count);
    const { vector } = this;
    vector.nulls.fill(1, vector.length, vector.length + count);
    vector.length += count;
    vector.nullCount += count;
  }

  appendPlain(page: Uint8Array, at: number, count: number): number {
    const end = at + count * this.width;
    if (end > page.length) throw new RangeError('values end behind their page');
    this.reserve(count);
    this.bytes.set(page.subarray(at, end), this.vector.length * this.width);
    this.vector.length += count;
    return end;
  }

  setDictionary(page: Uint8Array | undefined, count: number): void {
    if (page !== undefined && page.length < count * this.width)
      throw new RangeError('a dictionary ends early');
    this.entries = page;
    this.entryCount = page === undefined ? 0 : count;
  }

  appendEntry(index: number, count: number): void {
    if (index >= this.entryCount)
      throw new RangeError(`entry ${index} of a dictionary of ${this.entryCount}`);
    this.reserve(count);
    const { bytes, width, vector } = this;
    const entries = this.entries!;
    const start = vector.length * width;
    const from = index * width;
    for (let i = 0; i < width; i++) bytes[start + i] = entries[from + i];
    const total = count * width;
    for (let done = width; done < total; done *= 2) {
      bytes.copyWithin(start + done, start, start + Math.min(done, total - done));
    }
    vector.length += count;
  }
}

function bytesOf(vector: FixedWidthVector): Uint8Array {
  if (vector.kind === 'fixed') return vector.data;
  const values = vector.kind === 'int64' ? vector.words : vector.values;
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

class BooleanSink implements ColumnSink {
  readonly vector: BooleanColumn;
  private page: Uint8Array | undefined;
  private bit = 0;

  constructor(rows: number) {
    this.vector = new BooleanColumn(rows);
  }

  clear(): void {
    this.vector.clear();
  }

  appendNulls(count: number): void {
    for (let i = 0; i < count; i++) this.vector.appendNull();
  }

  /** One bit per value: the place within the page is kept here, `at` is where the values of the page begin. */
  appendPlain(page: Uint8Array, at: number, count: number): number {
    if (page !== this.page) {
      this.page = page;
      this.bit = at * 8;
    }
    if (this.bit + count > page.length * 8) throw new RangeError('values end behind their page');
    for (let i = 0; i < count; i++, this.bit++) {
      this.vector.append(((page[this.bit >>> 3] >>> (this.bit & 7)) & 1) === 1);
    }
    return at;
  }

  setDictionary(page: Uint8Array | undefined): void {
    if (page !== undefined) throw new RangeError('a dictionary of booleans');
  }

  /** Booleans have no dictionary: these are values in the encoding RLE. */
  appendEntry(value: number, count: number): void {
    for (let i = 0; i < count; i++) this.vector.append(value === 1);
  }
}

/** Splits PLAIN byte arrays; `take` is given where each begins and ends. */
function eachByteArray(
  page: Uint8Array,
  from: number,
  count: number,
  take: (start: number, end: number) => void,
): number {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  let at = from;
  for (let i = 0; i < count; i++) {
    if (at + 4 > page.length) throw new RangeError('values end behind their page');
    const end = at + 4 + view.getUint32(at, true);
    if (end > page.length) throw new RangeError('a value ends behind its page');
    take(at + 4, end);
    at = end;
  }
  return at;
}

class BytesSink implements ColumnSink {
  readonly vector = new BytesColumn();
  private readonly entries: Uint8Array[] = [];

  clear(): void {
    this.vector.clear();
  }

  appendNulls(count: number): void {
    for (let i = 0; i < count; i++) this.vector.appendNull();
  }

  appendPlain(page: Uint8Array, at: number, count: number): number {
    return eachByteArray(page, at, count, (start, end) => this.vector.appendBytes(page.subarray(start, end)));
  }

  setDictionary(page: Uint8Array | undefined, count: number): void {
    this.entries.length = 0;
    if (page !== undefined)
      eachByteArray(page, 0, count, (start, end) => this.entries.push(page.subarray(start, end)));
  }

  appendEntry(index: number, count: number): void {
    if (index >= this.entries.length)
      throw new RangeError(`entry ${index} of a dictionary of ${this.entries.length}`);
    for (let i = 0; i < count; i++) this.vector.appendBytes(this.entries[index]);
  }
}

class StringsSink implements ColumnSink {
  readonly vector: StringsVector = { kind: 'strings', length: 0, nullCount: 0, values: [] };
  private readonly entries: string[] = [];
  /** The last text and its bytes: runs of one value are decoded once. */
  private lastText = '';
  private lastBytes: Uint8Array = new Uint8Array(0);

  clear(): void {
    this.vector.length = 0;
    this.vector.nullCount = 0;
    this.vector.values.length = 0;
  }

  appendNulls(count: number): void {
    this.push(null, count);
    this.vector.nullCount += count;
  }

  private push(value: string | null, count: number): void {
    for (let i = 0; i < count; i++) this.vector.values.push(value);
    this.vector.length += count;
  }

  appendPlain(page: Uint8Array, at: number, count: number): number {
    return eachByteArray(page, at, count, (start, end) => this.push(this.text(page, start, end), 1));
  }

  private text(page: Uint8Array, start: number, end: number): string {
    const { lastBytes } = this;
    let same = lastBytes.length === end - start;
    for (let i = 0; same && i < lastBytes.length; i++) same = lastBytes[i] === page[start + i];
    if (!same) {
      this.lastBytes = new Uint8Array(page.subarray(start, end));
      this.lastText = Buffer.from(page.buffer, page.byteOffset + start, end - start).toString('utf8');
    }
    return this.lastText;
  }

  setDictionary(page: Uint8Array | undefined, count: number): void {
    this.entries.length = 0;
    if (page !== undefined)
      eachByteArray(page, 0, count, (start, end) => this.entries.push(this.text(page, start, end)));
  }

  appendEntry(index: number, count: number): void {
    if (index >= this.entries.length)
      throw new RangeError(`entry ${index} of a dictionary of ${this.entries.length}`);
    this.push(this.entries[index], count);
  }
}
