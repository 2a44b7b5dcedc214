import { RecordFault } from './record-fault.ts';

/**
 * Zigzag varints of Kafka's record format (KIP-98): 7 bits per byte, low bits first, at most 5 bytes for a varint and 10
 * for a varlong. The record loop reads one- and two-byte forms itself and calls these for the rest.
 *
 * Results that do not fit one number are left in `varint`, so that nothing is allocated per record.
 */
export const varint = {
  /** Position after the last varint read. */
  end: 0,
  /** Low and high 32-bit words of the last varlong read. */
  low: 0,
  high: 0,
};

/** Reads a zigzag varint of 32 bits at `at`; none of it may lie at or beyond `limit`. Sets `varint.end`. Throws RecordFault. */
export function readVarint(bytes: Uint8Array, at: number, limit: number): number {
  const raw = readUnsignedVarint(bytes, at, limit);
  return (raw >>> 1) ^ -(raw & 1);
}

/** Reads an unsigned varint of 32 bits, returned as its int32 bit pattern. Sets `varint.end`. Throws RecordFault. */
export function readUnsignedVarint(bytes: Uint8Array, at: number, limit: number): number {
  let raw = 0;
  for (let shift = 0; shift <= 28; shift += 7) {
    if (at >= limit) throw cutOff(at);
    const byte = bytes[at++];
    raw |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift === 28 && byte > 0x0f) break;
      varint.end = at;
      return raw;
    }
  }
  throw new RecordFault(`a varint at byte ${at} is longer than 32 bits`);
}

/** Reads a zigzag varint of 64 bits into `varint.low` and `varint.high`. Sets `varint.end`. Throws RecordFault. */
export function readVarlong(bytes: Uint8Array, at: number, limit: number): void {
  let low = 0;
  let high = 0;
  for (let shift = 0; shift <= 63; shift += 7) {
    if (at >= limit) throw cutOff(at);
    const byte = bytes[at++];
    const bits = byte & 0x7f;
    if (shift < 28) low |= bits << shift;
    else if (shift === 28) {
      low |= bits << 28;
      high |= bits >>> 4;
    } else high |= bits << (shift - 32);
    if (byte < 0x80) {
      if (shift === 63 && byte > 1) break;
      const sign = -(low & 1);
      varint.low = ((low >>> 1) | (high << 31)) ^ sign;
      varint.high = (high >>> 1) ^ sign;
      varint.end = at;
      return;
    }
  }
  throw new RecordFault(`a varint at byte ${at} is longer than 64 bits`);
}

function cutOff(at: number): RecordFault {
  return new RecordFault(`a varint is cut off at byte ${at}`);
}
