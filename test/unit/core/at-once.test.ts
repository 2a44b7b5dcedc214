import { describe, expect, it } from 'vitest';
import { eachAtOnce } from '../../../src/core/at-once.ts';

describe('eachAtOnce', () => {
  it('takes every item, no more than so many at a time', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await eachAtOnce([1, 2, 3, 4, 5, 6, 7], 3, async (n) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      await Promise.resolve();
      running--;
      done.push(n);
    });
    expect(done.sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(most).toBe(3);
    await eachAtOnce([], 3, () => Promise.reject(new Error('none')));
  });

  it('begins nothing after an error, and lets what was begun end', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const run = eachAtOnce([1, 2, 3, 4], 2, async (n) => {
      begun.push(n);
      if (n === 1) throw new Error('first');
      await new Promise((resolve) => setImmediate(resolve));
      ended.push(n);
    });
    await expect(run).rejects.toThrow('first');
    expect(begun).toEqual([1, 2]);
    expect(ended).toEqual([2]);
  });
});
