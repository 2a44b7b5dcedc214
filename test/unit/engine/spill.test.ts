import { describe, expect, it } from 'vitest';
import { RowBlock } from '../../../src/engine/local/row-block.ts';
import { ALL_RAW, Spill } from '../../../src/engine/local/spill.ts';
import { bronzeTarget, columnsOf, type TestRecord, topicTargets } from '../../support/blocks.ts';

function blockOf(records: readonly TestRecord[], partition: number): RowBlock {
  const block = new RowBlock();
  block.load(topicTargets(bronzeTarget()), partition, columnsOf([...records]));
  return block;
}

const OWNER = { raw: ALL_RAW };

const run = (key: string, until: number, hour: number) => ({
  key,
  until,
  hour,
  dt: '2026-01-01',
  partition: ['2026-01-01', hour],
});

/** `key/hour: partition:offset=value ...` of each partition. */
function contentOf(spill: Spill): string[] {
  return spill.take().map(({ run: { key, hour }, forEachStretch }) => {
    const rows: string[] = [];
    forEachStretch((block, from, until) => {
      for (let row = from; row < until; row++) {
        const value = block.columns.values.get(row);
        const text = value === null ? 'null' : Buffer.from(value).toString();
        rows.push(`${block.partition}:${block.columns.offsets.getNumber(row)}=${text}`);
      }
    });
    return `${key}/${hour}: ${rows.join(' ')}`;
  });
}

describe('Spill', () => {
  it('gives the rows back by partition, each in the order in which it came', () => {
    const spill = new Spill();
    const first = blockOf(
      [0, 1, 2, 3, 4].map((offset) => ({ offset, ms: 1000, value: offset === 2 ? null : `v${offset}` })),
      0,
    );
    spill.add(OWNER, first, 0, run('b', 2, 2));
    spill.add(OWNER, first, 2, run('a', 3, 1));
    spill.add(OWNER, first, 3, run('b', 5, 2));
    const second = blockOf([{ offset: 7, ms: 5, value: '' }], 1);
    spill.add(OWNER, second, 0, run('b', 1, 2));
    expect(spill.rows).toBe(6);
    expect(contentOf(spill)).toEqual(['a/1: 0:2=null', 'b/2: 0:0=v0 0:1=v1 0:3=v3 0:4=v4 1:7=']);
    expect(spill.rows).toBe(0);
    expect(spill.bytes).toBe(0);
    expect(spill.take()).toEqual([]);
  });

  it('keeps rows of one partition apart that differ in the hour', () => {
    const spill = new Spill();
    const block = blockOf(
      [0, 1].map((offset) => ({ offset, ms: 0, value: 'v' })),
      0,
    );
    spill.add(OWNER, block, 0, run('a', 1, 5));
    spill.add(OWNER, block, 1, run('a', 2, 6));
    expect(contentOf(spill)).toEqual(['a/5: 0:0=v', 'a/6: 0:1=v']);
  });

  it('counts what it holds, and begins new blocks instead of growing one without end', () => {
    const spill = new Spill();
    const value = 'x'.repeat(100_000);
    for (let offset = 0; offset < 40; offset++)
      spill.add(OWNER, blockOf([{ offset, ms: 0, value }], 0), 0, run('a', 1, 0));
    expect(spill.bytes).toBeGreaterThan(4_000_000);
    expect(spill.bytes).toBeLessThan(10_000_000);
    const blocks = new Set<RowBlock>();
    const offsets: number[] = [];
    for (const { forEachStretch } of spill.take()) {
      forEachStretch((block, from, until) => {
        blocks.add(block);
        for (let row = from; row < until; row++) offsets.push(block.columns.offsets.getNumber(row));
      });
    }
    expect(offsets).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect(blocks.size).toBeGreaterThan(3);
  });

  it('fills the same memory again once what was taken is written, for any topic of the same columns', () => {
    const spill = new Spill();
    const big = 'x'.repeat(50_000);
    for (let offset = 0; offset < 60; offset++)
      spill.add(OWNER, blockOf([{ offset, ms: 0, value: big }], 0), 0, run('a', 1, 0));
    const held = spill.bytes;
    expect(contentOf(spill).length).toBe(1);
    expect([spill.bytes, spill.idleBytes]).toEqual([0, 0]);
    spill.recycle();
    expect([spill.bytes, spill.idleBytes]).toEqual([0, held]);
    spill.add(OWNER, blockOf([{ offset: 900, ms: 0, value: 'small' }], 3), 0, run('b', 1, 1));
    expect(spill.bytes + spill.idleBytes).toBe(held);
    expect(spill.idleBytes).toBeLessThan(held);
    expect(contentOf(spill)).toEqual(['b/1: 3:900=small']);
    spill.recycle();
    spill.dropIdle(1);
    expect(spill.idleBytes).toBeLessThan(held);
    spill.dropIdle(held);
    expect(spill.idleBytes).toBe(0);
  });
});
