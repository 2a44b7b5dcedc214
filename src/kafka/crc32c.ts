import { crc32 } from 'node:zlib';
import { crc32c as nativeCrc32c } from '@node-rs/crc32';

/** CRC-32C (Castagnoli) of bytes [start, end): the checksum of record batches of magic 2. Unsigned. Copies nothing. */
export function crc32cOf(bytes: Uint8Array, start: number, end: number): number {
  return nativeCrc32c(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start));
}

/** CRC-32 (IEEE) of bytes [start, end): the checksum of messages of magic 0 and 1. Unsigned. Copies nothing. */
export function crc32Of(bytes: Uint8Array, start: number, end: number): number {
  return crc32(bytes.subarray(start, end));
}
