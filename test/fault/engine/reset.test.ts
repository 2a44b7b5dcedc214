/** Lost and replaced records on a real broker: the run stops, the reset that its message names is done, the next run goes on. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type VerifyReport, verifyTable } from '../../../src/proof/verify-table.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { createTopic } from '../../support/fault-topics.ts';
import { GatedFileIO } from '../../support/gated-file-io.ts';
import { readIndependently } from '../../support/independent-table.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { lookAt, reset, resetRequest } from '../../support/reset.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

const { bootstrap } = useKafka();
let topic: string;
let pipeline: TestPipeline;
let producers: Produced[];

async function begin(partitions: number, perBatch?: number): Promise<void> {
  topic = await createTopic(bootstrap, 'reset', partitions);
  pipeline = new TestPipeline({ bootstrap, topics: [topic], maxOffsetsPerTrigger: perBatch });
}

beforeEach(() => {
  producers = [new Produced(bootstrap)];
});
afterEach(async () => {
  for (const produced of producers) await produced.close();
  pipeline.remove();
});

/** Values `name/partition/n`; returned too. */
async function send(partition: number, count: number, name = 'old'): Promise<string[]> {
  const produced = producers[producers.length - 1];
  const first = produced.of(topic, partition).size;
  const values = Array.from({ length: count }, (_, i) => `${name}/${partition}/${first + i}`);
  await produced.send(
    topic,
    partition,
    values.map((value) => ({ key: null, value: Buffer.from(value), timestampMs: 1_784_019_600_000n })),
  );
  return values;
}

async function recreate(partitions: number): Promise<void> {
  await withCluster(bootstrap, async (cluster) => {
    await cluster.deleteTopics([topic]);
    await cluster.createTopics([{ topic, partitions }]);
  });
  producers.push(new Produced(bootstrap));
}

const deleteBefore = (partition: number, before: bigint) =>
  withCluster(bootstrap, (cluster) => cluster.deleteRecords(topic, partition, before));

async function expectRows(expected: readonly string[], duplicated = 0n): Promise<VerifyReport> {
  const io = new LocalFileIO();
  const table = await readIndependently(pipeline.catalogFile, pipeline.tableOf(topic), (path) =>
    io.read(path),
  );
  expect(table!.rows.map((row) => row.value as string).sort()).toEqual([...expected].sort());
  const catalog = await pipeline.openCatalog();
  try {
    const checkpoint = await pipeline.openCheckpoint();
    const report = await verifyTable({ checkpoint, catalog, io }, pipeline.tableOf(topic));
    expect(report).toMatchObject({
      ok: duplicated === 0n,
      lost: 0n,
      duplicated,
      unexpected: 0n,
      rows: expected.length,
    });
    return report;
  } finally {
    await catalog.close();
  }
}

const fileOf = async (kind: 'done' | 'plan' | 'prepared', batch: number) =>
  JSON.parse(await readFile(`${pipeline.checkpoint}/_sluice/${kind}/${batch}.json`, 'utf8')).record;

describe('a topic that was deleted and created anew', () => {
  it('shorter than the checkpoint (case C13): the run stops, and after the reset exactly its 300 rows load', async () => {
    await begin(1);
    const old = await send(0, 500);
    await pipeline.run();
    await recreate(1);
    const anew = await send(0, 300, 'new');
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'TOPIC_REPLACED', exitCode: 3 });
    expect(String(error)).toContain(`sluice checkpoint reset --topic ${topic} --to earliest`);
    const preview = await lookAt(pipeline, resetRequest(topic, 'earliest'));
    expect(preview).toMatchObject({ batchId: 1, changes: true, refusals: [], givesUp: null });
    expect(preview.moves).toMatchObject([
      { partition: 0, from: 500n, to: 0n, replaced: true, lost: [], again: [] },
    ]);
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    expect(await reset(pipeline, resetRequest(topic, 'earliest'))).toMatchObject({ appended: 1 });
    const done = await fileOf('done', 1);
    expect(done.reset).toMatchObject({ reason: 'a test', by: 'tester@host' });
    expect(done.topics[0].topicId).not.toBe((await fileOf('done', 0)).topics[0].topicId);
    await expectRows(old);
    const { summary } = await pipeline.run();
    expect(summary).toMatchObject({ batches: 1, records: 300 });
    await expectRows([...old, ...anew]);
    const ledger = await (await pipeline.openCheckpoint()).ledger();
    expect(ledger.map((e) => [e.from, e.until]).sort()).toEqual([
      [0n, 300n],
      [0n, 500n],
    ]);
    expect(new Set(ledger.map((e) => e.topicId)).size).toBe(2);
    expect((await pipeline.run()).summary.batches).toBe(0);
  });

  it('longer than the checkpoint, with another number of partitions', async () => {
    await begin(3);
    const old = [...(await send(0, 20)), ...(await send(1, 10)), ...(await send(2, 5))];
    await pipeline.run();
    await recreate(2);
    const anew = [...(await send(0, 70, 'new')), ...(await send(1, 40, 'new'))];
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    await expect(reset(pipeline, resetRequest(topic, 'earliest', { partition: 0 }))).rejects.toMatchObject({
      code: 'RESET_REFUSED',
    });
    const { preview } = await reset(pipeline, resetRequest(topic, 'earliest'));
    expect(preview!.moves.map((m) => m.to)).toEqual([0n, 0n, null]);
    expect((await pipeline.run()).summary.records).toBe(110);
    await expectRows([...old, ...anew]);
  });

  it('from an offset of the new one on: what is passed over goes on record', async () => {
    await begin(1);
    const old = await send(0, 20);
    await pipeline.run();
    await recreate(1);
    const anew = await send(0, 50, 'new');
    await reset(pipeline, resetRequest(topic, '30'));
    expect((await fileOf('done', 1)).lost).toMatchObject([
      { from: 0, until: 30, acceptedBy: 'tester@host', reason: expect.stringContaining('a test') },
    ]);
    expect((await pipeline.run()).summary.records).toBe(20);
    const report = await expectRows([...old, ...anew.slice(30)]);
    expect(report.partitions.reduce((sum, p) => sum + p.acceptedLoss, 0n)).toBe(30n);
  });

  it('while a batch of it was planned and not read: the batch is taken back, its records are lost on record', async () => {
    await begin(2, 40);
    const read = [...(await send(0, 20)), ...(await send(1, 20))];
    await pipeline.run();
    await send(0, 20);
    await send(1, 20);
    await expect(pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toThrow('after-offsets');
    await recreate(2);
    const anew = [...(await send(0, 100, 'new')), ...(await send(1, 100, 'new'))];
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    const { preview, appended } = await reset(pipeline, resetRequest(topic, 'earliest'));
    expect(appended).toBe(2);
    expect(preview!.givesUp).toMatchObject({ batchId: 1, state: 'unread' });
    expect((await fileOf('done', 2)).lost).toHaveLength(2);
    expect((await pipeline.run()).summary.records).toBe(200);
    const report = await expectRows([...read, ...anew]);
    expect(report.partitions.reduce((sum, p) => sum + p.acceptedLoss, 0n)).toBe(40n);
  });

  it('while a batch of it was half committed: it is finished first, then the reset is done', async () => {
    await begin(1);
    const old = await send(0, 30);
    await expect(pipeline.run({ failpoints: 'after-prepared=throw' })).rejects.toThrow('after-prepared');
    await recreate(1);
    const anew = await send(0, 10, 'new');
    await expect(reset(pipeline, resetRequest(topic, 'earliest'))).rejects.toMatchObject({
      code: 'RESET_REFUSED',
      message: expect.stringContaining('sluice run --once'),
    });
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    await reset(pipeline, resetRequest(topic, 'earliest'));
    await pipeline.run();
    await expectRows([...old, ...anew]);
  });

  it('before any batch was planned', async () => {
    await begin(1);
    await pipeline.run();
    await recreate(1);
    const anew = await send(0, 10, 'new');
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
    expect(await reset(pipeline, resetRequest(topic, 'earliest'))).toMatchObject({ appended: 0 });
    expect((await pipeline.run()).summary.records).toBe(10);
    await expectRows(anew);
  });
});

describe('records that retention deleted', () => {
  it('before they were planned (case C12), in one of two partitions', async () => {
    await begin(2);
    const read = [...(await send(0, 20)), ...(await send(1, 20))];
    await pipeline.run();
    const left = [...(await send(0, 30)), ...(await send(1, 30)).slice(15)];
    await deleteBefore(1, 35n);
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'DATA_LOSS', exitCode: 3 });
    expect(String(error)).toContain(`sluice checkpoint reset --topic ${topic} --to unread`);
    // Partition 0 would go back to what is in the table.
    await expect(reset(pipeline, resetRequest(topic, 'earliest'))).rejects.toMatchObject({
      code: 'RESET_REFUSED',
      message: expect.stringContaining(`${topic}-0 [0, 20) (20 offsets) into ${pipeline.tableOf(topic)}`),
    });
    const { preview } = await reset(pipeline, resetRequest(topic, 'unread'));
    expect(preview!.moves.map((m) => [m.from, m.to, m.changed])).toEqual([
      [20n, 20n, false],
      [20n, 35n, true],
    ]);
    expect((await fileOf('done', 1)).lost).toMatchObject([{ partition: 1, from: 20, until: 35 }]);
    expect((await pipeline.run()).summary.records).toBe(45);
    const report = await expectRows([...read, ...left]);
    expect(report.partitions.reduce((sum, p) => sum + p.acceptedLoss, 0n)).toBe(15n);
  });

  it('of a batch that was planned and not read: the partition that is whole is read again from where the batch began', async () => {
    await begin(2, 40);
    const read = [...(await send(0, 20)), ...(await send(1, 20))];
    await pipeline.run();
    const left = [...(await send(0, 20)), ...(await send(1, 20)).slice(7)];
    await expect(pipeline.run({ failpoints: 'read=throw' })).rejects.toThrow('read');
    await deleteBefore(1, 27n);
    await expect(pipeline.run()).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining(`--topic ${topic} --to unread`),
    });
    await reset(pipeline, resetRequest(topic, 'earliest', { partition: 1 }));
    expect(await fileOf('prepared', 1)).toMatchObject({ tables: [], givenUp: { by: 'tester@host' } });
    expect((await pipeline.run()).summary.records).toBe(33);
    const report = await expectRows([...read, ...left]);
    expect(report.partitions.reduce((sum, p) => sum + p.acceptedLoss, 0n)).toBe(7n);
  });
});

describe('a batch that was planned and could be read', () => {
  it('is not taken back unless that is asked for', async () => {
    await begin(2);
    const values = [...(await send(0, 10)), ...(await send(1, 10))];
    await expect(pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toThrow('after-offsets');
    const skip = (giveUpBatch: boolean) => resetRequest(topic, '4', { partition: 0, giveUpBatch });
    await expect(reset(pipeline, skip(false))).rejects.toMatchObject({
      code: 'RESET_REFUSED',
      message: expect.stringContaining('--give-up-batch'),
    });
    await reset(pipeline, skip(true));
    expect((await pipeline.run()).summary.records).toBe(16);
    await expectRows(values.slice(4));
  });

  it('of a process that only seemed gone: it is stopped before it commits, and no row is there twice', async () => {
    await begin(1);
    const values = await send(0, 10);
    const io = new GatedFileIO(new LocalFileIO());
    const gate = io.gate('createNew', /_sluice\/prepared\/0/);
    const standing = pipeline.run({ seams: { fileIO: io } }).catch((e: unknown) => e);
    await gate.reached;
    await expect(reset(pipeline, resetRequest(topic, '0', { giveUpBatch: true }))).rejects.toMatchObject({
      code: 'CHECKPOINT_CONCURRENT',
    });
    const later = { now: () => Date.now() + 3_600_000 };
    await reset(pipeline, resetRequest(topic, '0', { giveUpBatch: true }), later);
    gate.open();
    expect(await standing).toMatchObject({ code: 'CHECKPOINT_CONCURRENT' });
    expect((await pipeline.run()).summary.records).toBe(10);
    await expectRows(values);
  });
});

describe('a move back', () => {
  it('within one incarnation needs leave to double rows, and verify goes on to tell of them', async () => {
    await begin(1);
    const values = await send(0, 20);
    await pipeline.run();
    await expect(reset(pipeline, resetRequest(topic, '15'))).rejects.toMatchObject({ code: 'RESET_REFUSED' });
    await reset(pipeline, resetRequest(topic, '15', { allowDuplicates: true }));
    await pipeline.run();
    await expectRows([...values, ...values.slice(15)], 5n);
  });

  it('over what a reset had passed over doubles nothing, and needs no leave', async () => {
    await begin(1);
    const values = await send(0, 20);
    await pipeline.run();
    const more = await send(0, 20);
    await reset(pipeline, resetRequest(topic, 'latest'));
    expect((await pipeline.run()).summary.batches).toBe(0);
    await expectRows(values);
    await reset(pipeline, resetRequest(topic, '20'));
    await pipeline.run();
    await expectRows([...values, ...more]);
  });
});
