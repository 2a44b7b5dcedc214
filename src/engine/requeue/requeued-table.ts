import type { RequeueIntent } from '../../checkpoint/requeue-intents.ts';
import { BytesColumn } from '../../columns/bytes-column.ts';
import { Int32Column } from '../../columns/int32-column.ts';
import { Int64Column } from '../../columns/int64-column.ts';
import type { ColumnVector } from '../../columns/vector.ts';
import type { DataFile } from '../../core/data-file.ts';
import { isSluiceError, SluiceError } from '../../errors.ts';
import { AppendCommitter } from '../../iceberg/append-committer.ts';
import type { Catalog, LoadedTable } from '../../iceberg/catalog.ts';
import type { CommitContext } from '../../iceberg/commit.ts';
import { COMMIT_ID } from '../../iceberg/marker.ts';
import { ancestorsOf, currentSchema, defaultSpec, snapshotOfRef } from '../../iceberg/metadata.ts';
import { REQUEUE_ID } from '../../iceberg/requeue-marker.ts';
import { liveFiles } from '../../iceberg/scan.ts';
import { newSnapshotId } from '../../iceberg/snapshot-id.ts';
import { dataDirectory } from '../../iceberg/table-files.ts';
import { readColumns } from '../../parquet/reader.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { TargetTable } from '../local/batch-task.ts';
import { DataFileSeries, FileNaming } from '../local/data-file-series.ts';
import { parseTableName } from '../target-tables.ts';
import { RecordSet } from './record-set.ts';
import { assertRequeued, requeuedRequest, requeuedSchema } from './requeued-layout.ts';

const COLUMNS = [
  'topic',
  'kafka_partition',
  'kafka_offset',
  'pipeline',
  'batch_id',
  'requeue_id',
  'target_table',
] as const;
/** Rows that are handed to the file at a time. */
const STAGED_ROWS = 8192;
const ROW_GROUP_BYTES = 8 * 1024 * 1024;

/**
 * The record of what has gone back from one quarantine, a table of its own (`<table>__requeued`). Only ever appended to:
 * what was read once is not read again.
 */
export class RequeuedTable {
  readonly name: string;
  /** All records that have gone back. */
  readonly records = new RecordSet();
  /** The requeues that are on record. */
  readonly requeueIds = new Set<string>();
  /** The tables that records have gone back into. */
  readonly targets = new Set<string>();
  private readonly catalog: Catalog;
  private readonly io: FileIO;
  private readonly seen = new Set<string>();
  private location: string | undefined;

  constructor(catalog: Catalog, io: FileIO, name: string) {
    this.catalog = catalog;
    this.io = io;
    this.name = name;
  }

  /**
   * Reads what was added since the last time. Returns where the table's metadata is now; empty where there is none. Throws
   * TABLE_INCOMPATIBLE for a table of another kind.
   */
  async refresh(): Promise<string> {
    const table = await this.catalog.loadTable(parseTableName(this.name));
    if (table === undefined) return '';
    await this.take(table);
    return table.metadataLocation;
  }

  /** Puts a requeue on record, or finds it there: one row for each of its records. */
  async commit(
    context: CommitContext,
    intent: RequeueIntent,
    targetSnapshotId: bigint,
    writerId: string,
  ): Promise<void> {
    const table = await this.openOrCreate();
    await this.take(table);
    if (this.requeueIds.has(intent.requeueId)) return;
    const files = await this.write(table, intent, targetSnapshotId, writerId);
    const commitId = context.randomUuid();
    const terms = {
      identifier: table.identifier,
      ref: 'main',
      missing: (name: string) => new SluiceError('TABLE_NOT_FOUND', `table ${name} does not exist any more`),
    };
    try {
      const { alreadyCommitted } = await new AppendCommitter(context, terms).commit({
        ...terms,
        what: `the record of requeue ${intent.requeueId}`,
        facts: { requeueId: intent.requeueId },
        commitId,
        snapshotId: newSnapshotId(context.randomUuid()),
        writerId,
        files,
        summary: { [REQUEUE_ID]: intent.requeueId, [COMMIT_ID]: commitId },
        judge: async (base) => {
          await this.take(base);
          if (!this.requeueIds.has(intent.requeueId)) return null;
          const { metadata } = base;
          const listed = ancestorsOf(metadata, 'main').find(
            ({ summary }) => summary[REQUEUE_ID] === intent.requeueId,
          );
          return listed ?? { snapshotId: 0n, sequenceNumber: metadata.lastSequenceNumber };
        },
        marks: () => [],
      });
      // Another process was first, before anything of ours was tried.
      if (alreadyCommitted) await this.delete(files);
    } catch (error) {
      if (isSluiceError(error) && error.outcome === 'not-applied') await this.delete(files);
      throw error;
    }
    this.requeueIds.add(intent.requeueId);
    this.records.addAll(intent.records);
    this.targets.add(intent.table);
  }

  private async openOrCreate(): Promise<LoadedTable> {
    const identifier = parseTableName(this.name);
    const found = await this.catalog.loadTable(identifier);
    if (found !== undefined) return found;
    try {
      return await this.catalog.createTable(identifier, requeuedRequest());
    } catch (error) {
      if (!isSluiceError(error, 'TABLE_EXISTS') && !isSluiceError(error, 'COMMIT_UNKNOWN')) throw error;
      const made = await this.catalog.loadTable(identifier);
      if (made === undefined) throw error;
      return made;
    }
  }

  private async take({ metadata, metadataLocation }: LoadedTable): Promise<void> {
    if (metadataLocation === this.location) return;
    assertRequeued(this.name, currentSchema(metadata));
    const { fields } = currentSchema(metadata);
    const columns = COLUMNS.map((name) => fields.find((f) => f.name === name)!.id);
    const snapshot = snapshotOfRef(metadata, 'main');
    if (snapshot !== undefined) {
      for await (const { file } of liveFiles(this.io, metadata, snapshot)) {
        if (file.content !== 0)
          throw new SluiceError(
            'UNSUPPORTED',
            `table ${this.name} has delete files: what was requeued is not to be deleted`,
            { context: { table: this.name } },
          );
        if (this.seen.has(file.filePath)) continue;
        await this.read(file, columns);
        this.seen.add(file.filePath);
      }
    }
    this.location = metadataLocation;
  }

  private async read(file: DataFile, columns: readonly number[]): Promise<void> {
    await readColumns(this.io, file.filePath, columns, ({ vectors, rowCount }) => {
      const [topics, partitions, offsets, pipelines, batches, ids, targets] = vectors;
      if (
        topics.kind !== 'strings' ||
        partitions.kind !== 'int32' ||
        offsets.kind !== 'int64' ||
        pipelines.kind !== 'strings' ||
        batches.kind !== 'int64' ||
        ids.kind !== 'strings' ||
        targets.kind !== 'strings'
      )
        throw new SluiceError('DATA_FILE_INVALID', `data file ${file.filePath} has columns of other types`);
      for (let row = 0; row < rowCount; row++) {
        const [topic, id] = [topics.values[row], ids.values[row]];
        if (id !== null) this.requeueIds.add(id);
        const target = targets.values[row];
        if (target !== null) this.targets.add(target);
        if (topic === null || partitions.isNull(row) || offsets.isNull(row)) continue;
        const batchId = batches.isNull(row) ? null : batches.getBigInt(row);
        const key = { topic, partition: partitions.values[row], pipeline: pipelines.values[row], batchId };
        this.records.add(key, offsets.getBigInt(row));
      }
    });
  }

  private async write(
    table: LoadedTable,
    intent: RequeueIntent,
    targetSnapshotId: bigint,
    writerId: string,
  ): Promise<DataFile[]> {
    const target = this.describe(table);
    const naming = new FileNaming(0, 0, 0, `${intent.requeueId}-${writerId}`);
    const series = new DataFileSeries(target, this.io, naming, [], ROW_GROUP_BYTES);
    const rows = new RequeuedRows(target, intent, targetSnapshotId);
    try {
      for (const { topic, partition, pipeline, batchId, offsets } of intent.records) {
        for (const { from, until } of offsets) {
          for (let offset = from; offset < until; offset++) {
            rows.append(topic, partition, offset, pipeline, batchId);
            if (rows.length < STAGED_ROWS) continue;
            rows.flushTo(series);
            await series.settle();
          }
        }
      }
      rows.flushTo(series);
      return await series.close();
    } catch (error) {
      await series.abort();
      throw error;
    }
  }

  private describe({ metadata }: LoadedTable): TargetTable {
    const spec = defaultSpec(metadata);
    if (spec.fields.length > 0)
      throw new SluiceError(
        'TABLE_INCOMPATIBLE',
        `table ${this.name} is partitioned, which the record of what was requeued is not`,
        { context: { table: this.name } },
      );
    const schema = currentSchema(metadata);
    return {
      table: this.name,
      uuid: metadata.tableUuid,
      role: 'data',
      dataLocation: dataDirectory(metadata),
      schema,
      spec,
      sortOrderId: 0,
      sources: [],
      defaults: schema.fields.map(() => null),
      timeZone: 'UTC',
      tombstones: 'keep',
      maxRecordBytes: null,
      codec: 'zstd',
      codecLevel: 1,
      targetFileSizeBytes: 128 * 1024 * 1024,
    };
  }

  private async delete(files: readonly DataFile[]): Promise<void> {
    for (const file of files) await this.io.delete(file.filePath).catch(() => undefined);
  }
}

const encoder = new TextEncoder();

/** Rows of the table as columns that fill up. */
class RequeuedRows {
  private readonly target: TargetTable;
  private readonly constants: Record<string, string | bigint>;
  private readonly topics = new BytesColumn();
  private readonly partitions = new Int32Column();
  private readonly offsets = new Int64Column();
  private readonly pipelines = new BytesColumn();
  private readonly batches = new Int64Column();

  constructor(target: TargetTable, intent: RequeueIntent, targetSnapshotId: bigint) {
    this.target = target;
    this.constants = {
      requeue_id: intent.requeueId,
      target_table: intent.table,
      target_snapshot_id: targetSnapshotId,
      requeued_at: BigInt(intent.requeuedAtMs) * 1000n,
    };
  }

  get length(): number {
    return this.offsets.length;
  }

  append(
    topic: string,
    partition: number,
    offset: bigint,
    pipeline: string | null,
    batchId: bigint | null,
  ): void {
    this.topics.appendBytes(encoder.encode(topic));
    this.partitions.append(partition);
    this.offsets.appendBigInt(offset);
    if (pipeline === null) this.pipelines.appendNull();
    else this.pipelines.appendBytes(encoder.encode(pipeline));
    if (batchId === null) this.batches.appendNull();
    else this.batches.appendBigInt(batchId);
  }

  flushTo(series: DataFileSeries): void {
    if (this.length === 0) return;
    const columns = {
      topic: this.topics,
      kafka_partition: this.partitions,
      kafka_offset: this.offsets,
      pipeline: this.pipelines,
      batch_id: this.batches,
    };
    const byName = new Map<string, ColumnVector>(Object.entries(columns));
    for (const { name } of requeuedSchema().fields)
      if (!byName.has(name)) byName.set(name, { kind: 'constant', value: this.constants[name] });
    const vectors = this.target.schema.fields.map(
      (f): ColumnVector => byName.get(f.name) ?? { kind: 'constant', value: null },
    );
    series.append(vectors, 0, this.length);
    for (const column of Object.values(columns)) column.clear();
  }
}
