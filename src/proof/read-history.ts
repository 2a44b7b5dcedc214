import type { LedgerEntry } from '../checkpoint/records.ts';
import { getOffset, type OffsetMap, type OffsetRange, offsetEntries } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { forEachStretch, type Interval, OffsetRuns } from './offset-runs.ts';

/** A stretch that lies between what was read, before it or after it, and that no record of a batch covers. */
export interface Hole extends Interval {
  /** The tables that the neighbours went to; empty where there is none. */
  tables: string[];
}

/** What was read of one incarnation of one partition, into whatever tables. */
export interface Incarnation {
  /** Topic ids; none where no broker ever named one. */
  topicIds: Set<string>;
  /** In the order in which they were begun. */
  entries: LedgerEntry[];
  holes: Hole[];
  /** What a batch that is not finished reads, and may have brought already. */
  inFlight: Interval[];
}

/** All that was read of one partition, its incarnations in the order of time. */
export interface PartitionHistory {
  topic: string;
  partition: number;
  incarnations: Incarnation[];
}

export interface ReadHistoryInput {
  entries: readonly LedgerEntry[];
  /** Where the query began, and the next offsets to read after the last finished batch; null where nobody knows. */
  began: OffsetMap | null;
  position: OffsetMap | null;
  inFlight: readonly (OffsetRange & { topicId: string | null })[];
}

/**
 * Puts together what the ledger says of each partition, and finds what it does not say: from where the query began (or
 * the partition's first range) to the position of the last finished batch, each offset must be in a range that was read
 * or given up. Nothing is required between two incarnations of a topic.
 */
export function readHistory(input: ReadHistoryInput): Map<string, PartitionHistory> {
  const partitions = new Map<string, PartitionHistory>();
  const of = (topic: string, partition: number): PartitionHistory => {
    const key = topicPartitionKey(topic, partition);
    let history = partitions.get(key);
    if (history === undefined) {
      history = { topic, partition, incarnations: [] };
      partitions.set(key, history);
    }
    return history;
  };
  const inOrder = [...input.entries].sort(
    (a, b) => a.firstBatch - b.firstBatch || (a.from < b.from ? -1 : a.from > b.from ? 1 : 0),
  );
  for (const entry of inOrder)
    incarnationOf(of(entry.topic, entry.partition), entry.topicId).entries.push(entry);
  for (const { topic, partition } of offsetEntries(input.position ?? new Map())) of(topic, partition);
  for (const history of partitions.values()) findHoles(history, input);
  for (const { topic, partition, topicId, from, until } of input.inFlight)
    incarnationOf(of(topic, partition), topicId).inFlight.push({ from, until });
  return partitions;
}

/** A broker that names no topic id may be upgraded to one that does: null is the incarnation that it stands beside. */
function incarnationOf(history: PartitionHistory, topicId: string | null): Incarnation {
  const { incarnations } = history;
  const newest = incarnations[incarnations.length - 1];
  if (newest !== undefined && (topicId === null || newest.topicIds.size === 0)) {
    if (topicId !== null) newest.topicIds.add(topicId);
    return newest;
  }
  const known = incarnations.find((i) => topicId !== null && i.topicIds.has(topicId));
  if (known !== undefined) return known;
  const made: Incarnation = {
    topicIds: new Set(topicId === null ? [] : [topicId]),
    entries: [],
    holes: [],
    inFlight: [],
  };
  incarnations.push(made);
  return made;
}

function findHoles(history: PartitionHistory, { began, position }: ReadHistoryInput): void {
  const { topic, partition } = history;
  const first = began === null ? undefined : getOffset(began, topic, partition);
  const last = position === null ? undefined : getOffset(position, topic, partition);
  if (history.incarnations.length === 0) {
    if (first === undefined || last === undefined || last <= first) return;
    incarnationOf(history, null).holes.push({ from: first, until: last, tables: [] });
    return;
  }
  history.incarnations.forEach((incarnation, i) => {
    const read = new OffsetRuns();
    const ends: number[] = [];
    for (const { from, until } of incarnation.entries) {
      read.addRun(Number(from), Number(until));
      ends.push(Number(from), Number(until));
    }
    // A reset may have begun it elsewhere, in another log than the one that the query began in.
    if (i === 0 && first !== undefined && incarnation.entries[0]?.byReset === undefined)
      ends.push(Number(first));
    if (i === history.incarnations.length - 1 && last !== undefined) ends.push(Number(last));
    const whole = new OffsetRuns();
    whole.addRun(Math.min(...ends), Math.max(...ends));
    forEachStretch([whole, read], (from, until, [, times]) => {
      if (times === 0) incarnation.holes.push(holeAt(incarnation, BigInt(from), BigInt(until)));
    });
  });
}

function holeAt(incarnation: Incarnation, from: bigint, until: bigint): Hole {
  const beside = incarnation.entries.filter((e) => e.until === from || e.from === until);
  return { from, until, tables: [...new Set(beside.map((e) => e.table))].filter((table) => table !== '') };
}
