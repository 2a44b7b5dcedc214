import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BrokerLog, openBrokerLog, type RetainedLog } from '../../../src/proof/broker-log.ts';
import { type VerifyReport, verifyTable } from '../../../src/proof/verify-table.ts';
import { FakeCluster } from '../../support/fake-cluster.ts';
import { encodeControlBatch, encodeRecordBatch } from '../../support/record-batch-encoder.ts';
import {
  commitWorldBatch,
  funnelOfKinds,
  type OffsetKind,
  positionsOf,
  VerifyWorld,
  type WorldBatch,
} from '../../support/verify-world.ts';

const TABLE = 'b.t';
const KINDS: OffsetKind[] = [
  'row',
  'control',
  'row',
  'dropped',
  'row',
  'hole',
  'row',
  'aborted',
  'row',
  'row',
];
const ROWS = [0, 2, 4, 6, 8, 9];

const batch = (kinds: readonly OffsetKind[], more: Partial<WorldBatch> = {}): WorldBatch => ({
  batchId: 0,
  topicIds: { t: 'one' },
  routes: { t: TABLE },
  funnel: [funnelOfKinds({ topic: 't', partition: 0, table: TABLE }, 0, kinds)],
  lost: [],
  positions: { 't/0': kinds.length },
  ...more,
});

/** Brokers that have one partition; a tombstone at each offset of `tombstones`, other records at those of `records`. */
function brokerWith(
  retained: RetainedLog,
  records: readonly number[],
  tombstones: readonly number[] = [],
): BrokerLog & { asked: [bigint, bigint][] } {
  const asked: [bigint, bigint][] = [];
  return {
    asked,
    retained: async () => new Map([['t-0', retained]]),
    async read(ranges, onRecord) {
      for (const { topic, partition, from, until } of ranges) {
        asked.push([from, until]);
        for (const offset of [...records, ...tombstones].sort((a, b) => a - b))
          if (BigInt(offset) >= from && BigInt(offset) < until)
            onRecord(topic, partition, offset, tombstones.includes(offset));
      }
    },
  };
}

describe('verify with the brokers', () => {
  let world: VerifyWorld;
  beforeEach(async () => {
    world = await VerifyWorld.open();
    await world.createTable(TABLE);
    await world.checkpoint.writeInitialOffsets(positionsOf({ positions: { 't/0': 0 } }));
  });
  afterEach(() => world.close());

  const whole: RetainedLog = { topicId: 'one', from: 0n, until: 10n };
  const fill = (offsets: readonly number[]): Promise<void> =>
    world.append(
      TABLE,
      offsets.map((offset) => ({ topic: 't', partition: 0, offset })),
    );
  const verify = (broker: BrokerLog): Promise<VerifyReport> =>
    verifyTable({ checkpoint: world.checkpoint, catalog: world.catalog, io: world.io }, TABLE, { broker });

  it('is ok where they have no record at a gap, or one that a rule dropped', async () => {
    await commitWorldBatch(world.checkpoint, batch(KINDS));
    await fill(ROWS);
    const broker = brokerWith(whole, ROWS, [3]);
    expect(await verify(broker)).toMatchObject({
      ok: true,
      partitions: [{ broker: { from: 0n, until: 10n, asked: 4, records: [] } }],
    });
    // From the first offset without a row to the last.
    expect(broker.asked).toEqual([[1n, 8n]]);
  });

  it('finds the record that the ledger calls a gap', async () => {
    await commitWorldBatch(world.checkpoint, batch(KINDS));
    await fill(ROWS);
    expect(await verify(brokerWith(whole, [...ROWS, 5, 7], [3]))).toMatchObject({
      ok: false,
      lost: 2n,
      partitions: [
        {
          missing: [
            { from: 5n, until: 6n },
            { from: 7n, until: 8n },
          ],
          broker: { asked: 4 },
        },
      ],
    });
  });

  it('counts more tombstones than were dropped as lost', async () => {
    await commitWorldBatch(world.checkpoint, batch(KINDS));
    await fill(ROWS);
    expect(await verify(brokerWith(whole, ROWS, [3, 5]))).toMatchObject({ ok: false, lost: 2n });
  });

  it('counts what is lost by the ledger only once', async () => {
    await commitWorldBatch(world.checkpoint, batch(KINDS));
    await fill(ROWS.filter((offset) => offset !== 4));
    expect(await verify(brokerWith(whole, ROWS, [3]))).toMatchObject({
      lost: 1n,
      partitions: [{ missing: [{ from: 4n, until: 5n }], broker: { records: [{ from: 4n, until: 5n }] } }],
    });
  });

  it('does not ask for what retention took, was given up, or is of another incarnation', async () => {
    const lost = [{ topic: 't', partition: 0, from: 0, until: 4, topicId: 'one' }];
    const funnel = funnelOfKinds({ topic: 't', partition: 0, table: TABLE }, 4, KINDS.slice(4));
    await commitWorldBatch(world.checkpoint, batch(KINDS, { funnel: [funnel], lost }));
    await fill([4, 6, 8, 9]);
    const broker = brokerWith({ ...whole, from: 2n }, ROWS);
    expect(await verify(broker)).toMatchObject({
      ok: true,
      acceptedLoss: 4n,
      partitions: [{ broker: { from: 2n, until: 10n, asked: 2 } }],
    });
    expect(broker.asked).toEqual([[5n, 8n]]);
    const other = brokerWith({ ...whole, topicId: 'two' }, [1, 5]);
    const report = await verify(other);
    expect(report.ok).toBe(true);
    expect(report.partitions[0].broker).toBeUndefined();
    expect(other.asked).toEqual([]);
  });

  it('asks nothing where each offset is a row', async () => {
    await commitWorldBatch(world.checkpoint, batch(['row', 'row']));
    await fill([0, 1]);
    const broker = brokerWith(whole, [0, 1]);
    expect(await verify(broker)).toMatchObject({ ok: true, partitions: [{ broker: { asked: 0 } }] });
    expect(broker.asked).toEqual([]);
  });
});

describe('openBrokerLog', () => {
  let cluster: FakeCluster;
  afterEach(() => cluster.stop());

  const record = (offset: number, value: string | null) => ({ offset: BigInt(offset), value });

  it('tells what the brokers retain, and each of its records', async () => {
    cluster = await FakeCluster.start();
    const first = encodeRecordBatch([record(3, 'a'), record(4, null), record(6, 'b')], { baseOffset: 3n });
    const marker = encodeControlBatch('commit', 7n, 1n);
    const last = encodeRecordBatch([record(8, 'c'), record(9, 'd')], { baseOffset: 8n });
    const topic = cluster.topic('t', [
      {
        batches: [
          { first: 3n, last: 6n, bytes: first },
          { first: 7n, last: 7n, bytes: marker },
          { first: 8n, last: 9n, bytes: last },
        ],
        lastStable: 9n,
      },
    ]);
    const log = openBrokerLog({
      client: {
        bootstrapServers: cluster.bootstrap,
        clientId: 'proof',
        kafka: {},
        requestDeadlineMs: 10_000,
      },
      isolationLevel: 'read_committed',
      budgetBytes: 8 * 1024 * 1024,
    });
    const retained = await log.retained([
      { topic: 't', partition: 0 },
      { topic: 't', partition: 1 },
      { topic: 'gone', partition: 0 },
    ]);
    expect([...retained]).toEqual([['t-0', { topicId: topic.id, from: 3n, until: 9n }]]);
    const seen: [string, number, number, boolean][] = [];
    await log.read([{ topic: 't', partition: 0, topicId: topic.id, from: 4n, until: 9n }], (...args) =>
      seen.push(args),
    );
    expect(seen).toEqual([
      ['t', 0, 4, true],
      ['t', 0, 6, false],
      ['t', 0, 8, false],
    ]);
  });
});
