/** What the coordinator hands to a worker and gets back. Everything here crosses a thread by structured clone. */
import type { RangeFunnel } from '../../checkpoint/records.ts';
import type { PartitionValue } from '../../core/data-file.ts';
import type { PackedDataFiles } from '../../core/packed-data-files.ts';
import type { ParquetCodec } from '../../core/parquet-codec.ts';
import type { Schema } from '../../core/schema.ts';
import type { ValueFormat } from '../../core/value-format.ts';
import type { PartitionSpec } from '../../iceberg/metadata.ts';
import type { RangeToRead } from '../../kafka/range-state.ts';
import type { ColumnSource, DecodePlan } from '../column-source.ts';
import type { WantedColumns } from './discovery.ts';

/** A table as a writer of data files needs to know it. */
export interface TargetTable {
  /** `namespace.name`. */
  table: string;
  uuid: string;
  role: 'data' | 'quarantine';
  /** Under it go the data files: `<location>/data`, or the table's `write.data.path`. */
  dataLocation: string;
  schema: Schema;
  spec: PartitionSpec;
  sortOrderId: number;
  /** What each top-level column of `schema` is filled with, in its order; unused by quarantine tables. */
  sources: ColumnSource[];
  /** What goes into a column whose source is `null` (and in quarantine tables into one that they do not need): its write default, else null. */
  defaults: PartitionValue[];
  timeZone: string;
  tombstones: 'keep' | 'drop';
  /** Records whose key and value are larger together go to quarantine; null: none is too large. */
  maxRecordBytes: number | null;
  codec: ParquetCodec;
  codecLevel: number;
  targetFileSizeBytes: number;
}

/** The tables of the records of one topic, or of those that go to one of several destinations. */
export interface TopicTargets {
  topic: string;
  topicId: string | null;
  data: TargetTable;
  quarantine: TargetTable;
  /** Values, keys, records with a header key that are not UTF-8 go to quarantine. */
  checkUtf8Values: boolean;
  checkUtf8Keys: boolean;
  checkUtf8HeaderKeys: boolean;
  /** Null in bronze tables. */
  decode: DecodePlan | null;
  /** The first required column, which a record without value, or key, has nothing for. */
  requiredColumns: { value: string | null; key: string | null };
}

/** What becomes of the records of one topic. */
export interface TopicPlan {
  topic: string;
  /** The name under which its offsets are accounted for: the data table, or the group where there are several. */
  account: string;
  /** Of records that fail before their destination is known. */
  quarantine: TargetTable;
  /** Where all records go; null where `route` says where each goes. */
  targets: TopicTargets | null;
  route: RoutePlan | null;
}

/** How the records of a topic are spread over several destinations. */
export interface RoutePlan {
  /** A field of the value, dots leading into objects, or `$recordName`. */
  by: string;
  format: ValueFormat;
  unknown: 'quarantine' | 'create' | 'stop';
  /** By the value that leads there. */
  destinations: { value: string; targets: TopicTargets }[];
  topicId: string | null;
  tombstones: 'keep' | 'drop';
  maxRecordBytes: number | null;
}

/** Values that lead nowhere yet. */
export interface WantedRoutes {
  topic: string;
  values: string[];
}

export interface ReaderSettings {
  bootstrapServers: string;
  clientId: string;
  kafka: Record<string, string>;
  requestDeadlineMs: number;
  isolationLevel: 'read_committed' | 'read_uncommitted';
}

export interface BatchTask {
  batchId: number;
  batchTimestampMs: number;
  pipelineName: string;
  /** Stands in the name of every file. */
  writerId: string;
  /** Distinguishes the workers of one batch in file names. */
  taskIndex: number;
  /** Times that this process has begun to read the batch before. */
  attempt: number;
  /** With the leader epoch of the last batch before `from`, where known: the reader checks the log for truncation by it. */
  ranges: RangeToRead[];
  topics: TopicPlan[];
  reader: ReaderSettings;
  /** All buffers of this task together. */
  budgetBytes: number;
  /** How much of a value that is too large the quarantine keeps. */
  quarantineKeepBytes: number;
}

/** What a task wrote for one table. */
export interface WrittenFiles {
  table: string;
  files: PackedDataFiles;
}

export type RangeResult = RangeFunnel;

export interface BatchTaskResult {
  files: WrittenFiles[];
  ranges: RangeResult[];
  /** What typed tables lack for the records of this task; only where the task was asked to look. */
  wanted: WantedColumns[];
  /** Destinations that records ask for and that may be made. */
  wantedRoutes: WantedRoutes[];
  /** `mode: failfast`: a record that ends the run, unless its table is given what it lacks. */
  failed: FailedRecord | null;
}

/** What a DECODE_ERROR says of a record. */
export interface FailedRecord {
  message: string;
  context: { topic: string; partition: number; offset: bigint; reason: string };
}
