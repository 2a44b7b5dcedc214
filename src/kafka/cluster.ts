import { SluiceError } from '../errors.ts';
import { BROKER_ERROR } from './broker-errors.ts';
import type { KafkaClientOptions } from './client-options.ts';
import { ClusterView, type TopicMetadata } from './cluster-view.ts';
import type { BrokerConnection } from './connection.ts';
import { brokerError, kafkaErrorOf } from './errors.ts';
import {
  createPartitions,
  createTopics,
  deleteRecords,
  deleteTopics,
  describeTopicConfig,
  type TopicResult,
} from './messages/admin.ts';
import type { Api } from './messages/api.ts';

export type { BrokerInfo } from './broker-pool.ts';
export type { KafkaClientOptions, KafkaLogLine } from './client-options.ts';
export type {
  ClusterMetadata,
  EpochEndOffset,
  ListedOffset,
  PartitionLeader,
  TopicMetadata,
  WhichOffset,
} from './cluster-view.ts';

export interface TopicSpec {
  readonly topic: string;
  readonly partitions: number;
  /** Replicas of each partition; the broker's default where it is left out. */
  readonly replicationFactor?: number;
  readonly config?: Readonly<Record<string, string>>;
}

/** How long a broker itself may take over an administrative request. */
const ADMIN_TIMEOUT_MS = 20_000;

/**
 * A client of one cluster: what a reader needs (`ClusterView`) and the administration that demos, tests and the bridge
 * need. Every method tries again under `requestDeadlineMs`.
 */
export class KafkaCluster extends ClusterView {
  /**
   * Reaches any of the bootstrap servers. Throws BROKER_UNREACHABLE with every address tried and its error, PROTOCOL_ERROR
   * where none of them is a Kafka broker, UNSUPPORTED or CONFIG_INVALID for an option.
   */
  static async connect(options: KafkaClientOptions): Promise<KafkaCluster> {
    const cluster = new KafkaCluster(options);
    await cluster.open();
    return cluster;
  }

  /**
   * Creates topics and waits until each partition has a leader. Throws BROKER_ERROR with `context.kafkaError` 36 for one
   * that exists, unless an earlier try of this call, whose reply was lost, may have made it.
   */
  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    if (specs.length === 0) return;
    const names = specs.map((s) => s.topic);
    const request = {
      topics: specs.map((s) => ({
        topic: s.topic,
        partitions: s.partitions,
        replicationFactor: s.replicationFactor ?? -1,
        config: Object.entries(s.config ?? {}),
      })),
      timeoutMs: ADMIN_TIMEOUT_MS,
    };
    await this.change(
      `creating topic ${names.join(', ')}`,
      createTopics,
      request,
      BROKER_ERROR.TOPIC_ALREADY_EXISTS,
    );
    await this.awaitTopics(names, (found) => found.length === names.length, 'is not there yet');
  }

  /** Deletes topics and waits until the metadata no longer holds them. Throws TOPIC_NOT_FOUND for one that is not there. */
  async deleteTopics(topics: readonly string[]): Promise<void> {
    if (topics.length === 0) return;
    const doing = `deleting topic ${topics.join(', ')}`;
    const request = { topics, timeoutMs: ADMIN_TIMEOUT_MS };
    try {
      await this.change(doing, deleteTopics, request, BROKER_ERROR.UNKNOWN_TOPIC_OR_PARTITION);
    } catch (e) {
      if (kafkaErrorOf(e) !== BROKER_ERROR.UNKNOWN_TOPIC_OR_PARTITION) throw e;
      throw new SluiceError('TOPIC_NOT_FOUND', `${doing}: it does not exist`, {
        context: { topics },
        cause: e,
      });
    }
    await this.awaitTopics(topics, (found) => found.length === 0, 'is still there');
  }

  /** Raises a topic to `total` partitions and waits until each has a leader. */
  async createPartitions(topic: string, total: number): Promise<void> {
    const request = { topic, total, timeoutMs: ADMIN_TIMEOUT_MS };
    await this.change(`raising topic ${topic} to ${total} partitions`, createPartitions, request, null);
    const whole = (found: readonly TopicMetadata[]) => found[0]?.partitions.length === total;
    await this.awaitTopics([topic], whole, `does not have ${total} partitions yet`);
  }

  /** Deletes the records of one partition before an offset; `before` must not be above the high watermark. */
  async deleteRecords(topic: string, partition: number, before: bigint): Promise<void> {
    await this.onLeaders(`deleting records before ${before}`, [{ topic, partition }], async (connection) => {
      const request = { topic, partition, before, timeoutMs: ADMIN_TIMEOUT_MS };
      const { errorCode } = await connection.call(deleteRecords, request);
      return [{ topic, partition, errorCode }];
    });
  }

  /** The configuration of a topic in force, defaults included; values that the broker keeps secret are left out. */
  async topicConfig(topic: string): Promise<Record<string, string>> {
    const doing = `reading the configuration of topic ${topic}`;
    return this.retrying(doing, async () => {
      const connection = await this.pool.any();
      const answer = await connection.call(describeTopicConfig, { topic });
      if (answer.errorCode === BROKER_ERROR.UNKNOWN_TOPIC_OR_PARTITION) {
        throw new SluiceError('TOPIC_NOT_FOUND', `${doing}: it does not exist`, { context: { topic } });
      }
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, doing, connection, { topic });
      const config: Record<string, string> = {};
      for (const [name, value] of answer.config) if (value !== null) config[name] = value;
      return config;
    });
  }

  /**
   * Sends an administrative request to the controller. `doneAlready` is the error that means "done" when an earlier try
   * of the same call was sent and its outcome is not known.
   */
  private async change<Request>(
    doing: string,
    api: Api<Request, TopicResult[]>,
    request: Request,
    doneAlready: number | null,
  ): Promise<void> {
    let maybeApplied = false;
    await this.retrying(doing, async () => {
      const connection = await this.toController();
      let results: TopicResult[];
      try {
        results = await connection.call(api, request);
      } catch (e) {
        maybeApplied = true;
        throw e;
      }
      for (const { topic, errorCode, errorMessage } of results) {
        if (errorCode === 0 || (maybeApplied && errorCode === doneAlready)) continue;
        const because = errorMessage === null ? doing : `${doing} (${errorMessage})`;
        const error = brokerError(errorCode, because, connection, { topic });
        if (errorCode !== BROKER_ERROR.UNKNOWN_TOPIC_OR_PARTITION) throw error;
        throw new SluiceError('BROKER_ERROR', `${doing}: topic ${topic} does not exist`, {
          retryable: false,
          context: error.context,
        });
      }
    });
  }

  /** Under KRaft any broker passes the request on; before, it must be the controller, which the metadata names. */
  private async toController(): Promise<BrokerConnection> {
    await this.metadata([]);
    return this.pool.brokers.has(this.controllerId) ? this.pool.toBroker(this.controllerId) : this.pool.any();
  }

  private async awaitTopics(
    topics: readonly string[],
    done: (found: readonly TopicMetadata[]) => boolean,
    notYet: string,
  ): Promise<void> {
    await this.retrying(`waiting for topic ${topics.join(', ')}`, async () => {
      const { topics: found } = await this.metadata(topics);
      if (done(found)) return;
      throw new SluiceError('BROKER_ERROR', `topic ${topics.join(', ')} ${notYet}`, { retryable: true });
    });
  }
}
