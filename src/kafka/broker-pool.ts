import type { TokenFunction } from '../core/oauth-token.ts';
import { messageOf, SluiceError } from '../errors.ts';
import {
  type BrokerAddress,
  type ClientSettings,
  formatAddress,
  type KafkaClientOptions,
  type KafkaLogLine,
} from './client-options.ts';
import { BrokerConnection, type ConnectionOptions } from './connection.ts';
import type { BrokerSecurity } from './security/broker-security.ts';
import type { ClosedAt } from './security/diagnose.ts';
import { tokenFunction } from './token-function.ts';

export interface BrokerInfo extends BrokerAddress {
  readonly id: number;
  readonly rack: string | null;
}

/** For this long a broker that failed is tried after all others. */
const SHUNNED_MS = 30_000;

/** The connections of one client: one per broker, opened when first needed, opened anew when they broke. */
export class BrokerPool {
  brokers = new Map<number, BrokerInfo>();
  private readonly options: KafkaClientOptions;
  private readonly settings: ClientSettings;
  private readonly log: (line: KafkaLogLine) => void;
  private readonly token: TokenFunction;
  private security: Promise<BrokerSecurity> | null = null;
  private readonly open = new Map<string, Promise<BrokerConnection>>();
  /** The connections of `open` that were made. */
  private readonly made = new Map<string, BrokerConnection>();
  private readonly dedicated = new Set<BrokerConnection>();
  /** When a connection was last lost, or could not be made, by address. */
  private readonly failedAt = new Map<string, number>();
  private closed = false;

  constructor(options: KafkaClientOptions, settings: ClientSettings) {
    this.options = options;
    this.settings = settings;
    this.log = options.log ?? (() => {});
    this.token = options.token ?? tokenFunction(options.kafka, undefined, this.log);
  }

  /** The shared connection to a broker of the metadata. Throws BROKER_UNREACHABLE (retryable) for one that is not in it. */
  toBroker(id: number): Promise<BrokerConnection> {
    return this.shared(this.addressOf(id));
  }

  /** A connection of the caller's own, beside the shared one. The caller closes it; so does `close`. */
  async dedicatedTo(id: number): Promise<BrokerConnection> {
    const connection = await this.connect(this.addressOf(id));
    this.dedicated.add(connection);
    return connection;
  }

  release(connection: BrokerConnection): void {
    this.dedicated.delete(connection);
    connection.close();
  }

  /**
   * A connection to whichever broker answers: the open one, else a known broker, else a bootstrap address; those that
   * failed a moment ago come last. A broker that hangs costs a whole time-out each time it is asked.
   */
  async any(): Promise<BrokerConnection> {
    const tried: string[] = [];
    const errors: unknown[] = [];
    for (const [name, address] of this.candidates()) {
      tried.push(name);
      try {
        return await this.shared(address);
      } catch (e) {
        errors.push(e);
      }
    }
    if (this.closed) throw closedError();
    throw allFailed(tried, errors);
  }

  close(): void {
    this.closed = true;
    for (const connection of this.dedicated) connection.close();
    this.dedicated.clear();
    for (const opening of this.open.values()) {
      opening.then(
        (connection) => connection.close(),
        () => {},
      );
    }
    this.open.clear();
  }

  /** What the broker asked by `any` says leads nowhere: it may not have heard of a change yet. Another is asked next. */
  preferAnother(): void {
    const [[name]] = this.candidates();
    this.failedAt.set(name, this.now());
  }

  private candidates(): (readonly [string, BrokerAddress])[] {
    const all = new Map<string, BrokerAddress>();
    for (const address of [...this.brokers.values(), ...this.settings.bootstrap]) {
      const name = formatAddress(address);
      if (!all.has(name)) all.set(name, address);
    }
    const since = this.now() - SHUNNED_MS;
    // Open ones first, then as they are named; at the end those that failed, the one first that had longest to recover.
    const rank = (name: string): number => {
      const failedAt = this.failedAt.get(name) ?? Number.NEGATIVE_INFINITY;
      if (failedAt > since) return failedAt - since;
      return this.made.get(name)?.usable === true ? -1 : 0;
    };
    const ranked = [...all].map((candidate) => ({ candidate, rank: rank(candidate[0]) }));
    return ranked.sort((a, b) => a.rank - b.rank).map(({ candidate }) => candidate);
  }

  private now(): number {
    return this.options.now?.() ?? performance.now();
  }

  private addressOf(id: number): BrokerInfo {
    const broker = this.brokers.get(id);
    if (broker !== undefined) return broker;
    throw new SluiceError('BROKER_UNREACHABLE', `broker ${id} is not in the metadata of the cluster`, {
      context: { brokerId: id, known: [...this.brokers.keys()] },
    });
  }

  private async shared(address: BrokerAddress): Promise<BrokerConnection> {
    const name = formatAddress(address);
    const current = this.open.get(name);
    if (current !== undefined) {
      const connection = await current.catch(() => null);
      if (connection?.usable) return connection;
      if (this.open.get(name) !== current) return this.shared(address);
    }
    const opening = this.connect(address);
    this.open.set(name, opening);
    try {
      const connection = await opening;
      this.made.set(name, connection);
      return connection;
    } catch (e) {
      if (this.open.get(name) === opening) this.open.delete(name);
      throw e;
    }
  }

  private async connect(address: BrokerAddress): Promise<BrokerConnection> {
    if (this.closed) throw closedError();
    const connection = await this.openSecurely(address);
    if (this.closed) {
      connection.close();
      throw closedError();
    }
    this.log({ level: 'debug', msg: 'connected to broker', broker: connection.address });
    return connection;
  }

  private async openSecurely(address: BrokerAddress): Promise<BrokerConnection> {
    const security = await this.loadSecurity();
    let login = security?.login() ?? null;
    for (;;) {
      const options: ConnectionOptions = {
        address,
        clientId: this.options.clientId,
        connectTimeoutMs: this.settings.connectTimeoutMs,
        requestTimeoutMs: this.settings.requestTimeoutMs,
        transport: await security?.transport(),
        authenticate: login?.authenticate,
        principal: security?.principal,
        random: this.options.random,
        now: this.options.now,
        onLost: () => this.failedAt.set(formatAddress(address), this.now()),
      };
      try {
        return await BrokerConnection.open(options);
      } catch (e) {
        login = login?.another(e) ?? null;
        if (login === null) throw await this.explain(e, options);
      }
    }
  }

  /** Loaded only where the options ask for it: a plain connection must not wait for TLS. */
  private loadSecurity(): Promise<BrokerSecurity> | null {
    const { security } = this.settings;
    if (security === null) return null;
    this.security ??= import('./security/broker-security.ts').then(
      (module) => new module.BrokerSecurity(security, this.token),
    );
    return this.security;
  }

  /** Where a broker has closed a connection early: the error that says that the listener speaks another protocol, if it does. */
  private async explain(error: unknown, options: ConnectionOptions): Promise<unknown> {
    if (!(error instanceof SluiceError) || this.closed) return error;
    const closedAt = error.context.closedAt as ClosedAt | undefined;
    if (closedAt === undefined && error.code !== 'KAFKA_TLS') return error;
    const { diagnose } = await import('./security/diagnose.ts');
    return (await diagnose(error, options, this.settings.security)) ?? error;
  }

  /** The same for a request that was the first on its connection. */
  async explainFirst(error: unknown, connection: BrokerConnection): Promise<unknown> {
    return this.explain(error, connection.options);
  }
}

export function closedError(): SluiceError {
  return new SluiceError('BROKER_UNREACHABLE', 'the Kafka client was closed', { retryable: false });
}

/** Every address with its own error; retryable while any of them is. */
function allFailed(tried: readonly string[], errors: readonly unknown[]): SluiceError {
  // Credentials that one broker refuses will not do better while another is down.
  const decisive = errors.find(
    (e) => e instanceof SluiceError && !e.retryable && (e.code === 'KAFKA_AUTH' || e.code === 'KAFKA_TLS'),
  );
  if (decisive !== undefined) return decisive as SluiceError;
  const retryable = errors.some((e) => e instanceof SluiceError && e.retryable);
  const first = errors[0];
  const code = !retryable && first instanceof SluiceError ? first.code : 'BROKER_UNREACHABLE';
  const each = errors.map((e, i) => `${tried[i]} (${strip(e, tried[i])})`).join(', ');
  return new SluiceError(code, `no broker could be reached; tried ${each}`, {
    retryable,
    context: { tried },
    cause: first,
  });
}

function strip(error: unknown, address: string): string {
  const text = messageOf(error);
  const plain = error instanceof SluiceError ? text.slice(error.code.length + 2) : text;
  const prefix = `broker ${address}: `;
  return plain.startsWith(prefix) ? plain.slice(prefix.length) : plain;
}
