import type { RecordColumns } from '../../columns/record-columns.ts';
import { addSums, stretchSum } from '../../core/gap-sum.ts';
import type { TokenFunction } from '../../core/oauth-token.ts';
import { topicPartitionKey } from '../../core/topic-partition.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { readRanges } from '../../kafka/range-reader.ts';
import type { PartitionCursor } from '../../kafka/record-set-decoder.ts';
import { resizeThreadPool } from '../../parquet/writer.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { Failpoints } from '../failpoint.ts';
import type { BatchTask, BatchTaskResult, RangeResult, TopicTargets, WrittenFile } from './batch-task.ts';
import { copyRecords } from './copy-records.ts';
import { FileNaming } from './data-file-series.ts';
import type { Discovery, WantedColumns } from './discovery.ts';
import { addOffset, type OffsetStretch, uniteGaps } from './gaps.ts';
import { QuarantineWriter } from './quarantine-writer.ts';
import { type ExcludedRow, RowBlock } from './row-block.ts';
import { RowDecoders, type SchemaLookup } from './row-decoders.ts';
import { TableWriter } from './table-writer.ts';

/** Shares of the task's memory: the rest is room for what the codecs allocate until it is collected. */
const READ_SHARE = 0.35;
const WRITE_SHARE = 0.35;
/** Of the writers' memory: rows that they may take before they settle. */
const UNSETTLED_SHARE = 0.125;
/** What the writers of a topic take beside their buffers: objects, ranges of values, footers. */
const TOPIC_OVERHEAD_BYTES = 100 * 1024;
const MAX_ROW_GROUP_BYTES = 32 * 1024 * 1024;

export interface TaskHost {
  io: FileIO;
  signal: AbortSignal;
  failpoints: Failpoints;
  /** The tokens of OAUTHBEARER. */
  token: TokenFunction;
  /** Schemas of the registry. */
  schema: SchemaLookup;
  /** Records and broker bytes since the last call. */
  onProgress(records: number, bytes: number): void;
}

interface RangeTally {
  quarantined: number;
  dropped: number;
  /** As ascending stretches. */
  droppedOffsets: OffsetStretch[];
  /** Their checksum, also of those that are no longer listed. */
  droppedSum: number;
  maxTimestampMs: number;
}

/**
 * Reads the ranges of a task from the broker and writes them into data files, durable when it resolves. On any error
 * the files of this task are given up and deleted: nobody refers to them yet. Throws what the reader, the storage and
 * the writers throw, and FUNNEL_MISMATCH where the offsets do not add up.
 */
export async function runBatchTask(task: BatchTask, host: TaskHost): Promise<BatchTaskResult> {
  const writers = new TaskWriters(task, host);
  resizeThreadPool(writers.limitBytes);
  try {
    await writers.open();
    const cursors = await readRanges({
      client: {
        bootstrapServers: task.reader.bootstrapServers,
        clientId: task.reader.clientId,
        kafka: task.reader.kafka,
        requestDeadlineMs: task.reader.requestDeadlineMs,
        token: host.token,
      },
      ranges: task.ranges,
      isolationLevel: task.reader.isolationLevel,
      budgetBytes: Math.floor(bufferBudget(task) * READ_SHARE),
      signal: host.signal,
      checkUtf8Values: task.topics.some((t) => t.checkUtf8Values),
      checkUtf8Keys: task.topics.some((t) => t.checkUtf8Keys),
      onRows: (cursor, columns) => writers.onRows(cursor, columns),
      afterPart: () => writers.settle(),
      onProgress: host.onProgress,
    });
    host.failpoints.hit('write');
    const files = await writers.close();
    host.failpoints.hit('after-write');
    return {
      files,
      ranges: cursors.map((cursor, i) =>
        rangeResult(task, cursor, task.ranges[i].from, writers.tallyOf(cursor)),
      ),
      wanted: writers.wanted(),
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
  return Math.max(task.budgetBytes / 2, task.budgetBytes - task.topics.length * TOPIC_OVERHEAD_BYTES);
}

/** The writers of one task: a data and a quarantine writer per topic, opened when first needed. */
class TaskWriters {
  private readonly task: BatchTask;
  private readonly host: TaskHost;
  private readonly naming: FileNaming;
  private readonly topics: Map<string, TopicTargets>;
  private readonly data = new Map<string, TableWriter>();
  private readonly quarantine = new Map<string, QuarantineWriter>();
  private readonly tallies = new Map<string, RangeTally>();
  private readonly block = new RowBlock();
  private readonly decoders = new Map<string, RowDecoders>();
  private readonly discoveries = new Map<string, Discovery>();
  /** Copies of records whose schemas are to be looked up first. */
  private deferred: { cursor: PartitionCursor; columns: RecordColumns } | undefined;
  readonly limitBytes: number;
  private readonly rowGroupBytes: number;
  /** Of the rows since the writers have settled. */
  private unsettledBytes = 0;

  constructor(task: BatchTask, host: TaskHost) {
    this.task = task;
    this.host = host;
    this.naming = new FileNaming(task.batchId, task.taskIndex, task.attempt, task.writerId);
    this.topics = new Map(task.topics.map((t) => [t.topic, t]));
    this.limitBytes = Math.floor(bufferBudget(task) * WRITE_SHARE);
    this.rowGroupBytes = Math.min(MAX_ROW_GROUP_BYTES, Math.floor(this.limitBytes / 2));
  }

  /** By range: two ranges of one partition may be read by one task. */
  tallyOf(at: { topic: string; partition: number; until: bigint }): RangeTally {
    const key = `${topicPartitionKey(at.topic, at.partition)}:${at.until}`;
    let tally = this.tallies.get(key);
    if (tally === undefined) {
      tally = {
        quarantined: 0,
        dropped: 0,
        droppedOffsets: [],
        droppedSum: 0,
        maxTimestampMs: Number.NEGATIVE_INFINITY,
      };
      this.tallies.set(key, tally);
    }
    return tally;
  }

  /** Makes the decoders of typed tables. */
  async open(): Promise<void> {
    for (const { topic, decode } of this.topics.values()) {
      if (decode === null) continue;
      this.decoders.set(topic, await RowDecoders.create(decode));
      if (!decode.discover) continue;
      const { Discovery } = await import('./discovery.ts');
      this.discoveries.set(topic, new Discovery(topic, decode));
    }
  }

  wanted(): WantedColumns[] {
    return [...this.discoveries.values()].flatMap((d) => d.wanted());
  }

  /** True where `settle` is due before more rows come. */
  onRows(cursor: PartitionCursor, columns: RecordColumns): boolean {
    this.host.failpoints.hit('read');
    if (this.decoders.get(cursor.topic)?.misses(columns) === true) {
      this.deferred = { cursor, columns: copyRecords(columns) };
      return true;
    }
    return this.takeRows(cursor, columns);
  }

  private takeRows(cursor: PartitionCursor, columns: RecordColumns): boolean {
    const targets = this.topics.get(cursor.topic)!;
    const tally = this.tallyOf(cursor);
    const { block } = this;
    const decoders = this.decoders.get(cursor.topic) ?? null;
    block.load(targets, cursor.partition, columns, decoders);
    if (decoders !== null) {
      this.discoveries.get(cursor.topic)?.look(decoders, columns.values, columns.keys);
      assertDecoded(targets, block);
    }
    if (block.maxTimestampMs > tally.maxTimestampMs) tally.maxTimestampMs = block.maxTimestampMs;
    let from = 0;
    for (const excluded of block.excluded) {
      if (excluded.row > from) this.dataWriter(targets).append(block, from, excluded.row);
      if (excluded.reason === null) {
        tally.dropped++;
        const offset = columns.offsets.getBigInt(excluded.row);
        addOffset(tally.droppedOffsets, offset);
        tally.droppedSum = addSums(tally.droppedSum, stretchSum(Number(offset), Number(offset) + 1));
      } else {
        this.quarantineWriter(targets).append(block, excluded);
        tally.quarantined++;
      }
      from = excluded.row + 1;
    }
    if (from < columns.length) this.dataWriter(targets).append(block, from, columns.length);
    this.unsettledBytes += columns.byteLength;
    return this.unsettledBytes > this.limitBytes * UNSETTLED_SHARE;
  }

  /** Takes the records that waited for their schemas, and shares the write limit among the open tables by need: the largest gives way first. */
  async settle(): Promise<void> {
    if (this.deferred !== undefined) {
      const { cursor, columns } = this.deferred;
      this.deferred = undefined;
      await this.decoders.get(cursor.topic)!.lookUp(columns, (id) => this.schema(id));
      this.takeRows(cursor, columns);
    }
    this.unsettledBytes = 0;
    const writers = [...this.quarantine.values(), ...this.data.values()];
    for (const writer of writers) await writer.settle(this.limitBytes);
    let total = this.bufferedBytes();
    while (total > this.limitBytes) {
      const largest = writers.reduce((a, b) => (b.bufferedBytes > a.bufferedBytes ? b : a));
      const before = largest.bufferedBytes;
      await largest.settle(Math.floor(before / 2));
      const after = this.bufferedBytes();
      if (after >= total) return;
      total = after;
    }
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

  async close(): Promise<WrittenFile[]> {
    const files: WrittenFile[] = [];
    for (const writer of [...this.quarantine.values(), ...this.data.values()]) {
      for (const file of await writer.close()) files.push({ table: writer.target.table, file });
    }
    return files;
  }

  async abort(): Promise<void> {
    for (const writer of [...this.quarantine.values(), ...this.data.values()]) await writer.abort();
  }

  private bufferedBytes(): number {
    let bytes = 0;
    for (const writer of this.quarantine.values()) bytes += writer.bufferedBytes;
    for (const writer of this.data.values()) bytes += writer.bufferedBytes;
    return bytes;
  }

  private dataWriter(targets: TopicTargets): TableWriter {
    let writer = this.data.get(targets.data.table);
    if (writer === undefined) {
      writer = new TableWriter(
        targets.data,
        this.host.io,
        this.naming,
        this.task.batchTimestampMs,
        this.rowGroupBytes,
      );
      this.data.set(targets.data.table, writer);
    }
    return writer;
  }

  private quarantineWriter(targets: TopicTargets): QuarantineWriter {
    let writer = this.quarantine.get(targets.quarantine.table);
    if (writer === undefined) {
      writer = new QuarantineWriter(targets.quarantine, this.host.io, this.naming, this.task, {
        rowGroupBytes: this.rowGroupBytes,
        keepBytes: this.task.quarantineKeepBytes,
      });
      this.quarantine.set(targets.quarantine.table, writer);
    }
    return writer;
  }
}

/** `mode: failfast`: the first record that cannot be decoded ends the run. */
function assertDecoded(targets: TopicTargets, block: RowBlock): void {
  const { value, key } = targets.decode!;
  if (value?.format.mode !== 'failfast' && key?.format.mode !== 'failfast') return;
  const fault = block.excluded.find((excluded) => isDecodeFault(excluded, targets));
  if (fault === undefined) return;
  const offset = block.columns.offsets.getBigInt(fault.row);
  throw new SluiceError(
    'DECODE_ERROR',
    `${block.topic}-${block.partition}, offset ${offset}: ${fault.reason} in ${fault.field}: ${fault.message}; nothing of the batch was committed`,
    { context: { topic: block.topic, partition: block.partition, offset, reason: fault.reason } },
  );
}

/** A fault in a part that is to fail fast. */
function isDecodeFault({ reason, part }: ExcludedRow, targets: TopicTargets): boolean {
  return reason !== null && part !== undefined && targets.decode?.[part]?.format.mode === 'failfast';
}

function rangeResult(task: BatchTask, cursor: PartitionCursor, from: bigint, tally: RangeTally): RangeResult {
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
    table: task.topics.find((t) => t.topic === cursor.topic)!.data.table,
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
  };
}
