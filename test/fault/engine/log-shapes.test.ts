/** Logs as they are in the field: transactions, compaction, the broker's own time, large records, every codec, odd bytes. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PipelineConfig } from '../../../src/config/pipeline-config.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd, oddRecord } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced, type RecordToSend } from '../../support/produced.ts';
import { TestPipeline, type TestPipelineOptions } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let produced: Produced;
const pipelines: TestPipeline[] = [];

beforeEach(() => {
  produced = new Produced(bootstrap);
});
afterEach(async () => {
  await produced.close();
  for (const pipeline of pipelines.splice(0)) pipeline.remove();
});

function newPipeline(topics: string[], more: Partial<TestPipelineOptions> = {}): TestPipeline {
  const pipeline = new TestPipeline({ bootstrap, topics, ...more });
  pipelines.push(pipeline);
  return pipeline;
}

const odd = (topic: string, partition: number, from: number, count: number): RecordToSend[] =>
  Array.from({ length: count }, (_, i) => oddRecord(topic, partition, from + i));

describe('transactions', () => {
  /** Plain records, committed and aborted transactions over both partitions, one inside the time of another. */
  async function fillTransactions(topic: string): Promise<void> {
    const both = (from: number, count: number, times: number) =>
      Array.from({ length: times * 2 }, (_, i) => ({
        topic,
        partition: i % 2,
        records: odd(topic, i % 2, from + i * count, count),
      }));
    await fillOdd(produced, topic, 2, 5);
    await produced.transaction(`${topic}-1`, both(100, 4, 3), 'commit', async (sent) => {
      // Another transaction, aborted, and plain records lie between the batches of the first one.
      if (sent === 2) await produced.transaction(`${topic}-2`, both(200, 3, 2), 'abort');
      if (sent === 4) await produced.send(topic, 0, odd(topic, 0, 300, 6));
    });
    await produced.transaction(`${topic}-3`, both(400, 9, 2), 'abort', async (sent) => {
      if (sent === 1) await produced.transaction(`${topic}-4`, both(500, 2, 4), 'commit');
      if (sent === 3) await produced.send(topic, 1, odd(topic, 1, 600, 4));
    });
    await produced.transaction(`${topic}-5`, both(700, 1, 1), 'commit');
    await produced.send(topic, 0, odd(topic, 0, 800, 3));
    await produced.transaction(`${topic}-6`, both(900, 5, 1), 'abort');
  }

  it.each([1, 3, 7, 1000])(
    'committed and aborted, interleaved, in batches of about %i offsets',
    async (limit) => {
      const topic = await createTopic(bootstrap, 'txn', 2);
      await fillTransactions(topic);
      const pipeline = newPipeline([topic], { maxOffsetsPerTrigger: limit });
      const { reports } = await pipeline.run();
      const { verify } = await checkExactlyOnce({ pipeline, produced });
      const sum = (of: (p: (typeof verify)[0]['partitions'][0]) => number) =>
        verify[0].partitions.reduce((total, p) => total + of(p), 0);
      expect([sum((p) => p.aborted), sum((p) => p.control)]).toEqual([12 + 36 + 10, 12]);
      expect(reports.reduce((total, r) => total + r.aborted, 0)).toBe(58);
    },
  );

  it('and runs that end between plan and commit of every batch', async () => {
    const topic = await createTopic(bootstrap, 'txn', 2);
    await fillTransactions(topic);
    const pipeline = newPipeline([topic], { maxOffsetsPerTrigger: 10 });
    const points = ['after-offsets', 'after-write', 'after-prepared', 'after-catalog-commit', 'after-done'];
    for (let n = 0, finished = false; !finished; n++) {
      const failpoints = `${points[n % points.length]}@${n < 10 ? 1 : 3}=throw`;
      finished = await pipeline.run({ failpoints }).then(
        () => true,
        () => false,
      );
    }
    await checkExactlyOnce({ pipeline, produced });
  });

  it('one that is open holds the end back; it is read when it is committed', async () => {
    const topic = await createTopic(bootstrap, 'txn', 1);
    await fillOdd(produced, topic, 1, 10);
    const pipeline = newPipeline([topic]);
    const batch = { topic, partition: 0, records: odd(topic, 0, 50, 5) };
    await produced.transaction(`${topic}-open`, [batch, batch], 'commit', async () => {
      await produced.send(topic, 0, odd(topic, 0, 60, 3));
      await pipeline.run();
      const { rows, quarantined } = await checkExactlyOnce({
        pipeline,
        produced: upTo(produced, topic, 10n),
        ends: new Map([[topic, [10n]]]),
      });
      expect(rows + quarantined).toBe(10);
    });
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced });
  });

  /** What was produced below an offset of partition 0. */
  function upTo(all: Produced, topic: string, end: bigint): Produced {
    const part = new Produced(bootstrap);
    for (const [offset, record] of all.of(topic, 0)) if (offset < end) part.of(topic, 0).set(offset, record);
    return part;
  }
});

describe('a log', () => {
  it('whose broker gives the time (case C15)', async () => {
    const topic = await createTopic(bootstrap, 'append-time', 2, {
      'message.timestamp.type': 'LogAppendTime',
    });
    const from = Date.now();
    await fillOdd(produced, topic, 2, 50);
    const pipeline = newPipeline([topic], { maxOffsetsPerTrigger: 30 });
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced, appendTime: { from, until: Date.now() } });
  });

  it('whose records have times of long ago, of the epoch and of the far future', async () => {
    const topic = await createTopic(bootstrap, 'times', 1, {
      'message.timestamp.after.max.ms': '9223372036854775807',
    });
    const times = [0n, 1n, 999n, 1_784_000_106_123n, 253_402_300_799_999n];
    for (const [i, timestampMs] of times.entries())
      await produced.send(topic, 0, [{ ...oddRecord(topic, 0, i), timestampMs }]);
    const pipeline = newPipeline([topic]);
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced });
  });

  it('with records that are larger than a fetch (case C17)', async () => {
    const topic = await createTopic(bootstrap, 'large', 2, { 'max.message.bytes': '6000000' });
    const sized = (n: number, bytes: number): RecordToSend => ({
      ...oddRecord(topic, 0, n),
      value: Buffer.alloc(bytes, `${n} `),
    });
    for (const [n, bytes] of [20, 126 * 1024, 20, 3_500_000, 20, 20, 5_000_000, 126 * 1024, 20].entries())
      await produced.send(topic, n % 2, [sized(n, bytes)]);
    for (const more of [{}, { maxOffsetsPerTrigger: 2 }]) {
      const pipeline = newPipeline([topic], more);
      await pipeline.run();
      await checkExactlyOnce({ pipeline, produced });
    }
  });

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)('compressed by %s', async (compression) => {
    const topic = await createTopic(bootstrap, compression, 2);
    for (const partition of [0, 1])
      for (let n = 0; n < 90; n += 30)
        await produced.send(topic, partition, odd(topic, partition, n, 30), { compression });
    const pipeline = newPipeline([topic], { maxOffsetsPerTrigger: 50 });
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced });
  });

  it('with null, empty and odd keys, values and headers, byte for byte, headers in the table and binary values', async () => {
    const topic = await createTopic(bootstrap, 'bytes', 1);
    const bytes = [
      null,
      Buffer.alloc(0),
      Buffer.from([0]),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('\u{feff}é'),
    ];
    const records = bytes.flatMap((key, i) =>
      bytes.map((value, k): RecordToSend => ({ ...oddRecord(topic, 0, i * 5 + k), key, value })),
    );
    await produced.send(topic, 0, records);
    const headers = (config: PipelineConfig): void => {
      config.source.includeHeaders = true;
    };
    for (const valueType of ['string', 'binary']) {
      const pipeline = newPipeline([topic], { table: { valueType } });
      await pipeline.run({}, headers);
      const { quarantined } = await checkExactlyOnce({ pipeline, produced, includeHeaders: true });
      expect(quarantined).toBe(valueType === 'string' ? 5 : 0);
    }
  });

  it('whose tombstones a rule drops: counted, and proven', async () => {
    const topic = await createTopic(bootstrap, 'drop', 2);
    await fillOdd(produced, topic, 2, 60);
    const pipeline = newPipeline([topic], { maxOffsetsPerTrigger: 50, table: { tombstones: 'drop' } });
    await pipeline.run();
    let dropped = 0;
    for (const partition of [0, 1]) {
      const records = produced.of(topic, partition);
      for (const [offset, { value }] of [...records])
        if (value === null) {
          records.delete(offset);
          dropped++;
        }
    }
    const { verify } = await checkExactlyOnce({ pipeline, produced });
    expect(verify[0].partitions.reduce((sum, p) => sum + p.dropped, 0)).toBe(dropped);
    expect(dropped).toBeGreaterThan(0);
  });
});
