import { createHash } from 'node:crypto';
import { Int64Column } from '../../columns/int64-column.ts';
import type { RecordColumns } from '../../columns/record-columns.ts';
import { firstInvalidHeaderKey } from '../../decode/header-keys.ts';
import type { ReasonCode } from '../../decode/reasons.ts';
import { firstInvalidUtf8 } from '../../decode/utf8.ts';
import type { ValueDecoder } from '../../decode/value-decoder.ts';
import type { TopicTargets } from './batch-task.ts';
import type { DecodedColumns, RowDecoders } from './row-decoders.ts';

/** 0001-01-01 and the end of 9999-12-31 in ms since 1970: what dates and timestamps of tables can say (spec 40). */
const MIN_TIMESTAMP_MS = -62_135_596_800_000;
const MAX_TIMESTAMP_MS = 253_402_300_799_999;

/** A row that does not become a row of the data table. */
export interface ExcludedRow {
  row: number;
  /** Null: dropped by rule (a tombstone under `tombstones: drop`). */
  reason: ReasonCode | null;
  field: string;
  message: string;
  /** The writer schema's id in the registry, where there is one. */
  schemaId?: number | null;
  /** Whose decoding failed. */
  part?: 'value' | 'key';
}

/**
 * Decoded rows of one topic-partition, made ready for table writers: timestamps in microseconds, and the rows found
 * that cannot or must not go to the data table. Reused from block to block.
 */
export class RowBlock {
  readonly timestampsMicros = new Int64Column();
  /** In row order. */
  excluded: ExcludedRow[] = [];
  columns!: RecordColumns;
  topic = '';
  topicId: string | null = null;
  partition = 0;
  /** Of a typed table. */
  decoded: DecodedColumns = NOTHING_DECODED;
  /** The greatest timestamp of the block's rows; -Infinity where none has one. */
  maxTimestampMs = Number.NEGATIVE_INFINITY;

  load(
    targets: TopicTargets,
    partition: number,
    columns: RecordColumns,
    decoders: RowDecoders | null = null,
  ): void {
    this.columns = columns;
    this.topic = targets.topic;
    this.topicId = targets.topicId;
    this.partition = partition;
    this.excluded = [];
    this.convertTimestamps();
    if (targets.checkUtf8Values) this.excludeInvalidUtf8(columns.invalidUtf8Values, 'value');
    if (targets.checkUtf8Keys) this.excludeInvalidUtf8(columns.invalidUtf8Keys, 'key');
    if (targets.checkUtf8HeaderKeys) this.excludeInvalidHeaders();
    if (targets.data.maxRecordBytes !== null) this.excludeTooLarge(targets.data.maxRecordBytes);
    if (targets.data.tombstones === 'drop' && columns.values.nullCount > 0) this.excludeTombstones();
    if (decoders !== null) this.decode(targets, decoders);
    if (this.excluded.length > 1) this.excluded = firstPerRow(this.excluded);
  }

  /** Decodes value and key; what cannot be a row is excluded. */
  private decode(targets: TopicTargets, decoders: RowDecoders): void {
    decoders.decode(this.columns);
    this.decoded = decoders.decoded;
    for (const part of ['value', 'key'] as const) {
      const decoder = decoders[part];
      if (decoder === null) continue;
      for (const { row, reason, field, message, schemaId } of decoder.faults)
        this.excluded.push({ row, reason, field: field === '' ? part : field, message, schemaId, part });
      for (const row of decoder.dropped) this.excluded.push({ row, reason: null, field: part, message: '' });
      if (decoders.plan[part]!.refuseUnknown) this.excludeUnknownFields(decoder, part);
      this.excludeNulls(targets, part);
    }
  }

  /** A table that follows its records takes every field of them, or none: nothing is passed over. */
  private excludeUnknownFields(decoder: ValueDecoder, field: 'value' | 'key'): void {
    const message = 'the record has a field that is not in the table, and that the table cannot be given';
    for (const row of decoder.rowsWithUnknownFields)
      this.excluded.push({ row, reason: 'UNKNOWN_FIELD', field, message, part: field });
  }

  /** A record without the part is a row of nulls, which required columns do not take. */
  private excludeNulls(targets: TopicTargets, part: 'value' | 'key'): void {
    const required = targets.requiredColumns[part];
    const bytes = part === 'value' ? this.columns.values : this.columns.keys;
    if (required === null || bytes.nullCount === 0) return;
    // They are dropped already.
    if (part === 'value' && targets.data.tombstones === 'drop') return;
    const what = part === 'value' ? 'the record is a tombstone' : 'the record has no key';
    for (let row = 0; row < bytes.length; row++) {
      if (!bytes.isNull(row)) continue;
      const message = `${what}, and column ${required} is required`;
      this.excluded.push({ row, reason: 'MISSING_REQUIRED', field: required, message, part });
    }
  }

  /** ms to micros in 32-bit words: exact, and nothing is allocated per row. */
  private convertTimestamps(): void {
    const { timestampsMs } = this.columns;
    const micros = this.timestampsMicros;
    const rows = timestampsMs.length;
    micros.clear();
    micros.reserve(rows);
    const { words } = timestampsMs;
    let max = Number.NEGATIVE_INFINITY;
    for (let row = 0; row < rows; row++) {
      if (timestampsMs.nullCount > 0 && timestampsMs.nulls[row] === 1) {
        micros.appendNull();
        continue;
      }
      const low = words[row * 2] >>> 0;
      const high = words[row * 2 + 1];
      const ms = high * 4294967296 + low;
      if (ms < MIN_TIMESTAMP_MS || ms > MAX_TIMESTAMP_MS) {
        micros.appendNull();
        const message = `the Kafka timestamp ${timestampsMs.getBigInt(row)} ms is outside the years 0001 to 9999`;
        this.excluded.push({ row, reason: 'OUT_OF_RANGE', field: 'kafka_timestamp', message });
        continue;
      }
      if (ms > max) max = ms;
      const product = low * 1000;
      micros.appendWords(product | 0, high * 1000 + Math.floor(product / 4294967296));
    }
    this.maxTimestampMs = max;
  }

  private excludeInvalidUtf8(rows: readonly number[], field: 'value' | 'key'): void {
    const column = field === 'value' ? this.columns.values : this.columns.keys;
    for (const row of rows) {
      const bytes = column.get(row)!;
      const message = `the ${field} (${bytes.length} bytes) is not valid UTF-8: first bad byte at ${firstInvalidUtf8(bytes)}`;
      this.excluded.push({ row, reason: 'INVALID_UTF8', field, message });
    }
  }

  /** A table's header keys are text: a record with a key that is not goes to quarantine. */
  private excludeInvalidHeaders(): void {
    const { headers } = this.columns;
    if (headers.nullCount === headers.length) return;
    for (let row = 0; row < headers.length; row++) {
      if (headers.isNull(row)) continue;
      // Past the length prefix.
      const header = firstInvalidHeaderKey(headers.data, headers.starts[row] + 4);
      if (header < 0) continue;
      const message = `the key of header ${header} is not valid UTF-8`;
      this.excluded.push({ row, reason: 'INVALID_UTF8', field: 'headers', message });
    }
  }

  /** Case C17: a record over the limit is set aside with its length and hash, and its neighbours land. */
  private excludeTooLarge(limit: number): void {
    const { keys, values } = this.columns;
    // Two length prefixes of four bytes are in the sum at the most.
    for (let row = 0; row < values.length; row++) {
      const size = values.starts[row + 1] - values.starts[row] + (keys.starts[row + 1] - keys.starts[row]);
      if (size <= limit) continue;
      const key = keys.get(row);
      const value = values.get(row);
      const bytes = (key?.length ?? 0) + (value?.length ?? 0);
      if (bytes <= limit) continue;
      const hash =
        value === null ? '' : `; the value has ${value.length} bytes, SHA-256 ${sha256OfBytes(value)}`;
      const message = `key and value have ${bytes} bytes, maxRecordBytes is ${limit}${hash}`;
      this.excluded.push({ row, reason: 'TOO_LARGE', field: 'value', message });
    }
  }

  private excludeTombstones(): void {
    const { values } = this.columns;
    for (let row = 0; row < values.length; row++) {
      if (values.isNull(row)) this.excluded.push({ row, reason: null, field: 'value', message: 'tombstone' });
    }
  }
}

function sha256OfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const NOTHING_DECODED: DecodedColumns = { value: [], key: [] };

/** In row order, one entry a row; a quarantine reason goes before a drop, so that no broken record is dropped. */
function firstPerRow(rows: ExcludedRow[]): ExcludedRow[] {
  const sorted = [...rows].sort(
    (a, b) => a.row - b.row || Number(a.reason === null) - Number(b.reason === null),
  );
  return sorted.filter((entry, i) => i === 0 || entry.row !== sorted[i - 1].row);
}
