/**
 * A reference encoder of Kafka's record format for tests: magic 0, 1 and 2, every codec, transactions, control batches,
 * headers. Simple and independent of `src/`: one object per record, BigInt varints, bitwise CRCs.
 */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { compressSync as snappyCompress } from 'snappy';

export type Bytes = string | Uint8Array | null | undefined;

export interface TestRecord {
  offset: bigint;
  /** Milliseconds; -1n (none) by default. */
  timestamp?: bigint;
  key?: Bytes;
  value?: Bytes;
  headers?: { key: string | Uint8Array; value: Bytes }[];
}

export type TestCodec =
  | 'none'
  | 'gzip'
  | 'snappy' // raw, as librdkafka writes it
  | 'snappy-xerial' // snappy-java's stream, as the Java producer writes it
  | 'lz4'
  | 'zstd'
  | 'zstd-frames' // two concatenated frames
  | { id: number; compress: (data: Uint8Array) => Uint8Array };

export interface BatchOptions {
  codec?: TestCodec;
  /** Default: the first record's offset. */
  baseOffset?: bigint;
  /** Default: the last record's offset. Greater where the last records were compacted away. */
  lastOffset?: bigint;
  /** Default: the first record's timestamp. */
  baseTimestamp?: bigint;
  /** Default: the greatest timestamp of the records. */
  maxTimestamp?: bigint;
  /** Sets attribute bit 3. */
  logAppendTime?: boolean;
  transactional?: boolean;
  control?: boolean;
  /** Attribute bit 6 (KIP-534): baseTimestamp is then the delete horizon. */
  deleteHorizon?: boolean;
  producerId?: bigint;
  producerEpoch?: number;
  baseSequence?: number;
  leaderEpoch?: number;
  /** Lies about the number of records. */
  recordsCount?: number;
  /** Changes the uncompressed records before they are compressed. */
  mangle?: (records: Uint8Array) => Uint8Array;
}

const I64 = 64;

export function toBytes(value: Bytes): Uint8Array | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? new TextEncoder().encode(value) : value;
}

/** Zigzag varint of any width up to 64 bits. */
export function encodeVarint(value: bigint | number): number[] {
  const v = BigInt.asIntN(I64, BigInt(value));
  return encodeUnsignedVarint(BigInt.asUintN(I64, (v << 1n) ^ (v >> 63n)));
}

export function encodeUnsignedVarint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

function varBytes(value: Uint8Array | null): Uint8Array[] {
  return value === null
    ? [Uint8Array.from(encodeVarint(-1))]
    : [Uint8Array.from(encodeVarint(value.length)), value];
}

/** One record of magic 2 with its length. */
export function encodeRecord(record: TestRecord, baseOffset: bigint, baseTimestamp: bigint): Uint8Array {
  const headers = record.headers ?? [];
  const body = Buffer.concat([
    Uint8Array.from([0]),
    Uint8Array.from(encodeVarint((record.timestamp ?? -1n) - baseTimestamp)),
    Uint8Array.from(encodeVarint(record.offset - baseOffset)),
    ...varBytes(toBytes(record.key)),
    ...varBytes(toBytes(record.value)),
    encodeHeaders(headers),
  ]);
  return Buffer.concat([Uint8Array.from(encodeVarint(body.length)), body]);
}

/** The raw header block of a record: count, then keys and values. */
export function encodeHeaders(headers: readonly { key: string | Uint8Array; value: Bytes }[]): Uint8Array {
  return Buffer.concat([
    Uint8Array.from(encodeVarint(headers.length)),
    ...headers.flatMap((h) => [...varBytes(toBytes(h.key)), ...varBytes(toBytes(h.value))]),
  ]);
}

/** A record batch of magic 2. */
export function encodeRecordBatch(records: readonly TestRecord[], options: BatchOptions = {}): Buffer {
  const baseOffset = options.baseOffset ?? records[0]?.offset ?? 0n;
  const lastOffset = options.lastOffset ?? records.at(-1)?.offset ?? baseOffset;
  const baseTimestamp = options.baseTimestamp ?? records[0]?.timestamp ?? -1n;
  const times = records.map((r) => r.timestamp ?? -1n);
  const maxTimestamp = options.maxTimestamp ?? times.reduce((a, b) => (b > a ? b : a), -1n);
  const codec = options.codec ?? 'none';
  const mangle = options.mangle ?? ((bytes: Uint8Array) => bytes);
  const section = compress(
    codec,
    mangle(Buffer.concat(records.map((r) => encodeRecord(r, baseOffset, baseTimestamp)))),
  );
  const attributes =
    codecId(codec) |
    (options.logAppendTime ? 8 : 0) |
    (options.transactional ? 16 : 0) |
    (options.control ? 32 : 0) |
    (options.deleteHorizon ? 64 : 0);
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(baseOffset, 0);
  header.writeInt32BE(49 + section.length, 8);
  header.writeInt32BE(options.leaderEpoch ?? 0, 12);
  header.writeInt8(2, 16);
  header.writeInt16BE(attributes, 21);
  header.writeInt32BE(Number(lastOffset - baseOffset), 23);
  header.writeBigInt64BE(BigInt.asIntN(I64, baseTimestamp), 27);
  header.writeBigInt64BE(BigInt.asIntN(I64, maxTimestamp), 35);
  header.writeBigInt64BE(options.producerId ?? -1n, 43);
  header.writeInt16BE(options.producerEpoch ?? -1, 51);
  header.writeInt32BE(options.baseSequence ?? -1, 53);
  header.writeInt32BE(options.recordsCount ?? records.length, 57);
  return fixCrc(Buffer.concat([header, section]));
}

/** The marker that ends a transaction. */
export function encodeControlBatch(
  type: 'abort' | 'commit',
  offset: bigint,
  producerId: bigint,
  options: BatchOptions = {},
): Buffer {
  const key = Uint8Array.from([0, 0, 0, type === 'commit' ? 1 : 0]);
  const value = Uint8Array.from([0, 0, 0, 0, 0, 0]); // version, coordinator epoch
  return encodeRecordBatch([{ offset, timestamp: 0n, key, value }], {
    transactional: true,
    control: true,
    producerId,
    producerEpoch: 0,
    ...options,
  });
}

/** Writes the CRC-32C that the bytes of a batch of magic 2 have now. Returns the same buffer. */
export function fixCrc(batch: Buffer): Buffer {
  batch.writeUInt32BE(crcOf(batch.subarray(21), 0x82f63b78), 17);
  return batch;
}

export interface MessageSetOptions {
  codec?: TestCodec;
  /** Magic 1: sets attribute bit 3 of the wrapper, or of every message where there is no wrapper. */
  logAppendTime?: boolean;
  /** Magic 1 with a codec: the wrapper's timestamp. */
  wrapperTimestamp?: bigint;
  /** Magic 1 with a codec: what the first inner offset is; 0 as a producer writes it, more after compaction. */
  firstInnerOffset?: bigint;
  mangle?: (inner: Uint8Array) => Uint8Array;
}

/** A message set of magic 0 or 1; with a codec it is one wrapper. Headers are left out: these formats have none. */
export function encodeMessageSet(
  magic: 0 | 1,
  records: readonly TestRecord[],
  options: MessageSetOptions = {},
): Buffer {
  const codec = options.codec ?? 'none';
  const timeBit = magic === 1 && options.logAppendTime ? 8 : 0;
  if (codec === 'none') {
    return Buffer.concat(
      records.map((r) =>
        encodeMessage(magic, r.offset, timeBit, r.timestamp ?? -1n, toBytes(r.key), toBytes(r.value)),
      ),
    );
  }
  const first = records[0].offset;
  const shift = magic === 1 ? first - (options.firstInnerOffset ?? 0n) : 0n;
  const inner = Buffer.concat(
    records.map((r) =>
      encodeMessage(magic, r.offset - shift, 0, r.timestamp ?? -1n, toBytes(r.key), toBytes(r.value)),
    ),
  );
  const value = compress(codec, (options.mangle ?? ((b: Uint8Array) => b))(inner));
  const times = records.map((r) => r.timestamp ?? -1n);
  const timestamp = options.wrapperTimestamp ?? times.reduce((a, b) => (b > a ? b : a), -1n);
  return encodeMessage(magic, records.at(-1)!.offset, codecId(codec) | timeBit, timestamp, null, value);
}

export function encodeMessage(
  magic: 0 | 1,
  offset: bigint,
  attributes: number,
  timestamp: bigint,
  key: Uint8Array | null,
  value: Uint8Array | null,
): Buffer {
  const time = Buffer.alloc(magic === 1 ? 8 : 0);
  if (magic === 1) time.writeBigInt64BE(timestamp);
  const covered = Buffer.concat([
    Uint8Array.from([magic, attributes]),
    time,
    ...int32Bytes(key),
    ...int32Bytes(value),
  ]);
  const head = Buffer.alloc(16);
  head.writeBigInt64BE(offset, 0);
  head.writeInt32BE(4 + covered.length, 8);
  head.writeUInt32BE(crcOf(covered, 0xedb88320), 12);
  return Buffer.concat([head, covered]);
}

/** Writes the CRC-32 that the bytes of a single message of magic 0 or 1 have now. Returns the same buffer. */
export function fixMessageCrc(entry: Buffer): Buffer {
  entry.writeUInt32BE(crcOf(entry.subarray(16), 0xedb88320), 12);
  return entry;
}

function int32Bytes(value: Uint8Array | null): Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeInt32BE(value === null ? -1 : value.length);
  return value === null ? [length] : [length, value];
}

export function codecId(codec: TestCodec): number {
  if (typeof codec === 'object') return codec.id;
  return { none: 0, gzip: 1, snappy: 2, 'snappy-xerial': 2, lz4: 3, zstd: 4, 'zstd-frames': 4 }[codec];
}

export function compress(codec: TestCodec, data: Uint8Array): Uint8Array {
  if (typeof codec === 'object') return codec.compress(data);
  switch (codec) {
    case 'none':
      return data;
    case 'gzip':
      return gzipSync(data);
    case 'snappy':
      return snappyCompress(data);
    case 'snappy-xerial':
      return xerial(data);
    case 'lz4':
      return compressFrameSync(Buffer.from(data));
    case 'zstd':
      return zstdCompressSync(data);
    case 'zstd-frames': {
      const half = data.length >> 1;
      return Buffer.concat([zstdCompressSync(data.subarray(0, half)), zstdCompressSync(data.subarray(half))]);
    }
  }
}

/** snappy-java's stream: a header, then chunks of at most `chunkBytes` of input. */
export function xerial(data: Uint8Array, chunkBytes = 32 * 1024): Buffer {
  const parts: Uint8Array[] = [Buffer.from('82534e41505059000000000100000001', 'hex')];
  for (let at = 0; at < data.length; at += chunkBytes) {
    const chunk = snappyCompress(data.subarray(at, at + chunkBytes));
    const length = Buffer.alloc(4);
    length.writeInt32BE(chunk.length);
    parts.push(length, chunk);
  }
  return Buffer.concat(parts);
}

/** A reflected CRC-32, by a table of the polynomial. */
export function crcOf(bytes: Uint8Array, polynomial: number): number {
  const table = crcTable(polynomial);
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

const tables = new Map<number, Uint32Array>();

function crcTable(polynomial: number): Uint32Array {
  let table = tables.get(polynomial);
  if (table === undefined) {
    table = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      let crc = i;
      for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
      table[i] = crc >>> 0;
    }
    tables.set(polynomial, table);
  }
  return table;
}
