/** A network that delays, trickles, cuts, resets and hangs between the pipeline and a real broker; the table is compared with what was produced. */
import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KafkaLogLine } from '../../../src/kafka/cluster.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { type Broker, startBroker } from '../../support/kafka.ts';
import { rangesOf } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { reached } from '../../support/reached.ts';
import { collect, offsetsOf } from '../../support/read-collector.ts';
import { type ProxyAction, TcpProxy } from '../../support/tcp-proxy.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';
import { everyNth, THOROUGH } from '../../support/thorough.ts';

let proxy: TcpProxy;
let broker: Broker;
let produced: Produced;
/** Two partitions of a few kilobytes each. */
let small: string;
/** Two partitions of about 200 KB each. */
let large: string;
let pipeline: TestPipeline | undefined;

beforeAll(async () => {
  proxy = await TcpProxy.listen();
  broker = await startBroker({ advertisedPort: proxy.port });
  proxy.target = { host: broker.host, port: broker.port };
  produced = new Produced(proxy.address);
  small = await createTopic(proxy.address, 'small', 2);
  large = await createTopic(proxy.address, 'large', 2);
  await fillOdd(produced, small, 2, 60, 12);
  await fillOdd(produced, large, 2, 120, 12, 2000);
});

afterEach(() => {
  proxy.heal();
  pipeline?.remove();
});

afterAll(async () => {
  await produced?.close();
  await proxy?.close();
  await broker?.stop();
});

function pipelineOf(topic: string, source: Record<string, string | number> = {}): TestPipeline {
  pipeline = new TestPipeline({
    bootstrap: proxy.address,
    topics: [topic],
    source: { 'kafka.request.timeout.ms': 500, ...source },
  });
  return pipeline;
}

async function expectExactlyOnce(topic: string): Promise<void> {
  proxy.heal();
  await checkExactlyOnce({ pipeline: pipeline!, produced, topics: [topic] });
}

describe('a slow network', () => {
  it('that delays every piece loses and doubles nothing', async () => {
    proxy.delayMs = 60;
    await pipelineOf(large).run();
    await expectExactlyOnce(large);
  });

  it('that brings one byte at a time loses and doubles nothing', async () => {
    proxy.trickle = { bytes: 1, everyMs: 0 };
    const before = proxy.forwardedBytes;
    await pipelineOf(small).run();
    expect(proxy.forwardedBytes - before).toBeGreaterThan(10_000);
    await expectExactlyOnce(small);
  });

  it('is no reason to ask again while bytes come, though an answer takes longer than a request may', async () => {
    const ranges = await rangesOf(proxy.address, large);
    const lines: KafkaLogLine[] = [];
    // A second and a half for each request, more than two for the answer with the records.
    proxy.trickle = { bytes: 2000, everyMs: 10 };
    const result = await collect(proxy.address, ranges, {
      client: { kafka: { 'kafka.request.timeout.ms': '1500' }, log: (line) => lines.push(line) },
    });
    expect(lines.filter((line) => /try again/.test(line.msg))).toEqual([]);
    for (const partition of [0, 1])
      expect(result.offsets.get(`${large}-${partition}`)).toEqual(offsetsOf(0n, 120n));
  });
});

describe('a network that hangs in the middle of an answer', () => {
  it.each([
    ['brings a byte now and then', /no whole answer within 1500 ms \(\d+ of \d+ bytes came\)/],
    [
      'brings nothing more',
      /no further byte within 300 ms \(\d+ of \d+ bytes came\)|no answer within 300 ms/,
    ],
    ['refuses new connections', /ECONNREFUSED/],
  ])('and %s ends the run at the deadline, with the fact; a later run goes on', async (how, fact) => {
    const source = { 'kafka.request.deadline': '1500 ms', 'kafka.request.timeout.ms': 300 };
    const held = proxy.holdAfter(40_000);
    const running = pipelineOf(large, source).run();
    const failed = expect(running).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      exitCode: 69,
      retryable: true,
      message: expect.stringMatching(
        new RegExp(
          `gave up reading ${large}-\\d from offset \\d+ after .*kafka.request.deadline.*${fact.source}`,
        ),
      ),
    });
    await reached(held, running);
    if (how === 'refuses new connections') await proxy.down();
    if (how === 'brings a byte now and then') {
      proxy.trickle = { bytes: 1, everyMs: 50 };
      proxy.release();
    }
    await failed;
    expect(pipeline!.files(pipeline!.warehouse).filter((file) => file.endsWith('.parquet'))).toEqual([]);
    proxy.heal();
    await proxy.up();
    await pipeline!.run();
    await expectExactlyOnce(large);
  });
});

/** Where an answer is cut: in each byte of the length and the header, in the versions, in the metadata, in the records. */
const PLACES = [
  ...Array.from({ length: THOROUGH ? 120 : 5 }, (_, i) => i + 1),
  ...Array.from({ length: 100 }, (_, i) => 121 + 67 * i).filter((_, i) => i % everyNth(10) === 0),
];

describe.each<ProxyAction>(['cut', 'reset'])('a connection that is %s', (action) => {
  it('after any number of bytes, three times over, loses and doubles nothing', async () => {
    const ranges = await rangesOf(proxy.address, small);
    for (const afterBytes of PLACES) {
      proxy.arm({ action, afterBytes, times: 3 });
      const result = await collect(proxy.address, ranges, { fetchMaxBytes: 4096 });
      for (const partition of [0, 1])
        expect(result.offsets.get(`${small}-${partition}`), `after ${afterBytes} bytes`).toEqual(
          offsetsOf(0n, 60n),
        );
      proxy.arm(null);
    }
  });
});

it('faults of every kind in any order lose and double nothing', async () => {
  const seed = Number(process.env.SLUICE_SEED ?? randomInt(2 ** 31));
  const random = generator(seed);
  const below = (n: number) => Math.floor(random() * n);
  for (let round = 0; round < (THOROUGH ? 20 : 2); round++) {
    const run = pipelineOf(large, { maxOffsetsPerTrigger: 60 });
    let going = true;
    const next = (): void => {
      if (!going) return;
      proxy.delayMs = below(3) === 0 ? below(20) : 0;
      proxy.trickle = below(4) === 0 ? { bytes: 1 + below(3000), everyMs: below(3) } : null;
      const action = (['cut', 'reset', 'stall'] as const)[below(3)];
      proxy.arm({ action, afterBytes: 1 + below(below(2) === 0 ? 200 : 60_000) });
      void proxy.nextStrike().then(next);
    };
    next();
    // Faults without end would end in the deadline, as they should: so they stop after a while.
    const enough = setTimeout(() => {
      going = false;
      proxy.heal();
    }, 3000);
    try {
      await run.run();
      clearTimeout(enough);
      going = false;
      await expectExactlyOnce(large);
    } catch (e) {
      throw new Error(`with SLUICE_SEED=${seed}, round ${round}: ${(e as Error).message}`, { cause: e });
    } finally {
      going = false;
      clearTimeout(enough);
      proxy.heal();
      run.remove();
    }
  }
});

/** mulberry32: numbers in [0, 1) that a seed repeats. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
