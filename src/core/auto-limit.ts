import { formatByteSize } from './byte-size.ts';
import { formatDuration } from './duration.ts';

/** Where `maxOffsetsPerTrigger: auto` begins (spec 20). */
export const AUTO_LIMIT_START = 100_000n;
/** Below this a batch costs more in commits than in records. */
const LEAST = 1_000n;
/** A cut aims at this part of the interval, and leaves at least a quarter: one slow batch may be a blip. */
const AIM = 0.75;
const DEEPEST_CUT = 4n;
const MOST = 2n ** 53n;

export interface AutoLimitChange {
  from: bigint;
  to: bigint;
  /** In words, for the log and the status. */
  reason: string;
}

/** What a batch tells. */
export interface AutoLimitBatch {
  offsets: bigint;
  /** From planning to the checkpoint's commit. */
  durationMs: number;
  /** Did offsets wait that the limit kept out of the batch? */
  heldBack: boolean;
  /** Of recent batches; null where not known. */
  bytesPerOffset: number | null;
}

/**
 * `maxOffsetsPerTrigger: auto`: what operators do by hand. Doubled while batches that it held back take less than half of
 * the trigger interval, cut when one takes longer than the interval, and never more offsets than the memory budget has
 * bytes for.
 */
export class AutoLimit {
  private readonly intervalMs: number;
  private readonly memoryBytes: number;
  private limit = AUTO_LIMIT_START;
  private last: string | null = null;

  constructor(intervalMs: number, memoryBytes: number) {
    this.intervalMs = intervalMs;
    this.memoryBytes = memoryBytes;
  }

  get offsets(): bigint {
    return this.limit;
  }

  /** Why it is what it is; null while it was never changed. */
  get reason(): string | null {
    return this.last;
  }

  /** Takes a finished batch into account. Null where the limit stays. */
  after(batch: AutoLimitBatch): AutoLimitChange | null {
    const cap = this.memoryCap(batch.bytesPerOffset);
    const change = this.cutBySlowness(batch) ?? this.raise(batch, cap) ?? null;
    const wanted = change?.to ?? this.limit;
    if (cap === null || wanted <= cap.offsets)
      return change === null ? null : this.set(change.to, change.reason);
    return this.set(cap.offsets, cap.reason);
  }

  private cutBySlowness(batch: AutoLimitBatch): { to: bigint; reason: string } | null {
    const { offsets, durationMs } = batch;
    if (offsets === 0n || durationMs <= this.intervalMs) return null;
    const base = offsets < this.limit ? offsets : this.limit;
    const aimed = BigInt(Math.floor((Number(base) * this.intervalMs * AIM) / durationMs));
    const to = greatest(rounded(aimed), this.limit / DEEPEST_CUT, LEAST);
    if (to >= this.limit) return null;
    return {
      to,
      reason: `cut: the last batch took ${formatDuration(durationMs)}, longer than the interval of ${formatDuration(this.intervalMs)}`,
    };
  }

  private raise(
    batch: AutoLimitBatch,
    cap: { offsets: bigint } | null,
  ): { to: bigint; reason: string } | null {
    if (!batch.heldBack || batch.durationMs * 2 >= this.intervalMs) return null;
    const doubled = this.limit * 2n;
    const to = least(doubled, cap?.offsets ?? doubled, MOST);
    if (to <= this.limit) return null;
    return {
      to,
      reason: `raised: the last batch took ${formatDuration(batch.durationMs)}, less than half of the interval of ${formatDuration(this.intervalMs)}, and more waits`,
    };
  }

  private memoryCap(bytesPerOffset: number | null): { offsets: bigint; reason: string } | null {
    if (bytesPerOffset === null || bytesPerOffset <= 0) return null;
    const offsets = greatest(
      BigInt(Math.floor(Math.min(this.memoryBytes / bytesPerOffset, Number(MOST)))),
      1n,
    );
    return {
      offsets,
      reason: `cut: at ${Math.round(bytesPerOffset)} bytes per offset a batch would pass the memory budget of ${formatByteSize(this.memoryBytes)}`,
    };
  }

  private set(to: bigint, reason: string): AutoLimitChange | null {
    if (to === this.limit) return null;
    const from = this.limit;
    this.limit = to;
    this.last = reason;
    return { from, to, reason };
  }
}

/** Two digits and zeros, downwards: a number that people can compare. */
function rounded(value: bigint): bigint {
  let unit = 1n;
  while (value / unit >= 100n) unit *= 10n;
  return (value / unit) * unit;
}

function least(...values: bigint[]): bigint {
  return values.reduce((a, b) => (b < a ? b : a));
}

function greatest(...values: bigint[]): bigint {
  return values.reduce((a, b) => (b > a ? b : a));
}
