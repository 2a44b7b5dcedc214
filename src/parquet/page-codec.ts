import { gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib';
import { compressSync as lz4CompressSync, uncompressSync as lz4UncompressSync } from 'lz4-napi';
import { compressSync as snappyCompressSync, uncompressSync as snappyUncompressSync } from 'snappy';
import type { ParquetCodec } from '../core/parquet-codec.ts';
import { SluiceError } from '../errors.ts';
import { COMPRESSION } from './format.ts';
import { ZstdCompressor } from './zstd-compressor.ts';

/**
 * Compresses one page; synchronous, for worker threads. The result is valid until the next call; with `none` it is the
 * input itself.
 */
export type CompressPage = (bytes: Uint8Array) => Uint8Array;

/** The compressor of a codec. Throws CONFIG_INVALID for a level that the codec does not have. */
export function pageCompressor(codec: ParquetCodec, level: number): CompressPage {
  switch (codec) {
    case 'zstd': {
      checkLevel(codec, level, 22);
      const compressor = zstdOfThread(level);
      return (bytes) => compressor.compress(bytes);
    }
    case 'gzip':
      checkLevel(codec, level, 9);
      return (bytes) => gzipSync(bytes, { level });
    case 'snappy':
      // without copyOutputData the result is outside V8's accounting and memory grows
      return (bytes) => snappyCompressSync(bytes, { copyOutputData: true });
    case 'lz4':
      // the package puts the length in front of the block; Parquet's LZ4_RAW has the block alone
      return (bytes) => lz4CompressSync(asBuffer(bytes)).subarray(4);
    case 'none':
      return (bytes) => bytes;
  }
}

/** One per thread and level: the files of a thread are compressed one page at a time. */
const zstdByLevel = new Map<number, ZstdCompressor>();

function zstdOfThread(level: number): ZstdCompressor {
  let compressor = zstdByLevel.get(level);
  if (compressor === undefined) {
    compressor = new ZstdCompressor(level);
    zstdByLevel.set(level, compressor);
  }
  return compressor;
}

function checkLevel(codec: string, level: number, most: number): void {
  if (Number.isInteger(level) && level >= 1 && level <= most) return;
  throw new SluiceError(
    'CONFIG_INVALID',
    `compression level ${level}: ${codec} has levels 1 to ${most}; give one of these`,
    {
      context: { codec, level },
    },
  );
}

/**
 * Decompresses one page of the codec with number `codec` in the format; the result has exactly `size` bytes. Throws
 * RangeError for an unknown codec or another size; faults of the codecs as they are. Nothing beyond `size` is allocated.
 */
export function decompressPage(codec: number, bytes: Uint8Array, size: number): Uint8Array {
  if (size === 0 && codec !== COMPRESSION.none) return new Uint8Array(0);
  const page = decompress(codec, bytes, size);
  if (page.length !== size)
    throw new RangeError(`page has ${page.length} bytes after decompression, its header says ${size}`);
  return page;
}

function decompress(codec: number, bytes: Uint8Array, size: number): Uint8Array {
  switch (codec) {
    case COMPRESSION.none:
      return bytes;
    case COMPRESSION.zstd:
      return zstdDecompressSync(bytes, { maxOutputLength: size });
    case COMPRESSION.gzip:
      return gunzipSync(bytes, { maxOutputLength: size });
    case COMPRESSION.snappy:
      if (snappyLength(bytes) !== size)
        throw new RangeError(`snappy page says ${snappyLength(bytes)} bytes, its header ${size}`);
      return snappyUncompressSync(asBuffer(bytes), { asBuffer: true, copyOutputData: true }) as Buffer;
    case COMPRESSION.lz4:
      return lz4Decompress(bytes, size);
    default:
      throw new RangeError(`unknown compression codec ${codec}`);
  }
}

/** The uncompressed length that a snappy block begins with, so that a lying block is refused before it is unpacked. */
function snappyLength(bytes: Uint8Array): number {
  let value = 0;
  for (let i = 0; i < 5 && i < bytes.length; i++) {
    value += (bytes[i] & 0x7f) * 2 ** (7 * i);
    if (bytes[i] < 0x80) return value;
  }
  return -1;
}

function lz4Decompress(bytes: Uint8Array, size: number): Uint8Array {
  // a block expands at most 255 times: a header that says more would only make the package allocate
  if (size > bytes.length * 255 + 64)
    throw new RangeError(`lz4 page of ${bytes.length} bytes cannot hold ${size}`);
  const sized = Buffer.allocUnsafe(bytes.length + 4);
  sized.writeUInt32LE(size, 0);
  sized.set(bytes, 4);
  return lz4UncompressSync(sized);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
