import fc from 'fast-check';
import { sbbfContains } from 'hyparquet/src/bloom.js';
import { xxhash64 } from 'hyparquet/src/xxhash.js';
import { describe, expect, it } from 'vitest';
import { BloomFilterBuilder, filterBytes } from '../../../src/parquet/bloom-filter.ts';
import { XxHash64 } from '../../../src/parquet/xxhash64.ts';

function hash(bytes: Uint8Array): bigint {
  const hasher = new XxHash64();
  hasher.hash(bytes, 0, bytes.length);
  return (BigInt(hasher.high >>> 0) << 32n) | BigInt(hasher.low >>> 0);
}

describe('XXH64', () => {
  it('gives the known hashes', () => {
    expect(hash(new Uint8Array(0))).toBe(0xef46db3751d8e999n);
    expect(hash(Buffer.from('a'))).toBe(0xd24ec4f1a98c6e5bn);
    expect(hash(Buffer.from('abc'))).toBe(0x44bc2cf5ad770999n);
  });

  it('agrees with another implementation for every length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(hash(bytes)).toBe(xxhash64(bytes));
      }),
    );
  });

  it('hashes a stretch as it hashes a copy of it', () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i * 7);
    const hasher = new XxHash64();
    hasher.hash(bytes, 13, 77);
    expect(BigInt(hasher.low >>> 0)).toBe(hash(bytes.slice(13, 77)) & 0xffffffffn);
  });
});

describe('bloom filter', () => {
  const key = (i: number): Uint8Array => Buffer.from(`key-${i}`);

  function build(count: number, times = 1): Uint32Array {
    const builder = new BloomFilterBuilder();
    for (let n = 0; n < times; n++) for (let i = 0; i < count; i++) builder.add(key(i), 0, key(i).length);
    return new Uint32Array(builder.build()!.buffer);
  }

  it('has every value and few others', () => {
    const filter = build(5000);
    for (let i = 0; i < 5000; i++) expect(sbbfContains(filter, xxhash64(key(i)))).toBe(true);
    let wrong = 0;
    for (let i = 5000; i < 25_000; i++) if (sbbfContains(filter, xxhash64(key(i)))) wrong++;
    expect(wrong).toBeLessThan(20_000 * 0.02);
  });

  it('is as large as the distinct values need, whatever their repetitions', () => {
    expect(build(100, 50).length).toBe(build(100).length);
    expect(build(1).byteLength).toBe(32);
    expect(filterBytes(1_000_000)).toBe(1024 * 1024);
    expect(filterBytes(100_000_000)).toBe(1024 * 1024);
  });

  it('stays at 1 MiB for more values than that serves, and loses none', () => {
    const count = 900_000;
    const filter = build(count);
    expect(filter.byteLength).toBe(1024 * 1024);
    for (let i = 0; i < count; i += 997) expect(sbbfContains(filter, xxhash64(key(i)))).toBe(true);
  });

  it('is none without values', () => {
    const builder = new BloomFilterBuilder();
    expect(builder.build()).toBeUndefined();
    builder.add(key(1), 0, 5);
    builder.clear();
    expect(builder.build()).toBeUndefined();
  });
});
