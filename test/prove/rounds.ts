/** The rounds of `npm run prove`: each makes a new pipeline, lets faults rain on it at random, and ends with the checker. */

import { openCatalog } from '../../src/catalog/open-catalog.ts';
import type { Random } from '../../src/core/random.ts';
import { isSluiceError } from '../../src/errors.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { createTopic, type FaultTopics, fillOdd, oddRecord } from '../support/fault-topics.ts';
import { type CommitFault, FaultyCatalog } from '../support/faulty-catalog.ts';
import { FaultyFileIO } from '../support/faulty-file-io.ts';
import { GatedFileIO } from '../support/gated-file-io.ts';
import { killRounds } from '../support/kill-rounds.ts';
import { PowerLossFileIO } from '../support/power-loss-file-io.ts';
import { Produced } from '../support/produced.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

export interface RoundResult {
  /** Kills, failed calls, power losses. */
  faults: number;
  /** Records that were proven to be there exactly once. */
  records: number;
}

export type Round = (data: FaultTopics, random: Random) => Promise<RoundResult>;

const KILLS = 12;
/** System calls and storage calls of a run, about. */
const CALLS = 500;
const COMMIT_FAULTS: CommitFault[] = [
  'apply, then 504',
  '504',
  'apply, then reset',
  'reset',
  'state unknown',
  'apply, then state unknown',
  'late',
  'conflict',
  'refused',
  'unreachable',
];
/** Names of files before whose writing a process may stand still. */
const PLACES = [
  /_sluice\/plan\//,
  /offsets\/\d+$/,
  /data\/.*\.parquet$/,
  /_sluice\/prepared\//,
  /metadata\/.*\.avro$/,
  /metadata\/.*\.metadata\.json$/,
  /_sluice\/done\//,
  /commits\/\d+$/,
];

export const ROUNDS: Record<string, Round> = {
  'kills of the command line, a producer going on': kills,
  'power losses': powerLosses,
  'failing calls to the storage': storageFaults,
  'failing commits of the catalog': catalogFaults,
  'two processes on one checkpoint': twoProcesses,
};

/** Two topics with odd records and transactions, for the rounds that only read. */
export async function makeData(bootstrap: string): Promise<FaultTopics> {
  const produced = new Produced(bootstrap);
  const topics = [await createTopic(bootstrap, 'prove-a', 2), await createTopic(bootstrap, 'prove-b', 2)];
  for (const topic of topics) {
    await fillOdd(produced, topic, 2, 30);
    for (const end of ['abort', 'commit'] as const) {
      const batches = [0, 1, 0].map((partition, i) => ({
        topic,
        partition,
        records: Array.from({ length: 5 }, (_, n) => oddRecord(topic, partition, 100 + i * 5 + n)),
      }));
      await produced.transaction(`${topic}-${end}`, batches, end);
    }
  }
  return { produced, topics };
}

async function kills({ produced }: FaultTopics, random: Random): Promise<RoundResult> {
  const result = await killRounds({ bootstrap: produced.bootstrap, random, kills: KILLS });
  return { faults: result.kills.length, records: result.produced };
}

function newPipeline({ produced, topics }: FaultTopics, random: Random, onDisk = true): TestPipeline {
  return new TestPipeline({
    bootstrap: produced.bootstrap,
    topics,
    maxOffsetsPerTrigger: 20 + random.below(120),
    minBatchesToRetain: 2 + random.below(4),
    ...(onDisk ? {} : { checkpoint: '/disk/checkpoint', warehouse: '/disk/warehouse' }),
  });
}

async function finish(data: FaultTopics, pipeline: TestPipeline, faults: number): Promise<RoundResult> {
  await pipeline.run();
  await checkExactlyOnce({ pipeline, produced: data.produced, topics: data.topics });
  pipeline.remove();
  return { faults, records: data.produced.count(data.topics) };
}

async function powerLosses(data: FaultTopics, random: Random): Promise<RoundResult> {
  const pipeline = newPipeline(data, random, false);
  const disk = new PowerLossFileIO();
  const losses = 2 + random.below(5);
  for (let n = 0; n < losses; n++) {
    disk.fs.failAt = disk.fs.calls + 1 + random.below(CALLS);
    await pipeline
      .run({ seams: { fileIO: disk } })
      .catch((error: unknown) => expectCode(error, ['STORAGE_ERROR']));
    disk.crash((most) => random.below(most + 1));
  }
  await pipeline.run({ seams: { fileIO: disk } });
  disk.crash();
  await checkExactlyOnce({ pipeline, produced: data.produced, topics: data.topics, io: disk });
  pipeline.remove();
  return { faults: losses, records: data.produced.count(data.topics) };
}

async function storageFaults(data: FaultTopics, random: Random): Promise<RoundResult> {
  const pipeline = newPipeline(data, random);
  const runs = 2 + random.below(5);
  for (let n = 0; n < runs; n++) {
    const io = new FaultyFileIO(new LocalFileIO(), {
      faults: [
        {
          nth: 1 + random.below(CALLS),
          when: random.pick(['before', 'after'] as const),
          dead: random.chance(0.4),
        },
      ],
    });
    await pipeline
      .run({ seams: { fileIO: io } })
      .catch((error: unknown) =>
        expectCode(error, ['STORAGE_UNREACHABLE', 'COMMIT_UNKNOWN', 'CHECKPOINT_CONCURRENT']),
      );
  }
  return finish(data, pipeline, runs);
}

async function catalogFaults(data: FaultTopics, random: Random): Promise<RoundResult> {
  const pipeline = newPipeline(data, random);
  let faults = 0;
  for (let n = 0; n < 3; n++) {
    await pipeline
      .run({
        seams: {
          openCatalog: async (options, services) => {
            const catalog = new FaultyCatalog(await openCatalog(options, services));
            for (let i = 0; i < 8; i++) {
              const fault = random.chance(0.5) ? random.pick(COMMIT_FAULTS) : 'none';
              if (fault !== 'none') faults++;
              catalog.fail(fault);
            }
            return catalog;
          },
        },
      })
      .catch((error: unknown) => expectCode(error, ['CATALOG_ERROR', 'COMMIT_UNKNOWN']));
  }
  return finish(data, pipeline, faults);
}

/** One stands still before a file, the lease is gone, another comes and may stand still too; then they go on in either order. */
async function twoProcesses(data: FaultTopics, random: Random): Promise<RoundResult> {
  const pipeline = newPipeline(data, random);
  const ends: Promise<unknown>[] = [];
  const opens: (() => void)[] = [];
  for (const pid of [1001, 1002]) {
    const io = new GatedFileIO(new LocalFileIO());
    const gate = io.gate(random.pick(['createNew', 'create', 'replace'] as const), random.pick(PLACES));
    const end = pipeline
      .run({ pid, isProcessAlive: () => false, seams: { fileIO: io } })
      .catch((error: unknown) =>
        expectCode(error, ['CHECKPOINT_CONCURRENT', 'STALE_WRITER', 'COMMIT_CONFLICT']),
      );
    ends.push(end);
    opens.push(gate.open);
    await Promise.race([gate.reached, end]);
  }
  if (random.chance(0.5)) opens.reverse();
  for (const open of opens) {
    open();
    if (random.chance(0.5)) await Promise.race(ends);
  }
  await Promise.all(ends);
  return finish(data, pipeline, 2);
}

function expectCode(error: unknown, codes: readonly string[]): void {
  if (!isSluiceError(error) || !codes.includes(error.code)) throw error;
}
