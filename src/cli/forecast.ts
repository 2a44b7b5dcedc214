import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { BatchProgress } from '../monitor/progress.ts';
import { count, counted } from '../monitor/progress-line.ts';

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
  /** Once the backlog is drained: files a day, and what is in one, by what came in during the last hour. */
  steady?: { filesPerDay: number; recordsPerFile: number; fileBytes: number | null };
  warnings: string[];
}

const DAY_MS = 86_400_000;
const RECENT = 20;
const SMALL_FILE_BYTES = 8 * 1024 * 1024;
/** Where the bytes are not known. */
const SMALL_FILE_RECORDS = 20_000;
const MANY_FILES = 1_000;

export interface ForecastInput {
  config: Pick<PipelineConfig, 'trigger' | 'source'>;
  /** Of the next batch. */
  offsets: bigint;
  /** Offsets that are not yet planned. */
  lag: bigint;
  progress: readonly BatchProgress[];
  /** Offsets a second that come in; left out where not known. */
  producedPerSecond?: number;
  /** Of a batch, where it is not `maxOffsetsPerTrigger` alone that says so. */
  limit?: bigint | null;
  /** The batches once the backlog is drained, by what comes in; left out where nothing does. */
  steady?: SteadyBatch;
}

/** A batch of what comes in during one trigger interval. */
export interface SteadyBatch {
  offsets: number;
  files: number;
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
  if (intervalMs !== null && input.steady !== undefined)
    result.steady = steadyState(
      input.steady,
      Math.max(intervalMs, 1),
      offsets > 0 ? fileBytes / offsets : null,
    );
  result.warnings = warnings(input, result, intervalMs);
  return result;
}

function steadyState(
  batch: SteadyBatch,
  intervalMs: number,
  fileBytesPerOffset: number | null,
): NonNullable<Forecast['steady']> {
  const recordsPerFile = batch.offsets / Math.max(1, batch.files);
  return {
    filesPerDay: Math.round((DAY_MS / intervalMs) * batch.files),
    recordsPerFile: Math.round(recordsPerFile),
    fileBytes: fileBytesPerOffset === null ? null : Math.round(recordsPerFile * fileBytesPerOffset),
  };
}

/** At the measured rate, and with a limit at most one batch a trigger interval. Null where no rate is known, or more comes in than is read. */
function drainMs(
  input: ForecastInput,
  recent: readonly BatchProgress[],
  intervalMs: number | null,
): number | null {
  if (input.lag === 0n) return 0;
  const ms = recent.reduce((total, p) => total + p.batchDuration, 0);
  const offsets = recent.reduce((total, p) => total + Number(p.sluice.funnel.offsets), 0);
  if (ms === 0 || offsets === 0) return null;
  const lag = Number(input.lag);
  const limit = limitOf(input);
  let drained = (lag * ms) / offsets;
  // With a limit no batch takes more than that, and the next one waits for its trigger.
  if (limit !== null && intervalMs !== null)
    drained = Math.max(drained, (Math.ceil(lag / Number(limit)) - 1) * intervalMs);
  const comesMeanwhile = ((input.producedPerSecond ?? 0) / 1000) * drained;
  if (comesMeanwhile === 0) return Math.round(drained);
  return comesMeanwhile >= lag ? null : Math.round((drained * lag) / (lag - comesMeanwhile));
}

/** `auto` finds its own. */
function limitOf({ limit, config }: ForecastInput): bigint | null {
  if (limit !== undefined) return limit;
  const { maxOffsetsPerTrigger } = config.source;
  return typeof maxOffsetsPerTrigger === 'bigint' ? maxOffsetsPerTrigger : null;
}

function warnings(input: ForecastInput, result: Forecast, intervalMs: number | null): string[] {
  const found: string[] = [];
  if (intervalMs !== null && intervalMs < 10_000) {
    found.push('a batch more often than every 10 seconds makes many small files');
  }
  if (
    result.averageFileBytes !== null &&
    result.averageFileBytes < SMALL_FILE_BYTES &&
    (result.filesPerDay ?? 0) > MANY_FILES
  ) {
    found.push(
      `recent data files have ${Math.round(result.averageFileBytes / 1024)} KB on average: a longer trigger, or fewer partition fields, makes larger ones`,
    );
  }
  const { steady } = result;
  const small =
    steady?.fileBytes == null
      ? (steady?.recordsPerFile ?? 0) < SMALL_FILE_RECORDS
      : steady.fileBytes < SMALL_FILE_BYTES;
  if (steady !== undefined && result.averageFileBytes === null && small && steady.filesPerDay > MANY_FILES) {
    found.push(
      `at what came in during the last hour this trigger makes ${count(steady.filesPerDay)} files a day of about ${counted(steady.recordsPerFile, 'record')}: a longer trigger makes larger ones`,
    );
  }
  if (
    input.lag > 0n &&
    result.drainMs === null &&
    (input.producedPerSecond ?? 0) > 0 &&
    result.bytes !== null
  )
    found.push(
      'the backlog is never drained: more comes in than recent batches read; raise the limits or the workers',
    );
  const limit = input.config.source.maxOffsetsPerTrigger;
  if (typeof limit === 'bigint' && input.lag > limit * 100n) {
    found.push(`the backlog is more than 100 batches of maxOffsetsPerTrigger ${limit}`);
  }
  return found;
}
