import type { openCatalog } from '../catalog/open-catalog.ts';
import type { AutoLimitChange } from '../core/auto-limit.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import type { FileIO } from '../storage/file-io.ts';

export interface Log {
  debug(message: string, context?: object): void;
  info(message: string, context?: object): void;
  warn(message: string, context?: object): void;
  error(message: string, context?: object): void;
}

/** Everything the engine takes from outside: clock, randomness, identity, what people see, how it is told to stop. */
export interface EngineHost {
  now(): number;
  random(): number;
  randomUuid(): string;
  hostname: string;
  pid: number;
  /** Does a process of this id run on this host? */
  isProcessAlive?: (pid: number) => boolean;
  log: Log;
  /** See `Failpoints`; empty in production. */
  failpoints: string;
  /** Aborted when the run should end after, or instead of, the running batch. */
  stop: AbortSignal;
  acceptQuarantine: boolean;
  /** Called often while a batch is read; must be cheap. */
  onActivity?(activity: BatchActivity): void;
  /** Called after each batch, with what it did. */
  onBatch?(report: BatchReport): void | Promise<void>;
  /** The places that tests replace to inject faults. With `inlineWorkers` the batch is read in this thread. */
  seams?: {
    fileIO?: FileIO;
    openCatalog?: typeof openCatalog;
    inlineWorkers?: boolean;
  };
}

export interface BatchActivity {
  batchId: number;
  /** Offsets of the batch. */
  totalOffsets: number;
  records: number;
  bytes: number;
}

/** Milliseconds spent, by phase; names are those of Spark's `durationMs` where it has them. */
export interface BatchDurations {
  triggerExecution: number;
  latestOffset: number;
  walCommit: number;
  addBatch: number;
  read: number;
  commitTables: number;
  commitOffsets: number;
}

export interface TableReport {
  table: string;
  role: 'data' | 'quarantine';
  rows: number;
  files: number;
  bytes: number;
  snapshotId: bigint | null;
}

/** The most offsets that a batch may take. */
export interface BatchLimit {
  maxOffsets: bigint;
  /** The option that says so. */
  by: 'maxOffsetsPerTrigger' | 'auto' | 'maxBytesPerTrigger';
  /** Why it is this number, where it is not the option's own. */
  reason: string | null;
}

export interface BatchReport {
  batchId: number;
  pipelineId: string;
  runId: string;
  startedAtMs: number;
  /** Was a batch of an earlier process finished or read again? */
  recovered: 'no' | 'finished' | 'read again';
  ranges: OffsetRange[];
  /** The newest offsets at planning time, per range in the same order; null where unknown (a recovered batch). */
  latest: (bigint | null)[];
  records: number;
  quarantined: number;
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  bytes: number;
  tables: TableReport[];
  durations: BatchDurations;
  /** What limited it at planning time; null where nothing did, or where an earlier process planned it. */
  limit: BatchLimit | null;
  /** How `maxOffsetsPerTrigger: auto` changed the limit after it; null where it stays. */
  limitChange: AutoLimitChange | null;
  lost: { topic: string; partition: number; from: bigint; until: bigint; reason: string }[];
  peakRssBytes: number;
}

export interface RunSummary {
  pipelineId: string;
  runId: string;
  batches: number;
  /** Records of the batches of this run: rows, quarantined and dropped by rule. */
  records: number;
  quarantined: number;
  bytes: number;
  seconds: number;
  stopped: 'finished' | 'asked' | 'abandoned';
}
