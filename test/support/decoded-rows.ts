import type { RecordColumns } from '../../src/columns/record-columns.ts';
import type { OffsetRange } from '../../src/core/offset-range.ts';
import type { AbortedTransaction } from '../../src/kafka/aborted-transactions.ts';
import {
  type DecodeResult,
  openCursor,
  type PartitionCursor,
  RecordSetDecoder,
  type RecordSetDecoderOptions,
} from '../../src/kafka/record-set-decoder.ts';

/** A row as the columns hold it; bytes as hex, so that rows can be compared. */
export interface DecodedRow {
  offset: bigint;
  timestamp: bigint | null;
  timestampType: number;
  key: string | null;
  value: string | null;
  headers: string | null;
}

export function rowsOf(columns: RecordColumns): DecodedRow[] {
  const rows: DecodedRow[] = [];
  for (let i = 0; i < columns.length; i++) {
    rows.push({
      offset: columns.offsets.getBigInt(i),
      timestamp: columns.timestampsMs.isNull(i) ? null : columns.timestampsMs.getBigInt(i),
      timestampType: columns.timestampTypes.values[i],
      key: hexOf(columns.keys.get(i)),
      value: hexOf(columns.values.get(i)),
      headers: hexOf(columns.headers.get(i)),
    });
  }
  return rows;
}

export function hexOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('hex');
}

export const textHex = (text: string): string => Buffer.from(text).toString('hex');

/** What is wrong with the columns as a whole: lengths, prefixes, order. Empty when all is well. */
export function faultsOf(columns: RecordColumns): string[] {
  const faults: string[] = [];
  const { length } = columns;
  for (const name of ['offsets', 'timestampsMs', 'timestampTypes', 'keys', 'values', 'headers'] as const) {
    if (columns[name].length !== length) faults.push(`${name} has ${columns[name].length} rows of ${length}`);
  }
  for (const name of ['keys', 'values', 'headers'] as const) {
    const { data, starts, nullCount } = columns[name];
    const view = Buffer.from(data.buffer, data.byteOffset, data.length);
    let nulls = 0;
    for (let i = 0; i < length; i++) {
      if (starts[i] === starts[i + 1]) nulls++;
      else if (view.readUInt32LE(starts[i]) !== starts[i + 1] - starts[i] - 4)
        faults.push(`${name}[${i}]: prefix`);
    }
    if (nulls !== nullCount) faults.push(`${name} counts ${nullCount} nulls of ${nulls}`);
  }
  for (let i = 1; i < length; i++) {
    if (columns.offsets.getBigInt(i) <= columns.offsets.getBigInt(i - 1))
      faults.push(`offset of row ${i} does not rise`);
  }
  return faults;
}

export const DECODER_OPTIONS: RecordSetDecoderOptions = {
  readCommitted: true,
  maxBatchBytes: 16 * 1024 * 1024,
  emitBytes: 1024 * 1024,
};

export interface DecodedSet {
  rows: DecodedRow[];
  cursor: PartitionCursor;
  result: DecodeResult | undefined;
  error: unknown;
  faults: string[];
}

/** Decodes one record set from `range.from`; an error is returned beside the rows that came before it. */
export function decodeSet(
  set: Uint8Array,
  range: Partial<OffsetRange> = {},
  options: Partial<RecordSetDecoderOptions> = {},
  aborted: readonly AbortedTransaction[] = [],
): DecodedSet {
  const cursor = openCursor({ topic: 'orders', partition: 3, from: 0n, until: 1_000_000n, ...range });
  const decoder = new RecordSetDecoder({ ...DECODER_OPTIONS, ...options });
  const decoded: DecodedSet = { rows: [], cursor, result: undefined, error: undefined, faults: [] };
  // The set stands inside a larger frame, as in a response.
  const frame = Buffer.concat([Buffer.alloc(5, 0xee), set, Buffer.alloc(3, 0xee)]);
  try {
    decoded.result = decoder.decode(frame, 5, 5 + set.length, cursor, aborted, (_cursor, columns) => {
      decoded.faults.push(...faultsOf(columns));
      decoded.rows.push(...rowsOf(columns));
    });
  } catch (error) {
    decoded.error = error;
  }
  return decoded;
}
