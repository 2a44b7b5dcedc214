/** Retention deletes records that were planned, half committed, or not planned yet. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

describe('records that retention deletes', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let topic: string;
  let pipeline: TestPipeline;

  // 80 records; the first batch takes [0, 20) of both partitions.
  beforeEach(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'retention', 2);
    await fillOdd(produced, topic, 2, 40);
    pipeline = new TestPipeline({ bootstrap, topics: [topic], maxOffsetsPerTrigger: 40 });
  });
  afterEach(async () => {
    await produced.close();
    pipeline.remove();
  });

  const deleteBefore = (partition: number, before: bigint) =>
    withCluster(bootstrap, (cluster) => cluster.deleteRecords(topic, partition, before));
  const accepting = (config: { source: { failOnDataLoss: boolean } }): void => {
    config.source.failOnDataLoss = false;
  };
  const doneOf = async (batch: number): Promise<{ lost: Record<string, unknown>[] }> =>
    JSON.parse(await readFile(`${pipeline.checkpoint}/_sluice/done/${batch}.json`, 'utf8')).record;

  it.each([
    'after-prepared',
    'before-catalog-commit',
    'after-catalog-commit',
    'between-tables',
    'before-done',
    'after-done',
  ])('of a batch that ended at %s: it is finished from its list, without Kafka', async (point) => {
    await expect(pipeline.run({ failpoints: `${point}=throw` })).rejects.toThrow(point);
    await deleteBefore(0, 20n);
    await deleteBefore(1, 20n);
    const { reports } = await pipeline.run();
    expect(reports[0]).toMatchObject({ batchId: 0, recovered: 'finished', records: 40, lost: [] });
    await checkExactlyOnce({ pipeline, produced });
  });

  it('of a half-committed batch and beyond it: the batch is finished, and then the loss is told', async () => {
    await expect(pipeline.run({ failpoints: 'between-tables=throw' })).rejects.toThrow('between-tables');
    await deleteBefore(0, 25n);
    await expect(pipeline.run()).rejects.toMatchObject({
      code: 'DATA_LOSS',
      exitCode: 3,
      context: { lost: [{ topic, partition: 0, from: '20', until: '25', count: '5' }] },
    });
    const { reports } = await pipeline.run({}, accepting);
    expect(reports[0].lost).toMatchObject([{ topic, partition: 0, from: 20n, until: 25n }]);
    expect((await doneOf(1)).lost).toMatchObject([
      { topic, partition: 0, from: 20, until: 25, acceptedBy: 'failOnDataLoss=false' },
    ]);
    for (const offset of [20n, 21n, 22n, 23n, 24n]) produced.of(topic, 0).delete(offset);
    await checkExactlyOnce({ pipeline, produced, acceptedLoss: 5n });
  });

  it.each([
    ['a part', 7n],
    ['all of one partition', 20n],
  ])('of a batch that was planned and not read, %s', async (_, before) => {
    await expect(pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toThrow('after-offsets');
    await deleteBefore(0, before);
    // Every run says so, and none goes on.
    for (let n = 0; n < 2; n++) {
      const error = await pipeline.run().catch((e: unknown) => e);
      expect(error).toMatchObject({
        code: 'DATA_LOSS',
        exitCode: 3,
        context: { topic, partition: 0, logStart: before },
      });
      expect(String(error)).toContain(`[0, ${before})`);
    }
    const { reports, log } = await pipeline.run({}, accepting);
    expect(reports[0]).toMatchObject({ batchId: 0, recovered: 'read again' });
    expect(reports[0].lost).toMatchObject([{ topic, partition: 0, from: 0n, until: before }]);
    expect(log.filter((line) => line.startsWith('warn')).join()).toContain(`[0, ${before})`);
    expect((await doneOf(0)).lost).toMatchObject([{ topic, partition: 0, from: 0, until: Number(before) }]);
    produced.forget(topic, 0, before);
    await checkExactlyOnce({ pipeline, produced, acceptedLoss: before });
  });

  it('of a planned batch and beyond it, in both partitions', async () => {
    await expect(pipeline.run({ failpoints: 'read=throw' })).rejects.toThrow('read');
    await deleteBefore(0, 31n);
    await deleteBefore(1, 40n);
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'DATA_LOSS' });
    const { reports } = await pipeline.run({}, accepting);
    const lost = reports.flatMap((r) => r.lost).map((l) => `${l.partition} [${l.from}, ${l.until})`);
    expect(lost.sort()).toEqual(['0 [0, 20)', '0 [20, 31)', '1 [0, 20)', '1 [20, 40)']);
    produced.forget(topic, 0, 31n);
    produced.forget(topic, 1, 40n);
    await checkExactlyOnce({ pipeline, produced, acceptedLoss: 71n });
    // The loss was accepted once; nothing is lost now.
    expect((await pipeline.run()).summary.batches).toBe(0);
  });

  it('before they were planned (case C12): the lost range and its count, never a jump to the end', async () => {
    await pipeline.run();
    await fillOdd(produced, topic, 2, 30);
    await deleteBefore(1, 55n);
    const error = await pipeline.run().catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'DATA_LOSS',
      exitCode: 3,
      context: { lost: [{ topic, partition: 1, from: '40', until: '55', count: '15' }] },
    });
    expect(String(error)).toMatch(/its oldest record is of 2026-07-14/);
    const { reports } = await pipeline.run({}, accepting);
    expect(reports[0].lost).toMatchObject([{ topic, partition: 1, from: 40n, until: 55n }]);
    for (let offset = 40n; offset < 55n; offset++) produced.of(topic, 1).delete(offset);
    await checkExactlyOnce({ pipeline, produced, acceptedLoss: 15n });
  });

  it('before they were planned, and nothing is left: the loss alone is a batch', async () => {
    await pipeline.run();
    await fillOdd(produced, topic, 2, 10);
    await deleteBefore(0, 50n);
    await deleteBefore(1, 50n);
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'DATA_LOSS' });
    const { reports } = await pipeline.run({}, accepting);
    expect(reports).toHaveLength(1);
    expect(reports[0].lost).toHaveLength(2);
    for (const partition of [0, 1])
      for (let offset = 40n; offset < 50n; offset++) produced.of(topic, partition).delete(offset);
    await checkExactlyOnce({ pipeline, produced, acceptedLoss: 20n });
    expect((await pipeline.run({}, accepting)).summary.batches).toBe(0);
  });
});
