import { addSums } from '../core/gap-sum.ts';
import type { OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import type { RangeResult } from './local/batch-task.ts';
import { uniteGaps } from './local/gaps.ts';

/**
 * What the workers read, put together per planned range, in the plan's order; empty ranges get an empty funnel. Throws
 * FUNNEL_MISMATCH where the pieces do not cover a planned range exactly. `tableOf` names the data table, or the group, of a topic.
 */
export function mergeRangeResults(
  planned: readonly OffsetRange[],
  results: readonly RangeResult[],
  batchId: number,
  tableOf: (topic: string) => string,
): RangeResult[] {
  const pieces = new Map<string, RangeResult[]>();
  for (const result of results) {
    const key = topicPartitionKey(result.topic, result.partition);
    pieces.set(key, [...(pieces.get(key) ?? []), result]);
  }
  return planned.map((range) => {
    const mine = (pieces.get(topicPartitionKey(range.topic, range.partition)) ?? []).sort((a, b) =>
      a.from < b.from ? -1 : 1,
    );
    const merged = emptyFunnel(range, tableOf(range.topic));
    let at = range.from;
    for (const piece of mine) {
      if (piece.from !== at) break;
      addPiece(merged, piece);
      at = piece.until;
    }
    if (at !== range.until) {
      throw new SluiceError(
        'FUNNEL_MISMATCH',
        `batch ${batchId}, ${range.topic}-${range.partition}: planned [${range.from}, ${range.until}), read up to ${at}; nothing was committed`,
      );
    }
    return merged;
  });
}

function emptyFunnel(range: OffsetRange, table: string): RangeResult {
  return {
    topic: range.topic,
    partition: range.partition,
    table,
    from: range.from,
    until: range.until,
    rows: 0,
    quarantined: 0,
    dropped: 0,
    control: 0,
    aborted: 0,
    holes: 0,
    bytes: 0,
    leaderEpoch: -1,
    leaderEpochEnd: 0n,
    gaps: [],
    gapsCut: false,
    gapSum: 0,
    maxTimestampMs: null,
  };
}

function addPiece(into: RangeResult, piece: RangeResult): void {
  into.rows += piece.rows;
  into.quarantined += piece.quarantined;
  into.dropped += piece.dropped;
  into.control += piece.control;
  into.aborted += piece.aborted;
  into.holes += piece.holes;
  into.bytes += piece.bytes;
  if (piece.leaderEpoch >= 0) {
    into.leaderEpoch = piece.leaderEpoch;
    into.leaderEpochEnd = piece.leaderEpochEnd;
  }
  if (piece.maxTimestampMs !== null)
    into.maxTimestampMs = Math.max(into.maxTimestampMs ?? piece.maxTimestampMs, piece.maxTimestampMs);
  if (piece.routed !== undefined) into.routed = addRouted(into.routed ?? [], piece.routed);
  into.gapSum = addSums(into.gapSum, piece.gapSum);
  Object.assign(into, uniteGaps(into.gaps, piece.gaps, into.gapsCut || piece.gapsCut));
}

type Routed = NonNullable<RangeResult['routed']>;

function addRouted(a: Routed, b: Routed): Routed {
  const byTable = new Map(a.map((t) => [t.table, { ...t }]));
  for (const t of b) {
    const sum = byTable.get(t.table) ?? { table: t.table, rows: 0, quarantined: 0 };
    byTable.set(t.table, { ...sum, rows: sum.rows + t.rows, quarantined: sum.quarantined + t.quarantined });
  }
  return [...byTable.values()].sort((x, y) => (x.table < y.table ? -1 : 1));
}
