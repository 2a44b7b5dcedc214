import { RecordColumns } from '../../columns/record-columns.ts';
import type { ColumnVector } from '../../columns/vector.ts';
import type { DataFile } from '../../core/data-file.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { TargetTable } from './batch-task.ts';
import { DataFileSeries, type FileNaming } from './data-file-series.ts';
import { Partitioner, type PartitionRun } from './partitioner.ts';
import { RowBlock } from './row-block.ts';

/** Open data files of one table and task; beyond it, rows of further partitions wait (see `spill`). */
export const MAX_OPEN_FILES = 64;

/**
 * Writes the rows of one table in one task, a series of files per partition. `append` is synchronous; between appends
 * `settle` writes out what is due, so that memory stays within the limit given there.
 *
 * Rows that would open more than MAX_OPEN_FILES partitions at once are spilled into a block of their own and written
 * by `settle`, sorted by partition, so that a topic whose timestamps are scattered over years neither fails nor holds
 * hundreds of row groups.
 */
export class TableWriter {
  readonly target: TargetTable;
  rows = 0;
  private readonly io: FileIO;
  private readonly naming: FileNaming;
  private readonly batchTimestampMs: number;
  private readonly rowGroupBytes: number;
  private readonly partitioner: Partitioner;
  private readonly open = new Map<string, DataFileSeries>();
  private readonly closed: DataFile[] = [];
  private readonly spill = new Spill();
  private readonly vectors: ColumnVector[];
  private uses = 0;

  constructor(
    target: TargetTable,
    io: FileIO,
    naming: FileNaming,
    batchTimestampMs: number,
    rowGroupBytes: number,
  ) {
    this.target = target;
    this.io = io;
    this.naming = naming;
    this.batchTimestampMs = batchTimestampMs;
    this.rowGroupBytes = rowGroupBytes;
    this.partitioner = new Partitioner(target);
    this.vectors = target.sources.map(() => ({ kind: 'constant', value: null }));
  }

  get bufferedBytes(): number {
    let bytes = this.spill.bytes;
    for (const series of this.open.values()) bytes += series.bufferedBytes;
    return bytes;
  }

  /** Takes rows [from, until) of a block; copies what it keeps. */
  append(block: RowBlock, from: number, until: number): void {
    this.rows += until - from;
    let row = from;
    while (row < until) {
      const run = this.partitioner.nextRun(block, row, until, this.batchTimestampMs);
      const series = this.open.get(run.key) ?? this.openSeries(run);
      if (series === undefined) this.spill.add(block, row, run.until);
      else this.write(series, block, run, row);
      row = run.until;
    }
  }

  /** Ends row groups and files that have their size, and brings the memory under `limitBytes`. */
  async settle(limitBytes: number): Promise<void> {
    for (const series of this.open.values()) await series.settle();
    if (this.spill.rows > 0) await this.writeSpill();
    let held = this.bufferedBytes;
    while (held > limitBytes) {
      const largest = [...this.open.values()].reduce((a, b) => (b.bufferedBytes > a.bufferedBytes ? b : a));
      await largest.settle(true);
      const rest = this.bufferedBytes;
      // What a writer holds for its footer does not go before the file ends.
      if (rest >= held) return;
      held = rest;
    }
  }

  async close(): Promise<DataFile[]> {
    if (this.spill.rows > 0) await this.writeSpill();
    for (const series of this.open.values()) this.closed.push(...(await series.close()));
    this.open.clear();
    return this.closed;
  }

  async abort(): Promise<void> {
    for (const series of this.open.values()) await series.abort();
    for (const file of this.closed) await this.io.delete(file.filePath).catch(() => undefined);
  }

  private openSeries(run: PartitionRun): DataFileSeries | undefined {
    if (this.open.size >= MAX_OPEN_FILES) return undefined;
    const series = new DataFileSeries(this.target, this.io, this.naming, run.partition, this.rowGroupBytes);
    this.open.set(run.key, series);
    return series;
  }

  private write(series: DataFileSeries, block: RowBlock, run: PartitionRun, from: number): void {
    series.lastUse = ++this.uses;
    for (let i = 0; i < this.vectors.length; i++) this.vectors[i] = this.vectorOf(i, block, run);
    series.append(this.vectors, from, run.until);
  }

  /** One partition after another: each file is opened, filled and closed before the next. */
  private async writeSpill(): Promise<void> {
    await this.closeIdle();
    const pieces = this.spill.take();
    const byPartition = new Map<string, { run: PartitionRun; block: RowBlock; from: number }[]>();
    for (const block of pieces) {
      let row = 0;
      while (row < block.columns.length) {
        const run = { ...this.partitioner.nextRun(block, row, block.columns.length, this.batchTimestampMs) };
        const runs = byPartition.get(run.key) ?? [];
        runs.push({ run, block, from: row });
        byPartition.set(run.key, runs);
        row = run.until;
      }
    }
    for (const key of [...byPartition.keys()].sort()) {
      const runs = byPartition.get(key)!;
      const series =
        this.open.get(key) ??
        new DataFileSeries(this.target, this.io, this.naming, runs[0].run.partition, this.rowGroupBytes);
      for (const { run, block, from } of runs) this.write(series, block, run, from);
      if (!this.open.has(key)) this.closed.push(...(await series.close()));
    }
  }

  /** Makes room for new partitions: the half of the open files that was used longest ago is ended. */
  private async closeIdle(): Promise<void> {
    const byUse = [...this.open.entries()].sort((a, b) => a[1].lastUse - b[1].lastUse);
    for (const [key, series] of byUse.slice(0, MAX_OPEN_FILES / 2)) {
      this.closed.push(...(await series.close()));
      this.open.delete(key);
    }
  }

  private vectorOf(column: number, block: RowBlock, run: PartitionRun): ColumnVector {
    switch (this.target.sources[column]) {
      case 'value':
        return block.columns.values;
      case 'key':
        return block.columns.keys;
      case 'offset':
        return block.columns.offsets;
      case 'timestamp':
        return block.timestampsMicros;
      case 'headers':
        return { kind: 'headers', raw: block.columns.headers };
      case 'topic':
        return { kind: 'constant', value: block.topic };
      case 'partition':
        return { kind: 'constant', value: block.partition };
      case 'ingestedAt':
        return { kind: 'constant', value: BigInt(this.batchTimestampMs) * 1000n };
      case 'topicId':
        return { kind: 'constant', value: block.topicId };
      case 'dt':
        return { kind: 'constant', value: run.dt };
      case 'hour':
        return { kind: 'constant', value: run.hour };
      default:
        return { kind: 'constant', value: this.target.defaults[column] };
    }
  }
}

/** Copies of rows that wait for their partition's file, one block per topic-partition. */
class Spill {
  rows = 0;
  private blocks = new Map<string, RowBlock>();

  get bytes(): number {
    let bytes = 0;
    for (const { columns } of this.blocks.values())
      bytes += columns.values.end + columns.keys.end + columns.headers.end + columns.length * 48;
    return bytes;
  }

  add(block: RowBlock, from: number, until: number): void {
    const key = `${block.topic}\u0000${block.partition}`;
    let copy = this.blocks.get(key);
    if (copy === undefined) {
      copy = new RowBlock();
      copy.columns = new RecordColumns();
      copy.topic = block.topic;
      copy.topicId = block.topicId;
      copy.partition = block.partition;
      this.blocks.set(key, copy);
    }
    for (let row = from; row < until; row++) copyRow(block, row, copy);
    this.rows += until - from;
  }

  take(): RowBlock[] {
    const blocks = [...this.blocks.values()];
    this.blocks = new Map();
    this.rows = 0;
    return blocks;
  }
}

function copyRow(from: RowBlock, row: number, to: RowBlock): void {
  const source = from.columns;
  const target = to.columns;
  target.offsets.appendWords(source.offsets.words[row * 2], source.offsets.words[row * 2 + 1]);
  if (source.timestampsMs.isNull(row)) target.timestampsMs.appendNull();
  else
    target.timestampsMs.appendWords(
      source.timestampsMs.words[row * 2],
      source.timestampsMs.words[row * 2 + 1],
    );
  if (from.timestampsMicros.isNull(row)) to.timestampsMicros.appendNull();
  else
    to.timestampsMicros.appendWords(
      from.timestampsMicros.words[row * 2],
      from.timestampsMicros.words[row * 2 + 1],
    );
  for (const [a, b] of [
    [source.keys, target.keys],
    [source.values, target.values],
    [source.headers, target.headers],
  ]) {
    const bytes = a.get(row);
    if (bytes === null) b.appendNull();
    else b.appendBytes(bytes);
  }
}
