import type { BatchPlan, LostRange } from '../checkpoint/records.ts';
import { kafkaClientOptions } from '../config/client-options.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import { isSluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { EngineHost } from './host.ts';
import type { BatchTask, BatchTaskResult, TopicPlan, WrittenFiles } from './local/batch-task.ts';
import { TOPIC_OVERHEAD_BYTES } from './local/run-batch-task.ts';
import type { WorkerPool } from './local/worker-pool.ts';
import { splitTasks } from './split-tasks.ts';
import type { TargetTables } from './target-tables.ts';

/** Memory of the coordinator itself (metadata, manifests, the checkpoint), taken from the pipeline's number first. */
const COORDINATOR_SHARE = 0.1;

/** Of the memory, what the tables of one rule may take beside their buffers, over all workers. */
const ROUTED_SHARE = 0.25;

export interface BatchReaderContext {
  config: PipelineConfig;
  host: EngineHost;
  io: FileIO;
  pool: WorkerPool;
  writerId: string;
}

export interface ReadOutcome {
  outcome: BatchTaskResult[];
  /** What was read in the end. */
  ranges: OffsetRange[];
  lost: LostRange[];
  /** The last time that it was read; counts on from what was given. */
  attempt: number;
}

/** Has the workers read a planned batch into data files. */
export class BatchReader {
  private readonly context: BatchReaderContext;

  constructor(context: BatchReaderContext) {
    this.context = context;
  }

  /**
   * Reads the planned ranges. Where retention deletes records under the reader and `failOnDataLoss` is false, the range
   * is read again from where the log now starts, and what is gone is returned. `firstAttempt`: times that this process has
   * read the batch before.
   */
  async read(
    plan: BatchPlan,
    tables: TargetTables,
    abandon: AbortSignal,
    firstAttempt: number,
  ): Promise<ReadOutcome> {
    const { config, host, io, pool } = this.context;
    const lost: LostRange[] = [];
    for (let attempt = firstAttempt; ; attempt++) {
      const ranges = withoutLost(plan.ranges, lost);
      const totalOffsets = Number(ranges.reduce((sum, r) => sum + (r.until - r.from), 0n));
      let records = 0;
      let bytes = 0;
      const tasks = this.tasksOf(plan, ranges, tables.byTopic, attempt);
      const { results, error } = await pool.run(tasks, abandon, (moreRecords, moreBytes) => {
        records += moreRecords;
        bytes += moreBytes;
        host.onActivity?.({ batchId: plan.batchId, totalOffsets, records, bytes });
      });
      if (error === undefined) return { outcome: results, ranges, lost, attempt };
      // Nobody refers to the files of the tasks that ended well: the batch is read again, now or by a later run.
      await deleteFiles(
        io,
        results.flatMap((r) => r.files),
      );
      const gone = config.source.failOnDataLoss ? undefined : lostWhileReading(error, ranges, plan);
      if (gone === undefined) throw error;
      host.log.warn(
        `${gone.topic}-${gone.partition}: offsets [${gone.from}, ${gone.until}) were deleted while batch ${plan.batchId} was read; the run goes on because failOnDataLoss is false`,
        { ...gone },
      );
      lost.push(gone);
    }
  }

  /** How many workers may write to all the tables of a rule at once: those take no more than a part of each one's memory. */
  private workersFor(topics: ReadonlyMap<string, TopicPlan>): number {
    const { memoryBytes } = this.context.config;
    let most = 0;
    for (const { route } of topics.values()) most = Math.max(most, route?.destinations.length ?? 0);
    return Math.max(1, Math.floor((memoryBytes * ROUTED_SHARE) / (most * TOPIC_OVERHEAD_BYTES)));
  }

  private tasksOf(
    plan: BatchPlan,
    ranges: readonly OffsetRange[],
    topics: ReadonlyMap<string, TopicPlan>,
    attempt: number,
  ): BatchTask[] {
    const { config, pool, writerId } = this.context;
    const { minPartitions, maxRecordsPerPartition } = config.source;
    const workers = Math.min(pool.size, this.workersFor(topics));
    const parts = splitTasks(ranges, workers, minPartitions, maxRecordsPerPartition);
    const atOnce = Math.max(1, Math.min(parts.length, pool.size));
    const budgetBytes = Math.floor((config.memoryBytes * (1 - COORDINATOR_SHARE)) / atOnce);
    const topicIds = new Map(plan.topics.map((t) => [t.topic, t.topicId]));
    return parts.map((part, taskIndex) => ({
      batchId: plan.batchId,
      batchTimestampMs: plan.batchTimestampMs,
      pipelineName: config.name,
      writerId,
      taskIndex,
      attempt,
      ranges: part.map((r) => ({
        ...r,
        topicId: topicIds.get(r.topic) ?? null,
        ...epochBefore(plan, r),
      })),
      topics: [...new Set(part.map((r) => r.topic))].map((topic) => topics.get(topic)!),
      reader: {
        bootstrapServers: config.source.bootstrapServers,
        clientId: config.source.kafka['client.id'] ?? `sluice-${config.name}`,
        kafka: kafkaClientOptions(config.source),
        requestDeadlineMs: config.source.requestDeadlineMs,
        isolationLevel: config.source.isolationLevel,
      },
      budgetBytes,
      quarantineKeepBytes: config.quarantine.keepBytes,
    }));
  }
}

/** The epoch of the last batch read before a range; undefined where the range begins inside its planned one. */
function epochBefore(
  plan: BatchPlan,
  range: OffsetRange,
): { leaderEpoch: number; leaderEpochEnd: bigint } | undefined {
  const same = (at: { topic: string; partition: number }): boolean =>
    at.topic === range.topic && at.partition === range.partition;
  const begins = plan.ranges.some((planned) => same(planned) && planned.from === range.from);
  const known = begins ? plan.leaderEpochs.find(same) : undefined;
  return known === undefined ? undefined : { leaderEpoch: known.epoch, leaderEpochEnd: known.endOffset };
}

/** The ranges, each begun after what is lost of it. */
function withoutLost(ranges: readonly OffsetRange[], lost: readonly LostRange[]): OffsetRange[] {
  return ranges.map((range) => {
    let { from } = range;
    for (const l of lost)
      if (l.topic === range.topic && l.partition === range.partition && l.until > from) from = l.until;
    return { ...range, from: from < range.until ? from : range.until };
  });
}

/** The beginning of a range that a DATA_LOSS of the reader says is deleted; undefined for any other error. */
function lostWhileReading(
  error: unknown,
  ranges: readonly OffsetRange[],
  plan: BatchPlan,
): LostRange | undefined {
  if (!isSluiceError(error, 'DATA_LOSS')) return undefined;
  const { topic, partition, logStart } = error.context;
  const range = ranges.find((r) => r.topic === topic && r.partition === partition);
  if (range === undefined || typeof logStart !== 'bigint' || logStart <= range.from) return undefined;
  return {
    topic: range.topic,
    partition: range.partition,
    from: range.from,
    until: logStart < range.until ? logStart : range.until,
    topicId: plan.topics.find((t) => t.topic === topic)?.topicId ?? null,
    reason: 'retention deleted the records before they were read',
    acceptedBy: 'failOnDataLoss=false',
  };
}

/** Deletes files that nobody refers to; what cannot be deleted is an orphan. */
export async function deleteFiles(io: FileIO, written: readonly WrittenFiles[]): Promise<void> {
  for (const { files } of written)
    for (const file of files) await io.delete(file.filePath).catch(() => undefined);
}
