import type { SourceConfig } from '../config/pipeline-config.ts';
import { getOffset, type OffsetMap, offsetEntries, setOffset } from '../core/offset-range.ts';
import type { TopicPartition } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { NO_OFFSET, offsetsByTime, sameTime } from './offsets-by-time.ts';
import type { SourceState } from './source-state.ts';

/**
 * The positions of a query that begins, by startingTimestamp, startingOffsetsByTimestamp or startingOffsets; the brokers
 * are asked where it is a matter of time. Throws as `startingPositions`.
 */
export async function findStartingPositions(
  cluster: KafkaCluster,
  source: SourceConfig,
  state: SourceState,
): Promise<OffsetMap> {
  const times = startingTimes(source, state);
  return startingPositions(source, state, times === null ? null : await offsetsByTime(cluster, times));
}

/** The time to ask for of each partition, or null. Throws CONFIG_INVALID where a map does not name exactly what is read. */
export function startingTimes(source: SourceConfig, state: SourceState): OffsetMap | null {
  const start = source.startingOffsets;
  if (start.kind === 'timestamp') return sameTime(state.partitions, start.timestampMs);
  if (start.kind !== 'timestamps') return null;
  assertNamesAssigned('startingOffsetsByTimestamp', start.timestampsMs, state.partitions);
  return start.timestampsMs;
}

/**
 * The positions of a query that begins, with -2 (earliest) and -1 (latest) resolved. `byTime`: the offsets that were
 * found for the times. Throws CONFIG_INVALID where a per-partition map does not name exactly the assigned partitions (as
 * Spark), where one names an offset outside the log, and where a partition has no record at or after its time and the
 * strategy is `error`.
 */
export function startingPositions(
  source: SourceConfig,
  state: SourceState,
  byTime: OffsetMap | null = null,
): OffsetMap {
  const start = source.startingOffsets;
  if (start.kind === 'timestamp' || start.kind === 'timestamps')
    return positionsByTime(start.noMatch, state, startingTimes(source, state)!, byTime ?? new Map());
  const positions: OffsetMap = new Map();
  if (start.kind === 'map') assertNamesAssigned('startingOffsets', start.offsets, state.partitions);
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

/** What was found by time may be above the ends, which were asked for before: then the next plan reaches it. */
function positionsByTime(
  noMatch: 'error' | 'latest',
  state: SourceState,
  times: OffsetMap,
  found: OffsetMap,
): OffsetMap {
  const positions: OffsetMap = new Map();
  const without: TopicPartition[] = [];
  for (const { topic, partition } of state.partitions) {
    const offset = getOffset(found, topic, partition) ?? NO_OFFSET;
    if (offset === NO_OFFSET) without.push({ topic, partition });
    const at = offset === NO_OFFSET ? getOffset(state.latest, topic, partition)! : offset;
    setOffset(positions, topic, partition, at);
  }
  if (without.length > 0 && noMatch === 'error') throw noRecord(without, times);
  return positions;
}

function noRecord(without: readonly TopicPartition[], times: OffsetMap): SluiceError {
  const listed = without.slice(0, 5).map(({ topic, partition }) => {
    const timeMs = Number(getOffset(times, topic, partition)!);
    return `${topic}-${partition} (${new Date(timeMs).toISOString()})`;
  });
  const more = without.length > 5 ? ` and ${without.length - 5} more` : '';
  return new SluiceError(
    'CONFIG_INVALID',
    `there is no record at or after the starting time of ${listed.join(', ')}${more}; give an earlier time, or startingOffsetsByTimestampStrategy: latest to begin such a partition at its end`,
    { context: { partitions: without.map(({ topic, partition }) => `${topic}-${partition}`) } },
  );
}

/** Throws CONFIG_INVALID where a map of the option names other partitions than those that are read. */
export function assertNamesAssigned(
  option: string,
  offsets: OffsetMap,
  partitions: readonly TopicPartition[],
): void {
  const assigned = new Set(partitions.map((p) => `${p.topic}-${p.partition}`));
  const named = new Set([...offsetEntries(offsets)].map((p) => `${p.topic}-${p.partition}`));
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
    `${option}: a map must name exactly the assigned partitions; it ${parts.join(' and ')}`,
  );
}
