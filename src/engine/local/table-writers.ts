import { reserveOfThreadPool } from '../../parquet/writer.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { BatchTask, TargetTable, WrittenFiles } from './batch-task.ts';
import { FileNaming } from './data-file-series.ts';
import { Garbage } from './garbage.ts';
import { OpenFiles } from './open-files.ts';
import { QuarantineWriter } from './quarantine-writer.ts';
import { Spill } from './spill.ts';
import { type SharedWriting, SPILL_SHARE, TableWriter } from './table-writer.ts';
import { writeSpill } from './write-spill.ts';

/** Share of the task's buffers that the writers may take: their objects and what the allocator keeps come on top. */
const WRITE_SHARE = 0.28;
/** Of the writers' memory: what files may take that have few rows yet. Rows for others wait, and are written together. */
const OPEN_FILES_SHARE = 0.25;
/** Of what a writer held, after it has settled for half of it. */
const MOST_LEFT = 0.75;
const MAX_ROW_GROUP_BYTES = 32 * 1024 * 1024;

/** The writers of one task: one per data table and quarantine, opened when first needed. */
export class TableWriters {
  readonly limitBytes: number;
  private readonly task: BatchTask;
  private readonly io: FileIO;
  private readonly naming: FileNaming;
  private readonly rowGroupBytes: number;
  private readonly shared: SharedWriting;
  private readonly dataWriters = new Map<string, TableWriter>();
  private readonly quarantineWriters = new Map<string, QuarantineWriter>();

  /** `bufferBytes`: the memory of the task for all buffers. */
  constructor(task: BatchTask, io: FileIO, bufferBytes: number) {
    this.task = task;
    this.io = io;
    this.naming = new FileNaming(task.batchId, task.taskIndex, task.attempt, task.writerId);
    this.limitBytes = Math.floor(bufferBytes * WRITE_SHARE);
    this.rowGroupBytes = Math.min(MAX_ROW_GROUP_BYTES, Math.floor(this.limitBytes / 2));
    this.shared = {
      files: new OpenFiles(this.limitBytes * OPEN_FILES_SHARE),
      spill: new Spill(),
      garbage: new Garbage(task.budgetBytes),
    };
  }

  data(target: TargetTable): TableWriter {
    let writer = this.dataWriters.get(target.table);
    if (writer === undefined) {
      writer = new TableWriter(
        target,
        this.io,
        this.naming,
        this.task.batchTimestampMs,
        this.rowGroupBytes,
        this.shared,
      );
      this.dataWriters.set(target.table, writer);
    }
    return writer;
  }

  quarantine(target: TargetTable): QuarantineWriter {
    let writer = this.quarantineWriters.get(target.table);
    if (writer === undefined) {
      writer = new QuarantineWriter(target, this.io, this.naming, this.task, {
        rowGroupBytes: this.rowGroupBytes,
        keepBytes: this.task.quarantineKeepBytes,
      });
      this.quarantineWriters.set(target.table, writer);
    }
    return writer;
  }

  /** Shares the limit among the open tables by need: the largest gives way first. */
  async settle(): Promise<void> {
    const { spill } = this.shared;
    // What rows wait in, the pool of the open files cannot have too.
    reserveOfThreadPool(spill.bytes + spill.idleBytes);
    await this.settleAll();
    spill.dropIdle(spill.bytes + spill.idleBytes + this.openBytes() - this.limitBytes);
    reserveOfThreadPool(spill.bytes + spill.idleBytes);
    this.shared.garbage.check();
  }

  private openBytes(): number {
    return this.all().reduce((sum, writer) => sum + writer.bufferedBytes, 0);
  }

  private async settleAll(): Promise<void> {
    const writers = this.all();
    for (const writer of writers) await writer.settle(this.limitBytes);
    const { spill } = this.shared;
    // Written seldom and much at a time: each time makes a file for each partition of each table.
    if (spill.bytes > this.limitBytes * SPILL_SHARE) await writeSpill(spill);
    const held = writers.map((writer) => writer.bufferedBytes);
    let total = held.reduce((sum, bytes) => sum + bytes, spill.bytes);
    while (total > this.limitBytes) {
      const most = Math.max(...held);
      if (spill.bytes > most) {
        total -= spill.bytes;
        await writeSpill(spill);
        continue;
      }
      const at = held.indexOf(most);
      await writers[at].settle(Math.floor(held[at] / 2));
      // What a file holds for its columns and its footer goes when the file ends.
      if (writers[at].bufferedBytes > held[at] * MOST_LEFT) await writers[at].end();
      const after = writers[at].bufferedBytes;
      if (after >= held[at]) return;
      total -= held[at] - after;
      held[at] = after;
    }
  }

  async close(): Promise<WrittenFiles[]> {
    const written: WrittenFiles[] = [];
    await writeSpill(this.shared.spill);
    for (const writer of this.all()) {
      const files = await writer.close();
      if (files.length > 0) written.push({ table: writer.target.table, files });
    }
    return written;
  }

  async abort(): Promise<void> {
    for (const writer of this.all()) await writer.abort();
  }

  private all(): (TableWriter | QuarantineWriter)[] {
    return [...this.quarantineWriters.values(), ...this.dataWriters.values()];
  }
}
