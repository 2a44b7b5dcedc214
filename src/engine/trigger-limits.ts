import type { PipelineConfig } from '../config/pipeline-config.ts';
import { AutoLimit, type AutoLimitChange } from '../core/auto-limit.ts';
import { DEFAULT_TRIGGER, type Trigger } from '../core/trigger.ts';
import type { BatchLimit, BatchReport } from './host.ts';
import { RecordSize } from './record-size.ts';

/** The bytes of an offset before any batch told: small enough that a first batch is no surprise. */
const FIRST_GUESS_BYTES = 1024;

/** Where `auto` counts with an interval and the trigger has none. */
const FALLBACK_INTERVAL_MS = DEFAULT_TRIGGER.kind === 'processingTime' ? DEFAULT_TRIGGER.intervalMs : 60_000;

/**
 * How much a batch may take, and whether it has to wait: minOffsetsPerTrigger with maxTriggerDelay, maxOffsetsPerTrigger
 * (a number or auto), maxBytesPerTrigger. As in Spark, `once` knows none of them, and an availableNow run ends where what
 * is left is less than the minimum; a run with ends of its own (`--until`) always reaches them.
 */
export class TriggerLimits {
  private readonly source: PipelineConfig['source'];
  private readonly unlimited: boolean;
  private readonly minOffsets: bigint | null;
  private readonly auto: AutoLimit | null;
  private readonly size = new RecordSize();
  /** When a batch was last let through, or had waited long enough though nothing was there (as Spark). */
  private lastLetMs = Number.NEGATIVE_INFINITY;
  private heldOffsets: bigint | null = null;

  constructor(config: Pick<PipelineConfig, 'source' | 'trigger' | 'memoryBytes'>) {
    const { source, trigger } = config;
    this.source = source;
    this.unlimited = trigger.kind === 'once';
    this.minOffsets = this.unlimited || isUntil(trigger) ? null : source.minOffsetsPerTrigger;
    const intervalMs = trigger.kind === 'processingTime' ? trigger.intervalMs : 0;
    this.auto =
      source.maxOffsetsPerTrigger === 'auto'
        ? new AutoLimit(intervalMs > 0 ? intervalMs : FALLBACK_INTERVAL_MS, config.memoryBytes)
        : null;
  }

  /** Is it of use to know the bytes of earlier batches? */
  get asksForSizes(): boolean {
    return !this.unlimited && (this.source.maxBytesPerTrigger !== null || this.auto !== null);
  }

  /** Takes over the size of a batch of an earlier run. */
  learnSize(offsets: number, bytes: number): void {
    this.size.learn(offsets, bytes);
  }

  /** The limit of the next batch: of offsets and bytes the one that is reached first. Null where there is none. */
  next(): BatchLimit | null {
    if (this.unlimited) return null;
    const byOffsets = this.byOffsets();
    const byBytes = this.byBytes();
    if (byOffsets === null || byBytes === null) return byOffsets ?? byBytes;
    return byBytes.maxOffsets < byOffsets.maxOffsets ? byBytes : byOffsets;
  }

  private byOffsets(): BatchLimit | null {
    if (this.auto !== null)
      return { maxOffsets: this.auto.offsets, by: 'auto', reason: this.auto.reason ?? 'where auto begins' };
    const { maxOffsetsPerTrigger } = this.source;
    return typeof maxOffsetsPerTrigger === 'bigint'
      ? { maxOffsets: maxOffsetsPerTrigger, by: 'maxOffsetsPerTrigger', reason: null }
      : null;
  }

  private byBytes(): BatchLimit | null {
    const { maxBytesPerTrigger } = this.source;
    if (maxBytesPerTrigger === null) return null;
    const { bytesPerOffset } = this.size;
    const offsets = Math.floor(maxBytesPerTrigger / Math.max(bytesPerOffset ?? FIRST_GUESS_BYTES, 1e-3));
    return {
      maxOffsets: BigInt(Math.min(Math.max(1, offsets), Number.MAX_SAFE_INTEGER)),
      by: 'maxBytesPerTrigger',
      reason:
        bytesPerOffset === null
          ? `at ${FIRST_GUESS_BYTES} bytes per offset, a guess before the first batch`
          : `at ${Math.round(bytesPerOffset)} bytes per offset of recent batches`,
    };
  }

  /** Must a batch of these waiting offsets be held back? The first one never is. */
  holds(waitingOffsets: bigint, nowMs: number): boolean {
    this.heldOffsets = null;
    if (this.minOffsets === null) return false;
    const waitedLongEnough = nowMs - this.lastLetMs >= this.source.maxTriggerDelayMs;
    if (!waitedLongEnough && waitingOffsets < this.minOffsets) {
      this.heldOffsets = waitingOffsets;
      return true;
    }
    this.lastLetMs = nowMs;
    return false;
  }

  /** What the last call of `holds` held back; null where nothing. */
  get held(): { offsets: bigint; minOffsets: bigint } | null {
    return this.heldOffsets === null || this.heldOffsets === 0n
      ? null
      : { offsets: this.heldOffsets, minOffsets: this.minOffsets! };
  }

  /** Takes a finished batch into account: its bytes, and for `auto` its time. Null where no limit changed. */
  after(report: BatchReport, heldBack: boolean): AutoLimitChange | null {
    const offsets = report.ranges.reduce((sum, r) => sum + (r.until - r.from), 0n);
    this.size.learn(Number(offsets), report.bytes);
    // A batch of an earlier process was planned under its limit, and may be finished without being read.
    if (this.auto === null || report.recovered !== 'no') return null;
    return this.auto.after({
      offsets,
      durationMs: report.durations.triggerExecution,
      heldBack: heldBack && report.limit?.by === 'auto',
      bytesPerOffset: this.size.bytesPerOffset,
    });
  }
}

function isUntil(trigger: Trigger): boolean {
  return trigger.kind === 'availableNow' && trigger.until !== undefined;
}
