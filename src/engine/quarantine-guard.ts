import { SluiceError } from '../errors.ts';

/** What one batch brought. */
interface Counts {
  records: number;
  quarantined: number;
}

/**
 * The threshold `quarantine.maxRatio` over the last `window` records (spec 40): a schema change upstream must not
 * drain a topic into quarantine unnoticed. Batches are counted whole, newest first, until the window is full; a window
 * that is not full yet counts as full, so that the first few broken records of a quiet topic stop nothing.
 */
export class QuarantineGuard {
  private readonly maxRatio: number;
  private readonly window: number;
  /** Newest first. */
  private readonly recent: (Counts & { batchId: number })[] = [];

  constructor(options: { maxRatio: number; window: number }) {
    this.maxRatio = options.maxRatio;
    this.window = options.window;
  }

  /** Takes a committed batch into account. */
  add(batchId: number, batch: Counts): void {
    this.recent.unshift({ ...batch, batchId });
    let records = 0;
    const keep = this.recent.findIndex((b) => {
      records += b.records;
      return records >= this.window;
    });
    if (keep >= 0) this.recent.length = keep + 1;
  }

  /** Takes a batch into account that was committed before all that are known. */
  addEarlier(batchId: number, batch: Counts): void {
    this.recent.push({ ...batch, batchId });
  }

  /** The earliest batch that is known. */
  get oldest(): number | undefined {
    return this.recent.at(-1)?.batchId;
  }

  /** Do the known batches fill the window? */
  get isFull(): boolean {
    return this.recent.reduce((sum, b) => sum + b.records, 0) >= this.window;
  }

  /**
   * Throws QUARANTINE_RATIO where the window that ends with `batch` holds too many quarantined records. `reasonsOf` tells
   * why those of the batch were set aside; it is asked only then.
   */
  async check(batchId: number, batch: Counts, reasonsOf: () => Promise<readonly string[]>): Promise<void> {
    let { records, quarantined } = batch;
    for (const earlier of this.recent) {
      if (records >= this.window) break;
      records += earlier.records;
      quarantined += earlier.quarantined;
    }
    const allowed = this.maxRatio * Math.max(records, this.window);
    if (batch.quarantined === 0 || quarantined <= allowed) return;
    const reasons = await reasonsOf();
    const why = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`;
    throw new SluiceError(
      'QUARANTINE_RATIO',
      `batch ${batchId}: ${quarantined} of the last ${records} records could not be decoded, quarantine.maxRatio ${this.maxRatio} allows ` +
        `${Math.floor(allowed)}; nothing of the batch was committed. It has ${batch.quarantined} of them${why}`,
      { context: { batchId, records, quarantined, maxRatio: this.maxRatio, reasons } },
    );
  }
}
