/**
 * The progress object of a batch, in the shape of Spark's StreamingQueryProgress (its JSON: names, order, rounding and
 * what is left out), with our own part under `sluice`.
 */
import type { OffsetRange } from '../core/offset-range.ts';
import { type BehindLatest, behindLatest } from './lag.ts';

/** What a batch did, as the engine reports it. */
export interface BatchFacts {
  batchId: number;
  pipelineId: string;
  runId: string;
  startedAtMs: number;
  recovered: 'no' | 'finished' | 'read again';
  ranges: readonly OffsetRange[];
  /** By range, in the same order; null where unknown. */
  latest: readonly (bigint | null)[];
  /** Rows, quarantined and dropped by rule. */
  records: number;
  quarantined: number;
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  bytes: number;
  tables: readonly TableFacts[];
  durations: Readonly<Record<PhaseName, number>>;
  lost: readonly { topic: string; partition: number; from: bigint; until: bigint; reason: string }[];
  peakRssBytes: number;
  /** What limited it at planning time; left out where nothing did. */
  limit?: LimitFacts | null;
  /** How `maxOffsetsPerTrigger: auto` changed the limit after the batch. */
  limitChange?: LimitChangeFacts | null;
}

export interface LimitChangeFacts {
  from: bigint;
  to: bigint;
  reason: string;
}

export interface LimitFacts {
  maxOffsets: bigint;
  by: 'maxOffsetsPerTrigger' | 'auto' | 'maxBytesPerTrigger';
  reason: string | null;
}

export interface TableFacts {
  table: string;
  role: 'data' | 'quarantine';
  rows: number;
  files: number;
  bytes: number;
  snapshotId: bigint | null;
}

export type PhaseName =
  | 'triggerExecution'
  | 'latestOffset'
  | 'walCommit'
  | 'addBatch'
  | 'read'
  | 'commitTables'
  | 'commitOffsets';

/** topic -> partition -> offset, as in the checkpoint's JSON. */
export type OffsetJson = Record<string, Record<string, bigint>>;

export interface SourceProgress {
  description: string;
  startOffset: OffsetJson;
  endOffset: OffsetJson;
  /** Null where the newest offsets are not known: a batch that an earlier process planned. */
  latestOffset: OffsetJson | null;
  numInputRows: number;
  inputRowsPerSecond?: number;
  processedRowsPerSecond?: number;
  metrics?: BehindLatest;
}

export interface BatchProgress {
  id: string;
  runId: string;
  name: string;
  /** The beginning of the trigger, ISO 8601 in UTC with milliseconds. */
  timestamp: string;
  batchId: number;
  batchDuration: number;
  numInputRows: number;
  /** Left out where there is no earlier batch of this run to count from. */
  inputRowsPerSecond?: number;
  processedRowsPerSecond?: number;
  durationMs: Record<string, number>;
  stateOperators: [];
  sources: SourceProgress[];
  sink: { description: string; numOutputRows: number };
  sluice: SluiceProgress;
}

export interface SluiceProgress {
  recovered: BatchFacts['recovered'];
  /** offsets = rows + quarantined + dropped + control + aborted + holes. */
  funnel: {
    offsets: bigint;
    rows: number;
    quarantined: number;
    dropped: number;
    control: number;
    aborted: number;
    holes: number;
  };
  /** Bytes of record batches as they came from the brokers. */
  bytes: number;
  tables: TableFacts[];
  /** Phases that Spark has no name for. */
  durationMs: { read: number; commitTables: number };
  memory: { peakRssBytes: number; limitBytes: number };
  lost: BatchFacts['lost'];
  /** The most offsets that the batch could take, and why; left out where nothing limited it. */
  limit?: LimitFacts;
  /** Left out where the limit stays. */
  limitChange?: LimitChangeFacts;
}

export interface ProgressContext {
  pipelineName: string;
  /** See `sourceDescription`. */
  description: string;
  memoryBytes: number;
  /** When the batch before of this run began. */
  previousStartedAtMs?: number;
}

/** `KafkaV2[Subscribe[a, b]]`, as Spark prints the source. */
export function sourceDescription(
  selection:
    | { kind: 'subscribe'; topics: readonly string[] }
    | { kind: 'subscribePattern'; pattern: string }
    | { kind: 'assign'; partitions: ReadonlyMap<string, readonly number[]> },
): string {
  if (selection.kind === 'subscribe') return `KafkaV2[Subscribe[${selection.topics.join(', ')}]]`;
  if (selection.kind === 'subscribePattern') return `KafkaV2[SubscribePattern[${selection.pattern}]]`;
  const partitions = [...selection.partitions].flatMap(([topic, numbers]) =>
    numbers.map((n) => `${topic}-${n}`),
  );
  return `KafkaV2[Assign[${partitions.join(', ')}]]`;
}

export function buildProgress(facts: BatchFacts, context: ProgressContext): BatchProgress {
  const rates = {
    ...rate(
      'inputRowsPerSecond',
      facts.records,
      facts.startedAtMs - (context.previousStartedAtMs ?? Number.NaN),
    ),
    ...rate('processedRowsPerSecond', facts.records, facts.durations.triggerExecution),
  };
  return {
    id: facts.pipelineId,
    runId: facts.runId,
    name: context.pipelineName,
    timestamp: new Date(facts.startedAtMs).toISOString(),
    batchId: facts.batchId,
    batchDuration: Math.round(facts.durations.triggerExecution),
    numInputRows: facts.records,
    ...rates,
    durationMs: sparkPhases(facts.durations),
    stateOperators: [],
    sources: [
      {
        description: context.description,
        ...sourceOffsets(facts),
        numInputRows: facts.records,
        ...rates,
        ...metrics(facts),
      },
    ],
    sink: sink(facts),
    sluice: sluicePart(facts, context),
  };
}

/** One digit after the point, half up, and left out where it is no number: Spark's `safeDecimalToJValue`. */
function rate(name: string, rows: number, ms: number): Record<string, number> {
  const perSecond = (rows * 1000) / ms;
  return Number.isFinite(perSecond) && ms > 0 ? { [name]: Math.round(perSecond * 10) / 10 } : {};
}

/** In the order of the alphabet, as Spark prints a map. There is no query plan here, and no batch to get: 0. */
function sparkPhases(durations: BatchFacts['durations']): Record<string, number> {
  const { addBatch, commitOffsets, latestOffset, triggerExecution, walCommit } = durations;
  const phases = {
    addBatch,
    commitOffsets,
    getBatch: 0,
    latestOffset,
    queryPlanning: 0,
    triggerExecution,
    walCommit,
  };
  return Object.fromEntries(Object.entries(phases).map(([name, ms]) => [name, Math.round(ms)]));
}

function sourceOffsets(
  facts: BatchFacts,
): Pick<SourceProgress, 'startOffset' | 'endOffset' | 'latestOffset'> {
  const known =
    facts.latest.length === facts.ranges.length && facts.latest.every((offset) => offset !== null);
  return {
    startOffset: offsetJson(facts.ranges, (range) => range.from),
    endOffset: offsetJson(facts.ranges, (range) => range.until),
    latestOffset: known ? offsetJson(facts.ranges, (_, i) => facts.latest[i]!) : null,
  };
}

function offsetJson(
  ranges: readonly OffsetRange[],
  offset: (range: OffsetRange, index: number) => bigint,
): OffsetJson {
  // Not by assignment: a topic may be called __proto__.
  const topics = new Map<string, [string, bigint][]>();
  ranges.forEach((range, i) => {
    const partitions = topics.get(range.topic) ?? [];
    partitions.push([String(range.partition), offset(range, i)]);
    topics.set(range.topic, partitions);
  });
  return Object.fromEntries(
    [...topics].map(([topic, partitions]) => [topic, Object.fromEntries(partitions)]),
  );
}

function metrics(facts: BatchFacts): { metrics?: BehindLatest } {
  if (facts.latest.length !== facts.ranges.length || facts.latest.includes(null)) return {};
  const behind = behindLatest(
    facts.ranges.map((range, i) => ({ until: range.until, latest: facts.latest[i]! })),
  );
  return behind === undefined ? {} : { metrics: behind };
}

function sink(facts: BatchFacts): BatchProgress['sink'] {
  const data = facts.tables.filter((table) => table.role === 'data');
  return {
    description: `Iceberg[${data.map((table) => table.table).join(', ')}]`,
    numOutputRows: data.reduce((sum, table) => sum + table.rows, 0),
  };
}

function sluicePart(facts: BatchFacts, context: ProgressContext): SluiceProgress {
  const { quarantined, dropped, control, aborted, holes } = facts;
  const offsets = facts.ranges.reduce((sum, range) => sum + (range.until - range.from), 0n);
  return {
    recovered: facts.recovered,
    funnel: {
      offsets,
      rows: facts.records - quarantined - dropped,
      quarantined,
      dropped,
      control,
      aborted,
      holes,
    },
    bytes: facts.bytes,
    tables: [...facts.tables],
    durationMs: {
      read: Math.round(facts.durations.read),
      commitTables: Math.round(facts.durations.commitTables),
    },
    memory: { peakRssBytes: facts.peakRssBytes, limitBytes: context.memoryBytes },
    lost: [...facts.lost],
    ...(facts.limit == null ? {} : { limit: facts.limit }),
    ...(facts.limitChange == null ? {} : { limitChange: facts.limitChange }),
  };
}
