import type { Socket } from 'node:net';
import { messageOf, SluiceError } from '../errors.ts';
import { BROKER_ERROR } from './broker-errors.ts';
import { type BrokerAddress, formatAddress } from './client-options.ts';
import { brokerError, connectionError } from './errors.ts';
import {
  FrameAssembler,
  type FrameSink,
  type FrameTarget,
  hostileLength,
  SingleFrame,
} from './frame-assembler.ts';
import type { Api } from './messages/api.ts';
import { type ApiVersionsResponse, apiVersions } from './messages/api-versions.ts';
import { plainTransport, type Transport } from './transport.ts';
import { WireReader, WireWriter } from './wire.ts';

/** No control message comes near this; a longer frame is not from a Kafka broker. */
const MAX_CONTROL_FRAME_BYTES = 64 * 1024 * 1024;

/** A broker refuses a renewal of a login that comes sooner after the last one (KIP-368). */
const MIN_RENEWAL_MS = 1000;

export interface ConnectionOptions {
  readonly address: BrokerAddress;
  readonly clientId: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Plain where it is left out. */
  readonly transport?: Transport;
  /** Logs in once the versions are agreed on, and again before the login ends; resolves to how long it holds in ms, 0 for ever. */
  readonly authenticate?: (channel: Pick<BrokerConnection, 'address' | 'call'>) => Promise<number>;
  /** Who the broker takes us for, as its ACLs name it. */
  readonly principal?: string;
  readonly random?: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
  /** Called when the connection breaks, or could not be made; not when we close it. */
  readonly onLost?: () => void;
}

export interface CallOptions {
  /** Where the response goes; a frame of its own where it is left out. */
  readonly target?: FrameTarget;
  /** Default: the connection's. */
  readonly timeoutMs?: number;
  /**
   * Each byte of the response starts the time-out anew, for responses that take long because they are large; but the whole
   * of it must come within this time, or a trickle would go on for ever.
   */
  readonly wholeWithinMs?: number;
}

interface Pending {
  readonly correlationId: number;
  readonly what: string;
  readonly target: FrameTarget;
  readonly resolve: (length: number) => void;
  readonly reject: (error: SluiceError) => void;
  readonly timer: NodeJS.Timeout;
  readonly wholeWithinMs: number | null;
  /** When its first byte came; null before. Not when it was sent: it may wait behind others, and for room of ours. */
  begunAtMs: number | null;
  /** A large frame has its own bound (`target.reserve`); a control message has ours. */
  readonly maxBytes: number;
}

/** How far a connection has come. A broker that closes it early may want another `kafka.security.protocol`. */
type Stage = 'connecting' | 'securing' | 'agreeing' | 'loggingIn' | 'unused' | 'used';

/**
 * One connection to one broker: length-prefixed frames, several requests in flight, answered in order. Any fault (reset,
 * time-out, a frame out of order) closes it and rejects every pending request with BROKER_UNREACHABLE (retryable) or
 * PROTOCOL_ERROR; the owner opens a new one.
 */
export class BrokerConnection implements FrameSink {
  readonly address: string;
  readonly options: ConnectionOptions;
  private readonly socket: Socket;
  private readonly assembler: FrameAssembler;
  private readonly pending: Pending[] = [];
  private correlationId = 0;
  private versions = new Map<number, { min: number; max: number }>();
  private failure: SluiceError | null = null;
  private closing = false;
  private stage: Stage = 'connecting';
  /** When to log in again; infinite where the login holds as long as the connection does. */
  private renewAtMs = Number.POSITIVE_INFINITY;
  private renewing: Promise<void> | null = null;

  private constructor(options: ConnectionOptions) {
    this.options = options;
    this.address = formatAddress(options.address);
    this.assembler = new FrameAssembler(this);
    const transport = options.transport ?? plainTransport;
    this.socket = transport.open(options.address, {
      nextBuffer: () => this.assembler.nextBuffer(),
      onBytes: (count, buffer) => this.onBytes(count, buffer),
    });
    this.socket.on('error', (e) => {
      // What has worked breaks for reasons that pass: then a new connection tells what is wrong.
      const fault = this.stage === 'used' ? null : transport.faultOf(e, options.address);
      if (fault !== null) this.fail(fault);
      else this.lost(describeSocketError(e), e, true);
    });
    this.socket.on('end', () => this.lost('the broker closed the connection', undefined, true));
    this.socket.on('close', () => this.lost('the connection was closed', undefined, true));
  }

  /**
   * Connects, agrees on versions and logs in. Throws BROKER_UNREACHABLE (retryable), PROTOCOL_ERROR, UNSUPPORTED, KAFKA_TLS
   * or KAFKA_AUTH. Where the broker closed the connection, `context.closedAt` says when.
   */
  static async open(options: ConnectionOptions): Promise<BrokerConnection> {
    const connection = new BrokerConnection(options);
    try {
      await connection.connected(options.transport ?? plainTransport);
      await connection.negotiate();
      connection.stage = 'loggingIn';
      await connection.logIn();
      connection.stage = 'unused';
      return connection;
    } catch (e) {
      connection.close();
      throw e;
    }
  }

  /** False once the connection is of no more use. */
  get usable(): boolean {
    return this.failure === null;
  }

  get principal(): string {
    return this.options.principal ?? 'User:ANONYMOUS';
  }

  /** The version of an API that both sides know, the newest one not above `cap`. Throws UNSUPPORTED where there is none. */
  versionOf(api: Api<never, unknown> | Api<null, unknown>, cap = api.max): number {
    const theirs = this.versions.get(api.key);
    const max = Math.min(cap, theirs?.max ?? -1);
    if (theirs !== undefined && max >= Math.max(api.min, theirs.min)) return max;
    const has = theirs === undefined ? 'does not know it' : `has versions ${theirs.min} to ${theirs.max}`;
    throw new SluiceError(
      'UNSUPPORTED',
      `broker ${this.address}: ${api.name} is needed in a version from ${api.min} to ${cap}, and the broker ${has}; ` +
        'Sluice works with Apache Kafka 0.11 and later',
      { context: { broker: this.address, api: api.name, min: api.min, max: cap, theirs } },
    );
  }

  /** Sends a request and reads its response. The caller looks at the error codes inside. */
  async call<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
    options: CallOptions & { version?: number } = {},
  ): Promise<Response> {
    if (this.renewing !== null || this.now() >= this.renewAtMs) await this.renewLogin();
    const response = await this.send(api, request, options);
    this.stage = 'used';
    return response;
  }

  private async send<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
    options: CallOptions & { version?: number } = {},
  ): Promise<Response> {
    const version = options.version ?? this.versionOf(api as Api<never, unknown>);
    const flexible = version >= api.flexibleFrom;
    const correlationId = this.correlationId;
    this.correlationId = (this.correlationId + 1) & 0x7fffffff;
    const w = new WireWriter().reset(flexible);
    w.int32(0).int16(api.key).int16(version).int32(correlationId);
    w.plainString(this.options.clientId).tags();
    api.write(w, request, version);
    w.patchInt32(0, w.length - 4);

    const what = `${api.name} v${version}`;
    const target = options.target ?? new SingleFrame();
    const length = await this.exchange(correlationId, what, w.view(), target, options);
    const r = new WireReader(target.bytes, 4, length, `${what} of broker ${this.address}`);
    r.flexible = flexible;
    if (api !== (apiVersions as unknown)) r.tags();
    const response = api.read(r, version);
    if (r.remaining > 0) r.fail(`${r.remaining} bytes too many`);
    return response;
  }

  /** The owner of a target that answered "not now" has room again. */
  resumeReading(): void {
    if (!this.assembler.blocked || this.failure !== null) return;
    try {
      const head = this.pending[0];
      // The time of the broker begins anew: so far it was ours.
      if (head !== undefined && head.begunAtMs !== null) head.begunAtMs = this.now();
      if (this.assembler.resume()) this.socket.resume();
    } catch (e) {
      this.fail(e instanceof SluiceError ? e : new SluiceError('INTERNAL', messageOf(e), { cause: e }));
    }
  }

  close(): void {
    this.closing = true;
    this.lost('the connection was closed by Sluice');
  }

  private exchange(
    correlationId: number,
    what: string,
    bytes: Uint8Array,
    target: FrameTarget,
    options: CallOptions,
  ): Promise<number> {
    if (this.failure !== null) return Promise.reject(this.failure);
    const timeoutMs = options.timeoutMs ?? this.options.requestTimeoutMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // Where it is we who do not read, for want of room, the broker is not to blame.
        if (this.assembler.blocked) timer.refresh();
        else if (pending.begunAtMs === null) this.lost(`no answer within ${timeoutMs} ms`);
        else this.lost(`no further byte within ${timeoutMs} ms (${this.assembler.progress})`);
      }, timeoutMs);
      const pending: Pending = {
        correlationId,
        what,
        target,
        resolve,
        reject,
        timer,
        wholeWithinMs: options.wholeWithinMs ?? null,
        begunAtMs: null,
        maxBytes: target instanceof SingleFrame ? MAX_CONTROL_FRAME_BYTES : 0x7fffffff,
      };
      this.pending.push(pending);
      this.socket.write(bytes);
    });
  }

  /**
   * A login may hold for a time only (KIP-368): it is renewed before the first request near its end. What is under way
   * then is answered first; no other request may come between the messages of the login, so they wait.
   */
  private renewLogin(): Promise<void> {
    this.renewing ??= this.logIn()
      .catch((e: unknown) => {
        this.fail(e instanceof SluiceError ? e : new SluiceError('INTERNAL', messageOf(e), { cause: e }));
        throw e;
      })
      .finally(() => {
        this.renewing = null;
      });
    return this.renewing;
  }

  private async logIn(): Promise<void> {
    const { authenticate, random = Math.random } = this.options;
    if (authenticate === undefined) return;
    const startedAt = this.now();
    const channel = {
      address: this.address,
      call: <Request, Response>(api: Api<Request, Response>, request: Request) => this.send(api, request),
    };
    const lifetimeMs = await authenticate(channel);
    if (lifetimeMs === 0) this.renewAtMs = Number.POSITIVE_INFINITY;
    else {
      // Kafka's client renews after 85 to 95 % of the time, so that not all connections do it at once. A broker takes a
      // renewal at most once a second, and also after the end, where it is the first that comes.
      const part = 0.85 + 0.1 * random();
      this.renewAtMs = Math.max(startedAt + lifetimeMs * part, this.now() + MIN_RENEWAL_MS);
    }
  }

  private now(): number {
    return this.options.now?.() ?? performance.now();
  }

  private connected(transport: Transport): Promise<void> {
    const { connectTimeoutMs } = this.options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.lost(`no connection within ${connectTimeoutMs} ms`);
      }, connectTimeoutMs);
      if (transport.readyEvent === 'secureConnect') {
        this.socket.once('connect', () => {
          this.stage = 'securing';
        });
      }
      this.socket.once(transport.readyEvent, () => {
        clearTimeout(timer);
        this.stage = 'agreeing';
        resolve();
      });
      this.socket.once('close', () => {
        clearTimeout(timer);
        reject(this.failure!);
      });
    });
  }

  /** A broker that does not know our version of ApiVersions says so in the form of version 0 (KIP-511). */
  private async negotiate(): Promise<void> {
    let answer: ApiVersionsResponse;
    const target = new SingleFrame();
    try {
      // Part of making the connection: a broker that hangs still lets the kernel accept it.
      const timeoutMs = Math.min(this.options.connectTimeoutMs, this.options.requestTimeoutMs);
      answer = await this.send(apiVersions, null, { version: apiVersions.max, target, timeoutMs });
    } catch (e) {
      if (target.bytes.length < 6 || target.bytes.readInt16BE(4) !== BROKER_ERROR.UNSUPPORTED_VERSION)
        throw e;
      answer = await this.send(apiVersions, null, { version: 0 });
    }
    if (answer.errorCode === BROKER_ERROR.UNSUPPORTED_VERSION) {
      answer = await this.send(apiVersions, null, { version: 0 });
    }
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode, 'agreeing on API versions', this.address);
    this.versions = new Map(answer.apis.map(({ key, min, max }) => [key, { min, max }]));
  }

  private onBytes(count: number, buffer: Uint8Array): boolean {
    if (this.failure !== null) return false;
    try {
      const goOn = this.assembler.onBytes(count, buffer);
      this.expectRest();
      return goOn;
    } catch (e) {
      this.fail(e instanceof SluiceError ? e : new SluiceError('INTERNAL', messageOf(e), { cause: e }));
      return false;
    }
  }

  /** Bytes have come: those that are still missing of the answer have their time anew, within the time of the whole. */
  private expectRest(): void {
    const head = this.pending[0];
    if (head === undefined || head.wholeWithinMs === null || !this.assembler.inFrame) return;
    head.begunAtMs ??= this.now();
    if (this.assembler.blocked || this.now() - head.begunAtMs <= head.wholeWithinMs) head.timer.refresh();
    else this.lost(`no whole answer within ${head.wholeWithinMs} ms (${this.assembler.progress})`);
  }

  targetOf(length: number, head: Uint8Array): FrameTarget {
    const waiting = this.pending[0];
    const limit = waiting?.maxBytes ?? MAX_CONTROL_FRAME_BYTES;
    if (length < 4 || length > limit) throw hostileLength(length, limit, head, this.address);
    if (waiting === undefined) {
      throw new SluiceError(
        'PROTOCOL_ERROR',
        `broker ${this.address} sent a frame of ${length} bytes that nobody asked for`,
      );
    }
    return waiting.target;
  }

  onFrame(target: FrameTarget, length: number): void {
    const head = this.pending.shift()!;
    clearTimeout(head.timer);
    const correlationId = target.bytes.readInt32BE(0);
    if (correlationId !== head.correlationId) {
      const error = new SluiceError(
        'PROTOCOL_ERROR',
        `broker ${this.address}: the answer to ${head.what} bears correlation id ${correlationId}, ${head.correlationId} was expected`,
        { context: { broker: this.address, expected: head.correlationId, found: correlationId } },
      );
      head.reject(error);
      throw error;
    }
    head.resolve(length);
  }

  private lost(reason: string, cause?: unknown, byPeer = false): void {
    const waiting = this.pending[0];
    const during = waiting === undefined ? '' : ` while ${waiting.what} was awaited`;
    const closedAt = byPeer && this.stage !== 'connecting' && this.stage !== 'used' ? this.stage : undefined;
    this.fail(connectionError(this.address, reason + during, cause, closedAt));
  }

  private fail(error: SluiceError): void {
    if (this.failure !== null) return;
    this.failure = error;
    if (!this.closing) this.options.onLost?.();
    for (const pending of this.pending.splice(0)) {
      clearTimeout(pending.timer);
      pending.reject(error);
    }
    this.socket.destroy();
  }
}

/** The words of a socket error; for a name with several addresses, those of each. */
function describeSocketError(e: Error): string {
  const inner = (e as AggregateError).errors;
  if (Array.isArray(inner) && inner.length > 0) return inner.map((one) => messageOf(one)).join('; ');
  return e.message === '' ? ((e as NodeJS.ErrnoException).code ?? e.name) : e.message;
}
