import { LOG_OVERHEAD, MAGIC_AT } from './record-batch.ts';

/** Offset of `lastOffsetDelta` in a record batch of magic 2. */
const LAST_OFFSET_DELTA_AT = 23;
/** Least bytes behind the length field of an entry of any magic. */
const MIN_ENTRY_BYTES = 14;

/** What the headers of a record set tell without decoding it. */
export interface HeaderScan {
  /** The offset behind the last whole batch; null where no batch is whole, or a length is none that a batch can have. */
  next: bigint | null;
  /** First offset of the first batch; null where there is none. */
  firstOffset: bigint | null;
  /** Whole size of the first batch, which may be more than what is there; 0 where there is none. */
  firstBatchBytes: number;
}

/**
 * Walks the batch headers of the record set bytes[start, end). An old message (magic 0 or 1) that holds others inside
 * bears the offset of its last one, so that offset + 1 comes next there (KIP-32).
 */
export function scanHeaders(bytes: Buffer, start: number, end: number): HeaderScan {
  const scan: HeaderScan = { next: null, firstOffset: null, firstBatchBytes: 0 };
  for (let at = start; end - at >= LOG_OVERHEAD; ) {
    const size = LOG_OVERHEAD + bytes.readInt32BE(at + 8);
    const offset = bytes.readBigInt64BE(at);
    if (scan.firstOffset === null) {
      scan.firstOffset = offset;
      scan.firstBatchBytes = Math.max(size, 0);
    }
    if (size < LOG_OVERHEAD + MIN_ENTRY_BYTES) return { ...scan, next: null };
    if (size > end - at) break;
    const magic = bytes[at + MAGIC_AT];
    if (magic >= 2 && size < LAST_OFFSET_DELTA_AT + 4) return { ...scan, next: null };
    scan.next = offset + (magic >= 2 ? BigInt(bytes.readInt32BE(at + LAST_OFFSET_DELTA_AT)) : 0n) + 1n;
    at += size;
  }
  return scan;
}
