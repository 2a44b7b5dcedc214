/** A reset is cut off at every call to the storage: doing it again ends it, and a run in between neither passes over nor doubles. */
import { describe, expect, it } from 'vitest';
import { Checkpoint } from '../../../src/checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../../../src/config/pipeline-config.ts';
import { formatOffsetMap } from '../../../src/core/offset-range.ts';
import { BatchPlanner } from '../../../src/engine/batch-planner.ts';
import type { BatchPlannerContext } from '../../../src/engine/planner-context.ts';
import { executeReset, type ResetOutcome } from '../../../src/engine/reset/checkpoint-reset.ts';
import { isSluiceError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { FileIO } from '../../../src/storage/file-io.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { endsOf, makeProcess, planOf, runBatches } from '../../support/checkpoint.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import { resetRequest } from '../../support/reset.ts';

const TOPIC = 'ad-clicks';
const ANEW = 'BBBBBBBBBBBBBBBBBBBBAQ';
const request = resetRequest(TOPIC, 'earliest');

const START = [2n, 0n];
const END = 90n;

/** Brokers that know the topic anew. */
const cluster = {
  clusterId: 'cluster',
  metadata: async () => ({
    clusterId: 'cluster',
    missing: [],
    topics: [
      {
        topic: TOPIC,
        topicId: ANEW,
        partitions: START.map((_, partition) => ({ partition, leaderEpoch: 0 })),
      },
    ],
  }),
  listOffsets: async (asked: { topic: string; partition: number }[], which: string) =>
    asked.map((p) => ({ ...p, offset: which === 'earliest' ? START[p.partition] : END })),
} as unknown as KafkaCluster;

const CONFIG = {
  source: {
    bootstrapServers: 'fake',
    selection: { kind: 'subscribe', topics: [TOPIC] },
    isolationLevel: 'read_committed',
    startingOffsets: { kind: 'earliest' },
    fetchOffsetNumRetries: 0,
    fetchOffsetRetryIntervalMs: 0,
  },
  tables: [],
} as unknown as PipelineConfig;

/** Two batches of the old topic; `pending`: a third is planned and not read. */
async function stateBefore(pending: boolean): Promise<MemoryFileIO> {
  const disk = new MemoryFileIO();
  const checkpoint = await Checkpoint.open(makeProcess(disk).options);
  await checkpoint.writeInitialOffsets(
    new Map([
      [
        TOPIC,
        new Map([
          [0, 0n],
          [1, 0n],
        ]),
      ],
    ]),
  );
  await runBatches(checkpoint, 0, 2);
  if (pending) {
    await checkpoint.writePlan(planOf(2));
    await checkpoint.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
  }
  return disk;
}

/** Every process comes an hour after the one before, so that a dead one's lease is stale. */
let hours = 0;

async function doReset(io: FileIO, hour = ++hours): Promise<ResetOutcome> {
  const { options } = makeProcess(io, { now: () => 1_700_000_000_000 + hour * 3_600_000 });
  const checkpoint = await Checkpoint.open(options);
  const context = { config: CONFIG, checkpoint, cluster, writerId: options.owner.writerId, now: options.now };
  return executeReset(context, request);
}

/** A process that takes the checkpoint up again; what it would go on with. */
async function recover(io: FileIO): Promise<{ planned: number | null; restart: unknown }> {
  const { options } = makeProcess(io);
  const checkpoint = await Checkpoint.open(options);
  const log = () => undefined;
  const planner = new BatchPlanner({
    config: CONFIG,
    checkpoint,
    cluster,
    host: { now: options.now, log: { debug: log, info: log, warn: log, error: log } },
    sleep: async () => undefined,
  } as unknown as BatchPlannerContext);
  const planned = (await planner.recover())?.plan.batchId ?? null;
  return { planned, restart: checkpoint.restart() };
}

async function expectReset(disk: MemoryFileIO, pending: boolean): Promise<void> {
  const checkpoint = await Checkpoint.open(makeProcess(disk, { readOnly: true }).options);
  const last = pending ? 3 : 2;
  expect(checkpoint.restart()).toEqual({ kind: 'next', batchId: last + 1 });
  expect(formatOffsetMap(await checkpoint.offsets(last))).toBe('{"ad-clicks":{"0":2,"1":0}}');
  const done = await checkpoint.done(last);
  expect(done).toMatchObject({
    funnel: [],
    topics: [{ topic: TOPIC, topicId: ANEW }],
    reset: { by: 'tester@host' },
  });
  expect(done!.lost.map((l) => [l.partition, l.from, l.until])).toEqual(
    pending
      ? [
          [0, 20n, 30n],
          [1, 30n, 45n],
        ]
      : [],
  );
  const lost = (await checkpoint.ledger()).reduce((sum, e) => sum + e.lostOffsets, 0n);
  expect(lost).toBe(pending ? 25n : 0n);
}

async function countCalls(pending: boolean): Promise<number> {
  const disk = await stateBefore(pending);
  const io = new FaultyFileIO(disk);
  await doReset(io);
  await expectReset(disk, pending);
  return io.calls.length;
}

describe.each([false, true])('with a batch that was planned and not read: %s', (pending) => {
  it.each(['before', 'after'] as const)(
    'every call fails once %s it applied, and the process dies: the same reset ends it',
    async (when) => {
      const calls = await countCalls(pending);
      expect(calls).toBeGreaterThan(15);
      let finished = 0;
      for (let nth = 1; nth <= calls; nth++) {
        const disk = await stateBefore(pending);
        const io = new FaultyFileIO(disk, { faults: [{ nth, when, dead: true }] });
        const first = await doReset(io).catch((error: unknown) => error);
        // Only the end of the lease comes after the reset; its failure is no failure of the reset.
        if (isSluiceError(first)) expect(first.code).toBe('STORAGE_UNREACHABLE');
        if ((await doReset(disk)).finished !== null) finished++;
        await expectReset(disk, pending);
      }
      expect(finished).toBeGreaterThan(0);
    },
  );

  it('a run in between goes on as if it had not been, stops, or finishes it', async () => {
    const calls = await countCalls(pending);
    const met = new Set<string>();
    for (const when of ['before', 'after'] as const) {
      for (let nth = 1; nth <= calls; nth++) {
        const disk = await stateBefore(pending);
        await doReset(new FaultyFileIO(disk, { faults: [{ nth, when, dead: true }] })).catch(() => undefined);
        const run = await recover(disk).catch((error: unknown) => error);
        const last = pending ? 3 : 2;
        if (isSluiceError(run)) {
          met.add(run.code);
          if (run.code === 'RESET_UNFINISHED')
            expect(run.message).toContain(`sluice checkpoint reset --topic ${TOPIC} --to earliest --execute`);
          else expect(run.code).toBe('TOPIC_REPLACED');
        } else {
          met.add(JSON.stringify(run));
          expect([
            { planned: null, restart: { kind: 'next', batchId: last } },
            { planned: null, restart: { kind: 'next', batchId: last + 1 } },
          ]).toContainEqual(run);
        }
        await doReset(disk);
        await expectReset(disk, pending);
      }
    }
    const done = JSON.stringify({ planned: null, restart: { kind: 'next', batchId: pending ? 4 : 3 } });
    const untouched = JSON.stringify({ planned: null, restart: { kind: 'next', batchId: 2 } });
    expect([...met].sort()).toEqual(
      (pending ? ['RESET_UNFINISHED', 'TOPIC_REPLACED', done] : [untouched, done]).sort(),
    );
  });
});

describe('a query that has planned no batch yet', () => {
  it('is reset after a cut at any call, and knows the old log still', async () => {
    const start = async (): Promise<MemoryFileIO> => {
      const disk = new MemoryFileIO();
      const checkpoint = await Checkpoint.open(makeProcess(disk).options);
      await checkpoint.writePlan({
        ...planOf(0),
        ranges: [],
        tables: [],
        leaderEpochs: [],
      });
      await checkpoint.writeInitialOffsets(endsOf(4));
      return disk;
    };
    const io = new FaultyFileIO(await start());
    await doReset(io);
    const met = new Set<string>();
    for (let nth = 1; nth <= io.calls.length; nth++) {
      const disk = await start();
      await doReset(new FaultyFileIO(disk, { faults: [{ nth, when: 'after', dead: true }] })).catch(
        () => undefined,
      );
      const run = await recover(disk).catch((error: unknown) => error);
      met.add(isSluiceError(run) ? run.code : JSON.stringify(run));
      await doReset(disk);
      const checkpoint = await Checkpoint.open(makeProcess(disk, { readOnly: true }).options);
      expect(checkpoint.restart()).toEqual({ kind: 'next', batchId: 1 });
      expect(formatOffsetMap(await checkpoint.offsets(0))).toBe('{"ad-clicks":{"0":2,"1":0}}');
      expect((await checkpoint.plan(0))?.reset?.previous.topics).toEqual(planOf(0).topics);
    }
    expect(met).toContain('RESET_UNFINISHED');
  });
});

describe('two operators at once', () => {
  it('one reset stands, whole; the other is told', async () => {
    for (const pending of [false, true]) {
      const disk = await stateBefore(pending);
      const hour = ++hours;
      const ended = await Promise.allSettled([doReset(disk, hour), doReset(disk, hour)]);
      const errors = ended.flatMap((e) => (e.status === 'rejected' ? [e.reason] : []));
      expect(errors.length).toBeLessThan(2);
      for (const error of errors) expect(error).toMatchObject({ code: 'CHECKPOINT_CONCURRENT' });
      await doReset(disk);
      await expectReset(disk, pending);
    }
  });
});
