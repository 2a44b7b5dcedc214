import { gunzipSync } from 'node:zlib';
import { memoryFault, RecordFault } from '../record-fault.ts';
import { runZlib } from './zlib-output.ts';

/** Header and trailer of the least gzip member. */
const MIN_MEMBER_BYTES = 18;
/** Deflate makes at most 1032 bytes out of one. */
const MAX_EXPANSION = 1032;

/** Uncompresses gzip members (RFC 1952) at bytes[start, end). Throws RecordFault. */
export function gunzip(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  maxBytes: number,
): Uint8Array {
  if (end - start < MIN_MEMBER_BYTES) throw new RecordFault('gzip: the data are cut off');
  // The last four bytes are the size of the last member: nearly always of all.
  const size = view.getUint32(end - 4, true);
  if (size > (end - start) * MAX_EXPANSION) {
    throw new RecordFault(`gzip: ${end - start} bytes cannot hold the ${size} that they say`);
  }
  if (size > maxBytes) throw memoryFault(maxBytes, size);
  return runZlib('gzip', gunzipSync, bytes.subarray(start, end), size, maxBytes);
}
