import type { RequeueIntent } from '../../checkpoint/requeue-intents.ts';
import type { DataFile } from '../../core/data-file.ts';
import { isSluiceError } from '../../errors.ts';
import { newSnapshotId } from '../../iceberg/snapshot-id.ts';
import type { TopicTargets } from '../local/batch-task.ts';
import { FileNaming } from '../local/data-file-series.ts';
import type { RowBlock } from '../local/row-block.ts';
import { TableWriter } from '../local/table-writer.ts';
import { type RecordKey, RecordSet } from './record-set.ts';
import { claim } from './requeue-claim.ts';
import { deleteData, finishRequeue } from './requeue-commit.ts';
import type { RequeueHost } from './requeue-host.ts';
import type { RequeueDone, RequeueTally } from './requeue-report.ts';
import type { RequeuedTable } from './requeued-table.ts';

const WRITE_SHARE = 0.25;
const MAX_ROW_GROUP_BYTES = 32 * 1024 * 1024;

/** What is about to go back into one table. */
interface Pending {
  targets: TopicTargets;
  writer: TableWriter;
  requeueId: string;
  requeuedAtMs: number;
  records: RecordSet;
}

/** Writes the rows that go back, and commits them requeue by requeue, each into one table. */
export class RequeueOutput {
  /** In the order in which they were committed. */
  readonly done: RequeueDone[] = [];
  /** Records of requeues that met another one: they are to be looked at again. */
  overlapped = new RecordSet();
  private readonly host: RequeueHost;
  private readonly quarantine: string;
  private readonly requeued: RequeuedTable;
  private readonly tally: RequeueTally;
  private readonly limitBytes: number;
  private readonly pending = new Map<string, Pending>();
  private count = 0;

  constructor(host: RequeueHost, quarantine: string, requeued: RequeuedTable, tally: RequeueTally) {
    this.host = host;
    this.quarantine = quarantine;
    this.requeued = requeued;
    this.tally = tally;
    this.limitBytes = Math.floor(host.config.memoryBytes * WRITE_SHARE);
  }

  append(targets: TopicTargets, block: RowBlock, from: number, until: number): void {
    this.of(targets).writer.append(block, from, until);
  }

  /** A record whose row was appended to a table. */
  note(table: string, key: RecordKey, offset: bigint): void {
    this.pending.get(table)!.records.add(key, offset);
    this.count++;
  }

  /** Writes out what is due; commits where enough has come together. */
  async settle(): Promise<void> {
    for (const { writer } of this.pending.values()) await writer.settle(this.limitBytes);
    if (this.count >= this.host.recordsAtOnce) await this.flush();
  }

  /** Commits what is pending. Throws what the commits throw: what was begun is finished by the next requeue. */
  async flush(): Promise<void> {
    this.host.failpoints.hit('requeue-write');
    for (const [table, pending] of this.pending) {
      const files = [...(await pending.writer.close())];
      this.pending.delete(table);
      this.host.failpoints.hit('requeue-after-write');
      await this.commit(pending, files);
    }
    this.count = 0;
  }

  /** Gives up what is pending: nobody refers to it yet. */
  async abort(): Promise<void> {
    for (const { writer } of this.pending.values()) await writer.abort();
    this.pending.clear();
  }

  private async commit(pending: Pending, files: DataFile[]): Promise<void> {
    const { host, requeued } = this;
    const { targets, requeueId, records, requeuedAtMs } = pending;
    const { table, uuid } = targets.data;
    const intent: RequeueIntent = {
      requeueId,
      pipelineName: host.config.name,
      quarantine: this.quarantine,
      table,
      uuid,
      commitId: host.randomUuid(),
      snapshotId: newSnapshotId(host.randomUuid()),
      writerId: host.owner.writerId,
      requeuedAtMs,
      files,
      records: records.records(),
    };
    if (!(await this.claim(intent))) {
      await deleteData(host, intent);
      this.overlapped.addAll(intent.records);
      return;
    }
    const end = await finishRequeue(host, requeued, intent);
    if (end.kind === 'overlap') {
      this.overlapped.addAll(intent.records);
      return;
    }
    this.tally.row(table, end.rows);
    this.done.push({ requeueId, table, snapshotId: end.snapshotId, rows: end.rows });
    host.log.info(`requeue ${requeueId}: ${end.rows} records went back into ${table}`, {
      requeueId,
      table,
      rows: end.rows,
      snapshotId: end.snapshotId,
    });
  }

  private async claim(intent: RequeueIntent): Promise<boolean> {
    try {
      return await claim(this.host, this.requeued, intent);
    } catch (error) {
      // Where the intent may stand in the checkpoint, or may yet, its files belong to it.
      if (isSluiceError(error) && error.outcome === 'not-applied') await deleteData(this.host, intent);
      throw error;
    }
  }

  private of(targets: TopicTargets): Pending {
    const { table } = targets.data;
    let pending = this.pending.get(table);
    if (pending === undefined) {
      const { host } = this;
      const requeueId = host.randomUuid();
      const requeuedAtMs = host.now();
      const naming = new FileNaming(0, 0, 0, `requeue-${requeueId}`);
      const rowGroupBytes = Math.min(MAX_ROW_GROUP_BYTES, Math.floor(this.limitBytes / 2));
      const writer = new TableWriter(targets.data, host.io, naming, requeuedAtMs, rowGroupBytes);
      pending = { targets, writer, requeueId, requeuedAtMs, records: new RecordSet() };
      this.pending.set(table, pending);
    }
    return pending;
  }
}
