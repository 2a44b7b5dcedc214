import { memoryFault, RecordFault } from '../record-fault.ts';
import { readUnsignedVarint, varint } from '../varint.ts';
import { copyLiteral, copyMatch, OutputBuffer } from './output-buffer.ts';

/** `82 "SNAPPY" 00`: the header of snappy-java's stream ("xerial"), then two int32, then chunks of int32 length and raw Snappy. */
const XERIAL_MAGIC_HIGH = 0x8253_4e41;
const XERIAL_MAGIC_LOW = 0x5050_5900;
const XERIAL_HEADER_BYTES = 16;
/** No element of raw Snappy makes more than 64 bytes out of 3: a length beyond this is a lie. */
const MAX_EXPANSION = 22;

/** Decodes Snappy in the two framings that Kafka's producers write: xerial (Java) and raw (librdkafka), into a reused buffer. */
export class SnappyDecoder {
  private readonly maxBytes: number;
  private readonly output = new OutputBuffer();

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Uncompresses bytes[start, end); valid until the next call. Throws RecordFault (`memory` before any memory is spent). */
  decode(bytes: Uint8Array, view: DataView, start: number, end: number): Uint8Array {
    const xerial = isXerialHeader(view, start, end);
    const size = xerial ? this.sizeOfChunks(bytes, view, start, end) : sizeOf(bytes, start, end);
    if (size > this.maxBytes) throw memoryFault(this.maxBytes, size);
    this.output.begin(size);
    if (xerial) {
      let to = 0;
      for (const [from, until] of chunks(view, start, end)) to = this.decodeRaw(bytes, view, from, until, to);
    } else this.decodeRaw(bytes, view, start, end, 0);
    return this.output.bytes.subarray(0, size);
  }

  private sizeOfChunks(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    let size = 0;
    for (const [from, until] of chunks(view, start, end)) size += sizeOf(bytes, from, until);
    return size;
  }

  /** Decodes one raw Snappy stretch to `to` of the output, where it has room, and returns the position after it. */
  private decodeRaw(bytes: Uint8Array, view: DataView, start: number, end: number, to: number): number {
    const { output } = this;
    const size = sizeOf(bytes, start, end);
    const limit = to + size;
    const first = to;
    let at = varint.end;
    while (at < end) {
      const tag = bytes[at++];
      const kind = tag & 3;
      let length = (tag >>> 2) + 1;
      if (kind === 0) {
        if (length > 60) {
          const extra = length - 60;
          if (extra > end - at) throw cutOff();
          length = 0;
          for (let i = extra - 1; i >= 0; i--) length = length * 256 + bytes[at + i];
          length++;
          at += extra;
        }
        if (length > end - at) throw cutOff();
        if (length > limit - to) throw tooLong(size);
        copyLiteral(output, to, bytes, view, at, length);
        at += length;
      } else {
        let distance: number;
        if (kind === 1) {
          if (at >= end) throw cutOff();
          length = ((tag >>> 2) & 7) + 4;
          distance = ((tag >>> 5) << 8) | bytes[at++];
        } else if (kind === 2) {
          if (at + 2 > end) throw cutOff();
          distance = bytes[at] | (bytes[at + 1] << 8);
          at += 2;
        } else {
          if (at + 4 > end) throw cutOff();
          distance = view.getUint32(at, true);
          at += 4;
        }
        if (distance === 0 || distance > to - first) {
          throw new RecordFault(`Snappy: a copy goes ${distance} bytes back, ${to - first} are there`);
        }
        if (length > limit - to) throw tooLong(size);
        copyMatch(output, to, distance, length);
      }
      to += length;
    }
    if (to !== limit) throw new RecordFault(`Snappy: it says ${size} bytes and holds ${to - first}`);
    return to;
  }
}

function isXerialHeader(view: DataView, at: number, end: number): boolean {
  return (
    end - at >= XERIAL_HEADER_BYTES &&
    view.getUint32(at) === XERIAL_MAGIC_HIGH &&
    view.getUint32(at + 4) === XERIAL_MAGIC_LOW
  );
}

/** The raw stretches [from, until) of a xerial stream. A header may stand again between them (streams that were joined). */
function* chunks(view: DataView, start: number, end: number): Generator<[number, number]> {
  let at = start;
  while (at < end) {
    if (isXerialHeader(view, at, end)) {
      at += XERIAL_HEADER_BYTES;
      continue;
    }
    if (at + 4 > end) throw cutOff();
    const length = view.getInt32(at);
    at += 4;
    if (length < 0 || length > end - at) {
      throw new RecordFault(`Snappy: a chunk says it is ${length} bytes long, ${end - at} are left`);
    }
    yield [at, at + length];
    at += length;
  }
}

/** The uncompressed size that a raw stretch says it has. Sets `varint.end`. */
function sizeOf(bytes: Uint8Array, start: number, end: number): number {
  const size = readUnsignedVarint(bytes, start, end) >>> 0;
  if (size > (end - start) * MAX_EXPANSION) {
    throw new RecordFault(`Snappy: ${end - start} bytes cannot hold the ${size} that they say`);
  }
  return size;
}

function cutOff(): RecordFault {
  return new RecordFault('Snappy: the data are cut off');
}

function tooLong(size: number): RecordFault {
  return new RecordFault(`Snappy: it holds more than the ${size} bytes that it says`);
}
