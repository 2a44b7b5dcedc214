import { describe, expect, it } from 'vitest';
import { editDistance, nearestName } from '../../../src/core/nearest-name.ts';

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
    ['trigegr', 'trigger', 1],
    ['ab', 'ba', 1],
  ])('%j to %j is %d', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
    expect(editDistance(b, a)).toBe(distance);
  });
});

describe('nearestName', () => {
  const known = ['memory', 'trigger', 'tables', 'maxOffsetsPerTrigger', 'kafka.bootstrap.servers'];
  it.each([
    ['memroy', 'memory'],
    ['MEMORY', 'memory'],
    ['table', 'tables'],
    ['maxOffsetsPerTriger', 'maxOffsetsPerTrigger'],
    ['max_offsets_per_trigger', 'maxOffsetsPerTrigger'],
    ['kafka.bootstrap.server', 'kafka.bootstrap.servers'],
  ])('%s is meant as %s', (name, meant) => {
    expect(nearestName(name, known)).toBe(meant);
  });

  it.each(['', 'x', 'landing', 'zzzzzzzzzzzz', 'm'.repeat(10_000)])('%j is nothing that we know', (name) => {
    expect(nearestName(name, known)).toBeUndefined();
  });
});
