import { describe, expect, it } from 'vitest';
import { compileTopicRegex } from '../../../src/core/topic-regex.ts';

const matches = (pattern: string, topics: string[]): string[] =>
  topics.filter((topic) => compileTopicRegex(pattern).matches(topic));

describe('compileTopicRegex', () => {
  // What java.util.regex.Pattern.matcher(topic).matches() says of the same.
  it.each<[string, string[], string[]]>([
    ['orders', ['orders'], ['orders-eu', 'my-orders', 'Orders']],
    [' orders-.* ', ['orders-', 'orders-eu'], ['orders']],
    ['a|bc', ['a', 'bc'], ['abc', 'ac']],
    ['^orders.+$', ['orders1'], ['orders']],
    ['\\Aa\\d{2,3}\\z', ['a12', 'a123'], ['a1', 'a1234']],
    ['ads\\.(clicks|views)', ['ads.clicks'], ['adsxclicks']],
    ['(?i)ORDERS-[a-c]+', ['orders-A', 'Orders-abc'], ['orders-d']],
    ['\\Qa.b\\E.*', ['a.b', 'a.bc'], ['axb']],
    ['a\\-b\\_c', ['a-b_c'], ['a_b']],
    ['[\\w-]+', ['a-b_c'], ['a.b']],
    ['[^.]+', ['a-b'], ['a.b']],
    ['[a-c.\\-]+', ['a.b-c'], ['d']],
    ['[]a]', ['a'], ['b']],
    ['\\p{Alpha}+\\p{Digit}', ['abc1'], ['1a', 'ab']],
    ['[\\p{Lower}_]+', ['a_b'], ['A_b']],
    ['(a)\\1', ['aa'], ['ab']],
    ['(?<x>a)-\\k<x>', ['a-a'], ['a-b']],
    ['(?!test-).*', ['prod-a'], ['test-a']],
    ['.*(?<!-dlq)', ['orders'], ['orders-dlq']],
    ['a+?b', ['aab'], ['b']],
    ['a\\x2db', ['a-b'], ['axb']],
  ])('%s', (pattern, yes, no) => {
    expect(matches(pattern, [...yes, ...no])).toEqual(yes);
  });

  it.each([
    ['', /is empty/],
    ['a*+', /character 3: possessive/],
    ['(?>a)b', /character 1: atomic/],
    ['a(?i)b', /character 2: flags are supported at the very beginning/],
    ['(?i:a)', /flags are supported/],
    ['(?x)a b', /flag \(\?x\)/],
    ['[a-z&&[^b]]', /&&/],
    ['[a[bc]]', /a class inside of a class/],
    ['[abc', /character 1: \[ is not closed/],
    ['a{', /number of repetitions/],
    ['\\Ga', /\\G is not supported/],
    ['a\\', /escapes nothing/],
    ['\\p{Greek}', /\\p\{Greek\} is not supported/],
    ['\\0101', /\\0 is not supported/],
    ['(a', /Unterminated group/],
    ['a**', /Nothing to repeat/],
    ['(a)\\2', /Invalid escape/],
    ['[z-a]', /out of order/],
  ])('refuses %s', (pattern, message) => {
    expect(() => compileTopicRegex(pattern)).toThrow(message);
    expect(() => compileTopicRegex(pattern)).toThrow(/CONFIG_INVALID: subscribePattern/);
  });

  it('tells a match of a part, which Spark would take', () => {
    const pattern = compileTopicRegex('orders');
    expect(pattern.matchesPart('my-orders-eu')).toBe(true);
    expect(pattern.matchesPart('clicks')).toBe(false);
  });
});
