/** The log, the table or the checkpoint is not the one that it was: the run stops with a name for it and touches nothing. */
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { type IndependentTable, readIndependently } from '../../support/independent-table.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let produced: Produced;
let topic: string;
let pipeline: TestPipeline;

// 60 records in batches of [0, 10), [10, 20), [20, 30) of both partitions.
beforeEach(async () => {
  produced = new Produced(bootstrap);
  topic = await createTopic(bootstrap, 'replaced', 2);
  await fillOdd(produced, topic, 2, 30);
  pipeline = new TestPipeline({ bootstrap, topics: [topic], maxOffsetsPerTrigger: 20 });
});
afterEach(async () => {
  await produced.close();
  pipeline.remove();
});

const tableNames = () => [pipeline.tableOf(topic), `${pipeline.tableOf(topic)}__quarantine`];
const tablesNow = (): Promise<(IndependentTable | undefined)[]> =>
  Promise.all(tableNames().map((name) => readIndependently(pipeline.catalogFile, name)));

/** The run stops with the code, again and again, and neither table nor warehouse nor checkpoint change. */
async function stops(code: string, exitCode: number): Promise<string> {
  const tables = await tablesNow();
  const files = pipeline.files(pipeline.directory).filter((f) => !f.startsWith(pipeline.catalogFile));
  let text = '';
  for (let n = 0; n < 2; n++) {
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({ code, exitCode });
    text = String(error);
  }
  expect(await tablesNow()).toEqual(tables);
  expect(pipeline.files(pipeline.directory).filter((f) => !f.startsWith(pipeline.catalogFile))).toEqual(
    files,
  );
  return text;
}

describe('a topic that was deleted and created anew', () => {
  const recreate = async (count: number): Promise<void> => {
    await withCluster(bootstrap, async (cluster) => {
      await cluster.deleteTopics([topic]);
      await cluster.createTopics([{ topic, partitions: 2 }]);
    });
    const anew = new Produced(bootstrap);
    if (count > 0) await fillOdd(anew, topic, 2, count);
    await anew.close();
  };

  it.each([
    ['empty', 0],
    ['shorter than the position (case C13)', 18],
    ['as long as the position', 30],
    ['longer than the position, so that the offsets look right', 50],
  ])('%s', async (_, count) => {
    await pipeline.run();
    await recreate(count);
    expect(await stops('TOPIC_REPLACED', 3)).toMatch(
      /deleted and created anew: .* topic id \S+, the brokers have/,
    );
    await checkExactlyOnce({ pipeline, produced, ends: new Map([[topic, [30n, 30n]]]) });
  });

  it('while a batch was planned and not read', async () => {
    await pipeline.run();
    await fillOdd(produced, topic, 2, 10);
    await expect(pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toThrow('after-offsets');
    await recreate(60);
    await stops('TOPIC_REPLACED', 3);
  });

  it('while a batch was half committed: it is finished from its list first', async () => {
    await expect(pipeline.run({ failpoints: 'after-catalog-commit=throw' })).rejects.toThrow(
      'after-catalog-commit',
    );
    await recreate(60);
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    await stops('TOPIC_REPLACED', 3);
    for (const partition of [0, 1])
      for (let offset = 10n; offset < 30n; offset++) produced.of(topic, partition).delete(offset);
    await checkExactlyOnce({ pipeline, produced, ends: new Map([[topic, [10n, 10n]]]) });
  });

  it('in the middle of a run', async () => {
    let done = false;
    const run = pipeline.run({
      onBatch: async () => {
        if (!done) await recreate(60);
        done = true;
      },
    });
    await expect(run).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    await stops('TOPIC_REPLACED', 3);
  });

  it('and deleted for good', async () => {
    await pipeline.run();
    await withCluster(bootstrap, (cluster) => cluster.deleteTopics([topic]));
    await stops('TOPIC_NOT_FOUND', 69);
  });
});

describe('a partition that is added', () => {
  it('to a query that began at `latest`, while it runs: read from its first record (case C14)', async () => {
    pipeline = new TestPipeline({ bootstrap, topics: [topic], source: { startingOffsets: 'latest' } });
    const stop = new AbortController();
    let records = 0;
    const run = pipeline.run(
      {
        stop: stop.signal,
        onBatch: async (report) => {
          records += report.records;
          if (records === 2) {
            await withCluster(bootstrap, (cluster) => cluster.createPartitions(topic, 3));
            await produced.forgetMetadata();
            await fillOdd(produced, topic, 3, 5);
          }
          if (records === 17) stop.abort();
        },
      },
      (config) => {
        config.trigger = { kind: 'processingTime', intervalMs: 20 };
      },
    );
    run.catch(() => undefined);
    // The query has begun when its start is kept.
    await expect
      .poll(() => pipeline.files(pipeline.directory).some((f) => f.endsWith('sources/0/0')))
      .toBe(true);
    await fillOdd(produced, topic, 2, 1);
    expect((await run).summary.stopped).toBe('asked');
    const { tables } = await checkExactlyOnce({
      pipeline,
      produced,
      from: { [`${topic}-0`]: 30n, [`${topic}-1`]: 30n },
    });
    const rows = [...tables.values()].flatMap((t) => t.rows).filter((row) => row.kafka_partition === 2);
    expect(rows).toHaveLength(5);
  });

  it('between two runs', async () => {
    await pipeline.run();
    await withCluster(bootstrap, (cluster) => cluster.createPartitions(topic, 4));
    await produced.forgetMetadata();
    await fillOdd(produced, topic, 4, 5);
    expect((await pipeline.run()).summary.records).toBe(20);
    await checkExactlyOnce({ pipeline, produced });
  });
});

describe('a table that is not what the checkpoint knows', () => {
  const identifier = (name: string) => ({ namespace: ['bronze'], name: name.slice('bronze.'.length) });

  it.each([0, 1])('dropped (table %i)', async (which) => {
    await pipeline.run();
    await fillOdd(produced, topic, 2, 10);
    const catalog = await pipeline.openCatalog();
    await catalog.dropTable(identifier(tableNames()[which]));
    await catalog.close();
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TABLE_REWOUND', exitCode: 4 });
    await stops('TABLE_REWOUND', 4);
  });

  it.each(['after-offsets', 'after-prepared', 'between-tables'])(
    'dropped while a batch ended at %s',
    async (at) => {
      await expect(pipeline.run({ failpoints: `${at}@2=throw` })).rejects.toThrow(at);
      const catalog = await pipeline.openCatalog();
      await catalog.dropTable(identifier(pipeline.tableOf(topic)));
      await catalog.close();
      await expect(pipeline.run()).rejects.toMatchObject({ code: 'TABLE_REWOUND', exitCode: 4 });
      await stops('TABLE_REWOUND', 4);
    },
  );

  it.each([0, 1])('rolled back to an earlier snapshot (table %i)', async (which) => {
    await pipeline.run();
    await fillOdd(produced, topic, 2, 10);
    const name = tableNames()[which];
    const { history } = (await readIndependently(pipeline.catalogFile, name))!;
    const catalog = await pipeline.openCatalog();
    const rollBack = async (snapshotId: bigint): Promise<void> => {
      const base = (await catalog.loadTable(identifier(name)))!;
      await catalog.commitTable(
        base,
        [],
        [{ action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId } } as never],
      );
    };
    await rollBack(history[0].id);
    expect(await stops('TABLE_REWOUND', 4)).toMatch(/batches 1 to 2 would have to be read again/);
    // Rolled forward again, the run goes on as if nothing had been.
    await rollBack(history.at(-1)!.id);
    await catalog.close();
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced });
  });
});

describe('a checkpoint that is not what the table knows', () => {
  it.each([
    ['all of it', ''],
    ['its logs, its id kept', 'logs'],
  ])('deleted, %s: a fresh start does not double the table', async (_, what) => {
    await pipeline.run();
    const away = join(pipeline.directory, 'away');
    cpSync(pipeline.checkpoint, away, { recursive: true });
    if (what === '') rmSync(pipeline.checkpoint, { recursive: true });
    else
      for (const directory of ['offsets', 'commits', 'sources', '_sluice'])
        rmSync(join(pipeline.checkpoint, directory), { recursive: true });
    const before = await tablesNow();
    for (let n = 0; n < 2; n++)
      await expect(pipeline.run()).rejects.toMatchObject({ code: 'CHECKPOINT_LOST', exitCode: 78 });
    expect(await tablesNow()).toEqual(before);
    rmSync(pipeline.checkpoint, { recursive: true });
    renameSync(away, pipeline.checkpoint);
    await fillOdd(produced, topic, 2, 10);
    await pipeline.run();
    await checkExactlyOnce({ pipeline, produced });
  });

  it.each(['after-offsets', 'after-purge', 'before-prepared'])(
    'an older copy, of the time %s of the second batch',
    async (at) => {
      await expect(pipeline.run({ failpoints: `${at}@2=throw` })).rejects.toThrow(at);
      const copy = join(pipeline.directory, 'copy');
      cpSync(pipeline.checkpoint, copy, { recursive: true });
      await pipeline.run();
      await fillOdd(produced, topic, 2, 10);
      const newest = join(pipeline.directory, 'newest');
      renameSync(pipeline.checkpoint, newest);
      renameSync(copy, pipeline.checkpoint);
      const before = await tablesNow();
      for (let n = 0; n < 2; n++) {
        const error = await pipeline.run().catch((e: unknown) => e);
        expect(error).toMatchObject({ code: 'STALE_WRITER', exitCode: 75 });
      }
      expect(await tablesNow()).toEqual(before);
      rmSync(pipeline.checkpoint, { recursive: true });
      renameSync(newest, pipeline.checkpoint);
      await pipeline.run();
      await checkExactlyOnce({ pipeline, produced });
    },
  );

  it('an older copy of a batch that was prepared: the same list finishes the same batch', async () => {
    await expect(pipeline.run({ failpoints: 'after-prepared@3=throw' })).rejects.toThrow('after-prepared');
    const copy = join(pipeline.directory, 'copy');
    cpSync(pipeline.checkpoint, copy, { recursive: true });
    await pipeline.run();
    rmSync(pipeline.checkpoint, { recursive: true });
    renameSync(copy, pipeline.checkpoint);
    await fillOdd(produced, topic, 2, 10);
    expect((await pipeline.run()).reports[0]).toMatchObject({ batchId: 2, recovered: 'finished' });
    await checkExactlyOnce({ pipeline, produced });
  });
});
