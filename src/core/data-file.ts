/** What a finished file is for its table: the `data_file` struct of a manifest entry (Iceberg spec, "Data File Fields"). */

/**
 * One value of a partition tuple, in the result type of its transform: int, date and the date transforms are number
 * (days, hours, months, years since 1970), long and timestamps are bigint, decimals are the unscaled bigint, string is
 * string, binary, fixed and uuid are bytes, null is null.
 */
export type PartitionValue = null | boolean | number | bigint | string | Uint8Array;

export interface DataFileMetrics {
  recordCount: bigint;
  fileSizeInBytes: bigint;
  /** By field id. Bounds are in Iceberg's single-value serialisation (appendix D), cut as spec 50 says. */
  columnSizes: Map<number, bigint>;
  valueCounts: Map<number, bigint>;
  nullValueCounts: Map<number, bigint>;
  nanValueCounts: Map<number, bigint>;
  lowerBounds: Map<number, Uint8Array>;
  upperBounds: Map<number, Uint8Array>;
  /** Byte positions of the row groups, ascending. */
  splitOffsets: bigint[];
}

export interface DataFile extends DataFileMetrics {
  /** 0 data, 1 position deletes, 2 equality deletes. */
  content: 0 | 1 | 2;
  /** The full location as it stands in the manifest. */
  filePath: string;
  fileFormat: 'PARQUET' | 'AVRO' | 'ORC' | 'PUFFIN';
  /** In the order of the fields of the partition spec `specId`. */
  partition: PartitionValue[];
  specId: number;
  sortOrderId?: number;
  equalityIds?: number[];
  keyMetadata?: Uint8Array;
  referencedDataFile?: string;
  contentOffset?: bigint;
  contentSizeInBytes?: bigint;
  firstRowId?: bigint;
}

/** Data files of which only one at a time need be there as an object; an array is one of these too. */
export interface DataFiles extends Iterable<DataFile> {
  readonly length: number;
}
