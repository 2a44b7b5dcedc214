import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { getOffset } from '../../core/offset-range.ts';
import { kafkaClient } from '../../engine/kafka-client.ts';
import type { SourceState } from '../../engine/source-state.ts';
import { readRanges } from '../../kafka/range-reader.ts';
import { askBrokers } from '../source-view.ts';
import { sampleRanges } from './sample-ranges.ts';

/** Receives records; false: no more are wanted. The bytes are valid until it returns. */
export type TakeRecord = (key: Uint8Array | null, value: Uint8Array | null) => boolean;

export interface SampleOptions {
  records: number;
  /** Bytes of keys and values together after which no more records are read. */
  maxBytes: number;
  timeoutMs: number;
}

export interface SampledTopic {
  partitions: number;
  /** Records that lie in the topic, as far as offsets tell. */
  offsets: bigint;
  /** True where the sample ended before it was whole: too many bytes, or too little time. */
  cut: boolean;
}

const READ_BUDGET_BYTES = 256 * 1024 * 1024;
const ENOUGH = Symbol('enough');

/**
 * Reads up to so many records from the ends of all partitions of a pipeline's topic. Nothing is committed anywhere.
 * Throws TOPIC_NOT_FOUND, BROKER_UNREACHABLE, KAFKA_AUTH and what else the reader throws.
 */
export async function sampleTopic(
  config: PipelineConfig,
  { records, maxBytes, timeoutMs }: SampleOptions,
  take: TakeRecord,
): Promise<SampledTopic> {
  const state = await askBrokers(config, timeoutMs);
  const extents = extentsOf(state);
  const ranges = sampleRanges(extents, records).map((range) => ({
    ...range,
    topicId: state.topicIds.get(range.topic) ?? null,
  }));
  const offsets = extents.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0n);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(ENOUGH), timeoutMs);
  let bytesLeft = maxBytes;
  let cut = false;
  try {
    await readRanges({
      client: kafkaClient(config),
      ranges,
      isolationLevel: config.source.isolationLevel,
      budgetBytes: READ_BUDGET_BYTES,
      signal: stop.signal,
      checkUtf8Values: false,
      checkUtf8Keys: false,
      onRows: (_cursor, columns) => {
        for (let row = 0; row < columns.length && !stop.signal.aborted; row++) {
          const key = columns.keys.get(row);
          const value = columns.values.get(row);
          bytesLeft -= (key?.length ?? 0) + (value?.length ?? 0);
          if (!take(key, value) || bytesLeft <= 0) stop.abort(ENOUGH);
        }
      },
      afterPart: () => undefined,
    });
  } catch (error) {
    if (error !== ENOUGH) throw error;
    cut = true;
  } finally {
    clearTimeout(timer);
  }
  return { partitions: extents.length, offsets, cut };
}

function extentsOf(state: SourceState) {
  return state.partitions.map(({ topic, partition }) => ({
    topic,
    partition,
    earliest: getOffset(state.earliest, topic, partition)!,
    latest: getOffset(state.latest, topic, partition)!,
  }));
}
