/** The pipeline as the engine sees it: every default filled in, every unit resolved. Made by `loadPipeline`. */
import type { TokenInput } from '../core/oauth-token.ts';
import type { ParquetCodec } from '../core/parquet-codec.ts';
import type { StructType } from '../core/schema.ts';
import type { Secret } from '../core/secret.ts';
import type { Trigger } from '../core/trigger.ts';
import type { EvolveRule, ValueFormat } from '../core/value-format.ts';

export interface PipelineConfig {
  name: string;
  engine: 'local';
  memoryBytes: number;
  /** A full location; relative paths are resolved against the working directory. */
  checkpointLocation: string;
  catalog: CatalogConfig;
  trigger: Trigger;
  source: SourceConfig;
  tables: TableRule[];
  registry: RegistryConfig | null;
  quarantine: { maxRatio: number; window: number; keepBytes: number };
  shutdownTimeoutMs: number;
  retention: { minBatchesToRetain: number };
  progress: { keep: number };
}

export type CatalogConfig = SqliteCatalogConfig | FileCatalogConfig;

export interface SqliteCatalogConfig {
  type: 'sqlite';
  /** `catalog_name` in the SQL catalog's tables. */
  name: string;
  uri: string;
  warehouse: string;
}

export interface FileCatalogConfig {
  type: 'file';
  /** For messages alone. */
  name: string;
  /** The catalog itself. */
  warehouse: string;
}

/** The options of the Schema Registry by their own names. */
export interface RegistryConfig {
  options: Record<string, string | number>;
  /** Those that must never print. */
  secrets: Record<string, Secret>;
}

export interface SourceConfig {
  bootstrapServers: string;
  /** The other `kafka.*` options without the prefix, e.g. `security.protocol`. */
  kafka: Record<string, string>;
  /** Those of them that must never print, e.g. `sasl.password`; a JAAS text is taken apart into user and password. */
  kafkaSecrets: Record<string, Secret>;
  /** A function of `sluice.config.ts` that gives the token of OAUTHBEARER; only the main thread calls it. */
  oauthToken?: TokenInput;
  isolationLevel: 'read_committed' | 'read_uncommitted';
  selection: TopicSelection;
  startingOffsets: StartingPosition;
  maxOffsetsPerTrigger: bigint | 'auto' | null;
  minOffsetsPerTrigger: bigint | null;
  maxTriggerDelayMs: number;
  maxBytesPerTrigger: number | null;
  minPartitions: number | null;
  maxRecordsPerPartition: bigint | null;
  failOnDataLoss: boolean;
  includeHeaders: boolean;
  workers: number;
  fetchOffsetNumRetries: number;
  fetchOffsetRetryIntervalMs: number;
  pollTimeoutMs: number;
  requestDeadlineMs: number;
}

export type TopicSelection =
  | { kind: 'subscribe'; topics: string[] }
  /** The pattern as it is written, which `compileTopicRegex` takes. */
  | { kind: 'subscribePattern'; pattern: string }
  | { kind: 'assign'; partitions: Map<string, number[]> };

/** Where a query begins: of the three options that say so, the one that has precedence. */
export type StartingPosition =
  | { kind: 'earliest' }
  | { kind: 'latest' }
  /** Per-partition values may be -2 (earliest) and -1 (latest). */
  | { kind: 'map'; offsets: Map<string, Map<number, bigint>> }
  /** The first record at or after a time; `noMatch` says what to do with a partition that has none. */
  | { kind: 'timestamp'; timestampMs: bigint; noMatch: 'error' | 'latest' }
  | { kind: 'timestamps'; timestampsMs: Map<string, Map<number, bigint>>; noMatch: 'error' | 'latest' };

export interface TableRule {
  /** A topic, or a pattern with `*` and `?`. The first rule that matches wins. */
  match: string;
  layout: 'bronze' | 'typed';
  /** May hold `${topic}`. */
  table: string;
  /** For example `dt`, `hour`, `hours(kafka_timestamp)`, `bucket(16, key)`. */
  partitionBy: string[];
  timeZone: string;
  /** How value and key become columns; null: not at all (always so in bronze tables). */
  value: TypedPart | null;
  key: TypedPart | null;
  /** Typed: the columns of the bronze layout that say where a row came from. */
  provenance: string[];
  evolve: EvolveRule;
  /** Typed: one topic into several tables; null: into one. */
  route: RouteRule | null;
  valueType: 'string' | 'binary';
  keyType: 'binary' | 'string';
  tombstones: 'keep' | 'drop';
  /** Key and value together; null: no limit. */
  maxRecordBytes: number | null;
  formatVersion: 2 | 3;
  codec: ParquetCodec;
  codecLevel: number;
  targetFileSizeBytes: number;
  /** Of the snapshots that Sluice wrote: the newest `keep`, and those younger than `maxAgeMs` up to `max` in all. */
  snapshots: { keep: number; maxAgeMs: number; max: number };
  /** Table properties given at creation. */
  properties: Record<string, string>;
}

/** The value or the key of a typed table. */
export interface TypedPart {
  format: ValueFormat;
  /** Stands before the column names of this part; empty for the value. */
  prefix: string;
  columns: ColumnsFrom;
  /** Of the registry; may hold `${topic}`. */
  subject: string;
}

/** Which of several tables a record goes to. */
export interface RouteRule {
  /** A field of the value, dots leading into objects, or `$recordName`. */
  by: string;
  /** By the value of the field. */
  tables: Record<string, string>;
  unknown: 'quarantine' | 'create' | 'stop';
  maxTables: number;
}

/** Where the columns of a part come from. */
export type ColumnsFrom =
  | { from: 'given'; struct: StructType }
  /** What an existing table has; it must be there. */
  | { from: 'table' }
  /** The latest schema of the subject. */
  | { from: 'registry' }
  /** The first records of the first batch. */
  | { from: 'infer'; records: number }
  /** `table` where it is there, else `registry` for formats that stand in one. */
  | { from: 'auto' };
