import { type ColumnVector, isFlat } from '../columns/vector.ts';
import type { DataFileMetrics } from '../core/data-file.ts';
import { isPrimitive, type Schema } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import type { OutputFile } from '../storage/file-io.ts';
import { writeBloomFilterHeader } from './bloom-filter.ts';
import { BufferPool } from './byte-chain.ts';
import { ColumnWriter } from './column-writer.ts';
import { FileMetrics } from './file-metrics.ts';
import { encodeFooter, type WrittenChunk, type WrittenRowGroup } from './footer.ts';
import { MAGIC, PHYSICAL_TYPE } from './format.ts';
import { HeadersShredder } from './headers-shredder.ts';
import { type ParquetSchema, toParquetSchema } from './leaf-column.ts';
import { metricsFieldIds } from './metrics-columns.ts';
import { NestedShredder } from './nested-shredder.ts';
import type { ParquetWriterOptions } from './options.ts';
import { pageCompressor } from './page-codec.ts';
import { ThriftWriter } from './thrift-writer.ts';

/** What the pool of a thread holds, in use and idle, where nobody has said more. */
const IDLE_POOL_BYTES = 4 * 1024 * 1024;
/** Held even where the writers use all that they may. */
const MIN_IDLE_BYTES = 4 * 1024 * 1024;

/** A row group ends here even where its rows take no bytes (constants, nulls). */
const MAX_ROW_GROUP_ROWS = 16 * 1024 * 1024;

/** The objects of an open column, measured: they count where hundreds of files are open. */
const COLUMN_OVERHEAD_BYTES = 4096;

/** Stretches shorter than this are put together before they are written. */
const STAGING_BYTES = 256 * 1024;
/** What small files are put together in: a large buffer for each of hundreds would be as much garbage. */
const MIN_STAGING_BYTES = 4 * 1024;

const threadPool = new BufferPool(IDLE_POOL_BYTES, MIN_IDLE_BYTES);
/** For what is copied at once. */
const scratch = new ThriftWriter();

/** Says how much the writers of this thread may use; left out: there are none for now. */
export function resizeThreadPool(maxBytes: number = IDLE_POOL_BYTES): void {
  threadPool.resize(maxBytes);
}

/** Says how much of that is held elsewhere for now, so that no more is kept for later than is left. */
export function reserveOfThreadPool(bytes: number): void {
  threadPool.reserve(bytes);
}

/**
 * Writes one Parquet file from column vectors. Rows are kept as compressed pages until `flush` writes their row group;
 * `append` is synchronous and copies what it keeps. After an error the writer can only be aborted.
 *
 * Data pages of version 1, PLAIN or dictionary: what every reader of Iceberg tables takes; Iceberg's
 * vectorised Spark reader refused DELTA_BINARY_PACKED before 1.10.
 */
export class ParquetWriter {
  private readonly output: OutputFile;
  private readonly schema: Schema;
  private readonly options: ParquetWriterOptions;
  private readonly parquetSchema: ParquetSchema;
  private readonly columns: readonly ColumnWriter[];
  /** For every top-level field: its columns, and what takes vectors apart where it has several. */
  private readonly fields: Array<{
    readonly columns: readonly ColumnWriter[];
    headers: HeadersShredder | undefined;
    nested: NestedShredder | undefined;
  }>;
  private readonly pool: BufferPool;
  private readonly metrics = new FileMetrics();
  private readonly rowGroups: WrittenRowGroup[] = [];
  private groupRows = 0;
  private writtenRows = 0;
  private indexBytes = 0;
  private state: 'open' | 'flushing' | 'failed' | 'ended' = 'open';

  /** Throws CONFIG_INVALID for options outside their ranges, UNSUPPORTED for a type that Parquet cannot hold. */
  constructor(
    output: OutputFile,
    schema: Schema,
    options: ParquetWriterOptions,
    pool: BufferPool = threadPool,
  ) {
    checkOptions(options);
    this.output = output;
    this.schema = schema;
    this.options = options;
    this.pool = pool;
    this.parquetSchema = toParquetSchema(schema);
    const compress = pageCompressor(options.codec, options.level);
    const blooms = new Set(options.bloomFilterFieldIds);
    const withMetrics = metricsFieldIds(schema, options.metricsColumns);
    this.columns = this.parquetSchema.leaves.map((leaf) => {
      const keepsRange = leaf.maxRepetitionLevel === 0 && withMetrics.has(leaf.fieldId);
      const bloomFilter = blooms.has(leaf.fieldId) && leaf.physicalType !== PHYSICAL_TYPE.BOOLEAN;
      return new ColumnWriter(leaf, {
        pool,
        compress,
        pageBytes: options.pageBytes,
        pageRows: options.pageRows,
        dictionaryBytes: options.dictionaryBytes,
        keepsRange,
        bloomFilter,
      });
    });
    const columnOf = new Map(this.columns.map((column) => [column.leaf, column]));
    this.fields = this.parquetSchema.fieldLeaves.map((leaves, i) => {
      const columns = leaves.map((leaf) => columnOf.get(leaf)!);
      const field = schema.fields[i];
      const nested = isPrimitive(field.type) ? undefined : new NestedShredder(field, columns);
      return { columns, headers: undefined, nested };
    });
  }

  /** Rows appended so far, written or not. */
  get rowCount(): number {
    return this.writtenRows + this.groupRows;
  }

  /** Everything held in memory for this file, in bytes. */
  get bufferedBytes(): number {
    if (this.state === 'ended') return 0;
    return this.indexBytes + this.columns.length * COLUMN_OVERHEAD_BYTES + this.rowGroupBytes;
  }

  /** What the open row group holds: all of it is given back when it is written. */
  private get rowGroupBytes(): number {
    let bytes = 0;
    for (const column of this.columns) bytes += column.heldBytes;
    return bytes;
  }

  /** Bytes of the file if it were closed now: exact for what is compressed, an estimate for open pages. */
  get estimatedFileBytes(): number {
    let bytes = this.output.position + this.indexBytes + 512 + 128 * this.columns.length;
    for (const column of this.columns) {
      const ratio =
        column.uncompressedBytes > 0
          ? column.chain.length / column.uncompressedBytes
          : this.metrics.compressionRatio(column.leaf.fieldId);
      bytes += column.chain.length + column.openBytes * Math.min(1, ratio);
    }
    return Math.ceil(bytes);
  }

  /** True when the row group should be written out. */
  get wantsFlush(): boolean {
    return this.groupRows >= MAX_ROW_GROUP_ROWS || this.rowGroupBytes >= this.options.rowGroupBytes;
  }

  /**
   * Appends rows [from, until) of vectors given in the order of the schema's top-level fields. Copies what it keeps.
   * Throws INTERNAL where a vector does not fit its column, UNSUPPORTED for a value (inside lists: the values of a row) of
   * more than 1 GiB.
   */
  append(vectors: readonly ColumnVector[], from: number, until: number): void {
    this.expectOpen('append');
    if (vectors.length !== this.fields.length) {
      throw this.fault(`${vectors.length} vectors for ${this.fields.length} columns`);
    }
    if (from >= until) return;
    this.state = 'failed';
    for (let i = 0; i < vectors.length; i++) this.appendField(i, vectors[i], from, until);
    this.groupRows += until - from;
    this.state = 'open';
  }

  private appendField(i: number, vector: ColumnVector, from: number, until: number): void {
    const field = this.fields[i];
    if (vector.kind === 'headers') {
      field.headers ??= new HeadersShredder(this.schema.fields[i], field.columns);
      field.headers.append(vector, from, until);
    } else if (field.nested !== undefined) {
      field.nested.append(vector, from, until);
    } else if (isFlat(vector)) {
      field.columns[0]?.append(vector, from, until);
    } else {
      throw this.fault(`column ${this.schema.fields[i].name} was given a vector of kind ${vector.kind}`);
    }
  }

  /** Ends the row group and writes it; no-op where it has no rows. */
  async flush(): Promise<void> {
    this.expectOpen('flush');
    if (this.groupRows === 0) return;
    this.state = 'flushing';
    try {
      await this.writeRowGroup();
      this.state = 'open';
    } finally {
      if (this.state === 'flushing') this.state = 'failed';
    }
  }

  private async writeRowGroup(): Promise<void> {
    if (this.output.position === 0) await this.output.write(MAGIC);
    const fileOffset = this.output.position;
    const sink = new StagedOutput(this.output, this.pool, this.sealPages());
    try {
      const chunks: WrittenChunk[] = [];
      for (const column of this.columns) {
        chunks.push(await this.writeChunk(column, sink));
        column.release();
      }
      await sink.flush();
      this.rowGroups.push({ rowCount: this.groupRows, fileOffset, chunks });
      this.metrics.addSplitOffset(fileOffset);
    } finally {
      sink.release();
    }
    this.writtenRows += this.groupRows;
    this.groupRows = 0;
  }

  /** Ends all pages. Returns what the row group takes, its dictionaries before compression. */
  private sealPages(): number {
    let bytes = 0;
    for (const column of this.columns) {
      column.sealPage();
      bytes += column.chain.length + column.dictionaryBytes;
    }
    return bytes;
  }

  private async writeChunk(column: ColumnWriter, sink: StagedOutput): Promise<WrittenChunk> {
    if (column.chunkRows !== this.groupRows) {
      throw this.fault(
        `column ${column.leaf.name} has ${column.chunkRows} rows, the row group ${this.groupRows}`,
      );
    }
    const start = sink.position;
    const dictionary = column.dictionaryPage();
    if (dictionary !== undefined) await sink.write(dictionary);
    const dataPageOffset = sink.position;
    for (const stretch of column.chain.stretches()) await sink.write(stretch);
    const compressedBytes = sink.position - start;
    const bloomFilter = await this.writeBloomFilter(column, sink);
    const { chunkRange: range, leaf } = column;
    const isFloat = leaf.physicalType === PHYSICAL_TYPE.FLOAT || leaf.physicalType === PHYSICAL_TYPE.DOUBLE;
    const thrift = scratch;
    thrift.clear();
    const columnIndex =
      range !== undefined && column.index.writeColumnIndex(thrift, isFloat)
        ? thrift.bytes().slice()
        : undefined;
    thrift.clear();
    column.index.writeOffsetIndex(thrift, dataPageOffset);
    const offsetIndex = thrift.bytes().slice();
    this.indexBytes += (columnIndex?.length ?? 0) + offsetIndex.length + 200;
    this.metrics.addChunk(column, compressedBytes);
    return {
      leaf,
      valueCount: column.chunkEntries,
      nullCount: column.chunkNulls,
      nanCount: range?.nanCount,
      min: range?.minBytes(),
      max: range?.maxBytes(),
      minExact: range?.minExact ?? false,
      maxExact: range?.maxExact ?? false,
      uncompressedBytes: column.uncompressedBytes,
      compressedBytes,
      dictionaryPageOffset: dictionary === undefined ? undefined : start,
      dataPageOffset,
      plainPages: column.plainPages,
      dictionaryPages: column.dictionaryPages,
      bloomFilter,
      columnIndex,
      offsetIndex,
    };
  }

  private async writeBloomFilter(
    column: ColumnWriter,
    sink: StagedOutput,
  ): Promise<{ offset: number; length: number } | undefined> {
    const bits = column.bloom?.build();
    if (bits === undefined) return undefined;
    const thrift = new ThriftWriter(64);
    writeBloomFilterHeader(thrift, bits.length);
    const offset = sink.position;
    await sink.write(thrift.bytes());
    await sink.write(bits);
    return { offset, length: sink.position - offset };
  }

  /** Writes what is left and the footer, makes the file durable. A file without rows is a valid one. */
  async close(): Promise<DataFileMetrics> {
    await this.flush();
    this.state = 'flushing';
    try {
      if (this.output.position === 0) await this.output.write(MAGIC);
      await this.output.write(
        encodeFooter(this.parquetSchema, this.rowGroups, this.options.codec, this.output.position),
      );
      await this.output.close();
      this.state = 'ended';
    } finally {
      if (this.state === 'flushing') this.state = 'failed';
    }
    return this.metrics.finish(this.writtenRows, this.output.position);
  }

  /** Gives up the file and its memory; never throws. */
  async abort(): Promise<void> {
    this.state = 'ended';
    for (const column of this.columns) column.release();
    await this.output.abort();
  }

  private expectOpen(call: string): void {
    if (this.state !== 'open') throw this.fault(`${call} on a writer that is ${this.state}`);
  }

  private fault(what: string): SluiceError {
    return new SluiceError('INTERNAL', `Parquet file ${this.output.path}: ${what}`, {
      context: { path: this.output.path },
    });
  }
}

/** Puts short stretches together before they go to the file. */
class StagedOutput {
  private readonly output: OutputFile;
  private readonly pool: BufferPool;
  private readonly size: number;
  private staging: Uint8Array | undefined;
  private end = 0;

  /** `bytes`: about what will be written. */
  constructor(output: OutputFile, pool: BufferPool, bytes: number) {
    this.output = output;
    this.pool = pool;
    this.size = Math.min(STAGING_BYTES, Math.max(MIN_STAGING_BYTES, bytes));
  }

  get position(): number {
    return this.output.position + this.end;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.end + bytes.length > this.size) await this.flush();
    if (bytes.length >= this.size / 2) {
      await this.flush();
      await this.output.write(bytes);
      return;
    }
    this.staging ??= this.pool.take(this.size);
    this.staging.set(bytes, this.end);
    this.end += bytes.length;
  }

  async flush(): Promise<void> {
    if (this.end === 0) return;
    const bytes = this.staging!.subarray(0, this.end);
    this.end = 0;
    await this.output.write(bytes);
  }

  release(): void {
    if (this.staging !== undefined) this.pool.give(this.staging);
    this.staging = undefined;
  }
}

function checkOptions(options: ParquetWriterOptions): void {
  const check = (name: keyof ParquetWriterOptions, least: number, most: number): void => {
    const value = options[name] as number;
    if (Number.isInteger(value) && value >= least && value <= most) return;
    throw new SluiceError(
      'CONFIG_INVALID',
      `Parquet option ${name}: expected an integer of ${least} to ${most}, found ${value}`,
      {
        context: { option: name, value },
      },
    );
  };
  check('pageBytes', 1024, 256 * 1024 * 1024);
  check('pageRows', 1, 0x7fff_ffff);
  check('dictionaryBytes', 0, 64 * 1024 * 1024);
  check('rowGroupBytes', 1024, 0x7fff_ffff);
  check('metricsColumns', 0, Number.MAX_SAFE_INTEGER);
}
