/** The power goes at any system call of a run; what was not fsynced is gone, or half of it, or all but the last. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { useKafka } from '../../support/kafka.ts';
import { PowerLossFileIO } from '../../support/power-loss-file-io.ts';
import type { Survives } from '../../support/power-loss-fs.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';
import { everyNth } from '../../support/thorough.ts';

const SURVIVALS: Record<string, Survives> = {
  nothing: () => 0,
  half: (most) => most >> 1,
  everything: (most) => most,
};
/** One of so many system calls is tried in each of the tests; together they try all of one in `STEP / 3`. */
const STEP = everyNth(30);

describe('a power loss', () => {
  const { bootstrap } = useKafka();
  let produced: Produced;
  let topic: string;
  /** System calls of a whole run: five batches into a table and its quarantine, three of them purged. */
  let calls = 0;

  beforeAll(async () => {
    produced = new Produced(bootstrap);
    topic = await createTopic(bootstrap, 'power', 2);
    await fillOdd(produced, topic, 2, 20);
    const { pipeline, disk } = newDisk();
    await pipeline.run({ seams: { fileIO: disk } });
    calls = disk.fs.calls;
    disk.crash();
    // Nothing that a finished run says it did is lost.
    await checkExactlyOnce({ pipeline, produced, io: disk });
    pipeline.remove();
  });
  afterAll(() => produced.close());

  /** The catalog's database stays on the real disk: SQLite sees to its own durability. */
  function newDisk(): { pipeline: TestPipeline; disk: PowerLossFileIO } {
    const pipeline = new TestPipeline({
      bootstrap,
      topics: [topic],
      maxOffsetsPerTrigger: 8,
      minBatchesToRetain: 2,
      checkpoint: '/disk/checkpoint',
      warehouse: '/disk/warehouse',
    });
    return { pipeline, disk: new PowerLossFileIO() };
  }

  /** Where it goes at the very end, when only the lease is to be given back, the run does not notice. */
  async function runUntilPowerLoss(pipeline: TestPipeline, disk: PowerLossFileIO): Promise<void> {
    const error = await pipeline.run({ seams: { fileIO: disk } }).catch((e: unknown) => e);
    if (error instanceof Error) expect(String(error)).toMatch(/input\/output error \(EIO\)/);
  }

  it.each(Object.keys(SURVIVALS))('at system calls of a run, of which survives: %s', async (what) => {
    const first = 1 + Object.keys(SURVIVALS).indexOf(what) * Math.floor(STEP / 3);
    for (let at = first; at < calls; at += STEP) {
      const { pipeline, disk } = newDisk();
      disk.fs.failAt = at;
      await runUntilPowerLoss(pipeline, disk);
      disk.crash(SURVIVALS[what]);
      // The new process has a power loss of its own, and the third one ends.
      disk.fs.failAt = disk.fs.calls + 1 + ((at * 7) % calls);
      await runUntilPowerLoss(pipeline, disk);
      disk.crash(SURVIVALS[what]);
      await pipeline.run({ seams: { fileIO: disk } });
      disk.crash();
      try {
        await checkExactlyOnce({ pipeline, produced, io: disk });
      } catch (error) {
        throw new Error(`power loss at system call ${at} of ${calls}`, { cause: error });
      }
      pipeline.remove();
    }
  });
});
