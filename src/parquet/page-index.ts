import { BOUNDARY_ORDER } from './format.ts';
import type { ThriftWriter } from './thrift-writer.ts';
import type { ValueRange } from './value-range.ts';

/** Places and statistics of the data pages of one column chunk: ColumnIndex and OffsetIndex of parquet.thrift. */
export class PageIndexBuilder {
  private readonly offsets: number[] = [];
  private readonly sizes: number[] = [];
  private readonly firstRows: number[] = [];
  private readonly nullCounts: number[] = [];
  private readonly nanCounts: number[] = [];
  /** Undefined for a page of nulls only. */
  private readonly minimums: Array<Uint8Array | undefined> = [];
  private readonly maximums: Array<Uint8Array | undefined> = [];
  private ascending = true;
  private descending = true;
  /** A page with values has a bound that cannot be written (NaN only, no upper bound): no ColumnIndex for this chunk. */
  private boundMissing = false;
  heldBytes = 0;

  get pageCount(): number {
    return this.offsets.length;
  }

  /**
   * Adds a page of `size` bytes with its header, beginning at `offset` of the chunk's data pages. `range` is that of its
   * values, `previous` that of the last page before it that had values; both undefined where ranges are not kept.
   */
  add(
    offset: number,
    size: number,
    firstRow: number,
    nullCount: number,
    valueCount: number,
    range: ValueRange | undefined,
    previous: ValueRange | undefined,
  ): void {
    this.offsets.push(offset);
    this.sizes.push(size);
    this.firstRows.push(firstRow);
    this.nullCounts.push(nullCount);
    this.nanCounts.push(range?.nanCount ?? 0);
    const min = range?.minBytes();
    const max = range?.maxBytes();
    if (valueCount > 0 && (min === undefined || max === undefined)) this.boundMissing = true;
    this.minimums.push(valueCount > 0 ? min : undefined);
    this.maximums.push(valueCount > 0 ? max : undefined);
    if (range !== undefined && previous !== undefined && !range.isEmpty) this.order(range, previous);
    this.heldBytes += 80 + (min?.length ?? 0) + (max?.length ?? 0);
  }

  private order(range: ValueRange, previous: ValueRange): void {
    const min = previous.compareMin(range);
    const max = previous.compareMax(range);
    if (min > 0 || max > 0) this.ascending = false;
    if (min < 0 || max < 0) this.descending = false;
  }

  clear(): void {
    for (const list of [
      this.offsets,
      this.sizes,
      this.firstRows,
      this.nullCounts,
      this.nanCounts,
      this.minimums,
      this.maximums,
    ]) {
      list.length = 0;
    }
    this.ascending = true;
    this.descending = true;
    this.boundMissing = false;
    this.heldBytes = 0;
  }

  /** Writes ColumnIndex and returns true, or false where the chunk has none. */
  writeColumnIndex(thrift: ThriftWriter, isFloat: boolean): boolean {
    if (this.boundMissing) return false;
    const none = new Uint8Array(0);
    const pages = this.pageCount;
    thrift.beginStruct();
    thrift.listField(1, 'bool', pages);
    for (const min of this.minimums) thrift.bool(min === undefined);
    thrift.listField(2, 'binary', pages);
    for (const min of this.minimums) thrift.binary(min ?? none);
    thrift.listField(3, 'binary', pages);
    for (const max of this.maximums) thrift.binary(max ?? none);
    thrift.i32Field(4, this.boundaryOrder);
    thrift.listField(5, 'i64', pages);
    for (const count of this.nullCounts) thrift.i64(count);
    if (isFloat) {
      thrift.listField(8, 'i64', pages);
      for (const count of this.nanCounts) thrift.i64(count);
    }
    thrift.endStruct();
    return true;
  }

  private get boundaryOrder(): number {
    if (this.ascending) return BOUNDARY_ORDER.ASCENDING;
    return this.descending ? BOUNDARY_ORDER.DESCENDING : BOUNDARY_ORDER.UNORDERED;
  }

  /** Writes OffsetIndex; `base` is the position in the file of the chunk's first data page. */
  writeOffsetIndex(thrift: ThriftWriter, base: number): void {
    thrift.beginStruct();
    thrift.listField(1, 'struct', this.pageCount);
    for (let page = 0; page < this.pageCount; page++) {
      thrift.beginStruct();
      thrift.i64Field(1, base + this.offsets[page]);
      thrift.i32Field(2, this.sizes[page]);
      thrift.i64Field(3, this.firstRows[page]);
      thrift.endStruct();
    }
    thrift.endStruct();
  }
}
