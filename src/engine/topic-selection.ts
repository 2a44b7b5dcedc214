import type { SourceConfig } from '../config/pipeline-config.ts';
import { compileTopicRegex, type TopicRegex } from '../core/topic-regex.ts';
import { SluiceError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { ClusterMetadata, TopicMetadata } from '../kafka/cluster-view.ts';

/** The topics that a source reads now, as the brokers have them. */
export interface SelectedTopics {
  clusterId: string | null;
  topics: readonly TopicMetadata[];
  /** Topics that were read before, that the pattern still takes, and that are no more. */
  missing: string[];
  /** Topics that `subscribePattern` matches only in part: they are not read. */
  matchedInPart: string[];
}

/**
 * Finds the topics of `subscribe`, `subscribePattern` or `assign`. `known` names topics that were read before: a pattern
 * asks for them by name, so that one that is gone or forbidden is not taken for one that never was. Throws TOPIC_NOT_FOUND
 * for a topic that is subscribed or assigned and does not exist, and for a pattern that no topic matches.
 */
export async function selectTopics(
  cluster: KafkaCluster,
  source: SourceConfig,
  known: Iterable<string>,
): Promise<SelectedTopics> {
  const { selection } = source;
  if (selection.kind === 'subscribePattern') {
    return selectByPattern(cluster, source, compileTopicRegex(selection.pattern), known);
  }
  const names = selection.kind === 'subscribe' ? selection.topics : [...selection.partitions.keys()];
  const metadata = await cluster.metadata(names);
  if (metadata.missing.length > 0) {
    throw new SluiceError(
      'TOPIC_NOT_FOUND',
      `topic ${metadata.missing.join(', ')} does not exist on ${source.bootstrapServers}`,
      { context: { topics: metadata.missing } },
    );
  }
  return { ...metadata, missing: [], matchedInPart: [] };
}

async function selectByPattern(
  cluster: KafkaCluster,
  source: SourceConfig,
  pattern: TopicRegex,
  known: Iterable<string>,
): Promise<SelectedTopics> {
  const all = await cluster.metadata(null);
  const matched = matchingTopics(all.topics, pattern);
  const readBefore = [...known].filter((topic) => pattern.matches(topic));
  const names = [...new Set([...matched.whole, ...readBefore])];
  if (names.length === 0) throw noTopic(source, pattern, matched.inPart);
  // By name: then each partition has a leader, or the broker says why not.
  const metadata: ClusterMetadata = await cluster.metadata(names);
  const missing = metadata.missing.filter((topic) => readBefore.includes(topic));
  if (metadata.topics.length === 0 && missing.length === 0) throw noTopic(source, pattern, matched.inPart);
  return { ...metadata, missing, matchedInPart: matched.inPart };
}

/** Kafka's internal topics are taken only where the pattern is their very name. */
function matchingTopics(
  topics: readonly TopicMetadata[],
  pattern: TopicRegex,
): { whole: string[]; inPart: string[] } {
  const whole: string[] = [];
  const inPart: string[] = [];
  for (const { topic, internal } of topics) {
    if (internal && pattern.source !== topic) continue;
    if (pattern.matches(topic)) whole.push(topic);
    else if (pattern.matchesPart(topic)) inPart.push(topic);
  }
  return { whole: whole.sort(), inPart: inPart.sort() };
}

function noTopic(source: SourceConfig, pattern: TopicRegex, inPart: readonly string[]): SluiceError {
  const hint =
    inPart.length === 0
      ? ''
      : `; it matches only a part of ${namesOf(inPart)}, and a name has to match as a whole: .*${pattern.source}.* would take ${inPart.length === 1 ? 'it' : 'them'}`;
  return new SluiceError(
    'TOPIC_NOT_FOUND',
    `no topic on ${source.bootstrapServers} matches subscribePattern ${JSON.stringify(pattern.source)}${hint}`,
    { context: { pattern: pattern.source } },
  );
}

/** The first few names, and how many more. */
export function namesOf(topics: readonly string[]): string {
  const shown = topics.slice(0, 5).join(', ');
  return topics.length > 5 ? `${shown} and ${topics.length - 5} more` : shown;
}
