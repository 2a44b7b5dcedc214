import { getOffset, type OffsetMap, setOffset } from '../core/offset-range.ts';
import type { RunEnd } from '../core/trigger.ts';
import { SluiceError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { NO_OFFSET, offsetsByTime, sameTime } from './offsets-by-time.ts';
import type { SourceState } from './source-state.ts';
import { assertNamesAssigned } from './starting-positions.ts';

/** The ends of a bounded run, asked for once. Throws as `endPositions`. */
export async function findEndPositions(
  cluster: KafkaCluster,
  state: SourceState,
  until: RunEnd,
): Promise<OffsetMap> {
  const found =
    until.kind === 'timestamp'
      ? await offsetsByTime(cluster, sameTime(state.partitions, until.timestampMs))
      : null;
  return endPositions(state, until, found);
}

/**
 * The offsets before which a bounded run ends, one for each partition, never above the newest ones. `byTime`: the offsets
 * that were found for the time; a partition without a record at or after it ends at its newest offset, as in Spark.
 * Throws CONFIG_INVALID where a map does not name exactly the partitions that are read, or names an offset that the log
 * does not reach: the run would end before it and look as if it had been there.
 */
export function endPositions(state: SourceState, until: RunEnd, byTime: OffsetMap | null): OffsetMap {
  if (until.kind === 'latest') return state.latest;
  if (until.kind === 'map') assertNamesAssigned('--until', until.offsets, state.partitions);
  const named = until.kind === 'map' ? until.offsets : (byTime ?? new Map());
  const ends: OffsetMap = new Map();
  for (const { topic, partition } of state.partitions) {
    const latest = getOffset(state.latest, topic, partition)!;
    const asked = getOffset(named, topic, partition) ?? NO_OFFSET;
    if (until.kind === 'map' && asked > latest) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `--until: ${topic}-${partition} is to be read up to ${asked}, but can be read up to ${latest} now; give an offset up to that, or -1 for the newest`,
        { context: { topic, partition, latest } },
      );
    }
    setOffset(ends, topic, partition, asked === NO_OFFSET || asked > latest ? latest : asked);
  }
  return ends;
}
