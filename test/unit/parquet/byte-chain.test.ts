import { describe, expect, it } from 'vitest';
import { BufferPool } from '../../../src/parquet/byte-chain.ts';

const KiB = 1024;

describe('BufferPool', () => {
  it('hands out again what was given back', () => {
    const pool = new BufferPool(64 * KiB);
    const first = pool.take(3000);
    expect(first.length).toBe(4 * KiB);
    pool.give(first);
    expect(pool.idleBytes).toBe(4 * KiB);
    expect(pool.take(4096)).toBe(first);
    expect(pool.idleBytes).toBe(0);
  });

  it('keeps no more than its bound, what is in use included', () => {
    const pool = new BufferPool(64 * KiB);
    const taken = Array.from({ length: 6 }, () => pool.take(16 * KiB));
    pool.give(taken[0]);
    expect(pool.idleBytes).toBe(0);
    pool.give(taken[1]);
    expect(pool.idleBytes).toBe(0);
    for (const buffer of taken.slice(2)) pool.give(buffer);
    expect(pool.idleBytes).toBe(64 * KiB);
  });

  it('makes room for other sizes, the largest first', () => {
    const pool = new BufferPool(64 * KiB);
    const large = pool.take(32 * KiB);
    const small = pool.take(8 * KiB);
    pool.give(large);
    pool.give(small);
    pool.take(16 * KiB);
    expect(pool.idleBytes).toBe(40 * KiB);
    pool.take(16 * KiB);
    expect(pool.idleBytes).toBe(8 * KiB);
    expect(pool.take(8 * KiB)).toBe(small);
  });

  it('forgets what was not given back when it is resized', () => {
    const pool = new BufferPool(64 * KiB);
    pool.take(64 * KiB);
    pool.give(pool.take(16 * KiB));
    expect(pool.idleBytes).toBe(0);
    pool.resize(32 * KiB);
    const buffer = pool.take(16 * KiB);
    pool.give(buffer);
    expect(pool.idleBytes).toBe(16 * KiB);
    pool.resize(8 * KiB);
    expect(pool.idleBytes).toBe(0);
  });

  it('keeps less for later while somebody else holds a part of its bound', () => {
    const pool = new BufferPool(64 * KiB);
    const taken = Array.from({ length: 4 }, () => pool.take(16 * KiB));
    for (const buffer of taken) pool.give(buffer);
    pool.reserve(40 * KiB);
    expect(pool.idleBytes).toBe(16 * KiB);
    pool.reserve(0);
    expect(pool.take(16 * KiB)).toBe(taken[0]);
  });

  it('keeps a little where there is no room, so that the next file has the same buffers', () => {
    const pool = new BufferPool(32 * KiB, 16 * KiB);
    const taken = Array.from({ length: 4 }, () => pool.take(16 * KiB));
    pool.give(taken[0]);
    pool.give(taken[1]);
    expect(pool.idleBytes).toBe(16 * KiB);
    expect(pool.take(16 * KiB)).toBe(taken[0]);
  });
});
