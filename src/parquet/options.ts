import type { ParquetCodec } from '../core/parquet-codec.ts';

export interface ParquetWriterOptions {
  codec: ParquetCodec;
  /** zstd 1..22, gzip 1..9; of no meaning for the others. */
  level: number;
  /** Uncompressed bytes of a column after which its page ends. */
  pageBytes: number;
  /** Rows after which a page ends, whatever its bytes (keeps the page index useful for narrow columns). */
  pageRows: number;
  /** The most that the dictionary of a column of strings or binary may hold in a row group; 0: only constants have one. */
  dictionaryBytes: number;
  /** Bytes held for a row group (compressed pages and open pages) after which it ends. */
  rowGroupBytes: number;
  /** How many leaf columns get metrics, see metrics-columns.ts (Iceberg's default: the first 100). */
  metricsColumns: number;
  /** Field ids that get a bloom filter. */
  bloomFilterFieldIds: readonly number[];
}

export const DEFAULT_PARQUET_OPTIONS: ParquetWriterOptions = {
  codec: 'zstd',
  level: 1,
  pageBytes: 1024 * 1024,
  pageRows: 20_000,
  dictionaryBytes: 1024 * 1024,
  rowGroupBytes: 32 * 1024 * 1024,
  metricsColumns: 100,
  bloomFilterFieldIds: [],
};
