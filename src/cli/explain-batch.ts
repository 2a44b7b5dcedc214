import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetMap } from '../core/offset-range.ts';
import { splitRanges } from '../core/range-split.ts';
import { addNewPartitions, planRanges, startingPositions } from '../engine/plan-batch.ts';
import { routeTopics } from '../engine/routing.ts';
import type { SourceState } from '../engine/source-state.ts';
import { totalLag } from '../monitor/lag.ts';
import type { BatchProgress } from '../monitor/progress.ts';
import type { Explanation } from './explanation.ts';
import { forecast } from './forecast.ts';
import { latestOffsets } from './source-view.ts';

/** What the next run would do first, by the planner's own arithmetic. Writes nothing. */
export async function explainNextBatch(
  config: PipelineConfig,
  checkpoint: Checkpoint,
  state: SourceState,
  progress: readonly BatchProgress[],
): Promise<Explanation> {
  const start = checkpoint.exists ? checkpoint.restart() : ({ kind: 'fresh' } as const);
  const plan = start.kind === 'rerun' ? await checkpoint.plan(start.batchId) : null;
  const positions = await positionsBefore(config, checkpoint, state);
  const known = new Map([...positions].map(([topic, partitions]) => [topic, new Map(partitions)]));
  addNewPartitions(positions, state);
  const limit = config.trigger.kind === 'once' ? null : config.source.maxOffsetsPerTrigger;
  const planned = planRanges(positions, state, limit, null);
  // A batch that was planned already is read exactly as planned, whatever is configured now.
  const ranges = plan?.ranges ?? planned.ranges;
  const offsets = ranges.reduce((sum, range) => sum + (range.until - range.from), 0n);
  const topics = [...new Set(state.partitions.map((p) => p.topic))];
  const lag = totalLag(positions, latestOffsets(state));
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
    tasks: splitRanges(ranges, { minPartitions: config.source.minPartitions }).length,
    workers: config.source.workers,
    partitions: state.partitions.length,
    routes: routeTopics(topics, config.tables).map(({ topic, table, rule }) => ({
      topic,
      table,
      partitionBy: rule.partitionBy,
    })),
    forecast: forecast({ config, offsets, lag, progress }),
  };
}

/** Where the next new batch begins: the end of the last planned one, where the query first began, or startingOffsets. */
async function positionsBefore(
  config: PipelineConfig,
  checkpoint: Checkpoint,
  state: SourceState,
): Promise<OffsetMap> {
  const { latestPlanned } = checkpoint;
  if (latestPlanned !== null) return checkpoint.offsets(latestPlanned);
  return (await checkpoint.initialOffsets()) ?? startingPositions(config.source, state);
}
