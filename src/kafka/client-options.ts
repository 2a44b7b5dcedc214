import { SluiceError } from '../errors.ts';

export interface KafkaLogLine {
  level: 'debug' | 'info' | 'warn';
  msg: string;
  [key: string]: unknown;
}

/** How to reach a cluster. Without the functions it crosses a thread boundary as it is. */
export interface KafkaClientOptions {
  /** `host:port,host:port`; IPv6 in brackets. */
  readonly bootstrapServers: string;
  readonly clientId: string;
  /** The pipeline's `kafka.*` options, with or without that prefix. */
  readonly kafka: Record<string, string>;
  /** For how long a failing request is tried again before the run stops (`kafka.request.deadline`). */
  readonly requestDeadlineMs: number;
  readonly random?: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
  readonly log?: (line: KafkaLogLine) => void;
  /** Closes the client, also while it connects. */
  readonly signal?: AbortSignal;
}

export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
}

/** What the connections need of `kafka.*`. */
export interface ClientSettings {
  readonly bootstrap: readonly BrokerAddress[];
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly rack: string | null;
  /** Options that have no meaning here; the caller says so once. */
  readonly unused: readonly string[];
}

/** Read elsewhere (the planner, the engine) or carried in fields of their own. */
const READ_ELSEWHERE = new Set([
  'bootstrap.servers',
  'client.id',
  'isolation.level',
  'request.deadline',
  'group.id',
]);

/**
 * Checks `kafka.*` and takes what the connections need. A security option is never ignored: what this version cannot do
 * is refused with UNSUPPORTED, for a run that silently went on in plain text would be worse than none.
 */
export function readClientSettings(options: KafkaClientOptions): ClientSettings {
  let requestTimeoutMs = 30_000;
  let connectTimeoutMs = 10_000;
  let rack: string | null = null;
  const unused: string[] = [];
  for (const [name, value] of Object.entries(options.kafka)) {
    const key = name.startsWith('kafka.') ? name.slice(6) : name;
    if (key === 'security.protocol') refuseUnlessPlaintext(value);
    else if (/^(sasl|ssl|security)\./.test(key)) {
      throw new SluiceError(
        'UNSUPPORTED',
        `option kafka.${key}: this version of Sluice connects to Kafka without TLS and SASL only; leave the option out, ` +
          'and reach the cluster through a PLAINTEXT listener',
        { context: { option: `kafka.${key}` } },
      );
    } else if (key === 'request.timeout.ms') requestTimeoutMs = milliseconds(key, value);
    else if (key === 'socket.connection.setup.timeout.ms') connectTimeoutMs = milliseconds(key, value);
    else if (key === 'client.rack') rack = value === '' ? null : value;
    else if (!READ_ELSEWHERE.has(key)) unused.push(`kafka.${key}`);
  }
  const bootstrap = parseBootstrapServers(options.bootstrapServers);
  return { bootstrap, requestTimeoutMs, connectTimeoutMs, rack, unused };
}

function refuseUnlessPlaintext(value: string): void {
  if (value.toUpperCase() === 'PLAINTEXT') return;
  throw new SluiceError(
    'UNSUPPORTED',
    `option kafka.security.protocol: ${value} is not supported by this version of Sluice, only PLAINTEXT is`,
    { context: { option: 'kafka.security.protocol', value } },
  );
}

function milliseconds(key: string, value: string): number {
  const ms = Number(value);
  if (Number.isInteger(ms) && ms > 0 && ms <= 3_600_000) return ms;
  throw new SluiceError(
    'CONFIG_INVALID',
    `option kafka.${key}: a whole number of milliseconds from 1 to 3600000 expected, found "${value}"`,
    { context: { option: `kafka.${key}`, value } },
  );
}

/** `a:9092, [::1]:9093` as addresses. Throws CONFIG_INVALID naming the part that is wrong. */
export function parseBootstrapServers(text: string): BrokerAddress[] {
  const addresses: BrokerAddress[] = [];
  for (const part of text.split(',')) {
    const entry = part.trim();
    if (entry === '') continue;
    // A listener's name may stand in front, as in the broker's own configuration: PLAINTEXT://host:9092.
    const match = /^(?:[A-Za-z_]+:\/\/)?(?:\[([^\]]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(entry);
    const port = match === null ? 0 : Number(match[3]);
    if (match === null || port < 1 || port > 65535) {
      throw new SluiceError(
        'CONFIG_INVALID',
        `option kafka.bootstrap.servers: "${entry}" is not host:port (IPv6 as [::1]:9092)`,
        { context: { option: 'kafka.bootstrap.servers', value: entry } },
      );
    }
    addresses.push({ host: match[1] ?? match[2], port });
  }
  if (addresses.length === 0) {
    throw new SluiceError(
      'CONFIG_INVALID',
      'option kafka.bootstrap.servers: at least one host:port is needed',
      {
        context: { option: 'kafka.bootstrap.servers', value: text },
      },
    );
  }
  return addresses;
}

export function formatAddress(address: BrokerAddress): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
