import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { backoffMs, retrying, sleep } from '../../../src/kafka/retry.ts';

const passing = new SluiceError('BROKER_ERROR', 'not now', { retryable: true, context: { kafkaError: 7 } });

describe('retrying', () => {
  const options = { deadlineMs: 200, random: () => 0, now: () => performance.now() };

  it('returns the first success', async () => {
    let tries = 0;
    const result = await retrying('trying', options, async () => {
      if (++tries < 3) throw passing;
      return tries;
    });
    expect(result).toBe(3);
  });

  it('does not repeat what will not pass', async () => {
    let tries = 0;
    const fatal = new SluiceError('KAFKA_AUTH', 'no');
    await expect(
      retrying('trying', options, async () => {
        tries++;
        throw fatal;
      }),
    ).rejects.toBe(fatal);
    await expect(
      retrying('trying', options, async () => {
        tries++;
        throw new TypeError('a bug');
      }),
    ).rejects.toThrow(TypeError);
    expect(tries).toBe(2);
  });

  it('stops at the deadline with what it was doing, the number of tries and the last error', async () => {
    let clock = 0;
    const told: number[] = [];
    const retry = {
      ...options,
      deadlineMs: 1000,
      now: () => clock,
      onRetry: (_e: SluiceError, tries: number) => void told.push(tries),
    };
    const attempt = retrying('asking for the metadata of topic t', retry, async () => {
      clock += 400;
      throw passing;
    });
    await expect(attempt).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      message: expect.stringMatching(
        /gave up asking for the metadata of topic t after 1\.2 s and 3 tries.*the last error was: BROKER_ERROR: not now/,
      ),
      context: { kafkaError: 7, tries: 3 },
      cause: passing,
    });
    expect(told).toEqual([1, 2]);
  });

  it('ends at once on an abort, also in a wait', async () => {
    const aborter = new AbortController();
    const reason = new Error('enough');
    const waiting = sleep(100_000, aborter.signal);
    const trying = retrying('trying', { ...options, deadlineMs: 1e9, signal: aborter.signal }, async () => {
      throw passing;
    });
    aborter.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(trying).rejects.toBe(reason);
  });

  it('waits longer from try to try, up to a bound, with jitter above one half', () => {
    expect([0, 1, 2, 3].map((n) => backoffMs(n, () => 1))).toEqual([50, 100, 200, 400]);
    expect([0, 1, 2, 3].map((n) => backoffMs(n, () => 0))).toEqual([25, 50, 100, 200]);
    expect(backoffMs(1000, () => 1)).toBe(3000);
  });
});
