import { describe, expect, it } from 'vitest';
import { Garbage } from '../../../src/engine/local/garbage.ts';

const MiB = 1024 * 1024;

/** A heap of which `used` stays, `young` goes with a minor and `old` with a major collection. */
function heap() {
  const state = { used: 10 * MiB, young: 0, old: 0, collections: [] as string[] };
  const collect = (options?: { type: 'minor' | 'major' }): void => {
    state.collections.push(options?.type ?? 'major');
    state.young = 0;
    if (options?.type !== 'minor') state.old = 0;
  };
  return { state, garbage: new Garbage(100 * MiB, collect, () => state.used + state.young + state.old) };
}

describe('Garbage', () => {
  it('is let be while there is little', () => {
    const { state, garbage } = heap();
    garbage.check();
    state.young = 10 * MiB;
    garbage.check();
    expect(state.collections).toEqual([]);
  });

  it('is collected as far as it takes', () => {
    const { state, garbage } = heap();
    garbage.check();
    state.young = 20 * MiB;
    garbage.check();
    expect(state.collections).toEqual(['minor']);
    state.old = 20 * MiB;
    garbage.check();
    expect(state.collections).toEqual(['minor', 'minor', 'major']);
    expect(state.old).toBe(0);
  });

  it('is not looked for again in what is used', () => {
    const { state, garbage } = heap();
    garbage.check();
    state.used = 40 * MiB;
    garbage.check();
    expect(state.collections).toEqual(['minor', 'major']);
    garbage.check();
    state.old = 10 * MiB;
    garbage.check();
    expect(state.collections.length).toBe(2);
    state.used = 5 * MiB;
    state.old = 0;
    garbage.check();
    state.old = 16 * MiB;
    garbage.check();
    expect(state.collections.length).toBe(4);
  });

  it('is really collected: buffers that nobody has go', () => {
    const garbage = new Garbage(0);
    const before = process.memoryUsage().arrayBuffers;
    let kept: Uint8Array[] = [];
    garbage.check();
    for (let i = 0; i < 32; i++) kept.push(new Uint8Array(MiB).fill(i));
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(20 * MiB);
    kept = [];
    garbage.check();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * MiB);
  });
});
