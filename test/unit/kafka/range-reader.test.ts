import { afterEach, describe, expect, it } from 'vitest';
import type { KafkaLogLine } from '../../../src/kafka/cluster.ts';
import { type FakeBatch, FakeCluster, type FetchOverride, topicId } from '../../support/fake-cluster.ts';
import { collect, offsetsOf } from '../../support/read-collector.ts';
import {
  type BatchOptions,
  encodeControlBatch,
  encodeRecordBatch,
} from '../../support/record-batch-encoder.ts';

let cluster: FakeCluster;

afterEach(() => cluster.stop());

/** A batch of the given offsets. */
function batch(offsets: readonly number[], options: BatchOptions & { valueBytes?: number } = {}): FakeBatch {
  const records = offsets.map((o) => ({
    offset: BigInt(o),
    timestamp: 1_784_000_000_000n,
    key: `k${o}`,
    value: `v${o}`.padEnd(options.valueBytes ?? 0, '.'),
  }));
  const bytes = encodeRecordBatch(records, options);
  const first = options.baseOffset ?? BigInt(offsets[0]);
  return { first, last: options.lastOffset ?? BigInt(offsets.at(-1)!), bytes };
}

/** Batches of `per` records over [from, until). */
function batches(
  from: number,
  until: number,
  per = 10,
  options: BatchOptions & { valueBytes?: number } = {},
): FakeBatch[] {
  const all: FakeBatch[] = [];
  for (let at = from; at < until; at += per) {
    all.push(
      batch(
        Array.from({ length: Math.min(per, until - at) }, (_, i) => at + i),
        options,
      ),
    );
  }
  return all;
}

describe('exact ranges', () => {
  it('reads [from, until) of several partitions, cutting batches at both ends', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('a', [{ batches: batches(0, 100) }, { batches: batches(50, 300, 7) }]);
    cluster.topic('b', [{ batches: batches(0, 5) }]);
    const result = await collect(cluster.bootstrap, [
      { topic: 'a', partition: 0, from: 13n, until: 95n },
      { topic: 'a', partition: 1, from: 50n, until: 300n },
      { topic: 'b', partition: 0, from: 4n, until: 5n },
    ]);
    expect(result.offsets.get('a-0')).toEqual(offsetsOf(13n, 95n));
    expect(result.offsets.get('a-1')).toEqual(offsetsOf(50n, 300n));
    expect(result.offsets.get('b-0')).toEqual([4n]);
    expect(result.cursors.map((c) => [c.position, c.rows, c.holes])).toEqual([
      [95n, 82, 0],
      [300n, 250, 0],
      [5n, 1, 0],
    ]);
    expect(result.progress.records).toBe(82 + 250 + 1);
  });

  it('asks no broker for empty ranges', async () => {
    cluster = await FakeCluster.start();
    const result = await collect('127.0.0.1:1', [{ topic: 'a', partition: 0, from: 7n, until: 7n }]);
    expect(result.cursors[0].position).toBe(7n);
  });

  it('lets the receiver settle in the middle of a response where it asks for it', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('a', [{ batches: batches(0, 600, 10, { valueBytes: 1000 }) }]);
    const events: string[] = [];
    let rows = 0;
    const { cursors } = await collect(
      cluster.bootstrap,
      [{ topic: 'a', partition: 0, from: 0n, until: 600n }],
      {
        budgetBytes: 1024 * 1024,
        onRows: (_cursor, columns) => {
          rows += columns.length;
          events.push('rows');
          return true;
        },
        afterPart: async () => {
          await new Promise(setImmediate);
          events.push('settled');
        },
      },
    );
    expect(cursors[0].position).toBe(600n);
    expect(rows).toBe(600);
    expect(events.join(' ')).not.toContain('rows rows');
    // More often than there were responses.
    expect(events.filter((e) => e === 'rows').length).toBeGreaterThan(cluster.fetches.length);
  });

  it('refuses a partition named twice', async () => {
    cluster = await FakeCluster.start();
    const range = { topic: 'a', partition: 0, from: 0n, until: 1n };
    await expect(collect(cluster.bootstrap, [range, range])).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('asks for the next records before the present ones are decoded, from the offset that the headers tell', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('a', [{ batches: batches(0, 60, 10, { valueBytes: 1000 }) }]);
    let askedDuringFirstPart: bigint[] = [];
    const second = Promise.withResolvers<void>();
    cluster.onFetch = (ask) => {
      if (ask.offset > 0n) second.resolve();
      return undefined;
    };
    await collect(cluster.bootstrap, [{ topic: 'a', partition: 0, from: 0n, until: 60n }], {
      fetchMaxBytes: 16_384,
      onPart: async (result) => {
        if (result.parts > 1) return;
        await second.promise;
        askedDuringFirstPart = cluster.fetches.flat().map((f) => f.offset);
      },
    });
    expect(askedDuringFirstPart).toEqual([0n, 10n]);
  });

  it('reads over topic names where the broker has no topic ids in Fetch', async () => {
    cluster = await FakeCluster.start();
    cluster.fetchVersion = 12;
    cluster.topic('a', [{ batches: batches(0, 30) }]);
    const result = await collect(cluster.bootstrap, [{ topic: 'a', partition: 0, from: 0n, until: 30n }]);
    expect(result.offsets.get('a-0')).toEqual(offsetsOf(0n, 30n));
  });

  it('lets every partition come first in turn, so that large batches starve none', async () => {
    cluster = await FakeCluster.start();
    const large = () => batches(0, 12, 1, { valueBytes: 6000 });
    cluster.topic('a', [{ batches: large() }, { batches: large() }, { batches: large() }]);
    const ranges = [0, 1, 2].map((partition) => ({ topic: 'a', partition, from: 0n, until: 12n }));
    const result = await collect(cluster.bootstrap, ranges, { fetchMaxBytes: 4096 });
    for (const partition of [0, 1, 2])
      expect(result.offsets.get(`a-${partition}`)).toEqual(offsetsOf(0n, 12n));
    const firsts = cluster.fetches.slice(0, 6).map((f) => f[0].partition);
    expect(new Set(firsts)).toEqual(new Set([0, 1, 2]));
    // None is read to its end before the others begin.
    expect(cluster.fetches.length).toBeLessThanOrEqual(12 * 3 + 6);
  });
});

describe('holes', () => {
  it('passes a compacted hole at the position (case C11)', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      {
        logStart: 97n,
        batches: [
          batch([98], { baseOffset: 97n, lastOffset: 105n }),
          batch([107, 109], { baseOffset: 106n, lastOffset: 109n }),
        ],
      },
    ]);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 100n, until: 110n }]);
    expect(result.offsets.get('p-0')).toEqual([107n, 109n]);
    expect(result.cursors[0]).toMatchObject({ position: 110n, rows: 2, holes: 8 });
    expect(result.cursors[0].gaps).toEqual([
      { from: 100n, until: 107n },
      { from: 108n, until: 109n },
    ]);
    // The batch of which nothing was wanted is passed by its last offset: 106 is asked for next, and 100 only once.
    expect(cluster.fetches.flat().filter((f) => f.offset === 100n).length).toBe(1);
  });

  it('counts a tail that compaction emptied as holes, once the leader has served nothing twice', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 10), highWatermark: 25n }]);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 20n }]);
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 10n));
    expect(result.cursors[0]).toMatchObject({ position: 20n, rows: 10, holes: 10 });
    expect(cluster.fetches.flat().filter((f) => f.offset === 10n).length).toBeLessThanOrEqual(3);
  });

  it('does not take an answer that other partitions filled for an empty log', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      { batches: batches(0, 400, 10, { valueBytes: 300 }) },
      { batches: batches(0, 400, 10, { valueBytes: 300 }) },
    ]);
    // Partition 1 is empty-handed whenever partition 0 is served first.
    const ranges = [0, 1].map((partition) => ({ topic: 'p', partition, from: 0n, until: 400n }));
    const result = await collect(cluster.bootstrap, ranges, { fetchMaxBytes: 4096 });
    expect(result.cursors.map((c) => [c.rows, c.holes])).toEqual([
      [400, 0],
      [400, 0],
    ]);
  });

  it('does not take a throttled answer for an empty log', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.throttleNextMs = 20;
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 30n));
    expect(result.cursors[0].holes).toBe(0);
  });

  it('does not ask a broker again before the time of its throttle has passed', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.throttleNextMs = 12_345;
    const stop = new AbortController();
    const reason = new Error('enough');
    const lines: KafkaLogLine[] = [];
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }], {
      signal: stop.signal,
      client: {
        log: (line) => {
          lines.push(line);
          // While it waits it can still be stopped at once.
          if (line.throttleMs !== undefined) setImmediate(() => stop.abort(reason));
        },
      },
    });
    await expect(reading).rejects.toBe(reason);
    expect(cluster.fetches.length).toBe(1);
    expect(lines.filter((l) => l.throttleMs !== undefined)).toMatchObject([
      {
        level: 'info',
        throttleMs: 12_345,
        msg: expect.stringContaining(`broker ${cluster.bootstrap} throttles`),
      },
    ]);
  });

  it('waits for an open transaction and reads on when it ends', async () => {
    cluster = await FakeCluster.start();
    const topic = cluster.topic('p', [
      {
        batches: [
          ...batches(0, 10),
          batch([10, 11], { transactional: true, producerId: 7n, producerEpoch: 0 }),
        ],
        highWatermark: 13n,
        lastStable: 10n,
      },
    ]);
    let waits = 0;
    const log = (line: KafkaLogLine) => {
      if (!/transaction is still open/.test(String(line.error)) || ++waits < 2) return;
      const marker = { first: 12n, last: 12n, bytes: encodeControlBatch('commit', 12n, 7n) };
      topic.partitions[0].batches.push(marker);
      topic.partitions[0].lastStable = 13n;
    };
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 13n }], {
      client: { log },
    });
    expect(waits).toBeGreaterThanOrEqual(2);
    expect(result.cursors[0]).toMatchObject({ position: 13n, rows: 12, control: 1, holes: 0 });
  });

  it('gives up an open transaction at the deadline, and says that it is one', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 10), highWatermark: 12n, lastStable: 10n }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 12n }], {
      client: { requestDeadlineMs: 300 },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      message: expect.stringMatching(
        /reading p-0 from offset 10 .*transaction is still open.*last stable offset is 10/,
      ),
    });
  });

  it('drops aborted records', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      {
        batches: [
          batch([0, 1], { transactional: true, producerId: 9n, producerEpoch: 0 }),
          { first: 2n, last: 2n, bytes: encodeControlBatch('abort', 2n, 9n) },
          batch([3, 4]),
        ],
        aborted: [{ producerId: 9n, firstOffset: 0n, lastOffset: 2n }],
      },
    ]);
    const range = { topic: 'p', partition: 0, from: 0n, until: 5n };
    const committed = await collect(cluster.bootstrap, [range]);
    expect(committed.offsets.get('p-0')).toEqual([3n, 4n]);
    expect(committed.cursors[0]).toMatchObject({ rows: 2, aborted: 2, control: 1 });
    const uncommitted = await collect(cluster.bootstrap, [range], { isolationLevel: 'read_uncommitted' });
    expect(uncommitted.offsets.get('p-0')).toEqual([0n, 1n, 3n, 4n]);
  });
});

describe('loss', () => {
  it('stops with the lost range when retention went past the position (case C12)', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ logStart: 5000n, batches: batches(5000, 9000, 100) }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 1200n, until: 9000n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringMatching(
        /p-0: offsets \[1200, 5000\) \(3800 offsets\).*oldest record is of 2026-07-14/,
      ),
      context: {
        topic: 'p',
        partition: 0,
        from: 1200n,
        until: 5000n,
        count: 3800n,
        logStart: 5000n,
        highWatermark: 9000n,
      },
    });
    expect(cluster.fetches.flat().every((f) => f.offset === 1200n)).toBe(true);
  });

  it('stops when records are deleted inside the range while it is read', async () => {
    cluster = await FakeCluster.start();
    const topic = cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    const seen: bigint[] = [];
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      fetchMaxBytes: 8192,
      onPart: (result) => {
        seen.splice(0, seen.length, ...result.offsets.get('p-0')!);
        topic.partitions[0].logStart = 200n;
        topic.partitions[0].batches = topic.partitions[0].batches.filter((b) => b.first >= 200n);
      },
    });
    await expect(reading).rejects.toMatchObject({ code: 'DATA_LOSS', context: { until: 200n } });
    expect(seen).toEqual(offsetsOf(0n, BigInt(seen.length)));
    expect(seen.length).toBeLessThan(200);
  });

  it('does not count records that were deleted between check and read as holes', async () => {
    cluster = await FakeCluster.start();
    const topic = cluster.topic('p', [{ batches: batches(0, 30) }]);
    // The broker answers from offset 20 on, with the log start that it has by then.
    cluster.onFetch = () => {
      topic.partitions[0].logStart = 20n;
      return { records: topic.partitions[0].batches[2].bytes };
    };
    // The log start rises after the offset was found in range.
    const late = (): FetchOverride => ({ records: topic.partitions[0].batches[2].bytes });
    topic.partitions[0].logStart = 0n;
    const original = cluster.onFetch;
    cluster.onFetch = (ask) => (ask.offset >= 20n ? late() : original(ask));
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    await expect(reading).rejects.toMatchObject({ code: 'DATA_LOSS', context: { from: 0n, until: 20n } });
  });

  it('asks whether the topic was recreated when the log ends before the position', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300) }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 500n, until: 600n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining('log end 300 < position 500: was the topic recreated'),
      context: { from: 500n, highWatermark: 300n },
    });
  });

  it('says so when the log ends before the end of the planned range', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300) }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 400n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining('log end 300 < offset 400, the end of the planned range'),
    });
  });

  it('asks again when the leader calls a position out of range that its own bounds hold', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    let times = 0;
    cluster.onFetch = () => (times++ < 2 ? { errorCode: 1 } : undefined);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    expect(result.cursors[0].rows).toBe(30);
  });

  it('does not ask for ever when that goes on', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.onFetch = () => ({ errorCode: 1 });
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      message: expect.stringContaining('out of range'),
    });
  });

  it('waits for a new leader that does not know its high watermark yet', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    let fetches = 0;
    let asked = 0;
    cluster.onFetch = () => (fetches++ === 0 ? { errorCode: 1 } : undefined);
    cluster.onListOffsets = () => (asked++ < 3 ? 78 : 0);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    expect(result.cursors[0].rows).toBe(30);
    expect(asked).toBeGreaterThan(3);
  });

  it('finds a truncated log by the epoch of the last batch, before anything is read', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      { batches: batches(0, 300), leaderEpoch: 5, epochEnd: () => ({ epoch: 3, endOffset: 90n }) },
    ]);
    const range = { topic: 'p', partition: 0, from: 100n, until: 300n, leaderEpoch: 3, leaderEpochEnd: 100n };
    await expect(collect(cluster.bootstrap, [range])).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining('epoch 3 ends at offset 90'),
    });
    expect(cluster.fetches).toEqual([]);
  });

  it('does not take a compacted stretch of a later epoch for a truncation', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      {
        batches: batches(200, 300),
        logStart: 0n,
        leaderEpoch: 5,
        epochEnd: () => ({ epoch: 3, endOffset: 100n }),
      },
    ]);
    // Epoch 3 ended at 100; what epoch 4 wrote to [100, 200) is compacted away, and the position lies in it.
    const range = { topic: 'p', partition: 0, from: 150n, until: 300n, leaderEpoch: 3, leaderEpochEnd: 100n };
    const result = await collect(cluster.bootstrap, [range]);
    expect(result.cursors[0]).toMatchObject({ rows: 100, holes: 50, position: 300n });
  });

  it('finds a truncation when the leader changes while it reads', async () => {
    cluster = await FakeCluster.start(2);
    const topic = cluster.topic('p', [
      { batches: batches(0, 300, 10, { valueBytes: 400, leaderEpoch: 4 }), leaderEpoch: 4 },
    ]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      fetchMaxBytes: 8192,
      onPart: () => {
        const log = topic.partitions[0];
        log.leader = 2;
        log.leaderEpoch = 6;
        log.epochEnd = () => ({ epoch: -1, endOffset: -1n });
      },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining('does not know that epoch'),
    });
  });
});

describe('replacement', () => {
  it('refuses a topic with another id before it reads', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300) }], topicId('new'));
    const range = { topic: 'p', partition: 0, from: 100n, until: 300n, topicId: topicId('old') };
    await expect(collect(cluster.bootstrap, [range])).rejects.toMatchObject({
      code: 'TOPIC_REPLACED',
      context: { topic: 'p', expected: topicId('old'), found: topicId('new') },
    });
    expect(cluster.fetches).toEqual([]);
  });

  it('finds a topic that is recreated while it reads, though its offsets look right', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }], topicId('old'));
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      fetchMaxBytes: 8192,
      onPart: () => void cluster.topic('p', [{ batches: batches(0, 900) }], topicId('new')),
    });
    await expect(reading).rejects.toMatchObject({
      code: 'TOPIC_REPLACED',
      context: { expected: topicId('old'), found: topicId('new') },
    });
  });

  it('goes on when the broker did not know the topic id for a moment', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    let times = 0;
    cluster.onFetch = () => (times++ < 2 ? { errorCode: 100 } : undefined);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    expect(result.cursors[0].rows).toBe(30);
  });

  it('says that the topic is gone when it stays missing', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      fetchMaxBytes: 8192,
      onPart: () => void cluster.topics.delete('p'),
    });
    await expect(reading).rejects.toMatchObject({ code: 'TOPIC_NOT_FOUND', context: { topic: 'p' } });
  });

  it('names a partition that is not there', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 4, from: 0n, until: 30n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'PARTITIONS_DELETED',
      context: { partition: 4, partitions: 1 },
    });
  });
});

describe('what passes', () => {
  it('follows a leader that moves, without loss or doubling', async () => {
    cluster = await FakeCluster.start(2);
    const topic = cluster.topic('p', [
      { batches: batches(0, 300, 10, { valueBytes: 400 }) },
      { batches: batches(0, 300) },
    ]);
    let moves = 0;
    const ranges = [0, 1].map((partition) => ({ topic: 'p', partition, from: 0n, until: 300n }));
    const result = await collect(cluster.bootstrap, ranges, {
      fetchMaxBytes: 8192,
      onPart: () => {
        if (moves++ > 3) return;
        const log = topic.partitions[0];
        log.leader = 3 - log.leader;
        log.leaderEpoch++;
      },
    });
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 300n));
    expect(result.offsets.get('p-1')).toEqual(offsetsOf(0n, 300n));
  });

  it('reads partitions of several leaders side by side', async () => {
    cluster = await FakeCluster.start(3);
    cluster.topic(
      'p',
      Array.from({ length: 7 }, (_, i) => ({ batches: batches(0, 200 + i), leader: 1 + (i % 3) })),
    );
    const ranges = Array.from({ length: 7 }, (_, i) => ({
      topic: 'p',
      partition: i,
      from: 0n,
      until: 200n + BigInt(i),
    }));
    const result = await collect(cluster.bootstrap, ranges);
    expect(result.cursors.map((c) => c.rows)).toEqual([200, 201, 202, 203, 204, 205, 206]);
    expect(new Set(cluster.fetches.map((f) => f[0].broker))).toEqual(new Set([1, 2, 3]));
  });

  it('never hands two parts on at once, whichever broker they come from', async () => {
    cluster = await FakeCluster.start(3);
    cluster.topic(
      'p',
      Array.from({ length: 3 }, (_, i) => ({
        batches: batches(0, 100, 5, { valueBytes: 400 }),
        leader: 1 + i,
      })),
    );
    let inside = 0;
    let most = 0;
    const ranges = Array.from({ length: 3 }, (_, i) => ({ topic: 'p', partition: i, from: 0n, until: 100n }));
    await collect(cluster.bootstrap, ranges, {
      fetchMaxBytes: 4096,
      onPart: async () => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      },
    });
    expect(most).toBe(1);
  });

  it.each([
    ['the connection is cut', 'cut' as const],
    ['a retriable error comes', { errorCode: 7 }],
    ['the leader is not one any more', { errorCode: 6 }],
    ['the epoch is fenced', { errorCode: 74 }],
    ['the disk of the broker fails', { errorCode: 56 }],
    ['the broker calls its own batch corrupt', { errorCode: 2 }],
  ])('goes on when %s', async (_what, fault) => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    let times = 0;
    cluster.onFetch = (ask) => (ask.offset >= 100n && times++ < 2 ? fault : undefined);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      fetchMaxBytes: 8192,
    });
    expect(times).toBeGreaterThan(2);
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 300n));
    expect(result.cursors[0].rows).toBe(300);
  });

  it('fetches a damaged batch again, and neither loses nor doubles what came before it', async () => {
    cluster = await FakeCluster.start();
    const all = batches(0, 60);
    cluster.topic('p', [{ batches: all }]);
    const damaged = Buffer.from(all[3].bytes);
    damaged[damaged.length - 1] ^= 1;
    const mixed = Buffer.concat([all[2].bytes, damaged, all[4].bytes]);
    let times = 0;
    cluster.onFetch = (ask) => {
      if (ask.offset === 0n) return { records: Buffer.concat([all[0].bytes, all[1].bytes]) };
      return ask.offset === 20n && times++ === 0 ? { records: mixed } : undefined;
    };
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 60n }]);
    expect(times).toBe(1);
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 60n));
  });

  it('fails on a batch that stays damaged after three fetches, before its offset', async () => {
    cluster = await FakeCluster.start();
    const all = batches(0, 60);
    const damaged = Buffer.from(all[3].bytes);
    damaged[70] ^= 1;
    cluster.topic('p', [{ batches: [...all.slice(0, 3), { ...all[3], bytes: damaged }, ...all.slice(4)] }]);
    let seen: bigint[] = [];
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 60n }], {
      onPart: (result) => {
        seen = result.offsets.get('p-0')!;
      },
    });
    await expect(reading).rejects.toMatchObject({ code: 'COULD_NOT_READ', context: { offset: 30n } });
    expect(seen).toEqual(offsetsOf(0n, 30n));
    expect(cluster.fetches.flat().filter((f) => f.offset === 30n).length).toBe(2);
  });

  it('stops at an unknown codec at once (case C16)', async () => {
    cluster = await FakeCluster.start();
    const odd = batch([0, 1], { codec: { id: 7, compress: (data) => data } });
    cluster.topic('p', [{ batches: [odd] }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 2n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'UNSUPPORTED_CODEC',
      message: expect.stringMatching(/7.*p-0|p-0.*7/),
    });
    expect(cluster.fetches.length).toBe(1);
  });

  it('gives up at the deadline and says what it was doing, where, and why', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.onFetch = (ask) => (ask.offset >= 10n ? { errorCode: 56 } : undefined);
    const lines: KafkaLogLine[] = [];
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 10n, until: 30n }], {
      client: { requestDeadlineMs: 400, log: (line) => lines.push(line) },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      retryable: true,
      message: expect.stringMatching(
        /gave up reading p-0 from offset 10 after .* KAFKA_STORAGE_ERROR \(56\)/,
      ),
    });
    expect(lines.some((l) => l.level === 'warn' && /p-0/.test(l.msg))).toBe(true);
  });

  it('gives up at the deadline when the broker falls silent', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.onRequest = (_broker, apiKey) => (apiKey === 1 ? 'silence' : undefined);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }], {
      client: { requestDeadlineMs: 300, kafka: { 'kafka.request.timeout.ms': '100' } },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringMatching(/no answer within 100 ms while Fetch v13 was awaited/),
    });
  });

  it('refuses an authorisation error at once', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    cluster.onFetch = () => ({ errorCode: 29 });
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'KAFKA_AUTH',
      context: { kafkaError: 29, topic: 'p' },
    });
  });
});

describe('a replica that is nearer', () => {
  it('is read when the leader names it, and left when it does not have the position', async () => {
    cluster = await FakeCluster.start(2);
    cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    let refused = 0;
    cluster.onFetch = (ask) => {
      if (ask.broker === 1)
        return ask.offset < 200n && refused === 0 ? { preferredReadReplica: 2 } : undefined;
      if (ask.offset < 100n) return undefined;
      refused++;
      return { errorCode: 1 };
    };
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      rackId: 'rack-b',
      fetchMaxBytes: 8192,
    });
    expect(refused).toBeGreaterThan(0);
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 300n));
    const brokers = cluster.fetches.map((f) => f[0].broker);
    expect(brokers[0]).toBe(1);
    expect(brokers.filter((b) => b === 2).length).toBeGreaterThan(3);
    expect(brokers.at(-1)).toBe(1);
  });
});

describe('a replica that does not serve', () => {
  /** The leader names replica 2 to a reader with a rack, and to no other. */
  const prefer: typeof cluster.onFetch = ({ broker, rack }) =>
    broker === 1 && rack !== '' ? { preferredReadReplica: 2 } : undefined;

  it.each<[string, FetchOverride]>([
    ['answers OFFSET_OUT_OF_RANGE', { errorCode: 1 }],
    ['answers NOT_LEADER_OR_FOLLOWER', { errorCode: 6 }],
    ['has not got the end of the range yet', { records: new Uint8Array() }],
    ['breaks the connection', 'cut'],
  ])('and %s is left for the leader, though the leader still prefers it', async (_, answer) => {
    cluster = await FakeCluster.start(2);
    cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    cluster.onFetch = (ask) => prefer(ask) ?? (ask.broker === 2 && ask.offset >= 100n ? answer : undefined);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      rackId: 'rack-b',
      fetchMaxBytes: 8192,
    });
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 300n));
    expect(result.cursors[0].holes).toBe(0);
    // Once it failed it is not asked again (an answer to a request on its way may come later).
    const brokers = cluster.fetches.map((f) => f[0].broker);
    expect(brokers.slice(brokers.lastIndexOf(2) + 1).length).toBeGreaterThan(10);
  });

  it('is no loss, but one at the leader is', async () => {
    cluster = await FakeCluster.start(2);
    const topic = cluster.topic('p', [{ batches: batches(0, 300, 10, { valueBytes: 400 }) }]);
    cluster.onFetch = (ask) => {
      if (ask.broker !== 2) return prefer(ask);
      if (ask.offset < 100n) return undefined;
      topic.partitions[0].logStart = 150n;
      return { errorCode: 1 };
    };
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 300n }], {
      rackId: 'rack-b',
      fetchMaxBytes: 8192,
    });
    await expect(reading).rejects.toMatchObject({ code: 'DATA_LOSS', context: { from: 100n, until: 150n } });
  });
});

describe('a partition without a leader', () => {
  it('holds up only itself, and is read when it has one', async () => {
    cluster = await FakeCluster.start(2);
    const topic = cluster.topic('p', [
      { batches: batches(0, 300, 10, { valueBytes: 400 }) },
      { batches: batches(0, 50), leader: -1 },
    ]);
    let waited = false;
    const ranges = [0, 1].map((partition) => ({
      topic: 'p',
      partition,
      from: 0n,
      until: partition === 0 ? 300n : 50n,
    }));
    const result = await collect(cluster.bootstrap, ranges, {
      fetchMaxBytes: 8192,
      client: {
        log: ({ msg }) => {
          if (/p-1 from offset 0: will try again/.test(msg)) waited = true;
        },
      },
      onPart: (so) => {
        if (so.offsets.get('p-0')?.length === 300 && topic.partitions[1].leader < 0)
          topic.partitions[1].leader = 2;
      },
    });
    expect(result.offsets.get('p-0')).toEqual(offsetsOf(0n, 300n));
    expect(result.offsets.get('p-1')).toEqual(offsetsOf(0n, 50n));
    expect(waited).toBe(true);
  });

  it('does not hold up the recovery of another partition of its topic', async () => {
    cluster = await FakeCluster.start(2);
    const topic = cluster.topic('p', [
      { batches: batches(0, 300, 10, { valueBytes: 400 }) },
      { batches: batches(0, 300, 10, { valueBytes: 400 }) },
    ]);
    const ranges = [0, 1].map((partition) => ({ topic: 'p', partition, from: 0n, until: 300n }));
    const result = await collect(cluster.bootstrap, ranges, {
      fetchMaxBytes: 8192,
      onPart: (so) => {
        const [moved, orphan] = topic.partitions;
        if (so.parts === 3) {
          orphan.leader = -1;
          moved.leader = 2;
          moved.leaderEpoch++;
        }
        if (so.offsets.get('p-0')?.length === 300 && orphan.leader < 0) {
          orphan.leader = 2;
          orphan.leaderEpoch++;
        }
      },
    });
    expect(result.offsets.get('p-1')).toEqual(offsetsOf(0n, 300n));
  });

  it('ends the read at the deadline, with the place, the broker asked, the replicas and what was being done', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30), leader: -1 }]);
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 7n, until: 30n }], {
      client: { requestDeadlineMs: 300 },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'BROKER_ERROR',
      retryable: true,
      context: { topic: 'p', partition: 0, replicas: [9], offline: [9] },
      message: expect.stringMatching(
        /gave up reading p-0 from offset 7 after .*asking for the leader of p-0: broker 127.0.0.1:\d+ answered LEADER_NOT_AVAILABLE \(5\): p-0 has no leader now; its only replica is on broker 9 \(down\)/,
      ),
    });
  });
});

describe('memory', () => {
  it('reads a batch above the fetch size whole (case C17)', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [
      {
        batches: [
          ...batches(0, 10),
          batch([10], { valueBytes: 126 * 1024 }),
          batch([11], { valueBytes: 20 }),
        ],
      },
    ]);
    const result = await collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 10n, until: 12n }], {
      fetchMaxBytes: 64 * 1024,
      budgetBytes: 1024 * 1024,
    });
    expect(result.offsets.get('p-0')).toEqual([10n, 11n]);
    expect(cluster.fetches.length).toBeLessThanOrEqual(3);
  });

  it('reads large batches of several partitions and brokers within one budget', async () => {
    cluster = await FakeCluster.start(2);
    const large = () => batches(0, 8, 1, { valueBytes: 200_000 });
    cluster.topic('p', [{ batches: large() }, { batches: large(), leader: 2 }, { batches: large() }]);
    const ranges = [0, 1, 2].map((partition) => ({ topic: 'p', partition, from: 0n, until: 8n }));
    const result = await collect(cluster.bootstrap, ranges, {
      budgetBytes: 1024 * 1024,
      fetchMaxBytes: 16_384,
    });
    expect(result.cursors.map((c) => c.rows)).toEqual([8, 8, 8]);
  });

  it('stops with MEMORY_LIMIT at a batch that the budget cannot hold, naming the place', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: [...batches(0, 10), batch([10], { valueBytes: 900_000 })] }]);
    let rows = 0;
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 11n }], {
      budgetBytes: 1024 * 1024,
      onPart: (result) => {
        rows = result.offsets.get('p-0')!.length;
      },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'MEMORY_LIMIT',
      message: expect.stringContaining('p-0 at offset 10'),
    });
    expect(rows).toBe(10);
  });
});

describe('the receiver', () => {
  it('ends the read with the error that it throws, even one that looks retryable', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 30) }]);
    const { SluiceError } = await import('../../../src/errors.ts');
    const full = new SluiceError('STORAGE_FULL', 'no space left');
    let calls = 0;
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }], {
      onRows: () => {
        calls++;
        throw full;
      },
    });
    await expect(reading).rejects.toBe(full);
    expect(calls).toBe(1);
    await expect(
      collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 30n }], {
        afterPart: async () => {
          throw full;
        },
      }),
    ).rejects.toBe(full);
  });

  it('gets nothing more after an abort', async () => {
    cluster = await FakeCluster.start();
    cluster.topic('p', [{ batches: batches(0, 3000, 10, { valueBytes: 400 }) }]);
    const aborter = new AbortController();
    let after = 0;
    const reason = new Error('stop now');
    const reading = collect(cluster.bootstrap, [{ topic: 'p', partition: 0, from: 0n, until: 3000n }], {
      fetchMaxBytes: 8192,
      signal: aborter.signal,
      onPart: () => {
        if (aborter.signal.aborted) after++;
        aborter.abort(reason);
      },
    });
    await expect(reading).rejects.toBe(reason);
    expect(after).toBe(0);
  });
});
