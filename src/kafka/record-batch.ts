import { crc32cOf } from './crc32c.ts';
import { RecordFault } from './record-fault.ts';
import { readVarint, varint } from './varint.ts';

/** Bytes of a record batch of magic 2 before its records. */
export const RECORD_BATCH_OVERHEAD = 61;
/** Bytes before the length field counts: base offset and the length itself. The same in every magic. */
export const LOG_OVERHEAD = 12;
/** Position of the magic byte in an entry. The same in every magic. */
export const MAGIC_AT = 16;
/** The least record: six one-byte fields after its length. */
const MIN_RECORD_BYTES = 7;

export type ControlType = 'abort' | 'commit' | 'other';

/**
 * The header of a record batch of magic 2 (KIP-98), one object reused for every batch. 64-bit fields that each record
 * needs are held as 32-bit words.
 */
export class RecordBatch {
  baseOffset = 0n;
  baseOffsetLow = 0;
  baseOffsetHigh = 0;
  leaderEpoch = -1;
  codec = 0;
  logAppendTime = false;
  transactional = false;
  control = false;
  lastOffsetDelta = 0;
  lastOffset = 0n;
  baseTimestampLow = 0;
  baseTimestampHigh = 0;
  maxTimestampLow = 0;
  maxTimestampHigh = 0;
  producerId = -1n;
  recordsCount = 0;
  /** Records whose delta to the base offset is in [fromDelta, untilDelta) are wanted; set by the decoder. */
  fromDelta = 0;
  untilDelta = 0;

  /**
   * Reads the header of the whole batch that lies at [at, at + size) and proves its CRC-32C.
   * Throws RecordFault when it is damaged; the fields are then of no meaning.
   */
  read(bytes: Uint8Array, view: DataView, at: number, size: number): void {
    if (size < RECORD_BATCH_OVERHEAD) {
      throw new RecordFault(
        `a record batch of ${size} bytes is shorter than its header of ${RECORD_BATCH_OVERHEAD}`,
      );
    }
    const stored = view.getUint32(at + 17);
    const computed = crc32cOf(bytes, at + 21, at + size);
    if (stored !== computed) {
      throw new RecordFault(
        `CRC-32C mismatch: the batch says ${hex(stored)}, its bytes give ${hex(computed)}`,
      );
    }
    const attributes = view.getInt16(at + 21);
    this.codec = attributes & 7;
    this.logAppendTime = (attributes & 8) !== 0;
    this.transactional = (attributes & 16) !== 0;
    this.control = (attributes & 32) !== 0;
    this.baseOffset = view.getBigInt64(at);
    this.baseOffsetHigh = view.getInt32(at);
    this.baseOffsetLow = view.getInt32(at + 4);
    this.leaderEpoch = view.getInt32(at + 12);
    this.lastOffsetDelta = view.getInt32(at + 23);
    this.baseTimestampHigh = view.getInt32(at + 27);
    this.baseTimestampLow = view.getInt32(at + 31);
    this.maxTimestampHigh = view.getInt32(at + 35);
    this.maxTimestampLow = view.getInt32(at + 39);
    this.producerId = view.getBigInt64(at + 43);
    this.recordsCount = view.getInt32(at + 57);
    this.lastOffset = this.baseOffset + BigInt(this.lastOffsetDelta);
    this.checkFields();
  }

  private checkFields(): void {
    if (this.baseOffset < 0n) throw new RecordFault(`negative base offset ${this.baseOffset}`);
    if (this.lastOffsetDelta < 0) throw new RecordFault(`negative last offset delta ${this.lastOffsetDelta}`);
    if (this.lastOffset > 0x7fff_ffff_ffff_fffen) {
      throw new RecordFault(`its last offset ${this.lastOffset} is beyond 64 bits`);
    }
    if (this.recordsCount < 0 || this.recordsCount > this.lastOffsetDelta + 1) {
      throw new RecordFault(`${this.recordsCount} records do not fit ${this.lastOffsetDelta + 1} offsets`);
    }
  }

  /** Throws RecordFault where `byteLength` bytes of uncompressed records cannot hold the records that the header counts. */
  checkCount(byteLength: number): void {
    if (this.recordsCount * MIN_RECORD_BYTES > byteLength) {
      throw new RecordFault(`${this.recordsCount} records do not fit ${byteLength} bytes`);
    }
  }
}

/**
 * Walks the uncompressed records at [start, end) of a batch that delivers none (control, or aborted and cut by the range)
 * and counts those of the wanted window. Throws RecordFault.
 */
export function countRecords(batch: RecordBatch, bytes: Uint8Array, start: number, end: number): number {
  batch.checkCount(end - start);
  let at = start;
  let expected = 0;
  let wanted = 0;
  for (let i = 0; i < batch.recordsCount; i++) {
    const length = readVarint(bytes, at, end);
    const body = varint.end;
    const recordEnd = body + length;
    if (length < MIN_RECORD_BYTES - 1 || recordEnd > end) throw lengthFault(i, length, end - body);
    skipVarlong(bytes, body + 1, recordEnd);
    const delta = readVarint(bytes, varint.end, recordEnd);
    if (delta < expected || delta > batch.lastOffsetDelta) throw deltaFault(i, delta, expected, batch);
    expected = delta + 1;
    if (delta >= batch.fromDelta && delta < batch.untilDelta) wanted++;
    at = recordEnd;
  }
  if (at !== end) throw restFault(end - at);
  return wanted;
}

/** The type of the first record of a control batch: its key is a version and a type, 16 bits each. Throws RecordFault. */
export function readControlType(bytes: Uint8Array, start: number, end: number): ControlType {
  const length = readVarint(bytes, start, end);
  const recordEnd = varint.end + length;
  if (length < 0 || recordEnd > end) throw lengthFault(0, length, end - varint.end);
  skipVarlong(bytes, varint.end + 1, recordEnd);
  readVarint(bytes, varint.end, recordEnd);
  const keyLength = readVarint(bytes, varint.end, recordEnd);
  const key = varint.end;
  if (keyLength < 4 || key + keyLength > recordEnd) {
    throw new RecordFault(`a control record has a key of ${keyLength} bytes, not a version and a type`);
  }
  const type = (bytes[key + 2] << 8) | bytes[key + 3];
  return type === 0 ? 'abort' : type === 1 ? 'commit' : 'other';
}

function skipVarlong(bytes: Uint8Array, at: number, limit: number): void {
  for (let i = 0; i < 10; i++) {
    if (at + i >= limit) break;
    if (bytes[at + i] < 0x80) {
      varint.end = at + i + 1;
      return;
    }
  }
  throw new RecordFault(`a varint at byte ${at} is cut off or longer than 64 bits`);
}

export function lengthFault(index: number, length: number, rest: number): RecordFault {
  return new RecordFault(`record ${index} says it is ${length} bytes long, ${rest} are left`);
}

export function deltaFault(index: number, delta: number, expected: number, batch: RecordBatch): RecordFault {
  return new RecordFault(
    `record ${index} has offset delta ${delta}, expected one of ${expected} to ${batch.lastOffsetDelta}`,
  );
}

export function restFault(rest: number): RecordFault {
  return new RecordFault(`${rest} bytes are left after the last record`);
}

function hex(word: number): string {
  return `0x${word.toString(16).padStart(8, '0')}`;
}
