import { memoryFault, RecordFault } from '../record-fault.ts';
import { copyLiteral, copyMatch, OutputBuffer } from './output-buffer.ts';
import { xxhash32 } from './xxhash32.ts';

const FRAME_MAGIC = 0x184d_2204;
/** Magic 0x184D2A50 to 0x184D2A5F: a frame to skip. */
const SKIPPABLE_MAGIC = 0x184d_2a50;
const FLAG_INDEPENDENT = 0x20;
const FLAG_BLOCK_CHECKSUM = 0x10;
const FLAG_CONTENT_SIZE = 0x08;
const FLAG_CONTENT_CHECKSUM = 0x04;
const FLAG_DICTIONARY = 0x01;

/** Decodes LZ4 frames (LZ4 Frame Format 1.6), one or several, into a reused buffer; checksums are proven where they are there. */
export class Lz4Decoder {
  private readonly maxBytes: number;
  private readonly output = new OutputBuffer();

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Uncompresses bytes[start, end); valid until the next call. Throws RecordFault. */
  decode(bytes: Uint8Array, view: DataView, start: number, end: number): Uint8Array {
    this.output.begin(0);
    let at = start;
    let to = 0;
    do {
      if (end - at < 7) throw cutOff();
      const magic = view.getUint32(at, true);
      if (magic >>> 4 === SKIPPABLE_MAGIC >>> 4) {
        const size = view.getUint32(at + 4, true);
        if (end - at < 8 || size > end - at - 8) throw cutOff();
        at += 8 + size;
      } else if (magic === FRAME_MAGIC) {
        to = this.decodeFrame(bytes, view, at, end, to);
        at = this.frameEnd;
      } else throw new RecordFault(`LZ4: no frame begins with 0x${magic.toString(16)}`);
    } while (at < end);
    return this.output.bytes.subarray(0, to);
  }

  /** Position after the last frame decoded. */
  private frameEnd = 0;

  private decodeFrame(bytes: Uint8Array, view: DataView, start: number, end: number, first: number): number {
    const { output, maxBytes } = this;
    const flags = bytes[start + 4];
    const blockSizeId = (bytes[start + 5] >>> 4) & 7;
    if (flags >>> 6 !== 1) throw new RecordFault(`LZ4: frame version ${flags >>> 6}, 1 is known`);
    if ((flags & FLAG_DICTIONARY) !== 0) throw new RecordFault('LZ4: the frame needs a dictionary');
    if (blockSizeId < 4) throw new RecordFault(`LZ4: unknown block size ${blockSizeId}`);
    const blockMax = 1 << (8 + 2 * blockSizeId);
    let at = start + 6;
    let contentSize = -1;
    if ((flags & FLAG_CONTENT_SIZE) !== 0) {
      if (end - at < 9) throw cutOff();
      contentSize = Number(view.getBigUint64(at, true));
      if (first + contentSize > maxBytes) throw memoryFault(maxBytes, first + contentSize);
      at += 8;
    }
    checkDescriptor(bytes, view, start, at);
    at++;

    let to = first;
    for (;;) {
      if (end - at < 4) throw cutOff();
      const word = view.getUint32(at, true);
      at += 4;
      if (word === 0) break;
      const size = word & 0x7fff_ffff;
      if (size > end - at) throw cutOff();
      if (size > blockMax)
        throw new RecordFault(`LZ4: a block of ${size} bytes where ${blockMax} is the most`);
      if ((flags & FLAG_BLOCK_CHECKSUM) !== 0) {
        if (end - at - size < 4) throw cutOff();
        checkHash('block', view.getUint32(at + size, true), xxhash32(bytes, view, at, at + size));
      }
      if (word >= 0x8000_0000) {
        if (to + size > maxBytes) throw memoryFault(maxBytes);
        output.grow(to, to + size, maxBytes);
        output.bytes.set(bytes.subarray(at, at + size), to);
        to += size;
      } else {
        const limit = Math.min(to + blockMax, maxBytes);
        output.grow(to, limit, maxBytes);
        const history = (flags & FLAG_INDEPENDENT) !== 0 ? to : first;
        to = decodeBlock(
          output,
          to,
          limit,
          history,
          bytes,
          view,
          at,
          at + size,
          limit < to + blockMax ? maxBytes : -1,
        );
      }
      at += size + ((flags & FLAG_BLOCK_CHECKSUM) !== 0 ? 4 : 0);
    }
    if (contentSize >= 0 && to - first !== contentSize) {
      throw new RecordFault(`LZ4: the frame says ${contentSize} bytes and holds ${to - first}`);
    }
    if ((flags & FLAG_CONTENT_CHECKSUM) !== 0) {
      if (end - at < 4) throw cutOff();
      checkHash('content', view.getUint32(at, true), xxhash32(output.bytes, output.view, first, to));
      at += 4;
    }
    this.frameEnd = at;
    return to;
  }
}

/**
 * Decodes one compressed block to `to` and returns the position after it.
 *
 * @param limit position that the output must not pass
 * @param history first position that a match may reach back to
 * @param maxBytes the memory bound where `limit` is it, else -1 (then `limit` is the frame's block size)
 */
function decodeBlock(
  output: OutputBuffer,
  to: number,
  limit: number,
  history: number,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  end: number,
  maxBytes: number,
): number {
  for (;;) {
    if (at >= end) throw cutOff();
    const token = bytes[at++];
    let length = token >>> 4;
    if (length === 15) {
      let more: number;
      do {
        if (at >= end) throw cutOff();
        more = bytes[at++];
        length += more;
      } while (more === 255);
    }
    if (length > end - at) throw cutOff();
    if (length > limit - to) throw overflow(maxBytes);
    copyLiteral(output, to, bytes, view, at, length);
    at += length;
    to += length;
    if (at === end) return to;
    if (end - at < 2) throw cutOff();
    const distance = bytes[at] | (bytes[at + 1] << 8);
    at += 2;
    length = token & 15;
    if (length === 15) {
      let more: number;
      do {
        if (at >= end) throw cutOff();
        more = bytes[at++];
        length += more;
      } while (more === 255);
    }
    length += 4;
    if (distance === 0 || distance > to - history) {
      throw new RecordFault(`LZ4: a match goes ${distance} bytes back, ${to - history} are there`);
    }
    if (length > limit - to) throw overflow(maxBytes);
    copyMatch(output, to, distance, length);
    to += length;
  }
}

/**
 * The header's checksum is the second byte of its xxHash32 without the magic; Kafka's clients before 0.10 hashed the
 * magic too (KAFKA-3160), and their messages are still in old segments.
 */
function checkDescriptor(bytes: Uint8Array, view: DataView, start: number, at: number): void {
  const stored = bytes[at];
  const right = (xxhash32(bytes, view, start + 4, at) >>> 8) & 0xff;
  if (stored === right || stored === ((xxhash32(bytes, view, start, at) >>> 8) & 0xff)) return;
  throw new RecordFault(
    `LZ4: checksum mismatch of the frame header: it says ${stored}, its bytes give ${right}`,
  );
}

function checkHash(what: string, stored: number, computed: number): void {
  if (stored !== computed) {
    throw new RecordFault(
      `LZ4: checksum mismatch of a ${what}: it says ${stored}, its bytes give ${computed}`,
    );
  }
}

function cutOff(): RecordFault {
  return new RecordFault('LZ4: the data are cut off');
}

function overflow(maxBytes: number): RecordFault {
  return maxBytes >= 0
    ? memoryFault(maxBytes)
    : new RecordFault('LZ4: a block holds more than the frame allows');
}
