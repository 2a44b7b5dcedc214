import type { RecordColumns } from '../columns/record-columns.ts';
import { SluiceError } from '../errors.ts';
import { BROKER_ERROR } from './broker-errors.ts';
import type { ClusterMetadata, KafkaClientOptions } from './cluster.ts';
import { KafkaCluster } from './cluster.ts';
import { TRIES_OF_ONE_BROKER } from './cluster-view.ts';
import type { BrokerConnection } from './connection.ts';
import { deadlineError, kafkaErrorOf, topicReplaced } from './errors.ts';
import type { FetchedPart } from './fetch.ts';
import { FetchLane, type LaneOwner } from './fetch-lane.ts';
import { FramePool } from './frame-pool.ts';
import { checkNothingServed, checkOutOfRange, checkTruncation } from './loss-check.ts';
import type { PartitionCursor } from './partition-cursor.ts';
import { RangeState, type RangeToRead, type Trouble } from './range-state.ts';
import { RecordSetDecoder } from './record-set-decoder.ts';
import { backoffMs, sleep } from './retry.ts';

export type { RangeToRead } from './range-state.ts';

export interface ReadRangesOptions {
  readonly client: KafkaClientOptions;
  /** Each partition at most once. */
  readonly ranges: readonly RangeToRead[];
  readonly isolationLevel: 'read_committed' | 'read_uncommitted';
  /**
   * Bytes of all receive, decompression and column buffers together. One record batch may take a quarter of it, raw and
   * uncompressed; a larger one is MEMORY_LIMIT.
   */
  readonly budgetBytes: number;
  /** Upper bound of one Fetch response, where a smaller one than the budget allows is wanted. */
  readonly fetchMaxBytes?: number;
  readonly rackId?: string;
  readonly signal?: AbortSignal;
  /** Fill `RecordColumns.invalidUtf8Values` / `invalidUtf8Keys`. */
  readonly checkUtf8Values: boolean;
  readonly checkUtf8Keys: boolean;
  /**
   * Rows of one partition, in offset order. The columns are reused: what is kept must be copied before it returns. When
   * it returns true, `afterPart` is awaited before more rows come: a small response may uncompress to a great many.
   */
  onRows(cursor: PartitionCursor, columns: RecordColumns): unknown;
  /**
   * Awaited after the records of each partition of each response, and where `onRows` asked for it, before anything else is
   * handed on.
   */
  afterPart(): void | Promise<void>;
  /** Since the last call. */
  onProgress?(records: number, bytes: number): void;
}

/** Larger frames than this gain nothing, and cost cache. */
const BEST_FRAME_BYTES = 2 * 1024 * 1024;
/** Rows are handed on in stretches of about this size, which stay in the processor's cache. */
const BEST_EMIT_BYTES = 1024 * 1024;
/** A position that an answer does not move, or a damaged batch, is fetched this often again. */
const DAMAGED_RETRIES = 2;
/** For this long a partition is read from its leader after the replica that the leader prefers did not serve it. */
const LEADER_ONLY_MS = 30_000;
/** How often in a row a topic may be missing from the metadata before it counts as deleted. */
const MISSING_TRIES = 6;

/**
 * Reads exactly the records of the given ranges that the brokers still serve to the isolation level, and proves that
 * nothing else lay in them: each cursor comes back with `position === until` and its count of rows, control records,
 * aborted records and holes. Rows handed on are never handed on again, whatever happens to the connection.
 *
 * Leader changes, broker restarts, resets and retriable errors are tried again per partition under `requestDeadlineMs`
 * without progress. Throws DATA_LOSS, TOPIC_REPLACED, PARTITIONS_DELETED, TOPIC_NOT_FOUND, COULD_NOT_READ,
 * UNSUPPORTED_CODEC, MEMORY_LIMIT, BROKER_UNREACHABLE, BROKER_ERROR, KAFKA_AUTH, what `onRows` or `afterPart` throws, or
 * the reason of `signal`.
 */
export async function readRanges(options: ReadRangesOptions): Promise<PartitionCursor[]> {
  checkRanges(options.ranges);
  options.signal?.throwIfAborted();
  const states = options.ranges.map((range) => new RangeState(range));
  if (states.every((s) => s.finished)) return states.map((s) => s.cursor);
  const cluster = await KafkaCluster.connect({ ...options.client, signal: options.signal });
  const reader = new RangeReader(options, cluster, states);
  try {
    await reader.run();
  } finally {
    await cluster.close();
  }
  return states.map((s) => s.cursor);
}

function checkRanges(ranges: readonly RangeToRead[]): void {
  const seen = new Set<string>();
  for (const { topic, partition, from, until } of ranges) {
    const name = `${topic}-${partition}`;
    if (seen.has(name)) throw new SluiceError('INTERNAL', `${name} is in the list of ranges twice`);
    if (from < 0n || until < from)
      throw new SluiceError('INTERNAL', `${name}: [${from}, ${until}) is no range of offsets`);
    seen.add(name);
  }
}

class RangeReader implements LaneOwner {
  readonly isolationLevel: 0 | 1;
  readonly rackId: string;
  readonly pool: FramePool;
  readonly requestTimeoutMs: number;
  readonly deadlineMs: number;
  frameBytes = 0;
  private maxLanes = 1;
  private readonly options: ReadRangesOptions;
  private readonly cluster: KafkaCluster;
  private readonly states: readonly RangeState[];
  private readonly decoder: RecordSetDecoder;
  private readonly lanes = new Map<number, FetchLane>();
  /** Partitions that wait for a lane to end, where more brokers lead than the budget was divided for. */
  private readonly queued: RangeState[] = [];
  private readonly tasks = new Set<Promise<void>>();
  private readonly done = Promise.withResolvers<void>();
  private readonly stopping = new AbortController();
  private failure: { error: unknown } | null = null;
  private unfinished: number;
  private turn: Promise<void> = Promise.resolve();
  private refreshing: Promise<ClusterMetadata> | null = null;
  private readonly throttling = new Set<string>();

  constructor(options: ReadRangesOptions, cluster: KafkaCluster, states: readonly RangeState[]) {
    this.options = options;
    this.cluster = cluster;
    this.states = states;
    this.isolationLevel = options.isolationLevel === 'read_committed' ? 1 : 0;
    this.rackId = options.rackId ?? cluster.settings.rack ?? '';
    this.requestTimeoutMs = cluster.settings.requestTimeoutMs;
    this.deadlineMs = options.client.requestDeadlineMs;
    this.unfinished = states.filter((s) => !s.finished).length;
    this.pool = new FramePool(Math.floor(options.budgetBytes / 2));
    this.decoder = new RecordSetDecoder({
      readCommitted: this.isolationLevel === 1,
      maxBatchBytes: Math.floor(options.budgetBytes / 4),
      emitBytes: Math.min(BEST_EMIT_BYTES, Math.floor(options.budgetBytes / 16)),
      checkUtf8Values: options.checkUtf8Values,
      checkUtf8Keys: options.checkUtf8Keys,
    });
  }

  get stopped(): boolean {
    return this.failure !== null;
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    const onAbort = () => this.fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      this.spawn(this.start());
      await this.done.promise;
      // Nothing may be handed on once this has returned or thrown.
      while (this.tasks.size > 0) await Promise.all(this.tasks);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    if (this.failure !== null) throw this.failure.error;
  }

  private async start(): Promise<void> {
    const open = this.states.filter((s) => !s.finished);
    const metadata = await this.cluster.retrying(`asking for the leaders of ${namesOf(open)}`, () =>
      this.refresh(),
    );
    this.divideBudget(metadata, open);
    const located: RangeState[] = [];
    for (const state of open) {
      try {
        this.locate(state, metadata);
        located.push(state);
      } catch (error) {
        if (!(error instanceof SluiceError && error.retryable)) throw error;
        this.detached(state, { kind: 'retry', error });
      }
    }
    await checkTruncation(this.cluster, located);
    for (const state of located) this.place(state);
  }

  /** Each broker that leads any of the partitions gets two frames; together they take a quarter of the budget. */
  private divideBudget(metadata: ClusterMetadata, open: readonly RangeState[]): void {
    this.maxLanes = Math.max(1, Math.min(metadata.brokers.length, open.length));
    const share = Math.floor(this.options.budgetBytes / 8 / this.maxLanes);
    this.frameBytes = Math.max(4096, Math.min(share, BEST_FRAME_BYTES, this.options.fetchMaxBytes ?? share));
  }

  /** The newest metadata of all topics, by one try; several partitions in trouble share one question. */
  private refresh(): Promise<ClusterMetadata> {
    if (this.refreshing === null) {
      const topics = [...new Set(this.states.filter((s) => !s.finished).map((s) => s.range.topic))];
      this.refreshing = this.cluster.metadataNow(topics).finally(() => {
        this.refreshing = null;
      });
    }
    return this.refreshing;
  }

  /**
   * Takes leader and topic id from the metadata. Throws TOPIC_REPLACED, PARTITIONS_DELETED, TOPIC_NOT_FOUND; the last as
   * retryable for the first times, since brokers do not learn of a topic all at once.
   */
  private locate(state: RangeState, metadata: ClusterMetadata): void {
    const { topic, partition } = state.range;
    const found = metadata.topics.find((t) => t.topic === topic);
    if (found === undefined) {
      state.missingTries++;
      throw new SluiceError(
        'TOPIC_NOT_FOUND',
        `topic ${topic} does not exist (any more); ${state.name} was to be read`,
        {
          retryable: state.missingTries < MISSING_TRIES,
          context: { topic, partition },
        },
      );
    }
    if (state.topicId !== null && found.topicId !== null && found.topicId !== state.topicId) {
      throw topicReplaced(topic, state.topicId, found.topicId);
    }
    const leader = found.partitions.find((p) => p.partition === partition);
    if (leader === undefined) {
      throw new SluiceError(
        'PARTITIONS_DELETED',
        `partition ${state.name} does not exist: topic ${topic} has ${found.partitions.length} partitions. Was it recreated?`,
        { context: { topic, partition, partitions: found.partitions.length } },
      );
    }
    state.topicId = found.topicId;
    if (leader.leader < 0) throw this.cluster.leaderlessError(topic, partition)!;
    state.leader = leader.leader;
    state.leaderEpoch = leader.leaderEpoch;
    if (state.fromLeader) state.broker = leader.leader;
  }

  private place(state: RangeState): void {
    if (this.stopped) return;
    let lane = this.lanes.get(state.broker);
    if (lane === undefined) {
      if (this.lanes.size >= this.maxLanes) {
        this.queued.push(state);
        return;
      }
      lane = new FetchLane(this, state.broker);
      this.lanes.set(state.broker, lane);
      lane.add(state);
      this.spawn(lane.run());
    } else lane.add(state);
  }

  ended(lane: FetchLane): void {
    if (this.lanes.get(lane.brokerId) !== lane) return;
    this.lanes.delete(lane.brokerId);
    for (const state of this.queued.splice(0)) this.place(state);
  }

  connect(brokerId: number): Promise<BrokerConnection> {
    return this.cluster.pool.dedicatedTo(brokerId);
  }

  disconnect(connection: BrokerConnection): void {
    this.cluster.pool.release(connection);
  }

  now(): number {
    return this.cluster.retryOptions.now();
  }

  pause(ms: number): Promise<void> {
    return sleep(ms, this.stopping.signal);
  }

  throttled({ address }: BrokerConnection, throttleMs: number): void {
    if (this.throttling.has(address)) return;
    this.throttling.add(address);
    this.log('info', `broker ${address} throttles this client by a quota`, { throttleMs });
  }

  inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => {});
    return mine;
  }

  async take(state: RangeState, frame: Buffer, part: FetchedPart): Promise<void> {
    let pausedAt = await this.takeStretch(state, frame, part, null);
    while (pausedAt !== null && !this.stopped)
      pausedAt = await this.takeStretch(state, frame, part, pausedAt);
  }

  /** Decodes until the receiver has enough for now, and lets it settle. Where to go on, or null at the end. */
  private async takeStretch(
    state: RangeState,
    frame: Buffer,
    part: FetchedPart,
    from: number | null,
  ): Promise<number | null> {
    const { cursor } = state;
    const { position, rows, bytes } = cursor;
    let damage: SluiceError | null = null;
    let pausedAt: number | null = null;
    try {
      const result =
        from === null
          ? this.decoder.decode(frame, part.start, part.end, cursor, part.aborted, this.handOn)
          : this.decoder.resume(frame, from, part.end, cursor, this.handOn);
      pausedAt = result.pausedAt ?? null;
      if (from === null) {
        if (result.firstBatchBytesNeeded !== undefined) state.neededBytes = result.firstBatchBytesNeeded;
        else if (!result.progressed) damage = standstill(state);
      }
    } catch (error) {
      if (this.failure !== null) throw this.failure.error;
      if (!(error instanceof SluiceError && error.code === 'COULD_NOT_READ')) throw error;
      damage = error;
    }
    if (cursor.position > position) {
      state.progressed();
      this.options.onProgress?.(cursor.rows - rows, cursor.bytes - bytes);
    }
    if (damage !== null) {
      state.damagedTries++;
      if (state.damagedTries > DAMAGED_RETRIES) throw damage;
      // Damage on the way is gone when the batch is fetched again; the cursor stands before it.
      this.log('warn', `${damage.message}; it is fetched again`, { tries: state.damagedTries });
    }
    try {
      await this.options.afterPart();
    } catch (error) {
      this.fail(error);
      throw error;
    }
    return pausedAt;
  }

  private readonly handOn = (cursor: PartitionCursor, columns: RecordColumns): boolean => {
    try {
      return this.options.onRows(cursor, columns) === true;
    } catch (error) {
      this.fail(error);
      throw error;
    }
  };

  finished(_state: RangeState): void {
    this.unfinished--;
    if (this.unfinished === 0) this.done.resolve();
  }

  detached(state: RangeState, trouble: Trouble): void {
    if (!this.stopped) this.spawn(this.recover(state, trouble));
  }

  /** Finds out what is wrong with a partition, and places it again, until it goes on, is lost, or the deadline passes. */
  private async recover(state: RangeState, trouble: Trouble): Promise<void> {
    const { now, random, deadlineMs } = this.cluster.retryOptions;
    const doing = `reading ${state.name} from offset ${state.cursor.position}`;
    let last = trouble.error;
    let first = true;
    if (trouble.kind === 'retry' && trouble.sinceMs !== undefined) state.troubleSince ??= trouble.sinceMs;
    while (!this.stopped) {
      state.troubleSince ??= now();
      const elapsed = now() - state.troubleSince;
      if (elapsed > deadlineMs) throw deadlineError(doing, elapsed, state.failures, last);
      if (state.failures > 0) await sleep(backoffMs(state.failures, random), this.stopping.signal);
      // Of many tries ever fewer are told: a broker that is away for minutes has many partitions.
      if (last !== null && (state.failures & (state.failures - 1)) === 0)
        this.log(state.failures <= 1 ? 'info' : 'warn', `${doing}: will try again`, { error: last });
      state.failures++;
      if (state.failures % TRIES_OF_ONE_BROKER === 0) this.cluster.pool.preferAnother();
      try {
        if (first) await this.examine(state, trouble);
        first = false;
        if (state.finished) {
          this.finished(state);
          return;
        }
        this.locate(state, await this.refresh());
        await checkTruncation(this.cluster, [state]);
        this.place(state);
        return;
      } catch (error) {
        if (!(error instanceof SluiceError && error.retryable)) throw error;
        last = error;
      }
    }
  }

  private async examine(state: RangeState, trouble: Trouble): Promise<void> {
    // The leader has just named the replica.
    if (trouble.kind === 'retry' && trouble.error === null) return;
    const wasFollower = !state.fromLeader;
    if (wasFollower) {
      // Whatever a replica answers is asked of the leader again, and the leader must not send us back to it at once.
      state.fromLeader = true;
      state.leaderOnlyUntilMs = this.now() + LEADER_ONLY_MS;
    }
    if (trouble.kind === 'retry') {
      const code = kafkaErrorOf(trouble.error);
      if (code === BROKER_ERROR.UNKNOWN_TOPIC_ID || code === BROKER_ERROR.INCONSISTENT_TOPIC_ID)
        await this.refresh();
      return;
    }
    if (wasFollower) {
      state.emptyAnswers = 0;
      return;
    }
    if (trouble.kind === 'outOfRange') await checkOutOfRange(this.cluster, state);
    else await checkNothingServed(this.cluster, state, this.isolationLevel === 1);
  }

  fail(error: unknown): void {
    if (this.failure !== null) return;
    this.failure = { error };
    this.stopping.abort(error);
    void this.cluster.close();
    this.done.resolve();
  }

  private spawn(task: Promise<void>): void {
    const tracked = task
      .catch((error) => this.fail(error))
      .finally(() => {
        this.tasks.delete(tracked);
      });
    this.tasks.add(tracked);
  }

  private log(level: 'info' | 'warn', msg: string, more: Record<string, unknown>): void {
    const error = more.error instanceof Error ? more.error.message : more.error;
    this.options.client.log?.({ level, msg, ...more, error });
  }
}

function namesOf(states: readonly RangeState[]): string {
  const names = states.slice(0, 5).map((s) => s.name);
  return states.length > 5 ? `${names.join(', ')} and ${states.length - 5} more` : names.join(', ');
}

/** A broker returns the batch that holds the position, or the next one: batches that all end before it are a fault. */
function standstill(state: RangeState): SluiceError {
  const { topic, partition } = state.range;
  const { position } = state.cursor;
  return new SluiceError(
    'COULD_NOT_READ',
    `${state.name}: the broker answered offset ${position} with record batches that all end before it`,
    { context: { topic, partition, position } },
  );
}
