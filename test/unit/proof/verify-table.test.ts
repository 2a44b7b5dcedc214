import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../../src/iceberg/catalog.ts';
import { verifyTable } from '../../../src/proof/verify-table.ts';
import {
  commitWorldBatch,
  doneOfWorld,
  funnelOfKinds,
  type OffsetKind,
  planWorldBatch,
  positionsOf,
  preparedOfWorld,
  SCHEMA_WITH_ID,
  VerifyWorld,
  WORLD_LOCATION,
  type WorldBatch,
  type WorldRow,
} from '../../support/verify-world.ts';

const TABLE = 'b.t';
const QUARANTINE = 'b.t__quarantine';

const place = { topic: 't', partition: 0, table: TABLE };
const rowsOf = (from: number, until: number, more: Partial<WorldRow> = {}): WorldRow[] =>
  Array.from({ length: until - from }, (_, i) => ({ topic: 't', partition: 0, offset: from + i, ...more }));
const kindsOf = (count: number, kind: OffsetKind = 'row'): OffsetKind[] => Array(count).fill(kind);

/** A batch that reads [from, until) of t-0 into b.t, all of it rows. */
function reads(batchId: number, from: number, until: number, more: Partial<WorldBatch> = {}): WorldBatch {
  return {
    batchId,
    topicIds: { t: 'one' },
    routes: { t: TABLE },
    funnel: [funnelOfKinds(place, from, kindsOf(until - from))],
    lost: [],
    positions: { 't/0': until },
    ...more,
  };
}

describe('verifyTable', () => {
  let world: VerifyWorld;
  beforeEach(async () => {
    world = await VerifyWorld.open();
    await world.createTable(TABLE);
    await world.createTable(QUARANTINE);
    await world.checkpoint.writeInitialOffsets(positionsOf({ positions: { 't/0': 0 } }));
  });
  afterEach(() => world.close());

  const commit = async (...batches: WorldBatch[]): Promise<void> => {
    for (const batch of batches) await commitWorldBatch(world.checkpoint, batch);
  };

  describe('what was read and what was not', () => {
    it('is ok where batches follow on each other', async () => {
      await commit(reads(0, 0, 100), reads(1, 100, 150));
      await world.append(TABLE, rowsOf(0, 150));
      expect(await world.verify(TABLE)).toMatchObject({
        ok: true,
        rows: 150,
        lost: 0n,
        otherRows: 0,
        partitions: [{ topic: 't', partition: 0, ranges: [{ from: 0n, until: 150n }] }],
      });
    });

    it('misses a range that no batch read', async () => {
      await commit(reads(0, 0, 100), reads(1, 150, 300));
      await world.append(TABLE, [...rowsOf(0, 100), ...rowsOf(150, 300)]);
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        lost: 50n,
        partitions: [{ missing: [{ from: 100n, until: 150n }] }],
      });
    });

    it('misses what lies between the start of the query and its first batch', async () => {
      await commit(reads(0, 7, 10));
      await world.append(TABLE, rowsOf(7, 10));
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        partitions: [{ missing: [{ from: 0n, until: 7n }] }],
      });
    });

    it('misses what the position has passed and no batch tells of', async () => {
      await commit(reads(0, 0, 100), reads(1, 100, 100, { positions: { 't/0': 200 } }));
      await world.append(TABLE, rowsOf(0, 100));
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 100n });
    });

    it('misses a partition that was passed over as a whole', async () => {
      await commit(reads(0, 0, 10, { funnel: [], positions: { 't/0': 10 } }));
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        lost: 10n,
        partitions: [{ missing: [{ from: 0n, until: 10n }] }],
      });
    });

    it('takes a later partition from where its first batch began', async () => {
      const more = funnelOfKinds({ ...place, partition: 1 }, 40, kindsOf(10));
      const first = reads(0, 0, 10);
      await commit({ ...first, funnel: [...first.funnel, more], positions: { 't/0': 10, 't/1': 50 } });
      await world.append(TABLE, [...rowsOf(0, 10), ...rowsOf(40, 50, { partition: 1 })]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 20 });
    });

    it('refuses a committed batch whose record is gone', async () => {
      await commit(reads(0, 0, 10), reads(1, 10, 20), reads(2, 20, 30));
      await world.append(TABLE, [...rowsOf(0, 10), ...rowsOf(20, 30)]);
      await world.io.delete(`${WORLD_LOCATION}/_sluice/done/1.json`);
      await expect(world.verify(TABLE)).rejects.toMatchObject({
        code: 'CHECKPOINT_CORRUPT',
        message: expect.stringContaining('done/1.json is missing'),
      });
      await world.io.delete(`${WORLD_LOCATION}/_sluice/plan/1.json`);
      await expect(world.verify(TABLE)).rejects.toMatchObject({ code: 'NOT_VERIFIABLE' });
    });

    it('asks for the rows once where a range was read twice', async () => {
      await commit(reads(0, 0, 100), reads(1, 0, 100));
      await world.append(TABLE, [...rowsOf(0, 100), ...rowsOf(0, 100)]);
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        lost: 0n,
        duplicated: 100n,
        partitions: [{ doubled: [{ from: 0n, until: 100n }] }],
      });
    });

    it('knows all this after the batches were purged', async () => {
      await commit(reads(0, 0, 10), reads(1, 15, 20), reads(2, 20, 30), reads(3, 30, 40), reads(4, 40, 50));
      await world.checkpoint.purge(2);
      await world.append(TABLE, [...rowsOf(0, 10), ...rowsOf(15, 50)]);
      expect(await world.verify(TABLE)).toMatchObject({
        lost: 5n,
        partitions: [{ missing: [{ from: 10n, until: 15n }] }],
      });
    });
  });

  describe('incarnations', () => {
    const second = (batchId: number): WorldBatch[] => [
      reads(batchId, 0, 0, { topicIds: { t: 'two' }, funnel: [], positions: { 't/0': 0 }, reset: true }),
      reads(batchId + 1, 0, 10, { topicIds: { t: 'two' } }),
    ];

    it('add up where rows do not tell of which they are', async () => {
      await commit(reads(0, 0, 20), ...second(1));
      await world.append(TABLE, [...rowsOf(0, 20), ...rowsOf(0, 10)]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 30 });
      await world.append(TABLE, rowsOf(3, 4));
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, duplicated: 1n, lost: 0n });
    });

    it('are told apart by kafka_topic_id: a loss in one and a double in the other do not cancel', async () => {
      await world.createTable('b.ids', SCHEMA_WITH_ID);
      const into = (batch: WorldBatch): WorldBatch => ({
        ...batch,
        routes: { t: 'b.ids' },
        funnel: batch.funnel.map((f) => ({ ...f, table: 'b.ids' })),
      });
      await commit(...[reads(0, 0, 20), ...second(1)].map(into));
      const one = rowsOf(0, 20, { topicId: 'one' });
      const two = rowsOf(0, 10, { topicId: 'two' });
      await world.append('b.ids', [...one, ...two.slice(1), one[0]]);
      expect(await world.verify('b.ids')).toMatchObject({ ok: false, lost: 1n, duplicated: 1n });
    });

    it('misses what a reset of the topic went past', async () => {
      const [reset, next] = second(1);
      await commit(reads(0, 0, 20), reset, {
        ...next,
        funnel: [funnelOfKinds(place, 4, kindsOf(6))],
      });
      await world.append(TABLE, [...rowsOf(0, 20), ...rowsOf(4, 10)]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 4n });
    });
  });

  describe('a batch that is not finished', () => {
    it('may be there once, and not twice', async () => {
      await commit(reads(0, 0, 10));
      await planWorldBatch(world.checkpoint, reads(1, 10, 20));
      await world.append(TABLE, rowsOf(0, 10));
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 10 });
      await world.append(TABLE, rowsOf(10, 20));
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 20 });
      await world.append(TABLE, rowsOf(12, 15));
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        duplicated: 3n,
        partitions: [{ doubled: [{ from: 12n, until: 15n }] }],
      });
    });

    it('is judged where it is the first of all', async () => {
      await planWorldBatch(world.checkpoint, reads(0, 0, 10));
      await world.append(TABLE, [...rowsOf(0, 10), ...rowsOf(0, 10)]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, rows: 20, duplicated: 10n });
    });

    it('is whole once the table has its commit', async () => {
      await commit(reads(0, 0, 10));
      await world.append(TABLE, rowsOf(0, 10));
      const open = reads(1, 10, 20);
      await planWorldBatch(world.checkpoint, open);
      await world.checkpoint.writePrepared(preparedOfWorld(open, { [TABLE]: 'commit-1' }));
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 10 });
      await world.append(TABLE, rowsOf(11, 20), 'commit-1');
      expect(await world.verify(TABLE)).toMatchObject({
        ok: false,
        lost: 1n,
        partitions: [{ missing: [{ from: 10n, until: 11n }] }],
      });
    });

    it('may be half committed: its quarantine and not its table', async () => {
      const open = reads(0, 0, 4, {
        funnel: [funnelOfKinds(place, 0, ['row', 'quarantined', 'row', 'quarantined'])],
      });
      await planWorldBatch(world.checkpoint, open);
      await world.checkpoint.writePrepared(
        preparedOfWorld(open, { [QUARANTINE]: 'commit-q', [TABLE]: 'commit-t' }),
      );
      await world.append(QUARANTINE, [...rowsOf(1, 2), ...rowsOf(3, 4)], 'commit-q');
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 0, quarantined: 2 });
      await world.append(TABLE, rowsOf(0, 1), 'commit-t');
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 1n });
    });

    it('is done where its record says so, whatever the commit log says', async () => {
      await planWorldBatch(world.checkpoint, reads(0, 0, 10));
      await world.checkpoint.writeDone(doneOfWorld(reads(0, 0, 10)));
      await world.append(TABLE, rowsOf(0, 9));
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 1n });
    });

    it('may be one that a reset took back and whose end is not written', async () => {
      await commit(reads(0, 0, 10));
      await world.append(TABLE, rowsOf(0, 10));
      await planWorldBatch(world.checkpoint, reads(1, 10, 20));
      await world.checkpoint.writePrepared({
        ...preparedOfWorld(reads(1, 10, 20, { funnel: [] }), {}),
        givenUp: { reason: 'r', by: 'b', at: 'a', command: 'c' },
      });
      expect(await world.verify(TABLE)).toMatchObject({ ok: true });
      const reset = reads(2, 10, 10, { funnel: [], reset: true });
      await planWorldBatch(world.checkpoint, reset);
      expect(await world.verify(TABLE)).toMatchObject({ ok: true });
      await world.checkpoint.writeDone(doneOfWorld(reset));
      await world.checkpoint.writeCommit(2);
      expect(await world.verify(TABLE)).toMatchObject({ ok: true });
      await commit(reads(3, 10, 20));
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 10n });
      await world.append(TABLE, rowsOf(10, 20));
      expect(await world.verify(TABLE)).toMatchObject({ ok: true });
    });
  });

  describe('gaps', () => {
    // A control record behind every second row, 300 of them, of which three are listed.
    const kinds = Array.from({ length: 600 }, (_, i): OffsetKind => (i % 2 === 0 ? 'row' : 'control'));
    const batch = reads(0, 0, 600, { funnel: [funnelOfKinds(place, 0, kinds, 3)] });
    const rows = rowsOf(0, 600).filter((row) => row.offset % 2 === 0);

    it('that are not listed are proven by number and checksum', async () => {
      await commit(batch);
      await world.append(TABLE, rows);
      expect(await world.verify(TABLE)).toMatchObject({
        ok: true,
        partitions: [{ control: 300, unlisted: 297, missing: [], candidates: [] }],
      });
    });

    it('do not hide a lost row behind a control record that came as a row', async () => {
      await commit(batch);
      await world.append(TABLE, [...rows.filter((r) => r.offset !== 200), ...rowsOf(301, 302)]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 1n, unexpected: 1n });
    });

    it('are not counted as lost where a row is', async () => {
      await commit(batch);
      await world.append(
        TABLE,
        rows.filter((row) => row.offset !== 200 && row.offset !== 202),
      );
      const report = await world.verify(TABLE);
      expect(report).toMatchObject({ ok: false, lost: 2n, unexpected: 0n });
      const { candidates, missing } = report.partitions[0];
      expect(missing).toEqual([]);
      expect(candidates.some((c) => c.from <= 200n && c.until > 200n)).toBe(true);
    });

    it('are unknown where they came as rows', async () => {
      await commit(batch);
      await world.append(TABLE, [...rows, ...rowsOf(1, 2), ...rowsOf(301, 302)]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, lost: 0n, unexpected: 2n });
    });

    it('of 20,000 transactions and more are all proven', async () => {
      const each = Array.from({ length: 60_000 }, (_, i): OffsetKind => (i % 2 === 0 ? 'row' : 'control'));
      await commit(reads(0, 0, 60_000, { funnel: [funnelOfKinds(place, 0, each)] }));
      await world.append(
        TABLE,
        rowsOf(0, 60_000).filter((row) => row.offset % 2 === 0),
      );
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, partitions: [{ unlisted: 10_000 }] });
    });

    it('that were lost and accepted are told', async () => {
      const lost = [{ topic: 't', partition: 0, from: 0, until: 400, topicId: 'one' }];
      await commit(reads(0, 400, 600, { lost }));
      await world.append(TABLE, rowsOf(400, 600));
      expect(await world.verify(TABLE)).toMatchObject({
        ok: true,
        lost: 0n,
        acceptedLoss: 400n,
        partitions: [{ acceptedLoss: 400n, ranges: [{ from: 0n, until: 600n }] }],
      });
    });
  });

  it('does not call lost what was passed over first and read later', async () => {
    const lost = [{ topic: 't', partition: 0, from: 0, until: 40, topicId: 'one' }];
    await commit(
      reads(0, 40, 60, { lost }),
      reads(1, 0, 0, { funnel: [], positions: { 't/0': 30 }, reset: true }),
      reads(2, 30, 40),
      reads(3, 60, 60),
    );
    await world.append(TABLE, rowsOf(30, 60));
    expect(await world.verify(TABLE)).toMatchObject({ ok: true, acceptedLoss: 30n });
  });

  it('finds records in the quarantine that were rows, and the other way round', async () => {
    await commit(reads(0, 0, 3, { funnel: [funnelOfKinds(place, 0, ['row', 'quarantined', 'row'])] }));
    await world.append(TABLE, rowsOf(0, 3));
    expect(await world.verify(TABLE)).toMatchObject({ ok: false, misplaced: 1n, lost: 0n, unexpected: 0n });
  });

  describe('tables that the routing left', () => {
    const moved = (batchId: number, from: number, until: number): WorldBatch => ({
      ...reads(batchId, from, until, { routes: { t: 'b.new' } }),
      funnel: [funnelOfKinds({ ...place, table: 'b.new' }, from, kindsOf(until - from))],
    });

    it('are proven for what went there, and so are the new ones', async () => {
      await world.createTable('b.new');
      await commit(reads(0, 0, 100), moved(1, 100, 150));
      await world.append(TABLE, rowsOf(0, 100));
      await world.append('b.new', rowsOf(100, 150));
      expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 100 });
      expect(await world.verify('b.new')).toMatchObject({ ok: true, rows: 50 });
      await world.append(TABLE, rowsOf(100, 101));
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, unexpected: 1n });
    });

    it('are judged still where the topic is no longer subscribed', async () => {
      const other = funnelOfKinds({ topic: 'u', partition: 0, table: TABLE }, 0, kindsOf(5));
      await commit(
        reads(0, 0, 100),
        reads(1, 0, 0, {
          funnel: [other],
          topicIds: { u: 'x' },
          routes: { u: TABLE },
          positions: { 't/0': 100, 'u/0': 5 },
        }),
      );
      await world.append(TABLE, [...rowsOf(0, 100), ...rowsOf(0, 100), ...rowsOf(0, 5, { topic: 'u' })]);
      expect(await world.verify(TABLE)).toMatchObject({ ok: false, duplicated: 100n });
    });

    it('share a hole that lies between them', async () => {
      await world.createTable('b.new');
      await commit(reads(0, 0, 100), moved(1, 110, 150));
      await world.append(TABLE, rowsOf(0, 100));
      await world.append('b.new', rowsOf(110, 150));
      for (const table of [TABLE, 'b.new'])
        expect(await world.verify(table)).toMatchObject({ ok: false, lost: 10n });
    });
  });

  it('does not judge rows of partitions that were never read into the table', async () => {
    await commit(reads(0, 0, 10));
    await world.append(TABLE, [
      ...rowsOf(0, 10),
      ...rowsOf(0, 3, { topic: 'u' }),
      ...rowsOf(0, 2, { partition: -1 }),
    ]);
    expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 10, otherRows: 5 });
    await expect(world.verify('b.other')).rejects.toMatchObject({ code: 'NOT_VERIFIABLE' });
  });

  it('does not take a partition of another topic for its own', async () => {
    await commit(
      reads(0, 0, 0, {
        funnel: [funnelOfKinds({ topic: 't-', partition: 2, table: TABLE }, 0, kindsOf(2))],
        topicIds: { 't-': 'one' },
        positions: { 't-/2': 2 },
      }),
    );
    await world.append(TABLE, rowsOf(0, 2, { partition: -2 }));
    expect(await world.verify(TABLE)).toMatchObject({ lost: 2n, otherRows: 2 });
  });

  describe('beside a pipeline that runs', () => {
    /** A catalog beside which a batch is committed, table and checkpoint, each time that a table is loaded. */
    function busyCatalog(batches: WorldBatch[]): Catalog {
      const inner = world.catalog;
      return new Proxy(inner, {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (name !== 'loadTable') return typeof value === 'function' ? value.bind(target) : value;
          return async (...args: Parameters<Catalog['loadTable']>) => {
            const loaded = await inner.loadTable(...args);
            const batch = batches.shift();
            if (batch !== undefined) {
              await world.append(TABLE, rowsOf(Number(batch.funnel[0].from), Number(batch.funnel[0].until)));
              await commitWorldBatch(world.checkpoint, batch);
            }
            return loaded;
          };
        },
      });
    }

    it('finds checkpoint and table of one moment', async () => {
      await commit(reads(0, 0, 10));
      await world.append(TABLE, rowsOf(0, 10));
      const batches = Array.from({ length: 7 }, (_, n) => reads(n + 1, (n + 1) * 10, (n + 2) * 10));
      const report = await verifyTable(
        { ...world, checkpoint: world.checkpoint, io: world.io, catalog: busyCatalog(batches) },
        TABLE,
      );
      expect(report).toMatchObject({ ok: true, rows: 80 });
    });

    it('gives up where the moment never comes', async () => {
      await commit(reads(0, 0, 10));
      const batches = Array.from({ length: 200 }, (_, n) => reads(n + 1, (n + 1) * 10, (n + 2) * 10));
      const context = { checkpoint: world.checkpoint, io: world.io, catalog: busyCatalog(batches) };
      await expect(verifyTable(context, TABLE)).rejects.toMatchObject({
        code: 'CHECKPOINT_CONCURRENT',
        retryable: true,
      });
    });

    it('sees what was written since the checkpoint was opened', async () => {
      const opened = await world.checkpoint.look();
      await commit(reads(0, 0, 10));
      await world.append(TABLE, rowsOf(0, 10));
      expect(
        await verifyTable({ checkpoint: opened, io: world.io, catalog: world.catalog }, TABLE),
      ).toMatchObject({ ok: true, rows: 10 });
    });
  });
});
