import { expect, it } from 'vitest';
import { RowBlock } from '../../../src/engine/local/row-block.ts';
import { RowGather } from '../../../src/engine/local/row-gather.ts';
import { ALL_RAW } from '../../../src/engine/local/spill.ts';
import { columnsOf, topicTargets } from '../../support/blocks.ts';

function blockOf(count: number): RowBlock {
  const block = new RowBlock();
  const records = Array.from({ length: count }, (_, n) => ({
    offset: n,
    ms: n % 3 === 0 ? null : n,
    value: `v${n}`,
  }));
  block.load(topicTargets(), 1, columnsOf(records));
  return block;
}

it('brings the rows of a partition together, in their order', () => {
  const block = blockOf(20);
  const gather = new RowGather(ALL_RAW);
  const numbers = gather.room(20);
  for (let row = 0; row < 20; row++) numbers[row] = row % 4;
  expect(gather.isFragmented(2, 18)).toBe(true);
  const found = new Map<number, string[]>();
  gather.forEach(block, 2, 18, (number, { columns, timestampsMicros, partition }, rows) => {
    expect(partition).toBe(1);
    const texts = Array.from({ length: rows }, (_, row) => {
      const time = timestampsMicros.isNull(row) ? null : timestampsMicros.getNumber(row);
      return `${columns.offsets.getNumber(row)} ${Buffer.from(columns.values.get(row)!)} ${time}`;
    });
    found.set(number, texts);
  });
  expect([...found.keys()].sort()).toEqual([0, 1, 2, 3]);
  expect(found.get(0)).toEqual(['4 v4 4000', '8 v8 8000', '12 v12 null', '16 v16 16000']);
  expect([...found.values()].flat().length).toBe(16);
});

it('leaves rows alone that follow each other anyway', () => {
  const gather = new RowGather(ALL_RAW);
  const numbers = gather.room(400);
  for (let row = 0; row < 400; row++) numbers[row] = row < 200 ? 1 : 2;
  expect(gather.isFragmented(0, 400)).toBe(false);
  expect(gather.isFragmented(0, 50)).toBe(false);
});
