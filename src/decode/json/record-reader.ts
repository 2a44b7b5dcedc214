import type { ObjectPlan } from './field-plan.ts';
import type { JsonFault } from './json-fault.ts';

/** Reads documents into the columns of a plan, one row each. */
export interface RecordReader {
  readonly duplicateKeys: number;
  readonly unknownFields: number;
  /** Has the last record a field that no column takes and that is not null or empty? */
  readonly unknownContent: boolean;
  /** Has a field of the last record been made null because it could not be read? */
  readonly fieldFault: boolean;
  /** The bytes that the last record is in. */
  readonly bytes: Uint8Array;
  /** Before records are read: the bytes that hold them, with `SLACK` more behind the last one. */
  setBytes(data: Uint8Array, view: DataView): void;
  /** Before a block: nothing is counted yet. */
  clearCounts(): void;
  /**
   * Reads the document [from, end) into a new row of every field of `plan` that takes values. False, and no row, for a
   * document that stands for null. Throws `JsonFault`; the columns may then hold a part of the row.
   */
  readDocument(plan: ObjectPlan, from: number, end: number): boolean;
  /** After a fault: what was begun is forgotten, and a text that is no JSON at all is told of before anything else. */
  endFault(fault: JsonFault): void;
}
