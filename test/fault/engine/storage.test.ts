/** A call to the storage fails, anywhere in a run: before it did anything, after it did all and lost the reply, or because the disk is full. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PipelineConfig } from '../../../src/config/pipeline-config.ts';
import { isSluiceError, SluiceError } from '../../../src/errors.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { createTopic, fillOdd } from '../../support/fault-topics.ts';
import { FaultyFileIO, type FileFault } from '../../support/faulty-file-io.ts';
import { useKafka } from '../../support/kafka.ts';
import { Produced } from '../../support/produced.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';
import { everyNth } from '../../support/thorough.ts';

/** One of so many calls is tried in each test. With a file catalog the catalog's own steps are calls to the storage too. */
const STEPS = { sqlite: everyNth(19), file: everyNth(41) };

describe.each(['sqlite', 'file'] as const)(
  'the engine over a storage that fails, catalog %s',
  (catalogType) => {
    const { bootstrap } = useKafka();
    const step = STEPS[catalogType];
    let produced: Produced;
    let topic: string;
    /** Calls to the storage in a whole run: five batches into a table and its quarantine, three of them purged. */
    let calls = 0;
    let bytes = 0;

    beforeAll(async () => {
      produced = new Produced(bootstrap);
      topic = await createTopic(bootstrap, 'storage', 2);
      await fillOdd(produced, topic, 2, 20);
      const pipeline = newPipeline();
      const io = new FaultyFileIO(new LocalFileIO(), { freeBytes: 1e9 });
      await pipeline.run({ seams: { fileIO: io } });
      calls = io.calls.length;
      bytes = 1e9 - io.freeBytes;
      pipeline.remove();
    });
    afterAll(() => produced.close());

    const newPipeline = () =>
      new TestPipeline({
        bootstrap,
        topics: [topic],
        maxOffsetsPerTrigger: 8,
        minBatchesToRetain: 2,
        catalogType,
      });

    /** A run with the fault, which may end it, then a whole one; then everything is there once. */
    async function tryFault(fault: FileFault, name: string): Promise<string> {
      const pipeline = newPipeline();
      const io = new FaultyFileIO(new LocalFileIO(), { faults: [fault] });
      // A file catalog that does not answer is asked again until the deadline.
      const hasty = (config: PipelineConfig): void => {
        if (fault.dead === true) config.source.requestDeadlineMs = 200;
      };
      const end = await pipeline.run({ seams: { fileIO: io } }, hasty).then(
        () => 'finished',
        (error: unknown) => {
          if (isSluiceError(error)) return error.code;
          throw error;
        },
      );
      const struck = io.calls.at(fault.nth - 1);
      try {
        expect(end).not.toBe('INTERNAL');
        await pipeline.run();
        await checkExactlyOnce({ pipeline, produced });
      } catch (error) {
        throw new Error(`${name} ${fault.nth} of ${calls} (${struck?.kind} ${struck?.path}), ended ${end}`, {
          cause: error,
        });
      }
      pipeline.remove();
      return end;
    }

    it.each([
      ['fails before it does anything', 'before', false, 0],
      ['is done and its reply is lost', 'after', false, 1],
      ['fails and so do all later ones, as in a process that dies', 'before', true, 2],
      ['is done, its reply is lost and all later ones fail', 'after', true, 3],
    ] as const)('a call that %s', async (_, when, dead, first) => {
      for (let nth = 1 + (first % step); nth <= calls; nth += step)
        await tryFault({ nth, when, dead }, 'call');
    });

    it('a disk that says that it is full, once, at any call', async () => {
      const full = () =>
        new SluiceError('STORAGE_FULL', 'no space is left (an injected fault)', { outcome: 'not-applied' });
      for (let nth = Math.min(step, 3); nth <= calls; nth += step)
        await tryFault({ nth, when: 'before', error: full }, 'full at call');
    });

    it('a disk that is full after any number of bytes: STORAGE_FULL, and nothing but the batch is to do again', async () => {
      for (let share = 0.02; share < 1; share += 0.005 * step) {
        const pipeline = newPipeline();
        const io = new FaultyFileIO(new LocalFileIO(), { freeBytes: Math.floor(bytes * share) });
        const run = pipeline.run({ seams: { fileIO: io } });
        await expect(run, `${share}`).rejects.toMatchObject({ code: 'STORAGE_FULL', exitCode: 69 });
        // Still full: it says so again, and adds nothing that stays. Where only the purge was left, there is nothing to do.
        const again = await pipeline.run({ seams: { fileIO: io } }).catch((error: unknown) => error);
        if (again instanceof Error) expect(again).toMatchObject({ code: 'STORAGE_FULL' });
        else expect(again).toMatchObject({ summary: { batches: 0 } });
        await pipeline.run();
        const { dataFiles } = await checkExactlyOnce({ pipeline, produced });
        const data = pipeline.files(pipeline.warehouse).filter((file) => file.endsWith('.parquet'));
        expect(
          data.filter((file) => !dataFiles.includes(file)),
          `${share}`,
        ).toEqual([]);
        expect(dataFiles.every((file) => existsSync(file))).toBe(true);
        pipeline.remove();
      }
    });
  },
);
