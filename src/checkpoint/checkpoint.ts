import type { OffsetMap } from '../core/offset-range.ts';
import { offsetMapsEqual } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import { BatchHistory, type ReadAccount } from './batch-history.ts';
import { BatchIndex, type BatchKind, batchFileName } from './batch-index.ts';
import { CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import type { CheckpointOptions } from './checkpoint-options.ts';
import { describeWriter, type Envelope, formatEnvelope, type Writer } from './envelope.ts';
import { openId, openPipelineName } from './identity.ts';
import { Lease, type LeaseInfo, type LeaseResult } from './lease.ts';
import type { TableRecord } from './ledger-store.ts';
import { Malformed } from './malformed.ts';
import { PlanFile } from './plan-file.ts';
import { formatPrepared, samePrepared } from './prepared-json.ts';
import { purgeBatches } from './purge.ts';
import { type BatchRecords, readEnvelope, readRecord } from './record-file.ts';
import { encodeDone } from './record-json.ts';
import type { BatchPlan, DoneBatch, LedgerEntry, PreparedBatch } from './records.ts';
import { type RestartPoint, restartPoint } from './restart-point.ts';
import { sameOutcome } from './same-outcome.ts';
import * as spark from './spark-format.ts';

export type { CheckpointOptions };

const INITIAL_OFFSETS = 'sources/0/0';

/**
 * The truth about progress (spec 30): Spark's logs `offsets/` and `commits/`, and our records in `_sluice/`. One object
 * per process; it lists the directory once, at `open`, and every file that decides something is created without
 * overwriting, so that of two processes on one checkpoint one stops with CHECKPOINT_CONCURRENT.
 *
 * The order of a batch N: writePlan, writeOffsets, (read and write files) writePrepared, (commit the tables) writeDone,
 * writeCommit, purge. After a crash `restart` says where to go on; `prepared`, `done` and `plan` say how far N came.
 */
export class Checkpoint {
  /** The query's id, made once: the pipeline id in the markers. Empty where `exists` is false. */
  readonly id: string;
  /** False only when opened read-only where nothing is. */
  readonly exists: boolean;
  /** The pipeline's name when the checkpoint was made; null where Spark made it. */
  readonly storedPipelineName: string | null;
  readonly location: string;
  readonly #options: CheckpointOptions;
  readonly #files: CheckpointFiles;
  readonly #index: BatchIndex;
  readonly #plan: PlanFile;
  readonly #lease: Lease;
  readonly #history: BatchHistory;
  /** Files that this process tried to create: an existing one of the very content may be its own, its reply lost. */
  readonly #tried = new Set<string>();

  /**
   * Opens a checkpoint; makes one, with a new id, where the directory holds none. Throws CHECKPOINT_METADATA_MISSING
   * where logs exist without their id, CHECKPOINT_CORRUPT, CHECKPOINT_VERSION, and what the storage throws.
   */
  static async open(options: CheckpointOptions): Promise<Checkpoint> {
    const files = new CheckpointFiles(options.io, options.location);
    const index = await BatchIndex.load(files);
    const id = await openId(files, index, options);
    const name = id === null ? null : await openPipelineName(files, id, options);
    return new Checkpoint(options, files, index, id, name);
  }

  private constructor(
    options: CheckpointOptions,
    files: CheckpointFiles,
    index: BatchIndex,
    id: string | null,
    name: string | null,
  ) {
    this.id = id ?? '';
    this.exists = id !== null;
    this.storedPipelineName = name;
    this.location = options.location;
    this.#options = options;
    this.#files = files;
    this.#index = index;
    this.#plan = new PlanFile(files, index, options.owner, options.now, options.warn);
    this.#lease = new Lease({ ...options, files });
    this.#history = new BatchHistory(files, index);
  }

  /** The highest N in offsets/. */
  get latestPlanned(): number | null {
    return this.#index.latest('offsets');
  }

  /** The highest N in commits/. */
  get latestCommitted(): number | null {
    return this.#index.latest('commits');
  }

  /** The highest N in `_sluice/done/`. */
  get latestDone(): number | null {
    return this.#index.latest('done');
  }

  /** What to do at a start. Throws CHECKPOINT_CORRUPT where the logs do not add up. */
  restart(): RestartPoint {
    return restartPoint(this.#index, this.#files, this.#options.warn);
  }

  /** The offsets that the query began with, or null before its first start. */
  initialOffsets(): Promise<OffsetMap | null> {
    return this.#files.read(INITIAL_OFFSETS, FILE_KINDS.initialOffsets, spark.parseInitialOffsets);
  }

  /** Kept once: the same offsets again are fine, others are CHECKPOINT_CONCURRENT. */
  async writeInitialOffsets(offsets: OffsetMap): Promise<void> {
    this.#assertWritable();
    if (
      await this.#files.createNew(
        INITIAL_OFFSETS,
        formatted(() => spark.formatInitialOffsets(offsets)),
      )
    )
      return;
    const found = await this.initialOffsets();
    if (found === null || !offsetMapsEqual(found, offsets))
      throw this.#concurrent(INITIAL_OFFSETS, undefined);
  }

  /** The offsets that end a planned batch. Throws CHECKPOINT_CORRUPT where the file is missing or torn. */
  async offsets(batchId: number): Promise<OffsetMap> {
    return (await this.#offsetEntry(batchId)).offsets;
  }

  /**
   * Writes `plan/N`, for N right after the last planned batch. May be called again, with another plan, until
   * `offsets/N` is there; after that CHECKPOINT_CONCURRENT, and nothing was touched.
   */
  async writePlan(plan: BatchPlan): Promise<void> {
    this.#assertWritable();
    this.#assertNext(plan.batchId);
    await this.#assertUnplanned(plan.batchId);
    await this.#plan.write(plan);
  }

  /**
   * Throws CHECKPOINT_CONCURRENT where another process has planned the batch, or later ones, since this one listed the
   * checkpoint; its own files may be purged meanwhile.
   */
  async assertNotOvertaken(batchId: number): Promise<void> {
    const newest = (await BatchIndex.load(this.#files)).latest('offsets');
    if (newest !== null && newest >= batchId) await this.#assertUnplanned(newest);
  }

  /** The plan that `offsets/N` was written under; null where there is none, as when Spark planned the batch. */
  async plan(batchId: number): Promise<BatchPlan | null> {
    if (!this.#index.has('plan', batchId)) return null;
    return this.#plan.read(
      batchId,
      this.#index.has('offsets', batchId) ? await this.#offsetEntry(batchId) : null,
    );
  }

  /**
   * Writes `offsets/N`: from now on batch N is exactly these ranges. Never overwrites. Spark's format has no place for
   * a writer, so when the file is there already it is taken for our own only if it holds the very text that we wanted
   * to write and ours is the only plan that fits it: then the storage had applied an earlier call and lost its reply.
   * Everything else is CHECKPOINT_CONCURRENT, naming both.
   */
  async writeOffsets(batchId: number, offsets: OffsetMap, batchTimestampMs: number): Promise<void> {
    this.#assertWritable();
    this.#assertNext(batchId);
    const name = batchFileName('offsets', batchId);
    const bytes = formatted(() => spark.formatOffsetLog({ offsets, batchTimestampMs }));
    await this.#dropChecksum('offsets', batchId);
    const triedBefore = this.#tried.has(name);
    this.#tried.add(name);
    if (!(await this.#files.createNew(name, bytes))) {
      const found = await this.#files.readBytes(name, FILE_KINDS.offsets.maxBytes);
      const planners = await this.#plan.planners(batchId, parsedOffsets(found));
      const other = planners.find((w) => w.writerId !== this.#options.owner.writerId);
      const same = found !== null && Buffer.compare(found, bytes) === 0;
      const ours = same && (planners.length === 0 ? triedBefore : other === undefined);
      if (!ours) {
        if (!same) await this.#plan.withdraw(batchId);
        throw this.#concurrent(name, other ?? planners[0]);
      }
    }
    await this.#plan.confirm(batchId);
    this.#index.add('offsets', batchId);
  }

  /** Writes `prepared/N`. The same again by the same writer is fine; another's is CHECKPOINT_CONCURRENT. */
  async writePrepared(batch: PreparedBatch): Promise<void> {
    this.#assertWritable();
    this.#assertPlanned('prepared', batch.batchId);
    const same = (found: Envelope<PreparedBatch>) =>
      found.record.writerId === batch.writerId && samePrepared(found.record, batch);
    const { owner, now } = this.#options;
    await this.#createRecord('prepared', batch.batchId, formatPrepared(owner, now(), batch), same);
  }

  prepared(batchId: number): Promise<PreparedBatch | null> {
    return readRecord(this.#files, 'prepared', batchId);
  }

  /**
   * Writes `done/N`. Where it is there already, written by this process or by an earlier one that ended before
   * `commits/N`, it must tell of the same commits (tables, snapshots, commit ids, counts) and then stays as it is; other
   * commits are CHECKPOINT_CONCURRENT.
   */
  async writeDone(batch: DoneBatch): Promise<void> {
    this.#assertWritable();
    this.#assertPlanned('done', batch.batchId);
    const { owner, now } = this.#options;
    const bytes = formatEnvelope('done', owner, now(), encodeDone(batch));
    await this.#createRecord('done', batch.batchId, bytes, (found) => sameOutcome(found.record, batch));
    await this.#history.remember(batch);
  }

  done(batchId: number): Promise<DoneBatch | null> {
    return this.#history.done(batchId);
  }

  /** Writes `commits/N`; `done/N` must be there. */
  async writeCommit(batchId: number): Promise<void> {
    this.#assertWritable();
    this.#assertPlanned('commits', batchId);
    if (!this.#index.has('done', batchId))
      throw new SluiceError(
        'INTERNAL',
        `batch ${batchId} is to be committed before its done record was written`,
      );
    const name = batchFileName('commits', batchId);
    await this.#dropChecksum('commits', batchId);
    const triedBefore = this.#tried.has(name);
    this.#tried.add(name);
    if (!(await this.#files.createNew(name, spark.formatCommitLog()))) {
      await this.#files.read(name, FILE_KINDS.commits, spark.parseCommitLog);
      // All commits read the same: it is ours if we tried before, or if the done record that goes before it is ours.
      const finisher = triedBefore
        ? this.#options.owner
        : (await readEnvelope(this.#files, 'done', batchId))?.writer;
      if (finisher?.writerId !== this.#options.owner.writerId) throw this.#concurrent(name, finisher);
    }
    this.#index.add('commits', batchId);
  }

  /**
   * Deletes the files of old batches (offsets, commits, plan, prepared, done and their checksums) but for the newest
   * `minBatchesToRetain`, once a tenth of that number has come together; what they say goes to the ledger first. Cut off
   * anywhere, it is simply done again.
   */
  async purge(minBatchesToRetain: number): Promise<void> {
    this.#assertWritable();
    const { owner, now, warn } = this.#options;
    await purgeBatches({
      files: this.#files,
      index: this.#index,
      owner,
      now,
      warn,
      minBatchesToRetain,
      done: (id) => this.done(id),
      offsets: (id) => this.offsets(id),
    });
  }

  /** What was read of every topic incarnation and partition, all batches from the first to the last finished one. */
  ledger(): Promise<LedgerEntry[]> {
    return this.#history.ledger();
  }

  /**
   * As `ledger`, of the batches up to `through` alone, and which of them are committed without a record. Null where a
   * purge has put later batches into the ledger since the checkpoint was opened.
   */
  account(through: number): Promise<ReadAccount | null> {
    return this.#history.account(through);
  }

  /** The checkpoint as it stands now, to be read only: with what other processes wrote since it was opened. */
  async look(): Promise<Checkpoint> {
    const index = await BatchIndex.load(this.#files);
    const id = this.exists ? this.id : null;
    const options = { ...this.#options, readOnly: true };
    return new Checkpoint(options, this.#files, index, id, this.storedPipelineName);
  }

  /**
   * What this checkpoint recorded for a batch in a table: null = it did not commit the batch there, 'purged' = the
   * batch's record is gone.
   */
  doneRecord(
    table: string,
    batchId: number,
  ): Promise<{ snapshotId: bigint; commitId: string } | null | 'purged'> {
    return this.#history.recorded(table, batchId);
  }

  /** The newest batch that this checkpoint has committed into a table, purged ones included, or null. */
  lastRecorded(table: string): Promise<TableRecord | null> {
    return this.#history.lastRecorded(table);
  }

  /** The newest record of each table that ever got a batch. */
  tableRecords(): Promise<TableRecord[]> {
    return this.#history.tableRecords();
  }

  /** Takes the lease unless a live process holds it. */
  acquireLease(): Promise<LeaseResult> {
    this.#assertWritable();
    return this.#lease.acquire();
  }

  /** To be called every LEASE_HEARTBEAT_MS. Returns the lease of another process that took it meanwhile. */
  heartbeat(): Promise<LeaseInfo | undefined> {
    return this.#lease.heartbeat();
  }

  releaseLease(): Promise<void> {
    return this.#lease.release();
  }

  /** Who holds the lease, as it stands. */
  currentLease(): Promise<LeaseInfo | undefined> {
    return this.#lease.read();
  }

  async #assertUnplanned(batchId: number): Promise<void> {
    const offsets = batchFileName('offsets', batchId);
    if (!(await this.#files.exists(offsets))) return;
    const found = await this.#files.readBytes(offsets, FILE_KINDS.offsets.maxBytes);
    const [planner] = await this.#plan.planners(batchId, parsedOffsets(found));
    throw this.#concurrent(offsets, planner);
  }

  async #offsetEntry(batchId: number): Promise<spark.OffsetLogEntry> {
    const name = batchFileName('offsets', batchId);
    const entry = await this.#files.read(name, FILE_KINDS.offsets, spark.parseOffsetLog);
    if (entry === null) throw this.#files.missing(name, FILE_KINDS.offsets, `batch ${batchId} needs it`);
    return entry;
  }

  async #createRecord<K extends keyof BatchRecords>(
    kind: K,
    batchId: number,
    bytes: Uint8Array,
    same: (found: Envelope<BatchRecords[K]>) => boolean,
  ): Promise<void> {
    const name = batchFileName(kind, batchId);
    if (!(await this.#files.createNew(name, bytes))) {
      const found = await readEnvelope(this.#files, kind, batchId);
      if (found === null || !same(found)) throw this.#concurrent(name, found?.writer);
    }
    this.#index.add(kind, batchId);
  }

  /** A batch file without a checksum must not stand beside a checksum of an older file of that name. */
  async #dropChecksum(kind: BatchKind, batchId: number): Promise<void> {
    const checksum = this.#index.checksumOf(kind, batchId);
    if (checksum === undefined) return;
    await this.#files.delete(checksum);
    this.#index.removeChecksum(checksum);
  }

  #concurrent(name: string, other: Writer | undefined): SluiceError {
    const { owner } = this.#options;
    const path = this.#files.path(name);
    const self = other?.writerId === owner.writerId;
    const them =
      other === undefined
        ? 'another writer that left no name (a Spark query?)'
        : self
          ? `this process itself, with other content`
          : describeWriter(other);
    return new SluiceError(
      'CHECKPOINT_CONCURRENT',
      `${path} was written by ${them}, while ${describeWriter(owner)} wanted to write it; it stays as it is. Let only one process run on a checkpoint`,
      { outcome: 'not-applied', context: { path, location: this.location, owner, other } },
    );
  }

  #assertWritable(): void {
    if (this.#options.readOnly === true)
      throw new SluiceError('INTERNAL', `checkpoint ${this.location} was opened to be read only`);
  }

  /** Numbers go up by one and are never used again. */
  #assertNext(batchId: number): void {
    const next = (this.latestPlanned ?? -1) + 1;
    if (batchId !== next)
      throw new SluiceError(
        'INTERNAL',
        `batch ${batchId} is to be planned, but the next batch of checkpoint ${this.location} is ${next}`,
      );
  }

  #assertPlanned(kind: BatchKind, batchId: number): void {
    if (!this.#index.has('offsets', batchId))
      throw new SluiceError(
        'INTERNAL',
        `${kind} of batch ${batchId} is to be written, but the batch was never planned`,
      );
  }
}

/** Offsets that may not be stored are a bug of the caller, not a fault of a file. */
function formatted(format: () => Uint8Array): Uint8Array {
  try {
    return format();
  } catch (error) {
    if (error instanceof Malformed)
      throw new SluiceError('INTERNAL', `offsets are not written: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Null where it is no offset log of a version that is known here: then it fits no plan in particular. */
function parsedOffsets(bytes: Uint8Array | null): spark.OffsetLogEntry | null {
  try {
    return bytes === null ? null : spark.parseOffsetLog(bytes);
  } catch (error) {
    if (error instanceof Malformed) return null;
    throw error;
  }
}
