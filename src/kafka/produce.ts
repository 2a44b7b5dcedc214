import { topicPartitionKey } from '../core/topic-partition.ts';
import { SluiceError } from '../errors.ts';
import { BROKER_ERROR } from './broker-errors.ts';
import { type KafkaClientOptions, KafkaCluster } from './cluster.ts';
import type { BrokerConnection } from './connection.ts';
import { brokerError } from './errors.ts';
import type { Api } from './messages/api.ts';
import { produce } from './messages/produce.ts';
import {
  addPartitionsToTxn,
  endTxn,
  findTransactionCoordinator,
  initProducerId,
  type ProducerIdentity,
} from './messages/transactions.ts';
import { murmur2Partition } from './murmur2.ts';
import { type KafkaCodec, RecordBatchBuilder, type RecordBytes } from './record-batch-builder.ts';

export { murmur2Partition } from './murmur2.ts';
export type { KafkaCodec, RecordBytes } from './record-batch-builder.ts';

export interface ProducerOptions {
  readonly client: KafkaClientOptions;
  /** Default none. */
  readonly codec?: KafkaCodec;
  /** A batch is sent when it has grown to this size, before compression. Default 256 KiB. */
  readonly batchBytes?: number;
  /** `append` asks its caller to wait while more than this is not acknowledged. Default 16 MiB. */
  readonly pendingBytes?: number;
  /** Makes the producer transactional: `begin`, then `commit` or `abort`. */
  readonly transactionalId?: string;
  /** The broker aborts a transaction that is open for longer. Default a minute. */
  readonly transactionTimeoutMs?: number;
}

export interface ProducedRecord {
  readonly topic: string;
  /** Default: by the key as Java's producer does; in turn where the key is null. */
  readonly partition?: number;
  /** Default null. Strings become UTF-8. */
  readonly key?: RecordBytes;
  readonly value: RecordBytes;
  /** Milliseconds since 1970; -1 for none. */
  readonly timestampMs: number;
  readonly headers?: readonly (readonly [string, RecordBytes])[];
}

interface PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  builder: RecordBatchBuilder;
  readonly full: RecordBatchBuilder[];
  sending: Promise<void> | null;
  sequence: number;
  inTransaction: boolean;
}

/** How long a broker may wait for the in-sync replicas. */
const PRODUCE_TIMEOUT_MS = 20_000;
const TRANSACTION_TIMEOUT_MS = 60_000;

/**
 * A producer for demos, benchmarks and tests: idempotent, acknowledged by all in-sync replicas, one batch in flight per
 * partition, so that records of a partition keep their order and none is doubled by a retry.
 */
export class Producer {
  readonly cluster: KafkaCluster;
  private readonly options: ProducerOptions;
  private readonly identity: ProducerIdentity;
  private readonly codec: KafkaCodec;
  private readonly batchBytes: number;
  private readonly pendingBytes: number;
  private readonly topics = new Map<string, PartitionQueue[]>();
  private readonly free: RecordBatchBuilder[] = [];
  private pending = 0;
  private nextPartition = 0;
  private failure: unknown = null;
  private room: PromiseWithResolvers<void> | null = null;
  private open = false;

  private constructor(options: ProducerOptions, cluster: KafkaCluster, identity: ProducerIdentity) {
    this.options = options;
    this.cluster = cluster;
    this.identity = identity;
    this.codec = options.codec ?? 'none';
    this.batchBytes = options.batchBytes ?? 262_144;
    this.pendingBytes = options.pendingBytes ?? 16 * 1024 * 1024;
  }

  /** Connects, and gets a producer id; a transactional one ends what an earlier producer of that id left open. */
  static async connect(options: ProducerOptions): Promise<Producer> {
    const cluster = await KafkaCluster.connect(options.client);
    try {
      const transactionalId = options.transactionalId ?? null;
      const identity = await callCoordinator(
        cluster,
        transactionalId,
        'getting a producer id',
        initProducerId,
        {
          transactionalId,
          timeoutMs: options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS,
        },
      );
      return new Producer(options, cluster, identity);
    } catch (e) {
      await cluster.close();
      throw e;
    }
  }

  /** Learns of the partitions of a topic; needed before the first `append` to it. Throws TOPIC_NOT_FOUND. */
  async prepare(topic: string): Promise<void> {
    if (this.topics.has(topic)) return;
    const { topics } = await this.cluster.metadata([topic]);
    if (topics.length === 0)
      throw new SluiceError('TOPIC_NOT_FOUND', `topic ${topic} does not exist`, { context: { topic } });
    const queues = topics[0].partitions.map(({ partition }) => ({
      topic,
      partition,
      builder: new RecordBatchBuilder(Math.min(this.batchBytes, 65_536)),
      full: [],
      sending: null,
      sequence: 0,
      inTransaction: false,
    }));
    this.topics.set(topic, queues);
  }

  /**
   * Appends a record to its partition's batch. A promise is returned where too much is not acknowledged yet: await it
   * before the next record. Throws the error of an earlier batch.
   */
  append(record: ProducedRecord): Promise<void> | undefined {
    if (this.failure !== null) throw this.failure;
    const queues = this.topics.get(record.topic);
    if (queues === undefined) throw new SluiceError('INTERNAL', `prepare(${record.topic}) was not called`);
    if (this.options.transactionalId !== undefined && !this.open) {
      throw new SluiceError(
        'INTERNAL',
        'a transactional producer appends between begin and commit or abort only',
      );
    }
    const key = record.key ?? null;
    const partition = record.partition ?? this.partitionOf(key, queues.length);
    const queue = queues[partition];
    if (queue === undefined)
      throw new SluiceError('INTERNAL', `${topicPartitionKey(record.topic, partition)} does not exist`);
    const { builder } = queue;
    const before = builder.bytes;
    builder.append(key, record.value, record.timestampMs, record.headers);
    this.pending += builder.bytes - before;
    if (builder.bytes >= this.batchBytes) this.cut(queue);
    if (this.pending <= this.pendingBytes) return undefined;
    this.room ??= Promise.withResolvers();
    // Of every topic: what is not sent may lie in batches that no record comes to any more.
    for (const list of this.topics.values()) for (const q of list) if (q.sending === null) this.cut(q);
    return this.room.promise;
  }

  /** Sends what was appended and waits until all of it is acknowledged. Throws the first error. */
  async flush(): Promise<void> {
    const queues = [...this.topics.values()].flat();
    for (const queue of queues) this.cut(queue);
    for (const queue of queues) await queue.sending;
    if (this.failure !== null) throw this.failure;
  }

  begin(): void {
    if (this.options.transactionalId === undefined || this.open) {
      throw new SluiceError('INTERNAL', 'begin needs a transactionalId and no open transaction');
    }
    this.open = true;
  }

  async commit(): Promise<void> {
    await this.end(true);
  }

  async abort(): Promise<void> {
    await this.end(false);
  }

  /** Flushes and closes. */
  async close(): Promise<void> {
    try {
      if (this.failure === null) await this.flush();
    } finally {
      await this.cluster.close();
    }
  }

  private async end(commit: boolean): Promise<void> {
    await this.flush();
    const transactionalId = this.options.transactionalId!;
    const queues = [...this.topics.values()].flat();
    if (queues.some((q) => q.inTransaction)) {
      const doing = `${commit ? 'committing' : 'aborting'} transaction ${transactionalId}`;
      const request = { transactionalId, identity: this.identity, commit };
      await callCoordinator(this.cluster, transactionalId, doing, endTxn, request);
    }
    for (const queue of queues) queue.inTransaction = false;
    this.open = false;
  }

  private partitionOf(key: RecordBytes, partitions: number): number {
    if (key === null) {
      this.nextPartition = (this.nextPartition + 1) % partitions;
      return this.nextPartition;
    }
    return murmur2Partition(typeof key === 'string' ? Buffer.from(key) : key, partitions);
  }

  /** Ends the batch of a partition and sees to it that it is sent. */
  private cut(queue: PartitionQueue): void {
    if (queue.builder.count > 0) {
      queue.full.push(queue.builder);
      queue.builder = this.free.pop() ?? new RecordBatchBuilder(this.batchBytes);
    }
    if (queue.full.length > 0) queue.sending ??= this.drain(queue);
  }

  private async drain(queue: PartitionQueue): Promise<void> {
    try {
      for (let builder = queue.full.shift(); builder !== undefined && this.failure === null; ) {
        await this.send(queue, builder);
        this.pending -= builder.bytes;
        builder.clear();
        this.free.push(builder);
        if (this.pending <= this.pendingBytes / 2) this.giveRoom();
        builder = queue.full.shift();
      }
    } catch (e) {
      this.failure ??= e;
      this.giveRoom();
    } finally {
      queue.sending = null;
    }
  }

  private giveRoom(): void {
    const { room } = this;
    this.room = null;
    if (this.failure === null) room?.resolve();
    else room?.reject(this.failure);
  }

  private async send(queue: PartitionQueue, builder: RecordBatchBuilder): Promise<void> {
    const { topic, partition } = queue;
    const transactionalId = this.options.transactionalId ?? null;
    if (transactionalId !== null && !queue.inTransaction) {
      const request = { transactionalId, identity: this.identity, topic, partition };
      await callCoordinator(
        this.cluster,
        transactionalId,
        'adding to a transaction',
        addPartitionsToTxn,
        request,
      );
      queue.inTransaction = true;
    }
    const batch = builder.seal({
      codec: this.codec,
      ...this.identity,
      baseSequence: queue.sequence,
      transactional: transactionalId !== null,
    });
    const request = { transactionalId, timeoutMs: PRODUCE_TIMEOUT_MS, topic, partition, batch };
    await this.cluster.onLeaders('producing records', [{ topic, partition }], async (connection) => {
      const { errorCode } = await connection.call(produce, request);
      // The reply to an earlier try was lost: the records are in the log once.
      const applied = errorCode === BROKER_ERROR.DUPLICATE_SEQUENCE_NUMBER;
      return [{ topic, partition, errorCode: applied ? 0 : errorCode }];
    });
    queue.sequence = (queue.sequence + builder.count) % 2 ** 31;
  }
}

/** Sends a request to the coordinator of a transactional id, or to any broker where there is none; retries under the deadline. */
async function callCoordinator<Request, Response extends { errorCode: number }>(
  cluster: KafkaCluster,
  transactionalId: string | null,
  doing: string,
  api: Api<Request, Response>,
  request: Request,
): Promise<Response> {
  return cluster.retrying(doing, async () => {
    const connection =
      transactionalId === null ? await cluster.pool.any() : await coordinatorOf(cluster, transactionalId);
    const response = await connection.call(api, request);
    if (response.errorCode !== 0) throw brokerError(response.errorCode, doing, connection.address);
    return response;
  });
}

async function coordinatorOf(cluster: KafkaCluster, transactionalId: string): Promise<BrokerConnection> {
  const any = await cluster.pool.any();
  const { errorCode, nodeId } = await any.call(findTransactionCoordinator, { transactionalId });
  if (errorCode !== 0)
    throw brokerError(errorCode, `finding the coordinator of ${transactionalId}`, any.address);
  return cluster.pool.toBroker(nodeId);
}
