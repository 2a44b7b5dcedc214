import { BytesColumn } from '../../columns/bytes-column.ts';
import { Int32Column } from '../../columns/int32-column.ts';
import { Int64Column } from '../../columns/int64-column.ts';
import type { ColumnVector } from '../../columns/vector.ts';
import type { DataFile } from '../../core/data-file.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { TargetTable } from './batch-task.ts';
import { DataFileSeries, type FileNaming } from './data-file-series.ts';
import type { ExcludedRow, RowBlock } from './row-block.ts';

const encoder = new TextEncoder();

/** The staged rows are handed to the file after this many bytes of keys, values and headers. */
const STAGE_BYTES = 1024 * 1024;

/**
 * Writes records that cannot become rows, with their exact bytes, into the quarantine table (spec 40). A slow path:
 * it copies record by record.
 */
export class QuarantineWriter {
  readonly target: TargetTable;
  rows = 0;
  private readonly series: DataFileSeries;
  private readonly batchId: bigint;
  private readonly pipelineName: string;
  private readonly quarantinedAtMicros: bigint;
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

  constructor(
    target: TargetTable,
    io: FileIO,
    naming: FileNaming,
    batch: { batchId: number; batchTimestampMs: number; pipelineName: string },
    rowGroupBytes: number,
  ) {
    this.target = target;
    this.batchId = BigInt(batch.batchId);
    this.pipelineName = batch.pipelineName;
    this.quarantinedAtMicros = BigInt(batch.batchTimestampMs) * 1000n;
    const day = Math.floor(batch.batchTimestampMs / 86_400_000);
    this.series = new DataFileSeries(
      target,
      io,
      naming,
      target.spec.fields.map(() => day),
      rowGroupBytes,
    );
  }

  get bufferedBytes(): number {
    return this.series.bufferedBytes + this.values.end + this.keys.end + this.headers.end;
  }

  append(block: RowBlock, excluded: ExcludedRow): void {
    const { columns } = block;
    const { row } = excluded;
    this.topics.appendBytes(encoder.encode(block.topic));
    this.partitions.append(block.partition);
    this.offsets.appendWords(columns.offsets.words[row * 2], columns.offsets.words[row * 2 + 1]);
    if (block.timestampsMicros.isNull(row)) this.timestamps.appendNull();
    else
      this.timestamps.appendWords(
        block.timestampsMicros.words[row * 2],
        block.timestampsMicros.words[row * 2 + 1],
      );
    appendMaybe(this.keys, columns.keys.get(row));
    appendMaybe(this.values, columns.values.get(row));
    appendMaybe(this.headers, columns.headers.get(row));
    this.reasons.appendBytes(encoder.encode(excluded.reason!));
    this.fields.appendBytes(encoder.encode(excluded.field));
    this.messages.appendBytes(encoder.encode(excluded.message));
    this.rows++;
    if (this.values.end + this.keys.end + this.headers.end >= STAGE_BYTES) this.stage();
  }

  /** Writes out what is due; afterwards nothing is held over the row group's size. */
  async settle(): Promise<void> {
    await this.series.settle();
  }

  async close(): Promise<DataFile[]> {
    this.stage();
    return this.series.close();
  }

  async abort(): Promise<void> {
    await this.series.abort();
  }

  private stage(): void {
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
      pipeline: { kind: 'constant', value: this.pipelineName },
      batch_id: { kind: 'constant', value: this.batchId },
      quarantined_at: { kind: 'constant', value: this.quarantinedAtMicros },
    };
    const vectors = this.target.schema.fields.map(
      (f): ColumnVector => byName[f.name] ?? { kind: 'constant', value: null },
    );
    this.series.append(vectors, 0, rows);
    for (const column of [
      this.topics,
      this.offsets,
      this.timestamps,
      this.keys,
      this.values,
      this.headers,
      this.reasons,
      this.fields,
      this.messages,
    ]) {
      column.clear();
    }
    this.partitions.clear();
  }
}

function appendMaybe(column: BytesColumn, bytes: Uint8Array | null): void {
  if (bytes === null) column.appendNull();
  else column.appendBytes(bytes);
}
