import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { getOffset } from '../../core/offset-range.ts';
import { observeSource, type SourceState } from '../../engine/source-state.ts';
import { namesOf } from '../../engine/topic-selection.ts';
import { isSluiceError, SluiceError } from '../../errors.ts';
import type { KafkaCluster } from '../../kafka/cluster.ts';
import { probeRead } from '../../kafka/read-probe.ts';
import { counted } from '../../monitor/progress-line.ts';
import { connectBrokers } from '../source-view.ts';
import { CheckResults, type Deadline } from './check-result.ts';

/** Topics that are asked for one by one, and read from, at once. */
const AT_ONCE = 8;

export interface SourceFound {
  results: CheckResults;
  /** Undefined where not all of it was found. */
  state: SourceState | undefined;
}

/** The brokers, the topics of the pipeline, and whether this client may read them. */
export async function checkSource(config: PipelineConfig, deadline: Deadline): Promise<SourceFound> {
  const results = new CheckResults();
  const servers = config.source.bootstrapServers;
  const cluster = await results.try(
    'brokers',
    () => deadline.within('BROKER_UNREACHABLE', servers, () => connectBrokers(config, deadline.ms, deadline)),
    ({ clusterId }) => `cluster ${clusterId ?? 'without an id'} at ${servers}`,
  );
  if (cluster === undefined) {
    results.skipped('topics', 'the brokers were not reached');
    results.skipped('reading', 'the brokers were not reached');
    return { results, state: undefined };
  }
  try {
    const state = await checkTopics(config, cluster, deadline, results);
    if (state === undefined) results.skipped('reading', 'not all topics were found');
    else await checkReading(cluster, state, deadline, results);
    return { results, state };
  } finally {
    await cluster.close();
  }
}

async function checkTopics(
  config: PipelineConfig,
  cluster: KafkaCluster,
  deadline: Deadline,
  results: CheckResults,
): Promise<SourceState | undefined> {
  const within = <T>(work: () => Promise<T>): Promise<T> =>
    deadline.within('BROKER_ERROR', config.source.bootstrapServers, work);
  try {
    const state = await within(() => observeSource(cluster, config.source));
    results.ok(
      'topics',
      `${counted(state.topicIds.size, 'topic')}, ${counted(state.partitions.length, 'partition')}`,
    );
    return state;
  } catch (error) {
    const { selection } = config.source;
    const names =
      selection.kind === 'subscribe'
        ? selection.topics
        : selection.kind === 'assign'
          ? [...selection.partitions.keys()]
          : [];
    // One topic that fails hides the others: each is asked for by itself.
    const each =
      names.length < 2 || deadline.passed
        ? []
        : await eachFault(names, (topic) => within(() => checkTopic(cluster, topic)));
    if (each.length === 0) results.failed('topics', error);
    for (const [topic, fault] of each) results.failed(`topic ${topic}`, fault);
    return undefined;
  }
}

async function checkTopic(cluster: KafkaCluster, topic: string): Promise<void> {
  const { missing } = await cluster.metadata([topic]);
  if (missing.length > 0)
    throw new SluiceError('TOPIC_NOT_FOUND', `topic ${topic} does not exist`, { context: { topic } });
}

/** A partition of each topic is read from, at its end: that takes the right to read. */
async function checkReading(
  cluster: KafkaCluster,
  state: SourceState,
  deadline: Deadline,
  results: CheckResults,
): Promise<void> {
  const firsts = new Map(state.partitions.map((p) => [p.topic, p.partition]));
  const faults = await eachFault([...firsts.keys()], (topic) => {
    const partition = firsts.get(topic)!;
    const offset = getOffset(state.latest, topic, partition)!;
    const topicId = state.topicIds.get(topic) ?? null;
    return deadline.within('BROKER_ERROR', `a read of ${topic}-${partition}`, () =>
      probeRead(cluster, { topic, topicId, partition, offset }),
    );
  });
  for (const [topic, fault] of faults) results.failed(`reading ${topic}`, fault);
  if (faults.length === 0) results.ok('reading', `${namesOf([...firsts.keys()])} may be read`);
}

async function eachFault(
  topics: readonly string[],
  check: (topic: string) => Promise<void>,
): Promise<[string, SluiceError][]> {
  const faults: [string, SluiceError][] = [];
  for (let from = 0; from < topics.length; from += AT_ONCE) {
    await Promise.all(
      topics.slice(from, from + AT_ONCE).map((topic) =>
        check(topic).catch((error: unknown) => {
          if (!isSluiceError(error)) throw error;
          faults.push([topic, error]);
        }),
      ),
    );
  }
  return faults.sort(([a], [b]) => (a < b ? -1 : 1));
}
