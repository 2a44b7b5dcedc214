import { getOffset, type OffsetMap, offsetEntries } from '../core/offset-range.ts';
import { isSluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { BATCH_KINDS, BatchIndex, batchFileName } from './batch-index.ts';
import { CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { parseLedger } from './ledger-store.ts';
import { isPlanOf, parsePlan } from './plan-file.ts';
import { readRecord } from './record-file.ts';
import type { BatchPlan, DoneBatch, LostRange, PreparedBatch } from './records.ts';
import { describeIntent, RequeueIntents } from './requeue-intents.ts';
import { restartPoint } from './restart-point.ts';
import * as spark from './spark-format.ts';

/** What `checkpoint verify` found. */
export interface CheckpointCheck {
  location: string;
  /** The query's id; null where there is none. */
  id: string | null;
  /** First and last batch that has a file. */
  batches: { first: number; last: number } | null;
  filesRead: number;
  /** What is torn, missing, or contradicts another file. */
  faults: string[];
  /** What is no fault, and worth knowing. */
  notes: string[];
}

/** The files of one batch; null where there is none or it cannot be read. */
interface BatchFiles {
  batchId: number;
  offsets: spark.OffsetLogEntry | null;
  committed: boolean;
  plan: BatchPlan | null;
  prepared: PreparedBatch | null;
  done: DoneBatch | null;
}

/**
 * Reads every file of a checkpoint and compares those of a batch, and of neighbouring batches, with each other. Lists all
 * faults; throws only what the storage throws. Writes nothing.
 */
export async function checkCheckpoint(io: FileIO, location: string): Promise<CheckpointCheck> {
  const files = new CheckpointFiles(io, location);
  const index = await BatchIndex.load(files);
  const check = new Check(files, index, new RequeueIntents(io, location));
  await check.run();
  return check.result;
}

class Check {
  readonly result: CheckpointCheck;
  readonly #files: CheckpointFiles;
  readonly #index: BatchIndex;
  readonly #intents: RequeueIntents;

  constructor(files: CheckpointFiles, index: BatchIndex, intents: RequeueIntents) {
    this.#files = files;
    this.#index = index;
    this.#intents = intents;
    const ids = BATCH_KINDS.flatMap((kind) => index.ids(kind)).sort((a, b) => a - b);
    this.result = {
      location: files.location,
      id: null,
      batches: ids.length === 0 ? null : { first: ids[0], last: ids[ids.length - 1] },
      filesRead: 0,
      faults: [],
      notes: [],
    };
  }

  async run(): Promise<void> {
    const { result } = this;
    const files = this.#files;
    result.id = await this.#read(() => files.read('metadata', FILE_KINDS.metadata, spark.parseMetadata));
    if (result.id === null && this.#index.anyLog && result.faults.length === 0)
      result.faults.push(files.missing('metadata', FILE_KINDS.metadata, 'the checkpoint has logs').message);
    const initial = await this.#read(() =>
      files.read('sources/0/0', FILE_KINDS.initialOffsets, spark.parseInitialOffsets),
    );
    await this.#attempt(async () => {
      restartPoint(this.#index, files, (message) => result.notes.push(message));
    });
    for (const through of this.#index.ledgerFiles) {
      const ledger = await this.#read(() =>
        files.read(`_sluice/ledger/${through}.json`, FILE_KINDS.ledger, parseLedger),
      );
      if (ledger?.entries.some((e) => e.lastBatch > through))
        result.faults.push(`_sluice/ledger/${through}.json tells of batches after ${through}`);
    }
    let before: OffsetMap | null = initial;
    const ids = new Set(BATCH_KINDS.flatMap((kind) => this.#index.ids(kind)));
    for (const batchId of [...ids].sort((a, b) => a - b)) {
      const batch = await this.#batch(batchId);
      const previous = batchId === 0 || this.#index.has('offsets', batchId - 1) ? before : null;
      result.faults.push(...batchFaults(batch, previous).map((fault) => `batch ${batchId}: ${fault}`));
      if (batch.prepared?.givenUp !== undefined)
        result.notes.push(`batch ${batchId} was taken back by a reset: ${batch.prepared.givenUp.reason}`);
      if (batch.done?.reset !== undefined)
        result.notes.push(
          `batch ${batchId} is a reset, by ${batch.done.reset.by} at ${batch.done.reset.at}: ${batch.done.reset.reason}`,
        );
      before = batch.offsets?.offsets ?? null;
    }
    for (const requeueId of await this.#intents.list()) {
      const intent = await this.#read(() => this.#intents.read(requeueId));
      if (intent !== null)
        result.notes.push(
          `requeue ${requeueId} into ${intent.record.table} is not finished (${describeIntent(intent)}): the next \`sluice quarantine requeue --execute\` finishes it`,
        );
    }
  }

  async #batch(batchId: number): Promise<BatchFiles> {
    const files = this.#files;
    const has = (kind: (typeof BATCH_KINDS)[number]): boolean => this.#index.has(kind, batchId);
    const offsets = has('offsets')
      ? await this.#read(() =>
          files.read(batchFileName('offsets', batchId), FILE_KINDS.offsets, spark.parseOffsetLog),
        )
      : null;
    if (has('commits'))
      await this.#read(() =>
        files.read(batchFileName('commits', batchId), FILE_KINDS.commits, spark.parseCommitLog),
      );
    const plans: BatchPlan[] = [];
    for (const name of this.#index.namesOf('plan', batchId)) {
      const plan = await this.#read(() =>
        files.read(name, FILE_KINDS.plan, (bytes) => parsePlan(bytes).record),
      );
      if (plan !== null) plans.push(plan);
    }
    const plan = offsets === null ? null : (plans.find((p) => isPlanOf(p, batchId, offsets)) ?? null);
    if (plans.length > 0 && offsets !== null && plan === null)
      this.result.notes.push(
        `batch ${batchId}: its plan is not the one that offsets/${batchId} was written under; another engine planned it, or two processes ran at once`,
      );
    return {
      batchId,
      offsets,
      committed: has('commits'),
      plan,
      prepared: has('prepared') ? await this.#read(() => readRecord(files, 'prepared', batchId)) : null,
      done: has('done') ? await this.#read(() => readRecord(files, 'done', batchId)) : null,
    };
  }

  async #read<T>(read: () => Promise<T | null>): Promise<T | null> {
    this.result.filesRead++;
    return (await this.#attempt(read)) ?? null;
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isSluiceError(error, 'CHECKPOINT_CORRUPT') && !isSluiceError(error, 'CHECKPOINT_VERSION'))
        throw error;
      this.result.faults.push(error.message);
      return undefined;
    }
  }
}

function batchFaults(batch: BatchFiles, before: OffsetMap | null): string[] {
  const { plan, prepared, done, committed, offsets } = batch;
  const faults: string[] = [];
  if (plan !== null && committed && done === null)
    faults.push('it is committed, and its done record is missing');
  if (prepared?.givenUp !== undefined && (done !== null || committed))
    faults.push('it was taken back by a reset, and finished all the same');
  if (plan !== null && done !== null && done.reset === undefined) faults.push(...funnelFaults(plan, done));
  if (prepared !== null && done !== null) faults.push(...tableFaults(prepared, done));
  if (before === null || plan?.reset !== undefined || done?.reset !== undefined) return faults;
  // Another engine may drop what it no longer reads.
  if (plan === null || offsets === null) return faults;
  faults.push(...chainFaults(plan, before));
  for (const { topic, partition } of offsetEntries(before)) {
    if (getOffset(offsets.offsets, topic, partition) === undefined)
      faults.push(`${topic}-${partition} was in the offsets of the batch before and is no longer`);
  }
  return faults;
}

/** What was read and what was given up make up each planned range. */
function funnelFaults(plan: BatchPlan, done: DoneBatch): string[] {
  const faults: string[] = [];
  for (const range of plan.ranges) {
    if (range.until === range.from) continue;
    const read = done.funnel.find((f) => f.topic === range.topic && f.partition === range.partition);
    const from = afterLost(range, range.from, done.lost);
    const at = read === undefined ? range.until : read.from;
    const end = read === undefined ? from : read.until;
    if (at === from && end === range.until) continue;
    faults.push(
      `${range.topic}-${range.partition} was planned as [${range.from}, ${range.until}), and ${read === undefined ? 'nothing of it' : `[${read.from}, ${read.until})`} is on record as read`,
    );
  }
  return faults;
}

function tableFaults(prepared: PreparedBatch, done: DoneBatch): string[] {
  return prepared.tables.flatMap(({ table, commitId, rows }) => {
    const found = done.tables.find((t) => t.table === table);
    return found?.commitId === commitId && found.rows === rows
      ? []
      : [
          `table ${table}: ${rows} rows were prepared as commit ${commitId}, and the done record has ${found?.rows ?? 'none'} as ${found?.commitId ?? 'none'}`,
        ];
  });
}

/** Each range begins where the batch before ended, or after what was given up on record. */
function chainFaults(plan: BatchPlan, before: OffsetMap): string[] {
  return plan.ranges.flatMap((range) => {
    const ended = getOffset(before, range.topic, range.partition);
    if (ended === undefined) return [];
    const from = afterLost(range, ended, plan.lost);
    return from === range.from
      ? []
      : [
          `${range.topic}-${range.partition} is planned from ${range.from}, and the batch before ended at ${from}`,
        ];
  });
}

function afterLost(
  at: { topic: string; partition: number },
  from: bigint,
  lost: readonly LostRange[],
): bigint {
  let position = from;
  for (const l of lost)
    if (l.topic === at.topic && l.partition === at.partition && l.from === position) position = l.until;
  return position;
}
