/** Hundreds of tables in one batch: `memory` bounds the whole process all the same. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runSluice } from '../../bench/measured-process.ts';
import { useKafka } from '../support/kafka.ts';
import { withCluster, withProducer } from '../support/kafka-topics.ts';
import { THOROUGH } from '../support/thorough.ts';

const MiB = 1024 * 1024;
/** What Node.js itself may take beside `memory`. */
const NODE_BYTES = 150 * MiB;
const PARTITIONS = 4;

const kafka = useKafka();
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-e2e-typed-memory-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function load(topic: string, count: number, textOf: (i: number) => string): Promise<void> {
  await withCluster(kafka.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions: PARTITIONS }]));
  await withProducer(kafka.bootstrap, topic, { codec: 'zstd' }, async (producer) => {
    for (let i = 0; i < count; i++) {
      const timestampMs = Date.UTC(2026, 0, 1) + i;
      const full = producer.append({
        topic,
        partition: i % PARTITIONS,
        key: `k${i % 100}`,
        value: textOf(i),
        timestampMs,
      });
      if (full !== undefined) await full;
    }
  });
}

interface Run {
  memory: string;
  count: number;
  kinds: number;
  rule?: object;
}

async function peakOf({ memory, count, kinds, rule }: Run): Promise<number> {
  const topic = kafka.uniqueTopic('typed-memory');
  await load(topic, count, (i) => {
    const n = (i * 7919) % 1_000_003;
    return JSON.stringify({
      kind: `k${n % kinds}`,
      id: i,
      user: `user-${n}`,
      session: `${n.toString(16)}-${(n * 31).toString(16)}-${i}`,
      price: (n % 10_000) / 100,
      qty: n % 7,
      ok: n % 2 === 0,
      at: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
      tags: [`t${n % 5}`, `t${n % 3}`],
      geo: { lat: n / 1e4, lon: -n / 1e4 },
      page: `https://shop.example/products/${n}?ref=${i % 13}`,
      note: n % 3 === 0 ? null : 'x'.repeat(n % 40),
    });
  });
  try {
    const pipeline = join(home, 'sluice.json');
    const schema =
      'kind STRING, id BIGINT NOT NULL, user STRING, session STRING, price DECIMAL(10,2), qty INT, ok BOOLEAN, at TIMESTAMP, tags ARRAY<STRING>, geo STRUCT<lat: DOUBLE, lon: DOUBLE>, page STRING, note STRING';
    writeFileSync(
      pipeline,
      JSON.stringify({
        name: 'memory',
        memory,
        checkpointLocation: join(home, 'checkpoint'),
        catalog: { type: 'sqlite', uri: join(home, 'catalog.db'), warehouse: join(home, 'warehouse') },
        source: {
          'kafka.bootstrap.servers': kafka.bootstrap,
          subscribe: topic,
          startingOffsets: 'earliest',
          workers: 2,
        },
        tables: [
          {
            match: '*',
            layout: 'typed',
            table: 'silver.ev_$${route}'.replace('$$', '$'),
            value: { format: 'json', schema },
            route: { by: 'kind', unknown: 'create', maxTables: 1000 },
            ...rule,
          },
        ],
      }),
    );
    const run = await runSluice(['run', '-c', pipeline, '--available-now', '-o', 'json'], home);
    expect(JSON.parse(run.stdout)).toMatchObject({
      batches: 1,
      records: count,
      quarantined: 0,
      stopped: 'finished',
    });
    return run.peakRssBytes;
  } finally {
    await withCluster(kafka.bootstrap, (cluster) => cluster.deleteTopics([topic]));
  }
}

describe('the memory of a pipeline into many tables', () => {
  it('stays under `memory`, beside what Node.js takes, for hundreds of tables', async () => {
    const peak = await peakOf({ memory: '256MB', count: THOROUGH ? 400_000 : 60_000, kinds: 250 });
    expect(peak).toBeLessThan(256 * MiB + NODE_BYTES);
  });

  it('does not grow with the records', async () => {
    const kinds = 60;
    const few = await peakOf({ memory: '128MB', count: 200_000, kinds });
    rmSync(home, { recursive: true, force: true });
    home = mkdtempSync(join(tmpdir(), 'sluice-e2e-typed-memory-'));
    const many = await peakOf({ memory: '128MB', count: THOROUGH ? 1_500_000 : 500_000, kinds });
    expect(many).toBeLessThan(few * 1.2);
  });
});
