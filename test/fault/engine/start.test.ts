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
