import type { NestedField } from '../core/schema.ts';
import type { ValueFormat } from '../core/value-format.ts';
import type { BronzeSource } from './bronze-layout.ts';

/** A column that the decoder of the value, or of the key, fills: its `columns[index]`. */
export interface DecodedSource {
  part: 'value' | 'key';
  index: number;
}

/** What a top-level column of a data table is filled with. */
export type ColumnSource = BronzeSource | DecodedSource;

export function isDecoded(source: ColumnSource): source is DecodedSource {
  return typeof source === 'object';
}

/** One part of a record and the columns that it becomes. */
export interface DecodePart {
  format: ValueFormat;
  /** Fields of the table by the names that the records use, the prefix of the key taken off. */
  columns: NestedField[];
  prefix: string;
  /** What is looked for that the table could be given by `evolve`, or by `schema: infer`: in all records (null), or in the first ones. Null: nothing. */
  discover: { records: number | null } | null;
  /** A field that has no column sends the record to the quarantine, once the table cannot be given one. */
  refuseUnknown: boolean;
}

/** How the records of a topic become the columns of a typed table. */
export interface DecodePlan {
  value: DecodePart | null;
  key: DecodePart | null;
}

/** Do the records say what their table could be given? */
export function discovers({ value, key }: DecodePlan): boolean {
  return (value?.discover ?? key?.discover ?? null) !== null;
}
