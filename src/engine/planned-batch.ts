import type { BatchPlan } from '../checkpoint/records.ts';
import type { BatchLimit, BatchReport } from './host.ts';

/** A batch whose `offsets/N` is written. */
export interface PlannedBatch {
  plan: BatchPlan;
  latest: (bigint | null)[];
  limit: BatchLimit | null;
  /** Offsets that could be read and that the limit left to later batches. */
  leftOffsets: bigint;
  recovered: BatchReport['recovered'];
  startedAtMs: number;
  latestOffsetMs: number;
  walCommitMs: number;
}
