/** The catalog fails before, after and beside every commit of batches with several tables; then the run is started again. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCatalog } from '../../../src/catalog/open-catalog.ts';
import { isSluiceError } from '../../../src/errors.ts';
import type { Catalog, TableIdentifier } from '../../../src/iceberg/catalog.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, type FaultTopics, fillOdd, twoTopics } from '../../support/fault-topics.ts';
import { type CommitFault, FaultyCatalog } from '../../support/faulty-catalog.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced } from '../../support/produced.ts';
import { type InProcessRun, TestPipeline } from '../../support/test-pipeline.ts';

/** Two batches, each with commits into two quarantines and two data tables. */
const RECORDS_PER_PARTITION = 24;
const BATCH = 48;

const FAULTS: CommitFault[] = [
  '504',
  'apply, then 504',
  'reset',
  'apply, then reset',
  'state unknown',
  'apply, then state unknown',
  'late',
  'conflict',
  'unreachable',
];

/** The pipeline commits several tables at once: where it was first, this writer tries again. */
async function setProperty(catalog: Catalog, identifier: TableIdentifier): Promise<void> {
  for (;;) {
    const table = await catalog.loadTable(identifier);
    try {
      await catalog.commitTable(
        table!,
        [],
        [{ action: 'set-properties', updates: { 'other.writer': 'was here' } }],
      );
      return;
    } catch (error) {
      if (!isSluiceError(error, 'COMMIT_CONFLICT')) throw error;
    }
  }
}

describe('the engine over a catalog that fails', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'catalog', RECORDS_PER_PARTITION);
  });
  afterAll(() => data.produced.close());

  /** A run whose catalog is handed to `arm` first. */
  function runWith(
    pipeline: TestPipeline,
    arm: (catalog: FaultyCatalog) => void,
    deadlineMs = 60_000,
  ): Promise<InProcessRun> {
    return pipeline.run(
      {
        seams: {
          openCatalog: async (options, services) => {
            const catalog = new FaultyCatalog(await openCatalog(options, services));
            arm(catalog);
            return catalog;
          },
        },
      },
      (config) => {
        config.source.requestDeadlineMs = deadlineMs;
      },
    );
  }

  const newPipeline = (catalogType: 'sqlite' | 'file' = 'sqlite') =>
    new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: BATCH, catalogType });
  const worksBefore = (nth: number): CommitFault[] => Array.from({ length: nth - 1 }, () => 'none');

  it.each(FAULTS)(
    '%s at any of the commits: the same run goes on, and each batch is there once',
    async (fault) => {
      for (const nth of [1, 2, 3, 4, 7]) {
        const pipeline = newPipeline();
        const { summary } = await runWith(pipeline, (catalog) => catalog.fail(...worksBefore(nth), fault));
        expect(summary.records).toBe(4 * RECORDS_PER_PARTITION);
        const { snapshots } = await checkExactlyOnce({ pipeline, produced: data.produced });
        expect(snapshots).toBe(8);
        pipeline.remove();
      }
    },
  );

  it.each(['504', 'apply, then 504', 'late'] as const)(
    '%s, and then no answer until the deadline: a later run finds out, and finishes the batch from its list',
    async (fault) => {
      for (const nth of [1, 2, 4, 7]) {
        const pipeline = newPipeline();
        let catalog: FaultyCatalog | undefined;
        const arm = (faulty: FaultyCatalog): void => {
          catalog = faulty;
          faulty.fail(...worksBefore(nth), fault);
          let commits = 0;
          const step = async (): Promise<void> => {
            faulty.beforeCommit = step;
            if (++commits === nth) faulty.failingLoads = Number.POSITIVE_INFINITY;
          };
          faulty.beforeCommit = step;
        };
        await expect(runWith(pipeline, arm, 300)).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
        // Commits of other tables may have been on their way beside it.
        expect(catalog?.commits).toBeGreaterThanOrEqual(nth);
        const { reports } = await pipeline.run();
        expect(reports[0].recovered).toBe('finished');
        const { snapshots } = await checkExactlyOnce({ pipeline, produced: data.produced });
        expect(snapshots).toBe(8);
        pipeline.remove();
      }
    },
  );

  it('refused at any of the commits: the run stops with the cause, and the next one finishes', async () => {
    for (const nth of [1, 2, 3, 4, 6]) {
      const pipeline = newPipeline();
      const run = runWith(pipeline, (catalog) => catalog.fail(...worksBefore(nth), 'refused'));
      await expect(run).rejects.toMatchObject({ code: 'CATALOG_ERROR', outcome: 'not-applied' });
      const { reports } = await pipeline.run();
      expect(reports[0].recovered).toBe('finished');
      await checkExactlyOnce({ pipeline, produced: data.produced });
      pipeline.remove();
    }
  });

  it.each(['sqlite', 'file'] as const)(
    'a table that another writer moves between load and commit, catalog %s: the commit is laid on top',
    async (catalogType) => {
      for (const nth of [1, 2, 4, 7]) {
        const pipeline = newPipeline(catalogType);
        const other = async (): Promise<void> => {
          const catalog = await pipeline.openCatalog();
          for (const topic of data.topics) {
            for (const name of [pipeline.tableOf(topic), `${pipeline.tableOf(topic)}__quarantine`]) {
              await setProperty(catalog, { namespace: ['bronze'], name: name.slice('bronze.'.length) });
            }
          }
          await catalog.close();
        };
        await runWith(pipeline, (catalog) => {
          let commits = 0;
          const step = async (): Promise<void> => {
            catalog.beforeCommit = step;
            if (++commits === nth) await other();
          };
          catalog.beforeCommit = step;
        });
        const { tables } = await checkExactlyOnce({ pipeline, produced: data.produced });
        for (const table of tables.values()) expect(table.properties['other.writer']).toBe('was here');
        pipeline.remove();
      }
    },
  );

  it.each(['sqlite', 'file'] as const)(
    'two pipelines that write into one table at once, catalog %s: both are whole',
    async (catalogType) => {
      const produced = new Produced(bootstrap);
      const topics = [await createTopic(bootstrap, 'one', 2), await createTopic(bootstrap, 'two', 2)];
      for (const topic of topics) await fillOdd(produced, topic, 2, 60);
      const intoTable = 'bronze.all';
      const one = new TestPipeline({
        bootstrap,
        topics: [topics[0]],
        name: 'one',
        maxOffsetsPerTrigger: 20,
        intoTable,
        catalogType,
      });
      const two = new TestPipeline({
        bootstrap,
        topics: [topics[1]],
        name: 'two',
        maxOffsetsPerTrigger: 20,
        intoTable,
        catalogType,
        warehouse: one.warehouse,
        catalogFile: join(one.directory, 'catalog.db'),
      });
      await Promise.all([one.run(), two.run()]);
      await checkExactlyOnce({ pipeline: one, produced, otherTopics: [topics[1]] });
      await checkExactlyOnce({ pipeline: two, produced, otherTopics: [topics[0]] });
      await produced.close();
      one.remove();
      two.remove();
    },
  );
});
