import { getOffset } from '../core/offset-range.ts';
import { isSluiceError, messageOf } from '../errors.ts';
import { batchFileName } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { describeWriter, type Envelope, formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';
import { decodePlan, encodePlan } from './record-json.ts';
import type { BatchPlan } from './records.ts';
import type { OffsetLogEntry } from './spark-format.ts';

/**
 * `_sluice/plan/N.json`. It may be replaced until `offsets/N` exists; the process that creates `offsets/N` makes sure
 * afterwards that the plan is its own, and one that fails to create it puts back what it had replaced.
 */
export class PlanFile {
  readonly #files: CheckpointFiles;
  readonly #owner: Writer;
  readonly #now: () => number;
  readonly #warn: (message: string, context?: object) => void;
  /** The plan that this process wrote last, and the text it replaced. */
  #own: { batchId: number; bytes: Uint8Array; replaced: Uint8Array | null } | undefined;

  constructor(
    files: CheckpointFiles,
    owner: Writer,
    now: () => number,
    warn: (message: string, context?: object) => void,
  ) {
    this.#files = files;
    this.#owner = owner;
    this.#now = now;
    this.#warn = warn;
  }

  async write(plan: BatchPlan): Promise<void> {
    const name = batchFileName('plan', plan.batchId);
    const bytes = formatEnvelope('plan', this.#owner, this.#now(), encodePlan(plan));
    const found = await this.#readBytes(plan.batchId);
    const replaced = this.#own?.batchId === plan.batchId ? this.#own.replaced : found;
    this.#own = { batchId: plan.batchId, bytes, replaced };
    await this.#files.replace(name, bytes);
  }

  /** The plan of a batch; null where it is not the one that `offsets` were written under. Throws CHECKPOINT_CORRUPT. */
  async read(batchId: number, offsets: OffsetLogEntry | null): Promise<BatchPlan | null> {
    const envelope = await this.#read(batchId);
    if (envelope === null || offsets === null) return envelope?.record ?? null;
    const plan = envelope.record;
    const fits =
      plan.batchId === batchId &&
      plan.batchTimestampMs === offsets.batchTimestampMs &&
      plan.ranges.every((r) => getOffset(offsets.offsets, r.topic, r.partition) === r.until);
    if (fits) return plan;
    this.#warn(
      `${this.#files.path(batchFileName('plan', batchId))}, by ${describeWriter(envelope.writer)}, is not the plan that offsets/${batchId} was written under ` +
        '(Spark took over, or two processes ran at once) and is ignored: the batch has the ranges of offsets/',
      { location: this.#files.location, batchId },
    );
    return null;
  }

  /** Who wrote the plan; undefined where there is none or it cannot be read. */
  async writer(batchId: number): Promise<Writer | undefined> {
    try {
      return (await this.#read(batchId))?.writer;
    } catch (error) {
      if (!isSluiceError(error, 'CHECKPOINT_CORRUPT') && !isSluiceError(error, 'CHECKPOINT_VERSION'))
        throw error;
      this.#warn(`the plan of batch ${batchId} does not tell its writer: ${messageOf(error)}`, {
        location: this.#files.location,
      });
      return undefined;
    }
  }

  /** `offsets/N` is ours, so the plan must be: another process may have replaced it a moment before. */
  async confirm(batchId: number): Promise<void> {
    if (this.#own?.batchId !== batchId) return;
    const found = await this.#readBytes(batchId);
    if (found === null || Buffer.compare(found, this.#own.bytes) !== 0) {
      await this.#files.replace(batchFileName('plan', batchId), this.#own.bytes);
    }
  }

  /** `offsets/N` is another's: takes our plan back if it still stands there. */
  async giveBack(batchId: number): Promise<void> {
    if (this.#own?.batchId !== batchId) return;
    const { bytes, replaced } = this.#own;
    const found = await this.#readBytes(batchId);
    if (found === null || Buffer.compare(found, bytes) !== 0) return;
    const name = batchFileName('plan', batchId);
    await (replaced === null ? this.#files.delete(name) : this.#files.replace(name, replaced));
    this.#own = undefined;
  }

  #read(batchId: number): Promise<Envelope<BatchPlan> | null> {
    return this.#files.read(batchFileName('plan', batchId), FILE_KINDS.plan, (bytes) =>
      parseEnvelope('plan', bytes, decodePlan),
    );
  }

  #readBytes(batchId: number): Promise<Uint8Array | null> {
    return this.#files.readBytes(batchFileName('plan', batchId), FILE_KINDS.plan.maxBytes);
  }
}
