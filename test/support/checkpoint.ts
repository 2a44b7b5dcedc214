import { Checkpoint, type CheckpointOptions } from '../../src/checkpoint/checkpoint.ts';
import type {
  BatchPlan,
  DoneBatch,
  DoneTable,
  PreparedBatch,
  RangeFunnel,
} from '../../src/checkpoint/records.ts';
import { stretchSum } from '../../src/core/gap-sum.ts';
import type { OffsetMap } from '../../src/core/offset-range.ts';
import type { FileIO } from '../../src/storage/file-io.ts';

export const LOCATION = '/checkpoints/p';

/** A process's view of the checkpoint: every call stands for another process, with a writer id of its own. */
export interface Process {
  options: CheckpointOptions;
  warnings: string[];
}

let processes = 0;

export function makeProcess(io: FileIO, overrides: Partial<CheckpointOptions> = {}): Process {
  const n = ++processes;
  const warnings: string[] = [];
  let uuids = 0;
  return {
    warnings,
    options: {
      io,
      location: LOCATION,
      pipelineName: 'clicks',
      owner: { host: `host-${n}`, pid: 1000 + n, writerId: `writer-${n}` },
      now: () => 1_700_000_000_000,
      randomUuid: () => `00000000-0000-4000-8000-${String(n * 1000 + ++uuids).padStart(12, '0')}`,
      warn: (message) => warnings.push(message),
      ...overrides,
    },
  };
}

export function openCheckpoint(io: FileIO, overrides: Partial<CheckpointOptions> = {}): Promise<Checkpoint> {
  return Checkpoint.open(makeProcess(io, overrides).options);
}

/** Ten offsets a batch in partition 0, fifteen in partition 1. */
export function endsOf(batchId: number): OffsetMap {
  return new Map([
    [
      'ad-clicks',
      new Map([
        [0, BigInt(batchId + 1) * 10n],
        [1, BigInt(batchId + 1) * 15n],
      ]),
    ],
  ]);
}

export function planOf(batchId: number): BatchPlan {
  const at = (n: number, size: bigint) => BigInt(n) * size;
  return {
    batchId,
    batchTimestampMs: 1_700_000_000_000 + batchId,
    clusterId: 'cluster',
    topics: [{ topic: 'ad-clicks', topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' }],
    ranges: [
      { topic: 'ad-clicks', partition: 0, from: at(batchId, 10n), until: at(batchId + 1, 10n) },
      { topic: 'ad-clicks', partition: 1, from: at(batchId, 15n), until: at(batchId + 1, 15n) },
    ],
    leaderEpochs: [{ topic: 'ad-clicks', partition: 0, epoch: 3, endOffset: 9n }],
    tables: [{ table: 'bronze.ad_clicks', uuid: 'table-uuid', ref: 'main', role: 'data' }],
    config: { hash: 'abc', text: '{"tables":[]}' },
    lost: [],
  };
}

export function funnelOf(batchId: number): RangeFunnel[] {
  return planOf(batchId).ranges.map((range) => ({
    ...range,
    table: 'bronze.ad_clicks',
    rows: Number(range.until - range.from) - 1,
    quarantined: 0,
    dropped: 0,
    control: 1,
    aborted: 0,
    holes: 0,
    bytes: 1234,
    leaderEpoch: 3,
    leaderEpochEnd: range.until,
    maxTimestampMs: 1_700_000_000_000,
    gaps: [{ from: range.from + 4n, until: range.from + 5n }],
    gapsCut: false,
    gapSum: stretchSum(Number(range.from) + 4, Number(range.from) + 5),
  }));
}

export function preparedOf(batchId: number, writerId: string): PreparedBatch {
  return {
    batchId,
    writerId,
    tables: [
      {
        ...planOf(batchId).tables[0],
        commitId: `commit-${batchId}`,
        snapshotId: 9_007_199_254_740_993n + BigInt(batchId),
        rows: 23,
        files: [],
      },
    ],
    funnel: funnelOf(batchId),
    lost: [],
  };
}

export function doneTableOf(batchId: number): DoneTable {
  return {
    ...planOf(batchId).tables[0],
    commitId: `commit-${batchId}`,
    snapshotId: 9_007_199_254_740_993n + BigInt(batchId),
    sequenceNumber: BigInt(batchId + 1),
    rows: 23,
  };
}

export function doneOf(batchId: number): DoneBatch {
  const { clusterId, topics, lost } = planOf(batchId);
  return { batchId, clusterId, topics, tables: [doneTableOf(batchId)], funnel: funnelOf(batchId), lost };
}

/** A batch from its plan to its commit, each step only where it was not done yet, as the engine goes about it after a crash. */
export async function finishBatch(checkpoint: Checkpoint, batchId: number, writerId: string): Promise<void> {
  if ((checkpoint.latestPlanned ?? -1) < batchId) {
    await checkpoint.writePlan(planOf(batchId));
    await checkpoint.writeOffsets(batchId, endsOf(batchId), planOf(batchId).batchTimestampMs);
  }
  if ((await checkpoint.prepared(batchId)) === null)
    await checkpoint.writePrepared(preparedOf(batchId, writerId));
  await checkpoint.writeDone(doneOf(batchId));
  await checkpoint.writeCommit(batchId);
}

/** Runs batches [from, until) to their commits. */
export async function runBatches(
  checkpoint: Checkpoint,
  from: number,
  until: number,
  writerId = 'w',
): Promise<void> {
  for (let batchId = from; batchId < until; batchId++) await finishBatch(checkpoint, batchId, writerId);
}

export async function listFiles(io: FileIO): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of io.list(LOCATION)) names.push(entry.path.slice(LOCATION.length + 1));
  return names.sort();
}
