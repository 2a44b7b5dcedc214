import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OffsetRange } from '../../../src/core/offset-range.ts';
import { splitTasks } from '../../../src/engine/split-tasks.ts';

const range = (topic: string, partition: number, from: number, until: number): OffsetRange => ({
  topic,
  partition,
  from: BigInt(from),
  until: BigInt(until),
});
const sizes = (tasks: OffsetRange[][]): number[] =>
  tasks.map((task) => Number(task.reduce((sum, r) => sum + (r.until - r.from), 0n)));

describe('splitTasks', () => {
  it('no task reads more than maxRecordsPerPartition, however few workers there are', () => {
    expect(sizes(splitTasks([range('a', 0, 7, 107), range('a', 1, 0, 10)], 1, null, 30n))).toEqual([
      27, 28, 27, 28,
    ]);
    expect(sizes(splitTasks([range('a', 0, 0, 10)], 2, null, 1_000n))).toEqual([10]);
  });

  it('makes no more than 10,000 tasks for it, and none without an offset', () => {
    expect(splitTasks([range('a', 0, 0, 1_000_000)], 2, null, 1n)).toHaveLength(10_000);
    expect(sizes(splitTasks([range('a', 0, 0, 3)], 8, 8))).toEqual([1, 1, 1]);
  });

  it('the parts are all of the ranges, in order, and under the limit', () => {
    const ranges = fc.array(fc.tuple(fc.nat(3000), fc.nat(3000)), { maxLength: 12 });
    fc.assert(
      fc.property(
        ranges,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 10, max: 700 }),
        (given, w, max) => {
          const asked = given.map(([from, size], i) => range(`t${i % 3}`, i, from, from + size));
          const tasks = splitTasks(asked, w, null, BigInt(max));
          for (const size of sizes(tasks)) expect(size).toBeLessThanOrEqual(max);
          for (const r of asked) {
            let at = r.from;
            for (const part of tasks.flat().filter((p) => p.partition === r.partition)) {
              expect(part.from).toBe(at);
              expect(part.until > part.from).toBe(true);
              at = part.until;
            }
            expect(at).toBe(r.until);
          }
        },
      ),
    );
  });

  it('gives a small batch to one task, so that it makes few files', () => {
    expect(splitTasks([range('a', 0, 0, 10), range('a', 1, 5, 5), range('b', 0, 0, 10)], 4, null)).toEqual([
      [range('a', 0, 0, 10), range('b', 0, 0, 10)],
    ]);
  });

  it('keeps a topic together and cuts where a task is full', () => {
    const tasks = splitTasks(
      [range('a', 0, 0, 100_000), range('b', 0, 0, 60_000), range('b', 1, 0, 40_000)],
      2,
      null,
    );
    expect(tasks).toEqual([
      [range('a', 0, 0, 100_000)],
      [range('b', 0, 0, 60_000), range('b', 1, 0, 40_000)],
    ]);
  });

  it('splits one partition over all workers', () => {
    expect(sizes(splitTasks([range('a', 0, 7, 1_000_007)], 4, null))).toEqual([
      250_000, 250_000, 250_000, 250_000,
    ]);
  });

  it('splits small batches where minPartitions asks for it, up to the workers', () => {
    expect(sizes(splitTasks([range('a', 0, 0, 100)], 2, 10))).toEqual([50, 50]);
  });

  it('plans nothing for empty ranges', () => {
    expect(splitTasks([range('a', 0, 3, 3)], 2, null)).toEqual([]);
  });

  it('deals every offset once, each partition once a task, evenly', () => {
    const arbitrary = fc.array(fc.tuple(fc.nat(1_000_000), fc.nat(400_000)), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(arbitrary, fc.integer({ min: 1, max: 8 }), (specs, workers) => {
        const ranges = specs.map(([from, size], partition) => range('t', partition, from, from + size));
        const tasks = splitTasks(ranges, workers, null);
        expect(tasks.length).toBeLessThanOrEqual(workers);
        const pieces = Map.groupBy(tasks.flat(), (r) => r.partition);
        for (const whole of ranges) {
          let at = whole.from;
          for (const piece of pieces.get(whole.partition) ?? []) {
            expect(piece.from).toBe(at);
            at = piece.until;
          }
          expect(at).toBe(whole.until);
        }
        for (const task of tasks) expect(new Set(task.map((r) => r.partition)).size).toBe(task.length);
        const total = sizes(tasks).reduce((a, b) => a + b, 0);
        for (const size of sizes(tasks)) expect(size).toBeLessThanOrEqual((total / tasks.length) * 1.11 + 1);
      }),
    );
  });
});
