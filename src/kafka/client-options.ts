import type { TokenFunction } from '../core/oauth-token.ts';
import { SluiceError } from '../errors.ts';
import { readSecuritySettings, type SecuritySettings } from './security/settings.ts';

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
  /** What the deadline is called where it was not `kafka.request.deadline` that set it: `--timeout`. */
  readonly deadlineName?: string;
  readonly random?: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
  readonly log?: (line: KafkaLogLine) => void;
  /** Closes the client, also while it connects. */
  readonly signal?: AbortSignal;
  /** The tokens of OAUTHBEARER; made from the options where it is left out. */
  readonly token?: TokenFunction;
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
  /** Null for plain connections. */
  readonly security: SecuritySettings | null;
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

const SECURITY_OPTION = /^(sasl|ssl|security)\./;

/** The options of `kafka.*` that say how connections are secured, without the prefix. */
export function securityOptions(kafka: Readonly<Record<string, string>>): Map<string, string> {
  const named = Object.entries(kafka).map(([name, value]) => [withoutPrefix(name), value] as const);
  return new Map(named.filter(([key]) => SECURITY_OPTION.test(key)));
}

function withoutPrefix(name: string): string {
  return name.startsWith('kafka.') ? name.slice(6) : name;
}

/** Checks `kafka.*` and takes what the connections need. Throws CONFIG_INVALID and UNSUPPORTED. */
export function readClientSettings(options: KafkaClientOptions): ClientSettings {
  // A deadline that is shorter than one request would leave no second try: what is not said is fitted to it.
  const third = Math.max(1000, Math.floor(options.requestDeadlineMs / 3));
  let requestTimeoutMs = Math.min(30_000, third);
  let connectTimeoutMs = Math.min(10_000, third);
  let rack: string | null = null;
  const unused: string[] = [];
  for (const [name, value] of Object.entries(options.kafka)) {
    const key = withoutPrefix(name);
    if (key === 'request.timeout.ms') requestTimeoutMs = milliseconds(key, value);
    else if (key === 'socket.connection.setup.timeout.ms') connectTimeoutMs = milliseconds(key, value);
    else if (key === 'client.rack') rack = value === '' ? null : value;
    else if (!READ_ELSEWHERE.has(key) && !SECURITY_OPTION.test(key)) unused.push(`kafka.${key}`);
  }
  const bootstrap = parseBootstrapServers(options.bootstrapServers);
  const security = readSecuritySettings(securityOptions(options.kafka));
  return { bootstrap, requestTimeoutMs, connectTimeoutMs, rack, security, unused };
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
