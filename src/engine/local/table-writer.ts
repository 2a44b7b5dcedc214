import type { ColumnVector } from '../../columns/vector.ts';
import { PackedDataFiles } from '../../core/packed-data-files.ts';
import type { FileIO } from '../../storage/file-io.ts';
import { isDecoded } from '../column-source.ts';
import type { TargetTable } from './batch-task.ts';
import { DataFileSeries, type FileNaming } from './data-file-series.ts';
import type { Garbage } from './garbage.ts';
import { columnCount, OpenFiles } from './open-files.ts';
import { Partitioner, type PartitionRun } from './partitioner.ts';
import type { RowBlock } from './row-block.ts';
import { decodedColumn } from './row-decoders.ts';
import { RowGather } from './row-gather.ts';
import { type RawColumns, rawColumnsOf, Spill, type SpilledPartition } from './spill.ts';
import { type SpillWriter, writeSpill } from './write-spill.ts';

/** Open data files of one table and task; beyond it, rows of further partitions wait (see `spill`). */
export const MAX_OPEN_FILES = 64;

/** Of the memory, before the spill is written. */
export const SPILL_SHARE = 0.75;

/** Files that are ended at the same time. */
const CLOSED_AT_ONCE = 8;

const NOTHING: ColumnVector = { kind: 'constant', value: null };

/** What the tables of one task share. */
export interface SharedWriting {
  files: OpenFiles;
  /** Written by who made it. */
  spill: Spill<SpillWriter>;
  garbage: Garbage;
}

/**
 * Writes the rows of one table in one task, a series of files per partition. `append` is synchronous; between appends
 * `settle` writes out what is due, so that memory stays within the limit given there.
 *
 * Rows that would open more than MAX_OPEN_FILES partitions at once are spilled and written sorted by partition when they
 * have taken most of the memory, so that a topic whose timestamps are scattered over years neither fails nor holds
 * hundreds of row groups.
 */
export class TableWriter implements SpillWriter {
  readonly target: TargetTable;
  rows = 0;
  private readonly io: FileIO;
  private readonly naming: FileNaming;
  private readonly batchTimestampMs: number;
  private readonly rowGroupBytes: number;
  /** Which columns of bytes its rows need. */
  readonly raw: RawColumns;
  private readonly files: OpenFiles;
  private readonly columns: number;
  private readonly partitioner: Partitioner;
  private readonly open = new Map<string, DataFileSeries>();
  private readonly closed = new PackedDataFiles();
  private readonly spill: Spill<SpillWriter>;
  private readonly ownsSpill: boolean;
  private readonly garbage: Garbage | undefined;
  private readonly gather: RowGather;
  private readonly vectors: ColumnVector[];
  private uses = 0;

  constructor(
    target: TargetTable,
    io: FileIO,
    naming: FileNaming,
    batchTimestampMs: number,
    rowGroupBytes: number,
    shared?: SharedWriting,
  ) {
    this.files = shared?.files ?? new OpenFiles(Number.POSITIVE_INFINITY);
    this.spill = shared?.spill ?? new Spill();
    this.ownsSpill = shared === undefined;
    this.garbage = shared?.garbage;
    this.columns = columnCount(target.schema);
    this.target = target;
    this.io = io;
    this.naming = naming;
    this.batchTimestampMs = batchTimestampMs;
    this.rowGroupBytes = rowGroupBytes;
    this.partitioner = new Partitioner(target);
    this.raw = rawColumnsOf(target.sources);
    this.gather = new RowGather(this.raw);
    this.vectors = target.sources.map(() => NOTHING);
  }

  get bufferedBytes(): number {
    let bytes = this.ownsSpill ? this.spill.bytes : 0;
    for (const series of this.open.values()) bytes += series.bufferedBytes;
    return bytes;
  }

  /** Takes rows [from, until) of a block; copies what it keeps. */
  append(block: RowBlock, from: number, until: number): void {
    this.rows += until - from;
    if (this.partitioner.byRow) {
      this.appendByRow(block, from, until);
      return;
    }
    for (let row = from; row < until; ) {
      const run = this.partitioner.nextRun(block, row, until, this.batchTimestampMs);
      this.put(block, run, row, run.until);
      row = run.until;
    }
  }

  /** Rows whose partition can change from one to the next: as they follow each other, or brought together first. */
  private appendByRow(block: RowBlock, from: number, until: number): void {
    const { gather, partitioner } = this;
    const numbers = gather.room(until);
    partitioner.number(block, from, until, this.batchTimestampMs, numbers);
    if (gather.isFragmented(from, until)) {
      gather.forEach(block, from, until, (number, gathered, rows) => {
        this.put(gathered, partitioner.runOf(number), 0, rows);
      });
      return;
    }
    for (let row = from; row < until; ) {
      const start = row;
      const number = numbers[row];
      while (row < until && numbers[row] === number) row++;
      this.put(block, partitioner.runOf(number), start, row);
    }
  }

  private put(block: RowBlock, run: PartitionRun, from: number, until: number): void {
    const series = this.open.get(run.key) ?? this.openSeries(run);
    if (series === undefined) this.spill.add(this, block, from, { ...run, until });
    else this.write(series, block, run, from, until);
  }

  /** Ends row groups and files that have their size, and brings the memory under `limitBytes`. */
  async settle(limitBytes: number): Promise<void> {
    for (const series of this.open.values()) await series.settle();
    // Written seldom and much at a time: each time makes a file for each of its partitions.
    if (this.ownsSpill && this.spill.bytes > limitBytes * SPILL_SHARE) await writeSpill(this.spill);
    let held = this.bufferedBytes;
    while (held > limitBytes) {
      await this.largest()?.settle(true);
      const rest = this.bufferedBytes;
      // What a writer holds for its footer does not go before the file ends.
      if (rest >= held) {
        if (this.ownsSpill) await writeSpill(this.spill);
        return;
      }
      held = rest;
    }
  }

  /** Ends all open files, with the rows that wait: nothing is held any more. Further rows go to further files. */
  async end(): Promise<void> {
    if (this.ownsSpill) await writeSpill(this.spill);
    const open = [...this.open.values()];
    this.forget(this.open.keys());
    await this.closeAll(open);
  }

  async close(): Promise<PackedDataFiles> {
    await this.end();
    return this.closed;
  }

  async abort(): Promise<void> {
    for (const series of this.open.values()) await series.abort();
    for (const file of this.closed) await this.io.delete(file.filePath).catch(() => undefined);
  }

  private openSeries(run: PartitionRun): DataFileSeries | undefined {
    if (this.open.size >= MAX_OPEN_FILES || !this.files.take(this.columns)) return undefined;
    const series = this.newSeries(run);
    this.open.set(run.key, series);
    return series;
  }

  private newSeries(run: PartitionRun): DataFileSeries {
    return new DataFileSeries(this.target, this.io, this.naming, run.partition, this.rowGroupBytes);
  }

  private largest(): DataFileSeries | undefined {
    let largest: DataFileSeries | undefined;
    let most = 0;
    for (const series of this.open.values()) {
      if (series.bufferedBytes <= most) continue;
      most = series.bufferedBytes;
      largest = series;
    }
    return largest;
  }

  private write(
    series: DataFileSeries,
    block: RowBlock,
    run: PartitionRun,
    from: number,
    until: number,
  ): void {
    series.lastUse = ++this.uses;
    for (let i = 0; i < this.vectors.length; i++) this.vectors[i] = this.vectorOf(i, block, run);
    series.append(this.vectors, from, until);
  }

  /** Partition after partition: each file is opened, filled and closed, a few at a time. */
  async writeSpilled(partitions: readonly SpilledPartition[]): Promise<void> {
    await this.closeIdle();
    const ending: DataFileSeries[] = [];
    for (const { run, forEachStretch } of partitions) {
      const series = this.open.get(run.key) ?? this.newSeries(run);
      forEachStretch((block, from, until) => this.write(series, block, run, from, until));
      if (this.open.has(run.key)) continue;
      ending.push(series);
      if (ending.length === CLOSED_AT_ONCE) await this.closeAll(ending.splice(0));
    }
    await this.closeAll(ending);
    // Else every table would hold on to the last block that it was written from.
    this.vectors.fill(NOTHING);
  }

  /** Makes room for new partitions: the half of the open files that was used longest ago is ended. */
  private async closeIdle(): Promise<void> {
    const byUse = [...this.open.entries()].sort((a, b) => a[1].lastUse - b[1].lastUse);
    const idle = byUse.slice(0, Math.ceil(byUse.length / 2));
    this.forget(idle.map(([key]) => key));
    await this.closeAll(idle.map(([, series]) => series));
  }

  private forget(keys: Iterable<string>): void {
    for (const key of [...keys]) if (this.open.delete(key)) this.files.give(this.columns);
  }

  /** Several at once, since ending a file is mostly waiting for the storage. All have ended when it throws. */
  private async closeAll(list: readonly DataFileSeries[]): Promise<void> {
    const failures: unknown[] = [];
    for (let at = 0; at < list.length; at += CLOSED_AT_ONCE) {
      const part = list.slice(at, at + CLOSED_AT_ONCE);
      const ended = await Promise.allSettled(part.map((series) => series.close()));
      for (const [i, end] of ended.entries()) {
        if (end.status === 'fulfilled') {
          for (const file of end.value) this.closed.add(file);
        } else {
          failures.push(end.reason);
          await part[i].abort();
        }
      }
      this.garbage?.check();
    }
    if (failures.length > 0) throw failures[0];
  }

  private vectorOf(column: number, block: RowBlock, run: PartitionRun): ColumnVector {
    const source = this.target.sources[column];
    if (isDecoded(source)) return decodedColumn(block.decoded, source);
    switch (source) {
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
