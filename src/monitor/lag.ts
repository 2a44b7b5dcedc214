import type { OffsetMap } from '../core/offset-range.ts';

/** What the broker says of one partition. */
export interface PartitionEnds {
  /** The next offset that a consumer of our isolation level would get: high watermark or last stable offset. */
  latest: bigint;
  /** The first offset that is still there; left out where it was not asked for. */
  logStart?: bigint;
  /** High watermark, where `latest` is the last stable offset. */
  highWatermark?: bigint;
}

/** topic -> partition -> ends. */
export type LatestOffsets = Map<string, Map<number, PartitionEnds>>;

export interface Lag {
  /** Offsets that can still be read: never negative. */
  lag: bigint;
  /** Offsets before the log's start that were never read: they cannot be read any more, and are no lag. */
  lost: bigint;
  /** The log ends before our position: it was cut, or the topic is another one. */
  rewound: boolean;
}

/**
 * The lag of one position (the next offset to read). Ends and positions are read at different times, so an end below
 * the position is a lag of 0, and what retention took is told apart as lost (case C31). Only an end of the *whole* log
 * (high watermark) below the position is a rewind: under read_committed an open transaction holds `latest` back.
 */
export function partitionLag(position: bigint, ends: PartitionEnds): Lag {
  const logStart = ends.logStart ?? 0n;
  const lost = ends.logStart !== undefined && logStart > position ? logStart - position : 0n;
  const from = lost > 0n ? logStart : position;
  const end =
    ends.highWatermark !== undefined && ends.highWatermark > ends.latest ? ends.highWatermark : ends.latest;
  return { lag: ends.latest > from ? ends.latest - from : 0n, lost, rewound: end < position };
}

export interface BehindLatest {
  minOffsetsBehindLatest: string;
  maxOffsetsBehindLatest: string;
  avgOffsetsBehindLatest: string;
}

/** Spark's source metrics: by how much the ends of a batch are behind the newest offsets; texts, as there. Undefined without partitions. */
export function behindLatest(ends: readonly { until: bigint; latest: bigint }[]): BehindLatest | undefined {
  if (ends.length === 0) return undefined;
  let min: bigint | undefined;
  let max = 0n;
  let sum = 0n;
  for (const { until, latest } of ends) {
    const behind = latest > until ? latest - until : 0n;
    if (min === undefined || behind < min) min = behind;
    if (behind > max) max = behind;
    sum += behind;
  }
  const average = Number(sum) / ends.length;
  return {
    minOffsetsBehindLatest: String(min),
    maxOffsetsBehindLatest: String(max),
    // As Java prints a double: always with a point.
    avgOffsetsBehindLatest: Number.isInteger(average) ? average.toFixed(1) : String(average),
  };
}

/** Sum of the lags of all partitions of `latest`; a partition that has no position counts from its log's start. */
export function totalLag(positions: OffsetMap, latest: LatestOffsets): bigint {
  let total = 0n;
  for (const [topic, partitions] of latest) {
    for (const [partition, ends] of partitions) {
      total += partitionLag(positions.get(topic)?.get(partition) ?? ends.logStart ?? 0n, ends).lag;
    }
  }
  return total;
}
