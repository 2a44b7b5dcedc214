import type { OffsetMap } from '../../src/core/offset-range.ts';
import type { SourceState } from '../../src/engine/source-state.ts';

/** topic -> offsets by partition number. */
export function offsets(spec: Record<string, (number | bigint)[]>): OffsetMap {
  return new Map(
    Object.entries(spec).map(([topic, list]) => [topic, new Map(list.map((o, p) => [p, BigInt(o)]))]),
  );
}

/** What brokers would say of these logs; the high watermark is the latest offset unless it is given. */
export function stateOf(
  earliest: Record<string, number[]>,
  latest: Record<string, number[]>,
  highWatermark = latest,
): SourceState {
  return {
    clusterId: 'cluster-1',
    topicIds: new Map(Object.keys(latest).map((t) => [t, `id-${t}`])),
    partitions: Object.entries(latest).flatMap(([topic, list]) =>
      list.map((_, partition) => ({ topic, partition })),
    ),
    partitionCounts: new Map(Object.entries(latest).map(([topic, list]) => [topic, list.length])),
    earliest: offsets(earliest),
    latest: offsets(latest),
    highWatermark: offsets(highWatermark),
    leaderEpochs: new Map(),
    missing: [],
    matchedInPart: [],
  };
}
