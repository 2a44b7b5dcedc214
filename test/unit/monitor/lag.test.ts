import { describe, expect, it } from 'vitest';
import { behindLatest, partitionLag, totalLag } from '../../../src/monitor/lag.ts';

describe('partitionLag (case C31)', () => {
  it.each([
    [
      'an end that was read before the position',
      900n,
      { latest: 880n, highWatermark: 900n },
      { lag: 0n, lost: 0n, rewound: false },
    ],
    [
      'an empty log after retention',
      100n,
      { latest: 500n, logStart: 500n },
      { lag: 0n, lost: 400n, rewound: false },
    ],
    [
      'a log whose first part is gone',
      100n,
      { latest: 560n, logStart: 500n },
      { lag: 60n, lost: 400n, rewound: false },
    ],
    ['the ordinary case', 100n, { latest: 160n, logStart: 0n }, { lag: 60n, lost: 0n, rewound: false }],
    ['everything read', 160n, { latest: 160n, logStart: 0n }, { lag: 0n, lost: 0n, rewound: false }],
    [
      'an open transaction',
      160n,
      { latest: 150n, highWatermark: 200n, logStart: 0n },
      { lag: 0n, lost: 0n, rewound: false },
    ],
    [
      'a log that was cut',
      500n,
      { latest: 300n, highWatermark: 300n, logStart: 0n },
      { lag: 0n, lost: 0n, rewound: true },
    ],
    [
      'offsets beyond 2^53',
      9007199254740993n,
      { latest: 9007199254740996n },
      { lag: 3n, lost: 0n, rewound: false },
    ],
  ])('%s', (_name, position, ends, expected) => {
    expect(partitionLag(position, ends)).toEqual(expected);
  });
});

it('behindLatest prints as Java does', () => {
  expect(behindLatest([{ until: 5n, latest: 5n }])).toEqual({
    minOffsetsBehindLatest: '0',
    maxOffsetsBehindLatest: '0',
    avgOffsetsBehindLatest: '0.0',
  });
  expect(
    behindLatest([
      { until: 5n, latest: 9n },
      { until: 9n, latest: 8n },
      { until: 0n, latest: 3n },
    ])?.avgOffsetsBehindLatest,
  ).toBe(String(7 / 3));
  expect(behindLatest([])).toBeUndefined();
});

it('totalLag goes over all topics, and a new partition counts from its start', () => {
  const latest = new Map([
    [
      'a',
      new Map([
        [0, { latest: 10n, logStart: 0n }],
        [1, { latest: 50n, logStart: 40n }],
      ]),
    ],
    ['b', new Map([[0, { latest: 7n }]])],
  ]);
  expect(totalLag(new Map([['a', new Map([[0, 4n]])]]), latest)).toBe(6n + 10n + 7n);
});
