/** What `status`, `explain` and `verify` say of a pipeline on a real broker. */
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { type CliRun, TestPipeline, type TestPipelineOptions } from '../../support/test-pipeline.ts';

describe('the views of a pipeline', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let topic: string;
  let pipeline: TestPipeline;

  beforeEach(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'views', 2);
    await fillOdd(produced, topic, 2, 100);
  });
  afterEach(async () => {
    await produced.close();
    pipeline.remove();
  });

  const begin = (more: Partial<TestPipelineOptions> = {}): void => {
    pipeline = new TestPipeline({ bootstrap, topics: [topic], ...more });
  };
  const sluice = (...args: string[]): Promise<CliRun> =>
    pipeline.cli({ args: [args[0], '-c', `${pipeline.directory}/sluice.yaml`, ...args.slice(1)] });

  it('count lag from where a query at `latest` begins, before its first batch and before its first run', async () => {
    begin({ source: { startingOffsets: 'latest' } });
    for (let run = 0; run < 2; run++) {
      const { code, stdout } = await sluice('status', '-o', 'json');
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        readLag: 0,
        committedLag: 0,
        lost: 0,
      });
      await pipeline.run();
    }
    await fillOdd(produced, topic, 2, 7);
    expect(JSON.parse((await sluice('status', '-o', 'json')).stdout)).toMatchObject({
      readLag: 14,
      committedLag: 14,
    });
  });

  it('status shows what the checkpoint says where the brokers do not, and is not OK', async () => {
    begin({ more: 'trigger: { availableNow: true }' });
    await pipeline.run();
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const deaf = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
    // Port 9 of the loopback, where nothing listens, and one that takes connections and never answers.
    for (const [servers, error] of [
      ['127.0.0.1:9', 'ECONNREFUSED'],
      [deaf, deaf],
    ]) {
      const ask = ['--timeout', '700ms', '--set', `source.kafka.bootstrap.servers=${servers}`];
      const { code, stdout, stderr } = await sluice('status', '-o', 'json', ...ask);
      expect(code).toBe(69);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'BROKER_UNREACHABLE' } });
      const status = JSON.parse(stdout);
      expect(status).toMatchObject({
        state: 'STALL',
        brokers: { servers, asked: true, error: { code: 'BROKER_UNREACHABLE' } },
        checkpoint: { lastPlanned: 0, lastCommitted: 0 },
        readLag: null,
        committedLag: null,
        lost: null,
      });
      expect(status.reasons[0]).toMatch(/^the brokers cannot be reached, so that lag/);
      expect(status.reasons[0]).toContain(error);
      const known = { topic, planned: 100, committed: 100, latest: null, lost: null, state: null };
      expect(status.partitions).toMatchObject([
        { ...known, partition: 0 },
        { ...known, partition: 1 },
      ]);
      const { stdout: text } = await sluice('status', ...ask);
      expect(text).toMatch(/^STALL\n {2}the brokers cannot be reached/);
      expect(text).toContain(`brokers        ${servers} (not reached)`);
    }
    mute.close();
    const { code, stdout } = await sluice('status');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^OK\n|^WARN\n/) });
  });

  it('explain refuses what the run would refuse, and shows what it would give up', async () => {
    begin();
    await pipeline.run();
    await fillOdd(produced, topic, 2, 50);
    await withCluster(bootstrap, (cluster) => cluster.deleteRecords(topic, 1, 130n));
    const refused = await sluice('explain');
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('DATA_LOSS');
    expect(refused.stderr).toContain('[100, 130)');
    const { code, stdout } = await sluice('explain', '--set', 'source.failOnDataLoss=false', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      lost: [{ topic, partition: 1, from: 100, until: 130 }],
      offsets: 70,
      lag: 70,
    });
  });

  it('verify asks the broker for the offsets that have no row', async () => {
    begin({ table: { tombstones: 'drop' } });
    await pipeline.run();
    const { code, stdout } = await sluice('verify', '--against-broker', '-o', 'json');
    expect(code).toBe(0);
    const { tables } = JSON.parse(stdout);
    expect(tables).toMatchObject([{ ok: true, lost: 0, otherRows: 0 }]);
    for (const p of tables[0].partitions) {
      expect(p.dropped).toBeGreaterThan(0);
      expect(p.broker).toMatchObject({ from: 0, until: 100, asked: p.dropped, records: [] });
    }
    const text = (await sluice('verify', '--against-broker')).stdout;
    expect(text).toContain('which the brokers still have');
  });
});
