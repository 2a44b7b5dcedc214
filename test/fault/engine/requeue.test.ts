/** Requeues whose catalog and storage fail at any call, before and after it was applied; then the next one is started. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PipelineConfig } from '../../../src/config/pipeline-config.ts';
import { FAILPOINTS, REQUEUE_FAILPOINTS } from '../../../src/engine/failpoint.ts';
import { parseTableName } from '../../../src/engine/target-tables.ts';
import { currentSchema, defaultSpec } from '../../../src/iceberg/metadata.ts';
import { requeuesOf } from '../../../src/iceberg/requeue-marker.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { type CommitFault, FaultyCatalog } from '../../support/faulty-catalog.ts';
import { FaultyFileIO, type FileCall } from '../../support/faulty-file-io.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced } from '../../support/produced.ts';
import {
  checkRequeued,
  HookedFileIO,
  keepState,
  type RequeueOptions,
  requeue,
} from '../../support/requeue.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';

/** Values longer than this are set aside at first, whole. */
const LIMIT = 100;
const RECORDS = 60;

const withoutLimit = (config: PipelineConfig): void => {
  for (const rule of config.tables) rule.maxRecordBytes = null;
};

describe('a requeue', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let pipeline: TestPipeline;
  let topic: string;
  let table: string;
  let kept: ReturnType<typeof keepState>;

  beforeAll(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'requeue', 2);
    await fillOdd(produced, topic, 2, RECORDS);
    pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      maxOffsetsPerTrigger: 50,
      table: { maxRecordBytes: LIMIT, keepSnapshots: 1 },
    });
    table = pipeline.tableOf(topic);
    await pipeline.run();
    kept = keepState(pipeline);
  });
  afterAll(async () => {
    await produced.close();
    pipeline.remove();
    kept.remove();
  });

  const run = (options: RequeueOptions = {}) =>
    requeue(pipeline, table, { patch: withoutLimit, execute: true, ...options });
  const check = () => checkRequeued(pipeline, table, produced);

  /** Started again until one gets through; then all is as it should be, and nothing is left over. */
  async function finish() {
    const report = await run();
    const end = await check();
    expect(end.intents).toEqual([]);
    expect(end.requeued.size).toBe(BACK);
    expect(end.verify).toMatchObject({ requeued: BACK, unfinishedRequeues: [] });
    return report;
  }
  /** Records that are not over the limit of today, and are text. */
  const BACK = 8;

  describe('on its own', () => {
    beforeEach(() => kept.restore());

    it('previews what would become of each record, and writes nothing', async () => {
      const before = pipeline.files(pipeline.directory);
      const report = await run({ execute: false });
      expect(report).toMatchObject({ executed: false, records: 26, rows: { [table]: BACK }, already: 0 });
      expect(report.staying).toMatchObject([
        { was: 'INVALID_UTF8', reason: 'INVALID_UTF8', field: 'value', count: 18 },
      ]);
      expect(pipeline.files(pipeline.directory)).toEqual(before);
    });

    it('previews under the old rules that they all stay, and why', async () => {
      const report = await run({ execute: false, patch: () => undefined });
      expect(report.rows).toEqual({});
      expect(report.staying.map((s) => [s.was, s.reason, s.count])).toEqual([
        ['INVALID_UTF8', 'INVALID_UTF8', 18],
        ['TOO_LARGE', 'TOO_LARGE', 8],
      ]);
    });

    it('brings records back as they were, with the time of the requeue', async () => {
      const before = Date.now();
      const report = await finish();
      const end = await check();
      expect(report).toMatchObject({ executed: true, records: 26, rows: { [table]: BACK } });
      for (const place of end.requeued) {
        const row = end.rows.get(place)!;
        const at = place.lastIndexOf('@');
        const record = produced.records.get(place.slice(0, at))!.get(BigInt(place.slice(at + 1)))!;
        expect(Buffer.from(row.value as string).equals(record.value!)).toBe(true);
        expect(row.key === null || row.key === undefined).toBe(record.key === null);
        if (record.key !== null) expect(Buffer.from(row.key as Uint8Array).equals(record.key)).toBe(true);
        expect(row.kafka_timestamp).toBe(record.timestampMs * 1000n);
        const utc = new Date(Number(record.timestampMs)).toISOString();
        expect([row.dt, row.hour]).toEqual([utc.slice(0, 10), Number(utc.slice(11, 13))]);
        expect(Number((row.ingested_at as bigint) / 1000n)).toBeGreaterThanOrEqual(before);
      }
    });

    it('goes in several commits where there are many, and on from the first of them that failed', async () => {
      await expect(run({ recordsAtOnce: 1, failpoints: 'requeue-after-data@2=throw' })).rejects.toThrow();
      const { requeued, intents } = await check();
      expect(intents).toHaveLength(1);
      expect(requeued.size).toBeLessThan(BACK);
      await finish();
    });

    it('does nothing the second time', async () => {
      await finish();
      const { data } = await check();
      expect(await run()).toMatchObject({ records: 26, rows: {}, already: BACK, requeues: [] });
      expect((await check()).data.currentSnapshotId).toBe(data.currentSnapshotId);
    });

    it('brings back what is chosen, and leaves the rest for later', async () => {
      const filter = { offsets: [{ topic, partition: 0, from: 0n, until: 1000n }], reason: 'TOO_LARGE' };
      expect(await run({ filter })).toMatchObject({ records: 4, rows: { [table]: 4 } });
      expect((await check()).requeued.size).toBe(4);
      expect(await finish()).toMatchObject({ records: 26, rows: { [table]: 4 }, already: 4 });
    });

    it('leaves the pipeline alone: its next batches follow, and take away what is on record', async () => {
      await finish();
      await fillOdd(produced, topic, 2, 4);
      await pipeline.run();
      await check();
    });
  });

  describe('whose catalog fails', () => {
    const FAULTS: CommitFault[] = [
      '504',
      'apply, then 504',
      'apply, then reset',
      'state unknown',
      'late',
      'conflict',
      'refused',
      'unreachable',
    ];
    it.each(FAULTS)('%s, at the table or at the record of it: each record is there once', async (fault) => {
      for (const nth of [1, 2]) {
        kept.restore();
        const faults = [...Array.from({ length: nth - 1 }, () => 'none' as const), fault];
        await run({ catalog: (inner) => new FaultyCatalog(inner, faults) }).catch((error) =>
          expect(error).toMatchObject({ code: 'CATALOG_ERROR' }),
        );
        await check();
        await finish();
      }
    });

    it.each(['504', 'apply, then 504'] as const)(
      '%s, and no answer after it: verify is not confused, and the next one finds out',
      async (fault) => {
        for (const nth of [1, 2]) {
          kept.restore();
          const catalog = (inner: ConstructorParameters<typeof FaultyCatalog>[0]): FaultyCatalog => {
            const faulty = new FaultyCatalog(inner, [
              ...Array.from({ length: nth - 1 }, () => 'none' as const),
              fault,
            ]);
            let commits = 0;
            const step = async (): Promise<void> => {
              faulty.beforeCommit = step;
              if (++commits === nth) faulty.failingLoads = Number.POSITIVE_INFINITY;
            };
            faulty.beforeCommit = step;
            return faulty;
          };
          await expect(run({ catalog, deadlineMs: 100 })).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
          expect((await check()).intents).toHaveLength(1);
          await finish();
        }
      },
    );

    it('has the pipeline commit between its look and its commit: it is laid on top', async () => {
      for (const nth of [1, 2]) {
        kept.restore();
        await fillOdd(produced, topic, 2, 3);
        let commits = 0;
        const catalog = (inner: ConstructorParameters<typeof FaultyCatalog>[0]): FaultyCatalog => {
          const faulty = new FaultyCatalog(inner);
          const step = async (): Promise<void> => {
            faulty.beforeCommit = step;
            if (++commits === nth) await pipeline.run();
          };
          faulty.beforeCommit = step;
          return faulty;
        };
        await run({ catalog });
        expect(commits).toBe(nth === 1 ? 3 : 2);
        await check();
      }
    });
  });

  describe('whose storage fails', () => {
    it('at each call that writes, before and after it was done, and is dead from then on', async () => {
      kept.restore();
      const counting = new FaultyFileIO(new LocalFileIO());
      await run({ io: counting });
      const isWrite = ({ kind }: FileCall): boolean => !['read', 'stat', 'list'].includes(kind);
      const writes = counting.calls.flatMap((call, i) => (isWrite(call) ? [i + 1] : []));
      expect(writes.length).toBeGreaterThan(12);
      for (const nth of writes) {
        for (const when of ['before', 'after'] as const) {
          kept.restore();
          const io = new FaultyFileIO(new LocalFileIO(), { faults: [{ nth, when, dead: true }] });
          // Cleaning up behind a commit may fail without harm.
          await run({ io, deadlineMs: 50 }).catch(() => undefined);
          await check();
          await finish();
        }
      }
    });

    it('at a call that reads: it stops, and nothing is half done', async () => {
      kept.restore();
      const counting = new FaultyFileIO(new LocalFileIO());
      await run({ io: counting });
      const reads = counting.calls.length;
      for (let nth = 1; nth <= reads; nth += 11) {
        kept.restore();
        const io = new FaultyFileIO(new LocalFileIO(), { faults: [{ nth, when: 'before' }] });
        await run({ io, deadlineMs: 50 }).catch(() => undefined);
        await check();
        await finish();
      }
    });
  });

  describe('that is cut off', () => {
    it.each(REQUEUE_FAILPOINTS)('at %s: the next one goes on', async (point) => {
      kept.restore();
      await expect(run({ failpoints: `${point}=throw` })).rejects.toMatchObject({ code: 'INTERNAL' });
      await check();
      const isDecided = ['requeue-after-data', 'requeue-after-record'].includes(point);
      const preview = await run({ execute: false });
      expect(preview.finished.length).toBe(isDecided ? 1 : 0);
      const { finished } = await finish();
      expect(finished).toMatchObject(preview.finished);
    });

    it('after its rows, whose snapshot then expires: the property of the table tells of it', async () => {
      kept.restore();
      await expect(run({ failpoints: 'requeue-after-data=throw' })).rejects.toThrow();
      for (let n = 0; n < 3; n++) {
        await fillOdd(produced, topic, 2, 2);
        await pipeline.run({}, withoutLimit);
      }
      const { data, verify } = await check();
      expect(data.history.some(({ summary }) => summary['sluice.requeue-id'] !== undefined)).toBe(false);
      expect(verify).toMatchObject({ requeued: BACK, unfinishedRequeues: [{ records: BACK, landed: true }] });
      expect((await run()).finished).toMatchObject([{ rows: BACK }]);
      expect((await check()).intents).toEqual([]);
    });

    it('after its rows, and the table is rolled back: it says so, and verify calls nothing lost', async () => {
      kept.restore();
      const catalog = await pipeline.openCatalog();
      const before = (await catalog.loadTable(parseTableName(table)))!.metadata.currentSnapshotId!;
      await expect(run({ failpoints: 'requeue-after-data=throw' })).rejects.toThrow();
      const now = (await catalog.loadTable(parseTableName(table)))!;
      await catalog.commitTable(
        now,
        [],
        [{ action: 'set-snapshot-ref', refName: 'main', ref: { type: 'branch', snapshotId: before } }],
      );
      await expect(run()).rejects.toMatchObject({ code: 'TABLE_REWOUND' });
      expect((await check()).verify).toMatchObject({ requeued: 0, unfinishedRequeues: [{ landed: false }] });
      // As the message says: without the property it goes back once more.
      const [mark] = requeuesOf((await catalog.loadTable(parseTableName(table)))!.metadata);
      const property = `sluice.requeue.${mark.requeueId}`;
      const marked = (await catalog.loadTable(parseTableName(table)))!;
      await catalog.commitTable(marked, [], [{ action: 'remove-properties', removals: [property] }]);
      await catalog.close();
      await finish();
    });

    it('or not, into a table that was made anew: it is refused, as a run is', async () => {
      kept.restore();
      const catalog = await pipeline.openCatalog();
      const identifier = parseTableName(table);
      const { metadata } = (await catalog.loadTable(identifier))!;
      await catalog.dropTable(identifier);
      const [schema, partitionSpec] = [currentSchema(metadata), defaultSpec(metadata)];
      await catalog.createTable(identifier, { schema, partitionSpec, properties: {}, formatVersion: 2 });
      await catalog.close();
      for (const execute of [false, true])
        await expect(run({ execute })).rejects.toMatchObject({ code: 'TABLE_REWOUND' });
    });

    it('and whose data files are gone: it refuses to commit them', async () => {
      kept.restore();
      await expect(run({ failpoints: 'before-catalog-commit=throw' })).rejects.toThrow();
      const io = new LocalFileIO();
      const [id] = (await check()).intents;
      const path = `${pipeline.checkpoint}/_sluice/requeue/${id}.json`;
      const intent = JSON.parse(Buffer.from(await io.read(path)).toString());
      await io.delete(intent.record.files[0].filePath);
      await expect(run()).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await io.delete(path);
      await finish();
    });
  });

  describe('beside another', () => {
    /** Another process does all of it at a call of this one. */
    const POINTS: [string, RegExp][] = [
      ['its intent is written', /requeue\/[0-9a-f-]+\.json$/],
      ['it decides', /\.decision\.json$/],
    ];
    it.each(POINTS)('that does all of it before %s: one of them stops short', async (_name, path) => {
      kept.restore();
      let other: Promise<unknown> | undefined;
      const io = new HookedFileIO(new LocalFileIO(), async (call, at) => {
        if (other !== undefined || call !== 'createNew' || !path.test(at)) return;
        other = run();
        await other;
      });
      const mine = await run({ io });
      expect(other).toBeDefined();
      expect(mine.already + (mine.rows[table] ?? 0)).toBe(BACK);
      await finish();
    });

    it.each([1, 2])('that does all of it before commit %i of this one', async (nth) => {
      kept.restore();
      let commits = 0;
      const catalog = (inner: ConstructorParameters<typeof FaultyCatalog>[0]): FaultyCatalog => {
        const faulty = new FaultyCatalog(inner);
        const step = async (): Promise<void> => {
          faulty.beforeCommit = step;
          if (++commits === nth) await run();
        };
        faulty.beforeCommit = step;
        return faulty;
      };
      await run({ catalog });
      await finish();
    });

    it.each([true, false])(
      'at the same time, again and again; the other is seen as alive: %s',
      async (alive) => {
        for (let round = 0; round < 4; round++) {
          kept.restore();
          const both = await Promise.all(
            [0, 1, 2].map(() => run({ isProcessAlive: () => alive }).catch((error: unknown) => error)),
          );
          for (const end of both) if (end instanceof Error) expect(end).toMatchObject({ retryable: true });
          await check();
          await finish();
        }
      },
    );

    it('of another checkpoint that stopped halfway: it waits for that one, and doubles nothing', async () => {
      kept.restore();
      // The same tables, asked for by a pipeline file with a checkpoint of its own.
      const other = new TestPipeline({
        ...pipeline.options,
        name: `other-${randomUUID()}`,
        warehouse: pipeline.warehouse,
        catalogFile: pipeline.catalogFile,
      });
      await other
        .run({}, (config) => {
          config.source.selection = { kind: 'subscribe', topics: [] };
        })
        .catch(() => undefined);
      const io = new LocalFileIO();
      await io.createNew(`${other.checkpoint}/metadata`, Buffer.from(`{"id":"${randomUUID()}"}`));
      const options = { patch: withoutLimit, execute: true };
      await expect(
        requeue(other, table, { ...options, failpoints: 'requeue-after-data=throw' }),
      ).rejects.toMatchObject({ code: 'INTERNAL' });
      await expect(run()).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' });
      expect((await requeue(other, table, options)).finished).toMatchObject([{ rows: BACK }]);
      await finish();
      other.remove();
    });
  });

  it('has failpoints of its own names', () => {
    for (const point of REQUEUE_FAILPOINTS) expect(FAILPOINTS as readonly string[]).not.toContain(point);
  });
});
