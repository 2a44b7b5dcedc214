import { describe, expect, it } from 'vitest';
import type { KafkaCodec } from '../../../src/kafka/produce.ts';
import type { RangeToRead } from '../../../src/kafka/range-reader.ts';
import { rowsOf, textHex } from '../../support/decoded-rows.ts';
import { useKafka } from '../../support/kafka.ts';
import { fill, rangesOf, withCluster, withProducer } from '../../support/kafka-topics.ts';
import { collect, offsetsOf } from '../../support/read-collector.ts';

const kafka = useKafka();

async function newTopic(
  prefix: string,
  partitions = 1,
  config: Record<string, string> = {},
): Promise<string> {
  const topic = kafka.uniqueTopic(prefix);
  await withCluster(kafka.bootstrap, (cluster) =>
    cluster.createTopics([{ topic, partitions, config: { 'retention.ms': '-1', ...config } }]),
  );
  return topic;
}

/** The broker writes the markers of a transaction some time after it has answered that the transaction ends. */
async function stableRanges(topic: string, until: bigint): Promise<RangeToRead[]> {
  for (;;) {
    const ranges = await rangesOf(kafka.bootstrap, topic);
    if (ranges[0].until === until) return ranges;
  }
}

describe('exact ranges of a real broker', () => {
  it.each<KafkaCodec>(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('%s', async (codec) => {
    const topic = await newTopic(`codec-${codec}`, 2);
    await fill(kafka.bootstrap, topic, 0, 5000, { codec, batchBytes: 20_000, valueBytes: 100 });
    await fill(kafka.bootstrap, topic, 1, 700, { codec, batchBytes: 3000 });
    const [first, second] = await rangesOf(kafka.bootstrap, topic);
    expect([first.until, second.until]).toEqual([5000n, 700n]);
    const ranges = [
      { ...first, from: 1234n, until: 4321n },
      { ...second, from: 699n },
    ];
    const result = await collect(kafka.bootstrap, ranges, { values: true, fetchMaxBytes: 65_536 });
    expect(result.offsets.get(`${topic}-0`)).toEqual(offsetsOf(1234n, 4321n));
    expect(result.offsets.get(`${topic}-1`)).toEqual([699n]);
    expect(result.values.get(`${topic}-0`)![0]).toBe('v1234'.padEnd(100, '.'));
    expect(result.cursors.map((c) => [c.position, c.holes, c.leaderEpoch])).toEqual([
      [4321n, 0, 0],
      [700n, 0, 0],
    ]);
  });

  it('keeps null, empty, keys, headers and timestamps', async () => {
    const topic = await newTopic('fields');
    await withProducer(kafka.bootstrap, topic, {}, async (producer) => {
      const records = [
        { key: null, value: null, timestampMs: 1_784_000_106_123 },
        { key: '', value: '', timestampMs: 1_784_000_106_124 },
        {
          key: 'ключ',
          value: Uint8Array.from([0, 255, 128]),
          timestampMs: 1_784_000_000_000,
          headers: [
            ['trace', 'abc'],
            ['empty', null],
          ] as const,
        },
      ];
      for (const record of records) await producer.append({ topic, partition: 0, ...record });
    });
    const rows: ReturnType<typeof rowsOf> = [];
    await collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic), {
      onRows: (_cursor, columns) => void rows.push(...rowsOf(columns)),
    });
    const common = { timestampType: 0, headers: null };
    expect(rows).toEqual([
      { ...common, offset: 0n, timestamp: 1_784_000_106_123n, key: null, value: null },
      { ...common, offset: 1n, timestamp: 1_784_000_106_124n, key: '', value: '' },
      {
        offset: 2n,
        timestamp: 1_784_000_000_000n,
        timestampType: 0,
        key: textHex('ключ'),
        value: '00ff80',
        headers: expect.stringContaining(textHex('trace')),
      },
    ]);
  });

  it('takes LogAppendTime from the broker (case C15)', async () => {
    const topic = await newTopic('append-time', 1, { 'message.timestamp.type': 'LogAppendTime' });
    await fill(kafka.bootstrap, topic, 0, 3);
    const rows: ReturnType<typeof rowsOf> = [];
    await collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic), {
      onRows: (_cursor, columns) => void rows.push(...rowsOf(columns)),
    });
    expect(rows.map((r) => r.timestampType)).toEqual([1, 1, 1]);
    expect(rows.every((r) => r.timestamp! > 1_784_000_000_100n)).toBe(true);
  });

  it('reads a record that is larger than the fetch size (case C17)', async () => {
    const topic = await newTopic('large', 1, { 'max.message.bytes': '5000000' });
    await withProducer(kafka.bootstrap, topic, { batchBytes: 1 }, async (producer) => {
      const sizes = [10, 126 * 1024, 20, 3_000_000, 5];
      for (const size of sizes)
        await producer.append({ topic, partition: 0, value: 'x'.repeat(size), timestampMs: 0 });
    });
    const ranges = await rangesOf(kafka.bootstrap, topic);
    const result = await collect(kafka.bootstrap, ranges, { values: true, fetchMaxBytes: 65_536 });
    expect(result.values.get(`${topic}-0`)!.map((v) => v!.length)).toEqual([
      10,
      126 * 1024,
      20,
      3_000_000,
      5,
    ]);
    const small = collect(kafka.bootstrap, ranges, { budgetBytes: 4 * 1024 * 1024, fetchMaxBytes: 65_536 });
    await expect(small).rejects.toMatchObject({ code: 'MEMORY_LIMIT' });
  });

  it('reads many partitions at once', async () => {
    const topic = await newTopic('wide', 40);
    await withProducer(kafka.bootstrap, topic, { batchBytes: 2000 }, async (producer) => {
      for (let i = 0; i < 20_000; i++) {
        await producer.append({ topic, partition: i % 40, value: `v${i}`, timestampMs: 0 });
      }
    });
    const result = await collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic), {
      budgetBytes: 1024 * 1024,
    });
    expect(result.cursors.map((c) => c.rows)).toEqual(Array.from({ length: 40 }, () => 500));
  });
});

describe('transactions on a real broker', () => {
  it('drops aborted records, also of a transaction that spans several fetches, and counts markers', async () => {
    const topic = await newTopic('txn');
    const transactional = { transactionalId: topic, batchBytes: 4000 };
    await withProducer(kafka.bootstrap, topic, transactional, async (producer) => {
      const write = async (count: number, text: string) => {
        for (let i = 0; i < count; i++) {
          await producer.append({
            topic,
            partition: 0,
            value: `${text}${i}`.padEnd(100, '.'),
            timestampMs: 0,
          });
        }
      };
      producer.begin();
      await write(100, 'kept');
      await producer.commit();
      producer.begin();
      await write(1000, 'dropped');
      await producer.abort();
      producer.begin();
      await write(50, 'later');
      await producer.commit();
    });
    const ranges = await stableRanges(topic, 1153n);
    const options = { values: true, fetchMaxBytes: 16_384 };
    const committed = await collect(kafka.bootstrap, ranges, options);
    expect(committed.offsets.get(`${topic}-0`)).toEqual([...offsetsOf(0n, 100n), ...offsetsOf(1102n, 1152n)]);
    expect(committed.values.get(`${topic}-0`)!.some((v) => v!.startsWith('dropped'))).toBe(false);
    expect(committed.cursors[0]).toMatchObject({
      position: 1153n,
      rows: 150,
      control: 3,
      aborted: 1000,
      holes: 0,
    });
    const all = await collect(kafka.bootstrap, ranges, { ...options, isolationLevel: 'read_uncommitted' });
    expect(all.cursors[0]).toMatchObject({ rows: 1150, control: 3, aborted: 0 });
    // A range may begin inside the aborted transaction.
    const inside = await collect(kafka.bootstrap, [{ ...ranges[0], from: 600n, until: 1110n }], options);
    expect(inside.offsets.get(`${topic}-0`)).toEqual(offsetsOf(1102n, 1110n));
    expect(inside.cursors[0]).toMatchObject({ aborted: 501, control: 1, rows: 8 });
  });

  it('sees no further than the last stable offset while a transaction is open', async () => {
    const topic = await newTopic('txn-open');
    await fill(kafka.bootstrap, topic, 0, 10);
    await withProducer(kafka.bootstrap, topic, { transactionalId: topic }, async (producer) => {
      producer.begin();
      await producer.append({ topic, partition: 0, value: 'open', timestampMs: 0 });
      await producer.flush();
      const asked = [{ topic, partition: 0 }];
      await withCluster(kafka.bootstrap, async (cluster) => {
        expect((await cluster.listOffsets(asked, 'highWatermark'))[0].offset).toBe(11n);
        expect((await cluster.listOffsets(asked, 'lastStable'))[0].offset).toBe(10n);
      });
      const reading = collect(kafka.bootstrap, [{ topic, partition: 0, from: 0n, until: 11n }], {
        client: { requestDeadlineMs: 500 },
      });
      await expect(reading).rejects.toMatchObject({
        message: expect.stringContaining('transaction is still open'),
      });
      await producer.commit();
    });
    const result = await collect(kafka.bootstrap, await stableRanges(topic, 12n));
    expect(result.cursors[0]).toMatchObject({ position: 12n, rows: 11, control: 1 });
  });
});

describe('loss on a real broker', () => {
  it('stops with the lost range when the log start is above the position (case C12)', async () => {
    const topic = await newTopic('lost');
    await fill(kafka.bootstrap, topic, 0, 900, { batchBytes: 2000 });
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteRecords(topic, 0, 500n));
    const reading = collect(kafka.bootstrap, [{ topic, partition: 0, from: 120n, until: 900n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringMatching(/offsets \[120, 500\) \(380 offsets\).*oldest record is of 2026-07-14T/),
      context: { from: 120n, until: 500n, count: 380n, logStart: 500n, highWatermark: 900n },
    });
    const rest = await collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic));
    expect(rest.offsets.get(`${topic}-0`)).toEqual(offsetsOf(500n, 900n));
  });

  it('stops when records are deleted in the middle of a read', async () => {
    const topic = await newTopic('deleted');
    await fill(kafka.bootstrap, topic, 0, 5000, { batchBytes: 10_000, valueBytes: 200 });
    let deleted = false;
    let seen = 0;
    const reading = collect(kafka.bootstrap, await rangesOf(kafka.bootstrap, topic), {
      fetchMaxBytes: 32_768,
      onPart: async (result) => {
        seen = result.offsets.get(`${topic}-0`)!.length;
        if (deleted) return;
        deleted = true;
        await withCluster(kafka.bootstrap, (cluster) => cluster.deleteRecords(topic, 0, 4000n));
      },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      context: { until: 4000n, logStart: 4000n },
    });
    expect(seen).toBeLessThan(4000);
  });

  it('names the log end when the position lies behind it', async () => {
    const topic = await newTopic('shrunk');
    await fill(kafka.bootstrap, topic, 0, 300);
    const reading = collect(kafka.bootstrap, [{ topic, partition: 0, from: 500n, until: 600n }]);
    await expect(reading).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining('log end 300 < position 500: was the topic recreated'),
    });
  });
});

describe('a recreated topic', () => {
  async function recreate(topic: string, count: number): Promise<void> {
    await withCluster(kafka.bootstrap, async (cluster) => {
      await cluster.deleteTopics([topic]);
      await cluster.createTopics([{ topic, partitions: 1, config: { 'retention.ms': '-1' } }]);
    });
    await fill(kafka.bootstrap, topic, 0, count, { batchBytes: 10_000, valueBytes: 200 });
  }

  it('is refused by its id, though its offsets look right', async () => {
    const topic = await newTopic('recreated');
    await fill(kafka.bootstrap, topic, 0, 300);
    const [range] = await rangesOf(kafka.bootstrap, topic);
    await recreate(topic, 900);
    const [after] = await rangesOf(kafka.bootstrap, topic);
    await expect(collect(kafka.bootstrap, [{ ...range, from: 100n }])).rejects.toMatchObject({
      code: 'TOPIC_REPLACED',
      context: { topic, expected: range.topicId, found: after.topicId },
    });
  });

  it('is noticed in the middle of a read', async () => {
    const topic = await newTopic('recreated-mid');
    await fill(kafka.bootstrap, topic, 0, 3000, { batchBytes: 10_000, valueBytes: 200 });
    const [range] = await rangesOf(kafka.bootstrap, topic);
    let done = false;
    const reading = collect(kafka.bootstrap, [range], {
      fetchMaxBytes: 32_768,
      onPart: async () => {
        if (done) return;
        done = true;
        await recreate(topic, 4000);
      },
    });
    await expect(reading).rejects.toMatchObject({
      code: 'TOPIC_REPLACED',
      context: { expected: range.topicId },
    });
  });
});
