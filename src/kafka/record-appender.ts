import type { BytesColumn } from '../columns/bytes-column.ts';
import type { RecordColumns } from '../columns/record-columns.ts';
import { deltaFault, lengthFault, type RecordBatch, restFault } from './record-batch.ts';
import { RecordFault } from './record-fault.ts';
import { readUnsignedVarint, readVarint, readVarlong, varint } from './varint.ts';

/** Values up to this long are moved by a loop of 8-byte words, longer ones by copyWithin (measured on Node 24: even at about 120). */
const WORD_COPY_MAX = 112;
/** Room that the 8-byte loop may write beyond a value. */
const SLACK = 16;

/**
 * Appends the records of [start, end), uncompressed records of a batch of magic 2, whose offsets the batch's window wants.
 * All or nothing: when it throws RecordFault the columns are as before. Returns the number of rows appended.
 *
 * The records are copied whole behind the last value and the values then moved down in place, over the fields between
 * them: a record has at least 7 bytes besides its value, a length prefix 4, so that a write never reaches what is still
 * to be read. Nothing is allocated per record. One long function on purpose: its state lives in some thirty locals, and
 * handing them from function to function costs more than the work (about 90 ns per record of 250 bytes, CRC included).
 *
 * @param view a view of exactly the bytes of `bytes`
 * @param sealed write length prefixes; otherwise they are left zero for the check of UTF-8, and `seal` writes them
 * @param holes takes pairs of deltas [from, until) of the window that no record has; null when nobody wants them
 */
export function appendRecords(
  batch: RecordBatch,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  columns: RecordColumns,
  sealed: boolean,
  holes: number[] | null,
): number {
  const count = batch.recordsCount;
  batch.checkCount(end - start);
  columns.reserveRows(count);
  const { offsets, timestampsMs, keys, values, headers } = columns;
  values.reserve(0, end - start + SLACK);
  const valueData = values.data;
  const valueView = values.view;
  const valueStarts = values.starts;
  let valueEnd = values.end;
  const shift = valueEnd - start;
  valueData.set(bytes.subarray(start, end), valueEnd);

  const keyStarts = keys.starts;
  let keyData = keys.data;
  let keyView = keys.view;
  let keyEnd = keys.end;
  let keyNulls = 0;
  let valueNulls = 0;
  const headerStarts = headers.starts;
  let headerEnd = headers.end;
  let headerNulls = 0;

  const offsetWords = offsets.words;
  const timeWords = timestampsMs.words;
  const timeNulls = timestampsMs.nulls;
  let timeNullCount = 0;
  const { baseOffsetLow, baseOffsetHigh, baseTimestampLow, baseTimestampHigh, logAppendTime } = batch;
  const { fromDelta, untilDelta, lastOffsetDelta } = batch;
  const sealMask = sealed ? -1 : 0;

  const firstRow = columns.length;
  let row = firstRow;
  let at = start;
  let expected = 0;
  let done = false;
  try {
    for (let i = 0; i < count; i++) {
      // length, then one byte of attributes that nothing uses
      let raw = bytes[at];
      if (raw < 0x80) at++;
      else {
        const second = bytes[at + 1];
        if (second < 0x80) {
          raw = (raw & 0x7f) | (second << 7);
          at += 2;
        } else {
          raw = readUnsignedVarint(bytes, at, end);
          at = varint.end;
        }
      }
      const length = (raw >>> 1) ^ -(raw & 1);
      const recordEnd = at + length;
      if (length < 6 || recordEnd > end) throw lengthFault(i, length, end - at);
      at++;

      // timestamp delta
      let timeLow: number;
      let timeHigh: number;
      raw = bytes[at];
      if (raw < 0x80) {
        timeLow = (raw >>> 1) ^ -(raw & 1);
        timeHigh = timeLow >> 31;
        at++;
      } else {
        const second = bytes[at + 1];
        if (second < 0x80) {
          raw = (raw & 0x7f) | (second << 7);
          timeLow = (raw >>> 1) ^ -(raw & 1);
          timeHigh = timeLow >> 31;
          at += 2;
        } else {
          readVarlong(bytes, at, recordEnd);
          timeLow = varint.low;
          timeHigh = varint.high;
          at = varint.end;
        }
      }

      // offset delta
      raw = bytes[at];
      if (raw < 0x80) at++;
      else {
        const second = bytes[at + 1];
        if (second < 0x80) {
          raw = (raw & 0x7f) | (second << 7);
          at += 2;
        } else {
          raw = readUnsignedVarint(bytes, at, recordEnd);
          at = varint.end;
        }
      }
      const delta = (raw >>> 1) ^ -(raw & 1);
      if (delta !== expected) {
        if (delta < expected || delta > lastOffsetDelta) throw deltaFault(i, delta, expected, batch);
        if (holes !== null) addHole(holes, expected, delta, batch);
      }
      expected = delta + 1;

      // key
      raw = bytes[at];
      if (raw < 0x80) at++;
      else {
        const second = bytes[at + 1];
        if (second < 0x80) {
          raw = (raw & 0x7f) | (second << 7);
          at += 2;
        } else {
          raw = readUnsignedVarint(bytes, at, recordEnd);
          at = varint.end;
        }
      }
      const keyLength = (raw >>> 1) ^ -(raw & 1);
      const keyAt = at;
      if (keyLength > 0) at += keyLength;
      if (keyLength < -1 || at > recordEnd) throw fieldFault(i, 'key', keyLength);

      // value
      raw = bytes[at];
      if (raw < 0x80) at++;
      else {
        const second = bytes[at + 1];
        if (second < 0x80) {
          raw = (raw & 0x7f) | (second << 7);
          at += 2;
        } else {
          raw = readUnsignedVarint(bytes, at, recordEnd);
          at = varint.end;
        }
      }
      const valueLength = (raw >>> 1) ^ -(raw & 1);
      const valueAt = at;
      if (valueLength > 0) at += valueLength;
      if (valueLength < -1 || at >= recordEnd) throw fieldFault(i, 'value', valueLength);

      // headers
      const headersAt = at;
      let headerCount = 0;
      if (bytes[at] === 0) at++;
      else {
        headerCount = readVarint(bytes, at, recordEnd);
        at = skipHeaders(bytes, varint.end, recordEnd, headerCount, i);
      }
      if (at !== recordEnd) {
        throw new RecordFault(
          `record ${i} is ${length} bytes long, its fields take ${length + at - recordEnd}`,
        );
      }
      if (delta < fromDelta || delta >= untilDelta) continue;

      // offset and timestamp: 64-bit sums of words, with carry
      const word = row * 2;
      const offsetLow = (baseOffsetLow + delta) | 0;
      offsetWords[word] = offsetLow;
      offsetWords[word + 1] = baseOffsetHigh + (offsetLow >>> 0 < delta ? 1 : 0);
      if (!logAppendTime) {
        const low = (baseTimestampLow + timeLow) | 0;
        const high = (baseTimestampHigh + timeHigh + (low >>> 0 < timeLow >>> 0 ? 1 : 0)) | 0;
        timeWords[word] = low;
        timeWords[word + 1] = high;
        if ((low & high) === -1) {
          timeNulls[row] = 1;
          timeNullCount++;
        }
      }

      if (valueLength >= 0) {
        valueView.setInt32(valueEnd, valueLength & sealMask, true);
        valueEnd += 4;
        let from = valueAt + shift;
        if (valueLength <= WORD_COPY_MAX) {
          for (let to = valueEnd; to < valueEnd + valueLength; to += 8, from += 8) {
            valueView.setBigInt64(to, valueView.getBigInt64(from, true), true);
          }
        } else {
          valueData.copyWithin(valueEnd, from, from + valueLength);
        }
        valueEnd += valueLength;
      } else valueNulls++;

      if (keyLength >= 0) {
        if (keyEnd + 4 + keyLength + SLACK > keyData.length) {
          keys.growData(keyEnd, keyEnd + 4 + keyLength + SLACK);
          keyData = keys.data;
          keyView = keys.view;
        }
        keyView.setInt32(keyEnd, keyLength & sealMask, true);
        keyEnd += 4;
        if (keyLength <= WORD_COPY_MAX && keyAt + keyLength + 8 <= bytes.length) {
          for (let k = 0; k < keyLength; k += 8) {
            keyView.setBigInt64(keyEnd + k, view.getBigInt64(keyAt + k, true), true);
          }
        } else copyBytes(bytes, keyAt, keyLength, keyData, keyEnd);
        keyEnd += keyLength;
      } else keyNulls++;

      if (headerCount > 0) headerEnd = appendHeaders(headers, headerEnd, bytes, headersAt, recordEnd);
      else headerNulls++;

      row++;
      valueStarts[row] = valueEnd;
      keyStarts[row] = keyEnd;
      headerStarts[row] = headerEnd;
    }
    if (at !== end) throw restFault(end - at);
    done = true;
  } finally {
    if (!done && timeNullCount > 0) timeNulls.fill(0, firstRow, row + 1);
  }
  if (holes !== null && expected <= lastOffsetDelta) addHole(holes, expected, lastOffsetDelta + 1, batch);

  const rows = row - firstRow;
  offsets.length = row;
  timestampsMs.length = row;
  timestampsMs.nullCount += timeNullCount;
  if (logAppendTime) fillTimestamps(columns, firstRow, batch);
  columns.timestampTypes.appendRepeated(logAppendTime ? 1 : 0, rows);
  values.length = row;
  values.nullCount += valueNulls;
  keys.length = row;
  keys.nullCount += keyNulls;
  headers.length = row;
  headers.nullCount += headerNulls;
  return rows;
}

/** LogAppendTime: every record's time is the batch's maxTimestamp (case C15). */
function fillTimestamps(columns: RecordColumns, firstRow: number, batch: RecordBatch): void {
  const { words, nulls, length } = columns.timestampsMs;
  const { maxTimestampLow: low, maxTimestampHigh: high } = batch;
  for (let row = firstRow; row < length; row++) {
    words[row * 2] = low;
    words[row * 2 + 1] = high;
  }
  if ((low & high) === -1) {
    nulls.fill(1, firstRow, length);
    columns.timestampsMs.nullCount += length - firstRow;
  }
}

function addHole(holes: number[], from: number, until: number, batch: RecordBatch): void {
  const a = Math.max(from, batch.fromDelta);
  const b = Math.min(until, batch.untilDelta);
  if (a < b) holes.push(a, b);
}

function copyBytes(from: Uint8Array, at: number, length: number, to: Uint8Array, toAt: number): void {
  if (length > WORD_COPY_MAX) to.set(from.subarray(at, at + length), toAt);
  else for (let i = 0; i < length; i++) to[toAt + i] = from[at + i];
}

/** Appends a raw header block and returns the new end; its prefix is always written, headers are not text. */
function appendHeaders(
  headers: BytesColumn,
  end: number,
  bytes: Uint8Array,
  at: number,
  until: number,
): number {
  const length = until - at;
  if (end + 4 + length > headers.data.length) headers.growData(end, end + 4 + length);
  headers.view.setUint32(end, length, true);
  copyBytes(bytes, at, length, headers.data, end + 4);
  return end + 4 + length;
}

/** Proves that `count` headers lie within [at, recordEnd) and returns their end. Throws RecordFault. */
function skipHeaders(bytes: Uint8Array, at: number, recordEnd: number, count: number, index: number): number {
  if (count < 0 || count * 2 > recordEnd - at)
    throw new RecordFault(`record ${index} says it has ${count} headers`);
  let end = at;
  for (let i = 0; i < count; i++) {
    const keyLength = readVarint(bytes, end, recordEnd);
    end = varint.end + keyLength;
    if (keyLength < 0 || end > recordEnd) throw fieldFault(index, `key of header ${i}`, keyLength);
    const valueLength = readVarint(bytes, end, recordEnd);
    end = varint.end + Math.max(valueLength, 0);
    if (valueLength < -1 || end > recordEnd) throw fieldFault(index, `value of header ${i}`, valueLength);
  }
  return end;
}

function fieldFault(index: number, field: string, length: number): RecordFault {
  return new RecordFault(
    `record ${index}: the ${field} says it is ${length} bytes long, beyond the record or negative`,
  );
}
