import { describe, expect, it } from 'vitest';
import { parseResetTarget, resetCommand } from '../../../../src/engine/reset/reset-request.ts';
import { resetRequest } from '../../../support/reset.ts';

const topic = { kind: 'topic', topic: 'a', partition: null } as const;

describe('parseResetTarget', () => {
  it('takes words, offsets and maps', () => {
    expect(parseResetTarget('unread', topic)).toEqual({ kind: 'unread' });
    expect(parseResetTarget('9223372036854775807', topic)).toEqual({
      kind: 'offset',
      offset: 2n ** 63n - 1n,
    });
    expect(parseResetTarget('{"0":9007199254740993,"3":-2}', topic)).toEqual({
      kind: 'map',
      offsets: new Map([
        [
          'a',
          new Map([
            [0, 9_007_199_254_740_993n],
            [3, -2n],
          ]),
        ],
      ]),
    });
    expect(parseResetTarget('{"b":{"1":2}}', { kind: 'cluster' })).toEqual({
      kind: 'map',
      offsets: new Map([['b', new Map([[1, 2n]])]]),
    });
  });

  it.each([
    '',
    'newest',
    '-1',
    '9223372036854775808',
    '{}',
    '[]',
    '{"0":1.5}',
    '{"0":-3}',
    '{"x":1}',
    '{"01":1}',
    '{"0":"1"}',
    '{"4294967296":1}',
    '{"0":1',
  ])('refuses %s', (text) => {
    expect(() => parseResetTarget(text, topic)).toThrow(/^USAGE: --to/);
  });

  it('refuses an offset for a cluster and a map for one partition', () => {
    expect(() => parseResetTarget('5', { kind: 'cluster' })).toThrow(/^USAGE/);
    expect(() => parseResetTarget('{"a":5}', { kind: 'cluster' })).toThrow(/^USAGE/);
    expect(() => parseResetTarget('{"0":5}', { ...topic, partition: 0 })).toThrow(/^USAGE/);
  });
});

describe('resetCommand', () => {
  it('is what a person would type again', () => {
    expect(resetCommand(resetRequest('a', 'earliest'))).toBe(
      'sluice checkpoint reset --topic a --to earliest',
    );
    expect(resetCommand(resetRequest('a', '5', { partition: 3, allowDuplicates: true }))).toBe(
      'sluice checkpoint reset --topic a --partition 3 --to 5 --allow-duplicates',
    );
    expect(resetCommand(resetRequest('a', '{"0":5}', { giveUpBatch: true }))).toBe(
      `sluice checkpoint reset --topic a --to '{"0":5}' --give-up-batch`,
    );
    expect(resetCommand(resetRequest(null, 'latest'))).toBe('sluice checkpoint reset --cluster --to latest');
  });
});
