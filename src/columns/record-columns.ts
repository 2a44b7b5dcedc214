import { BytesColumn } from './bytes-column.ts';
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
  /** Null and empty are different things, for key and value alike. */
  readonly keys = new BytesColumn();
  readonly values = new BytesColumn();
  /** The raw header block of a record (varint count and entries); null where it has none. */
  readonly headers = new BytesColumn();

  get length(): number {
    return this.offsets.length;
  }

  clear(): void {
    this.offsets.clear();
    this.timestampsMs.clear();
    this.keys.clear();
    this.values.clear();
    this.headers.clear();
  }
}
