/** `sluice.config.ts`: the same options as in YAML, typed. */
import type { TokenInput } from '../core/oauth-token.ts';

type Size = string | number;
type Duration = string | number;

export interface SourceInput {
  'kafka.bootstrap.servers': string;
  subscribe?: string | string[];
  subscribePattern?: string;
  assign?: string | Record<string, number[]>;
  startingOffsets?: string | Record<string, Record<string, number | bigint | string>>;
  startingTimestamp?: number | string;
  startingOffsetsByTimestamp?: string | Record<string, Record<string, number | string>>;
  startingOffsetsByTimestampStrategy?: 'error' | 'latest';
  maxOffsetsPerTrigger?: number | bigint | string;
  minOffsetsPerTrigger?: number | bigint | string;
  maxTriggerDelay?: Duration;
  maxBytesPerTrigger?: Size;
  minPartitions?: number;
  maxRecordsPerPartition?: number | bigint | string;
  failOnDataLoss?: boolean;
  includeHeaders?: boolean;
  workers?: number;
  'fetchOffset.numRetries'?: number;
  'fetchOffset.retryIntervalMs'?: number;
  'kafkaConsumer.pollTimeoutMs'?: number;
  commitOffsetsToKafka?: boolean;
  groupIdPrefix?: string;
  /** The other options of the Kafka client; secrets as `env:NAME`, `file:/path` or `exec:command`. */
  [kafka: `kafka.${string}`]: string | number | boolean | TokenInput | undefined;
  /** The token of OAUTHBEARER, or a function that gives one: it is called again before the token expires. */
  'kafka.sasl.oauthbearer.token'?: string | TokenInput;
}

/** How bytes become columns. */
export interface FormatInput {
  format: 'json' | 'avro' | 'protobuf' | 'json-schema' | 'csv';
  schema?: string | object;
  subject?: string;
  inferRecords?: number;
  mode?: 'quarantine' | 'permissive' | 'failfast' | 'dropmalformed';
  corruptRecordColumn?: string;
  compat?: 'strict' | 'spark';
  unknownFields?: 'ignore' | 'rest' | 'quarantine';
  restColumn?: string;
  caseInsensitive?: boolean;
  timestampUnit?: 'seconds' | 'millis' | 'micros' | 'nanos';
  decimalRounding?: 'refuse' | 'halfUp';
  nullDocument?: 'row' | 'quarantine';
  delimiter?: string;
  quote?: string;
  escape?: string;
  nullValue?: string;
  framing?: 'confluent' | 'plain' | 'singleObject';
  writerSchema?: string | object;
  readerSchema?: string | object;
  message?: string;
}

/** One topic into several tables. */
export interface RouteInput {
  by: string;
  tables?: Record<string, string>;
  unknown?: 'quarantine' | 'create' | 'stop';
  maxTables?: number;
}

export interface TableInput {
  match: string;
  layout?: 'bronze' | 'typed';
  value?: FormatInput['format'] | FormatInput;
  key?: FormatInput['format'] | (FormatInput & { prefix?: string });
  provenance?: string | string[];
  evolve?: 'none' | 'add' | 'widen';
  route?: RouteInput;
  table?: string;
  partitionBy?: string | string[];
  timeZone?: string;
  valueType?: 'string' | 'binary';
  keyType?: 'binary' | 'string';
  tombstones?: 'keep' | 'drop';
  maxRecordBytes?: Size;
  formatVersion?: 2 | 3;
  codec?: 'zstd' | 'snappy' | 'gzip' | 'lz4' | 'none';
  codecLevel?: number;
  targetFileSize?: Size;
  keepSnapshots?: number;
  keepSnapshotsFor?: Duration;
  maxSnapshots?: number;
  properties?: Record<string, string | number | boolean>;
}

/** A Schema Registry, by the names of Confluent's clients. */
export interface RegistryInput {
  'schema.registry.url'?: string;
  'basic.auth.user.info'?: string;
  'bearer.auth.token'?: string;
  'schema.registry.ssl.truststore.location'?: string;
  'schema.registry.ssl.keystore.location'?: string;
  'schema.registry.ssl.key.password'?: string;
  'schema.registry.ssl.endpoint.identification.algorithm'?: 'https' | '';
  'schema.registry.request.timeout.ms'?: number;
  'schema.registry.deadline.ms'?: number;
}

export interface PipelineInput {
  name: string;
  engine?: 'local';
  memory?: Size;
  checkpointLocation: string;
  catalog:
    | { type: 'sqlite'; name?: string; uri: string; warehouse: string }
    | { type: 'file'; name?: string; warehouse: string };
  trigger?: 'availableNow' | 'once' | { processingTime?: Duration; availableNow?: true; once?: true };
  source: SourceInput;
  tables?: TableInput[];
  registry?: RegistryInput;
  quarantine?: { maxRatio?: number; window?: number; keepBytes?: Size };
  shutdown?: { timeout?: Duration };
  retention?: { minBatchesToRetain?: number };
  progress?: { keep?: number };
  alerts?: never[];
  http?: { listen?: string };
}

/** What a module exports by default: the pipeline, or a function that gives it from the environment. */
export type PipelineExport =
  | PipelineInput
  | ((context: {
      env: Readonly<Record<string, string | undefined>>;
    }) => PipelineInput | Promise<PipelineInput>);

/** Types a pipeline in `sluice.config.ts`; `validate` checks it like a YAML file. */
export function defineConfig<T extends PipelineExport>(pipeline: T): T {
  return pipeline;
}
