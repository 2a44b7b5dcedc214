import { constants, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { compressSync as snappyCompress } from 'snappy';
import { describe, expect, it } from 'vitest';
import { Decompressor } from '../../../../src/kafka/codecs/decompressor.ts';
import { RecordFault } from '../../../../src/kafka/record-fault.ts';
import { compress, type TestCodec, xerial } from '../../../support/record-batch-encoder.ts';

const MAX = 1024 * 1024;
const GZIP = 1;
const SNAPPY = 2;
const LZ4 = 3;
const ZSTD = 4;

/** Decodes `data` where it stands inside a larger frame. */
function run(codec: number, data: Uint8Array, maxBytes = MAX): Buffer {
  const frame = Buffer.concat([Buffer.alloc(3, 0xee), data, Buffer.alloc(2, 0xee)]);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const {
    bytes,
    start,
    end,
    view: outView,
  } = new Decompressor(maxBytes).run(codec, frame, view, 3, 3 + data.length);
  expect(outView.byteLength).toBe(bytes.length);
  return Buffer.from(bytes.subarray(start, end));
}

function faultOf(codec: number, data: Uint8Array, maxBytes = MAX): RecordFault {
  try {
    run(codec, data, maxBytes);
  } catch (e) {
    if (e instanceof RecordFault) return e;
    throw e;
  }
  throw new Error('no fault');
}

/** Repetitive, random and mixed bytes, so that literals, short and long matches and runs occur. */
function samples(): [string, Buffer][] {
  let seed = 12345;
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed >>> 16;
  };
  const noise = (n: number) => Buffer.from(Array.from({ length: n }, () => random() & 0xff));
  const mixed: Buffer[] = [];
  for (let i = 0; i < 600; i++) {
    mixed.push(noise(random() % 40), Buffer.alloc(random() % 50, random() & 0xff));
    mixed.push(Buffer.from('abcdefg'.slice(0, 1 + (random() % 7)).repeat(random() % 20)));
  }
  return [
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('x')],
    ['a run', Buffer.alloc(300_000, 0x61)],
    ['noise', noise(200_000)],
    ['text', Buffer.from('{"campaign":17,"price":0.25},'.repeat(9000))],
    ['mixed', Buffer.concat(mixed)],
  ];
}

const CODECS: TestCodec[] = ['none', 'gzip', 'snappy', 'snappy-xerial', 'lz4', 'zstd', 'zstd-frames'];
const ids: Record<string, number> = {
  none: 0,
  gzip: 1,
  snappy: 2,
  'snappy-xerial': 2,
  lz4: 3,
  zstd: 4,
  'zstd-frames': 4,
};

describe.each(CODECS as string[])('codec %s', (codec) => {
  it.each(samples())('gives %s back', (_name, data) => {
    const packed = compress(codec as TestCodec, data);
    expect(run(ids[codec], packed).equals(data)).toBe(true);
  });

  it('takes exactly the bytes that it may, and not one more', () => {
    const data = Buffer.alloc(1000, 'ab');
    const packed = compress(codec as TestCodec, data);
    expect(run(ids[codec], packed, 1000).equals(data)).toBe(true);
    const fault = faultOf(ids[codec], packed, 999);
    expect(fault.kind).toBe('memory');
    expect(fault.message).toContain('999');
  });

  if (codec !== 'none') {
    it('finds every truncation', () => {
      const packed = compress(
        codec as TestCodec,
        Buffer.from('some text, some text, some more text. '.repeat(20)),
      );
      for (let length = 0; length < packed.length; length++) {
        // A concatenation cut between its frames is a whole one: nothing here can know.
        if (codec === 'zstd-frames' && length === frameLength(packed)) continue;
        if (codec === 'snappy-xerial' && length === 16) continue;
        expect(faultOf(ids[codec], packed.subarray(0, length)).kind).toBe('damaged');
      }
    });

    it('gives a fault or some bytes for flipped bits, never anything else', () => {
      const packed = compress(codec as TestCodec, Buffer.from('a cat and a hat and a bat '.repeat(10)));
      for (let bit = 0; bit < packed.length * 8; bit++) {
        const flipped = Buffer.from(packed);
        flipped[bit >> 3] ^= 1 << (bit & 7);
        try {
          expect(run(ids[codec], flipped, 4096).length).toBeLessThanOrEqual(4096);
        } catch (e) {
          expect(e).toBeInstanceOf(RecordFault);
        }
      }
    });
  }
});

/** Length of the first of two equally made zstd frames. */
function frameLength(packed: Uint8Array): number {
  const magic = Buffer.from('28b52ffd', 'hex');
  return Buffer.from(packed).indexOf(magic, 4);
}

describe('bombs', () => {
  const bomb = Buffer.alloc(MAX + 1);

  it('gzip: names the size that the trailer says, before it inflates', () => {
    expect(faultOf(GZIP, gzipSync(bomb)).message).toContain(`needs ${MAX + 1} bytes`);
  });

  it('gzip: stops where the trailer lies', () => {
    const packed = gzipSync(Buffer.alloc(MAX * 3));
    packed.writeUInt32LE(10, packed.length - 4);
    expect(faultOf(GZIP, packed)).toMatchObject({ kind: 'memory' });
    packed.writeUInt32LE(0xffff_ffff, packed.length - 4);
    expect(faultOf(GZIP, packed)).toMatchObject({ kind: 'damaged' });
  });

  it('gzip: counts all members together', () => {
    const half = gzipSync(Buffer.alloc(MAX / 2 + 1));
    expect(faultOf(GZIP, Buffer.concat([half, half]))).toMatchObject({ kind: 'memory' });
  });

  it('snappy: believes no length that its bytes cannot make', () => {
    const lying = Uint8Array.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    expect(faultOf(SNAPPY, lying)).toMatchObject({ kind: 'damaged' });
    expect(faultOf(SNAPPY, snappyCompress(bomb)).message).toContain(`needs ${MAX + 1} bytes`);
  });

  it('snappy: counts all chunks of a xerial stream together', () => {
    expect(faultOf(SNAPPY, xerial(bomb)).message).toContain(`needs ${MAX + 1} bytes`);
  });

  it('lz4: stops with and without a content size', () => {
    expect(faultOf(LZ4, compressFrameSync(bomb))).toMatchObject({ kind: 'memory' });
    const two = compressFrameSync(Buffer.alloc(MAX / 2 + 1));
    expect(faultOf(LZ4, Buffer.concat([two, two]))).toMatchObject({ kind: 'memory' });
  });

  it('zstd: names the size that the frame says, before it decompresses', () => {
    expect(faultOf(ZSTD, zstdCompressSync(bomb)).message).toContain(`needs ${MAX + 1} bytes`);
  });

  it('zstd: stops where frames say nothing', () => {
    const half = zstdWithoutSize(Buffer.alloc(MAX / 2 + 1));
    expect(run(ZSTD, half).length).toBe(MAX / 2 + 1);
    expect(faultOf(ZSTD, Buffer.concat([half, half]))).toMatchObject({ kind: 'memory' });
    expect(faultOf(ZSTD, zstdWithoutSize(bomb))).toMatchObject({ kind: 'memory' });
  });

  it('zstd: refuses a size that the blocks cannot make', () => {
    const packed = Buffer.from(zstdCompressSync(Buffer.alloc(100_000, 'abc')));
    expect(packed[4] >>> 6).toBe(2); // a content size of four bytes
    packed.writeUInt32LE(MAX * 1000, (packed[4] & 0x20) !== 0 ? 5 : 6);
    expect(faultOf(ZSTD, packed)).toMatchObject({ kind: 'damaged' });
  });
});

/** A frame of one RLE or raw block each 128 KiB, without a content size, as a streaming encoder writes it. */
function zstdWithoutSize(data: Buffer): Buffer {
  const parts: Uint8Array[] = [Buffer.from('28b52ffd0058', 'hex')]; // window of 2 MiB
  const step = 128 * 1024;
  for (let at = 0; at < data.length; at += step) {
    const block = data.subarray(at, at + step);
    const header = Buffer.alloc(4);
    header.writeUInt32LE((block.length << 3) | (1 << 1) | (at + step >= data.length ? 1 : 0));
    parts.push(header.subarray(0, 3), block.subarray(0, 1));
  }
  return Buffer.concat(parts);
}

describe('framing', () => {
  const text = Buffer.from('the quick brown fox jumps over the lazy dog, the quick brown fox. '.repeat(40));

  it('snappy: reads xerial streams of many chunks, and streams that were joined', () => {
    expect(run(SNAPPY, xerial(text, 100)).equals(text)).toBe(true);
    const joined = Buffer.concat([xerial(text, 500), xerial(text)]);
    expect(run(SNAPPY, joined).equals(Buffer.concat([text, text]))).toBe(true);
  });

  it('snappy: reads every kind of copy', () => {
    // 'ab', copy 1-byte offset (length 4, distance 2), 2-byte offset (length 3), 4-byte offset (length 5)
    const raw = Uint8Array.from([14, 0x04, 0x61, 0x62, 0x01, 2, 0x0a, 2, 0, 0x13, 1, 0, 0, 0]);
    expect(run(SNAPPY, raw).toString()).toBe('abababab' + 'a' + 'aaaaa'.slice(0, 5));
  });

  it.each([
    ['a copy before the beginning', [4, 0x01, 1]],
    ['a copy of distance 0', [6, 0x04, 0x61, 0x62, 0x01, 0]],
    ['more than it says', [1, 0x04, 0x61, 0x62]],
    ['less than it says', [3, 0x04, 0x61, 0x62]],
    ['a length of six bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0]],
  ])('snappy: refuses %s', (_what, bytes) => {
    expect(faultOf(SNAPPY, Uint8Array.from(bytes))).toMatchObject({ kind: 'damaged' });
  });

  it('snappy: refuses a chunk of negative length', () => {
    const stream = xerial(text);
    stream.writeInt32BE(-1, 16);
    expect(faultOf(SNAPPY, stream)).toMatchObject({ kind: 'damaged' });
  });

  it('lz4: proves block and content checksums', () => {
    const packed = compressFrameSync(text, { contentChecksum: true, blockChecksums: true });
    expect(run(LZ4, packed).equals(text)).toBe(true);
    for (let at = 7; at < packed.length; at++) {
      const damaged = Buffer.from(packed);
      damaged[at] ^= 0x10;
      expect(faultOf(LZ4, damaged).kind).not.toBe('codec');
    }
  });

  it('lz4: reads several frames, skippable ones between them, and stored blocks', () => {
    const skip = Buffer.from('502a4d1803000000010203', 'hex');
    const noise = gzipSync(text); // does not compress: a stored block
    const packed = Buffer.concat([skip, compressFrameSync(text), skip, compressFrameSync(noise)]);
    expect(run(LZ4, packed).equals(Buffer.concat([text, noise]))).toBe(true);
  });

  it('lz4: takes the header checksum of old Kafka clients, which hashed the magic too', () => {
    // Frame of one stored block 'hi': flags 0x60, block size 4; 0x82 is right, 0x1a is what KAFKA-3160 wrote.
    const frame = (hc: number) =>
      Buffer.from([4, 0x22, 0x4d, 0x18, 0x60, 0x40, hc, 2, 0, 0, 0x80, 0x68, 0x69, 0, 0, 0, 0]);
    const taken: number[] = [];
    for (let hc = 0; hc < 256; hc++) {
      try {
        expect(run(LZ4, frame(hc)).toString()).toBe('hi');
        taken.push(hc);
      } catch (e) {
        expect(e).toBeInstanceOf(RecordFault);
      }
    }
    expect(taken).toHaveLength(2);
    expect(taken).toContain(0x82);
  });

  it.each([
    ['a dictionary', 4, 0x61],
    ['another version', 4, 0xa0],
    ['an unknown block size', 5, 0x30],
  ])('lz4: refuses %s', (_what, at, byte) => {
    const packed = compressFrameSync(text);
    packed[at] = byte;
    expect(faultOf(LZ4, packed)).toMatchObject({ kind: 'damaged' });
  });

  it('lz4: lets a linked block reach back into the one before, an independent one not', () => {
    const blocks = Buffer.concat([
      Buffer.from([4, 0, 0, 0x80, 0x61, 0x62, 0x63, 0x64]), // stored 'abcd'
      Buffer.from([8, 0, 0, 0, 0x00, 4, 0, 0x40, 0x77, 0x78, 0x79, 0x7a].slice(0, 4)),
      Buffer.from([0x00, 4, 0, 0x40, 0x77, 0x78, 0x79, 0x7a]), // match of 4 at distance 4, then 'wxyz'
      Buffer.alloc(4),
    ]);
    const linked = Buffer.concat([header(0x40), blocks]);
    expect(run(LZ4, linked).toString()).toBe('abcdabcdwxyz');
    expect(faultOf(LZ4, Buffer.concat([header(0x60), blocks])).message).toContain(
      '4 bytes back, 0 are there',
    );
  });

  it('zstd: passes skippable frames and reads frames with a checksum', () => {
    const skip = Buffer.from('5e2a4d1802000000ffff', 'hex');
    const checked = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const packed = Buffer.concat([skip, checked, skip, zstdCompressSync(text), skip]);
    expect(run(ZSTD, packed).equals(Buffer.concat([text, text]))).toBe(true);
    const damaged = Buffer.from(checked);
    damaged[damaged.length - 1] ^= 1;
    expect(faultOf(ZSTD, damaged)).toMatchObject({ kind: 'damaged' });
  });

  it('zstd: refuses what follows the last frame', () => {
    expect(faultOf(ZSTD, Buffer.concat([zstdCompressSync(text), Buffer.from('garbage!')]))).toMatchObject({
      kind: 'damaged',
    });
  });

  it('gzip: reads several members, and refuses raw deflate', () => {
    expect(run(GZIP, Buffer.concat([gzipSync(text), gzipSync('end')])).toString()).toBe(`${text}end`);
    expect(faultOf(GZIP, deflateRawSync(text))).toMatchObject({ kind: 'damaged' });
  });

  it.each([5, 6, 7])('names the unknown codec id %d', (id) => {
    const fault = faultOf(id, text);
    expect(fault.kind).toBe('codec');
    expect(fault.message).toContain(`codec id ${id}`);
  });
});

/** A frame header with its right checksum, found by trying. */
function header(flags: number): Buffer {
  const end = Buffer.alloc(4);
  for (let hc = 0; hc < 256; hc++) {
    const head = Buffer.from([4, 0x22, 0x4d, 0x18, flags, 0x40, hc]);
    try {
      run(LZ4, Buffer.concat([head, end]));
      return head;
    } catch {
      // not this one
    }
  }
  throw new Error('no header checksum fits');
}
