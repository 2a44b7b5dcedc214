import { SluiceError } from '../errors.ts';
import { scanHeaders } from './batch-headers.ts';
import { BROKER_ERROR, brokerErrorKind } from './broker-errors.ts';
import type { BrokerConnection } from './connection.ts';
import { brokerError } from './errors.ts';
import {
  FETCH_WITH_TOPIC_IDS,
  type FetchedPart,
  type FetchRequest,
  type FetchResponse,
  fetch,
} from './fetch.ts';
import type { FramePool, ReusedFrame } from './frame-pool.ts';
import type { RangeState, Trouble } from './range-state.ts';

/** What a lane needs of the reader that owns it. */
export interface LaneOwner {
  readonly isolationLevel: 0 | 1;
  readonly rackId: string;
  readonly pool: FramePool;
  readonly frameBytes: number;
  readonly requestTimeoutMs: number;
  readonly deadlineMs: number;
  /** Set once the whole read has failed or was aborted: nothing is handed on any more. */
  readonly stopped: boolean;
  /** Opens a connection that the owner closes when the read ends. */
  connect(brokerId: number): Promise<BrokerConnection>;
  disconnect(connection: BrokerConnection): void;
  /** Milliseconds on the client's clock. */
  now(): number;
  /** Throws once the read has failed or was aborted. */
  pause(ms: number): Promise<void>;
  /** A broker slows us down by a quota. */
  throttled(connection: BrokerConnection, throttleMs: number): void;
  /** Decodes the records of one partition and hands them on; one at a time over all lanes. */
  take(state: RangeState, frame: Buffer, part: FetchedPart): Promise<void>;
  /** Runs `work` while no other lane decodes. */
  inTurn(work: () => Promise<void>): Promise<void>;
  finished(state: RangeState): void;
  /** The partition leaves the lane; the owner finds out what is wrong and places it again. */
  detached(state: RangeState, trouble: Trouble): void;
  ended(lane: FetchLane): void;
  fail(error: unknown): void;
}

interface Wanted {
  readonly state: RangeState;
  /** The offset that was asked for: an answer is of use only while the cursor still stands there. */
  readonly position: bigint;
  readonly maxBytes: number;
  /** The first partition of the request, which the broker fills first. */
  readonly first: boolean;
}

/** A request on its way, the frame for its answer, and what it asked for. */
interface Flight {
  readonly frame: ReusedFrame;
  readonly wanted: ReadonlyMap<string, Wanted>;
  readonly response: Promise<FetchResponse>;
}

/** Where a broker waits for data that must be there already, there is little reason to let it wait long. */
const MAX_WAIT_MS = 100;
/** A response holds the records of a few partitions; asking for all of a thousand each time would fill it with empty answers. */
const MAX_PARTITIONS_PER_FETCH = 100;
/** From this version of Fetch on a throttled broker answers at once and leaves it to the client to wait (KIP-219). */
const CLIENT_WAITS_FROM = 8;
/** Room in a frame for what is not records, per partition. */
const PART_OVERHEAD_BYTES = 256;
/** A partition near the end of its range is asked for little more than what is left of it. */
const TAIL_SLACK_BYTES = 65_536;

/**
 * One connection to one broker, over which all its partitions are read. The next Fetch is sent before the answer at hand
 * is decoded, into the other of two frames: its offsets are known from the headers of the record batches.
 */
export class FetchLane {
  readonly brokerId: number;
  /** In the order in which the broker fills its answer: those served last go to the back. */
  private states: RangeState[] = [];
  private readonly owner: LaneOwner;
  private connection: BrokerConnection | null = null;
  private throttleMs = 0;
  /** Since when we wait for the broker, while we do. */
  private waitingSinceMs: number | null = null;

  constructor(owner: LaneOwner, brokerId: number) {
    this.owner = owner;
    this.brokerId = brokerId;
  }

  add(state: RangeState): void {
    this.states.push(state);
  }

  /** Reads until no partition is left in the lane. Never throws: what goes wrong is told to the owner. */
  async run(): Promise<void> {
    const frames: ReusedFrame[] = [];
    this.waitingSinceMs = this.owner.now();
    try {
      const connection = await this.owner.connect(this.brokerId);
      this.connection = connection;
      for (let i = 0; i < 2; i++) {
        frames.push(this.owner.pool.create(this.owner.frameBytes, () => connection.resumeReading()));
      }
      await this.read(connection, frames);
    } catch (error) {
      this.giveUp(error);
    } finally {
      this.owner.ended(this);
      if (this.connection !== null) this.owner.disconnect(this.connection);
      for (const frame of frames) this.owner.pool.remove(frame);
    }
  }

  private async read(connection: BrokerConnection, frames: readonly ReusedFrame[]): Promise<void> {
    let turn = 0;
    let flight = this.send(connection, frames[0], null);
    while (flight !== null && !this.owner.stopped) {
      const { frame, wanted } = flight;
      this.waitingSinceMs = this.owner.now();
      const response = await flight.response;
      this.waitingSinceMs = null;
      if (response.errorCode !== 0) throw brokerError(response.errorCode, 'fetching', connection.address);
      this.throttleMs = response.throttleMs;
      const mayAskAt = this.owner.now() + this.clientWaitMs(connection);
      const expected = this.expectedPositions(response, wanted, frame);
      turn = 1 - turn;
      let next = this.owner.now() < mayAskAt ? null : this.send(connection, frames[turn], expected);
      // A flight that is given up must not end the process as an unhandled rejection.
      next?.response.catch(() => {});
      await this.owner.inTurn(() => this.takeAll(connection, response, wanted, frame));
      frame.release();
      const waitMs = mayAskAt - this.owner.now();
      if (next === null && waitMs > 0 && this.states.length > 0) await this.owner.pause(waitMs);
      next ??= this.send(connection, frames[turn], null);
      flight = next;
    }
    // At once, before anything else runs: a partition must not be added to a lane that reads no more.
    this.owner.ended(this);
  }

  /** A throttled broker reads nothing from this connection for as long: what we sent would only wait there, and look unanswered. */
  private clientWaitMs(connection: BrokerConnection): number {
    if (this.throttleMs <= 0) return 0;
    this.owner.throttled(connection, this.throttleMs);
    return connection.versionOf(fetch) >= CLIENT_WAITS_FROM ? this.throttleMs : 0;
  }

  /**
   * Where each partition will stand once the answer is decoded; a partition of which that is not known is left out, and so
   * is not asked for again before it has been decoded. Partitions that were served go to the back of the order.
   */
  private expectedPositions(
    response: FetchResponse,
    wanted: ReadonlyMap<string, Wanted>,
    frame: ReusedFrame,
  ): Map<RangeState, bigint> {
    const expected = new Map<RangeState, bigint>();
    const served = new Set<RangeState>();
    for (const state of this.states) expected.set(state, state.cursor.position);
    for (const part of response.parts) {
      const asked = wanted.get(keyOf(part));
      if (asked === undefined || asked.position !== asked.state.cursor.position) continue;
      const { state } = asked;
      if (part.errorCode !== 0) expected.delete(state);
      if (part.end === part.start) continue;
      served.add(state);
      const scan = scanHeaders(frame.bytes, part.start, part.end);
      if (scan.firstBatchBytes > asked.maxBytes)
        state.neededBytes = Math.max(state.neededBytes, scan.firstBatchBytes);
      if (scan.next !== null && scan.next > asked.position) expected.set(state, scan.next);
      else expected.delete(state);
    }
    if (served.size > 0 && served.size < this.states.length) {
      this.states = [...this.states.filter((s) => !served.has(s)), ...served];
    }
    return expected;
  }

  /** Sends a request for all partitions whose next offset is known; null where there is nothing to ask for now. */
  private send(
    connection: BrokerConnection,
    frame: ReusedFrame,
    expected: ReadonlyMap<RangeState, bigint> | null,
  ): Flight | null {
    const { owner } = this;
    const asked: Wanted[] = [];
    for (const state of this.states) {
      const position = expected === null ? state.cursor.position : expected.get(state);
      if (position === undefined || position >= state.cursor.until) continue;
      if (asked.length === MAX_PARTITIONS_PER_FETCH) break;
      const maxBytes = partitionMaxBytes(state, position, owner.frameBytes);
      asked.push({ state, position, maxBytes, first: asked.length === 0 });
    }
    if (asked.length === 0) return null;
    const withIds = asked.every((a) => a.state.topicId !== null);
    const version = connection.versionOf(fetch, withIds ? fetch.max : FETCH_WITH_TOPIC_IDS - 1);
    const overhead = Math.min(asked.length * PART_OVERHEAD_BYTES + 128, owner.frameBytes >> 1);
    const request: FetchRequest = {
      maxWaitMs: MAX_WAIT_MS,
      maxBytes: owner.frameBytes - overhead,
      isolationLevel: owner.isolationLevel,
      // To a reader that names its rack the leader serves nothing itself while it prefers a replica.
      rackId: asked.some((a) => a.state.leaderOnlyUntilMs > owner.now()) ? '' : owner.rackId,
      topics: groupByTopic(asked),
    };
    const wanted = new Map<string, Wanted>();
    for (const a of asked) {
      const { topic, partition } = a.state.range;
      const byId = version >= FETCH_WITH_TOPIC_IDS;
      wanted.set(keyOf({ topic: byId ? null : topic, topicId: byId ? a.state.topicId : null, partition }), a);
    }
    const response = connection.call(fetch, request, {
      version,
      target: frame,
      timeoutMs: owner.requestTimeoutMs + this.throttleMs,
      wholeWithinMs: owner.deadlineMs,
    });
    return { frame, wanted, response };
  }

  private async takeAll(
    connection: BrokerConnection,
    response: FetchResponse,
    wanted: ReadonlyMap<string, Wanted>,
    frame: ReusedFrame,
  ): Promise<void> {
    const nothing = response.parts.every((part) => part.end === part.start);
    for (const part of response.parts) {
      if (this.owner.stopped) return;
      const asked = wanted.get(keyOf(part));
      if (asked === undefined) continue;
      const { state } = asked;
      if (asked.position !== state.cursor.position || !this.states.includes(state)) continue;
      await this.takePart(connection, part, state, frame, asked.first || nothing);
    }
  }

  private async takePart(
    connection: BrokerConnection,
    part: FetchedPart,
    state: RangeState,
    frame: ReusedFrame,
    couldBeFilled: boolean,
  ): Promise<void> {
    if (part.errorCode !== 0) return this.onError(connection, part.errorCode, state);
    if (part.preferredReadReplica >= 0 && part.preferredReadReplica !== this.brokerId) {
      state.broker = part.preferredReadReplica;
      state.fromLeader = false;
      return this.detach(state, { kind: 'retry', error: null });
    }
    if (part.end === part.start) return this.onNothing(connection, part, state, couldBeFilled);
    if (part.logStartOffset > state.cursor.position) {
      const { firstOffset } = scanHeaders(frame.bytes, part.start, part.end);
      // The log was cut between the broker's check and its read: what lies between is lost, not compacted.
      if (firstOffset !== null && firstOffset > state.cursor.position) {
        return this.detach(state, { kind: 'outOfRange', error: outOfRange(state, connection) });
      }
    }
    await this.owner.take(state, frame.bytes, part);
    if (state.finished) {
      this.remove(state);
      this.owner.finished(state);
    }
  }

  /**
   * An empty answer proves something only if the broker was bound to fill it: the partition was the first of the request,
   * or no other was filled either (behind others it means that the response was full). And only if all of the range was
   * visible when the broker read, which takes high watermark and last stable offset before it reads: an answer that came
   * while the range was not visible yet must not count later, when it is.
   */
  private onNothing(
    connection: BrokerConnection,
    part: FetchedPart,
    state: RangeState,
    couldBeFilled: boolean,
  ): void {
    if (!couldBeFilled) return;
    const visible = this.owner.isolationLevel === 1 ? part.lastStableOffset : part.highWatermark;
    if (visible >= state.cursor.until) state.emptyAnswers++;
    else state.emptyAnswers = 0;
    if (state.emptyAnswers === 1) return;
    this.detach(state, { kind: 'nothingServed', error: nothingServed(state, connection) });
  }

  private onError(connection: BrokerConnection, code: number, state: RangeState): void {
    const { topic, partition } = state.range;
    const doing = `reading ${state.name} from offset ${state.cursor.position}`;
    const error = brokerError(code, doing, connection, { topic, partition });
    if (code === BROKER_ERROR.OFFSET_OUT_OF_RANGE) this.detach(state, { kind: 'outOfRange', error });
    else if (code === BROKER_ERROR.UNSUPPORTED_COMPRESSION_TYPE) {
      throw new SluiceError(
        'UNSUPPORTED_CODEC',
        `${doing}: the broker is too old to send its zstd batches to any client`,
        {
          context: error.context,
        },
      );
    } else if (code === BROKER_ERROR.CORRUPT_MESSAGE) {
      state.damagedTries++;
      if (state.damagedTries > 2) {
        throw new SluiceError('COULD_NOT_READ', `${doing}: ${error.message.slice(error.code.length + 2)}`, {
          context: error.context,
        });
      }
      this.detach(state, { kind: 'retry', error });
    } else if (brokerErrorKind(code) === 'leader' || error.retryable)
      this.detach(state, { kind: 'retry', error });
    else throw error;
  }

  private detach(state: RangeState, trouble: Trouble): void {
    this.remove(state);
    this.owner.detached(state, trouble);
  }

  private remove(state: RangeState): void {
    this.states = this.states.filter((s) => s !== state);
  }

  /** The connection is lost, or something is beyond mending. */
  private giveUp(error: unknown): void {
    if (this.owner.stopped) return;
    if (!(error instanceof SluiceError && error.retryable)) {
      this.owner.fail(this.withPlaces(error));
      return;
    }
    const sinceMs = this.waitingSinceMs ?? undefined;
    for (const state of this.states.splice(0)) this.owner.detached(state, { kind: 'retry', error, sinceMs });
  }

  /** A frame that was refused before it was read names no partition: say which it may be. */
  private withPlaces(error: unknown): unknown {
    if (!(error instanceof SluiceError) || error.code !== 'MEMORY_LIMIT' || error.context.topic !== undefined)
      return error;
    const places = this.states.slice(0, 3).map((s) => `${s.name} at offset ${s.cursor.position}`);
    return new SluiceError(
      error.code,
      `${error.message.slice(error.code.length + 2)} (reading ${places.join(' or ')})`,
      {
        context: { ...error.context, partitions: this.states.map((s) => s.name) },
      },
    );
  }
}

function keyOf(part: { topic: string | null; topicId: string | null; partition: number }): string {
  return `${part.topicId ?? part.topic}/${part.partition}`;
}

/** Near the end of a range no more than what is left of it, by the bytes per offset so far; never less than a batch needs. */
function partitionMaxBytes(state: RangeState, position: bigint, frameBytes: number): number {
  const { cursor, range } = state;
  const done = Number(cursor.position - range.from);
  const left = Number(cursor.until - position);
  const estimate = done > 0 ? Math.ceil((cursor.bytes / done) * left * 1.25) + TAIL_SLACK_BYTES : frameBytes;
  return Math.max(1, Math.min(frameBytes, Math.max(estimate, state.neededBytes)));
}

/** Kafka wants partitions under their topic; the first partition stays the first. */
function groupByTopic(asked: readonly Wanted[]): FetchRequest['topics'] {
  const topics = new Map<string, { topic: string; topicId: string | null; partitions: FetchPartition[] }>();
  for (const { state, position, maxBytes } of asked) {
    const { topic, partition } = state.range;
    const entry = {
      partition,
      leaderEpoch: state.fromLeader ? state.leaderEpoch : -1,
      fetchOffset: position,
      maxBytes,
    };
    const group = topics.get(topic);
    if (group === undefined) topics.set(topic, { topic, topicId: state.topicId, partitions: [entry] });
    else group.partitions.push(entry);
  }
  return [...topics.values()];
}

type FetchPartition = FetchRequest['topics'][number]['partitions'][number];

function nothingServed(state: RangeState, connection: BrokerConnection): SluiceError {
  const { position, until } = state.cursor;
  return new SluiceError(
    'BROKER_ERROR',
    `reading ${state.name}: broker ${connection.address} serves nothing at offset ${position}, and [${position}, ${until}) is to be read`,
    { context: { topic: state.range.topic, partition: state.range.partition, position, until } },
  );
}

function outOfRange(state: RangeState, connection: BrokerConnection): SluiceError {
  return brokerError(BROKER_ERROR.OFFSET_OUT_OF_RANGE, `reading ${state.name}`, connection.address);
}
