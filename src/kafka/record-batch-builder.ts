import { gzipSync, constants as zlib, zstdCompressSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { compressSync as snappyCompress } from 'snappy';
import { SluiceError } from '../errors.ts';
import { crc32cOf } from './crc32c.ts';
import { RECORD_BATCH_OVERHEAD } from './record-batch.ts';

export type KafkaCodec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

/** Codec ids in a batch's attributes. */
const CODEC_ID: Record<KafkaCodec, number> = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const TRANSACTIONAL = 0x10;
/** snappy-java cuts its stream into blocks of this size. */
const XERIAL_BLOCK_BYTES = 32_768;
const XERIAL_HEADER = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);

export type RecordBytes = Uint8Array | string | null;

export interface SealOptions {
  readonly codec: KafkaCodec;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly transactional: boolean;
}

/** Builds record batches of magic 2 (KIP-98) in one growing buffer; reused from batch to batch. */
export class RecordBatchBuilder {
  /** Records appended. */
  count = 0;
  private buffer: Buffer;
  private end = RECORD_BATCH_OVERHEAD;
  private baseTimestamp = 0;
  private maxTimestamp = 0;

  constructor(capacityBytes: number) {
    this.buffer = Buffer.allocUnsafeSlow(capacityBytes + RECORD_BATCH_OVERHEAD);
  }

  /** Size of the batch, uncompressed. */
  get bytes(): number {
    return this.end;
  }

  clear(): void {
    this.count = 0;
    this.end = RECORD_BATCH_OVERHEAD;
  }

  /** Appends a record; strings become UTF-8. `timestampMs` is a safe integer, -1 for none. */
  append(
    key: RecordBytes,
    value: RecordBytes,
    timestampMs: number,
    headers?: readonly (readonly [string, RecordBytes])[],
  ): void {
    if (this.count === 0) {
      this.baseTimestamp = timestampMs;
      this.maxTimestamp = timestampMs;
    } else if (timestampMs > this.maxTimestamp) this.maxTimestamp = timestampMs;
    const delta = timestampMs - this.baseTimestamp;
    const keyBytes = sizeOf(key);
    const valueBytes = sizeOf(value);
    let body = 1 + zigzagSize(delta) + zigzagSize(this.count);
    body += zigzagSize(keyBytes) + Math.max(keyBytes, 0) + zigzagSize(valueBytes) + Math.max(valueBytes, 0);
    body += zigzagSize(headers?.length ?? 0);
    for (const [name, bytes] of headers ?? []) {
      const nameBytes = sizeOf(name);
      const size = sizeOf(bytes);
      body += zigzagSize(nameBytes) + nameBytes + zigzagSize(size) + Math.max(size, 0);
    }
    this.reserve(body + 5);
    this.zigzag(body);
    this.buffer[this.end++] = 0;
    this.zigzag(delta);
    this.zigzag(this.count);
    this.field(key, keyBytes);
    this.field(value, valueBytes);
    this.zigzag(headers?.length ?? 0);
    for (const [name, bytes] of headers ?? []) {
      this.field(name, sizeOf(name));
      this.field(bytes, sizeOf(bytes));
    }
    this.count++;
  }

  /** The finished batch. Uncompressed it is a view of this builder's buffer, valid until `clear`. */
  seal(options: SealOptions): Buffer {
    if (this.count === 0)
      throw new SluiceError('INTERNAL', 'a record batch without records cannot be sealed');
    let batch = this.buffer.subarray(0, this.end);
    if (options.codec !== 'none') {
      const records = compress(options.codec, this.buffer.subarray(RECORD_BATCH_OVERHEAD, this.end));
      batch = Buffer.concat([this.buffer.subarray(0, RECORD_BATCH_OVERHEAD), records]);
    }
    batch.writeBigInt64BE(0n, 0);
    batch.writeInt32BE(batch.length - 12, 8);
    batch.writeInt32BE(-1, 12);
    batch[16] = 2;
    batch.writeInt16BE(CODEC_ID[options.codec] | (options.transactional ? TRANSACTIONAL : 0), 21);
    batch.writeInt32BE(this.count - 1, 23);
    batch.writeBigInt64BE(BigInt(this.baseTimestamp), 27);
    batch.writeBigInt64BE(BigInt(this.maxTimestamp), 35);
    batch.writeBigInt64BE(options.producerId, 43);
    batch.writeInt16BE(options.producerEpoch, 51);
    batch.writeInt32BE(options.baseSequence, 53);
    batch.writeInt32BE(this.count, 57);
    batch.writeUInt32BE(crc32cOf(batch, 21, batch.length), 17);
    return batch;
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.end + bytes, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.end);
    this.buffer = grown;
  }

  private field(bytes: RecordBytes, size: number): void {
    this.zigzag(size);
    if (bytes === null || size === 0) return;
    if (typeof bytes === 'string') this.buffer.write(bytes, this.end, size, 'utf8');
    else this.buffer.set(bytes, this.end);
    this.end += size;
  }

  /** A zigzag varint of a safe integer. */
  private zigzag(value: number): void {
    let rest = value >= 0 ? value * 2 : -value * 2 - 1;
    while (rest >= 128) {
      this.buffer[this.end++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.end++] = rest;
  }
}

/** Bytes of a field; -1 for null. */
function sizeOf(bytes: RecordBytes): number {
  if (bytes === null) return -1;
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
}

function zigzagSize(value: number): number {
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  let size = 1;
  while (rest >= 128) {
    rest = Math.floor(rest / 128);
    size++;
  }
  return size;
}

/** Compresses as Java's producer does: gzip, snappy in snappy-java's framing, lz4 frames, zstd. */
function compress(codec: Exclude<KafkaCodec, 'none'>, records: Buffer): Buffer {
  switch (codec) {
    case 'gzip':
      return gzipSync(records, { level: 1 });
    case 'snappy':
      return xerial(records);
    case 'lz4':
      return compressFrameSync(records);
    case 'zstd':
      return zstdCompressSync(records, { params: { [zlib.ZSTD_c_compressionLevel]: 1 } });
  }
}

function xerial(records: Buffer): Buffer {
  const parts: Buffer[] = [XERIAL_HEADER];
  for (let at = 0; at < records.length; at += XERIAL_BLOCK_BYTES) {
    const block = snappyCompress(records.subarray(at, at + XERIAL_BLOCK_BYTES));
    const size = Buffer.alloc(4);
    size.writeInt32BE(block.length);
    parts.push(size, block);
  }
  return Buffer.concat(parts);
}
