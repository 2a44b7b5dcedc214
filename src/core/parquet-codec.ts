/** Compression of the pages of a data file (`write.parquet.compression-codec`). */
export type ParquetCodec = 'zstd' | 'snappy' | 'gzip' | 'lz4' | 'none';
