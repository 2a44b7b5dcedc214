import { SluiceError } from '../../errors.ts';

/** How to reach a Schema Registry, under the names of Confluent's clients. Plain values: they cross threads as they are. */
export interface RegistryOptions {
  /** Addresses of one registry, commas between: `https://a:8081,https://b/apis/ccompat/v7`. May hold `user:password@`. */
  readonly 'schema.registry.url': string;
  /** `user:password` for basic authentication. */
  readonly 'basic.auth.user.info'?: string;
  readonly 'bearer.auth.token'?: string;
  /** PEM file of the authorities that are trusted; those that Node brings where it is left out. */
  readonly 'schema.registry.ssl.truststore.location'?: string;
  /** PEM file with our own certificate and its key. */
  readonly 'schema.registry.ssl.keystore.location'?: string;
  readonly 'schema.registry.ssl.key.password'?: string;
  /** `https` compares the certificate's name with the host; the empty text turns that off. */
  readonly 'schema.registry.ssl.endpoint.identification.algorithm'?: 'https' | '';
  /** How long one request may take, its whole answer included. */
  readonly 'schema.registry.request.timeout.ms'?: number;
  /** How long a look-up is tried again before the run stops. */
  readonly 'schema.registry.deadline.ms'?: number;
  /** How long it is remembered that the registry does not know an id. */
  readonly 'schema.registry.missing.cache.ttl.ms'?: number;
  /** The largest answer that is read. */
  readonly 'schema.registry.max.response.bytes'?: number;
}

export const REGISTRY_DEFAULTS = {
  'schema.registry.request.timeout.ms': 10_000,
  'schema.registry.deadline.ms': 300_000,
  'schema.registry.missing.cache.ttl.ms': 60_000,
  'schema.registry.max.response.bytes': 8 * 1024 * 1024,
} as const;

/** One address of the registry. */
export interface RegistryAddress {
  /** Without credentials and without a slash at its end. */
  readonly base: URL;
  /** For messages. */
  readonly shown: string;
  /** The header's value, or null where no credentials are given. */
  readonly authorization: string | null;
}

/** The checked options. */
export interface RegistrySettings {
  readonly addresses: readonly RegistryAddress[];
  readonly truststore: string | null;
  readonly keystore: string | null;
  readonly keyPassword: string | null;
  readonly checksHostName: boolean;
  readonly requestTimeoutMs: number;
  readonly deadlineMs: number;
  readonly missingTtlMs: number;
  readonly maxResponseBytes: number;
}

/** Checks the options. Throws CONFIG_INVALID that names the option and never shows a secret. */
export function readRegistrySettings(options: RegistryOptions): RegistrySettings {
  const authorization = authorizationOf(options);
  const addresses = options['schema.registry.url']
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part, i) => addressOf(part, i, authorization));
  if (addresses.length === 0)
    throw invalid('schema.registry.url', 'at least one http:// or https:// address is needed');
  const text = (name: keyof RegistryOptions): string | null => (options[name] as string | undefined) || null;
  const number = (name: keyof typeof REGISTRY_DEFAULTS): number => {
    const value = options[name] ?? REGISTRY_DEFAULTS[name];
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw invalid(name, `a whole number above 0 expected, found ${value}`);
  };
  return {
    addresses,
    truststore: text('schema.registry.ssl.truststore.location'),
    keystore: text('schema.registry.ssl.keystore.location'),
    keyPassword: text('schema.registry.ssl.key.password'),
    checksHostName: options['schema.registry.ssl.endpoint.identification.algorithm'] !== '',
    requestTimeoutMs: number('schema.registry.request.timeout.ms'),
    deadlineMs: number('schema.registry.deadline.ms'),
    missingTtlMs: number('schema.registry.missing.cache.ttl.ms'),
    maxResponseBytes: number('schema.registry.max.response.bytes'),
  };
}

function authorizationOf(options: RegistryOptions): string | null {
  const userInfo = options['basic.auth.user.info'] ?? '';
  const token = options['bearer.auth.token'] ?? '';
  if (userInfo !== '' && token !== '')
    throw invalid('bearer.auth.token', 'basic.auth.user.info is given too; one of them is enough');
  if (userInfo !== '') {
    if (!userInfo.includes(':'))
      throw invalid('basic.auth.user.info', 'user:password expected, there is no colon in it');
    return `Basic ${Buffer.from(userInfo, 'utf8').toString('base64')}`;
  }
  if (token === '') return null;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw invalid('bearer.auth.token', 'it holds a space, a line end or another character that no token has');
  return `Bearer ${token}`;
}

function addressOf(text: string, place: number, authorization: string | null): RegistryAddress {
  const fault = (what: string): SluiceError =>
    invalid('schema.registry.url', `address ${place + 1}: ${what}`);
  // The text is not shown: it may hold a password.
  if (!URL.canParse(text)) throw fault('it is no URL; http://host:port or https://host:port expected');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw fault(`http:// or https:// expected, found ${url.protocol}//`);
  if (url.search !== '' || url.hash !== '') throw fault('it may not have a ? or #');
  let own = authorization;
  if (url.username !== '' || url.password !== '') {
    if (authorization !== null)
      throw fault('it holds a user, and basic.auth.user.info or bearer.auth.token is given too');
    const userInfo = `${decoded(url.username)}:${decoded(url.password)}`;
    own = `Basic ${Buffer.from(userInfo, 'utf8').toString('base64')}`;
    url.username = '';
    url.password = '';
  }
  url.pathname = url.pathname.replace(/\/+$/, '');
  const shown = `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
  return { base: url, shown, authorization: own };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** CONFIG_INVALID about one option. */
export function invalid(option: string, what: string, cause?: unknown): SluiceError {
  return new SluiceError('CONFIG_INVALID', `option ${option}: ${what}`, { context: { option }, cause });
}
