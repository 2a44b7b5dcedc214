import { getOffset } from '../core/offset-range.ts';
import { isSluiceError, messageOf } from '../errors.ts';
import { type BatchIndex, batchFileName, planBatchId } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { describeWriter, type Envelope, formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';
import { decodePlan, encodePlan } from './record-json.ts';
import type { BatchPlan } from './records.ts';
import type { OffsetLogEntry } from './spark-format.ts';

/** Is it the plan that `offsets/N` was written under? */
export function isPlanOf(plan: BatchPlan, batchId: number, offsets: OffsetLogEntry): boolean {
  return (
    plan.batchId === batchId &&
    plan.batchTimestampMs === offsets.batchTimestampMs &&
    plan.ranges.every((r) => getOffset(offsets.offsets, r.topic, r.partition) === r.until)
  );
}

/** A plan as it stands in its file. Throws Malformed. */
export function parsePlan(bytes: Uint8Array): Envelope<BatchPlan> {
  return parseEnvelope('plan', bytes, decodePlan);
}

/**
 * `_sluice/plan/N.json`, or `_sluice/plan/N.<writer id>.json` where a file of another writer is there already. A process
 * replaces its own plan only, until `offsets/N` exists, so whoever creates `offsets/N` has its plan there, whatever other
 * processes do before or after; theirs do not fit `offsets/N` and are passed over.
 */
export class PlanFile {
  readonly #files: CheckpointFiles;
  readonly #index: BatchIndex;
  readonly #owner: Writer;
  readonly #now: () => number;
  readonly #warn: (message: string, context?: object) => void;
  /** Where the plan stands that this process wrote last. */
  #own: { batchId: number; name: string } | undefined;

  constructor(
    files: CheckpointFiles,
    index: BatchIndex,
    owner: Writer,
    now: () => number,
    warn: (message: string, context?: object) => void,
  ) {
    this.#files = files;
    this.#index = index;
    this.#owner = owner;
    this.#now = now;
    this.#warn = warn;
  }

  async write(plan: BatchPlan): Promise<void> {
    const { batchId } = plan;
    const bytes = formatEnvelope('plan', this.#owner, this.#now(), encodePlan(plan));
    if (this.#own?.batchId === batchId) {
      await this.#files.replace(this.#own.name, bytes);
      return;
    }
    let name = batchFileName('plan', batchId);
    if (!(await this.#files.createNew(name, bytes))) {
      // Our own only where an earlier call was applied and its reply lost.
      if ((await this.#writerOf(name))?.writerId !== this.#owner.writerId) name = this.#ownName(batchId);
      await this.#files.replace(name, bytes);
    }
    this.#own = { batchId, name };
    this.#index.addPlan(batchId, name);
  }

  /** The plan of a batch; null where none is there that `offsets` were written under. Throws CHECKPOINT_CORRUPT. */
  async read(batchId: number, offsets: OffsetLogEntry | null): Promise<BatchPlan | null> {
    const misfits: { name: string; writer: Writer }[] = [];
    let fault: unknown;
    // Should two fit, in all that offsets/ tells, the one with the writer's name was written second.
    for (const name of this.#index.namesOf('plan', batchId).sort((a, b) => b.length - a.length)) {
      try {
        const found = await this.#files.read(name, FILE_KINDS.plan, parsePlan);
        if (found === null) continue;
        if (offsets === null ? this.#mayBe(name, batchId) : isPlanOf(found.record, batchId, offsets))
          return found.record;
        misfits.push({ name, writer: found.writer });
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        fault ??= error;
      }
    }
    // A file that cannot be read may have been the one.
    if (fault !== undefined) throw fault;
    for (const { name, writer } of misfits)
      this.#warn(
        `${this.#files.path(name)}, by ${describeWriter(writer)}, is not the plan that offsets/${batchId} was written under ` +
          '(Spark took over, or two processes ran at once) and is ignored: the batch has the ranges of offsets/',
        { location: this.#files.location, batchId },
      );
    return null;
  }

  /** Of a batch whose offsets are not there yet: one's own plan, or any. */
  #mayBe(name: string, batchId: number): boolean {
    return this.#own?.batchId !== batchId || this.#own.name === name;
  }

  /** Who wrote plans that fit `offsets`, as the storage says now; null: offsets that fit none. */
  async planners(batchId: number, offsets: OffsetLogEntry | null): Promise<Writer[]> {
    const writers: Writer[] = [];
    if (offsets === null) return writers;
    for (const file of await this.#files.list('_sluice/plan')) {
      const name = `_sluice/plan/${file}`;
      if (planBatchId(name) !== batchId) continue;
      const found = await this.#readable(name);
      if (found !== null && isPlanOf(found.record, batchId, offsets)) writers.push(found.writer);
    }
    return writers;
  }

  /** `offsets/N` is ours: plans that processes before this one left behind go. */
  async confirm(batchId: number): Promise<void> {
    if (this.#own?.batchId !== batchId) return;
    for (const name of this.#index.namesOf('plan', batchId)) {
      if (name === this.#own.name) continue;
      await this.#files.delete(name);
      this.#index.removePlan(batchId, name);
    }
  }

  /** `offsets/N` is another's for certain: takes our plan away. */
  async withdraw(batchId: number): Promise<void> {
    if (this.#own?.batchId !== batchId) return;
    await this.#files.delete(this.#own.name);
    this.#index.removePlan(batchId, this.#own.name);
    this.#own = undefined;
  }

  async #writerOf(name: string): Promise<Writer | undefined> {
    return (await this.#readable(name))?.writer;
  }

  /** Null where there is none, or it cannot be read: then it does not tell its writer. */
  async #readable(name: string): Promise<Envelope<BatchPlan> | null> {
    try {
      return await this.#files.read(name, FILE_KINDS.plan, parsePlan);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#warn(`a plan does not tell its writer: ${messageOf(error)}`, { location: this.#files.location });
      return null;
    }
  }

  #ownName(batchId: number): string {
    const writer = this.#owner.writerId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 100);
    return `_sluice/plan/${batchId}.${writer}.json`;
  }
}

function isUnreadable(error: unknown): boolean {
  return isSluiceError(error, 'CHECKPOINT_CORRUPT') || isSluiceError(error, 'CHECKPOINT_VERSION');
}
