/**
 * Topics of every kind of producer, row by row: what the Java consumer reads under each isolation level against what the reader hands
 * on and what an independent reader finds in the table. `verify` must prove each of them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KafkaCodec, Producer } from '../../src/kafka/produce.ts';
import { readRanges } from '../../src/kafka/range-reader.ts';
import type { VerifyReport } from '../../src/proof/verify-table.ts';
import { readIndependently } from '../support/independent-table.ts';
import { type Broker, startBroker } from '../support/kafka.ts';
import { kafkaJavaMissing, runKafkaTraffic } from '../support/kafka-java.ts';
import { produceTraffic, TRAFFIC_CODECS, TRAFFIC_TOPICS } from '../support/kafka-traffic.ts';
import { testClient } from '../support/read-collector.ts';
import { TestPipeline } from '../support/test-pipeline.ts';
import {
  addRows,
  asInTable,
  differences,
  type JavaReading,
  readTraffic,
  tableLines,
  withoutHeaders,
} from '../support/traffic-lines.ts';

const LEVELS = ['read_committed', 'read_uncommitted'] as const;
type Level = (typeof LEVELS)[number];
const TOPICS = TRAFFIC_TOPICS.map(({ topic }) => topic);
const TABLE = 'bronze.everything';

const missing = await kafkaJavaMissing();
let directory: string;
let broker: Broker;
let open: Producer;
const java = {} as Record<Level, JavaReading>;
const pipelines = {} as Record<Level, TestPipeline>;

async function consumeByJava(topics: readonly string[]): Promise<void> {
  const file = join(directory, 'java');
  await runKafkaTraffic('consume', broker.bootstrap, file, ...topics);
  for (const level of LEVELS) {
    const reading = await readTraffic(`${file}.${level}`);
    java[level] ??= { records: new Map(), ranges: new Map() };
    for (const [key, line] of reading.records) java[level].records.set(key, line);
    for (const [key, range] of reading.ranges) java[level].ranges.set(key, range);
  }
}

describe.skipIf(missing !== undefined)(`topics of every producer${missing ? ` (${missing})` : ''}`, () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-traffic-'));
    broker = await startBroker({
      properties: {
        'log.cleaner.backoff.ms': 200,
        'log.initial.task.delay.ms': 200,
        'transaction.max.timeout.ms': 900_000,
      },
    });
    open = await produceTraffic(broker.bootstrap);
    await consumeByJava(TOPICS);
    for (const level of LEVELS) {
      pipelines[level] = new TestPipeline({
        bootstrap: broker.bootstrap,
        topics: TOPICS,
        name: level,
        intoTable: TABLE,
        maxOffsetsPerTrigger: 60_000,
        source: { 'kafka.isolation.level': level, includeHeaders: true },
        table: { valueType: 'binary', keyType: 'binary', partitionBy: '[]' },
      });
    }
  });
  afterAll(async () => {
    await open?.cluster.close();
    await broker?.stop();
    for (const level of LEVELS) pipelines[level]?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it('the logs hold what they are meant to hold', () => {
    const batches = batchesOnDisk(join(broker.dataDir, 'log'));
    for (const topic of ['java', 'librdkafka', 'platformatic', 'ours'])
      for (const [partition, codec] of TRAFFIC_CODECS.entries()) {
        const of = batches.get(`${topic}-${partition}`)!;
        // librdkafka leaves batches as they are which compression would not make smaller.
        const expected = topic === 'librdkafka' ? ['none', codec] : [codec];
        expect(new Set(of.filter((b) => !b.control).map((b) => b.codec)), topic).toEqual(new Set(expected));
        expect(of.some((b) => b.records === 1) && of.some((b) => b.records >= 3000), topic).toBe(true);
        expect(of.filter((b) => b.control).length, topic).toBe(4);
      }
    for (const codec of TRAFFIC_CODECS.slice(1))
      expect(new Set(batches.get(`by-broker-${codec}-0`)!.map((b) => b.codec))).toEqual(new Set([codec]));
    const mixed = batches.get('mixed-0')!;
    let changes = 0;
    for (let i = 1; i < mixed.length; i++) if (mixed[i].producerId !== mixed[i - 1].producerId) changes++;
    expect(changes).toBeGreaterThan(100);
    // Batches that compaction has emptied, and holes inside of batches.
    const compacted = [0, 1, 2, 3].flatMap((partition) => batches.get(`compacted-${partition}`)!);
    expect(compacted.some((b) => b.records === 0)).toBe(true);
    expect(compacted.some((b) => b.records > 0 && b.records < b.offsets)).toBe(true);
    for (const level of LEVELS) {
      expect([0, 1, 2, 3].map((p) => java[level].ranges.get(`deleted-${p}`)!.from)).toEqual([
        37n,
        17n,
        61n,
        100n,
      ]);
    }
    expect(java.read_committed.ranges.get('open-0')!.until).toBe(50n);
    expect(java.read_committed.ranges.get('open-1')!.until).toBe(0n);
    expect(java.read_uncommitted.ranges.get('open-1')!.until).toBe(30n);
    expect(java.read_committed.records.size).toBeGreaterThan(200_000);
    expect(java.read_uncommitted.records.size).toBeGreaterThan(java.read_committed.records.size + 2000);
  });

  it.each(
    LEVELS.flatMap((level) => [
      { level, pieces: 1, fetchMaxBytes: 50_000 },
      { level, pieces: 1, fetchMaxBytes: undefined },
      { level, pieces: 7, fetchMaxBytes: undefined },
    ]),
  )(
    'the reader hands on what the Java consumer reads: $level, in $pieces pieces, fetches of $fetchMaxBytes bytes',
    async ({ level, pieces, fetchMaxBytes }) => {
      const lines = new Map<string, string>();
      const { records, ranges } = java[level];
      for (let piece = 0; piece < pieces; piece++) {
        // Pieces begin and end inside of batches and of transactions.
        const asked = [...ranges.values()].map(({ topic, partition, from, until }) => {
          const edge = (n: number) => from + ((until - from) * BigInt(n)) / BigInt(pieces);
          return { topic, partition, topicId: null, from: edge(piece), until: edge(piece + 1) };
        });
        const cursors = await readRanges({
          client: testClient(broker.bootstrap),
          ranges: asked,
          isolationLevel: level,
          budgetBytes: 32 * 1024 * 1024,
          fetchMaxBytes,
          checkUtf8Keys: false,
          checkUtf8Values: false,
          onRows: (cursor, columns) => addRows(lines, cursor, columns),
          afterPart: () => undefined,
        });
        for (const [i, c] of cursors.entries()) {
          expect(c.rows + c.control + c.aborted + c.holes).toBe(Number(asked[i].until - asked[i].from));
          if (level === 'read_uncommitted') expect(c.aborted).toBe(0);
        }
      }
      const expected = new Map([...records].map(([key, line]) => [key, withoutHeaders(line)]));
      expect(differences(lines, expected)).toEqual([]);
    },
  );

  it.each(LEVELS)('the table has what the Java consumer reads, and verify proves it: %s', async (level) => {
    const { summary } = await pipelines[level].run();
    expect(summary.batches).toBeGreaterThan(1);
    await checkTable(level);
  });

  it('what was open is read when it has ended', async () => {
    // Another producer of the same transactional id aborts what Java has left open.
    const next = await Producer.connect({
      client: testClient(broker.bootstrap),
      transactionalId: 'java-open',
    });
    await next.close();
    await open.commit();
    await consumeByJava(['open']);
    expect(java.read_committed.ranges.get('open-0')!.until).toBeGreaterThan(100n);
    for (const level of LEVELS) {
      await pipelines[level].run();
      await checkTable(level);
    }
  });
});

async function checkTable(level: Level): Promise<void> {
  const pipeline = pipelines[level];
  const table = await readIndependently(pipeline.catalogFile, TABLE);
  const { records } = java[level];
  const expected = new Map([...records].map(([key, line]) => [key, asInTable(line)]));
  expect(differences(tableLines(table!.rows), expected)).toEqual([]);
  const file = join(pipeline.directory, 'sluice.yaml');
  const args = ['verify', '--against-broker', '-c', file, '-o', 'json'];
  const { code, stdout, stderr } = await pipeline.cli({ args });
  expect(code, stderr).toBe(0);
  const { ok, tables } = JSON.parse(stdout) as { ok: boolean; tables: VerifyReport[] };
  expect([ok, tables.length, tables[0].rows, tables[0].acceptedLoss]).toEqual([true, 1, records.size, 0]);
  const counts = new Map<string, number>();
  for (const key of records.keys()) {
    const name = key.slice(0, key.lastIndexOf('@'));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  // Every offset that the Java consumer passed over is a gap that is accounted for, and no more than these.
  for (const p of tables[0].partitions) {
    const name = `${p.topic}-${p.partition}`;
    const { from, until } = java[level].ranges.get(name)!;
    expect(p.control + p.aborted + p.holes, name).toBe(Number(until - from) - (counts.get(name) ?? 0));
  }
}

interface BatchOnDisk {
  codec: KafkaCodec;
  control: boolean;
  producerId: bigint;
  records: number;
  offsets: number;
}

/** The headers of all batches of the logs, by `topic-partition`, in the order of their offsets. */
function batchesOnDisk(logs: string): Map<string, BatchOnDisk[]> {
  const found = new Map<string, BatchOnDisk[]>();
  for (const name of readdirSync(logs)) {
    if (!/-\d+$/.test(name)) continue;
    const batches: BatchOnDisk[] = [];
    found.set(name, batches);
    for (const file of readdirSync(join(logs, name))
      .filter((f) => f.endsWith('.log'))
      .sort()) {
      const bytes = readFileSync(join(logs, name, file));
      for (let at = 0; at + 61 <= bytes.length; at += 12 + bytes.readInt32BE(at + 8)) {
        if (bytes[at + 16] !== 2) break;
        const attributes = bytes.readInt16BE(at + 21);
        batches.push({
          codec: TRAFFIC_CODECS[attributes & 7],
          control: (attributes & 32) !== 0,
          producerId: bytes.readBigInt64BE(at + 43),
          records: bytes.readInt32BE(at + 57),
          offsets: bytes.readInt32BE(at + 23) + 1,
        });
      }
    }
  }
  return found;
}
