import type { RecordColumns } from '../../columns/record-columns.ts';
import { addSums } from '../../core/gap-sum.ts';
import type { TokenFunction } from '../../core/oauth-token.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import type { KafkaLogLine } from '../../kafka/cluster.ts';
import type { PartitionCursor } from '../../kafka/partition-cursor.ts';
import { readRanges } from '../../kafka/range-reader.ts';
import { resizeThreadPool } from '../../parquet/writer.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { Failpoints } from '../failpoint.ts';
import type { BatchTask, BatchTaskResult, RangeResult } from './batch-task.ts';
import { copyRecords } from './copy-records.ts';
import { uniteGaps } from './gaps.ts';
import { RangeTallies, type RangeTally } from './range-tally.ts';
import type { SchemaLookup } from './row-decoders.ts';
import { TableWriters } from './table-writers.ts';
import { TopicIntake } from './topic-intake.ts';

/** Shares of the task's memory: the rest is room for what the codecs allocate until it is collected. */
const READ_SHARE = 0.35;
/** Of the writers' memory: rows that they may take before they settle. */
const UNSETTLED_SHARE = 0.125;
/** What the writers of a topic take beside their buffers: objects, ranges of values, footers. */
export const TOPIC_OVERHEAD_BYTES = 100 * 1024;

export interface TaskHost {
  io: FileIO;
  signal: AbortSignal;
  failpoints: Failpoints;
  /** The tokens of OAUTHBEARER. */
  token: TokenFunction;
  /** Schemas of the registry. */
  schema: SchemaLookup;
  log(line: KafkaLogLine): void;
  /** Records and broker bytes since the last call. */
  onProgress(records: number, bytes: number): void;
}

/**
 * Reads the ranges of a task from the broker and writes them into data files, durable when it resolves. On any error
 * the files of this task are given up and deleted: nobody refers to them yet. Throws what the reader, the storage and
 * the writers throw, and FUNNEL_MISMATCH where the offsets do not add up.
 */
export async function runBatchTask(task: BatchTask, host: TaskHost): Promise<BatchTaskResult> {
  const writers = new TableWriters(task, host.io, bufferBudget(task));
  resizeThreadPool(writers.limitBytes);
  try {
    const tallies = new RangeTallies();
    const topics = new Map(await topicIntakes(task, writers));
    const intake = new TaskIntake(host, writers, topics, tallies);
    const checks = task.topics.flatMap((t) => t.targets ?? []);
    const cursors = await readRanges({
      client: {
        bootstrapServers: task.reader.bootstrapServers,
        clientId: task.reader.clientId,
        kafka: task.reader.kafka,
        requestDeadlineMs: task.reader.requestDeadlineMs,
        token: host.token,
        // Options without a meaning are told once, when the run connects.
        log: (line) => line.option === undefined && host.log(line),
      },
      ranges: task.ranges,
      isolationLevel: task.reader.isolationLevel,
      budgetBytes: Math.floor(bufferBudget(task) * READ_SHARE),
      signal: host.signal,
      checkUtf8Values: checks.some((t) => t.checkUtf8Values),
      checkUtf8Keys: checks.some((t) => t.checkUtf8Keys),
      onRows: (cursor, columns) => intake.onRows(cursor, columns),
      afterPart: () => intake.settle(),
      onProgress: host.onProgress,
    });
    host.failpoints.hit('write');
    const files = await writers.close();
    host.failpoints.hit('after-write');
    return {
      files,
      ranges: cursors.map((cursor, i) => rangeResult(task, cursor, task.ranges[i].from, tallies.of(cursor))),
      wanted: [...topics.values()].flatMap((t) => t.wanted()),
      wantedRoutes: [...topics.values()].flatMap((t) => t.wantedRoutes()),
      failed: [...topics.values()].find((t) => t.failed !== null)?.failed ?? null,
    };
  } catch (error) {
    await writers.abort();
    throw error;
  } finally {
    resizeThreadPool();
  }
}

/** The memory of the task that is left for buffers; half of it at least, however many topics there are. */
function bufferBudget(task: BatchTask): number {
  const tables = task.topics.reduce((n, t) => n + (t.route?.destinations.length ?? 0) + 1, 0);
  return Math.max(task.budgetBytes / 2, task.budgetBytes - tables * TOPIC_OVERHEAD_BYTES);
}

/** Hands the records of one task to their topics, and lets the writers settle when they have taken enough. */
class TaskIntake {
  private readonly host: TaskHost;
  private readonly writers: TableWriters;
  private readonly topics: ReadonlyMap<string, TopicIntake>;
  private readonly tallies: RangeTallies;
  /** Copies of records whose schemas are to be looked up first. */
  private deferred: { cursor: PartitionCursor; columns: RecordColumns } | undefined;
  /** Of the rows since the writers have settled. */
  private unsettledBytes = 0;

  constructor(
    host: TaskHost,
    writers: TableWriters,
    topics: ReadonlyMap<string, TopicIntake>,
    tallies: RangeTallies,
  ) {
    this.host = host;
    this.writers = writers;
    this.topics = topics;
    this.tallies = tallies;
  }

  /** True where `settle` is due before more rows come. */
  onRows(cursor: PartitionCursor, columns: RecordColumns): boolean {
    this.host.failpoints.hit('read');
    if (this.topics.get(cursor.topic)!.misses(columns)) {
      this.deferred = { cursor, columns: copyRecords(columns) };
      return true;
    }
    this.take(cursor, columns);
    return this.unsettledBytes > this.writers.limitBytes * UNSETTLED_SHARE;
  }

  /** Takes the records that waited for their schemas; then the writers write out what is due. */
  async settle(): Promise<void> {
    if (this.deferred !== undefined) {
      const { cursor, columns } = this.deferred;
      this.deferred = undefined;
      await this.topics.get(cursor.topic)!.lookUp(columns, (id) => this.schema(id));
      this.take(cursor, columns);
    }
    this.unsettledBytes = 0;
    await this.writers.settle();
  }

  private take(cursor: PartitionCursor, columns: RecordColumns): void {
    this.topics.get(cursor.topic)!.take(cursor.partition, columns, this.tallies.of(cursor));
    this.unsettledBytes += columns.byteLength;
  }

  /** The schema, or the end of the task where it is given up meanwhile. */
  private async schema(id: number): Promise<RegisteredSchema | null> {
    const { signal, schema } = this.host;
    signal.throwIfAborted();
    let giveUp: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      giveUp = () => reject(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });
    });
    try {
      return await Promise.race([schema(id), aborted]);
    } finally {
      signal.removeEventListener('abort', giveUp!);
    }
  }
}

function topicIntakes(task: BatchTask, writers: TableWriters): Promise<[string, TopicIntake][]> {
  return Promise.all(
    task.topics.map(
      async (plan): Promise<[string, TopicIntake]> => [plan.topic, await TopicIntake.create(plan, writers)],
    ),
  );
}

function rangeResult(task: BatchTask, cursor: PartitionCursor, from: bigint, tally: RangeTally): RangeResult {
  const plan = task.topics.find((t) => t.topic === cursor.topic)!;
  const rows = cursor.rows - tally.quarantined - tally.dropped;
  const offsets = cursor.until - from;
  const sum = cursor.rows + cursor.control + cursor.aborted + cursor.holes;
  if (cursor.position !== cursor.until || BigInt(sum) !== offsets) {
    throw new SluiceError(
      'FUNNEL_MISMATCH',
      `batch ${task.batchId}, ${cursor.topic}-${cursor.partition} [${from}, ${cursor.until}): expected ${offsets} offsets, ` +
        `found ${cursor.rows} records, ${cursor.control} control, ${cursor.aborted} aborted and ${cursor.holes} holes up to ${cursor.position}; nothing was committed`,
      { context: { topic: cursor.topic, partition: cursor.partition } },
    );
  }
  return {
    topic: cursor.topic,
    partition: cursor.partition,
    table: plan.account,
    from,
    until: cursor.until,
    rows,
    quarantined: tally.quarantined,
    dropped: tally.dropped,
    control: cursor.control,
    aborted: cursor.aborted,
    holes: cursor.holes,
    bytes: cursor.bytes,
    leaderEpoch: cursor.leaderEpoch,
    leaderEpochEnd: cursor.leaderEpochEnd,
    ...uniteGaps(cursor.gaps, tally.droppedOffsets, cursor.gapsCut),
    gapSum: addSums(cursor.gapSum, tally.droppedSum),
    maxTimestampMs: Number.isFinite(tally.maxTimestampMs) ? tally.maxTimestampMs : null,
    ...(plan.route === null ? {} : { routed: routedCounts(tally) }),
  };
}

/** By data table; what is set aside without a destination under the empty name. */
function routedCounts({ byTable }: RangeTally): NonNullable<RangeResult['routed']> {
  return [...byTable]
    .map(([table, counts]) => ({ table, ...counts }))
    .sort((a, b) => (a.table < b.table ? -1 : 1));
}
