/** Batches that are remembered. */
const RECENT = 10;

/** Bytes per offset of recent batches, as the record batches came from the brokers. */
export class RecordSize {
  private readonly recent: { offsets: number; bytes: number }[] = [];

  /** Batches without offsets say nothing. */
  learn(offsets: number, bytes: number): void {
    if (offsets <= 0) return;
    this.recent.push({ offsets, bytes });
    if (this.recent.length > RECENT) this.recent.shift();
  }

  /** Null before the first batch. */
  get bytesPerOffset(): number | null {
    const offsets = this.recent.reduce((sum, b) => sum + b.offsets, 0);
    return offsets === 0 ? null : this.recent.reduce((sum, b) => sum + b.bytes, 0) / offsets;
  }
}
