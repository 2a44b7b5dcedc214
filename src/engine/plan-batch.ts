import type { LostRange } from '../checkpoint/records.ts';
import type { SourceConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, type OffsetRange, setOffset } from '../core/offset-range.ts';
import { limitOffsets } from '../core/rate-limit.ts';
import { SluiceError } from '../errors.ts';
import type { SourceState } from './source-state.ts';

/** The ranges of the next batch, one per assigned partition (empty ones too), in order of topic and partition. */
export interface PlannedRanges {
  ranges: OffsetRange[];
  /** The newest offset of each range's partition. */
  latest: bigint[];
  totalOffsets: bigint;
}

/**
 * The positions of a query that begins: `startingOffsets`, with -2 (earliest) and -1 (latest) resolved. Throws
 * CONFIG_INVALID where a per-partition map does not name exactly the assigned partitions (as Spark), or names an
 * offset outside the log.
 */
export function startingPositions(source: SourceConfig, state: SourceState): OffsetMap {
  const start = source.startingOffsets;
  const positions: OffsetMap = new Map();
  if (start.kind === 'map') assertNamesAssigned(start.offsets, state);
  for (const { topic, partition } of state.partitions) {
    const earliest = getOffset(state.earliest, topic, partition)!;
    const latest = getOffset(state.latest, topic, partition)!;
    const asked =
      start.kind === 'map'
        ? getOffset(start.offsets, topic, partition)!
        : start.kind === 'earliest'
          ? -2n
          : -1n;
    const offset = asked === -2n ? earliest : asked === -1n ? latest : asked;
    if (offset < earliest || offset > getOffset(state.highWatermark, topic, partition)!) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `startingOffsets: ${topic}-${partition} is to start at ${offset}, but the log holds [${earliest}, ${latest}); give an offset in it, -2 for earliest or -1 for latest`,
        { context: { topic, partition } },
      );
    }
    setOffset(positions, topic, partition, offset);
  }
  return positions;
}

function assertNamesAssigned(offsets: OffsetMap, state: SourceState): void {
  const assigned = new Set(state.partitions.map((p) => `${p.topic}-${p.partition}`));
  const named = new Set(
    [...offsets].flatMap(([topic, partitions]) => [...partitions.keys()].map((p) => `${topic}-${p}`)),
  );
  const lacking = [...assigned].filter((p) => !named.has(p));
  const unknown = [...named].filter((p) => !assigned.has(p));
  if (lacking.length === 0 && unknown.length === 0) return;
  const parts = [
    lacking.length > 0 ? `lacks ${lacking.join(', ')}` : '',
    unknown.length > 0
      ? `names ${unknown.join(', ')}, which ${unknown.length === 1 ? 'is' : 'are'} not assigned`
      : '',
  ].filter((part) => part !== '');
  throw new SluiceError(
    'CONFIG_INVALID',
    `startingOffsets: a map must name exactly the assigned partitions; it ${parts.join(' and ')}`,
  );
}

/** Partitions that the positions do not hold begin at their earliest offset, never at the latest (spec 20, case C14). */
export function addNewPartitions(
  positions: OffsetMap,
  state: SourceState,
): { topic: string; partition: number }[] {
  const added = state.partitions.filter(
    ({ topic, partition }) => getOffset(positions, topic, partition) === undefined,
  );
  for (const { topic, partition } of added)
    setOffset(positions, topic, partition, getOffset(state.earliest, topic, partition)!);
  return added;
}

/**
 * Plans [position, end) for every partition: up to the latest offsets, or to the frozen ends where those are lower
 * (availableNow), and no more than `limit` offsets in all where one is given. Above the last stable offset nothing is
 * planned, which is no loss.
 */
export function planRanges(
  positions: OffsetMap,
  state: SourceState,
  limit: bigint | null,
  frozen: OffsetMap | null,
): PlannedRanges {
  const begin: OffsetMap = new Map();
  const until: OffsetMap = new Map();
  for (const { topic, partition } of state.partitions) {
    const from = getOffset(positions, topic, partition)!;
    const latest = getOffset(state.latest, topic, partition)!;
    const cap = frozen === null ? latest : minimum(latest, getOffset(frozen, topic, partition) ?? from);
    setOffset(begin, topic, partition, from);
    setOffset(until, topic, partition, cap > from ? cap : from);
  }
  const ends = limit === null ? until : limitOffsets(begin, until, limit);
  const ranges = state.partitions.map(({ topic, partition }) => ({
    topic,
    partition,
    from: getOffset(begin, topic, partition)!,
    until: getOffset(ends, topic, partition)!,
  }));
  return {
    ranges,
    latest: state.partitions.map(({ topic, partition }) => getOffset(state.latest, topic, partition)!),
    totalOffsets: ranges.reduce((sum, r) => sum + (r.until - r.from), 0n),
  };
}

/** The next offsets to read after the ranges; partitions that are not among them keep their positions. */
export function positionsAfter(positions: OffsetMap, ranges: readonly OffsetRange[]): OffsetMap {
  const after: OffsetMap = new Map([...positions].map(([topic, partitions]) => [topic, new Map(partitions)]));
  for (const { topic, partition, until } of ranges) setOffset(after, topic, partition, until);
  return after;
}

/** Do the lost ranges leave anything to say? */
export function describeLost(lost: readonly LostRange[]): string {
  return lost.map((l) => `${l.topic}-${l.partition} [${l.from}, ${l.until})`).join(', ');
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
