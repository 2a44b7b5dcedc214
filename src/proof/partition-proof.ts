import { SluiceError } from '../errors.ts';
import type { BrokerAnswer } from './broker-log.ts';
import { ExpectedOffsets } from './expected-offsets.ts';
import type { FieldCounts } from './field-counter.ts';
import type { FoundPartition } from './found-rows.ts';
import { compareOffsets, type OffsetDifference } from './offset-difference.ts';
import { type Interval, OffsetRuns } from './offset-runs.ts';
import type { Incarnation, PartitionHistory } from './read-history.ts';

/** What became of the offsets of one partition that went to one table, all incarnations of its topic together. */
export interface PartitionProof extends OffsetDifference {
  topic: string;
  partition: number;
  /** What the checkpoint says was read, per incarnation. */
  ranges: Interval[];
  /** Found in the table, and in its quarantine alone. */
  rows: number;
  quarantined: number;
  /** Of the rows, those that were in the quarantine and have gone back. */
  requeued: number;
  /** Without a row, by the ledger: dropped by rule, control records, aborted, holes of the log, given up as lost. */
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  acceptedLoss: bigint;
  /** Rows that are in the quarantine and should be in the table, or the other way round. */
  misplaced: bigint;
  /** Offsets without a row that the ledger knows by number and checksum only: there were too many to list. */
  unlisted: number;
  /** What the brokers said, where they were asked and still have something of what was read. */
  broker?: BrokerAnswer;
  /** With `countBy`: the rows by what the field holds. */
  counts?: FieldCounts;
}

/** Compares what was read of a partition into `table` with what is there; undefined where nothing was. Throws NOT_VERIFIABLE. */
export function provePartition(
  history: PartitionHistory,
  table: string,
  found: FoundPartition | undefined,
): PartitionProof | undefined {
  const expected = history.incarnations.map((incarnation) => new ExpectedOffsets(incarnation, table));
  if (!expected.some((e) => e.concerned)) return undefined;
  // Of an incarnation that was never read nothing is expected.
  for (const id of strangeIds(history, found)) expected.push(new ExpectedOffsets(nothingOf(id), table));
  const { difference, early, undecided } = compareOffsets(
    expected.map((e) => ({ expected: e, found: foundOf(found, e.topicIds) })),
    foundOf(found, null),
  );
  if (undecided) throw notDecidable(history, table);
  const entries = expected.flatMap((e) => e.entries);
  const sum = (of: (e: (typeof entries)[number]) => number): number => entries.reduce((n, e) => n + of(e), 0);
  const rows = countOf(found?.rows);
  const requeued = found?.requeued ?? 0;
  const countsTell = early === 0 && !expected.some((e) => e.overlaps);
  const sound = difference.lost + difference.duplicated + difference.unexpected === 0n;
  return {
    topic: history.topic,
    partition: history.partition,
    ranges: expected.flatMap((e) => e.ranges()),
    rows,
    quarantined: countOf(found?.quarantined),
    requeued,
    dropped: sum((e) => e.dropped),
    control: sum((e) => e.control),
    aborted: sum((e) => e.aborted),
    holes: sum((e) => e.holes),
    acceptedLoss: expected.reduce((n, e) => n + e.acceptedLoss, 0n),
    ...difference,
    misplaced: countsTell && sound ? BigInt(Math.abs(rows - requeued - sum((e) => e.rows))) : 0n,
    unlisted: expected.reduce((n, e) => n + e.unlisted, 0),
    ...(found?.counter === undefined ? {} : { counts: found.counter.counts() }),
  };
}

function notDecidable({ topic, partition }: PartitionHistory, table: string): SluiceError {
  return new SluiceError(
    'NOT_VERIFIABLE',
    `${topic}-${partition}: a batch is not finished whose offsets repeat those of an earlier incarnation of the topic, and not all gaps of that one are listed; run the pipeline, then verify table ${table} again`,
    { context: { table, topic, partition } },
  );
}

/** Topic ids that rows bear and that the checkpoint never read. */
function strangeIds(history: PartitionHistory, found: FoundPartition | undefined): string[] {
  const ids = new Set([...(found?.rows.keys() ?? []), ...(found?.quarantined.keys() ?? [])]);
  for (const { topicIds } of history.incarnations) for (const id of topicIds) ids.delete(id);
  return [...ids].filter((id) => id !== null);
}

function nothingOf(topicId: string): Incarnation {
  return { topicIds: new Set([topicId]), entries: [], holes: [], inFlight: [] };
}

/** The rows and quarantined records of an incarnation; of those that do not tell where `topicIds` is null. */
function foundOf(found: FoundPartition | undefined, topicIds: ReadonlySet<string> | null): OffsetRuns {
  const all = new OffsetRuns();
  for (const byId of found === undefined ? [] : [found.rows, found.quarantined]) {
    for (const [id, runs] of byId)
      if (topicIds === null ? id === null : id !== null && topicIds.has(id)) all.addAll(runs);
  }
  return all;
}

function countOf(byId: ReadonlyMap<string | null, OffsetRuns> | undefined): number {
  let rows = 0;
  for (const runs of byId?.values() ?? []) rows += runs.count;
  return rows;
}
