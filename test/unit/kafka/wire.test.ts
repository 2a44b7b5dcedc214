import { describe, expect, it } from 'vitest';
import { WireReader, WireWriter } from '../../../src/kafka/wire.ts';

function readerOf(bytes: Uint8Array, flexible: boolean): WireReader {
  const reader = new WireReader(bytes, 0, bytes.length, 'Test v1');
  reader.flexible = flexible;
  return reader;
}

describe.each([false, true])('wire primitives, flexible %s', (flexible) => {
  it('reads what it writes', () => {
    const id = 'AAECAwQFBgcICQoLDA0ODw';
    const long = 'ж'.repeat(1000);
    const w = new WireWriter(4).reset(flexible);
    w.int8(-1)
      .boolean(true)
      .int16(-2)
      .int32(-3)
      .int64(-4n)
      .string('Sluice')
      .string(null)
      .string('')
      .string(long);
    w.array([1, 2, 3], (n) => w.int32(n))
      .array(null, () => {})
      .array([], () => {});
    w.uuid(id)
      .uuid(null)
      .unsignedVarint(300)
      .unsignedVarint(2 ** 32 - 1);
    w.bytesLength(2)
      .raw(Uint8Array.from([8, 9]))
      .tags();
    const r = readerOf(w.copy(), flexible);
    expect([r.int8(), r.boolean(), r.int16(), r.int32(), r.int64()]).toEqual([-1, true, -2, -3, -4n]);
    expect([r.string(), r.nullableString(), r.string(), r.string()]).toEqual(['Sluice', null, '', long]);
    expect([r.array(() => r.int32()), r.arrayLength(), r.arrayLength()]).toEqual([[1, 2, 3], -1, 0]);
    expect([r.uuid(), r.uuid(), r.unsignedVarint(), r.unsignedVarint()]).toEqual([
      id,
      null,
      300,
      2 ** 32 - 1,
    ]);
    const { start, end } = r.bytesRange();
    expect([...w.view().subarray(start, end)]).toEqual([8, 9]);
    r.tags();
    expect(r.remaining).toBe(0);
  });

  it('refuses every cut of a message with PROTOCOL_ERROR', () => {
    const w = new WireWriter().reset(flexible);
    w.string('a topic')
      .array(['x', 'y'], (s) => w.string(s))
      .int64(7n)
      .bytesLength(3)
      .raw(Uint8Array.from([1, 2, 3]))
      .tags();
    const read = (bytes: Uint8Array) => {
      const r = readerOf(bytes, flexible);
      r.string();
      r.array(() => r.string());
      r.int64();
      r.bytesRange();
      r.tags();
      return r.remaining;
    };
    expect(read(w.copy())).toBe(0);
    const cuts = flexible ? w.length : w.length;
    for (let length = 0; length < cuts; length++) {
      expect(() => read(w.copy().subarray(0, length)), `cut to ${length}`).toThrow(
        /^PROTOCOL_ERROR: Test v1: /,
      );
    }
  });
});

describe('hostile lengths', () => {
  it('refuses an array of more items than bytes', () => {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32BE(0x7fffffff);
    expect(() => readerOf(bytes, false).array(() => 0)).toThrow(/an array of 2147483647 items in 4 bytes/);
    expect(() => readerOf(Buffer.from('ffffffff0f', 'hex'), true).array(() => 0)).toThrow(/PROTOCOL_ERROR/);
  });

  it('refuses negative lengths that do not mean null', () => {
    const bytes = Buffer.alloc(4, 0xff);
    bytes[3] = 0xfe;
    expect(() => readerOf(bytes, false).bytesRange()).toThrow(/a byte string of -2 bytes/);
    expect(() => readerOf(bytes, false).arrayLength()).toThrow(/an array of -2 items/);
    expect(() => readerOf(Buffer.from([0xff, 0xfe]), false).nullableString()).toThrow(/a string of -2 bytes/);
  });

  it('refuses a varint without an end', () => {
    expect(() => readerOf(Buffer.alloc(9, 0xff), true).unsignedVarint()).toThrow(/more than five bytes/);
  });

  it('refuses null where a value is required', () => {
    expect(() => readerOf(Buffer.from([0xff, 0xff]), false).string()).toThrow(
      /null where a string is required/,
    );
  });

  it('steps over unknown tagged fields, and refuses one that is longer than what is left', () => {
    const w = new WireWriter().reset(true);
    w.unsignedVarint(2)
      .unsignedVarint(0)
      .unsignedVarint(4)
      .int32(77)
      .unsignedVarint(9)
      .unsignedVarint(1)
      .int8(1);
    w.int8(5);
    const seen: number[] = [];
    const r = readerOf(w.copy(), true);
    r.tags((tag) => {
      if (tag === 0) seen.push(r.int32());
    });
    expect([seen, r.int8(), r.remaining]).toEqual([[77], 5, 0]);
    expect(() => readerOf(Buffer.from([1, 0, 100]), true).tags()).toThrow(
      /tagged field 0 of 100 bytes, 0 left/,
    );
    const liar = readerOf(Buffer.from([1, 0, 1, 1, 2, 3, 4]), true);
    expect(() => liar.tags(() => void liar.int32())).toThrow(/shorter than its content/);
  });

  it('refuses a topic id that is not one', () => {
    expect(() => new WireWriter().uuid('short')).toThrow(/not a topic id/);
  });
});
