import type { OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import type { BrokerAnswer, BrokerLog, RetainedLog } from './broker-log.ts';
import type { FoundPartition, FoundRows } from './found-rows.ts';
import { appendInterval, forEachStretch, type Interval, OffsetRuns } from './offset-runs.ts';
import type { PartitionProof } from './partition-proof.ts';
import type { Incarnation, PartitionHistory } from './read-history.ts';

interface Question {
  proof: PartitionProof;
  range: OffsetRange & { topicId: string | null };
  retained: RetainedLog;
  absent: OffsetRuns;
  asked: number;
  /** Records at absent offsets, and those of them without a value. */
  records: OffsetRuns;
  tombstones: OffsetRuns;
}

/**
 * Asks the brokers whether there are records at offsets that have no row, as far as they still have them, and adds the
 * answers to the proofs: a record that no rule dropped is lost, whatever the ledger says. Reads, of each partition of the
 * table, from the first such offset to the last. Throws what the Kafka client throws.
 */
export async function askBrokers(
  broker: BrokerLog,
  table: string,
  history: ReadonlyMap<string, PartitionHistory>,
  found: FoundRows,
  proofs: readonly PartitionProof[],
): Promise<PartitionProof[]> {
  const retained = await broker.retained(proofs);
  const questions = proofs.flatMap((proof) => {
    const key = topicPartitionKey(proof.topic, proof.partition);
    const log = retained.get(key);
    if (log === undefined) return [];
    return questionOf(proof, table, history.get(key)!, found.get(proof.topic, proof.partition), log) ?? [];
  });
  const open = new Map(questions.map((q) => [topicPartitionKey(q.range.topic, q.range.partition), q]));
  const matchers = new Map([...open].map(([key, q]) => [key, new Matcher(q.absent)]));
  const ranges = questions.filter((q) => q.range.until > q.range.from).map((q) => q.range);
  if (ranges.length > 0) {
    await broker.read(ranges, (topic, partition, offset, isTombstone) => {
      const key = topicPartitionKey(topic, partition);
      if (!matchers.get(key)!.has(offset)) return;
      const question = open.get(key)!;
      (isTombstone ? question.tombstones : question.records).add(offset);
    });
  }
  return proofs.map((proof) => {
    const question = questions.find((q) => q.proof === proof);
    return question === undefined ? proof : withAnswer(question);
  });
}

/** Undefined where the brokers have nothing of what was read into the table. */
function questionOf(
  proof: PartitionProof,
  table: string,
  history: PartitionHistory,
  found: FoundPartition | undefined,
  retained: RetainedLog,
): Question | undefined {
  const incarnation = history.incarnations[history.incarnations.length - 1];
  if (incarnation === undefined || !isSame(incarnation, retained)) return undefined;
  const read = new OffsetRuns();
  const lost = new OffsetRuns();
  for (const entry of incarnation.entries) {
    // Where not all that was given up is listed, nobody can say what should be there.
    if (entry.table !== table || entry.lostCut) continue;
    read.addRun(Number(entry.from), Number(entry.until));
    lost.addIntervals(entry.lost);
  }
  const log = new OffsetRuns();
  log.addRun(Number(retained.from), Number(retained.until));
  const rows = allRows(found);
  const absent = new OffsetRuns();
  let [from, until] = [Number.POSITIVE_INFINITY, 0];
  let [first, last] = [0, 0];
  forEachStretch([read, log, lost, rows], (a, b, [isRead, isThere, isLost, hasRow]) => {
    if (isRead === 0 || isThere === 0) return;
    from = Math.min(from, a);
    until = b;
    if (isLost > 0 || hasRow > 0) return;
    if (absent.count === 0) first = a;
    last = b;
    absent.addRun(a, b);
  });
  if (until === 0) return undefined;
  const { topic, partition } = proof;
  return {
    proof,
    range: { topic, partition, topicId: retained.topicId, from: BigInt(first), until: BigInt(last) },
    retained: { topicId: retained.topicId, from: BigInt(from), until: BigInt(until) },
    absent,
    asked: absent.count,
    records: new OffsetRuns(),
    tombstones: new OffsetRuns(),
  };
}

function isSame({ topicIds }: Incarnation, { topicId }: RetainedLog): boolean {
  return topicIds.size === 0 || topicId === null || topicIds.has(topicId);
}

/** Rows of older incarnations too: where the rows do not tell, an offset that any of them has is not asked for. */
function allRows(found: FoundPartition | undefined): OffsetRuns {
  const rows = new OffsetRuns();
  for (const byId of found === undefined ? [] : [found.rows, found.quarantined])
    for (const runs of byId.values()) rows.addAll(runs);
  return rows;
}

function withAnswer({ proof, retained, asked, records, tombstones }: Question): PartitionProof {
  const lost = new OffsetRuns();
  lost.addAll(records);
  // A rule may have dropped as many tombstones as the ledger counts, of which retention may have taken some.
  if (tombstones.count > proof.dropped) lost.addAll(tombstones);
  const told = new OffsetRuns();
  told.addIntervals(proof.missing);
  told.addIntervals(proof.candidates);
  const answer: BrokerAnswer = { from: retained.from, until: retained.until, asked, records: [] };
  const missing: Interval[] = [];
  const known = new OffsetRuns();
  known.addIntervals(proof.missing);
  let more = 0;
  forEachStretch([lost, told, known], (from, until, [isLost, isTold, isKnown]) => {
    if (isLost > 0) appendInterval(answer.records, from, until);
    if (isLost > 0 && isTold === 0) more += until - from;
    if (isLost > 0 || isKnown > 0) appendInterval(missing, from, until);
  });
  return { ...proof, lost: proof.lost + BigInt(more), missing, broker: answer };
}

/** Is an offset in a set? Asked in ascending order. */
class Matcher {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  #at = 0;

  constructor(offsets: OffsetRuns) {
    const { starts, ends } = offsets.edges();
    this.#starts = starts;
    this.#ends = ends;
  }

  has(offset: number): boolean {
    while (this.#at < this.#ends.length && this.#ends[this.#at] <= offset) this.#at++;
    return this.#at < this.#starts.length && this.#starts[this.#at] <= offset;
  }
}
