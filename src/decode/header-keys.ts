import { isUtf8 } from 'node:buffer';

/**
 * The index of the first header whose key is not UTF-8 in a raw block of Kafka headers (a varint count, then key and
 * value each with a varint length; KIP-82), or -1. The block is one that the decoder has proven to be well formed.
 * Nothing is allocated where the keys are ASCII.
 */
export function firstInvalidHeaderKey(bytes: Uint8Array, from: number): number {
  cursor.at = from;
  const count = varint(bytes);
  for (let i = 0; i < count; i++) {
    const keyLength = varint(bytes);
    const keyFrom = cursor.at;
    const keyUntil = keyFrom + keyLength;
    if (!isAscii(bytes, keyFrom, keyUntil) && !isUtf8(bytes.subarray(keyFrom, keyUntil))) return i;
    cursor.at = keyUntil;
    const valueLength = varint(bytes);
    if (valueLength > 0) cursor.at += valueLength;
  }
  return -1;
}

/** Where the next number is read; a cursor of the module, so that none is made per record. */
const cursor = { at: 0 };

/** A zigzag varint of 32 bits. */
function varint(bytes: Uint8Array): number {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[cursor.at++];
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return (value >>> 1) ^ -(value & 1);
}

function isAscii(bytes: Uint8Array, from: number, until: number): boolean {
  for (let at = from; at < until; at++) if (bytes[at] >= 0x80) return false;
  return true;
}
