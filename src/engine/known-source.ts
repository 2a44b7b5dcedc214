import type { TopicIncarnation } from '../checkpoint/records.ts';
import type { OffsetMap } from '../core/offset-range.ts';

/** What the checkpoint knows of the log that it came from. */
export interface KnownSource {
  clusterId: string | null;
  topics: TopicIncarnation[];
  /** The next offset to read of every partition. */
  positions: OffsetMap;
}

/** The incarnations of topics by their ids, in order of their names. */
export function incarnations(topicIds: ReadonlyMap<string, string | null>): TopicIncarnation[] {
  return [...topicIds].map(([topic, topicId]) => ({ topic, topicId })).sort(byTopic);
}

/** Those of `now` in the place of what was known; topics that are no longer read stay. */
export function mergeIncarnations(
  known: readonly TopicIncarnation[],
  now: readonly TopicIncarnation[],
): TopicIncarnation[] {
  const merged = new Map([...known, ...now].map((t) => [t.topic, t]));
  return [...merged.values()].sort(byTopic);
}

function byTopic(a: TopicIncarnation, b: TopicIncarnation): number {
  return a.topic < b.topic ? -1 : 1;
}
