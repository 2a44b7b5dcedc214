import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { BatchProgress } from '../monitor/progress.ts';

/** What recent batches let us say of the next ones; null where there were none. */
export interface Forecast {
  /** Of the next batch, as it comes from the brokers. */
  bytes: number | null;
  /** How long the backlog takes at the speed of recent batches, and at most one batch a trigger interval. */
  drainMs: number | null;
  /** Data files a day at this trigger, if each batch makes as many as recent ones. */
  filesPerDay: number | null;
  /** Bytes of a data file of recent batches. */
  averageFileBytes: number | null;
  warnings: string[];
}

const DAY_MS = 86_400_000;
const RECENT = 20;
const SMALL_FILE_BYTES = 8 * 1024 * 1024;

export interface ForecastInput {
  config: Pick<PipelineConfig, 'trigger' | 'source'>;
  /** Of the next batch. */
  offsets: bigint;
  /** Offsets that are not yet planned. */
  lag: bigint;
  progress: readonly BatchProgress[];
}

export function forecast(input: ForecastInput): Forecast {
  const recent = input.progress.filter((p) => p.numInputRows > 0).slice(-RECENT);
  const sum = (value: (p: BatchProgress) => number): number =>
    recent.reduce((total, p) => total + value(p), 0);
  const offsets = sum((p) => Number(p.sluice.funnel.offsets));
  const files = sum((p) => p.sluice.tables.reduce((n, t) => n + t.files, 0));
  const fileBytes = sum((p) => p.sluice.tables.reduce((n, t) => n + t.bytes, 0));
  const intervalMs = input.config.trigger.kind === 'processingTime' ? input.config.trigger.intervalMs : null;
  const result: Forecast = {
    bytes: offsets > 0 ? Math.round((sum((p) => p.sluice.bytes) / offsets) * Number(input.offsets)) : null,
    drainMs: drainMs(input, recent, intervalMs),
    filesPerDay: null,
    averageFileBytes: files > 0 ? Math.round(fileBytes / files) : null,
    warnings: [],
  };
  if (intervalMs !== null && recent.length > 0) {
    const batchMs = Math.max(intervalMs, sum((p) => p.batchDuration) / recent.length, 1);
    result.filesPerDay = Math.round((DAY_MS / batchMs) * (files / recent.length));
  }
  result.warnings = warnings(input, result, intervalMs);
  return result;
}

function drainMs(
  input: ForecastInput,
  recent: readonly BatchProgress[],
  intervalMs: number | null,
): number | null {
  if (input.lag === 0n) return 0;
  const ms = recent.reduce((total, p) => total + p.batchDuration, 0);
  const offsets = recent.reduce((total, p) => total + Number(p.sluice.funnel.offsets), 0);
  if (ms === 0 || offsets === 0) return null;
  const working = (Number(input.lag) * ms) / offsets;
  const limit = input.config.source.maxOffsetsPerTrigger;
  if (limit === null || intervalMs === null) return Math.round(working);
  // With a limit no batch takes more than that, and the next one waits for its trigger.
  const batches = Math.ceil(Number(input.lag) / Number(limit));
  return Math.round(Math.max(working, (batches - 1) * intervalMs));
}

function warnings(input: ForecastInput, result: Forecast, intervalMs: number | null): string[] {
  const found: string[] = [];
  if (intervalMs !== null && intervalMs < 10_000) {
    found.push('a batch more often than every 10 seconds makes many small files');
  }
  if (
    result.averageFileBytes !== null &&
    result.averageFileBytes < SMALL_FILE_BYTES &&
    (result.filesPerDay ?? 0) > 1_000
  ) {
    found.push(
      `recent data files have ${Math.round(result.averageFileBytes / 1024)} KB on average: a longer trigger, or fewer partition fields, makes larger ones`,
    );
  }
  const limit = input.config.source.maxOffsetsPerTrigger;
  if (limit !== null && input.lag > limit * 100n) {
    found.push(`the backlog is more than 100 batches of maxOffsetsPerTrigger ${limit}`);
  }
  return found;
}
