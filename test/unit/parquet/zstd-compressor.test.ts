import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/core/random.ts';
import { ZstdCompressor } from '../../../src/parquet/zstd-compressor.ts';

const MiB = 1024 * 1024;

/** Bytes of `kinds` different values: 1 compresses to nothing, 256 not at all. */
function bytesOf(length: number, kinds: number): Uint8Array {
  const random = new Random(7, length + kinds);
  return Uint8Array.from({ length }, () => random.below(kinds));
}

describe('ZstdCompressor', () => {
  it.each([1, 3, 19])('gives what zstdCompressSync gives, block after block, at level %i', (level) => {
    const compressor = new ZstdCompressor(level);
    const params = { [constants.ZSTD_c_compressionLevel]: level };
    for (const length of [1, 2, 63, 64, 1000, 131_072, 131_073, 300_000, 5]) {
      for (const kinds of [1, 7, 256]) {
        const bytes = bytesOf(length, kinds);
        const expected = zstdCompressSync(bytes, { params, pledgedSrcSize: length });
        expect(Buffer.compare(compressor.compress(bytes), expected)).toBe(0);
      }
    }
  });

  it('reuses its output buffer, whatever sizes come one after another', () => {
    const compressor = new ZstdCompressor(1);
    const first = compressor.compress(bytesOf(1000, 256));
    const second = compressor.compress(bytesOf(10, 256));
    expect(second.buffer).toBe(first.buffer);
    const third = compressor.compress(bytesOf(2 * MiB, 256));
    expect(third.length).toBeGreaterThan(2 * MiB);
    expect(zstdDecompressSync(third).equals(bytesOf(2 * MiB, 256))).toBe(true);
  });

  it('compresses nothing, and more than it keeps a buffer for', () => {
    const compressor = new ZstdCompressor(1);
    expect(zstdDecompressSync(compressor.compress(new Uint8Array(0)))).toHaveLength(0);
    const large = bytesOf(4 * MiB + 1, 3);
    expect(zstdDecompressSync(compressor.compress(large)).equals(large)).toBe(true);
    const after = bytesOf(4 * MiB, 3);
    expect(zstdDecompressSync(compressor.compress(after)).equals(after)).toBe(true);
  });

  it('takes a view into a larger buffer', () => {
    const all = bytesOf(5000, 40);
    const part = all.subarray(1000, 4000);
    expect(zstdDecompressSync(new ZstdCompressor(1).compress(part)).equals(part)).toBe(true);
  });
});
