import { RecordColumns } from '../columns/record-columns.ts';
import { type ErrorCode, messageOf, SluiceError } from '../errors.ts';
import type { AbortedTransaction } from './aborted-transactions.ts';
import { Decompressor } from './codecs/decompressor.ts';
import { LegacyMessageSet } from './legacy-message-set.ts';
import { addGap, type PartitionCursor, skipTo } from './partition-cursor.ts';
import { appendRecords } from './record-appender.ts';
import {
  countRecords,
  LOG_OVERHEAD,
  MAGIC_AT,
  RECORD_BATCH_OVERHEAD,
  RecordBatch,
  readControlType,
} from './record-batch.ts';
import { orderFault, RecordFault } from './record-fault.ts';

export type { AbortedTransaction } from './aborted-transactions.ts';
export { openCursor, type PartitionCursor } from './partition-cursor.ts';

export interface RecordSetDecoderOptions {
  /** Drop the records of aborted transactions (isolation level read_committed). */
  readonly readCommitted: boolean;
  /** Uncompressed bytes that one record batch may need; at most 2^30. */
  readonly maxBatchBytes: number;
  /** Rows are handed on when the columns hold about this many bytes, at most 2^30; always after whole batches. */
  readonly emitBytes: number;
  /** Fill `RecordColumns.invalidUtf8Values` / `invalidUtf8Keys`. Default false. */
  readonly checkUtf8Values?: boolean;
  readonly checkUtf8Keys?: boolean;
}

export interface DecodeResult {
  /** The cursor's position moved. */
  readonly progressed: boolean;
  /** When not even the first batch was whole: its full size on the wire. */
  readonly firstBatchBytesNeeded?: number;
  /** The receiver has enough for now: `resume` goes on here. */
  readonly pausedAt?: number;
}

/** Returns true where it wants no more rows for now; anything else says nothing. */
export type RowReceiver = (cursor: PartitionCursor, columns: RecordColumns) => unknown;

/** The least entry of any magic: a message of magic 0 with neither key nor value. */
const MIN_ENTRY_BYTES = 14;
/** Keeps every position in a column within 32 bits. */
const MAX_BYTES = 2 ** 30;
/** Column buffers up to this size are kept whatever `emitBytes` says. */
const MIN_KEPT_BYTES = 1024 * 1024;
const NO_TRANSACTIONS: readonly AbortedTransaction[] = [];

/**
 * Decodes record sets of Fetch responses into columns (spec 20, "Reading"; KIP-98 for magic 2, KIP-32 for magic 1).
 *
 * One decoder serves one cursor after another; all its buffers are reused, nothing is allocated per record of magic 2.
 */
export class RecordSetDecoder {
  private readonly options: RecordSetDecoderOptions;
  private readonly columns = new RecordColumns();
  private readonly batch = new RecordBatch();
  private readonly decompressor: Decompressor;
  private readonly legacy: LegacyMessageSet;
  private readonly holes: number[] = [];
  /** Of the entry before, in the record set at hand. */
  private lastOffset = -1n;

  constructor(options: RecordSetDecoderOptions) {
    this.options = {
      ...options,
      maxBatchBytes: Math.min(options.maxBatchBytes, MAX_BYTES),
      emitBytes: Math.min(options.emitBytes, MAX_BYTES),
    };
    this.decompressor = new Decompressor(this.options.maxBatchBytes);
    this.legacy = new LegacyMessageSet(this.decompressor);
  }

  /**
   * Decodes the record set bytes[start, end) of one partition of a Fetch response and advances the cursor past every
   * whole batch; a batch that reaches past `cursor.until` takes it to `until` exactly. A batch cut off at the end is left
   * for the next fetch.
   *
   * @param aborted the response's list for this partition, in any order; not used under read_uncommitted
   * @param onRows gets reused columns that are valid only during the call; called with at least one row. The cursor has
   *   then passed every row of the columns. When it returns true `decode` ends early, with `pausedAt`
   * @throws SluiceError COULD_NOT_READ (damaged), UNSUPPORTED_CODEC, MEMORY_LIMIT; the rows of the batches before have been
   *   handed on, and the cursor stands before the batch at fault
   */
  decode(
    bytes: Uint8Array,
    start: number,
    end: number,
    cursor: PartitionCursor,
    aborted: readonly AbortedTransaction[],
    onRows: RowReceiver,
  ): DecodeResult {
    this.columns.clear();
    cursor.abortedTransactions.begin(this.options.readCommitted ? aborted : NO_TRANSACTIONS);
    this.lastOffset = -1n;
    return this.resume(bytes, start, end, cursor, onRows);
  }

  /** Goes on with the same record set at `start`, where the call before has paused. */
  resume(
    bytes: Uint8Array,
    start: number,
    end: number,
    cursor: PartitionCursor,
    onRows: RowReceiver,
  ): DecodeResult {
    const before = cursor.position;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = start;
    while (cursor.position < cursor.until && end - at >= LOG_OVERHEAD) {
      const size = LOG_OVERHEAD + view.getInt32(at + 8);
      if (size >= LOG_OVERHEAD + MIN_ENTRY_BYTES && size > end - at) break;
      try {
        this.lastOffset = this.decodeEntry(bytes, view, at, size, cursor, this.lastOffset);
      } catch (fault) {
        this.emit(cursor, onRows);
        throw describe(fault, cursor, view.getBigInt64(at), this.options.maxBatchBytes);
      }
      at += size;
      if (this.columns.byteLength >= this.options.emitBytes && this.emit(cursor, onRows)) {
        return { progressed: cursor.position > before, pausedAt: at };
      }
    }
    this.emit(cursor, onRows);
    const progressed = cursor.position > before;
    if (at > start || start === end || cursor.position >= cursor.until) return { progressed };
    return { progressed, firstBatchBytesNeeded: neededBytes(view, start, end) };
  }

  /** Decodes one whole entry of any magic and returns its last offset. The cursor moves only when nothing is wrong. */
  private decodeEntry(
    bytes: Uint8Array,
    view: DataView,
    at: number,
    size: number,
    cursor: PartitionCursor,
    previousOffset: bigint,
  ): bigint {
    if (size < LOG_OVERHEAD + MIN_ENTRY_BYTES) {
      throw new RecordFault(`its length field says ${size - LOG_OVERHEAD}, less than any record batch has`);
    }
    const magic = bytes[at + MAGIC_AT];
    if (magic > 2) throw new RecordFault(`unknown magic ${magic}; 0, 1 and 2 are known`);
    if (magic < 2) {
      return this.legacy.decode(bytes, view, at, size, cursor, previousOffset, this.columns, this.sealed);
    }
    const { batch } = this;
    batch.read(bytes, view, at, size);
    if (batch.baseOffset <= previousOffset) throw orderFault(batch.baseOffset, previousOffset);
    const { position, until } = cursor;
    if (batch.baseOffset >= until) {
      skipTo(cursor, until);
      return batch.lastOffset;
    }
    batch.fromDelta = position > batch.baseOffset ? Number(position - batch.baseOffset) : 0;
    batch.untilDelta =
      until > batch.lastOffset ? batch.lastOffsetDelta + 1 : Number(until - batch.baseOffset);
    this.decodeBatch(bytes, view, at + RECORD_BATCH_OVERHEAD, at + size, cursor);
    if (batch.lastOffset >= position) {
      cursor.bytes += size;
      cursor.leaderEpoch = batch.leaderEpoch;
      cursor.leaderEpochEnd = batch.lastOffset + 1n;
    }
    return batch.lastOffset;
  }

  /** The batch in `this.batch`, whose records lie at [start, end) as they came over the wire. */
  private decodeBatch(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    cursor: PartitionCursor,
  ): void {
    const { batch } = this;
    const transactions = cursor.abortedTransactions;
    if (this.options.readCommitted) transactions.advanceTo(batch.lastOffset);
    if (batch.control) {
      this.passControl(bytes, view, start, end, cursor);
    } else if (batch.lastOffset < cursor.position) {
      // Older than the position: delivered before, or never wanted.
    } else if (
      batch.transactional &&
      this.options.readCommitted &&
      transactions.isAborted(batch.producerId)
    ) {
      this.passAborted(bytes, view, start, end, cursor);
    } else {
      const records = this.decompressor.run(batch.codec, bytes, view, start, end);
      this.holes.length = 0;
      const rows = appendRecords(
        batch,
        records.bytes,
        records.view,
        records.start,
        records.end,
        this.columns,
        this.sealed,
        this.holes,
      );
      passBatch(cursor, batch, rows, this.holes);
      cursor.rows += rows;
    }
  }

  /** Markers count also where they are older than the position: they end transactions of producers that write on. */
  private passControl(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    cursor: PartitionCursor,
  ): void {
    const { batch } = this;
    const records = this.decompressor.run(batch.codec, bytes, view, start, end);
    const counted = countRecords(batch, records.bytes, records.start, records.end);
    if (batch.recordsCount > 0 && readControlType(records.bytes, records.start, records.end) === 'abort') {
      cursor.abortedTransactions.passAbortMarker(batch.producerId, batch.lastOffset);
    }
    if (batch.lastOffset < cursor.position) return;
    passBatch(cursor, batch, counted, null);
    cursor.control += counted;
  }

  private passAborted(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    cursor: PartitionCursor,
  ): void {
    const { batch } = this;
    let counted = batch.recordsCount;
    const whole = batch.fromDelta === 0 && batch.untilDelta === batch.lastOffsetDelta + 1;
    if (!whole) {
      const records = this.decompressor.run(batch.codec, bytes, view, start, end);
      counted = countRecords(batch, records.bytes, records.start, records.end);
    }
    passBatch(cursor, batch, counted, null);
    cursor.aborted += counted;
  }

  private get sealed(): boolean {
    return !this.options.checkUtf8Values && !this.options.checkUtf8Keys;
  }

  /** Hands the rows of the columns on, if there are any, and empties the columns. True: the receiver has enough for now. */
  private emit(cursor: PartitionCursor, onRows: RowReceiver): boolean {
    const { columns, options } = this;
    if (columns.length === 0) return false;
    if (!this.sealed) {
      if (options.checkUtf8Values) columns.invalidUtf8Values = columns.values.invalidUtf8Rows(0);
      if (options.checkUtf8Keys) columns.invalidUtf8Keys = columns.keys.invalidUtf8Rows(0);
      columns.values.seal(0);
      columns.keys.seal(0);
    }
    const enough = onRows(cursor, columns) === true;
    columns.clear();
    columns.trim(Math.max(MIN_KEPT_BYTES, options.emitBytes * 2));
    return enough;
  }
}

/**
 * Moves the cursor past the batch, or to `until` inside it, and counts as holes the offsets in it that no record has.
 *
 * @param counted records of the window
 * @param holes pairs of deltas of the stretches without rows; null where the whole window delivered none
 */
function passBatch(
  cursor: PartitionCursor,
  batch: RecordBatch,
  counted: number,
  holes: readonly number[] | null,
): void {
  skipTo(cursor, batch.baseOffset);
  const { baseOffset } = batch;
  const end = baseOffset + BigInt(batch.untilDelta);
  if (holes === null) addGap(cursor, cursor.position, end);
  else {
    for (let i = 0; i < holes.length; i += 2) {
      addGap(cursor, baseOffset + BigInt(holes[i]), baseOffset + BigInt(holes[i + 1]));
    }
  }
  cursor.holes += batch.untilDelta - batch.fromDelta - counted;
  cursor.position = end;
}

/** The full size of the first entry, of which only [start, end) is there. */
function neededBytes(view: DataView, start: number, end: number): number {
  return end - start < LOG_OVERHEAD ? RECORD_BATCH_OVERHEAD : LOG_OVERHEAD + view.getInt32(start + 8);
}

/** The error of a batch that cannot be decoded, with its place. `offset` is what the batch's own header says. */
function describe(fault: unknown, cursor: PartitionCursor, offset: bigint, maxBytes: number): unknown {
  if (fault instanceof SluiceError) return fault;
  const { topic, partition, position } = cursor;
  const place = `${topic}-${partition} at offset ${offset} (reading on from ${position})`;
  const context = { topic, partition, offset, position };
  if (!(fault instanceof RecordFault)) {
    return new SluiceError(
      'INTERNAL',
      `the record batch of ${place} broke the decoder: ${messageOf(fault)}`,
      {
        context,
        cause: fault,
      },
    );
  }
  const [code, advice] = ADVICE[fault.kind];
  return new SluiceError(
    code,
    `the record batch of ${place} cannot be decoded: ${fault.message}. ${advice}`,
    {
      context: fault.kind === 'memory' ? { ...context, maxBytes } : context,
      cause: fault,
    },
  );
}

const ADVICE: Record<RecordFault['kind'], [ErrorCode, string]> = {
  damaged: [
    'COULD_NOT_READ',
    'Nothing was skipped; repair the log segment (a replica may be whole) and run again',
  ],
  codec: ['UNSUPPORTED_CODEC', 'Nothing was skipped; use a version that knows the codec'],
  memory: ['MEMORY_LIMIT', 'Raise `memory`, or lower the batch size of the producer'],
};
