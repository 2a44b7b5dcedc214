import { BytesColumn } from '../../columns/bytes-column.ts';
import { Int32Column } from '../../columns/int32-column.ts';
import { Int64Column } from '../../columns/int64-column.ts';
import type { ColumnVector } from '../../columns/vector.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import { PackedDataFiles } from '../../core/packed-data-files.ts';
import { bindPartitionSpec, partitionFunctions } from '../../iceberg/partition.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { TargetTable } from './batch-task.ts';
import { DataFileSeries, type FileNaming } from './data-file-series.ts';
import { keyOf } from './partitioner.ts';
import type { ExcludedRow, RowBlock } from './row-block.ts';

const encoder = new TextEncoder();

/** The staged rows are handed to the file after this many bytes of keys, values and headers. */
const STAGE_BYTES = 1024 * 1024;
/** Partitions that are open at once; `settle` ends them all where there are more. */
const MAX_OPEN_FILES = 64;

/** What is the same for all records of the batch, by column. */
type BatchValues = Readonly<Record<'pipeline' | 'batch_id' | 'quarantined_at', string | bigint>>;

/** Computes a field of the table's partition spec for a record. */
interface FieldPlan {
  column: string;
  byDefault: PartitionValue;
  apply(value: PartitionValue): PartitionValue;
}

/**
 * Writes records that cannot become rows, with their exact bytes, into the quarantine table (spec 40), by whatever
 * spec that table has. Only a value that is TOO_LARGE may be cut; its length and hash stand in the message. A slow path: it copies record by record.
 */
export class QuarantineWriter {
  readonly target: TargetTable;
  rows = 0;
  private readonly io: FileIO;
  private readonly naming: FileNaming;
  private readonly batch: BatchValues;
  private readonly rowGroupBytes: number;
  private readonly keepBytes: number;
  private readonly fields: FieldPlan[];
  private readonly open = new Map<string, Stage>();
  private readonly closed = new PackedDataFiles();

  constructor(
    target: TargetTable,
    io: FileIO,
    naming: FileNaming,
    batch: { batchId: number; batchTimestampMs: number; pipelineName: string },
    limits: { rowGroupBytes: number /** Of a value that is TOO_LARGE. */; keepBytes: number },
  ) {
    this.target = target;
    this.io = io;
    this.naming = naming;
    this.batch = {
      pipeline: batch.pipelineName,
      batch_id: BigInt(batch.batchId),
      quarantined_at: BigInt(batch.batchTimestampMs) * 1000n,
    };
    this.rowGroupBytes = limits.rowGroupBytes;
    this.keepBytes = limits.keepBytes;
    const bound = bindPartitionSpec(target.spec, [target.schema]);
    const functions = partitionFunctions(bound);
    this.fields = bound.map(({ field }, i) => {
      const at = target.schema.fields.findIndex((f) => f.id === field.sourceId);
      return {
        column: target.schema.fields[at]?.name ?? '',
        byDefault: target.defaults[at] ?? null,
        apply: functions[i],
      };
    });
  }

  get bufferedBytes(): number {
    let bytes = 0;
    for (const stage of this.open.values()) bytes += stage.bufferedBytes;
    return bytes;
  }

  append(block: RowBlock, excluded: ExcludedRow): void {
    const partition = this.fields.map((f) => f.apply(this.valueOf(f, block, excluded)));
    const key = keyOf(partition);
    let stage = this.open.get(key);
    if (stage === undefined) {
      const series = new DataFileSeries(this.target, this.io, this.naming, partition, this.rowGroupBytes);
      stage = new Stage(this.target, series, this.batch, this.keepBytes);
      this.open.set(key, stage);
    }
    stage.append(block, excluded);
    this.rows++;
  }

  /** Writes out what is due, and brings the memory under `limitBytes` by ending the files. */
  async settle(limitBytes: number): Promise<void> {
    for (const stage of this.open.values()) await stage.series.settle();
    if (this.open.size > MAX_OPEN_FILES || this.bufferedBytes > limitBytes) await this.end();
  }

  async close(): Promise<PackedDataFiles> {
    await this.end();
    return this.closed;
  }

  async abort(): Promise<void> {
    for (const stage of this.open.values()) await stage.series.abort();
    for (const file of this.closed) await this.io.delete(file.filePath).catch(() => undefined);
  }

  /** Ends all open files, with what is staged: nothing is held any more. */
  async end(): Promise<void> {
    for (const [key, stage] of this.open) {
      stage.flush();
      for (const file of await stage.series.close()) this.closed.add(file);
      this.open.delete(key);
    }
  }

  private valueOf({ column, byDefault }: FieldPlan, block: RowBlock, excluded: ExcludedRow): PartitionValue {
    const { columns, timestampsMicros } = block;
    const { row } = excluded;
    switch (column) {
      case 'topic':
        return block.topic;
      case 'kafka_partition':
        return block.partition;
      case 'kafka_offset':
        return columns.offsets.getBigInt(row);
      case 'kafka_timestamp':
        return timestampsMicros.isNull(row) ? null : timestampsMicros.getBigInt(row);
      case 'key':
        return columns.keys.get(row)?.slice() ?? null;
      case 'value':
        return columns.values.get(row)?.slice() ?? null;
      case 'reason':
        return excluded.reason;
      case 'field':
        return excluded.field;
      case 'message':
        return excluded.message;
      case 'schema_id':
        return excluded.schemaId ?? null;
      case 'pipeline':
      case 'batch_id':
      case 'quarantined_at':
        return this.batch[column];
      default:
        return byDefault;
    }
  }
}

/** The records of one partition: columns that fill up, and the files that they go to. */
class Stage {
  readonly series: DataFileSeries;
  private readonly target: TargetTable;
  private readonly batch: BatchValues;
  private readonly keepBytes: number;
  private readonly offsets = new Int64Column();
  private readonly timestamps = new Int64Column();
  private readonly partitions = new Int32Column();
  private readonly topics = new BytesColumn();
  private readonly keys = new BytesColumn();
  private readonly values = new BytesColumn();
  private readonly headers = new BytesColumn();
  private readonly reasons = new BytesColumn();
  private readonly fields = new BytesColumn();
  private readonly messages = new BytesColumn();
  private readonly schemaIds = new Int32Column();

  constructor(target: TargetTable, series: DataFileSeries, batch: BatchValues, keepBytes: number) {
    this.keepBytes = keepBytes;
    this.target = target;
    this.series = series;
    this.batch = batch;
  }

  get bufferedBytes(): number {
    return this.series.bufferedBytes + this.stagedBytes;
  }

  private get stagedBytes(): number {
    return this.values.end + this.keys.end + this.headers.end;
  }

  append(block: RowBlock, { row, reason, field, message, schemaId = null }: ExcludedRow): void {
    const { columns } = block;
    this.topics.appendBytes(encoder.encode(block.topic));
    this.partitions.append(block.partition);
    this.offsets.appendWords(columns.offsets.words[row * 2], columns.offsets.words[row * 2 + 1]);
    const { words } = block.timestampsMicros;
    if (block.timestampsMicros.isNull(row)) this.timestamps.appendNull();
    else this.timestamps.appendWords(words[row * 2], words[row * 2 + 1]);
    appendMaybe(this.keys, columns.keys.get(row));
    const value = columns.values.get(row);
    const cut = reason === 'TOO_LARGE' && value !== null && value.length > this.keepBytes;
    appendMaybe(this.values, cut ? value.subarray(0, this.keepBytes) : value);
    appendMaybe(this.headers, columns.headers.get(row));
    this.reasons.appendBytes(encoder.encode(reason!));
    this.fields.appendBytes(encoder.encode(field));
    this.messages.appendBytes(encoder.encode(message));
    if (schemaId === null) this.schemaIds.appendNull();
    else this.schemaIds.append(schemaId);
    if (this.stagedBytes >= STAGE_BYTES) this.flush();
  }

  /** Hands what is staged to the file. */
  flush(): void {
    const rows = this.offsets.length;
    if (rows === 0) return;
    const byName: Record<string, ColumnVector> = {
      topic: this.topics,
      kafka_partition: this.partitions,
      kafka_offset: this.offsets,
      kafka_timestamp: this.timestamps,
      key: this.keys,
      value: this.values,
      headers: { kind: 'headers', raw: this.headers },
      reason: this.reasons,
      field: this.fields,
      message: this.messages,
      schema_id: this.schemaIds,
      pipeline: { kind: 'constant', value: this.batch.pipeline },
      batch_id: { kind: 'constant', value: this.batch.batch_id },
      quarantined_at: { kind: 'constant', value: this.batch.quarantined_at },
    };
    const vectors = this.target.schema.fields.map((f, i): ColumnVector => {
      if (Object.hasOwn(byName, f.name)) return byName[f.name];
      return { kind: 'constant', value: this.target.defaults[i] };
    });
    this.series.append(vectors, 0, rows);
    const staged = [this.topics, this.keys, this.values, this.headers];
    for (const column of [...staged, this.reasons, this.fields, this.messages]) column.clear();
    for (const column of [this.offsets, this.timestamps, this.partitions, this.schemaIds]) column.clear();
  }
}

function appendMaybe(column: BytesColumn, bytes: Uint8Array | null): void {
  if (bytes === null) column.appendNull();
  else column.appendBytes(bytes);
}
