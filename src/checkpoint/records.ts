/** The contents of Sluice's own files of a checkpoint (`_sluice/`, spec 30). 64-bit numbers are JSON integers on disk. */
import type { DataFiles } from '../core/data-file.ts';
import type { OffsetRange } from '../core/offset-range.ts';

/** One target table of a batch. */
export interface PlannedTable {
  /** `namespace.name`. */
  table: string;
  uuid: string;
  /** The branch that is written, `main`. */
  ref: string;
  role: 'data' | 'quarantine';
  /** One of several tables of a rule with `route`. */
  route?: RouteOfTable;
}

export interface RouteOfTable {
  /** The name of the account that the tables share: `table` of the rule, with `${route}` in it. */
  group: string;
  /** What records have that go here; null for the quarantine of those without a destination. */
  value: string | null;
}

/** The incarnation of a topic: a recreated topic has the same name and another id. */
export interface TopicIncarnation {
  topic: string;
  /** The topic id as Kafka's tools print it (base64url of 16 bytes); null from a broker that has none. */
  topicId: string | null;
}

/** `plan/N.json`: written before `offsets/N`; may be replaced until `offsets/N` exists. */
export interface BatchPlan {
  batchId: number;
  /** Also the `ingested_at` of every row of the batch, so that a re-run gives the same rows. */
  batchTimestampMs: number;
  clusterId: string | null;
  topics: TopicIncarnation[];
  /** What the batch reads: exactly these ranges, whenever it is run. Empty ranges are listed too. */
  ranges: OffsetRange[];
  /** Leader epoch of the last record batch read before `from`, and the offset after that batch, per range, where known. */
  leaderEpochs: { topic: string; partition: number; epoch: number; endOffset: bigint }[];
  tables: PlannedTable[];
  /** The part of the configuration that decides where rows go, as text, and its SHA-256. */
  config: { hash: string; text: string };
  /** Ranges that were given up before this batch, by rule or by a person. */
  lost: LostRange[];
  /** The batch reads nothing: it only moves the positions, as `checkpoint reset` was told to. */
  reset?: PlannedReset;
}

/** Who asked for a reset of the checkpoint, when (ISO 8601), and why. */
export interface ResetNote {
  reason: string;
  by: string;
  at: string;
}

export interface PlannedReset extends ResetNote {
  /** The command that asked for it, without `--execute`. */
  command: string;
  /** The log that the checkpoint came from before. */
  previous: { clusterId: string | null; topics: TopicIncarnation[] };
}

export interface LostRange extends OffsetRange {
  topicId: string | null;
  reason: string;
  /** `failOnDataLoss=false`, or who asked for a reset. */
  acceptedBy: string;
}

/** Where the offsets [from, until) of one partition went. rows + quarantined + dropped + control + aborted + holes = until - from. */
export interface RangeFunnel extends OffsetRange {
  /**
   * The data table of the rows, `namespace.name`, or the group that they went to; what is set aside goes to the quarantine
   * beside it.
   */
  table: string;
  rows: number;
  quarantined: number;
  /** Tombstones and filtered records that a rule dropped. */
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  /** Bytes of record batches as they came from the broker. */
  bytes: number;
  /** Leader epoch of the last record batch of the range, -1 where unknown. */
  leaderEpoch: number;
  /** The offset after that record batch, which may reach past `until`; 0 where the epoch is unknown. */
  leaderEpochEnd: bigint;
  /** The greatest Kafka timestamp of the range's records, ms since 1970; null where none has one. */
  maxTimestampMs: number | null;
  /** The offsets of the range that have no row and no quarantined record, as [from, until) stretches, cut after 10,000 of them. */
  gaps: { from: bigint; until: bigint }[];
  gapsCut: boolean;
  /** The checksum (core/gap-sum.ts) of those offsets, listed or not. */
  gapSum: number;
  /** By table, where they went to several: of the rows and of what is quarantined. In the order of their names. */
  routed?: { table: string; rows: number; quarantined: number }[];
}

export interface PreparedTable extends PlannedTable {
  /** One uuid per batch and table: finds our commit again. */
  commitId: string;
  /** Chosen before the first attempt; kept in the marker. */
  snapshotId: bigint;
  rows: number;
  files: DataFiles;
}

/** `prepared/N.json`: written when all files of the batch are durable, before the first table commit. */
export interface PreparedBatch {
  batchId: number;
  writerId: string;
  /** In commit order: quarantine tables first. Tables without files are left out. */
  tables: PreparedTable[];
  /** What was read: the planned ranges, less what `lost` took from their beginnings. */
  funnel: RangeFunnel[];
  /** Ranges that were planned but deleted before they were read; given up by rule. */
  lost: LostRange[];
  /** Nothing of the batch was or will be written: a reset took it back, and its ranges are read by later batches or lost on record. */
  givenUp?: ResetNote & { command: string };
}

export interface DoneTable extends PlannedTable {
  /** Null where the batch brought nothing for the table. */
  commitId: string | null;
  snapshotId: bigint | null;
  sequenceNumber: bigint | null;
  rows: number;
}

/** `done/N.json`: written before `commits/N`. */
export interface DoneBatch {
  batchId: number;
  clusterId: string | null;
  topics: TopicIncarnation[];
  tables: DoneTable[];
  funnel: RangeFunnel[];
  lost: LostRange[];
  /** Set by `checkpoint reset`: why, and who asked. */
  reset?: ResetNote;
}

/**
 * One line of the permanent ledger: what was read of one incarnation of a partition into one table, batches merged. An
 * empty one, `from === until`, says where the reading began.
 */
export interface LedgerEntry {
  /** The data table that the rows went to; empty where only lost ranges are known and never a table. */
  table: string;
  topic: string;
  topicId: string | null;
  partition: number;
  from: bigint;
  until: bigint;
  firstBatch: number;
  lastBatch: number;
  rows: number;
  quarantined: number;
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  /** The offsets that have no row and no quarantined record, but for lost ones, as text (gap-text.ts), cut after 20,000 stretches. */
  gaps: string;
  gapsCut: boolean;
  /** Ranges inside [from, until) that were given up, neighbours of one reason merged, cut after 1,000 of them. */
  lost: { from: bigint; until: bigint; reason: string }[];
  /** How many offsets were given up in all, also those that `lost` no longer lists. rows + quarantined + dropped + control + aborted + holes + lostOffsets = until - from. */
  lostOffsets: bigint;
  lostCut: boolean;
  /** The checksum (core/gap-sum.ts) of all offsets that have no row and no quarantined record, gaps and lost ones, listed or not. */
  gapSum: number;
  /** A reset set where it begins. */
  byReset?: true;
}
