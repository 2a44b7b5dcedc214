import type { FlatVector, ListVector, MapVector, StructVector } from './vector.ts';

/** A column that rows are appended to; how values are appended is each kind's own. */
export type GrowingColumn = (FlatVector | StructVector | ListVector | MapVector) & {
  appendNull(): void;
  isNull(row: number): boolean;
  /** Drops rows [rows, length), and what a nested row that was not ended has left. */
  truncate(rows: number): void;
  /** Drops all rows, keeps the buffers. */
  clear(): void;
};
