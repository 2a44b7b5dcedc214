/** Lost records as a person at the command line meets them: exit codes, words, and what `verify` says afterwards. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { createTopic, fillOdd } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { withCluster } from '../support/kafka-topics.ts';
import { Produced } from '../support/produced.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

it('records that retention deleted: exit 3 with the range, until failOnDataLoss is false; then verify accepts them', async () => {
  const { bootstrap } = useKafka();
  const produced = new Produced(bootstrap);
  const topic = await createTopic(bootstrap, 'loss', 2);
  await fillOdd(produced, topic, 2, 30);
  const pipeline = new TestPipeline({ bootstrap, topics: [topic], maxOffsetsPerTrigger: 40 });
  const file = join(pipeline.directory, 'sluice.yaml');
  // Ends after the first batch of [0, 20) was planned and before it was read.
  expect((await pipeline.cli({ failpoints: 'after-offsets=kill' })).signal).toBe('SIGKILL');
  await withCluster(bootstrap, (cluster) => cluster.deleteRecords(topic, 1, 12n));

  const stopped = await pipeline.cli();
  expect(stopped.code).toBe(3);
  expect(stopped.stderr).toContain('DATA_LOSS');
  expect(stopped.stderr).toContain(`${topic}-1`);
  expect(stopped.stderr).toContain('[0, 12)');

  const accepted = await pipeline.cli({
    args: [
      'run',
      '-c',
      file,
      '--available-now',
      '--set',
      'source.failOnDataLoss=false',
      '--log-format',
      'text',
    ],
  });
  expect(accepted.code, accepted.stderr).toBe(0);
  expect(accepted.stderr).toMatch(/warn .*\[0, 12\) were deleted/);
  produced.forget(topic, 1, 12n);
  await checkExactlyOnce({ pipeline, produced, acceptedLoss: 12n });

  const verified = await pipeline.cli({ args: ['verify', pipeline.tableOf(topic), '-c', file] });
  expect(verified.code, verified.stderr).toBe(0);
  expect(verified.stdout).toMatch(/12/);
  await produced.close();
  pipeline.remove();
});
