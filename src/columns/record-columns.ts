import { BytesColumn } from './bytes-column.ts';
import { Int32Column } from './int32-column.ts';
import { Int64Column } from './int64-column.ts';

/**
 * Decoded Kafka records of one topic-partition, as columns of equal length, in offset order. Reused from one response
 * to the next: a receiver that keeps rows must copy them before it returns.
 */
export class RecordColumns {
  /** Kafka offsets. Never null. */
  readonly offsets = new Int64Column();
  /** Milliseconds since 1970; null where the record's timestamp is -1 (case C15). */
  readonly timestampsMs = new Int64Column();
  /** 0 CreateTime, 1 LogAppendTime. Never null. */
  readonly timestampTypes = new Int32Column();
  /** Null and empty are different things, for key and value alike. */
  readonly keys = new BytesColumn();
  readonly values = new BytesColumn();
  /** The raw header block of a record (varint count and entries); null where it has none. */
  readonly headers = new BytesColumn();

  /** Rows whose value, or key, is not valid UTF-8, ascending. Filled only when the decoder was asked to check. */
  invalidUtf8Values: readonly number[] = [];
  invalidUtf8Keys: readonly number[] = [];

  get length(): number {
    return this.offsets.length;
  }

  /** Bytes in use, about: what a receiver that copies the rows needs for them. */
  get byteLength(): number {
    return this.keys.end + this.values.end + this.headers.end + this.length * 32;
  }

  /** Makes room for `rows` more rows in every column; bytes are reserved by who appends them. */
  reserveRows(rows: number): void {
    this.offsets.reserve(rows);
    this.timestampsMs.reserve(rows);
    this.timestampTypes.reserve(rows);
    this.keys.reserve(rows, 0);
    this.values.reserve(rows, 0);
    this.headers.reserve(rows, 0);
  }

  /** Gives back buffers of bytes that have grown beyond `maxBytes`; only when empty. */
  trim(maxBytes: number): void {
    this.keys.trim(maxBytes);
    this.values.trim(maxBytes);
    this.headers.trim(maxBytes);
  }

  clear(): void {
    this.offsets.clear();
    this.timestampsMs.clear();
    this.timestampTypes.clear();
    this.invalidUtf8Values = [];
    this.invalidUtf8Keys = [];
    this.keys.clear();
    this.values.clear();
    this.headers.clear();
  }
}
