import type { RecordColumns } from '../columns/record-columns.ts';
import type { Decompressor } from './codecs/decompressor.ts';
import { crc32Of } from './crc32c.ts';
import { type PartitionCursor, skipTo } from './partition-cursor.ts';
import { orderFault, RecordFault } from './record-fault.ts';

/** Bytes of an entry before its message: offset and size. */
const ENTRY_OVERHEAD = 12;
/** Bytes of a message with null key and null value, by magic: CRC, magic, attributes, [timestamp,] two lengths. */
const MESSAGE_OVERHEAD = [14, 22];
const CODEC_MASK = 7;
const LOG_APPEND_TIME = 8;

/** One message: where its fields lie. Reused. */
interface Message {
  magic: number;
  codec: number;
  logAppendTime: boolean;
  /** Position of the 8 bytes of its timestamp; -1 in magic 0. */
  timestampAt: number;
  keyAt: number;
  /** -1: null. */
  keyLength: number;
  valueAt: number;
  valueLength: number;
}

/**
 * Decodes messages of magic 0 and 1, which brokers still return from old segments (KIP-31, KIP-32). A compressed wrapper
 * holds a message set in its value; the inner offsets are absolute in magic 0, and relative in magic 1, where the wrapper
 * bears the offset of the last inner message.
 *
 * Not a hot path: offsets are BigInts here.
 */
export class LegacyMessageSet {
  private readonly decompressor: Decompressor;
  private readonly message: Message = newMessage();
  private readonly inner: Message = newMessage();

  constructor(decompressor: Decompressor) {
    this.decompressor = decompressor;
  }

  /**
   * Decodes the whole entry at [at, at + size) into the columns, all or nothing, moves the cursor past it and returns its
   * last offset. Throws RecordFault.
   *
   * @param previousOffset last offset of the entry before in the same record set, -1 where there is none
   * @param sealed write length prefixes, or leave them zero
   */
  decode(
    bytes: Uint8Array,
    view: DataView,
    at: number,
    size: number,
    cursor: PartitionCursor,
    previousOffset: bigint,
    columns: RecordColumns,
    sealed: boolean,
  ): bigint {
    const { message } = this;
    const offset = view.getBigInt64(at);
    if (offset < 0n) throw new RecordFault(`negative offset ${offset}`);
    const rowsBefore = cursor.rows;
    readMessage(bytes, view, at + ENTRY_OVERHEAD, at + size, message);
    if (message.codec !== 0) {
      this.decodeWrapper(bytes, view, offset, cursor, previousOffset, columns, sealed);
    } else {
      if (offset <= previousOffset) throw orderFault(offset, previousOffset);
      if (offset >= cursor.position && offset < cursor.until) {
        appendMessage(bytes, view, message, undefined, view, offset, columns, sealed);
      }
      passMessage(cursor, offset);
    }
    if (cursor.rows > rowsBefore) cursor.bytes += size;
    return offset;
  }

  private decodeWrapper(
    bytes: Uint8Array,
    view: DataView,
    offset: bigint,
    cursor: PartitionCursor,
    previousOffset: bigint,
    columns: RecordColumns,
    sealed: boolean,
  ): void {
    const { message: wrapper, inner } = this;
    if (wrapper.valueLength < 0) throw new RecordFault('a compressed message without a value');
    const set = this.decompressor.run(
      wrapper.codec,
      bytes,
      view,
      wrapper.valueAt,
      wrapper.valueAt + wrapper.valueLength,
    );
    // Every inner message is proven, and the last offset found, before the first is appended.
    const lastInner = walk(set.bytes, set.view, set.start, set.end, wrapper.magic, inner);
    const base = wrapper.magic === 1 ? offset - lastInner : 0n;
    if (lastInner > offset)
      throw new RecordFault(`the inner offsets end at ${lastInner}, beyond the wrapper's ${offset}`);
    const first = base + set.view.getBigInt64(set.start);
    if (first <= previousOffset) throw orderFault(first, previousOffset);
    for (let at = set.start; at < set.end; ) {
      const end = at + ENTRY_OVERHEAD + set.view.getInt32(at + 8);
      const innerOffset = base + set.view.getBigInt64(at);
      if (innerOffset >= cursor.position && innerOffset < cursor.until) {
        readMessage(set.bytes, set.view, at + ENTRY_OVERHEAD, end, inner);
        appendMessage(set.bytes, set.view, inner, wrapper, view, innerOffset, columns, sealed);
      }
      passMessage(cursor, innerOffset);
      at = end;
    }
  }
}

/** Moves the cursor past the message at `offset`, and counts it where it is wanted. */
function passMessage(cursor: PartitionCursor, offset: bigint): void {
  if (offset < cursor.position) return;
  skipTo(cursor, offset);
  if (offset >= cursor.until) return;
  cursor.rows++;
  cursor.position = offset + 1n;
}

/** Proves an inner message set and returns its last offset. Throws RecordFault. */
function walk(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  magic: number,
  message: Message,
): bigint {
  let last = -1n;
  let at = start;
  while (at < end) {
    if (end - at < ENTRY_OVERHEAD) throw new RecordFault('an inner message set is cut off');
    const size = view.getInt32(at + 8);
    if (size < MESSAGE_OVERHEAD[0] || size > end - at - ENTRY_OVERHEAD) {
      throw new RecordFault(
        `an inner message says it is ${size} bytes long, ${end - at - ENTRY_OVERHEAD} are left`,
      );
    }
    const offset = view.getBigInt64(at);
    if (offset <= last) throw orderFault(offset, last);
    last = offset;
    readMessage(bytes, view, at + ENTRY_OVERHEAD, at + ENTRY_OVERHEAD + size, message);
    if (message.magic !== magic)
      throw new RecordFault(`an inner message of magic ${message.magic} in a wrapper of ${magic}`);
    if (message.codec !== 0) throw new RecordFault('an inner message is compressed again');
    at += ENTRY_OVERHEAD + size;
  }
  if (last < 0n) throw new RecordFault('a compressed message holds no message');
  return last;
}

/** Reads and proves the message at [at, end): CRC-32 and field bounds. Throws RecordFault. */
function readMessage(bytes: Uint8Array, view: DataView, at: number, end: number, message: Message): void {
  const magic = bytes[at + 4];
  if (magic > 1) throw new RecordFault(`magic ${magic} inside a message set of magic 0 or 1`);
  if (end - at < MESSAGE_OVERHEAD[magic]) {
    throw new RecordFault(`a message of ${end - at} bytes is shorter than any of magic ${magic}`);
  }
  const stored = view.getUint32(at);
  const computed = crc32Of(bytes, at + 4, end);
  if (stored !== computed) {
    throw new RecordFault(
      `CRC-32 mismatch: the message says 0x${stored.toString(16)}, its bytes give 0x${computed.toString(16)}`,
    );
  }
  const attributes = bytes[at + 5];
  message.magic = magic;
  message.codec = attributes & CODEC_MASK;
  message.logAppendTime = magic === 1 && (attributes & LOG_APPEND_TIME) !== 0;
  message.timestampAt = magic === 1 ? at + 6 : -1;
  const keyLengthAt = at + (magic === 1 ? 14 : 6);
  message.keyAt = keyLengthAt + 4;
  message.keyLength = readLength(view, keyLengthAt, end - 4, 'key');
  const valueLengthAt = message.keyAt + Math.max(message.keyLength, 0);
  message.valueAt = valueLengthAt + 4;
  message.valueLength = readLength(view, valueLengthAt, end, 'value');
  const rest = end - message.valueAt - Math.max(message.valueLength, 0);
  if (rest !== 0) throw new RecordFault(`${rest} bytes are left after the value of a message`);
}

function readLength(view: DataView, at: number, limit: number, field: string): number {
  const length = view.getInt32(at);
  if (length < -1 || length > limit - at - 4) {
    throw new RecordFault(
      `the ${field} of a message says it is ${length} bytes long, beyond the message or negative`,
    );
  }
  return length;
}

/**
 * Appends a message.
 *
 * @param wrapper the message that holds it; its timestamp counts where it has LogAppendTime
 * @param wrapperView the view that `wrapper` was read from
 */
function appendMessage(
  bytes: Uint8Array,
  view: DataView,
  message: Message,
  wrapper: Message | undefined,
  wrapperView: DataView,
  offset: bigint,
  columns: RecordColumns,
  sealed: boolean,
): void {
  columns.offsets.appendBigInt(offset);
  const stamped = wrapper?.logAppendTime === true ? wrapper : message;
  columns.timestampTypes.append(stamped.logAppendTime ? 1 : 0);
  const timestamp =
    stamped.timestampAt < 0
      ? -1n
      : (stamped === message ? view : wrapperView).getBigInt64(stamped.timestampAt);
  if (timestamp === -1n) columns.timestampsMs.appendNull();
  else columns.timestampsMs.appendBigInt(timestamp);
  if (message.keyLength < 0) columns.keys.appendNull();
  else columns.keys.appendFrom(bytes, message.keyAt, message.keyLength, sealed);
  if (message.valueLength < 0) columns.values.appendNull();
  else columns.values.appendFrom(bytes, message.valueAt, message.valueLength, sealed);
  columns.headers.appendNull();
}

function newMessage(): Message {
  return {
    magic: 0,
    codec: 0,
    logAppendTime: false,
    timestampAt: -1,
    keyAt: 0,
    keyLength: -1,
    valueAt: 0,
    valueLength: -1,
  };
}
