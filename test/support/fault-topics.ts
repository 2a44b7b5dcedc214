/** What the fault tests produce: records that tell where they belong, with the odd ones among them. */
import { randomBytes } from 'node:crypto';
import type { TopicSpec } from '../../src/kafka/cluster.ts';
import { withCluster } from './kafka-topics.ts';
import { Produced, type RecordToSend } from './produced.ts';

/** 2026-07-14T09:00:00Z. */
const FIRST_MS = 1_784_019_600_000n;

/**
 * The nth record of a partition. Every 7th has a value that is not UTF-8 (it belongs into the quarantine), and there are null
 * keys, empty keys, tombstones, empty values and headers among them. The times cross an hour.
 */
export function oddRecord(topic: string, partition: number, n: number): RecordToSend {
  const text = `${topic}/${partition}/${n}/é€😀/${'x'.repeat(n % 97)}`;
  const value =
    n % 7 === 3
      ? Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0x00, 0xc3, 0x28, n % 256])])
      : n % 11 === 5
        ? null
        : n % 13 === 6
          ? Buffer.alloc(0)
          : Buffer.from(text);
  const key =
    n % 5 === 1 ? null : n % 5 === 2 ? Buffer.alloc(0) : Buffer.from([0xfe, n % 256, n >> 8, partition]);
  const headers =
    n % 3 === 0
      ? ([
          ['trace', Buffer.from(`t${n}`)],
          ['trace', Buffer.alloc(0)],
          ['', Buffer.from([0xff])],
        ] as const)
      : [];
  return { key, value, timestampMs: FIRST_MS + BigInt(n) * 30_000n, headers };
}

export async function createTopic(
  bootstrap: string,
  prefix: string,
  partitions: number,
  config: TopicSpec['config'] = {},
): Promise<string> {
  const topic = `sluice-test-${prefix}-${randomBytes(4).toString('hex')}`;
  await withCluster(bootstrap, (cluster) => cluster.createTopics([{ topic, partitions, config }]));
  return topic;
}

/**
 * Sends `count` odd records to each partition, in batches of `batchSize`; goes on counting where the partition ends.
 * `padBytes` more in each value that is not null.
 */
export async function fillOdd(
  produced: Produced,
  topic: string,
  partitions: number,
  count: number,
  batchSize = 40,
  padBytes = 0,
): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    const first = produced.of(topic, partition).size;
    for (let n = first; n < first + count; n += batchSize) {
      const size = Math.min(batchSize, first + count - n);
      const records = Array.from({ length: size }, (_, i) =>
        padded(oddRecord(topic, partition, n + i), n + i, padBytes),
      );
      await produced.send(topic, partition, records);
    }
  }
}

function padded(record: RecordToSend, n: number, bytes: number): RecordToSend {
  if (record.value === null || bytes === 0) return record;
  return { ...record, value: Buffer.concat([record.value, Buffer.alloc(bytes, (n % 26) + 65)]) };
}

export interface FaultTopics {
  produced: Produced;
  topics: string[];
}

/** Two topics of two partitions with `count` odd records in each partition. */
export async function twoTopics(bootstrap: string, prefix: string, count: number): Promise<FaultTopics> {
  const produced = new Produced(bootstrap);
  const topics = [
    await createTopic(bootstrap, `${prefix}-a`, 2),
    await createTopic(bootstrap, `${prefix}-b`, 2),
  ];
  for (const topic of topics) await fillOdd(produced, topic, 2, count);
  return { produced, topics };
}
