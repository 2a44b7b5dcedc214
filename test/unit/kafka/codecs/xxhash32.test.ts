import { describe, expect, it } from 'vitest';
import { xxhash32 } from '../../../../src/kafka/codecs/xxhash32.ts';

/** Values that the reference implementation (`xxhsum -H0`) prints. */
const VECTORS: [string, number][] = [
  ['', 0x02cc5d05],
  ['a', 0x550d7456],
  ['abc', 0x32d153ff],
  ['Nobody inspects the spammish repetition', 0xe2293b2f],
];

describe('xxHash32', () => {
  it.each(VECTORS)('hashes %j', (text, hash) => {
    const bytes = Buffer.from(`..${text}.`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    expect(xxhash32(bytes, view, 2, 2 + text.length)).toBe(hash);
  });
});
