import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, type OffsetRange } from '../core/offset-range.ts';
import { addNewPartitions, planRanges } from '../engine/plan-batch.ts';
import { routeTopics } from '../engine/routing.ts';
import type { SourceState } from '../engine/source-state.ts';
import { splitTasks } from '../engine/split-tasks.ts';
import { TriggerLimits } from '../engine/trigger-limits.ts';
import { totalLag } from '../monitor/lag.ts';
import type { BatchProgress } from '../monitor/progress.ts';
import { checkNextLog } from './explain-log.ts';
import type { Explanation } from './explanation.ts';
import { forecast, type SteadyBatch } from './forecast.ts';
import { latestOffsets } from './source-view.ts';

/** What the brokers and the checkpoint say, for `explain`. */
export interface ExplainInput {
  config: PipelineConfig;
  checkpoint: Checkpoint;
  state: SourceState;
  /** Where the next new batch begins: the end of the last planned one, where the query first began, or where it would begin. */
  positions: OffsetMap;
  /** The first offset of the last hour of each partition, NO_OFFSET where nothing came. */
  hourAgo: OffsetMap;
  progress: readonly BatchProgress[];
}

const HOUR_S = 3600;

/** What the next run would do first, by the planner's own arithmetic. Writes nothing. Throws as `checkNextLog`. */
export async function explainNextBatch(input: ExplainInput): Promise<Explanation> {
  const { config, checkpoint, state, progress } = input;
  const { source } = config;
  const start = checkpoint.exists ? checkpoint.restart() : ({ kind: 'fresh' } as const);
  const plan = start.kind === 'rerun' ? await checkpoint.plan(start.batchId) : null;
  const known = input.positions;
  const { positions, lost } = await checkNextLog(checkpoint, start, state, known, source.failOnDataLoss);
  addNewPartitions(positions, state);
  const limits = new TriggerLimits(config);
  for (const p of progress.slice(-10)) limits.learnSize(Number(p.sluice.funnel.offsets), p.sluice.bytes);
  const limit = limits.next();
  const planned = planRanges(positions, state, limit?.maxOffsets ?? null, null);
  // A batch that was planned already is read exactly as planned, whatever is configured now.
  const ranges = plan?.ranges ?? planned.ranges;
  const offsets = ranges.reduce((sum, range) => sum + (range.until - range.from), 0n);
  const topics = [...new Set(state.partitions.map((p) => p.topic))];
  const lag = totalLag(positions, latestOffsets(state));
  const produced = producedLastHour(input);
  const producedPerSecond = Number(produced.reduce((sum, p) => sum + p.until - p.from, 0n)) / HOUR_S;
  const steady = steadyBatch(config, produced);
  const told = forecast({
    config,
    offsets,
    lag,
    progress,
    producedPerSecond,
    ...(limit === null || limit.by === 'auto' ? {} : { limit: limit.maxOffsets }),
    ...(steady === null ? {} : { steady }),
  });
  told.warnings.push(
    ...state.missing.map(
      (topic) => `topic ${topic}, which subscribePattern takes, is no more: the next run stops`,
    ),
  );
  return {
    pipeline: config.name,
    batchId: start.kind === 'fresh' ? 0 : start.batchId,
    kind: start.kind,
    newPartitions:
      start.kind === 'fresh'
        ? []
        : state.partitions.filter((p) => known.get(p.topic)?.get(p.partition) === undefined),
    ranges: ranges.map((range) => ({ ...range, offsets: range.until - range.from })),
    offsets,
    lag,
    lost: lost.map(({ topic, partition, from, until }) => ({ topic, partition, from, until })),
    limit,
    minOffsets: config.trigger.kind === 'once' ? null : source.minOffsetsPerTrigger,
    producedPerSecond,
    tasks: splitTasks(ranges, source.workers, source.minPartitions, source.maxRecordsPerPartition).length,
    workers: source.workers,
    partitions: state.partitions.length,
    partitionsToRead: ranges.filter((r) => r.until > r.from).length,
    matchedInPart: state.matchedInPart,
    routes: routeTopics(topics, config.tables).map(({ topic, table, rule }) => ({
      topic,
      table,
      partitionBy: rule.partitionBy,
    })),
    forecast: told,
  };
}

/** What came in during the last hour, by the times of the records. */
function producedLastHour({ state, hourAgo }: ExplainInput): OffsetRange[] {
  return state.partitions.flatMap(({ topic, partition }) => {
    const from = getOffset(hourAgo, topic, partition) ?? -1n;
    const until = getOffset(state.latest, topic, partition)!;
    return from < 0n || from >= until ? [] : [{ topic, partition, from, until }];
  });
}

/** A batch of what comes in during one interval, dealt to tasks as the engine does: each task writes a file per topic at least. */
function steadyBatch(config: PipelineConfig, lastHour: readonly OffsetRange[]): SteadyBatch | null {
  if (config.trigger.kind !== 'processingTime' || lastHour.length === 0) return null;
  const part = Math.max(config.trigger.intervalMs, 1) / (HOUR_S * 1000);
  const ranges = lastHour.map((r) => {
    const size = Math.max(1, Math.round(Number(r.until - r.from) * part));
    return { ...r, until: r.from + BigInt(size) };
  });
  const { workers, minPartitions, maxRecordsPerPartition } = config.source;
  const tasks = splitTasks(ranges, workers, minPartitions, maxRecordsPerPartition);
  return {
    offsets: Number(lastHour.reduce((sum, r) => sum + r.until - r.from, 0n)) * part,
    files: tasks.reduce((sum, task) => sum + new Set(task.map((r) => r.topic)).size, 0),
  };
}
