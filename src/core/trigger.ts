import { SluiceError } from '../errors.ts';
import { parseDurationMs } from './duration.ts';
import type { OffsetMap } from './offset-range.ts';

/** When the next micro-batch begins (Spark's triggers). */
export type Trigger =
  | { kind: 'processingTime'; intervalMs: number }
  /** `until`: the ends of a bounded run; the newest offsets at its start where it is left out. */
  | { kind: 'availableNow'; until?: RunEnd }
  | { kind: 'once' };

/**
 * Where a bounded run ends: at the newest offsets of its start; before the first record of each partition at or after a
 * time; or at offsets, which are not read any more (-1: the newest).
 */
export type RunEnd =
  | { kind: 'latest' }
  | { kind: 'timestamp'; timestampMs: bigint }
  | { kind: 'map'; offsets: OffsetMap };

/** Spark's default of this product: a batch every 60 seconds (spec 20). */
export const DEFAULT_TRIGGER: Trigger = { kind: 'processingTime', intervalMs: 60_000 };

/** Under this many milliseconds between batches, `validate` and `explain` warn about small files (spec 20). */
export const SMALL_FILES_INTERVAL_MS = 10_000;

/**
 * The interval of `processingTime`, as Spark writes it: `60 seconds`, `1 minute`, `interval 10 seconds`, `500ms`; 0 means
 * one batch right after the other. Throws CONFIG_INVALID for anything else.
 */
export function parseProcessingTime(text: string): Trigger {
  const intervalMs = parseDurationMs(text.trim().replace(/^interval\s+/i, ''));
  if (intervalMs < 0)
    throw new SluiceError('CONFIG_INVALID', `processingTime ${JSON.stringify(text)}: expected 0 or more`);
  return { kind: 'processingTime', intervalMs };
}

/**
 * When the next batch begins, in ms since 1970: the next multiple of the interval that is after `nowMs`, as Spark's
 * ProcessingTimeExecutor, so that batches begin at full minutes and a late batch skips the beginnings it missed. With
 * interval 0: now.
 */
export function nextTriggerTime(nowMs: number, intervalMs: number): number {
  return intervalMs <= 0 ? nowMs : Math.floor(nowMs / intervalMs) * intervalMs + intervalMs;
}
