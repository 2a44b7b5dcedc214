/** What PyIceberg, DuckDB and pyarrow find after requeues, one of which was killed: each record once, and the record of it. */
import { isUtf8 } from 'node:buffer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTopic, fillOdd } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import { FOREIGN_ENGINES, readForeign } from '../support/python.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

const LIMIT = 100;

describe('tables that records were brought back into', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;
  let topic: string;

  beforeAll(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'foreign-back', 2);
    await fillOdd(produced, topic, 2, 80);
    pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      maxOffsetsPerTrigger: 60,
      table: { maxRecordBytes: LIMIT },
    });
    await pipeline.run();
    delete pipeline.options.table!.maxRecordBytes;
    const requeue = (partition: number, failpoints = '') =>
      pipeline.cli({
        args: [
          'quarantine',
          'requeue',
          '-c',
          'sluice.yaml',
          '--execute',
          '--offsets',
          `${topic}/${partition}/0-1000`,
        ],
        failpoints,
      });
    // Writes the pipeline file too.
    expect((await pipeline.cli()).code).toBe(0);
    expect((await requeue(0, 'requeue-after-data=kill')).signal).toBe('SIGKILL');
    expect((await requeue(1)).code).toBe(0);
  });
  afterAll(async () => {
    await produced.close();
    pipeline.remove();
  });

  it.each(FOREIGN_ENGINES)('hold each record once in the eyes of %s', async (engine) => {
    const read = async (suffix: string): Promise<string[]> => {
      const table = pipeline.tableOf(topic) + suffix;
      const at = { catalog: pipeline.catalogFile, warehouse: pipeline.warehouse, table };
      const { rows } = await readForeign(at, { engine });
      return rows.map((row) => JSON.stringify([row.kafka_partition, row.kafka_offset])).sort();
    };
    const rows: string[] = [];
    const aside: string[] = [];
    const back: string[] = [];
    for (const partition of [0, 1]) {
      for (const { offset, key, value } of produced.of(topic, partition).values()) {
        const place = JSON.stringify([partition, Number(offset)]);
        const isText = value === null || isUtf8(value);
        const isLarge = (key?.length ?? 0) + (value?.length ?? 0) > LIMIT;
        if (isText) rows.push(place);
        if (!isText || isLarge) aside.push(place);
        if (isText && isLarge) back.push(place);
      }
    }
    expect(back.length).toBeGreaterThan(10);
    expect(await read('')).toEqual(rows.sort());
    expect(await read('__quarantine')).toEqual(aside.sort());
    expect(await read('__requeued')).toEqual(back.sort());
  });
});
