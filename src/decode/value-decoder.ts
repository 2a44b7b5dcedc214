import type { TypedColumn } from '../columns/create-column.ts';
import type { BytesVector } from '../columns/vector.ts';
import type { ReasonCode } from './reasons.ts';

/** A record that becomes no row. */
export interface DecodeFault {
  row: number;
  reason: ReasonCode;
  /** Path of the field at fault, names joined by dots, list elements as `[3]`; empty where the whole value is. */
  field: string;
  /** What was expected and found, with the byte position in the value where one is known. Never the whole value. */
  message: string;
  /** Of the registry; null where there is none. */
  schemaId: number | null;
}

/** What a decoder met in the last block beside rows and faults. */
export interface DecodeCounts {
  /** Keys that stood twice or more in one object; the last one was taken. */
  duplicateKeys: number;
  /** Fields that no column takes. */
  unknownFields: number;
  /** Rows dropped under DROPMALFORMED. */
  dropped: number;
}

/**
 * Decodes the values (or keys) of a block of records straight into columns. Compiled once for a table's columns and
 * reused from block to block; allocates nothing per record that is as it should be. Never throws for what a record holds:
 * hostile bytes end as a fault. Throws for faults of the decoder only.
 */
export interface ValueDecoder {
  /**
   * One per column that was asked for, in that order, each with exactly one row per record of the last block. The rows of
   * tombstones and of records at fault hold nulls, also in required columns: the caller leaves tombstones and faults out.
   */
  readonly columns: readonly TypedColumn[];
  /** Of the last block, ascending by row, at most one a row. */
  readonly faults: readonly DecodeFault[];
  /** Rows of the last block, ascending, that are to be dropped and counted (DROPMALFORMED). */
  readonly dropped: readonly number[];
  /** Rows of the last block, ascending, with fields that no column takes and that are not null; they are no faults. */
  readonly rowsWithUnknownFields: readonly number[];
  readonly counts: DecodeCounts;
  /** Bytes held by the columns, about. */
  readonly byteLength: number;
  /**
   * Ids of writer schemas that the block needs and the decoder has not been given; empty for formats without a registry.
   * `decode` may be called only when it is empty.
   */
  missingSchemas(values: BytesVector): readonly number[];
  /** Decodes rows [0, length) of `values`, in place of what the columns held. A null value is a tombstone: a row of nulls, no fault. */
  decode(values: BytesVector): void;
}
