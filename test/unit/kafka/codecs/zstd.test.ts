import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../../src/core/random.ts';
import { ZstdDecoder } from '../../../../src/kafka/codecs/zstd.ts';

const MAX = 24 * 1024 * 1024;

function decode(decoder: ZstdDecoder, bytes: Uint8Array): Buffer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Buffer.from(decoder.decode(bytes, view, 0, bytes.length));
}

/** Bytes of `kinds` different values. */
function bytesOf(length: number, kinds: number): Buffer {
  const random = new Random(3, length * 300 + kinds);
  return Buffer.from(Uint8Array.from({ length }, () => random.below(kinds)));
}

/** A frame without its content's size, as a producer that streams writes it. */
async function streamed(data: Buffer, windowLog = 20): Promise<Buffer> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: windowLog } });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise((resolve) => stream.once('end', resolve));
  // In two writes, so that zstd cannot know the size beforehand.
  stream.write(data.subarray(0, data.length >> 1));
  stream.end(data.subarray(data.length >> 1));
  await ended;
  return Buffer.concat(chunks);
}

describe('ZstdDecoder', () => {
  it('decodes frame after frame with one decoder, with and without their size', async () => {
    const decoder = new ZstdDecoder(MAX);
    for (const length of [0, 1, 100, 70_000, 1_000_000, 3_000_000, 12]) {
      for (const kinds of [1, 5, 256]) {
        const data = bytesOf(length, kinds);
        expect(decode(decoder, zstdCompressSync(data)).equals(data)).toBe(true);
        expect(decode(decoder, await streamed(data)).equals(data)).toBe(true);
        const both = Buffer.concat([await streamed(data), zstdCompressSync(data), await streamed(data)]);
        expect(decode(decoder, both).equals(Buffer.concat([data, data, data]))).toBe(true);
      }
    }
  });

  it('decodes windows above those that it keeps memory for', async () => {
    const decoder = new ZstdDecoder(MAX);
    const data = Buffer.concat([bytesOf(9_000_000, 256), bytesOf(9_000_000, 256)]);
    const packed = await streamed(data, 25);
    expect(packed[4] & 0x20).toBe(0);
    expect(packed[5] >>> 3).toBe(15);
    expect(decode(decoder, packed).equals(data)).toBe(true);
    expect(decode(decoder, zstdCompressSync(bytesOf(10, 3))).equals(bytesOf(10, 3))).toBe(true);
  });

  it('is as good as new after damaged frames', async () => {
    const decoder = new ZstdDecoder(MAX);
    const data = bytesOf(200_000, 6);
    const checked = zstdCompressSync(data, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    let refused = 0;
    for (const packed of [checked, await streamed(data)]) {
      for (let at = 6; at < packed.length; at += 997) {
        const damaged = Buffer.from(packed);
        damaged[at] ^= 0x55;
        try {
          decode(decoder, damaged);
        } catch (error) {
          refused++;
          expect((error as Error).message).toMatch(/^zstd: /);
        }
        expect(decode(decoder, checked).equals(data)).toBe(true);
      }
    }
    expect(refused).toBeGreaterThan(50);
  });
});
