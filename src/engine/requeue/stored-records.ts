import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { RecordColumns } from '../../columns/record-columns.ts';
import type { ReadVector } from '../../parquet/reader.ts';
import type { QuarantineColumn } from './quarantine-columns.ts';
import type { RecordKey } from './record-set.ts';

/** A header of a record; the key as far as it is text, the value null where there is none. */
export interface StoredHeader {
  key: string;
  value: Uint8Array | null;
}

const encoder = new TextEncoder();

/** A chunk of quarantined records, by column. Good until the next chunk. */
export class StoredRecords {
  readonly rowCount: number;
  private readonly vectors: ReadonlyMap<QuarantineColumn, ReadVector>;

  constructor(vectors: ReadonlyMap<QuarantineColumn, ReadVector>, rowCount: number) {
    this.vectors = vectors;
    this.rowCount = rowCount;
  }

  text(column: QuarantineColumn, row: number): string | null {
    const vector = this.vectors.get(column);
    return vector?.kind === 'strings' ? vector.values[row] : null;
  }

  integer(column: QuarantineColumn, row: number): number | null {
    const vector = this.vectors.get(column);
    return vector?.kind === 'int32' && !vector.isNull(row) ? vector.values[row] : null;
  }

  long(column: QuarantineColumn, row: number): bigint | null {
    const vector = this.vectors.get(column);
    return vector?.kind === 'int64' && !vector.isNull(row) ? vector.getBigInt(row) : null;
  }

  bytes(column: 'key' | 'value', row: number): Uint8Array | null {
    const vector = this.vectors.get(column);
    return vector?.kind === 'bytes' ? vector.get(row) : null;
  }

  /** Null where the record has none. */
  headers(row: number): StoredHeader[] | null {
    const list = this.vectors.get('headers');
    if (list?.kind !== 'list' || list.isNull(row) || list.element.kind !== 'struct') return null;
    const { names, fields } = list.element;
    const keys = fields[names.indexOf('key')];
    const values = fields[names.indexOf('value')];
    const headers: StoredHeader[] = [];
    for (let entry = list.starts[row]; entry < list.starts[row + 1]; entry++)
      headers.push({
        key: (keys?.kind === 'strings' ? keys.values[entry] : null) ?? '',
        value: values?.kind === 'bytes' ? values.get(entry) : null,
      });
    return headers;
  }

  /** Null for a row that lacks a part of its coordinate: Sluice did not write it. */
  key(row: number): (RecordKey & { offset: bigint }) | null {
    const topic = this.text('topic', row);
    const partition = this.integer('kafka_partition', row);
    const offset = this.long('kafka_offset', row);
    if (topic === null || partition === null || offset === null) return null;
    const [pipeline, batchId] = [this.text('pipeline', row), this.long('batch_id', row)];
    return { topic, partition, offset, pipeline, batchId };
  }

  /** Appends a record as Kafka brought it. */
  appendTo(columns: RecordColumns, row: number): void {
    columns.offsets.appendBigInt(this.long('kafka_offset', row) ?? 0n);
    const micros = this.long('kafka_timestamp', row);
    if (micros === null) columns.timestampsMs.appendNull();
    else columns.timestampsMs.appendBigInt(micros / 1000n);
    columns.timestampTypes.append(0);
    appendMaybe(columns.keys, this.bytes('key', row));
    appendMaybe(columns.values, this.bytes('value', row));
    const headers = this.headers(row);
    appendMaybe(columns.headers, headers === null ? null : headerBlock(headers));
  }

  /**
   * Are the bytes of the value all there? A value that is TOO_LARGE may have been cut: its message tells the length and the
   * hash of the whole (`RowBlock`).
   */
  isWhole(row: number): boolean {
    if (this.text('reason', row) !== 'TOO_LARGE') return true;
    const value = this.bytes('value', row);
    if (value === null) return true;
    const told = /the value has (\d+) bytes, SHA-256 ([0-9a-f]{64})/.exec(this.text('message', row) ?? '');
    if (told === null || Number(told[1]) !== value.length) return false;
    return createHash('sha256').update(value).digest('hex') === told[2];
  }
}

/** Finds the rows whose value, or key, is no text, as the decoder of Kafka's records does. */
export function markInvalidUtf8(columns: RecordColumns): void {
  const invalid = (bytes: BytesColumn): number[] => {
    const rows: number[] = [];
    for (let row = 0; row < bytes.length; row++) {
      const value = bytes.get(row);
      if (value !== null && !isUtf8(value)) rows.push(row);
    }
    return rows;
  };
  columns.invalidUtf8Values = invalid(columns.values);
  columns.invalidUtf8Keys = invalid(columns.keys);
}

function appendMaybe(
  column: { appendBytes(bytes: Uint8Array): void; appendNull(): void },
  bytes: Uint8Array | null,
): void {
  if (bytes === null) column.appendNull();
  else column.appendBytes(bytes);
}

/** A block of Kafka headers: a varint count, then key and value each with a varint length, -1 for no value (KIP-82). */
export function headerBlock(headers: readonly StoredHeader[]): Uint8Array {
  const parts: Uint8Array[] = [varint(headers.length)];
  for (const { key, value } of headers) {
    const name = encoder.encode(key);
    parts.push(varint(name.length), name, varint(value === null ? -1 : value.length));
    if (value !== null) parts.push(value);
  }
  return Buffer.concat(parts);
}

/** Zigzag, 32 bits. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let raw = (value << 1) ^ (value >> 31);
  for (; raw >>> 0 > 0x7f; raw >>>= 7) bytes.push((raw & 0x7f) | 0x80);
  bytes.push(raw);
  return Uint8Array.from(bytes);
}
