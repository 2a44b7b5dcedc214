import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TokenInput } from '../core/oauth-token.ts';
import type { ParquetCodec } from '../core/parquet-codec.ts';
import type { Secret } from '../core/secret.ts';
import { DEFAULT_TRIGGER, type Trigger } from '../core/trigger.ts';
import type { EvolveRule } from '../core/value-format.ts';
import { typedPart } from './formats.ts';
import type { StartingOffsets } from './option-types.ts';
import { findOption, optionsOf } from './options.ts';
import { parsePartitionField } from './partition-field.ts';
import type {
  CatalogConfig,
  PipelineConfig,
  RegistryConfig,
  RouteRule,
  SourceConfig,
  StartingPosition,
  TableRule,
  TopicSelection,
} from './pipeline-config.ts';
import type { Values } from './values.ts';

export interface ResolveContext {
  cwd: string;
  /** Worker threads where the file names no number. */
  defaultWorkers: number;
  kafkaSecrets: Record<string, Secret>;
  registrySecrets: Record<string, Secret>;
  /** Of `kafka.*` without the prefix: what stands for options taken apart, such as a JAAS text. */
  kafkaExtra: Record<string, string>;
  /** The function of the module that gives the token of OAUTHBEARER. */
  oauthToken?: TokenInput;
}

/** The pipeline as the engine sees it. The values must have been checked: what is required is there. */
export function resolveConfig(values: Values, context: ResolveContext): PipelineConfig {
  return {
    name: values.get<string>('', 'name')!,
    engine: 'local',
    memoryBytes: values.get<number>('', 'memory')!,
    checkpointLocation: fullPath(values.get<string>('', 'checkpointLocation')!, context.cwd),
    catalog: catalog(values, context),
    trigger: trigger(values),
    source: source(values, context),
    tables: values.rules().map((_, index) => tableRule(values, index)),
    registry: registry(values, context),
    quarantine: {
      maxRatio: values.get<number>('quarantine', 'maxRatio')!,
      window: values.get<number>('quarantine', 'window')!,
      keepBytes: values.get<number>('quarantine', 'keepBytes')!,
    },
    shutdownTimeoutMs: values.get<number>('shutdown', 'timeout')!,
    retention: { minBatchesToRetain: values.get<number>('retention', 'minBatchesToRetain')! },
    progress: { keep: values.get<number>('progress', 'keep')! },
  };
}

/** A path of this machine as a full one; a `file:` location stays as it is. */
function fullPath(location: string, cwd: string): string {
  return location.startsWith('file:') || isAbsolute(location) ? location : resolve(cwd, location);
}

function catalog(values: Values, context: ResolveContext): CatalogConfig {
  const common = {
    name: values.get<string>('catalog', 'name')!,
    warehouse: fullPath(values.get<string>('catalog', 'warehouse')!, context.cwd),
  };
  if (values.get<CatalogConfig['type']>('catalog', 'type') === 'file') return { type: 'file', ...common };
  const uri = values.get<string>('catalog', 'uri')!;
  // `sqlite:///relative` and `sqlite:////absolute`, as SQLAlchemy and PyIceberg write them.
  const path = uri.startsWith('file:') ? fileURLToPath(uri) : uri.replace(/^sqlite:(\/\/\/)?/i, '');
  return { type: 'sqlite', ...common, uri: resolve(context.cwd, path) };
}

function trigger(values: Values): Trigger {
  if (values.get('trigger', 'availableNow') === true) return { kind: 'availableNow' };
  if (values.get('trigger', 'once') === true) return { kind: 'once' };
  const intervalMs = values.get<number>('trigger', 'processingTime');
  return intervalMs === undefined ? DEFAULT_TRIGGER : { kind: 'processingTime', intervalMs };
}

function source(values: Values, context: ResolveContext): SourceConfig {
  const get = <T>(key: string): T | undefined => values.get<T>('source', key);
  return {
    bootstrapServers: get<string>('kafka.bootstrap.servers')!,
    kafka: fullPaths({ ...kafkaOptions(values), ...context.kafkaExtra }, context.cwd),
    kafkaSecrets: context.kafkaSecrets,
    oauthToken: context.oauthToken,
    isolationLevel: get<SourceConfig['isolationLevel']>('kafka.isolation.level')!,
    selection: selection(values),
    startingOffsets: startingPosition(values),
    maxOffsetsPerTrigger: get<bigint | 'auto'>('maxOffsetsPerTrigger') ?? null,
    minOffsetsPerTrigger: get<bigint>('minOffsetsPerTrigger') ?? null,
    maxTriggerDelayMs: get<number>('maxTriggerDelay')!,
    maxBytesPerTrigger: get<number>('maxBytesPerTrigger') ?? null,
    minPartitions: get<number>('minPartitions') ?? null,
    maxRecordsPerPartition: get<bigint>('maxRecordsPerPartition') ?? null,
    failOnDataLoss: get<boolean>('failOnDataLoss')!,
    includeHeaders: get<boolean>('includeHeaders')!,
    workers: get<number>('workers') ?? context.defaultWorkers,
    fetchOffsetNumRetries: get<number>('fetchOffset.numRetries')!,
    fetchOffsetRetryIntervalMs: get<number>('fetchOffset.retryIntervalMs')!,
    pollTimeoutMs: get<number>('kafkaConsumer.pollTimeoutMs')!,
    requestDeadlineMs: get<number>('kafka.request.deadline')!,
  };
}

/** Null where no address is given. Files lie where the working directory says. */
function registry(values: Values, context: ResolveContext): RegistryConfig | null {
  if (values.get('registry', 'schema.registry.url') === undefined) return null;
  const options: Record<string, string | number> = {};
  for (const { key, secret } of optionsOf('registry')) {
    const value = values.get<string | number>('registry', key);
    if (secret === true || value === undefined) continue;
    options[key] = key.endsWith('.location') ? resolve(context.cwd, String(value)) : value;
  }
  return { options, secrets: context.registrySecrets };
}

function selection(values: Values): TopicSelection {
  const partitions = values.get<Map<string, number[]>>('source', 'assign');
  if (partitions !== undefined) return { kind: 'assign', partitions };
  const pattern = values.get<string>('source', 'subscribePattern');
  if (pattern !== undefined) return { kind: 'subscribePattern', pattern: pattern.trim() };
  return { kind: 'subscribe', topics: [...new Set(values.get<string[]>('source', 'subscribe')!)] };
}

/** Spark's precedence: startingTimestamp, startingOffsetsByTimestamp, startingOffsets. */
function startingPosition(values: Values): StartingPosition {
  const noMatch = values.get<'error' | 'latest'>('source', 'startingOffsetsByTimestampStrategy')!;
  const timestampMs = values.get<bigint>('source', 'startingTimestamp');
  if (timestampMs !== undefined) return { kind: 'timestamp', timestampMs, noMatch };
  const timestampsMs = values.get<Map<string, Map<number, bigint>>>('source', 'startingOffsetsByTimestamp');
  if (timestampsMs !== undefined) return { kind: 'timestamps', timestampsMs, noMatch };
  return values.get<StartingOffsets>('source', 'startingOffsets')!;
}

/** `kafka.*` that are given, have no field of their own and are no secret: as the client takes them. */
function kafkaOptions(values: Values): Record<string, string> {
  const own = new Set([
    'kafka.bootstrap.servers',
    'kafka.isolation.level',
    'kafka.request.deadline',
    'kafka.group.id',
  ]);
  const options: [string, string][] = [];
  for (const [key, value] of Object.entries(values.map('source'))) {
    const option = findOption('source', key);
    if (key.startsWith('kafka.') && !own.has(key) && option?.secret !== true)
      options.push([key.slice(6), String(value)]);
  }
  return Object.fromEntries(options);
}

/** Certificates lie where the working directory says when the file is read, whatever it is later. */
function fullPaths(options: Record<string, string>, cwd: string): Record<string, string> {
  for (const [key, value] of Object.entries(options))
    if (/^s(sl|asl)\..*\.location$/.test(key)) options[key] = resolve(cwd, value);
  return options;
}

function tableRule(values: Values, index: number): TableRule {
  const get = <T>(key: string): T | undefined => values.get<T>('tables[]', key, index);
  const layout = get<TableRule['layout']>('layout')!;
  return {
    match: get<string>('match')!,
    layout,
    value: layout === 'typed' ? typedPart(values, index, 'value') : null,
    key: layout === 'typed' ? typedPart(values, index, 'key') : null,
    provenance: layout === 'typed' ? [...new Set(get<string[]>('provenance')!)] : [],
    route: layout === 'typed' ? routeRule(values, index) : null,
    evolve: layout === 'typed' ? get<EvolveRule>('evolve')! : 'none',
    table: get<string>('table')!,
    partitionBy: (get<string[]>('partitionBy') ?? (layout === 'typed' ? [] : ['dt', 'hour'])).map(
      canonicalPartitionField,
    ),
    timeZone: get<string>('timeZone')!,
    valueType: get<TableRule['valueType']>('valueType')!,
    keyType: get<TableRule['keyType']>('keyType')!,
    tombstones: get<TableRule['tombstones']>('tombstones')!,
    maxRecordBytes: get<number>('maxRecordBytes') ?? null,
    formatVersion: get<TableRule['formatVersion']>('formatVersion')!,
    codec: get<ParquetCodec>('codec')!,
    codecLevel: get<number>('codecLevel')!,
    targetFileSizeBytes: get<number>('targetFileSize')!,
    snapshots: {
      keep: get<number>('keepSnapshots')!,
      maxAgeMs: get<number>('keepSnapshotsFor')!,
      max: get<number>('maxSnapshots') ?? 2 * get<number>('keepSnapshots')!,
    },
    properties: get<Record<string, string>>('properties') ?? {},
  };
}

function routeRule(values: Values, index: number): RouteRule | null {
  const get = <T>(key: string): T | undefined => values.get<T>('tables[].route', key, index);
  if (get('by') === undefined) return null;
  return {
    by: get<string>('by')!,
    tables: get<Record<string, string>>('tables') ?? {},
    unknown: get<RouteRule['unknown']>('unknown')!,
    maxTables: get<number>('maxTables')!,
  };
}

/** One text for one field, however it was written; a wrong one was a fault before. */
function canonicalPartitionField(text: string): string {
  const field = parsePartitionField(text, { layout: 'the table', columns: null });
  return 'wrong' in field ? text : field.canonical;
}
