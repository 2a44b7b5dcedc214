import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FrameAssembler,
  type FrameSink,
  type FrameTarget,
  SingleFrame,
} from '../../../src/kafka/frame-assembler.ts';

class Collector implements FrameSink {
  readonly frames: Buffer[] = [];
  readonly next: () => FrameTarget;

  constructor(next: () => FrameTarget = () => new SingleFrame()) {
    this.next = next;
  }

  targetOf(): FrameTarget {
    return this.next();
  }

  onFrame(target: FrameTarget, length: number): void {
    this.frames.push(Buffer.from(target.bytes.subarray(0, length)));
  }
}

function framed(bodies: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    bodies.flatMap((body) => {
      const prefix = Buffer.alloc(4);
      prefix.writeInt32BE(body.length);
      return [prefix, body];
    }),
  );
}

/** Feeds bytes as a socket does: into whatever buffer is named, at most `sizes[i]` bytes at a time. */
function feed(assembler: FrameAssembler, stream: Buffer, sizes: readonly number[]): void {
  let at = 0;
  for (let i = 0; at < stream.length; i++) {
    const buffer = assembler.nextBuffer();
    const count = Math.min(sizes[i % sizes.length], buffer.length, stream.length - at);
    buffer.set(stream.subarray(at, at + count));
    assembler.onBytes(count, buffer);
    at += count;
  }
}

const bodyOf = (length: number, seed: number) =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 0xff));

describe('FrameAssembler', () => {
  it('cuts the same frames out of any split of the stream', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 100_000 })), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 50_000 })), {
          minLength: 1,
          maxLength: 5,
        }),
        (lengths, sizes) => {
          const bodies = lengths.map(bodyOf);
          const sink = new Collector();
          feed(new FrameAssembler(sink), framed(bodies), sizes);
          expect(sink.frames.length).toBe(bodies.length);
          for (const [i, frame] of sink.frames.entries()) expect(frame.equals(bodies[i])).toBe(true);
        },
      ),
    );
  });

  it('reads the middle of a large frame straight into its target', () => {
    const target = new SingleFrame();
    const sink = new Collector(() => target);
    const assembler = new FrameAssembler(sink);
    const stream = framed([bodyOf(100_000, 1)]);
    const first = assembler.nextBuffer();
    first.set(stream.subarray(0, 4));
    assembler.onBytes(4, first);
    const direct = assembler.nextBuffer();
    expect(direct.buffer).toBe(target.bytes.buffer);
    expect(direct.length).toBe(100_000);
    direct.set(stream.subarray(4, 60_004));
    assembler.onBytes(60_000, direct);
    expect(assembler.nextBuffer().length).toBe(40_000);
  });

  it('holds a frame whose target has no room, and what came behind it, until it has', () => {
    let room = false;
    const bodies = [bodyOf(10, 1), bodyOf(20, 2), bodyOf(30, 3)];
    class Waiting extends SingleFrame {
      override reserve(length: number): boolean {
        return room && super.reserve(length);
      }
    }
    const sink = new Collector(() => (sink.frames.length === 1 ? new Waiting() : new SingleFrame()));
    const assembler = new FrameAssembler(sink);
    const stream = framed(bodies);
    const buffer = assembler.nextBuffer();
    buffer.set(stream);
    expect(assembler.onBytes(stream.length, buffer)).toBe(false);
    expect([sink.frames.length, assembler.blocked]).toEqual([1, true]);
    expect(assembler.resume()).toBe(false);
    room = true;
    expect(assembler.resume()).toBe(true);
    expect([sink.frames.length, assembler.blocked]).toEqual([3, false]);
    expect(sink.frames.map((f) => f.length)).toEqual([10, 20, 30]);
    expect(sink.frames[1].equals(bodies[1])).toBe(true);
  });

  it('keeps bytes that come though it has said to stop, as TLS hands them on', () => {
    let room = false;
    const bodies = [bodyOf(40_000, 1), bodyOf(20, 2)];
    class Waiting extends SingleFrame {
      override reserve(length: number): boolean {
        return room && super.reserve(length);
      }
    }
    const sink = new Collector(() => (sink.frames.length === 0 ? new Waiting() : new SingleFrame()));
    const assembler = new FrameAssembler(sink);
    const stream = framed(bodies);
    for (let at = 0; at < stream.length; at += 16_384) {
      const buffer = assembler.nextBuffer();
      const part = stream.subarray(at, at + 16_384);
      buffer.set(part);
      expect(assembler.onBytes(part.length, buffer)).toBe(false);
    }
    room = true;
    expect(assembler.resume()).toBe(true);
    expect(sink.frames.map((f) => f.length)).toEqual([40_000, 20]);
    expect(sink.frames.every((frame, i) => frame.equals(bodies[i]))).toBe(true);
  });
});
