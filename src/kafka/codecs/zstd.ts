import { zstdDecompressSync } from 'node:zlib';
import { memoryFault, RecordFault } from '../record-fault.ts';
import { OutputBuffer } from './output-buffer.ts';
import { runZlib } from './zlib-output.ts';
import { ZstdStream } from './zstd-stream.ts';

const FRAME_MAGIC = 0xfd2f_b528;
/** Magic 0x184D2A50 to 0x184D2A5F: a frame to skip. */
const SKIPPABLE_MAGIC = 0x184d_2a50;
/** No block makes more than this (RFC 8878, 3.1.1.2.4). */
const MAX_BLOCK_BYTES = 128 * 1024;
/** More frames than any producer writes into one batch; each costs a decoder of its own. */
const MAX_FRAMES = 10_000;
/** Kafka's producers use windows of at most this; larger ones are not kept memory for. */
const MAX_KEPT_WINDOW_BYTES = 8 * 1024 * 1024;

interface Frame {
  start: number;
  end: number;
  /** What the header says, or the most that its blocks can make where it says nothing. */
  sizeHint: number;
  /** Output that its decoder must keep at hand. */
  windowBytes: number;
}

/**
 * Uncompresses Zstandard frames (RFC 8878), one or several, into a reused buffer. zstd stops after each frame, so the
 * frames are told apart here and given to it one by one.
 */
export class ZstdDecoder {
  private readonly maxBytes: number;
  private readonly output = new OutputBuffer();
  private stream: ZstdStream | null = null;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Uncompresses bytes[start, end); valid until the next call. Throws RecordFault. */
  decode(bytes: Uint8Array, view: DataView, start: number, end: number): Uint8Array {
    const frames = findFrames(bytes, view, start, end, this.maxBytes);
    const size = frames.reduce((sum, frame) => sum + frame.sizeHint, 0);
    this.output.begin(Math.min(size, this.maxBytes));
    let to = 0;
    for (const frame of frames) to = this.decodeFrame(bytes, frame, to);
    return this.output.bytes.subarray(0, to);
  }

  /** Decodes one frame to `to` of the output and returns the position after it. */
  private decodeFrame(bytes: Uint8Array, frame: Frame, to: number): number {
    if (frame.windowBytes > MAX_KEPT_WINDOW_BYTES) return this.decodeAlone(bytes, frame, to);
    const stream = this.stream ?? ZstdStream.open();
    if (stream === null) return this.decodeAlone(bytes, frame, to);
    // Until the frame has ended the stream must not be used for another.
    this.stream = null;
    const { output, maxBytes } = this;
    output.grow(to, Math.min(to + frame.sizeHint, maxBytes), maxBytes);
    let at = frame.start;
    let end = to;
    for (;;) {
      const error = stream.write(bytes, at, frame.end, output.bytes, end);
      if (error !== null) throw new RecordFault(`zstd: ${error}`);
      at = frame.end - stream.inputLeft;
      end = output.bytes.length - stream.outputLeft;
      if (end > maxBytes) throw memoryFault(maxBytes);
      if (stream.outputLeft > 0) break;
      output.grow(end, end + 1, maxBytes);
    }
    // All of the input was there, and room for more output: nothing but a frame that does not end can stop it.
    if (at !== frame.end) throw cutOff();
    this.stream = stream;
    return end;
  }

  /** For frames that want much memory for their window, which a stream would keep. */
  private decodeAlone(bytes: Uint8Array, frame: Frame, to: number): number {
    const { output, maxBytes } = this;
    const input = bytes.subarray(frame.start, frame.end);
    const piece = runZlib('zstd', zstdDecompressSync, input, frame.sizeHint, maxBytes - to);
    if (to + piece.length > maxBytes) throw memoryFault(maxBytes);
    output.grow(to, to + piece.length, maxBytes);
    output.bytes.set(piece, to);
    return to + piece.length;
  }
}

/** Walks the frames without decoding them. Throws RecordFault where they are cut off, lie, or say more than `maxBytes`. */
function findFrames(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  maxBytes: number,
): Frame[] {
  const frames: Frame[] = [];
  let said = 0;
  let at = start;
  do {
    if (end - at < 8) throw cutOff();
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === SKIPPABLE_MAGIC >>> 4) {
      const size = view.getUint32(at + 4, true);
      if (size > end - at - 8) throw cutOff();
      at += 8 + size;
      continue;
    }
    if (magic !== FRAME_MAGIC) throw new RecordFault(`zstd: no frame begins with 0x${magic.toString(16)}`);
    const descriptor = bytes[at + 4];
    const singleSegment = (descriptor & 0x20) !== 0;
    const sizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >>> 6];
    const sizeAt = at + 5 + (singleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
    if (sizeAt + sizeBytes > end) throw cutOff();
    const contentSize = readSize(bytes, view, sizeAt, sizeBytes);
    const windowBytes = singleSegment ? contentSize : windowSize(bytes[at + 5]);
    const frame: Frame = { start: at, end: 0, sizeHint: 0, windowBytes };
    const most = walkBlocks(bytes, sizeAt + sizeBytes, end, frame);
    if ((descriptor & 4) !== 0) frame.end += 4;
    if (frame.end > end) throw cutOff();
    if (contentSize > most)
      throw new RecordFault(`zstd: a frame says ${contentSize} bytes, its blocks hold at most ${most}`);
    frame.sizeHint = contentSize >= 0 ? contentSize : most;
    said += Math.max(contentSize, 0);
    if (said > maxBytes) throw memoryFault(maxBytes, said);
    if (frames.length === MAX_FRAMES)
      throw new RecordFault(`zstd: more than ${MAX_FRAMES} frames in one batch`);
    frames.push(frame);
    at = frame.end;
  } while (at < end);
  return frames;
}

/** Sets `frame.end` to the end of its last block and returns the most bytes that its blocks can make. */
function walkBlocks(bytes: Uint8Array, start: number, end: number, frame: Frame): number {
  let at = start;
  let most = 0;
  for (;;) {
    if (end - at < 3) throw cutOff();
    const header = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    const type = (header >>> 1) & 3;
    const size = header >>> 3;
    if (type === 3) throw new RecordFault('zstd: a block of the reserved type');
    at += 3 + (type === 1 ? 1 : size);
    if (at > end) throw cutOff();
    most += type === 2 ? MAX_BLOCK_BYTES : size;
    if ((header & 1) !== 0) {
      frame.end = at;
      return most;
    }
  }
}

/** RFC 8878, 3.1.1.1.2. */
function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >>> 3));
  return base + (base / 8) * (descriptor & 7);
}

/** The content size of a frame header, -1 where it has none. */
function readSize(bytes: Uint8Array, view: DataView, at: number, sizeBytes: number): number {
  switch (sizeBytes) {
    case 0:
      return -1;
    case 1:
      return bytes[at];
    case 2:
      return view.getUint16(at, true) + 256;
    case 4:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}

function cutOff(): RecordFault {
  return new RecordFault('zstd: the data are cut off');
}
