/** Two processes on one checkpoint. The lease is a courtesy: without it the table stays exact all the same, and one of them stops. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isSluiceError } from '../../../src/errors.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { checkExactlyOnce } from '../../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../../support/fault-topics.ts';
import type { FileCallKind } from '../../support/faulty-file-io.ts';
import { GatedFileIO } from '../../support/gated-file-io.ts';
import { useKafka } from '../../support/kafka.ts';
import { TestPipeline } from '../../support/test-pipeline.ts';
import { everyNth } from '../../support/thorough.ts';

/** Where a process may stand still for an hour: before the call is done. */
const PLACES: [string, FileCallKind, RegExp][] = [
  ['before its first table', 'createNew', /metadata\/00000-.*\.metadata\.json$/],
  ['before plan/1', 'createNew', /_sluice\/plan\/1/],
  ['before offsets/1', 'createNew', /offsets\/1$/],
  ['before a data file', 'create', /data\/.*00000001-/],
  ['before prepared/1', 'createNew', /prepared\/1/],
  ['before the first manifest', 'createNew', /metadata\/.*\.avro$/],
  ['before the metadata of the first commit', 'createNew', /metadata\/00001-.*\.metadata\.json$/],
  ['before the metadata of a data table', 'createNew', /_[0-9a-f]{8}\/metadata\/00002-.*\.metadata\.json$/],
  ['before done/1', 'createNew', /done\/1/],
  ['before commits/1', 'createNew', /commits\/1$/],
];

/** What a process may say that found another one at its work. */
const STOPPED = ['CHECKPOINT_CONCURRENT', 'STALE_WRITER'];

describe('two processes on one checkpoint', () => {
  const { bootstrap } = useKafka();
  let data: FaultTopics;
  let pipeline: TestPipeline;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'two', 36);
  });
  afterAll(() => data.produced.close());
  // Three batches of 48 offsets.
  beforeEach(() => {
    pipeline = new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: 48 });
  });
  afterEach(() => pipeline.remove());

  const dropLease = (): void => rmSync(join(pipeline.checkpoint, '_sluice', 'lease'), { force: true });
  const snapshotOf = (directory: string): Map<string, string> =>
    new Map(pipeline.files(directory).map((file) => [file, readFileSync(file, 'base64')]));
  /** A process that stands still before a call; `end` is the code of its error, or `finished`. */
  const start = (pid: number, place?: [string, FileCallKind, RegExp]) => {
    const io = new GatedFileIO(new LocalFileIO());
    const gate = place === undefined ? undefined : io.gate(place[1], place[2]);
    const end = pipeline.run({ pid, seams: { fileIO: io } }).then(
      () => 'finished',
      (error: unknown) => {
        if (isSluiceError(error)) return error.code;
        throw error;
      },
    );
    const standing = Promise.race([
      gate?.reached,
      end.then((how) => Promise.reject(new Error(`the run ended before it came there: ${how}`))),
    ]);
    standing.catch(() => undefined);
    return { gate, end, standing };
  };

  it.each(PLACES)(
    'one that stands %s: the second stops at once, names it and touches no file',
    async (...place) => {
      const one = start(1001, place);
      await one.standing;
      const before = snapshotOf(pipeline.directory);
      const error = await pipeline.run({ pid: 1002 }).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'CHECKPOINT_CONCURRENT', exitCode: 75 });
      expect(String(error)).toMatch(/in use by process 1001 on/);
      expect(snapshotOf(pipeline.directory)).toEqual(before);
      one.gate!.open();
      expect(await one.end).toBe('finished');
      await checkExactlyOnce({ pipeline, produced: data.produced });
    },
  );

  it.each(PLACES)(
    'one that stands %s while the other does all the work: it stops when it wakes',
    async (...place) => {
      const one = start(1001, place);
      await one.standing;
      dropLease();
      expect(await start(1002).end).toBe('finished');
      one.gate!.open();
      expect(STOPPED).toContain(await one.end);
      await checkExactlyOnce({ pipeline, produced: data.produced });
      expect((await pipeline.run()).summary.batches).toBe(0);
    },
  );

  it('one that stands before its first table until its own batches are purged: it still tells what happened', async () => {
    pipeline.remove();
    pipeline = new TestPipeline({
      bootstrap,
      topics: data.topics,
      maxOffsetsPerTrigger: 16,
      minBatchesToRetain: 2,
    });
    const one = start(1001, PLACES[0]);
    await one.standing;
    dropLease();
    expect(await start(1002).end).toBe('finished');
    expect(pipeline.files(pipeline.checkpoint).some((file) => file.endsWith('/offsets/0'))).toBe(false);
    one.gate!.open();
    expect(await one.end).toBe('CHECKPOINT_CONCURRENT');
    await checkExactlyOnce({ pipeline, produced: data.produced });
  });

  it.each(PLACES)(
    'one that stands %s, the other at each place after it: at most one goes on',
    async (...place) => {
      // Every other pair of places is tried here.
      const first = PLACES.findIndex((p) => p[0] === place[0]);
      for (const second of PLACES.filter((_, i) => (first + i) % everyNth(2) === 0)) {
        const one = start(1001, place);
        await one.standing;
        dropLease();
        const two = start(1002, second);
        // The second may never come to its place: the batch is finished from the first one's list.
        const came = await Promise.race([two.gate!.reached.then(() => true), two.end.then(() => false)]);
        one.gate!.open();
        const ends = [await one.end];
        two.gate!.open();
        ends.push(await two.end);
        const stopped = ends.filter((end) => end !== 'finished');
        expect(STOPPED, `${place[0]}, ${second[0]}`).toEqual(expect.arrayContaining(stopped));
        expect(stopped.length, `${place[0]}, ${second[0]} (${came}): ${ends.join()}`).toBeGreaterThan(0);
        dropLease();
        await pipeline.run();
        await checkExactlyOnce({ pipeline, produced: data.produced });
        pipeline.remove();
        pipeline = new TestPipeline({ bootstrap, topics: data.topics, maxOffsetsPerTrigger: 48 });
      }
    },
  );
});
