/** The pipeline's tables in the hands of Iceberg's Java library: every value read, rows appended in between, V0 and V1 catalogs. */
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchesOf, corpus, type ExpectedOptions, expectedRows } from '../support/corpus.ts';
import { createTopic } from '../support/fault-topics.ts';
import { javaMissing, runIcebergJava } from '../support/iceberg-java.ts';
import { useKafka } from '../support/kafka.ts';
import { Produced } from '../support/produced.ts';
import { catalogInfo, type ForeignValue, readMany } from '../support/python.ts';
import { TestPipeline } from '../support/test-pipeline.ts';
import { matches } from '../support/where.ts';

const missing = await javaMissing();
const kafka = useKafka();
const ANY_TIME = { 'message.timestamp.after.max.ms': '9223372036854775807' };
type Row = Record<string, ForeignValue>;

/** Of `rows`; `list` gives the tables alone. */
interface JavaReading {
  tables: string[];
  snapshots: { sequenceNumber: number; summary: Record<string, string> }[];
  files: number;
  rows: Row[];
}

const KINDS = [
  { name: 'utc', rule: {}, valueType: 'string' },
  {
    name: 'bytes',
    rule: {
      valueType: 'binary',
      codec: 'snappy',
      partitionBy: '["hours(kafka_timestamp)", "bucket(16, key)", "truncate(2, value)"]',
    },
    valueType: 'binary',
  },
  {
    name: 'third',
    rule: {
      formatVersion: 3,
      codec: 'gzip',
      partitionBy: '["months(kafka_timestamp)", "days(kafka_timestamp)", "key"]',
    },
    valueType: 'string',
  },
  {
    name: 'lz4',
    rule: { codec: 'lz4', partitionBy: '["years(kafka_timestamp)", "truncate(10, kafka_offset)"]' },
    valueType: 'string',
  },
] as const;

const produced = new Produced(kafka.bootstrap);
const pipelines: TestPipeline[] = [];
afterAll(async () => {
  await produced.close();
  for (const pipeline of pipelines) pipeline.remove();
});

/** One Java process for all the commands. */
async function java(
  pipeline: TestPipeline,
  version: 'V0' | 'V1',
  ...commands: string[][]
): Promise<JavaReading[]> {
  const args = commands.flatMap((command, i) => (i === 0 ? command : [';', ...command]));
  const place = [pipeline.catalogFile, pipeline.warehouse, 'sluice', version];
  return (await runIcebergJava([...place, ...args], 'PipelineTables')) as JavaReading[];
}

async function produce(topic: string, round: number): Promise<void> {
  for (const batch of batchesOf(corpus({ round, count: 60 }))) await produced.send(topic, 0, batch);
}

function sorted(rows: Row[]): Row[] {
  const key = (row: Row) =>
    `${row['topic']}/${row['kafka_partition']}/${String(row['kafka_offset']).padStart(20, '0')}`;
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function shown(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

describe.skipIf(missing !== undefined)(
  `Iceberg's Java library over a pipeline${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    describe('the tables that the pipeline made', () => {
      const topics = new Map<string, string>();
      let pipeline: TestPipeline;
      beforeAll(async () => {
        for (const { name } of KINDS)
          topics.set(name, await createTopic(kafka.bootstrap, `java-${name}`, 1, ANY_TIME));
        pipeline = new TestPipeline({
          bootstrap: kafka.bootstrap,
          topics: [...topics.values()],
          source: { includeHeaders: true },
          rules: KINDS.map(({ name, rule }) => ({ match: topics.get(name)!, ...rule })),
        });
        pipelines.push(pipeline);
        for (const topic of topics.values()) await produce(topic, 0);
        await pipeline.run();
        for (const topic of topics.values()) await produce(topic, 1);
        await pipeline.run();
      });

      it('are listed', async () => {
        const [{ tables }] = await java(pipeline, 'V0', ['list', 'bronze']);
        const names = [...topics.values()].map((topic) => pipeline.tableOf(topic));
        expect(tables.sort()).toEqual(names.flatMap((name) => [name, `${name}__quarantine`]).sort());
      });

      it.each(KINDS)('$name: every value, filters, rows of Java in between', async ({ name, valueType }) => {
        const topic = topics.get(name)!;
        const table = pipeline.tableOf(topic);
        const options: ExpectedOptions = { valueType, keyType: 'binary', headers: true, zoneOffsetMs: 0n };
        const all = () => expectedRows(produced, topic, 1, options);
        const rows = () =>
          all()
            .filter((r) => r.quarantined === null)
            .map((r) => r.row);
        const names = Object.keys(rows()[0]);
        const sample = rows().find((row) => row['key'] !== null && row['kafka_timestamp'] !== null)!;
        const conditions = [
          { column: 'key', op: '=', value: String(sample['key']), type: 'binary' },
          { column: 'kafka_timestamp', op: '=', value: String(sample['kafka_timestamp']), type: 'timestamp' },
          { column: 'kafka_offset', op: '>=', value: '100', type: 'int' },
        ] as const;
        const [reading, quarantined, ...filtered] = await java(
          pipeline,
          'V0',
          ['rows', table],
          ['rows', `${table}__quarantine`],
          ...conditions.map(({ column, op, value }) => ['rows', table, column, op, value]),
          ['append', table, '3', '0'],
        );
        expect(sorted(reading.rows).map((row) => shown(row, names))).toEqual(rows());
        expect(reading.snapshots.map((s) => s.sequenceNumber)).toEqual([1, 2]);

        const expected = all().filter((r) => r.quarantined !== null);
        const bytes = ['kafka_offset', 'key', 'value', 'headers'];
        expect(sorted(quarantined.rows).map((row) => shown(row, bytes))).toEqual(
          expected.map((r) => shown(r.row, bytes)),
        );

        for (const [i, where] of conditions.entries()) {
          const wanted = rows().filter((row) => matches(where, row));
          const found = sorted(filtered[i].rows).map((row) => shown(row, names));
          expect(found, JSON.stringify(where)).toEqual(wanted);
          expect(filtered[i].files).toBeLessThan(reading.files);
        }

        await produce(topic, 2);
        await pipeline.run();
        const [, after] = await java(pipeline, 'V0', ['append', table, '2', '3'], ['rows', table]);
        const ours = after.rows.filter((row) => row['topic'] === topic);
        expect(sorted(ours).map((row) => shown(row, names))).toEqual(rows());
        const theirs = sorted(after.rows.filter((row) => row['topic'] === 'by-java'));
        expect(theirs.map((row) => row['value'])).toEqual(
          [0, 1, 2, 3, 4].map((n) =>
            valueType === 'string' ? `row ${n}` : Buffer.from(`row ${n}`).toString('hex'),
          ),
        );
        const last = after.snapshots.at(-1)!.summary;
        expect(Number(last['total-records'])).toBe(after.rows.length);
        const proof = await pipeline.cli({ args: ['verify', '-c', 'sluice.yaml', table] });
        expect(proof.code, proof.stdout + proof.stderr).toBe(0);
      });
    });

    it.each(['V0', 'V1'] as const)('C27: a catalog of version %s that Java made', async (version) => {
      const topic = await createTopic(kafka.bootstrap, `java-${version.toLowerCase()}`, 1, ANY_TIME);
      const other = await createTopic(kafka.bootstrap, `java-own-${version.toLowerCase()}`, 1, ANY_TIME);
      const pipeline = new TestPipeline({ bootstrap: kafka.bootstrap, topics: [topic, other] });
      pipelines.push(pipeline);
      const table = pipeline.tableOf(topic);
      await java(pipeline, version, ['create', table]);
      const columns = () => {
        const database = new DatabaseSync(pipeline.catalogFile, { readOnly: true });
        try {
          return database
            .prepare("SELECT name FROM pragma_table_info('iceberg_tables')")
            .all()
            .map((row) => row['name']);
        } finally {
          database.close();
        }
      };
      const before = columns();
      expect(before.includes('iceberg_type')).toBe(version === 'V1');
      await java(pipeline, version, ['append', table, '2', '0']);
      await produce(topic, 0);
      await produce(other, 0);
      await pipeline.run();
      await java(pipeline, version, ['append', table, '2', '2']);
      await produce(topic, 1);
      await pipeline.run();
      expect(columns()).toEqual(before);

      const [{ tables }, reading] = await java(pipeline, version, ['list', 'bronze'], ['rows', table]);
      const made = [topic, other].map((name) => pipeline.tableOf(name));
      expect(tables.sort()).toEqual(made.flatMap((name) => [name, `${name}__quarantine`]).sort());
      const options = { valueType: 'string', keyType: 'binary', headers: false, zoneOffsetMs: 0n } as const;
      const expected = expectedRows(produced, topic, 1, options).filter((r) => r.quarantined === null);
      const names = ['kafka_offset', 'kafka_timestamp', 'key', 'value'];
      const ours = sorted(reading.rows.filter((row) => row['topic'] === topic));
      expect(ours.map((row) => shown(row, names))).toEqual(expected.map((r) => shown(r.row, names)));
      expect(reading.rows.length).toBe(expected.length + 4);
      const place = { catalog: pipeline.catalogFile, warehouse: pipeline.warehouse };
      const [theirs] = await readMany(place, [{ table, rows: false }]);
      expect(theirs.rowCount).toBe(reading.rows.length);
      expect((await catalogInfo(place)).tables.map((t) => t.name).sort()).toEqual(tables);
    });
  },
);
