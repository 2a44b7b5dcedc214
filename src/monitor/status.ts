/** The one status object of a pipeline: `status`, and later `top`, the metrics and the page, all show this. */
import type { OffsetMap } from '../core/offset-range.ts';
import { getOffset } from '../core/offset-range.ts';
import type { Trigger } from '../core/trigger.ts';
import type { ErrorCode } from '../errors.ts';
import { type LatestOffsets, partitionLag } from './lag.ts';
import type { BatchProgress } from './progress.ts';
import { counted } from './progress-line.ts';

/**
 * How a pipeline stands, in words, the worst that applies:
 * - LOSS: records were deleted before they were read.
 * - REWIND: the log ends before our position, or the topic or the cluster is another one.
 * - STOP: nobody runs it although its trigger says that somebody should, or a batch waits to be finished.
 * - STALL: somebody runs it, there is something to read, and no batch has ended for a long time; or the brokers do not tell
 *   what there is to read, so that nobody can say how it stands.
 * - WARN: it runs, but behind: a batch takes longer than its trigger's interval, or records go to the quarantine.
 * - OK.
 */
export type StateWord = 'OK' | 'WARN' | 'STALL' | 'STOP' | 'REWIND' | 'LOSS';

export interface PartitionStatus {
  topic: string;
  partition: number;
  /** The next offset to read, by the last planned and the last committed batch; null before the first. */
  planned: bigint | null;
  committed: bigint | null;
  latest: bigint | null;
  logStart: bigint | null;
  /** latest - planned; null where the newest offsets are not known. */
  readLag: bigint | null;
  /** latest - committed. */
  committedLag: bigint | null;
  /** Offsets that were deleted before they were read; null where the brokers did not tell of the partition, as `state`. */
  lost: bigint | null;
  state: StateWord | null;
}

export interface LeaseOwner {
  host: string;
  pid: number;
  writerId: string;
  acquiredAtMs: number;
  heartbeatAtMs: number;
}

export interface BrokersStatus {
  /** `kafka.bootstrap.servers`. */
  servers: string;
  /** False with `--no-broker`. */
  asked: boolean;
  /** Why they did not tell how far the topics are; null where they did, or nobody asked. */
  error: { code: ErrorCode; message: string } | null;
}

export interface PipelineStatus {
  name: string;
  id: string | null;
  state: StateWord;
  /** Why it is not OK, in words; empty where it is. */
  reasons: string[];
  checkpoint: {
    location: string;
    lastPlanned: number | null;
    lastCommitted: number | null;
  };
  brokers: BrokersStatus;
  /** Over all partitions; null where the newest offsets are not known. */
  readLag: bigint | null;
  committedLag: bigint | null;
  lost: bigint | null;
  partitions: PartitionStatus[];
  /** Who runs it; null where nobody does. */
  runningBy: LeaseOwner | null;
  lastProgress: BatchProgress | null;
  /** Milliseconds since the last batch ended; null where there was none. */
  sinceLastBatchMs: number | null;
}

export interface StatusInput {
  name: string;
  id: string | null;
  checkpointLocation: string;
  trigger: Trigger;
  nowMs: number;
  brokers: BrokersStatus;
  /** Where the query began, or would begin; null where that is not known: then a partition begins at its log's start. */
  initial: OffsetMap | null;
  lastPlanned: { batchId: number; offsets: OffsetMap } | null;
  lastCommitted: { batchId: number; offsets: OffsetMap } | null;
  /** Asked from the brokers after the checkpoint was read; null where nobody asked, or they did not tell. */
  latest: LatestOffsets | null;
  /** The lease, where it is fresh. */
  lease: LeaseOwner | null;
  lastProgress: BatchProgress | null;
  /** How long `minOffsetsPerTrigger` may hold a batch back; left out where it is not given. */
  maxTriggerDelayMs?: number;
  /** What the cluster and topic ids of the checkpoint say against the brokers', in words; empty where they agree. */
  replaced?: readonly string[];
}

/** No batch for this many trigger intervals (and at least this long) is a stall. */
const STALL_INTERVALS = 5;
const STALL_MIN_MS = 120_000;

export function buildStatus(input: StatusInput): PipelineStatus {
  const partitions = partitionStatuses(input);
  const sinceLastBatchMs = sinceLastBatch(input);
  const readLag = sum(partitions, (p) => p.readLag, input.latest);
  const committedLag = sum(partitions, (p) => p.committedLag, input.latest);
  const lost = sum(partitions, (p) => p.lost, input.latest);
  const findings = judge(input, partitions, committedLag, sinceLastBatchMs);
  return {
    name: input.name,
    id: input.id,
    state: worst(findings.map((f) => f.state)),
    reasons: findings.map((f) => f.reason),
    checkpoint: {
      location: input.checkpointLocation,
      lastPlanned: input.lastPlanned?.batchId ?? null,
      lastCommitted: input.lastCommitted?.batchId ?? null,
    },
    brokers: input.brokers,
    readLag,
    committedLag,
    lost,
    partitions,
    runningBy: input.lease,
    lastProgress: input.lastProgress,
    sinceLastBatchMs,
  };
}

const ORDER: readonly StateWord[] = ['OK', 'WARN', 'STALL', 'STOP', 'REWIND', 'LOSS'];

function worst(states: readonly StateWord[]): StateWord {
  return states.reduce<StateWord>((a, b) => (ORDER.indexOf(b) > ORDER.indexOf(a) ? b : a), 'OK');
}

function sum(
  partitions: PartitionStatus[],
  offsets: (p: PartitionStatus) => bigint | null,
  latest: LatestOffsets | null,
): bigint | null {
  if (latest === null) return null;
  return partitions.reduce((total, p) => total + (offsets(p) ?? 0n), 0n);
}

function partitionStatuses(input: StatusInput): PartitionStatus[] {
  const coordinates = new Map<string, Set<number>>();
  for (const map of [input.lastCommitted?.offsets, input.lastPlanned?.offsets, input.latest]) {
    for (const [topic, partitions] of map ?? []) {
      const numbers = coordinates.get(topic) ?? new Set<number>();
      for (const partition of partitions.keys()) numbers.add(partition);
      coordinates.set(topic, numbers);
    }
  }
  return [...coordinates.keys()]
    .sort()
    .flatMap((topic) =>
      [...coordinates.get(topic)!]
        .sort((a, b) => a - b)
        .map((partition) => partitionStatus(input, topic, partition)),
    );
}

function partitionStatus(input: StatusInput, topic: string, partition: number): PartitionStatus {
  const planned =
    input.lastPlanned === null ? null : (getOffset(input.lastPlanned.offsets, topic, partition) ?? null);
  const committed =
    input.lastCommitted === null ? null : (getOffset(input.lastCommitted.offsets, topic, partition) ?? null);
  const ends = input.latest?.get(topic)?.get(partition);
  const base = {
    topic,
    partition,
    planned,
    committed,
    latest: ends?.latest ?? null,
    logStart: ends?.logStart ?? null,
  };
  if (ends === undefined) return { ...base, readLag: null, committedLag: null, lost: null, state: null };
  const start = startOf(input, topic, partition);
  const read = partitionLag(planned ?? start, ends);
  const table = partitionLag(committed ?? start, ends);
  const state = read.lost > 0n ? 'LOSS' : read.rewound ? 'REWIND' : 'OK';
  return { ...base, readLag: read.lag, committedLag: table.lag, lost: read.lost, state };
}

/** Where a partition begins that was never planned: where the query did, and a partition that is newer at its log's start. */
function startOf({ initial, latest }: StatusInput, topic: string, partition: number): bigint {
  const began = initial === null ? undefined : getOffset(initial, topic, partition);
  return began ?? latest?.get(topic)?.get(partition)?.logStart ?? 0n;
}

function sinceLastBatch(input: StatusInput): number | null {
  const progress = input.lastProgress;
  const began = progress === null ? Number.NaN : Date.parse(progress.timestamp);
  return progress === null || Number.isNaN(began)
    ? null
    : Math.max(0, input.nowMs - began - progress.batchDuration);
}

interface Finding {
  state: StateWord;
  reason: string;
}

function judge(
  input: StatusInput,
  partitions: PartitionStatus[],
  committedLag: bigint | null,
  sinceLastBatchMs: number | null,
): Finding[] {
  const findings: Finding[] = [];
  const lossy = partitions.filter((p) => p.state === 'LOSS');
  if (lossy.length > 0) {
    findings.push({
      state: 'LOSS',
      reason: `records were deleted before they were read: ${named(lossy, (p) => `${p.topic}-${p.partition} [${positionOf(input, p)}, ${p.logStart})`)}`,
    });
  }
  const rewound = partitions.filter((p) => p.state === 'REWIND');
  if (rewound.length > 0) {
    findings.push({
      state: 'REWIND',
      reason: `the log ends before our position: ${named(rewound, (p) => `${p.topic}-${p.partition} position ${positionOf(input, p)}, end ${p.latest}`)}`,
    });
  }
  for (const reason of input.replaced ?? []) findings.push({ state: 'REWIND', reason });
  const { error } = input.brokers;
  if (error !== null) {
    const what =
      error.code === 'BROKER_UNREACHABLE' ? 'cannot be reached' : 'did not tell how far the topics are';
    findings.push({
      state: 'STALL',
      reason: `the brokers ${what}, so that lag and loss are not known: ${error.message}`,
    });
  }
  findings.push(...judgeRunning(input, committedLag, sinceLastBatchMs));
  return findings;
}

function positionOf(input: StatusInput, p: PartitionStatus): bigint {
  return p.planned ?? startOf(input, p.topic, p.partition);
}

function judgeRunning(
  input: StatusInput,
  committedLag: bigint | null,
  sinceLastBatchMs: number | null,
): Finding[] {
  const findings: Finding[] = [];
  const unfinished = input.lastPlanned !== null && input.lastPlanned.batchId !== input.lastCommitted?.batchId;
  if (input.lease === null) {
    if (unfinished)
      findings.push({
        state: 'STOP',
        reason: `nobody runs it, and batch ${input.lastPlanned!.batchId} is planned but not committed`,
      });
    else if (input.trigger.kind === 'processingTime')
      findings.push({ state: 'STOP', reason: 'nobody runs it' });
  } else if (committedLag !== null && committedLag > 0n) {
    // Of a process that has ended no batch yet, the time counts from its own start, not from the last run's batch.
    const runsForMs = Math.max(0, input.nowMs - input.lease.acquiredAtMs);
    const waitedMs = sinceLastBatchMs === null ? runsForMs : Math.min(sinceLastBatchMs, runsForMs);
    const intervalMs = input.trigger.kind === 'processingTime' ? input.trigger.intervalMs : 0;
    const limit = Math.max(STALL_MIN_MS, STALL_INTERVALS * intervalMs) + (input.maxTriggerDelayMs ?? 0);
    if (waitedMs > limit)
      findings.push({
        state: 'STALL',
        reason: `no batch has ended for ${Math.round(waitedMs / 1000)} s, and ${committedLag} offsets wait`,
      });
  }
  findings.push(...judgeProgress(input));
  return findings;
}

function judgeProgress(input: StatusInput): Finding[] {
  const progress = input.lastProgress;
  if (progress === null) return [];
  const findings: Finding[] = [];
  if (
    input.trigger.kind === 'processingTime' &&
    input.trigger.intervalMs > 0 &&
    progress.batchDuration > input.trigger.intervalMs
  ) {
    findings.push({
      state: 'WARN',
      reason: `the last batch took ${progress.batchDuration} ms, longer than the trigger's ${input.trigger.intervalMs} ms`,
    });
  }
  const quarantined = progress.sluice?.funnel?.quarantined ?? 0;
  if (quarantined > 0)
    findings.push({
      state: 'WARN',
      reason: `${counted(quarantined, 'record')} of the last batch went to the quarantine; \`sluice quarantine list\` says why`,
    });
  return findings;
}

/** The first three, and how many more. */
function named<T>(items: readonly T[], text: (item: T) => string): string {
  const shown = items.slice(0, 3).map(text).join('; ');
  return items.length > 3 ? `${shown} and ${items.length - 3} more` : shown;
}
