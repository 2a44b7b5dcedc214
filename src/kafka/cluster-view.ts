import { type TopicPartition, topicPartitionKey } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import { BROKER_ERROR, brokerErrorKind } from './broker-errors.ts';
import { type BrokerInfo, BrokerPool, closedError } from './broker-pool.ts';
import {
  type ClientSettings,
  type KafkaClientOptions,
  type KafkaLogLine,
  readClientSettings,
} from './client-options.ts';
import type { BrokerConnection } from './connection.ts';
import { brokerError, leaderless, type Peer } from './errors.ts';
import {
  EARLIEST_TIMESTAMP,
  LATEST_TIMESTAMP,
  listOffsets as listOffsetsApi,
} from './messages/list-offsets.ts';
import { type MetadataResponse, metadata as metadataApi } from './messages/metadata.ts';
import { offsetForLeaderEpoch } from './messages/offset-for-leader-epoch.ts';
import { type RetryOptions, retrying } from './retry.ts';

export interface PartitionLeader {
  readonly partition: number;
  /** Broker id; -1 where the partition has no leader now (only when all topics were asked for, or by `metadataNow`). */
  readonly leader: number;
  /** -1 where the broker does not tell. */
  readonly leaderEpoch: number;
}

export interface TopicMetadata {
  readonly topic: string;
  /** 16 bytes in base64url, as Kafka prints it; null for brokers before 2.8. */
  readonly topicId: string | null;
  readonly internal: boolean;
  /** In order of their number. */
  readonly partitions: readonly PartitionLeader[];
}

export interface ClusterMetadata {
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly brokers: readonly BrokerInfo[];
  readonly topics: readonly TopicMetadata[];
  /** Topics that were asked for and do not exist. */
  readonly missing: readonly string[];
}

export interface ListedOffset extends TopicPartition {
  /** -1 where no record is at or after the time that was asked for. */
  readonly offset: bigint;
  /** -1 but for a question by time. */
  readonly timestampMs: bigint;
  /** -1 where the broker does not tell. */
  readonly leaderEpoch: number;
}

export type WhichOffset = 'earliest' | 'highWatermark' | 'lastStable' | { readonly timestampMs: bigint };

export interface EpochEndOffset extends TopicPartition {
  /** The largest epoch not above the one asked for; -1 where the leader knows none. */
  readonly epoch: number;
  /** The first offset behind that epoch; -1 where the leader knows none. */
  readonly endOffset: bigint;
}

/** After so many failures in a row another broker is asked for the metadata. */
export const TRIES_OF_ONE_BROKER = 4;
/** How often a topic may be missing from the metadata in a row before it counts as deleted. */
const MISSING_TRIES = 4;

/**
 * The cluster as a reader sees it: metadata, offsets, leader epochs. Retriable errors and leader changes are tried again
 * with back-off under `requestDeadlineMs`; then BROKER_UNREACHABLE or BROKER_ERROR says what was being done.
 */
export class ClusterView {
  readonly options: KafkaClientOptions;
  readonly settings: ClientSettings;
  readonly pool: BrokerPool;
  protected readonly log: (line: KafkaLogLine) => void;
  private readonly closing = new AbortController();
  private leaders = new Map<string, PartitionLeader>();
  /** Partitions that had no leader when they were asked for last, each with the error that says so. */
  private leaderless = new Map<string, SluiceError>();
  private id: string | null = null;
  private controller = -1;

  protected constructor(options: KafkaClientOptions) {
    this.options = options;
    this.settings = readClientSettings(options);
    this.pool = new BrokerPool(options, this.settings);
    this.log = options.log ?? (() => {});
  }

  /** Says once which options are not used, and reaches any of the bootstrap servers. Closes itself on failure. */
  protected async open(): Promise<void> {
    for (const option of this.settings.unused) {
      this.log({ level: 'warn', msg: `option ${option} has no meaning for Sluice and is not used`, option });
    }
    const { signal } = this.options;
    signal?.throwIfAborted();
    signal?.addEventListener('abort', this.closeNow, { once: true });
    try {
      await this.metadata([]);
    } catch (e) {
      await this.close();
      throw signal?.aborted ? signal.reason : e;
    }
  }

  private readonly closeNow = (): void => this.end(this.options.signal?.reason);

  /** From the newest metadata. */
  get clusterId(): string | null {
    return this.id;
  }

  get controllerId(): number {
    return this.controller;
  }

  get retryOptions(): RetryOptions {
    return {
      deadlineMs: this.options.requestDeadlineMs,
      deadlineName: this.options.deadlineName,
      random: this.options.random ?? Math.random,
      now: this.options.now ?? (() => performance.now()),
      signal: this.closing.signal,
    };
  }

  /**
   * Asks for topics by name, or for all (null). Never creates one. Topics that do not exist are listed in `missing`. By
   * name, it waits until every partition has a leader.
   */
  metadata(topics: readonly string[] | null): Promise<ClusterMetadata> {
    const of =
      topics === null ? 'all topics' : topics.length === 0 ? 'the cluster' : `topic ${topics.join(', ')}`;
    return this.retrying(`asking for the metadata of ${of}`, async () => {
      const metadata = await this.askMetadata(topics);
      if (topics !== null) for (const topic of metadata.topics) this.needLeaders(topic);
      return metadata;
    });
  }

  /** One question, without another try; a partition may have no leader. For a caller that has a deadline of its own. */
  metadataNow(topics: readonly string[]): Promise<ClusterMetadata> {
    return this.askMetadata(topics);
  }

  /** Why a partition of the newest metadata has no leader; undefined where it has one. */
  leaderlessError(topic: string, partition: number): SluiceError | undefined {
    return this.leaderless.get(topicPartitionKey(topic, partition));
  }

  private needLeaders({ topic, partitions }: TopicMetadata): void {
    for (const { partition } of partitions) {
      const error = this.leaderlessError(topic, partition);
      if (error !== undefined) throw error;
    }
  }

  /** The leader as the newest metadata has it. Asks for it where it is not known. */
  async leaderOf(topic: string, partition: number): Promise<PartitionLeader> {
    if (!this.leaders.has(topicPartitionKey(topic, partition))) await this.askMetadata([topic]);
    return this.knownLeader(topic, partition);
  }

  private knownLeader(topic: string, partition: number): PartitionLeader {
    const key = topicPartitionKey(topic, partition);
    const leader = this.leaders.get(key);
    if (leader !== undefined) return leader;
    const without = this.leaderless.get(key);
    if (without !== undefined) throw without;
    throw new SluiceError('TOPIC_NOT_FOUND', `partition ${key} does not exist on the cluster`, {
      retryable: true,
      context: { topic, partition },
    });
  }

  /**
   * The log start offset, the high watermark (isolation 0), the last stable offset (isolation 1), or the first offset at
   * or after a time, of each partition, in the order asked. All of them are answered, or it throws.
   */
  async listOffsets(partitions: readonly TopicPartition[], which: WhichOffset): Promise<ListedOffset[]> {
    const isolationLevel = which === 'lastStable' ? 1 : 0;
    const timestamp =
      typeof which === 'object'
        ? which.timestampMs
        : which === 'earliest'
          ? EARLIEST_TIMESTAMP
          : LATEST_TIMESTAMP;
    const name =
      typeof which === 'object' ? `first offset at or after ${which.timestampMs} ms` : `${which} offset`;
    const answers = await this.onLeaders(`asking for the ${name}`, partitions, async (connection, asked) => {
      const topics = byTopic(asked, (p, leaderEpoch) => ({ partition: p.partition, leaderEpoch, timestamp }));
      const response = await connection.call(listOffsetsApi, { isolationLevel, topics });
      return flatten(response.topics);
    });
    for (const answer of answers) {
      if (answer.offset >= 0n || typeof which === 'object') continue;
      throw new SluiceError(
        'BROKER_ERROR',
        `${topicPartitionKey(answer.topic, answer.partition)}: the leader answered ${answer.offset} as the ${name}`,
        { context: { topic: answer.topic, partition: answer.partition } },
      );
    }
    return answers.map(({ topic, partition, offset, timestampMs, leaderEpoch }) => {
      return { topic, partition, offset, timestampMs, leaderEpoch };
    });
  }

  /**
   * OffsetForLeaderEpoch (KIP-320): where the records of `epoch` end. -1 and -1 where the leader knows no such epoch: the
   * log was truncated, or is another one. `leaderEpoch` is not needed: the newest one of the metadata is sent.
   */
  async epochEndOffsets(
    asked: readonly (TopicPartition & { readonly leaderEpoch?: number; readonly epoch: number })[],
  ): Promise<EpochEndOffset[]> {
    const answers = await this.onLeaders(
      'asking where a leader epoch ends',
      asked,
      async (connection, some) => {
        const topics = byTopic(some, (p, leaderEpoch) => ({
          partition: p.partition,
          leaderEpoch,
          epoch: p.epoch,
        }));
        const response = await connection.call(offsetForLeaderEpoch, { topics });
        return flatten(response.topics);
      },
    );
    return answers.map(({ topic, partition, epoch, endOffset }) => ({ topic, partition, epoch, endOffset }));
  }

  /**
   * Sends a question about partitions to their leaders and asks again those that failed in a retriable way, after new
   * metadata. Answers come in the order asked, one for each partition.
   */
  async onLeaders<P extends TopicPartition, A extends TopicPartition & { errorCode: number }>(
    doing: string,
    asked: readonly P[],
    send: (
      connection: BrokerConnection,
      some: readonly { item: P; leaderEpoch: number }[],
    ) => Promise<readonly A[]>,
  ): Promise<A[]> {
    const answers = new Map<string, A>();
    let missing = 0;
    await this.retrying(`${doing} of ${namesOf(asked)}`, async () => {
      const open = asked.filter((p) => !answers.has(topicPartitionKey(p.topic, p.partition)));
      let groups: Map<number, { item: P; leaderEpoch: number }[]>;
      try {
        groups = await this.groupByLeader(open);
      } catch (e) {
        if (e instanceof SluiceError && e.code === 'TOPIC_NOT_FOUND' && ++missing >= MISSING_TRIES) {
          throw new SluiceError(e.code, e.message.slice(e.code.length + 2), {
            retryable: false,
            context: e.context,
          });
        }
        throw e;
      }
      const outcomes = await Promise.allSettled(
        [...groups].map(([leader, some]) => this.askOne(doing, leader, some, send, answers)),
      );
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      const fatal = failures.find((e) => !(e instanceof SluiceError && e.retryable));
      if (failures.length > 0) throw fatal ?? failures[0];
    });
    return asked.map((p) => answers.get(topicPartitionKey(p.topic, p.partition))!);
  }

  /** Runs `attempt` under the deadline of this client; `close` ends it. */
  retrying<T>(doing: string, attempt: () => Promise<T>): Promise<T> {
    const onRetry = (error: SluiceError, tries: number, waitMs: number) => {
      // The first failures may be a blip; from the third on somebody who watches wants to know why nothing moves.
      const level = tries <= 2 ? 'debug' : 'warn';
      if (tries % TRIES_OF_ONE_BROKER === 0) this.pool.preferAnother();
      this.log({
        level,
        msg: `${doing}: will try again`,
        error: error.message,
        tries,
        waitMs: Math.round(waitMs),
      });
    };
    return retrying(doing, { ...this.retryOptions, onRetry }, attempt);
  }

  /** Closes all connections; what is still being asked fails, after an abort with the reason of `signal`. */
  async close(): Promise<void> {
    this.end(closedError());
  }

  private end(reason: unknown): void {
    this.options.signal?.removeEventListener('abort', this.closeNow);
    if (!this.closing.signal.aborted) this.closing.abort(reason);
    this.pool.close();
  }

  private async askOne<P extends TopicPartition, A extends TopicPartition & { errorCode: number }>(
    doing: string,
    leader: number,
    some: readonly { item: P; leaderEpoch: number }[],
    send: (
      connection: BrokerConnection,
      some: readonly { item: P; leaderEpoch: number }[],
    ) => Promise<readonly A[]>,
    answers: Map<string, A>,
  ): Promise<void> {
    const forget = (p: TopicPartition) => this.leaders.delete(topicPartitionKey(p.topic, p.partition));
    let connection: BrokerConnection;
    let got: readonly A[];
    try {
      connection = await this.pool.toBroker(leader);
      got = await send(connection, some);
    } catch (e) {
      for (const { item } of some) forget(item);
      throw e;
    }
    const byKey = new Map(got.map((a) => [topicPartitionKey(a.topic, a.partition), a]));
    let failure: SluiceError | null = null;
    for (const { item } of some) {
      const key = topicPartitionKey(item.topic, item.partition);
      const answer = byKey.get(key);
      if (answer === undefined) {
        failure = new SluiceError(
          'BROKER_ERROR',
          `${doing}: broker ${connection.address} left ${key} out of its answer`,
        );
      } else if (answer.errorCode === 0) {
        answers.set(key, answer);
        continue;
      } else {
        const { topic, partition } = item;
        failure = brokerError(answer.errorCode, `${doing} of ${key}`, connection, {
          topic,
          partition,
        });
      }
      forget(item);
      if (!failure.retryable) break;
    }
    if (failure !== null) throw failure;
  }

  private async groupByLeader<P extends TopicPartition>(
    asked: readonly P[],
  ): Promise<Map<number, { item: P; leaderEpoch: number }[]>> {
    const unknown = new Set<string>();
    for (const p of asked)
      if (!this.leaders.has(topicPartitionKey(p.topic, p.partition))) unknown.add(p.topic);
    if (unknown.size > 0) await this.askMetadata([...unknown]);
    const groups = new Map<number, { item: P; leaderEpoch: number }[]>();
    for (const item of asked) {
      const { leader, leaderEpoch } = this.knownLeader(item.topic, item.partition);
      const group = groups.get(leader);
      if (group === undefined) groups.set(leader, [{ item, leaderEpoch }]);
      else group.push({ item, leaderEpoch });
    }
    return groups;
  }

  private async askMetadata(topics: readonly string[] | null): Promise<ClusterMetadata> {
    const connection = await this.pool.any();
    const response = await connection.call(metadataApi, { topics }).catch(async (e: unknown) => {
      throw await this.pool.explainFirst(e, connection);
    });
    if (response.errorCode !== 0)
      throw brokerError(response.errorCode, 'asking for metadata', connection.address);
    if (response.brokers.length === 0) {
      throw new SluiceError(
        'BROKER_ERROR',
        `broker ${connection.address} answered metadata without any broker`,
      );
    }
    this.id = response.clusterId;
    this.controller = response.controllerId;
    this.pool.brokers = new Map(response.brokers.map((b) => [b.id, b]));
    const { found, missing, without } = readTopics(response, topics, connection);
    for (const { topic, partitions } of found) {
      for (const p of partitions) {
        const key = topicPartitionKey(topic, p.partition);
        if (p.leader >= 0) {
          this.leaders.set(key, p);
          this.leaderless.delete(key);
        } else this.leaders.delete(key);
      }
    }
    for (const error of without)
      this.leaderless.set(
        topicPartitionKey(error.context.topic as string, error.context.partition as number),
        error,
      );
    const { clusterId, controllerId, brokers } = response;
    return { clusterId, controllerId, brokers, topics: found, missing };
  }
}

/** Sorts the topics of an answer into found and missing; throws for one that is neither (retryable where it may pass). */
function readTopics(
  response: MetadataResponse,
  asked: readonly string[] | null,
  peer: Peer,
): { found: TopicMetadata[]; missing: string[]; without: SluiceError[] } {
  const found: TopicMetadata[] = [];
  const missing: string[] = [];
  const without: SluiceError[] = [];
  for (const t of response.topics) {
    const topic = t.topic ?? '';
    if (t.errorCode === BROKER_ERROR.UNKNOWN_TOPIC_OR_PARTITION) missing.push(topic);
    else if (t.errorCode !== 0) {
      // A pattern looks at all topics: one that is being made, or that we may not see, must not stop it.
      if (asked !== null) throw brokerError(t.errorCode, `asking for topic ${topic}`, peer, { topic });
    } else found.push(readTopic(t, topic, peer, without));
  }
  for (const topic of asked ?? []) {
    if (missing.includes(topic) || found.some((f) => f.topic === topic)) continue;
    throw new SluiceError('BROKER_ERROR', `broker ${peer.address} left topic ${topic} out of its metadata`, {
      context: { topic },
    });
  }
  return { found, missing, without };
}

/** Adds to `without` an error for each partition that has no leader. */
function readTopic(
  t: MetadataResponse['topics'][number],
  topic: string,
  peer: Peer,
  without: SluiceError[],
): TopicMetadata {
  const partitions: PartitionLeader[] = [];
  for (const { partition, errorCode, leader, leaderEpoch, replicas, offline } of t.partitions) {
    if (leader < 0) {
      const code = errorCode !== 0 && brokerErrorKind(errorCode) !== 'fatal' ? errorCode : 5;
      without.push(leaderless(code, peer, { topic, partition, replicas, offline }));
    }
    partitions.push({ partition, leader, leaderEpoch });
  }
  if (partitions.length === 0) {
    throw new SluiceError(
      'BROKER_ERROR',
      `broker ${peer.address} answered topic ${topic} without partitions`,
      {
        context: { topic },
      },
    );
  }
  partitions.sort((a, b) => a.partition - b.partition);
  return { topic, topicId: t.topicId, internal: t.internal, partitions };
}

/** Groups partitions by their topic, as Kafka's requests want them. */
function byTopic<P extends TopicPartition, Q>(
  asked: readonly { item: P; leaderEpoch: number }[],
  shape: (item: P, leaderEpoch: number) => Q,
): { topic: string; partitions: Q[] }[] {
  const topics = new Map<string, Q[]>();
  for (const { item, leaderEpoch } of asked) {
    const partitions = topics.get(item.topic);
    if (partitions === undefined) topics.set(item.topic, [shape(item, leaderEpoch)]);
    else partitions.push(shape(item, leaderEpoch));
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

function flatten<A extends { partition: number; errorCode: number }>(
  topics: readonly { topic: string; partitions: readonly A[] }[],
): (A & { topic: string })[] {
  return topics.flatMap(({ topic, partitions }) => partitions.map((p) => ({ ...p, topic })));
}

function namesOf(partitions: readonly TopicPartition[]): string {
  const names = partitions.slice(0, 5).map((p) => topicPartitionKey(p.topic, p.partition));
  return partitions.length > 5 ? `${names.join(', ')} and ${partitions.length - 5} more` : names.join(', ');
}
