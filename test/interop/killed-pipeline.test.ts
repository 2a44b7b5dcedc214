/** What PyIceberg, DuckDB and pyarrow find in tables whose pipeline was killed at its commits: every record once, its bytes. */
import { isUtf8 } from 'node:buffer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { FOREIGN_ENGINES, readForeign } from '../support/python.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

const KILLS = [
  'after-catalog-commit@1',
  'between-tables@2',
  'read@2',
  'before-catalog-commit@6',
  'after-prepared@1',
  'before-done@1',
  'after-done@1',
];

describe('the tables of a pipeline that was killed', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;
  let pipeline: TestPipeline;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'foreign-kill', 120);
    pipeline = new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: 50 });
    for (const kill of KILLS)
      expect((await pipeline.cli({ failpoints: `${kill}=kill` })).signal, kill).toBe('SIGKILL');
    expect((await pipeline.cli()).code).toBe(0);
  });
  afterAll(async () => {
    await data.produced.close();
    pipeline.remove();
  });

  it.each(FOREIGN_ENGINES)('hold every record once in the eyes of %s', async (engine) => {
    for (const topic of data.topics) {
      for (const quarantine of [false, true]) {
        const expected: string[] = [];
        for (const partition of [0, 1]) {
          for (const { offset, value } of data.produced.of(topic, partition).values()) {
            if (quarantine === (value === null || isUtf8(value))) continue;
            const text = quarantine ? value?.toString('hex') : (value?.toString('utf8') ?? null);
            expected.push(JSON.stringify([topic, partition, Number(offset), text]));
          }
        }
        const table = pipeline.tableOf(topic) + (quarantine ? '__quarantine' : '');
        const at = { catalog: pipeline.catalogFile, warehouse: pipeline.warehouse, table };
        const { rows } = await readForeign(at, { engine });
        const found = rows.map((row) =>
          JSON.stringify([row.topic, row.kafka_partition, row.kafka_offset, row.value]),
        );
        expect(found.sort()).toEqual(expected.sort());
      }
    }
  });
});
