import { describe, expect, it } from 'vitest';
import { murmur2, murmur2Partition } from '../../../src/kafka/murmur2.ts';

describe('murmur2', () => {
  // The vectors of Apache Kafka's own UtilsTest.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('%s', (text, expected) => {
    expect(murmur2(Buffer.from(text))).toBe(expected);
  });

  it('takes bytes as unsigned, and gives partitions from 0', () => {
    const partitions = new Set<number>();
    for (let i = 0; i < 256; i++) partitions.add(murmur2Partition(Uint8Array.from([255, i, 128]), 7));
    expect([...partitions].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(murmur2Partition(new Uint8Array(0), 1)).toBe(0);
  });
});
