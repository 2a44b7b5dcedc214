/** What `verify` makes of records that have gone back from the quarantine. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequeuedRecords } from '../../../src/checkpoint/requeue-intents.ts';
import {
  commitWorldBatch,
  funnelOfKinds,
  type OffsetKind,
  positionsOf,
  VerifyWorld,
} from '../../support/verify-world.ts';

const TABLE = 'b.t';
const QUARANTINE = 'b.t__quarantine';
const row = (offset: number) => ({ topic: 't', partition: 0, offset });
const records = (from: number, until: number, batchId = 0n): RequeuedRecords[] => [
  {
    topic: 't',
    partition: 0,
    pipeline: 'p',
    batchId,
    offsets: [{ from: BigInt(from), until: BigInt(until) }],
  },
];

describe('verify after a requeue', () => {
  let world: VerifyWorld;
  /** Offsets 0 to 5 are rows, 6 to 9 quarantined. */
  beforeEach(async () => {
    world = await VerifyWorld.open();
    await world.createTable(TABLE);
    await world.createTable(QUARANTINE);
    await world.checkpoint.writeInitialOffsets(positionsOf({ positions: { 't/0': 0 } }));
    const kinds: OffsetKind[] = [...Array(6).fill('row'), ...Array(4).fill('quarantined')];
    await commitWorldBatch(world.checkpoint, {
      batchId: 0,
      topicIds: { t: 'one' },
      routes: { t: TABLE },
      funnel: [funnelOfKinds({ topic: 't', partition: 0, table: TABLE }, 0, kinds)],
      lost: [],
      positions: { 't/0': 10 },
    });
    await world.append(TABLE, [0, 1, 2, 3, 4, 5].map(row));
    await world.append(QUARANTINE, [6, 7, 8, 9].map(row));
  });
  afterEach(() => world.close());

  it('counts a record that went back once, as its row', async () => {
    await world.requeue(TABLE, records(6, 8));
    expect(await world.verify(TABLE)).toMatchObject({
      ok: true,
      rows: 8,
      quarantined: 2,
      requeued: 2,
      misplaced: 0n,
      unfinishedRequeues: [],
    });
    await world.requeue(TABLE, records(8, 10));
    expect(await world.verify(TABLE)).toMatchObject({ ok: true, rows: 10, quarantined: 0, requeued: 4 });
  });

  it('explains a row that is quarantined too by the requeue that is not finished', async () => {
    const requeueId = await world.requeue(TABLE, records(6, 8), { record: false });
    expect(await world.verify(TABLE)).toMatchObject({
      ok: true,
      requeued: 2,
      unfinishedRequeues: [{ requeueId, table: TABLE, records: 2, landed: true }],
    });
  });

  it('takes a requeue that has not come to its rows for none', async () => {
    await world.requeue(TABLE, records(6, 8), { land: false, record: false });
    expect(await world.verify(TABLE)).toMatchObject({
      ok: true,
      rows: 6,
      quarantined: 4,
      requeued: 0,
      unfinishedRequeues: [{ records: 2, landed: false }],
    });
  });

  it('calls a record lost that is on record and is no row', async () => {
    await world.requeue(TABLE, records(6, 8), { land: false });
    expect(await world.verify(TABLE)).toMatchObject({
      ok: false,
      lost: 2n,
      partitions: [{ missing: [{ from: 6n, until: 8n }] }],
    });
  });

  it('calls a row doubled whose quarantined record is not on record', async () => {
    await world.append(TABLE, [row(6)]);
    expect(await world.verify(TABLE)).toMatchObject({
      ok: false,
      duplicated: 1n,
      partitions: [{ doubled: [{ from: 6n, until: 7n }] }],
    });
  });

  it('calls a record doubled that went back once by the record, and is two rows', async () => {
    await world.requeue(TABLE, records(6, 8));
    await world.append(TABLE, [row(7)]);
    expect(await world.verify(TABLE)).toMatchObject({ ok: false, duplicated: 1n, lost: 0n });
  });

  it('still finds a record in the wrong place', async () => {
    await world.requeue(TABLE, records(6, 8));
    await world.append(TABLE, [row(6)]);
    expect(await world.verify(TABLE)).toMatchObject({ ok: false, duplicated: 1n });
  });
});
