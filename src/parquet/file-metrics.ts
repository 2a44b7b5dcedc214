import type { DataFileMetrics } from '../core/data-file.ts';
import type { ColumnWriter } from './column-writer.ts';
import { createRange } from './create-range.ts';
import type { ValueRange } from './value-range.ts';

interface ColumnTotals {
  compressed: number;
  uncompressed: number;
  values: number;
  nulls: number;
  isFloat: boolean;
  /** Undefined where no metrics are kept: inside lists and maps, and behind the first `metricsColumns`. */
  range: ValueRange | undefined;
}

/** Sums the column chunks of a file into what a manifest says of it (spec 50, "Data files"). */
export class FileMetrics {
  private readonly totals = new Map<number, ColumnTotals>();
  private readonly splitOffsets: bigint[] = [];

  addSplitOffset(position: number): void {
    this.splitOffsets.push(BigInt(position));
  }

  /** Takes in the chunk that the column holds, written in `compressed` bytes. */
  addChunk(column: ColumnWriter, compressed: number): void {
    const { leaf, chunkRange } = column;
    let totals = this.totals.get(leaf.fieldId);
    if (totals === undefined) {
      const range = chunkRange === undefined ? undefined : createRange(leaf);
      const isFloat = leaf.type === 'float' || leaf.type === 'double';
      totals = { compressed: 0, uncompressed: 0, values: 0, nulls: 0, isFloat, range };
      this.totals.set(leaf.fieldId, totals);
    }
    totals.compressed += compressed;
    totals.uncompressed += column.uncompressedBytes;
    totals.values += column.chunkEntries;
    totals.nulls += column.chunkNulls;
    if (chunkRange !== undefined) totals.range!.merge(chunkRange);
  }

  /** Compressed to uncompressed bytes of a column so far; a guess before its first chunk. */
  compressionRatio(fieldId: number): number {
    const totals = this.totals.get(fieldId);
    return totals === undefined || totals.uncompressed === 0 ? 0.5 : totals.compressed / totals.uncompressed;
  }

  finish(rowCount: number, fileBytes: number): DataFileMetrics {
    const metrics: DataFileMetrics = {
      recordCount: BigInt(rowCount),
      fileSizeInBytes: BigInt(fileBytes),
      columnSizes: new Map(),
      valueCounts: new Map(),
      nullValueCounts: new Map(),
      nanValueCounts: new Map(),
      lowerBounds: new Map(),
      upperBounds: new Map(),
      splitOffsets: this.splitOffsets,
    };
    for (const [id, totals] of this.totals) {
      metrics.columnSizes.set(id, BigInt(totals.compressed));
      if (totals.range !== undefined) addCounts(metrics, id, totals, totals.range);
    }
    return metrics;
  }
}

function addCounts(metrics: DataFileMetrics, id: number, totals: ColumnTotals, range: ValueRange): void {
  metrics.valueCounts.set(id, BigInt(totals.values));
  metrics.nullValueCounts.set(id, BigInt(totals.nulls));
  if (totals.isFloat) metrics.nanValueCounts.set(id, BigInt(range.nanCount));
  const lower = range.lowerBound();
  const upper = range.upperBound();
  if (lower !== undefined) metrics.lowerBounds.set(id, lower);
  if (upper !== undefined) metrics.upperBounds.set(id, upper);
}
