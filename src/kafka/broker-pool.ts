import { messageOf, SluiceError } from '../errors.ts';
import {
  type BrokerAddress,
  type ClientSettings,
  formatAddress,
  type KafkaClientOptions,
  type KafkaLogLine,
} from './client-options.ts';
import { BrokerConnection } from './connection.ts';

export interface BrokerInfo extends BrokerAddress {
  readonly id: number;
  readonly rack: string | null;
}

/** The connections of one client: one per broker, opened when first needed, opened anew when they broke. */
export class BrokerPool {
  brokers = new Map<number, BrokerInfo>();
  private readonly clientId: string;
  private readonly settings: ClientSettings;
  private readonly log: (line: KafkaLogLine) => void;
  private readonly open = new Map<string, Promise<BrokerConnection>>();
  private readonly dedicated = new Set<BrokerConnection>();
  private closed = false;

  constructor(options: KafkaClientOptions, settings: ClientSettings) {
    this.clientId = options.clientId;
    this.settings = settings;
    this.log = options.log ?? (() => {});
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

  /** A connection to whichever broker answers: the open one, else a known broker, else a bootstrap address. */
  async any(): Promise<BrokerConnection> {
    const known = [...this.brokers.values()];
    const tried: string[] = [];
    const errors: unknown[] = [];
    for (const address of [...known, ...this.settings.bootstrap]) {
      const name = formatAddress(address);
      if (tried.includes(name)) continue;
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
      return await opening;
    } catch (e) {
      if (this.open.get(name) === opening) this.open.delete(name);
      throw e;
    }
  }

  private async connect(address: BrokerAddress): Promise<BrokerConnection> {
    if (this.closed) throw closedError();
    const connection = await BrokerConnection.open({
      address,
      clientId: this.clientId,
      connectTimeoutMs: this.settings.connectTimeoutMs,
      requestTimeoutMs: this.settings.requestTimeoutMs,
    });
    if (this.closed) {
      connection.close();
      throw closedError();
    }
    this.log({ level: 'debug', msg: 'connected to broker', broker: connection.address });
    return connection;
  }
}

export function closedError(): SluiceError {
  return new SluiceError('BROKER_UNREACHABLE', 'the Kafka client was closed', { retryable: false });
}

/** Every address with its own error; retryable while any of them is. */
function allFailed(tried: readonly string[], errors: readonly unknown[]): SluiceError {
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
