import { describe, expect, it } from 'vitest';
import { FramePool } from '../../../src/kafka/frame-pool.ts';

describe('FramePool', () => {
  it('lends what is left above the base sizes, to one large frame after another', () => {
    const pool = new FramePool(1000);
    const called: string[] = [];
    const a = pool.create(100, () => called.push('a'));
    const b = pool.create(100, () => called.push('b'));
    expect(a.reserve(100)).toBe(true);
    expect(pool.used).toBe(200);
    expect(a.reserve(700)).toBe(true);
    expect(pool.used).toBe(800);
    expect(b.reserve(600)).toBe(false);
    expect(b.reserve(600)).toBe(false);
    expect(called).toEqual([]);
    a.release();
    expect(called).toEqual(['b']);
    expect(a.bytes.length).toBe(100);
    expect(b.reserve(600)).toBe(true);
    expect(pool.used).toBe(700);
    b.release();
    expect(pool.used).toBe(200);
  });

  it('refuses at once what will never fit', () => {
    const pool = new FramePool(1000);
    const a = pool.create(100, () => {});
    pool.create(100, () => {});
    expect(a.reserve(900)).toBe(true);
    a.release();
    expect(() => a.reserve(901)).toThrow(/^MEMORY_LIMIT: .*901 bytes/);
  });

  it('takes back everything of a frame whose connection ended', () => {
    const pool = new FramePool(1000);
    const a = pool.create(100, () => {});
    const b = pool.create(100, () => {});
    a.reserve(800);
    b.reserve(800);
    pool.remove(a);
    expect(pool.used).toBe(100);
    expect(b.reserve(800)).toBe(true);
    pool.remove(b);
    expect(pool.used).toBe(0);
  });
});
