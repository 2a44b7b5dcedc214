import { formatByteSize } from '../core/byte-size.ts';
import { formatDuration } from '../core/duration.ts';

/** How far a running batch is. */
export interface BatchActivity {
  batchId: number;
  /** Offsets of the batch. */
  totalOffsets: number;
  records: number;
  bytes: number;
}

export interface ProgressLineOptions {
  write: (text: string) => void;
  /** On a terminal the line is drawn over itself; elsewhere it is written anew, seldom. */
  terminal: boolean;
  columns?: () => number | undefined;
  now: () => number;
}

const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 10_000;

/** One line that says how far the running batch is: records, megabytes, rate, time left. */
export class ProgressLine {
  readonly #options: ProgressLineOptions;
  #drawn = false;
  #lastMs: number;
  #batchId = -1;
  #batchBeganMs = 0;
  #recordsAtBegin = 0;

  constructor(options: ProgressLineOptions) {
    this.#options = options;
    // A short run writes no plain line at all.
    this.#lastMs = options.terminal ? Number.NEGATIVE_INFINITY : options.now();
  }

  /** Called often; cheap when it is not yet time for the next drawing. */
  update(activity: BatchActivity): void {
    const now = this.#options.now();
    if (activity.batchId !== this.#batchId) {
      this.#batchId = activity.batchId;
      this.#batchBeganMs = now;
      this.#recordsAtBegin = activity.records;
    }
    const interval = this.#options.terminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
    if (now - this.#lastMs < interval) return;
    this.#lastMs = now;
    const text = activityText(activity, now - this.#batchBeganMs, activity.records - this.#recordsAtBegin);
    if (!this.#options.terminal) {
      this.#options.write(`${text}\n`);
      return;
    }
    // A terminal that does not know its width says 0.
    const width = this.#options.columns?.() || 80;
    this.#options.write(`\r\x1b[2K${text.slice(0, Math.max(1, width - 1))}`);
    this.#drawn = true;
  }

  /** Takes the line away, so that another text can be written; the next update draws it again. */
  clear(): void {
    if (!this.#drawn) return;
    this.#options.write('\r\x1b[2K');
    this.#drawn = false;
    this.#lastMs = Number.NEGATIVE_INFINITY;
  }
}

/** `batch 7: 1,204,331 of 2,000,000 (60%), 287 MB, 412,000/s, 2 s left`. */
export function activityText(activity: BatchActivity, elapsedMs: number, recordsSince: number): string {
  const { batchId, totalOffsets, records, bytes } = activity;
  const parts = [
    `batch ${batchId}: ${count(records)} of ${count(totalOffsets)}${percent(records, totalOffsets)}`,
    formatByteSize(bytes),
  ];
  if (elapsedMs > 0 && recordsSince > 0) {
    const perSecond = (recordsSince * 1000) / elapsedMs;
    parts.push(`${count(perSecond >= 1000 ? Math.round(perSecond / 100) * 100 : Math.round(perSecond))}/s`);
    const left = Math.max(0, totalOffsets - records);
    parts.push(`${formatDuration((left / perSecond) * 1000)} left`);
  }
  return parts.join(', ');
}

function percent(records: number, total: number): string {
  return total > 0 ? ` (${Math.min(100, Math.floor((records / total) * 100))}%)` : '';
}

/** Digits in groups of three, the same in every locale. */
export function count(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** `1 batch`, `1,200 batches`. */
export function counted(value: number | bigint, one: string, many = `${one}s`): string {
  return `${count(value)} ${Number(value) === 1 ? one : many}`;
}
