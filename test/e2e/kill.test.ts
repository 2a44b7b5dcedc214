/** SIGKILL at every named point of a run of the command line on the real broker, restarted each time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILPOINTS, type FailpointName } from '../../src/engine/failpoint.ts';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

const RECORDS_PER_PARTITION = 60;
/** Four partitions: five batches. */
const BATCH = 50;

/**
 * The passings at which the run and its restarts are killed: the first time, and at a later batch. A batch commits four tables
 * (two quarantines, then two data tables), so that the catalog's points are passed four times a batch.
 */
const PASSINGS: Partial<Record<FailpointName, number[]>> = {
  'after-initial-offsets': [1],
  read: [1, 5],
  'before-catalog-commit': [1, 2, 3, 6],
  'after-catalog-commit': [1, 1, 1, 6],
  'between-tables': [1, 2, 5],
};

/** Points at which the kind of catalog makes a difference. */
const AT_THE_CATALOG: FailpointName[] = [
  'after-prepared',
  'before-catalog-commit',
  'after-catalog-commit',
  'between-tables',
];

/** Points that only typed tables pass: the tests of those kill there. */
const OF_TYPED_TABLES: readonly FailpointName[] = ['before-evolve', 'after-evolve'];
const POINTS = FAILPOINTS.filter((point) => !OF_TYPED_TABLES.includes(point));

describe('a run that is killed', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'kill', RECORDS_PER_PARTITION);
  });
  afterAll(() => data.produced.close());

  it.each([
    ...POINTS.map((point) => [point, 'sqlite'] as const),
    ...AT_THE_CATALOG.map((point) => [point, 'file'] as const),
  ])(
    'at %s, of the first batch and of a later one, ends exactly once; catalog %s',
    async (point, catalogType) => {
      const pipeline = new TestPipeline({
        bootstrap,
        topics: data.topics,
        maxOffsetsPerTrigger: BATCH,
        catalogType,
      });
      for (const passing of PASSINGS[point] ?? [1, 2]) {
        const killed = await pipeline.cli({ failpoints: `${point}@${passing}=kill` });
        expect(killed.signal, killed.stderr).toBe('SIGKILL');
      }
      const last = await pipeline.cli();
      expect(last.code, last.stderr).toBe(0);
      const { rows, quarantined } = await checkExactlyOnce({ pipeline, produced: data.produced });
      expect(rows + quarantined).toBe(4 * RECORDS_PER_PARTITION);
      expect(quarantined).toBeGreaterThan(0);
      pipeline.remove();
    },
  );
});
