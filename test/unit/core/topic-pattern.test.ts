import { describe, expect, it } from 'vitest';
import { isTopicPattern, matchesTopicPattern } from '../../../src/core/topic-pattern.ts';

describe('matchesTopicPattern', () => {
  it.each([
    ['*', 'anything', true],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['ad-*', 'ad-clicks', true],
    ['ad-*', 'ad-', true],
    ['ad-*', 'bad-clicks', false],
    ['*-clicks', 'ad-clicks', true],
    ['*-clicks', 'ad-clicks-2', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a?c', 'abbc', false],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['**', 'x', true],
    ['?*', '', false],
    ['?*', 'x', true],
    ['a.c', 'abc', false],
    ['a.c', 'a.c', true],
    ['[ab]', 'a', false],
    ['A', 'a', false],
    ['*.dlq', 'x.dlq.dlq', true],
    ['*ab', 'aab', true],
    ['*aab', 'aaaab', true],
  ])('%s and %s: %s', (pattern, topic, matches) => expect(matchesTopicPattern(pattern, topic)).toBe(matches));

  it('takes no exponential time', () => {
    expect(matchesTopicPattern(`${'*a'.repeat(30)}b`, 'a'.repeat(249))).toBe(false);
    expect(matchesTopicPattern('*'.repeat(10_000), 'a'.repeat(249))).toBe(true);
  });

  it('tells a pattern from a name', () => {
    expect(['ad-*', 'a?', 'ad-clicks', 'a.b'].map(isTopicPattern)).toEqual([true, true, false, false]);
  });
});
