import { describe, expect, it } from 'vitest';
import { Checkpoint } from '../../../src/checkpoint/checkpoint.ts';
import { decodeGaps } from '../../../src/checkpoint/gap-text.ts';
import { isSluiceError } from '../../../src/errors.ts';
import type { FileIO } from '../../../src/storage/file-io.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import {
  doneOf,
  doneTableOf,
  endsOf,
  LOCATION,
  listFiles,
  makeProcess,
  planOf,
  preparedOf,
} from '../../support/checkpoint.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';
import { PowerLossFileIO } from '../../support/power-loss-file-io.ts';

const BATCHES = 6;
const RETAIN = 3;

/** Stands for the tables: takes each commit once, and says so when a batch comes under two commit ids. */
class FakeTable {
  readonly commits = new Map<number, string>();

  commit(batchId: number, commitId: string): void {
    const known = this.commits.get(batchId) ?? commitId;
    if (known !== commitId) throw new Error(`batch ${batchId} doubled: ${known} and ${commitId}`);
    this.commits.set(batchId, commitId);
  }
}

/** Runs a step; with `retries`, once more when its first call got no reply, as a caller that goes on living would. */
type Step = <T>(run: () => Promise<T>) => Promise<T>;
const once: Step = (run) => run();
const retried: Step = async (run) => {
  try {
    return await run();
  } catch (error) {
    if (!isSluiceError(error, 'STORAGE_UNREACHABLE')) throw error;
    return run();
  }
};

/** A whole process: opens the checkpoint, goes on where it stands, up to batch `BATCHES`. */
async function runProcess(io: FileIO, table: FakeTable, step: Step): Promise<void> {
  const process = makeProcess(io);
  const { writerId } = process.options.owner;
  const checkpoint = await step(() => Checkpoint.open(process.options));
  await step(() => checkpoint.acquireLease());
  const point = checkpoint.restart();
  if (point.kind === 'fresh' && (await step(() => checkpoint.initialOffsets())) === null) {
    await step(() =>
      checkpoint.writeInitialOffsets(
        new Map([
          [
            'ad-clicks',
            new Map([
              [0, 0n],
              [1, 0n],
            ]),
          ],
        ]),
      ),
    );
  }
  for (let batchId = point.kind === 'fresh' ? 0 : point.batchId; batchId < BATCHES; batchId++) {
    if ((checkpoint.latestPlanned ?? -1) < batchId) {
      await step(() => checkpoint.writePlan(planOf(batchId)));
      await step(() => checkpoint.writeOffsets(batchId, endsOf(batchId), planOf(batchId).batchTimestampMs));
    }
    expect(await step(() => checkpoint.plan(batchId))).toEqual(planOf(batchId));
    expect(await step(() => checkpoint.offsets(batchId))).toEqual(endsOf(batchId));
    let prepared = await step(() => checkpoint.prepared(batchId));
    if (prepared === null) {
      prepared = preparedOf(batchId, writerId);
      prepared.tables[0] = { ...prepared.tables[0], commitId: `commit-${batchId}-${writerId}` };
      const written = prepared;
      await step(() => checkpoint.writePrepared(written));
    }
    const { commitId } = prepared.tables[0];
    table.commit(batchId, commitId);
    await step(() =>
      checkpoint.writeDone({ ...doneOf(batchId), tables: [{ ...doneTableOf(batchId), commitId }] }),
    );
    await step(() => checkpoint.writeCommit(batchId));
    await step(() => checkpoint.heartbeat());
    await step(() => checkpoint.purge(RETAIN));
  }
  // A purge that was cut off after the last commit.
  await step(() => checkpoint.purge(RETAIN));
  await step(() => checkpoint.releaseLease());
}

async function expectFinished(io: FileIO, table: FakeTable): Promise<void> {
  const checkpoint = await Checkpoint.open(makeProcess(io, { readOnly: true }).options);
  expect(checkpoint.restart()).toEqual({ kind: 'next', batchId: BATCHES });
  expect([...table.commits.keys()]).toEqual(Array.from({ length: BATCHES }, (_, n) => n));
  const entries = await checkpoint.ledger();
  expect(
    entries.map((e) => [
      e.partition,
      e.from,
      e.until,
      e.firstBatch,
      e.lastBatch,
      e.rows,
      e.control,
      decodeGaps(e.gaps).length,
    ]),
  ).toEqual([
    [0, 0n, BigInt(BATCHES) * 10n, 0, BATCHES - 1, BATCHES * 9, BATCHES, BATCHES],
    [1, 0n, BigInt(BATCHES) * 15n, 0, BATCHES - 1, BATCHES * 14, BATCHES, BATCHES],
  ]);
  for (let n = 0; n < BATCHES; n++) {
    const record = await checkpoint.doneRecord('bronze.ad_clicks', n);
    expect(record).toEqual(
      n < BATCHES - RETAIN
        ? 'purged'
        : { snapshotId: doneTableOf(n).snapshotId, commitId: table.commits.get(n) },
    );
  }
  const batchFiles = (await listFiles(io)).flatMap((f) => {
    const match = /^(?:(?:offsets|commits)\/|_sluice\/(plan|prepared|done)\/)(\d+)/.exec(f);
    // A process that died may have left a plan of its own beside the one that counts.
    return match === null ? [] : [match[1] === 'plan' ? `plan ${match[2]}` : f];
  });
  expect(new Set(batchFiles).size).toBe(RETAIN * 5);
}

/** The calls of a run without a fault. */
async function countCalls(): Promise<number> {
  const io = new FaultyFileIO(new MemoryFileIO());
  const table = new FakeTable();
  await runProcess(io, table, once);
  const calls = io.calls.length;
  await expectFinished(io, table);
  return calls;
}

describe('every external call of a run fails once', () => {
  it.each(['before', 'after'] as const)(
    '%s it applied, and the process dies: the next one ends it right',
    async (when) => {
      const calls = await countCalls();
      expect(calls).toBeGreaterThan(BATCHES * 10);
      for (let nth = 1; nth <= calls; nth++) {
        const disk = new MemoryFileIO();
        const table = new FakeTable();
        const io = new FaultyFileIO(disk, { faults: [{ nth, when, dead: true }] });
        const at = () => `${when} call ${nth}: ${JSON.stringify(io.calls[nth - 1])}`;
        await expect(runProcess(io, table, once), at()).rejects.toMatchObject({
          code: 'STORAGE_UNREACHABLE',
        });
        await runProcess(disk, table, once).catch((error: unknown) => {
          throw new Error(`after ${at()}`, { cause: error });
        });
        await expectFinished(disk, table);
      }
    },
  );

  it.each(['before', 'after'] as const)(
    '%s it applied, and the same process tries the step again',
    async (when) => {
      const calls = await countCalls();
      for (let nth = 1; nth <= calls; nth++) {
        const disk = new MemoryFileIO();
        const table = new FakeTable();
        const io = new FaultyFileIO(disk, { faults: [{ nth, when }] });
        await runProcess(io, table, retried).catch((error: unknown) => {
          throw new Error(`${when} call ${nth}: ${JSON.stringify(io.calls[nth - 1])}`, { cause: error });
        });
        await expectFinished(disk, table);
      }
    },
  );

  it('and the second process fails too, at every pair of a coarse grid', async () => {
    const calls = await countCalls();
    for (let first = 1; first <= calls; first += 7) {
      for (let second = 1; second <= calls; second += 5) {
        const disk = new MemoryFileIO();
        const table = new FakeTable();
        for (const nth of [first, second]) {
          const when = (first + second) % 2 === 0 ? 'before' : 'after';
          await runProcess(
            new FaultyFileIO(disk, { faults: [{ nth, when, dead: true }] }),
            table,
            once,
          ).catch(() => undefined);
        }
        await runProcess(disk, table, once);
        await expectFinished(disk, table);
      }
    }
  });
});

describe('the power goes at every system call', () => {
  it.each([
    ['nothing unsynced survives', () => 0],
    ['all of it survives', (most: number) => most],
    ['a part survives', (most: number) => (most + 1) >> 1],
  ] as const)('%s', async (_what, survives) => {
    const whole = new PowerLossFileIO();
    await runProcess(whole, new FakeTable(), once);
    const calls = whole.fs.calls;
    for (let nth = 1; nth <= calls; nth += 3) {
      const disk = new PowerLossFileIO();
      const table = new FakeTable();
      disk.fs.failAt = nth;
      await expect(runProcess(disk, table, once)).rejects.toThrow();
      disk.crash(survives);
      await runProcess(disk, table, once).catch((error: unknown) => {
        throw new Error(`after the power went at call ${nth} of ${calls}`, { cause: error });
      });
      await expectFinished(disk, table);
    }
  });
});

describe('a full or read-only disk', () => {
  it('stops the batch with a clear error, and the run ends right once there is room', async () => {
    for (let freeBytes = 0; freeBytes < 12_000; freeBytes += 397) {
      const disk = new MemoryFileIO();
      const table = new FakeTable();
      const io = new FaultyFileIO(disk, { freeBytes });
      await expect(runProcess(io, table, once)).rejects.toMatchObject({
        code: 'STORAGE_FULL',
        exitCode: 69,
        message: expect.stringContaining(LOCATION),
      });
      await runProcess(disk, table, once);
      await expectFinished(disk, table);
    }
  });
});
