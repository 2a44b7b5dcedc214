import type { ColumnVector } from '../../columns/vector.ts';
import type { DataFile, PartitionValue } from '../../core/data-file.ts';
import { bindPartitionSpec } from '../../iceberg/partition.ts';
import { DEFAULT_PARQUET_OPTIONS } from '../../parquet/options.ts';
import { ParquetWriter } from '../../parquet/writer.ts';
import { type FileIO, joinPath } from '../../storage/file-io.ts';
import type { TargetTable } from './batch-task.ts';
import { LazyOutput } from './lazy-output.ts';
import { partitionDirectory } from './partition-directory.ts';

/** Gives the files of one task fresh names that hold the batch, the task and the writer. */
export class FileNaming {
  private next = 0;
  private readonly prefix: string;

  /** `attempt`: the same process may read a batch again; its names must not meet those of the first time. */
  constructor(batchId: number, taskIndex: number, attempt: number, writerId: string) {
    this.prefix = `${String(batchId).padStart(8, '0')}-${String(taskIndex).padStart(2, '0')}-${attempt}-${writerId}`;
  }

  fresh(): string {
    return `${this.prefix}-${String(this.next++).padStart(5, '0')}.parquet`;
  }
}

/**
 * The data files of one partition of one table in one task: written one after another, each up to the target size.
 * `append` is synchronous and holds what it gets in memory; `settle` writes out what is due.
 */
export class DataFileSeries {
  readonly partition: PartitionValue[];
  /** Increases with every append: tells the least recently used series. */
  lastUse = 0;
  private readonly target: TargetTable;
  private readonly io: FileIO;
  private readonly naming: FileNaming;
  private readonly rowGroupBytes: number;
  private readonly finished: DataFile[] = [];
  private current: ParquetWriter | undefined;
  private currentPath = '';

  constructor(
    target: TargetTable,
    io: FileIO,
    naming: FileNaming,
    partition: PartitionValue[],
    rowGroupBytes: number,
  ) {
    this.target = target;
    this.io = io;
    this.naming = naming;
    this.partition = partition;
    this.rowGroupBytes = rowGroupBytes;
  }

  get bufferedBytes(): number {
    return this.current?.bufferedBytes ?? 0;
  }

  append(vectors: readonly ColumnVector[], from: number, until: number): void {
    this.current ??= this.open();
    this.current.append(vectors, from, until);
  }

  /** Ends a row group or the file where its size is reached, or where `force` asks for the memory. */
  async settle(force = false): Promise<void> {
    if (this.current === undefined) return;
    if (this.current.estimatedFileBytes >= this.target.targetFileSizeBytes) await this.finishCurrent();
    else if (force || this.current.wantsFlush) await this.current.flush();
  }

  /** Ends the open file; a later append opens the next one. */
  async finishCurrent(): Promise<void> {
    const writer = this.current;
    if (writer === undefined) return;
    // Until it is closed it stays ours to abort: a write within `close` may meet a full disk.
    const metrics = await writer.close();
    this.current = undefined;
    this.finished.push({
      ...metrics,
      content: 0,
      filePath: this.currentPath,
      fileFormat: 'PARQUET',
      partition: this.partition,
      specId: this.target.spec.specId,
      sortOrderId: this.target.sortOrderId,
    });
  }

  async close(): Promise<DataFile[]> {
    await this.finishCurrent();
    return this.finished;
  }

  /** Gives up the open file and deletes the finished ones: they were never referred to. */
  async abort(): Promise<void> {
    await this.current?.abort();
    this.current = undefined;
    for (const file of this.finished) await this.io.delete(file.filePath).catch(() => undefined);
  }

  private open(): ParquetWriter {
    const { target } = this;
    const directory = partitionDirectory(bindPartitionSpec(target.spec, [target.schema]), this.partition);
    this.currentPath = joinPath(
      target.dataLocation,
      ...(directory === '' ? [] : [directory]),
      this.naming.fresh(),
    );
    return new ParquetWriter(new LazyOutput(this.io, this.currentPath), target.schema, {
      ...DEFAULT_PARQUET_OPTIONS,
      codec: target.codec,
      level: target.codecLevel,
      rowGroupBytes: this.rowGroupBytes,
    });
  }
}
