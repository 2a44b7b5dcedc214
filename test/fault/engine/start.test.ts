/** The start of a query is a promise from its first moment: what comes after it is read, whatever happens before the first batch. */
import { afterEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { withCluster } from '../../support/kafka-topics.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

describe('a query that has planned no batch yet', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;

  const begin = async (startingOffsets: string): Promise<string> => {
    produced = new Produced(bootstrap);
    const topic = await createTopic(bootstrap, 'start', 2);
    await fillOdd(produced, topic, 2, 30);
    pipeline = new TestPipeline({ bootstrap, topics: [topic], source: { startingOffsets } });
    return topic;
  };
  afterEach(async () => {
    await produced.close();
    pipeline.remove();
  });

  it('goes on where it first began at `latest`, also after runs that found nothing', async () => {
    const topic = await begin('latest');
    expect((await pipeline.run()).summary.batches).toBe(0);
    expect((await pipeline.run()).summary.batches).toBe(0);
    await fillOdd(produced, topic, 2, 20);
    const { summary } = await pipeline.run();
    expect(summary.records).toBe(40);
    await checkExactlyOnce({ pipeline, produced, from: { [`${topic}-0`]: 30n, [`${topic}-1`]: 30n } });
  });

  it.each(['after-initial-offsets', 'before-plan', 'after-plan'])(
    'goes on where it first began when it ended %s',
    async (point) => {
      const topic = await begin('latest');
      if (point !== 'after-initial-offsets') {
        await pipeline.run();
        await fillOdd(produced, topic, 2, 10);
      }
      await expect(pipeline.run({ failpoints: `${point}=throw` })).rejects.toThrow(point);
      await fillOdd(produced, topic, 2, 10);
      await pipeline.run();
      await checkExactlyOnce({ pipeline, produced, from: { [`${topic}-0`]: 30n, [`${topic}-1`]: 30n } });
    },
  );

  it('stops when its topic was recreated meanwhile', async () => {
    const topic = await begin('latest');
    await pipeline.run();
    await withCluster(bootstrap, async (cluster) => {
      await cluster.deleteTopics([topic]);
      await cluster.createTopics([{ topic, partitions: 2 }]);
    });
    const anew = new Produced(bootstrap);
    await fillOdd(anew, topic, 2, 40);
    await anew.close();
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'TOPIC_REPLACED' });
  });
});

describe('a query that goes on where nothing waits', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;
  let topic: string;

  const begin = async (catalogType: 'sqlite' | 'file'): Promise<void> => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'idle', 1);
    await fillOdd(produced, topic, 1, 30);
    pipeline = new TestPipeline({ bootstrap, topics: [topic], catalogType });
    await pipeline.run();
  };
  afterEach(async () => {
    await produced.close();
    pipeline.remove();
  });
  const tables = () => [pipeline.tableOf(topic), `${pipeline.tableOf(topic)}__quarantine`];
  const gone = () => ({
    code: 'TABLE_REWOUND',
    context: { table: expect.toSatisfy((name: string) => tables().includes(name)) },
  });

  it.each(['sqlite', 'file'] as const)(
    'ends as before where its tables are there; catalog %s',
    async (type) => {
      await begin(type);
      expect((await pipeline.run()).summary).toMatchObject({ batches: 0, stopped: 'finished' });
    },
  );

  it.each(['sqlite', 'file'] as const)(
    'says so where the catalog is another one; catalog %s',
    async (type) => {
      await begin(type);
      const elsewhere = `${pipeline.directory}/elsewhere`;
      const moved = pipeline.run({}, ({ catalog }) => {
        if (catalog.type === 'sqlite') catalog.uri = `${elsewhere}.db`;
        else catalog.warehouse = elsewhere;
      });
      await expect(moved).rejects.toMatchObject(gone());
      // Nothing was made there.
      expect(
        pipeline
          .files(pipeline.directory)
          .filter((file) => file.includes('bronze') && file.includes('elsewhere')),
      ).toEqual([]);
      expect((await pipeline.run()).summary.batches).toBe(0);
    },
  );

  it.each(['sqlite', 'file'] as const)('says so where a table was dropped; catalog %s', async (type) => {
    await begin(type);
    const catalog = await pipeline.openCatalog();
    await catalog.dropTable({ namespace: ['bronze'], name: pipeline.tableOf(topic).slice('bronze.'.length) });
    await catalog.close();
    await expect(pipeline.run()).rejects.toMatchObject(gone());
  });

  it('does not ask for tables that it no longer writes', async () => {
    await begin('sqlite');
    const catalog = await pipeline.openCatalog();
    for (const table of tables())
      await catalog.dropTable({ namespace: ['bronze'], name: table.slice('bronze.'.length) });
    await catalog.close();
    const { summary } = await pipeline.run({}, (config) => {
      for (const rule of config.tables) rule.table = 'bronze.other_${topic}';
    });
    expect(summary).toMatchObject({ batches: 0, stopped: 'finished' });
  });
});
