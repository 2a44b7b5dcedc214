import type { BatchPlan, RangeFunnel } from '../checkpoint/records.ts';
import { getOffset, type OffsetRange, offsetEntries } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { isSluiceError, SluiceError } from '../errors.ts';
import type { EpochEndOffset, KafkaCluster } from '../kafka/cluster.ts';
import type { Log } from './host.ts';
import type { KnownSource } from './known-source.ts';
import type { SourceState } from './source-state.ts';

/** Leader epoch of the last record batch read of a partition, and the offset after that batch. */
export interface EpochRead {
  epoch: number;
  endOffset: bigint;
}

/** Up to which leader epoch each partition was read: a log that was truncated inside one incarnation is told by it (KIP-320). */
export class LeaderEpochs {
  private readonly read = new Map<string, EpochRead>();

  of(topic: string, partition: number): EpochRead | undefined {
    return this.read.get(topicPartitionKey(topic, partition));
  }

  /** Takes over what a batch read; ranges that brought nothing change nothing. */
  learn(funnel: readonly RangeFunnel[]): void {
    for (const { topic, partition, leaderEpoch, leaderEpochEnd } of funnel) {
      if (leaderEpoch < 0) continue;
      this.read.set(topicPartitionKey(topic, partition), { epoch: leaderEpoch, endOffset: leaderEpochEnd });
    }
  }

  /** Takes over what a plan says was read before it, where nothing newer is known. */
  learnPlanned(planned: BatchPlan['leaderEpochs']): void {
    for (const { topic, partition, epoch, endOffset } of planned) {
      if (this.of(topic, partition) === undefined)
        this.read.set(topicPartitionKey(topic, partition), { epoch, endOffset });
    }
  }

  /** For a plan of these ranges: what was read before each, where known. */
  before(ranges: readonly OffsetRange[]): BatchPlan['leaderEpochs'] {
    return ranges.flatMap(({ topic, partition }) => {
      const known = this.of(topic, partition);
      return known === undefined ? [] : [{ topic, partition, ...known }];
    });
  }

  /** Throws DATA_LOSS where the log ends, in the epoch of the last batch read, below the end of that batch. */
  async checkTruncation(
    cluster: KafkaCluster,
    known: KnownSource,
    state: SourceState,
    log: Log,
  ): Promise<void> {
    const asked = [...offsetEntries(known.positions)]
      .filter(({ topic, partition }) => state.topicIds.has(topic) && this.of(topic, partition) !== undefined)
      .map(({ topic, partition }) => ({ topic, partition, epoch: this.of(topic, partition)!.epoch }));
    for (const answer of await epochEnds(cluster, asked, log)) {
      const position = getOffset(known.positions, answer.topic, answer.partition)!;
      const { epoch, endOffset } = this.of(answer.topic, answer.partition)!;
      // Not with the position: between the last batch and it there may be compacted offsets of later epochs.
      if (answer.epoch >= 0 && answer.endOffset >= endOffset) continue;
      throw new SluiceError(
        'DATA_LOSS',
        `${answer.topic}-${answer.partition}: the log was truncated below the checkpoint: epoch ${epoch} was read up to offset ${endOffset} and now ends at ${answer.endOffset}, the checkpoint stands at ${position}; nothing was read. \`sluice checkpoint reset --topic ${answer.topic} --to unread\` previews how to go on where the logs part`,
        {
          context: {
            topic: answer.topic,
            partition: answer.partition,
            endOffset: answer.endOffset.toString(),
            position: position.toString(),
          },
        },
      );
    }
  }
}

/** Brokers before 2.0 cannot be asked by epoch: there the offsets alone must tell. */
async function epochEnds(
  cluster: KafkaCluster,
  asked: { topic: string; partition: number; epoch: number }[],
  log: Log,
): Promise<EpochEndOffset[]> {
  if (asked.length === 0) return [];
  try {
    return await cluster.epochEndOffsets(asked);
  } catch (error) {
    if (!isSluiceError(error, 'UNSUPPORTED')) throw error;
    log.debug('the brokers do not tell the ends of leader epochs', { error: error.message });
    return [];
  }
}
