/** Kills a pipeline again and again, at named points and at any time, while a producer goes on producing. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/core/random.ts';
import { FAILPOINTS } from '../../src/engine/failpoint.ts';
import { checkExactlyOnce, type ExactlyOnceResult } from './exactly-once.ts';
import { createTopic, oddRecord } from './fault-topics.ts';
import { readIndependently } from './independent-table.ts';
import { Produced, type RecordToSend } from './produced.ts';
import { TestPipeline } from './test-pipeline.ts';

const PARTITIONS = 3;
/** More are not produced in one round. */
const MOST_RECORDS = 12_000;

export interface KillRoundsOptions {
  bootstrap: string;
  random: Random;
  kills: number;
  /** Told of each run that was killed, and where. */
  onKill?(kill: string): void;
}

export interface KillRoundsResult extends ExactlyOnceResult {
  kills: string[];
  /** Runs that ended before their kill came. */
  spared: number;
  produced: number;
}

/** Throws where at the end not every record is there exactly once, or where after any kill one is there twice. */
export async function killRounds(options: KillRoundsOptions): Promise<KillRoundsResult> {
  const { bootstrap, random } = options;
  const topics = [
    await createTopic(bootstrap, 'kills-a', PARTITIONS),
    await createTopic(bootstrap, 'kills-b', PARTITIONS),
  ];
  const producer = new EndlessProducer(new Produced(bootstrap), topics, random);
  const pipeline = new TestPipeline({ bootstrap, topics, maxOffsetsPerTrigger: 60 + random.below(240) });
  const kills: string[] = [];
  let spared = 0;
  try {
    await producer.step();
    const producing = producer.run();
    while (kills.length < options.kills) {
      const kill = await runAndKill(pipeline, random);
      if (kill === undefined) {
        spared++;
        continue;
      }
      kills.push(kill);
      options.onKill?.(kill);
      if (kills.length % 5 === 0) await assertNoneDoubled(pipeline);
    }
    producer.stop();
    await producing;
    const last = await pipeline.cli();
    if (last.code !== 0) throw new Error(`the last run ended with ${last.code}: ${last.stderr}`);
    const checked = await checkExactlyOnce({ pipeline, produced: producer.produced });
    pipeline.remove();
    return { ...checked, kills, spared, produced: producer.produced.count() };
  } catch (error) {
    throw new Error(`after the kills ${kills.join(', ')} of ${pipeline.directory}`, { cause: error });
  } finally {
    producer.stop();
    await producer.produced.close();
  }
}

/** One run, killed at a named point or at any time. Undefined where it ended before. */
async function runAndKill(pipeline: TestPipeline, random: Random): Promise<string | undefined> {
  let kill: string;
  let failpoints = '';
  let afterMs = 0;
  if (random.below(10) < 6) {
    const point = FAILPOINTS[random.below(FAILPOINTS.length)];
    kill = `${point}@${1 + random.below(4)}`;
    failpoints = `${kill}=kill`;
  } else {
    afterMs = random.below(1500);
    kill = `${afterMs} ms`;
  }
  let timer: NodeJS.Timeout | undefined;
  const run = await pipeline.cli({
    failpoints,
    onStart: (child) => {
      if (afterMs > 0) timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
    },
  });
  clearTimeout(timer);
  if (run.signal === 'SIGKILL') return kill;
  if (run.code !== 0)
    throw new Error(`a run ended with ${run.code} before its kill at ${kill}: ${run.stderr}`);
  return undefined;
}

/** Also before the end no record is there twice. */
async function assertNoneDoubled(pipeline: TestPipeline): Promise<void> {
  const seen = new Set<string>();
  for (const topic of pipeline.options.topics) {
    for (const name of [pipeline.tableOf(topic), `${pipeline.tableOf(topic)}__quarantine`]) {
      for (const row of (await readIndependently(pipeline.catalogFile, name))?.rows ?? []) {
        const key = `${row.topic}-${row.kafka_partition}@${row.kafka_offset}`;
        if (seen.has(key)) throw new Error(`${key} is there twice`);
        seen.add(key);
      }
    }
  }
}

/** Sends batches and transactions, committed and aborted, until it is stopped. */
class EndlessProducer {
  readonly produced: Produced;
  readonly #topics: readonly string[];
  readonly #random: Random;
  #next = 0;
  #transactions = 0;
  #stopped = false;

  constructor(produced: Produced, topics: readonly string[], random: Random) {
    this.produced = produced;
    this.#topics = topics;
    this.#random = random;
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      // The faster the machine, the more there is to read in a run; but never more than the runs keep up with.
      if (this.produced.count() < MOST_RECORDS) await this.step();
      await delay(10 + this.#random.below(60));
    }
  }

  async step(): Promise<void> {
    if (this.#random.below(12) > 0) {
      const { topic, partition, records } = this.#batch();
      await this.produced.send(topic, partition, records);
      return;
    }
    const batches = Array.from({ length: 1 + this.#random.below(4) }, () => this.#batch());
    const end = this.#random.below(2) === 0 ? 'commit' : 'abort';
    await this.produced.transaction(`${this.#topics[0]}-${this.#transactions++}`, batches, end);
  }

  #batch(): { topic: string; partition: number; records: RecordToSend[] } {
    const topic = this.#topics[this.#random.below(this.#topics.length)];
    const partition = this.#random.below(PARTITIONS);
    const records = Array.from({ length: 1 + this.#random.below(30) }, () =>
      oddRecord(topic, partition, this.#next++),
    );
    return { topic, partition, records };
  }
}
