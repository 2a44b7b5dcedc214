import type { PipelineConfig } from '../config/pipeline-config.ts';
import { formatDuration } from '../core/duration.ts';
import { getOffset } from '../core/offset-range.ts';
import { kafkaClient } from '../engine/kafka-client.ts';
import { observeSource, type SourceState } from '../engine/source-state.ts';
import { KafkaCluster } from '../kafka/cluster.ts';
import type { LatestOffsets } from '../monitor/lag.ts';

/**
 * Asks the brokers what is there for a pipeline to read; `knownTopics` are those that it has read. A person waits for it,
 * so the deadline is short.
 */
export function askBrokers(
  config: PipelineConfig,
  deadlineMs: number,
  knownTopics: Iterable<string> = [],
): Promise<SourceState> {
  return withBrokers(config, deadlineMs, (cluster) => observeSource(cluster, config.source, knownTopics));
}

/** Runs `ask` with a client of the pipeline's cluster, and closes it. */
export async function withBrokers<T>(
  config: PipelineConfig,
  deadlineMs: number,
  ask: (cluster: KafkaCluster) => Promise<T>,
): Promise<T> {
  const cluster = await connectBrokers(config, deadlineMs);
  try {
    return await ask(cluster);
  } finally {
    await cluster.close();
  }
}

/** A client of the pipeline's cluster, to be closed. What it runs into is called by its name: `--timeout` or the pipeline's own. */
export function connectBrokers(
  config: PipelineConfig,
  deadlineMs: number,
  { signal }: { signal?: AbortSignal } = {},
): Promise<KafkaCluster> {
  const own = config.source.requestDeadlineMs;
  return KafkaCluster.connect({
    ...kafkaClient(config),
    requestDeadlineMs: Math.min(deadlineMs, own),
    ...(deadlineMs < own ? { deadlineName: `--timeout ${formatDuration(deadlineMs)}` } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The ends of the partitions in the form that the status takes. */
export function latestOffsets(state: SourceState): LatestOffsets {
  const latest: LatestOffsets = new Map();
  for (const { topic, partition } of state.partitions) {
    const partitions = latest.get(topic) ?? new Map();
    latest.set(topic, partitions);
    partitions.set(partition, {
      latest: getOffset(state.latest, topic, partition)!,
      logStart: getOffset(state.earliest, topic, partition),
      highWatermark: getOffset(state.highWatermark, topic, partition),
    });
  }
  return latest;
}
